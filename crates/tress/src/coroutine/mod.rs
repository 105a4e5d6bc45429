//! Coroutines: tasks with a stack of their own, written in blocking style.
//!
//! A coroutine is a plain function. Where it has to wait, it calls [`wait`] with any future, and
//! its thread runs other tasks meanwhile. It needs no `async`, and neither does the code between it
//! and the wait: that makes coroutines a way to use asynchronous I/O from recursive code, from
//! callbacks and from libraries with synchronous interfaces.
//!
//! A coroutine is a task like any other. It has a [`JoinHandle`] and a name, its panics stay in it,
//! it can be aborted, and it counts in metrics and reports. Futures can wait for coroutines and
//! coroutines for futures.
//!
//! - [`spawn`] starts a coroutine; [`Builder`] does so with a name or another stack size.
//! - [`wait`] waits for any future; [`sleep`] and [`yield_now`] are short for frequent ones.
//! - [`timeout`] limits the time of a part of a coroutine, and [`shield`] protects a part from
//!   cancellation.
//! - [`scope`](scope()) starts coroutines that borrow from the one that calls it.
//! - [`park`] and [`Coroutine::unpark`] let coroutines signal each other, as threads do.
//!
//! Spawn an `async` block instead where the code is asynchronous anyway: it takes no stack, and can
//! move between threads.
//!
//! # Examples
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
//! // Futures wait for coroutines just as coroutines wait for futures.
//! assert_eq!(producer.await.unwrap(), "done");
//! assert_eq!(consumer.await.unwrap(), 45);
//! # });
//! ```
//!
//! # Where coroutines run
//! Any worker can start a coroutine. Once started, it stays on that worker and its thread, so it
//! may hold values that are not `Send` while it waits. A worker that has started coroutines keeps
//! its thread: [`block_in_place`](crate::task::block_in_place) blocks the worker there. Its other
//! tasks can be stolen, but its coroutines wait.
//!
//! On a current-thread runtime, always call `block_on` from the same thread, and drop the runtime
//! there. On another thread, a started coroutine panics instead of continuing, and its stack leaks
//! with everything on it. That includes wakers, which keep the memory and the I/O driver of the
//! runtime alive.
//!
//! # Cancellation
//! [`abort`](JoinHandle::abort) makes the coroutine unwind from where it waits, or from its next
//! wait. Destructors run on its own thread. The end of the runtime has the same effect. The
//! unwinding is a panic without a message; code that catches it meets it again at the next wait.
//! [`shield`] defers it. A destructor that runs while the coroutine unwinds cannot wait: that
//! aborts the process.
//!
//! # Fairness
//! A coroutine yields where it waits. If what it waits for is always ready, it is made to yield
//! when the [budget](crate::runtime::Builder::task_budget) of the task is used up. A coroutine that
//! computes for a long time should call [`yield_now`] from time to time.
//!
//! # Stacks
//! A stack takes 256 KiB of address space by default ([`Builder::stack_size`]), but only the memory
//! that has been touched: a page or two. Each worker keeps the 64 stacks that were used last. A
//! stack that overflows aborts the process, with a message that names the coroutine.
//!
//! Guards below the stacks are made with `MADV_GUARD_INSTALL` where the kernel has it (Linux 6.13),
//! and more than a hundred thousand coroutines can exist at a time. Elsewhere they are made with
//! `mprotect`, which splits a mapping for each guard: with Linux's default `vm.max_map_count` of
//! 65,530 there is room for about 32,000 stacks in a process. A coroutine that gets no stack panics
//! when it starts, with a message that says so.
//!
//! # Task-local values
//! Values of [`task_local!`](crate::task_local) are not set in a coroutine when it starts. It sets
//! them with [`sync_scope`](crate::task::LocalKey::sync_scope) and may wait inside of it: the value
//! is in place again when the coroutine continues.
//!
//! # Programs with `panic = "abort"`
//! Coroutines cannot unwind in a program that is built with `panic = "abort"`. A coroutine that is
//! aborted, or suspended when its runtime ends, is left behind: it does not continue, its
//! destructors do not run, and its stack and all that it owns leak. Children of a
//! [`scope`](scope()) that is left behind continue until they end or their runtime does.
//! [`timeout`] panics when it is called.

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

