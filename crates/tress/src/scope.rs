//! Structured scopes: tasks that end before the code that started them goes on.

mod error;
mod shared;

pub use error::Error;

use crate::sight::{self, WaitKind};
use crate::sync::CancellationToken;
use crate::sys::guarded;
use crate::task::{self, JoinHandle, coop};
use crate::time::{Instant, Sleep, sleep, sleep_until};
use pin_project_lite::pin_project;
use shared::{Cause, Place, Settled, Shared};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

/// Runs `body` with a [`Scope`] to spawn tasks in, and waits until all of them are over.
///
/// - The scope's result is the body's, once the body *and* every child are done.
/// - The first child that returns an error, the body's own error, and a panic of either cancel the
///   scope: body and children are aborted, all are waited for, then the error is returned or the
///   panic goes on. Children started with [`Scope::supervise`] fail alone.
/// - Whichever way it returns, the futures of all its children have been dropped by then.
///
/// A [`Builder`] adds a deadline, or a token that cancels the scope from outside.
///
/// # Cancellation reaches the whole tree
/// Aborting a task that is inside a scope drops the scope, which aborts its children, which drops
/// theirs: no code has to look at a flag. A [`shield`](crate::task::shield()) keeps the part of the tree
/// below it until it is done.
///
/// # Errors
/// - [`Error::Failed`] if the body or a child that is not supervised returned an error.
/// - [`Error::Cancelled`] if the scope was cancelled by [`Scope::cancel`] or by its
///   [token](Scope::token).
///
/// If both happen, the first is returned.
///
/// # Panics
/// Panics with the panic of the body or of a child that is not supervised.
///
/// # Cancel safety
/// Dropping the future drops the body at once and aborts all children before the drop returns. A child
/// that is waiting is then dropped by the next free worker, one that is being polled at its next
/// suspension, as with [`JoinHandle::abort`]; nothing of them is polled again after that. Only a
/// scope that is *awaited* also waits for it.
///
/// # Examples
/// ```
/// use tress::task;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let sum = task::scope(|scope| async move {
///     let one = scope.spawn(async { "1".parse::<i32>() });
///     let two = scope.spawn(async { "2".parse::<i32>() });
///     Ok(one.await.unwrap() + two.await.unwrap())
/// });
/// assert_eq!(sum.await.unwrap(), 3);
///
/// let failed = task::scope(|scope| async move {
///     scope.spawn(async { "three".parse::<i32>() });
///     std::future::pending::<Result<(), _>>().await
/// });
/// assert!(matches!(failed.await, Err(task::scope::Error::Failed(_))));
/// # });
/// ```
pub async fn scope<B, F, T, E>(body: B) -> Result<T, Error<E>>
where
    B: FnOnce(Scope<E>) -> F,
    F: Future<Output = Result<T, E>>,
{
    Builder::new().run(body).await
}

/// A builder of scopes with a deadline or a token that cancels them.
///
/// # Examples
/// ```
/// use tress::task::scope;
/// use tress::time::Duration;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let late = scope::Builder::new().timeout(Duration::from_millis(1)).run(|scope| async move {
///     scope.spawn(std::future::pending::<Result<(), ()>>());
///     Ok(())
/// });
/// assert_eq!(late.await, Err(scope::Error::TimedOut));
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    deadline: Option<Deadline>,
    token: Option<CancellationToken>,
}

#[derive(Clone, Copy, Debug)]
enum Deadline {
    At(Instant),
    After(Duration),
}

impl Builder {
    /// Creates a builder for a scope that has no deadline and no token.
    ///
    /// # Examples
    /// ```
    /// use tress::task::scope;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let value = scope::Builder::new().run(|_| async { Ok::<_, ()>(7) });
    /// assert_eq!(value.await, Ok(7));
    /// # });
    /// ```
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Cancels the scope at `deadline`, with the result [`Error::TimedOut`].
    ///
    /// It takes the place of a [`timeout`](Builder::timeout).
    ///
    /// # Examples
    /// ```
    /// use tress::task::scope;
    /// use tress::time::Instant;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let late = scope::Builder::new()
    ///     .deadline(Instant::now())
    ///     .run(|_| std::future::pending::<Result<(), ()>>());
    /// assert_eq!(late.await, Err(scope::Error::TimedOut));
    /// # });
    /// ```
    pub fn deadline(mut self, deadline: Instant) -> Builder {
        self.deadline = Some(Deadline::At(deadline));
        self
    }

