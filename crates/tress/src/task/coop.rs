//! Cooperative scheduling: a task may do a bounded number of operations in one poll.
//!
//! A task that loops over something that is always ready would otherwise never return to the
//! scheduler. Each poll of a task starts with a budget of 128 operations, or what
//! [`Builder::task_budget`](crate::runtime::Builder::task_budget) says. Every leaf operation of
//! tress (channels, locks, timers, I/O, joins) takes one unit when it makes progress and returns
//! `Pending` when none is left, having asked to be polled again; the task then goes to the tail of
//! its queue. Futures of your own take part by calling [`poll_proceed`] or [`consume_budget`];
//! [`unconstrained`] opts out.

use super::leaf;
use crate::context;
use crate::scheduler;
use pin_project_lite::pin_project;
use std::cell::Cell;
use std::ffi::c_void;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What is left of the current poll's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget(u8);

impl Budget {
    pub(crate) const UNCONSTRAINED: Budget = Budget(u8::MAX);
    /// Nothing is left, so operations do not begin.
    #[cfg(all(feature = "taskdump", not(loom)))]
    const NONE: Budget = Budget(0);
    /// Operations per poll.
    pub(crate) const DEFAULT: Budget = Budget(128);
    /// The largest budget that can be asked for.
    pub(crate) const MAX: u8 = u8::MAX - 1;

    /// A budget of 1 to [`MAX`](Budget::MAX) operations.
    pub(crate) fn of(operations: u8) -> Option<Budget> {
        (1..=Budget::MAX)
            .contains(&operations)
            .then_some(Budget(operations))
    }

    fn take_one(self) -> Option<Budget> {
        match self {
            Budget::UNCONSTRAINED => Some(self),
            Budget(left) => left.checked_sub(1).map(Budget),
        }
    }
}

/// Runs `f` with a budget and restores the old one, also on a panic.
#[inline]
fn with_budget<R>(budget: Budget, f: impl FnOnce() -> R) -> R {
    struct Restore(Budget);
    impl Drop for Restore {
        #[inline]
        fn drop(&mut self) {
            context::with(|cx| cx.budget.set(self.0));
        }
    }
    let _restore = Restore(context::with(|cx| cx.budget.replace(budget)));
    f()
}

#[inline]
pub(crate) fn with_fresh_budget<R>(f: impl FnOnce() -> R) -> R {
    if leaf::is_tracing() {
        return f();
    }
    with_budget(context::full_budget(), f)
}

/// Runs `f` without a budget, unless it is traced.
pub(crate) fn with_unconstrained<R>(f: impl FnOnce() -> R) -> R {
    if leaf::is_tracing() {
        return f();
    }
    with_budget(Budget::UNCONSTRAINED, f)
}

/// Runs `f` with the budget of a trace, in which no operation begins.
#[cfg(all(feature = "taskdump", not(loom)))]
pub(super) fn with_budget_of_trace<R>(f: impl FnOnce() -> R) -> R {
    with_budget(Budget::NONE, f)
}

/// Lifts the budget for the rest of the poll, and returns it. For `block_in_place`.
pub(crate) fn stop() -> Budget {
    context::with(|cx| cx.budget.replace(Budget::UNCONSTRAINED))
}

pub(crate) fn set(budget: Budget) {
    context::with(|cx| cx.budget.set(budget));
}

/// Takes one unit, which is given back unless progress is made.
///
/// Returns `Pending` when the budget is used up; the task has then been woken and will be polled again after the
/// others have had their turn.
///
/// # Examples
/// ```
/// use std::future::{Future, poll_fn};
/// use std::task::Poll;
/// use tress::task::coop;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// // An operation that is always ready, made to yield now and then.
/// let value = poll_fn(|cx| {
///     let progress = std::task::ready!(coop::poll_proceed(cx));
///     progress.made_progress();
///     Poll::Ready(7)
/// })
/// .await;
/// assert_eq!(value, 7);
/// # });
/// ```
#[inline]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<RestoreOnPending> {
    let current = context::with(|c| c.budget.get());
    match current.take_one() {
        Some(left) => {
            context::with(|c| c.budget.set(left));
            Poll::Ready(RestoreOnPending(Cell::new(current), PhantomData))
        }
        None => {
            forced_yield(cx);
            Poll::Pending
        }
    }
}

