//! Telling a whole tree of work to stop: [`CancellationToken`] and what belongs to it.

use super::latch::Wait;
use crate::task::coop;
use crate::wait::Waiter;
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem::{self, ManuallyDrop};
use std::pin::{Pin, pin};
use std::ptr;
use std::task::{Context, Poll, ready};

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
mod tree;

use tree::NodeRef;

/// A signal to stop, for any number of tasks, that can be subdivided.
///
/// Clones are the same token. [Child tokens](CancellationToken::child_token) are cancelled with
/// their parent, but can also be cancelled alone: one token for the server, a child for each
/// connection, a child of that for each request.
///
/// ```
/// use tress::sync::CancellationToken;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let server = CancellationToken::new();
/// let connections: Vec<_> = (0..3)
///     .map(|_| {
///         let connection = server.child_token();
///         tress::spawn(async move {
///             connection.cancelled().await;
///             "closed"
///         })
///     })
///     .collect();
///
/// server.cancel();
/// for connection in connections {
///     assert_eq!(connection.await.unwrap(), "closed");
/// }
/// # });
/// ```
///
/// Cancelling reaches all descendants before [`cancel`](CancellationToken::cancel) returns; looking
/// at a token ([`is_cancelled`](CancellationToken::is_cancelled)) is a load, however deep it is in the
/// tree. A token that is dropped leaves the tree; its children move up to its parent.
pub struct CancellationToken {
    node: NodeRef,
}

impl CancellationToken {
    /// A token that is not cancelled and has no parent.
    ///
    /// ```
    /// let token = tress::sync::CancellationToken::new();
    /// assert!(!token.is_cancelled());
    /// ```
    pub fn new() -> CancellationToken {
        CancellationToken {
            node: NodeRef::root(),
        }
    }

    /// A token that is cancelled with this one, and can be cancelled alone. If this one is
    /// cancelled, so is the child from the beginning.
    ///
    /// ```
    /// let parent = tress::sync::CancellationToken::new();
    /// let (one, other) = (parent.child_token(), parent.child_token());
    /// one.cancel();
    /// assert!(one.is_cancelled() && !other.is_cancelled() && !parent.is_cancelled());
    /// parent.cancel();
    /// assert!(other.is_cancelled());
    /// ```
    pub fn child_token(&self) -> CancellationToken {
        CancellationToken {
            node: self.node.child(),
        }
    }

    /// Cancels this token and all its descendants, and wakes all who wait for that.
    ///
    /// ```
    /// let token = tress::sync::CancellationToken::new();
    /// token.cancel();
    /// assert!(token.is_cancelled());
    /// ```
    pub fn cancel(&self) {
        self.node.cancel();
    }

    /// True once this token, or an ancestor, was cancelled.
    ///
    /// ```
    /// let parent = tress::sync::CancellationToken::new();
    /// let child = parent.child_token();
    /// parent.cancel();
    /// assert!(child.is_cancelled());
    /// ```
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.node.latch().is_set()
    }

    /// Waits until the token is cancelled.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let token = tress::sync::CancellationToken::new();
    /// let task = {
    ///     let token = token.clone();
    ///     tress::spawn(async move { token.cancelled().await })
    /// };
    /// token.cancel();
    /// task.await.unwrap();
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    #[inline]
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        WaitForCancellationFuture {
            wait: self.node.latch().wait(),
        }
    }

    /// As [`cancelled`](CancellationToken::cancelled), with the token in the future.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let token = tress::sync::CancellationToken::new();
    /// let task = tress::spawn(token.clone().cancelled_owned());
    /// token.cancel();
    /// task.await.unwrap();
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub fn cancelled_owned(self) -> WaitForCancellationFutureOwned {
        WaitForCancellationFutureOwned {
            token: self,
            waiter: Waiter::new(),
        }
    }

    /// Cancels the token when the guard is dropped, unless it was
    /// [disarmed](DropGuard::disarm).
    ///
    /// ```
    /// let token = tress::sync::CancellationToken::new();
    /// {
    ///     let _guard = token.clone().drop_guard();
    /// }
    /// assert!(token.is_cancelled());
    /// ```
    pub fn drop_guard(self) -> DropGuard {
        DropGuard { token: self }
    }

    /// As [`drop_guard`](CancellationToken::drop_guard), with a borrow.
    ///
    /// ```
    /// let token = tress::sync::CancellationToken::new();
    /// {
    ///     let _guard = token.drop_guard_ref();
    /// }
    /// assert!(token.is_cancelled());
    /// ```
    pub fn drop_guard_ref(&self) -> DropGuardRef<'_> {
        DropGuardRef { token: self }
    }

    /// Runs a future until it is ready or the token is cancelled, upon which it is dropped and the
    /// result is `None`.
    ///
    /// If the token is cancelled already the future is not polled at all. Later, a future that is
    /// ready wins over a cancellation that came at the same time.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let token = tress::sync::CancellationToken::new();
    /// assert_eq!(token.run_until_cancelled(async { 5 }).await, Some(5));
    /// token.cancel();
    /// assert_eq!(token.run_until_cancelled(async { 5 }).await, None);
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// That of the future.
    pub async fn run_until_cancelled<F: Future>(&self, future: F) -> Option<F::Output> {
        if self.is_cancelled() {
            return None;
        }
        let mut future = pin!(future);
        let mut cancelled = pin!(self.node.latch().wait());
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            // Without a budget: a future that used it up must not be safe from cancellation.
            Poll::Pending => cancelled.as_mut().poll_unbudgeted(cx).map(|()| None),
        })
        .await
    }

    /// As [`run_until_cancelled`](CancellationToken::run_until_cancelled), with the token in the
    /// future.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let token = tress::sync::CancellationToken::new();
    /// let task = tress::spawn(token.clone().run_until_cancelled_owned(std::future::pending::<()>()));
    /// token.cancel();
    /// assert_eq!(task.await.unwrap(), None);
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// That of the future.
    pub async fn run_until_cancelled_owned<F: Future>(self, future: F) -> Option<F::Output> {
        self.run_until_cancelled(future).await
    }
}