    /// Cancels the scope `duration` after it begins, with the result [`Error::TimedOut`].
    ///
    /// It takes the place of a [`deadline`](Builder::deadline).
    ///
    /// # Examples
    /// ```
    /// use tress::task::scope;
    /// use tress::time::Duration;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let late = scope::Builder::new()
    ///     .timeout(Duration::from_millis(1))
    ///     .run(|_| std::future::pending::<Result<(), ()>>());
    /// assert_eq!(late.await, Err(scope::Error::TimedOut));
    /// # });
    /// ```
    pub fn timeout(mut self, duration: Duration) -> Builder {
        self.deadline = Some(Deadline::After(duration));
        self
    }

    /// Cancels the scope when `token` is cancelled, with the result [`Error::Cancelled`].
    ///
    /// The scope's own [token](Scope::token) is a child of this one.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::CancellationToken;
    /// use tress::task::scope;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let token = CancellationToken::new();
    /// let stopped = scope::Builder::new().token(&token).run(|_| async {
    ///     token.cancel();
    ///     std::future::pending::<Result<(), ()>>().await
    /// });
    /// assert_eq!(stopped.await, Err(scope::Error::Cancelled));
    /// # });
    /// ```
    pub fn token(mut self, token: &CancellationToken) -> Builder {
        self.token = Some(token.clone());
        self
    }

    /// Runs `body` in the scope, and waits until all tasks of the scope are over.
    ///
    /// Does the same as [`scope()`], with the options of this builder.
    ///
    /// # Errors
    /// - [`Error::Failed`] if the body or a child that is not supervised returned an error.
    /// - [`Error::Cancelled`] if the scope was cancelled by [`Scope::cancel`], by its own token, or by the one
    ///   of [`Builder::token`].
    /// - [`Error::TimedOut`] if the deadline or the timeout passed first.
    ///
    /// If several of these happen, the first is returned.
    ///
    /// # Panics
    /// Panics where [`scope()`] does, and, with a deadline or a timeout, outside of a runtime or in one built
    /// without `enable_time`.
    ///
    /// # Cancel safety
    /// This method is as cancel safe as [`scope()`] is: dropping the future drops the body and aborts all
    /// children.
    ///
    /// # Examples
    /// ```
    /// use tress::task::scope;
    /// use tress::time::Duration;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let sum = scope::Builder::new().timeout(Duration::from_secs(60)).run(|scope| async move {
    ///     let one = scope.spawn(async { "1".parse::<i32>() });
    ///     let two = scope.spawn(async { "2".parse::<i32>() });
    ///     Ok(one.await.unwrap() + two.await.unwrap())
    /// });
    /// assert_eq!(sum.await, Ok(3));
    /// # });
    /// ```
    pub async fn run<B, F, T, E>(self, body: B) -> Result<T, Error<E>>
    where
        B: FnOnce(Scope<E>) -> F,
        F: Future<Output = Result<T, E>>,
    {
        let token = match &self.token {
            Some(parent) => parent.child_token(),
            None => CancellationToken::new(),
        };
        let shared = Arc::new(Shared::new(token.clone()));
        // Declared before the body: it is dropped after it.
        let _close = Close(&shared);
        let mut deadline = pin!(self.deadline.map(Deadline::sleep));
        let mut cancelled = pin!(token.cancelled_owned());
        let mut body = pin!(Some(body(Scope {
            shared: shared.clone()
        })));
        let mut value = None;
        poll_fn(|cx| {
            loop {
                if let Some(running) = body.as_mut().as_pin_mut() {
                    let over = shared.is_cancelled() || poll_body(&shared, running, cx, &mut value);
                    if over {
                        contain(&shared, || body.set(None));
                    }
                }
                if !shared.is_cancelled() {
                    // Without a budget: a body that used it up must not be safe from them.
                    coop::with_unconstrained(|| {
                        let late = deadline.as_mut().as_pin_mut();
                        if cancelled.as_mut().poll(cx).is_ready() {
                            shared.fail(Cause::Cancelled);
                        } else if late.is_some_and(|sleep| sleep.poll(cx).is_ready()) {
                            shared.fail(Cause::TimedOut);
                        }
                    });
                }
                match shared.settle(cx.waker(), body.is_some()) {
                    Settled::Over => return Poll::Ready(()),
                    Settled::Waits => {
                        sight::waits_longer(WaitKind::Join, 0, None);
                        return Poll::Pending;
                    }
                    Settled::Again => {}
                }
            }
        })
        .await;
        outcome(shared.take_cause(), value)
    }
}