/// Lets an operation wait for the next poll, or tells the trace about it.
#[cold]
#[inline(never)]
pub(super) fn forced_yield(cx: &mut Context<'_>) {
    let here: fn(&mut Context<'_>) = forced_yield;
    if leaf::reached(cx, here as *const c_void) {
        return;
    }
    crate::runtime::count_forced_yield();
    if !give_way(cx) {
        cx.waker().wake_by_ref();
    }
}

/// Lets what is ready on this current-thread runtime go first, and wakes the task then. Returns false elsewhere.
pub(crate) fn give_way(cx: &mut Context<'_>) -> bool {
    scheduler::defer(cx.waker())
}

/// A unit of the budget, taken by [`poll_proceed`].
///
/// It is given back when this is dropped, unless [`made_progress`](RestoreOnPending::made_progress) was
/// called.
///
/// # Examples
/// ```
/// use std::future::poll_fn;
/// use std::task::{Poll, ready};
/// use tress::task::coop;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut words = ["one", "two"].into_iter();
/// let first = poll_fn(|cx| {
///     let unit = ready!(coop::poll_proceed(cx));
///     match words.next() {
///         Some(word) => {
///             unit.made_progress();
///             Poll::Ready(word)
///         }
///         None => Poll::Pending, // the unit goes back
///     }
/// });
/// assert_eq!(first.await, "one");
/// # });
/// ```
#[derive(Debug)]
#[must_use]
pub struct RestoreOnPending(Cell<Budget>, PhantomData<*const ()>);

impl RestoreOnPending {
    /// Spends the unit, because the operation made progress.
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use std::task::{Poll, ready};
    /// use tress::task::coop;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// poll_fn(|cx| {
    ///     ready!(coop::poll_proceed(cx)).made_progress();
    ///     Poll::Ready(())
    /// })
    /// .await;
    /// # });
    /// ```
    #[inline]
    pub fn made_progress(&self) {
        self.0.set(Budget::UNCONSTRAINED);
    }
}

impl Drop for RestoreOnPending {
    #[inline]
    fn drop(&mut self) {
        // An unconstrained budget has nothing to restore, so it doubles as the mark.
        let budget = self.0.get();
        if budget != Budget::UNCONSTRAINED {
            set(budget);
        }
    }
}

/// Returns true if the running task may do another operation in this poll.
///
/// Outside of tasks and of `block_on` it is always true.
///
/// # Examples
/// ```
/// use tress::task::coop;
///
/// assert!(coop::has_budget_remaining());
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// tress::spawn(async {
///     let mut operations = 0;
///     while coop::has_budget_remaining() {
///         tress::task::consume_budget().await;
///         operations += 1;
///     }
///     assert!(operations <= 128); // the default of `Builder::task_budget`
/// })
/// .await
/// .unwrap();
/// # });
/// ```
pub fn has_budget_remaining() -> bool {
    // In a trace it is the operations that have to be reached.
    leaf::is_tracing() || context::with(|cx| cx.budget.get().take_one().is_some())
}

/// Checks for combinators whether any budget is left, without taking a unit; if not, asks to be polled again.
pub(crate) fn poll_budget_available(cx: &mut Context<'_>) -> Poll<()> {
    if has_budget_remaining() {
        Poll::Ready(())
    } else {
        forced_yield(cx);
        Poll::Pending
    }
}

/// Takes one unit of the budget, and yields to the scheduler if there is none left.
///
/// It is for long computations that have no other await points.
///
/// # Cancel safety
/// This function is cancel safe. Dropping the future loses nothing.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut sum = 0u64;
/// for i in 0..1_000_000u64 {
///     sum = sum.wrapping_add(i);
///     if i % 1024 == 0 {
///         tress::task::consume_budget().await;
///     }
/// }
/// # assert_eq!(sum, 499_999_500_000);
/// # });
/// ```
pub async fn consume_budget() {
    poll_fn(|cx| {
        ready!(poll_proceed(cx)).made_progress();
        Poll::Ready(())
    })
    .await
}

pin_project! {
    /// A future that has no budget; returned by [`unconstrained`].
    ///
    /// # Examples
    /// ```
    /// use tress::task::coop::{Unconstrained, unconstrained};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let future: Unconstrained<_> = unconstrained(async { 7 });
    /// assert_eq!(future.await, 7);
    /// # });
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Unconstrained<F> {
        #[pin]
        inner: F,
    }
}

/// Wraps a future so that it runs without a budget, and is never forced to yield.
///
/// Other tasks of the same thread do not run while the future finds something to do.
///
/// # Cancel safety
/// The returned future is as cancel safe as `inner` is.
///
/// # Examples
/// ```
/// use tress::task::{consume_budget, unconstrained};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// // One poll, where a plain task would have been made to yield seven times.
/// unconstrained(async {
///     for _ in 0..1000 {
///         consume_budget().await;
///     }
/// })
/// .await;
/// # });
/// ```
pub fn unconstrained<F>(inner: F) -> Unconstrained<F> {
    Unconstrained { inner }
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        with_unconstrained(|| self.project().inner.poll(cx))
    }
}

pin_project! {
    /// A future that spends the budget; returned by [`cooperative`].
    ///
    /// # Examples
    /// ```
    /// use tress::task::coop::{Coop, cooperative};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let future: Coop<_> = cooperative(std::future::ready(7));
    /// assert_eq!(future.await, 7);
    /// # });
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Coop<F> {
        #[pin]
        inner: F,
    }
}

/// Wraps a future so that it takes a unit of the budget when it completes.
///
/// It is for futures that do not know about budgets, such as those of other crates.
///
/// # Cancel safety
/// The returned future is as cancel safe as `inner` is.
///
/// # Examples
/// ```
/// use tress::task::coop::cooperative;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// // A source that is always ready lets other tasks run now and then.
/// for n in 0..1000 {
///     assert_eq!(cooperative(std::future::ready(n)).await, n);
/// }
/// # });
/// ```
pub fn cooperative<F: Future>(inner: F) -> Coop<F> {
    Coop { inner }
}

impl<F: Future> Future for Coop<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let proceed = ready!(poll_proceed(cx));
        let polled = self.project().inner.poll(cx);
        if polled.is_ready() {
            proceed.made_progress();
        }
        polled
    }
}
