//! Coroutines: tasks with a stack of their own, written in blocking style.
//!
//! A coroutine is a plain function. Where it has to wait it calls [`wait`] with any future, and its
//! thread goes on with other tasks meanwhile; it needs no `async`, and neither does the code between
//! it and the wait. It is a task like any other: it has a [`JoinHandle`], a name, a panic of its own,
//! it can be aborted, and it counts in metrics and reports.
//!
//! ```
//! use tress::coroutine;
//! use tress::sync::mpsc;
//! use tress::time::Duration;
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, mut rx) = mpsc::channel(1);
//! let producer = coroutine::spawn(move || {
//!     for n in 0..10 {
//!         coroutine::wait(tx.send(n)).unwrap();
//!     }
//!     coroutine::sleep(Duration::from_millis(1));
//!     "done"
//! });
//! let consumer = coroutine::spawn(move || {
//!     let mut sum = 0;
//!     while let Some(n) = coroutine::wait(rx.recv()) {
//!         sum += n;
//!     }
//!     sum
//! });
//! // Futures wait for coroutines as coroutines do for futures.
//! assert_eq!(producer.await.unwrap(), "done");
//! assert_eq!(consumer.await.unwrap(), 45);
//! # });
//! ```
//!
//! # Where they run
//! Before it starts a coroutine can be taken by any worker. Once started it stays on that worker and
//! its thread: it may hold what is not `Send` while it waits. A worker that has started coroutines keeps
//! its thread: [`block_in_place`](crate::task::block_in_place) on it blocks the worker, whose other
//! tasks are left to be stolen, while its coroutines wait. On a current-thread runtime always call
//! `block_on` from the same thread, and drop the runtime there: elsewhere a started coroutine panics instead of
//! going on, and its stack is left behind with all that it owns. Among that are wakers, which keep what the
//! runtime's handles keep: memory, and the descriptors of its I/O driver.
//!
//! # Cancelling
//! [`abort`](JoinHandle::abort) makes the coroutine unwind from where it waits, or from where it next
//! would: destructors run, on its own thread. So does the end of the runtime. The unwinding is a panic
//! without a message; code that catches it will meet it again at the next wait. [`shield`] defers it.
//! A destructor that runs while the coroutine unwinds cannot wait: that aborts the process.
//!
//! [`timeout`] limits the time of a part of a coroutine by the same means.
//!
//! # Fairness
//! A coroutine gives way where it waits. If what it waits for is always ready it is made to give way all
//! the same, when the [budget](crate::runtime::Builder::task_budget) of a task is used up; one that
//! computes for long can call [`yield_now`] now and then.
//!
//! # Stacks
//! 256 KiB of address space by default ([`Builder::stack_size`]), of which only what was touched takes
//! memory: a page or two. Each worker keeps the 64 stacks used last. Running into the end of a stack
//! aborts the process with a message that names the coroutine.
//!
//! The guards below the stacks are `MADV_GUARD_INSTALL`'s where the kernel has them (Linux 6.13): a
//! hundred thousand coroutines and more can be alive at once. Elsewhere they are made by `mprotect`, each
//! of them splits a mapping, and with Linux's default `vm.max_map_count` of 65,530 there is room for about
//! 32,000 stacks in a process; those that do not get one panic when they start, with a message that says
//! so.
//!
//! # Task-local values
//! Values of [`task_local!`](crate::task_local) are not set in a coroutine when it starts. It sets them by
//! [`sync_scope`](crate::task::LocalKey::sync_scope), inside of which it may wait: the value waits with it.
//!
//! # Panic = abort
//! A program built with `panic = "abort"` can use coroutines, but they cannot unwind. One that is aborted, or
//! suspended when its runtime ends, is left behind: it does not go on, its destructors do not run, and its stack
//! and what it owns are never released. The children of a [`scope`] that is left behind so go on until they end or
//! their runtime does. [`timeout`] panics when it is called.

mod builder;
mod deadline;
mod fiber;
mod overflow;
mod park;
mod scope;
mod stack;

pub use builder::{Builder, spawn};
pub use deadline::timeout;
pub use park::{Coroutine, current, park, park_timeout};
pub use scope::{Scope, ScopedJoinHandle, scope};

