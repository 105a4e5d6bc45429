//! Cancellation of a tree of tasks: [`CancellationToken`] with its futures and guards.
//!
//! - [`CancellationToken`] is the signal itself. It is exported from [`sync`](super), too.
//! - [`WaitForCancellationFuture`] and [`WaitForCancellationFutureOwned`] wait for it.
//! - [`DropGuard`] and [`DropGuardRef`] give it when a scope is left.

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

/// A signal to stop, for any number of tasks.
///
/// A task waits for the signal with [`cancelled`](CancellationToken::cancelled), looks for it with
/// [`is_cancelled`](CancellationToken::is_cancelled), or runs a future under it with
/// [`run_until_cancelled`](CancellationToken::run_until_cancelled). A token that is cancelled stays
/// so.
///
/// # Trees of tokens
/// Clones are the same token. [Child tokens](CancellationToken::child_token) are cancelled together
/// with their parent, but can also be cancelled alone: a server may have one token, a child of it
/// for each connection, and a child of that for each request. A token that is dropped leaves the
/// tree, and its children become children of its parent.
///
/// [`cancel`](CancellationToken::cancel) has reached all descendants when it returns.
/// `is_cancelled` is one atomic load, however deep the token is in the tree.
///
/// # Examples
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
pub struct CancellationToken {
    node: NodeRef,
}

impl CancellationToken {
    /// Creates a token that is not cancelled and has no parent.
    ///
    /// # Examples
    /// ```
    /// let token = tress::sync::CancellationToken::new();
    /// assert!(!token.is_cancelled());
    /// ```
    #[track_caller]
    pub fn new() -> CancellationToken {
        CancellationToken {
            node: NodeRef::root(),
        }
    }

    /// Creates a token that is cancelled together with this one, and can be cancelled alone.
    ///
    /// The child is cancelled from the beginning if this token is.
    ///
    /// # Examples
    /// ```
    /// let parent = tress::sync::CancellationToken::new();
    /// let (one, other) = (parent.child_token(), parent.child_token());
    /// one.cancel();
    /// assert!(one.is_cancelled() && !other.is_cancelled() && !parent.is_cancelled());
    /// parent.cancel();
    /// assert!(other.is_cancelled());
    /// ```
    #[track_caller]
    pub fn child_token(&self) -> CancellationToken {
        CancellationToken {
            node: self.node.child(),
        }
    }

    /// Cancels this token and all its descendants, and wakes the tasks that wait for that.
    ///
    /// Cancelling a token that is cancelled has no effect.
    ///
    /// # Examples
    /// ```
    /// let token = tress::sync::CancellationToken::new();
    /// token.cancel();
    /// assert!(token.is_cancelled());
    /// ```
    pub fn cancel(&self) {
        self.node.cancel();
    }

    /// Returns `true` if this token or one of its ancestors has been cancelled.
    ///
    /// # Examples
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
    /// The future is ready at once if it is cancelled already.
    ///
    /// # Cancel safety
    /// This method is cancel safe: dropping the future has no effect on the token.
    ///
    /// # Examples
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
    #[inline]
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        WaitForCancellationFuture {
            wait: self.node.latch().wait(),
        }
    }

    /// Waits until the token is cancelled, with a future that owns the token.
    ///
    /// Does the same as [`cancelled`](CancellationToken::cancelled), but the future borrows
    /// nothing.
    ///
    /// # Cancel safety
    /// This method is cancel safe: dropping the future drops its token, and has no other effect.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let token = tress::sync::CancellationToken::new();
    /// let task = tress::spawn(token.clone().cancelled_owned());
    /// token.cancel();
    /// task.await.unwrap();
    /// # });
    /// ```
    pub fn cancelled_owned(self) -> WaitForCancellationFutureOwned {
        WaitForCancellationFutureOwned {
            token: self,
            waiter: Waiter::new(),
        }
    }

    /// Returns a guard that cancels the token when it is dropped.
    ///
    /// [`DropGuard::disarm`] takes the token out again.
    ///
    /// # Examples
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

    /// Returns a guard that borrows the token, and cancels it when dropped.
    ///
    /// [`DropGuardRef::disarm`] ends the borrow without cancelling.
    ///
    /// # Examples
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

    /// Runs a future until it is ready or the token is cancelled.
    ///
    /// Returns `Some` with the output if the future is ready first. Otherwise the future is dropped
    /// and `None` returned.
    ///
    /// If the token is cancelled at the first poll, the future is not polled at all. Later the
    /// future is polled before the token is looked at, so an output that is ready wins over a
    /// cancellation at the same time.
    ///
    /// # Cancel safety
    /// This method is as cancel safe as the future: dropping it drops the future.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let token = tress::sync::CancellationToken::new();
    /// assert_eq!(token.run_until_cancelled(async { 5 }).await, Some(5));
    /// token.cancel();
    /// assert_eq!(token.run_until_cancelled(async { 5 }).await, None);
    /// # });
    /// ```
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

    /// Runs a future until it is ready or the token is cancelled, and owns the token.
    ///
    /// Does the same as [`run_until_cancelled`](CancellationToken::run_until_cancelled), but
    /// borrows nothing.
    ///
    /// # Cancel safety
    /// This method is as cancel safe as the future: dropping it drops the future.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let token = tress::sync::CancellationToken::new();
    /// let task = tress::spawn(token.clone().run_until_cancelled_owned(std::future::pending::<()>()));
    /// token.cancel();
    /// assert_eq!(task.await.unwrap(), None);
    /// # });
    /// ```
    pub async fn run_until_cancelled_owned<F: Future>(self, future: F) -> Option<F::Output> {
        self.run_until_cancelled(future).await
    }
}