impl Clone for CancellationToken {
    /// The same token again.
    fn clone(&self) -> Self {
        CancellationToken {
            node: self.node.clone(),
        }
    }
}

impl Default for CancellationToken {
    fn default() -> Self {
        CancellationToken::new()
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancellationToken")
            .field("is_cancelled", &self.is_cancelled())
            .finish()
    }
}

/// Waits until a token is cancelled; made by [`CancellationToken::cancelled`].
#[must_use = "futures do nothing unless awaited"]
pub struct WaitForCancellationFuture<'a> {
    wait: Wait<'a>,
}

impl Future for WaitForCancellationFuture<'_> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the field is pinned with us: it is not moved, and we have no destructor.
        unsafe { self.map_unchecked_mut(|this| &mut this.wait) }.poll(cx)
    }
}

impl fmt::Debug for WaitForCancellationFuture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitForCancellationFuture")
            .finish_non_exhaustive()
    }
}

/// Waits until its token is cancelled; made by [`CancellationToken::cancelled_owned`].
#[must_use = "futures do nothing unless awaited"]
pub struct WaitForCancellationFutureOwned {
    token: CancellationToken,
    waiter: Waiter<()>,
}

impl Future for WaitForCancellationFutureOwned {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let progress = ready!(coop::poll_proceed(cx));
        let this = self.as_ref().get_ref();
        // SAFETY: the waiter is pinned with us, and we cancel when dropped.
        ready!(unsafe { this.token.node.latch().poll(&this.waiter, cx) });
        progress.made_progress();
        Poll::Ready(())
    }
}

impl Drop for WaitForCancellationFutureOwned {
    fn drop(&mut self) {
        // SAFETY: we are the waiter's future. The token, and the latch in it, go after this.
        unsafe { self.token.node.latch().cancel(&self.waiter) };
    }
}

impl fmt::Debug for WaitForCancellationFutureOwned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitForCancellationFutureOwned")
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

/// Cancels its token when dropped; made by [`CancellationToken::drop_guard`].
#[must_use = "the token is cancelled when the guard is dropped"]
#[derive(Debug)]
pub struct DropGuard {
    token: CancellationToken,
}

impl DropGuard {
    /// The token, which is not cancelled then.
    ///
    /// ```
    /// let token = tress::sync::CancellationToken::new().drop_guard().disarm();
    /// assert!(!token.is_cancelled());
    /// ```
    pub fn disarm(self) -> CancellationToken {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so the token is moved, not copied.
        unsafe { ptr::read(&this.token) }
    }
}

impl Drop for DropGuard {
    fn drop(&mut self) {
        self.token.cancel();
    }
}

/// Cancels the token it borrows when dropped; made by [`CancellationToken::drop_guard_ref`].
#[must_use = "the token is cancelled when the guard is dropped"]
#[derive(Debug)]
pub struct DropGuardRef<'a> {
    token: &'a CancellationToken,
}

impl<'a> DropGuardRef<'a> {
    /// The token, which is not cancelled then.
    ///
    /// ```
    /// let token = tress::sync::CancellationToken::new();
    /// token.drop_guard_ref().disarm();
    /// assert!(!token.is_cancelled());
    /// ```
    pub fn disarm(self) -> &'a CancellationToken {
        let token = self.token;
        mem::forget(self);
        token
    }
}

impl Drop for DropGuardRef<'_> {
    fn drop(&mut self) {
        self.token.cancel();
    }
}