/// Returns what a scope that is over returns: its body's value, unless it has failed by then.
fn outcome<T, E>(cause: Option<Cause<E>>, value: Option<T>) -> Result<T, Error<E>> {
    match (cause, value) {
        (Some(Cause::Panic(payload)), value) => {
            // Not while unwinding: its destructor may panic too.
            guarded(|| drop(value));
            resume_unwind(payload)
        }
        (Some(Cause::Failed(error)), _) => Err(Error::Failed(error)),
        (Some(Cause::Cancelled), _) => Err(Error::Cancelled),
        (Some(Cause::TimedOut), _) => Err(Error::TimedOut),
        (None, Some(value)) => Ok(value),
        (None, None) => unreachable!("a body that gave no value left a cause"),
    }
}

impl Deadline {
    fn sleep(self) -> Sleep {
        match self {
            Deadline::At(deadline) => sleep_until(deadline),
            Deadline::After(duration) => sleep(duration),
        }
    }
}

/// True if the body is over: its value is in place, or the scope has failed by it.
fn poll_body<F, T, E>(
    shared: &Shared<E>,
    body: Pin<&mut F>,
    cx: &mut Context<'_>,
    value: &mut Option<T>,
) -> bool
where
    F: Future<Output = Result<T, E>>,
{
    match catch_unwind(AssertUnwindSafe(|| body.poll(cx))) {
        Ok(Poll::Pending) => return false,
        Ok(Poll::Ready(Ok(output))) => *value = Some(output),
        Ok(Poll::Ready(Err(error))) => shared.fail(Cause::Failed(error)),
        Err(payload) => shared.fail(Cause::Panic(payload)),
    }
    true
}

/// Runs a destructor whose panic is the scope's.
fn contain<E>(shared: &Shared<E>, f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        shared.fail(Cause::Panic(payload));
    }
}

/// Aborts what is left when the scope's future goes.
struct Close<'a, E>(&'a Shared<E>);

impl<E> Drop for Close<'_, E> {
    fn drop(&mut self) {
        if thread::panicking() {
            // A foreign waker of the token must not make a second panic of it.
            guarded(|| self.0.close());
        } else {
            self.0.close();
        }
    }
}

/// A handle of a scope, in which children are spawned; given to the body of [`scope()`].
///
/// Clones refer to the same scope: a child may have one to spawn siblings. Once the scope is cancelled or
/// over, what is spawned in it is cancelled before it runs.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let done = tress::task::scope(|scope| async move {
///     let siblings = scope.clone();
///     scope.spawn(async move {
///         siblings.spawn(async { Ok(()) });
///         Ok(())
///     });
///     Ok::<_, ()>("both are over when the scope is")
/// });
/// assert!(done.await.is_ok());
/// # });
/// ```
pub struct Scope<E> {
    shared: Arc<Shared<E>>,
}

impl<E: Send + 'static> Scope<E> {
    /// Spawns a child on the current runtime.
    ///
    /// If it returns an error or panics, the whole scope is cancelled and fails with that, and the child's own
    /// handle returns a cancellation.
    ///
    /// The handle may be dropped: the scope waits for the child all the same. A child that is
    /// aborted by its handle does not fail the scope.
    ///
    /// # Panics
    /// Panics if called outside of a runtime.
    ///
    /// # Examples
    /// ```
    /// use tress::task;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let found = task::scope(|scope| async move {
    ///     for n in 0..4 {
    ///         // The first error ends the search.
    ///         scope.spawn(async move { if n == 2 { Err("found") } else { Ok(()) } });
    ///     }
    ///     Ok(())
    /// });
    /// assert_eq!(found.await, Err(task::scope::Error::Failed("found")));
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<F, T>(&self, future: F) -> JoinHandle<T>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
    {
        let place = Shared::enter(&self.shared);
        let key = place.key();
        let handle = task::spawn(Child {
            inner: Some(future),
            started: false,
            place,
        });
        self.shared.entered(key, handle.abort_handle());
        handle
    }

    /// Spawns a child on the current runtime that fails alone.
    ///
    /// Its output, also an error, and its panic are returned by its handle, and the scope goes on.
    ///
    /// # Panics
    /// Panics if called outside of a runtime.
    ///
    /// # Examples
    /// ```
    /// use tress::task;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let restarts = task::scope(|scope| async move {
    ///     let mut restarts = 0;
    ///     while scope.supervise(async move { assert!(restarts > 2) }).await.is_err() {
    ///         restarts += 1;
    ///     }
    ///     Ok::<_, ()>(restarts)
    /// });
    /// assert_eq!(restarts.await, Ok(3));
    /// # });
    /// ```
    #[track_caller]
    pub fn supervise<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let place = Shared::enter(&self.shared);
        let key = place.key();
        let handle = task::spawn(Supervised {
            inner: future,
            started: false,
            place,
        });
        self.shared.entered(key, handle.abort_handle());
        handle
    }
}