impl Clone for CancellationToken {
    /// Returns another handle of the same token.
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

/// Future returned by [`CancellationToken::cancelled`]: waits until the token is cancelled.
///
/// # Cancel safety
/// Cancel safe: dropping it has no effect on the token.
///
/// # Examples
/// ```
/// use tress::sync::CancellationToken;
/// use tress::sync::cancellation::WaitForCancellationFuture;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let token = CancellationToken::new();
/// let cancelled: WaitForCancellationFuture<'_> = token.cancelled();
/// token.cancel();
/// cancelled.await;
/// # });
/// ```
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

/// Future returned by [`CancellationToken::cancelled_owned`]: waits until its token is cancelled.
///
/// # Cancel safety
/// Cancel safe: dropping it drops its token, and has no other effect.
///
/// # Examples
/// ```
/// use tress::sync::CancellationToken;
/// use tress::sync::cancellation::WaitForCancellationFutureOwned;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let token = CancellationToken::new();
/// let cancelled: WaitForCancellationFutureOwned = token.clone().cancelled_owned();
/// token.cancel();
/// cancelled.await;
/// # });
/// ```
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

/// A guard that owns a token and cancels it when dropped; see [`CancellationToken::drop_guard`].
///
/// # Examples
/// ```
/// use tress::sync::CancellationToken;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let token = CancellationToken::new();
/// let guard = token.clone().drop_guard();
/// tress::spawn(async move {
///     let _stops_the_others = guard;
///     // Returning, panicking and being aborted all drop the guard.
/// });
/// token.cancelled().await;
/// # });
/// ```
#[must_use = "the token is cancelled when the guard is dropped"]
#[derive(Debug)]
pub struct DropGuard {
    token: CancellationToken,
}

impl DropGuard {
    /// Returns the token without cancelling it.
    ///
    /// # Examples
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

/// A guard that borrows a token and cancels it when dropped; see
/// [`CancellationToken::drop_guard_ref`].
///
/// # Examples
/// ```
/// use tress::sync::CancellationToken;
///
/// fn check(number: i32, stop: &CancellationToken) -> Result<(), String> {
///     let guard = stop.drop_guard_ref();
///     if number < 0 {
///         return Err(format!("{number} is negative"));
///     }
///     guard.disarm();
///     Ok(())
/// }
///
/// let stop = CancellationToken::new();
/// check(1, &stop).unwrap();
/// assert!(!stop.is_cancelled());
/// check(-1, &stop).unwrap_err();
/// assert!(stop.is_cancelled());
/// ```
#[must_use = "the token is cancelled when the guard is dropped"]
#[derive(Debug)]
pub struct DropGuardRef<'a> {
    token: &'a CancellationToken,
}

impl<'a> DropGuardRef<'a> {
    /// Returns the token without cancelling it.
    ///
    /// # Examples
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