use crate::runtime::context::Held;
use crate::task;
#[cfg(doc)]
use crate::task::JoinHandle;
use crate::task::shield::Raised;
use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Waits for a future, letting other tasks run meanwhile.
///
/// The future need not be `Send`: it stays on the coroutine's stack.
///
/// ```
/// use tress::coroutine;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let outer = coroutine::spawn(|| {
///     let inner = tress::spawn(async { 20 });
///     coroutine::wait(inner).unwrap() + coroutine::wait(async { 1 })
/// });
/// assert_eq!(outer.await.unwrap(), 21);
/// # });
/// ```
///
/// Whatever is a future can be waited for: a `select!`, a
/// [`channel::Select`](crate::channel::Select), a child process, another coroutine's handle.
///
/// ```
/// use tress::{channel, coroutine};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (numbers, from_numbers) = channel::bounded(1);
/// let (_words, from_words) = channel::bounded::<&str>(1);
/// let task = coroutine::spawn(move || {
///     let first = channel::Select::new()
///         .recv(&from_numbers, |number| format!("{number:?}"))
///         .recv(&from_words, |word| format!("{word:?}"));
///     coroutine::wait(first.wait())
/// });
/// numbers.send(5).await.unwrap();
/// assert_eq!(task.await.unwrap(), "Ok(5)");
/// # });
/// ```
///
/// # Panics
/// Outside of a coroutine; and where a coroutine cannot suspend: inside of a future that it polls itself, by this
/// function or by a [`LocalSet`](crate::task::LocalSet) (use `.await` there), of
/// [`block_in_place`](crate::task::block_in_place) and a `block_on` in it, and of
/// [`LocalKey::with`](crate::task::LocalKey::with). While its coroutine is being cancelled it unwinds.
// Inlined for the reason that `yield_now` is.
#[track_caller]
#[inline(always)]
pub fn wait<F: IntoFuture>(future: F) -> F::Output {
    wait_as("coroutine::wait", future)
}

/// The same, for a function of another name.
#[track_caller]
#[inline(always)]
fn wait_as<F: IntoFuture>(what: &str, future: F) -> F::Output {
    let control = fiber::to_suspend(what);
    let mut future = pin!(future.into_future());
    // SAFETY: a coroutine's task outlives what runs on its stack.
    let waker = unsafe { task::borrowed_waker(control.task) };
    let mut cx = Context::from_waker(&waker);
    loop {
        let held = control.stack.hold(Held::Polling);
        let polled = future.as_mut().poll(&mut cx);
        drop(held);
        match polled {
            Poll::Ready(output) => return output,
            Poll::Pending => control.suspend(),
        }
    }
}

/// Lets the other ready tasks run first.
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// tress::coroutine::spawn(|| tress::coroutine::yield_now()).await.unwrap();
/// # });
/// ```
///
/// # Panics
/// As [`wait`].
// Inlined, with the switch at its heart, so that processors foretell the returns: the switch back enters
// the coroutine by a call, whose return address its next switch away is to meet. A frame in between costs
// two returns that go elsewhere than foretold, and thereby as much as all the rest.
// D-CORO-02
#[track_caller]
#[inline(always)]
pub fn yield_now() {
    let control = fiber::to_suspend("coroutine::yield_now");
    task::requeue_after_poll();
    control.suspend();
}

/// Waits until `duration` has passed.
///
/// ```
/// use tress::coroutine;
/// use tress::time::Duration;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// coroutine::spawn(|| coroutine::sleep(Duration::from_millis(1))).await.unwrap();
/// # });
/// ```
///
/// # Panics
/// As [`wait`], and in a runtime built without `enable_time`.
#[track_caller]
pub fn sleep(duration: Duration) {
    wait_as("coroutine::sleep", crate::time::sleep(duration));
}

/// Runs a part of a coroutine that neither an abort nor a [`timeout`] around it interrupts, as
/// [`task::shield`](crate::task::shield()) does for futures.
///
/// ```
/// use tress::coroutine;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let task = coroutine::spawn(|| {
///     coroutine::shield(|| {
///         // Either nothing of this happens, or all of it.
///         coroutine::yield_now();
///     });
/// });
/// task.abort();
/// let _ = task.await;
/// # });
/// ```
///
/// # Panics
/// Outside of a coroutine.
#[track_caller]
pub fn shield<R>(f: impl FnOnce() -> R) -> R {
    let control = fiber::current("coroutine::shield");
    control.check();
    let _raised = Raised::on_current();
    deadline::unlimited(control, f)
}

/// Has the calling coroutine been aborted? It unwinds where it next waits; one that computes for long
/// can look here, and end earlier.
///
/// ```
/// use tress::coroutine;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let busy = coroutine::spawn(|| {
///     while !coroutine::is_cancelled() {
///         // A step of something long.
/// #       std::thread::yield_now();
///     }
/// });
/// busy.abort();
/// let _ = busy.await;
/// # });
/// ```
///
/// # Panics
/// Outside of a coroutine.
#[track_caller]
pub fn is_cancelled() -> bool {
    let control = fiber::current("coroutine::is_cancelled");
    // SAFETY: a coroutine's task outlives what runs on its stack.
    unsafe { control.task.as_ref() }.is_cancelled()
}

/// Is the caller a coroutine that may [`wait`] here? Not inside of a future that it polls, for one.
///
/// ```
/// assert!(!tress::coroutine::is_current());
/// ```
pub fn is_current() -> bool {
    fiber::is_current()
}