impl<E> Scope<E> {
    /// Cancels the scope.
    ///
    /// Body and children are aborted, and the scope returns [`Error::Cancelled`] unless it had failed before.
    ///
    /// # Examples
    /// ```
    /// use tress::task;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let stopped = task::scope(|scope| async move {
    ///     let inner = scope.clone();
    ///     scope.supervise(async move { inner.cancel() });
    ///     std::future::pending::<Result<(), ()>>().await
    /// });
    /// assert_eq!(stopped.await, Err(task::scope::Error::Cancelled));
    /// # });
    /// ```
    pub fn cancel(&self) {
        self.shared.fail(Cause::Cancelled);
    }

    /// Returns a token that is cancelled when the scope is cancelled or over.
    ///
    /// It is for code that stops by itself. Cancelling it cancels the scope.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let stopped = tress::task::scope(|scope| async move {
    ///     let token = scope.token().clone();
    ///     scope.spawn(async move {
    ///         token.cancel();
    ///         Ok(())
    ///     });
    ///     std::future::pending::<Result<(), ()>>().await
    /// });
    /// assert_eq!(stopped.await, Err(tress::task::scope::Error::Cancelled));
    /// # });
    /// ```
    pub fn token(&self) -> &CancellationToken {
        self.shared.token()
    }

    /// Returns the number of children that are not over.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let alive = tress::task::scope(|scope| async move {
    ///     scope.supervise(async {}).await.unwrap();
    ///     Ok::<_, ()>(scope.len())
    /// });
    /// assert_eq!(alive.await, Ok(0));
    /// # });
    /// ```
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Returns true if no child is left.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let empty = tress::task::scope(|scope| async move { Ok::<_, ()>(scope.is_empty()) });
    /// assert_eq!(empty.await, Ok(true));
    /// # });
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<E> Clone for Scope<E> {
    /// Returns another handle of the same scope.
    fn clone(&self) -> Self {
        Scope {
            shared: self.shared.clone(),
        }
    }
}

impl<E> fmt::Debug for Scope<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("children", &self.len())
            .field("cancelled", &self.shared.is_cancelled())
            .finish_non_exhaustive()
    }
}

pin_project! {
    /// A child whose failure is the scope's.
    struct Child<F, E> {
        #[pin]
        inner: Option<F>,
        started: bool,
        // Declared last: the scope is not over before the future is gone.
        place: Place<E>,
    }

    impl<F, E> PinnedDrop for Child<F, E> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            let place = &*this.place;
            contain(place.shared(), || this.inner.set(None));
        }
    }
}

impl<F, T, E> Future for Child<F, E>
where
    F: Future<Output = Result<T, E>>,
{
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut this = self.project();
        if !this.place.may_run(this.started) {
            return Poll::Pending;
        }
        let Some(inner) = this.inner.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        let shared = this.place.shared();
        // A child that failed is pending until the abort that its failure causes ends it.
        match catch_unwind(AssertUnwindSafe(|| inner.poll(cx))) {
            Ok(Poll::Ready(Ok(output))) => Poll::Ready(output),
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(Err(error))) => {
                contain(shared, || this.inner.set(None));
                shared.fail(Cause::Failed(error));
                Poll::Pending
            }
            Err(payload) => {
                shared.fail(Cause::Panic(payload));
                contain(shared, || this.inner.set(None));
                Poll::Pending
            }
        }
    }
}

pin_project! {
    /// A child that fails alone.
    struct Supervised<F, E> {
        #[pin]
        inner: F,
        started: bool,
        place: Place<E>,
    }
}

impl<F: Future, E> Future for Supervised<F, E> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        match this.place.may_run(this.started) {
            true => this.inner.poll(cx),
            false => Poll::Pending,
        }
    }
}