use crate::context::Held;
use crate::task;
#[cfg(doc)]
use crate::task::JoinHandle;
use crate::task::shield::Raised;
use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Waits for a future, and returns its output.
///
/// Other tasks run on the thread meanwhile. The future need not be `Send`: it stays on the stack of
/// the coroutine. Anything that is a future can be waited for: a [`select!`](crate::select), a
/// [`channel::Select`](crate::channel::Select), a child process, the handle of another coroutine.
///
/// # Cancellation
/// If the coroutine is being aborted, this unwinds instead of waiting, or while it waits; see the
/// [module's documentation](self#cancellation).
///
/// # Panics
/// Panics if called outside of a coroutine, or where a coroutine cannot suspend:
///
/// - inside of a future that the coroutine polls, through this function or a
///   [`LocalSet`](crate::task::LocalSet); use `.await` there;
/// - inside of [`block_in_place`](crate::task::block_in_place), or of a `block_on` in it;
/// - inside of [`LocalKey::with`](crate::task::LocalKey::with).
///
/// It also panics if the future does.
///
/// # Examples
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
/// Waiting for the first of two channels:
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
// Inlined for the reason that `yield_now` is.
#[track_caller]
#[inline(always)]
pub fn wait<F: IntoFuture>(future: F) -> F::Output {
    wait_as("coroutine::wait", future)
}

/// Waits for a future, on behalf of the function named `what`.
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

/// Yields to the other tasks that are ready.
///
/// The coroutine continues after they have had their turn.
///
/// # Panics
/// Panics under the conditions of [`wait`].
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// tress::coroutine::spawn(|| tress::coroutine::yield_now()).await.unwrap();
/// # });
/// ```
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
/// # Panics
/// Panics under the conditions of [`wait`], and if the runtime was built without
/// [`enable_time`](crate::runtime::Builder::enable_time).
///
/// # Examples
/// ```
/// use tress::coroutine;
/// use tress::time::Duration;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// coroutine::spawn(|| coroutine::sleep(Duration::from_millis(1))).await.unwrap();
/// # });
/// ```
#[track_caller]
pub fn sleep(duration: Duration) {
    wait_as("coroutine::sleep", crate::time::sleep(duration));
}

/// Runs a part of a coroutine that is not interrupted by an abort or by a [`timeout`] around it.
///
/// A cancellation that arrives meanwhile takes effect at the first wait after the shield. If it
/// arrived before, it takes effect here, and `f` does not run.
/// [`task::shield`](crate::task::shield()) does the same for futures.
///
/// # Panics
/// Panics if called outside of a coroutine, and if `f` panics.
///
/// # Examples
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
#[track_caller]
pub fn shield<R>(f: impl FnOnce() -> R) -> R {
    let control = fiber::current("coroutine::shield");
    control.check();
    let _raised = Raised::on_current();
    deadline::unlimited(control, f)
}

/// Returns `true` if the calling coroutine has been aborted.
///
/// An aborted coroutine unwinds at its next wait. One that computes for a long time can check this
/// and end earlier.
///
/// # Panics
/// Panics if called outside of a coroutine.
///
/// # Examples
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
#[track_caller]
pub fn is_cancelled() -> bool {
    let control = fiber::current("coroutine::is_cancelled");
    // SAFETY: a coroutine's task outlives what runs on its stack.
    unsafe { control.task.as_ref() }.is_cancelled()
}

/// Returns `true` if the caller is a coroutine that may [`wait`] here.
///
/// It is `false` outside of coroutines, and where a coroutine cannot suspend, such as inside of a
/// future that it polls.
///
/// # Examples
/// ```
/// assert!(!tress::coroutine::is_current());
/// ```
pub fn is_current() -> bool {
    fiber::is_current()
}
