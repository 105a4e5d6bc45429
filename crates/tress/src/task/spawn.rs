use super::join::JoinHandle;
use crate::runtime::Handle;
use crate::scheduler;
use std::future::Future;

/// Spawns a task on the current runtime.
///
/// It begins to run as soon as a worker gets to it, whether its handle is awaited or not. The handle
/// gives its output; dropping the handle detaches the task.
///
/// # Panics
/// Panics if called outside of a runtime, where [`Handle::spawn`] works, and if the system refuses to
/// start the runtime's first worker thread.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let tasks: Vec<_> = (0..10).map(|i| tress::spawn(async move { i * i })).collect();
/// let mut sum = 0;
/// for task in tasks {
///     sum += task.await.unwrap();
/// }
/// assert_eq!(sum, 285);
/// # });
/// ```
#[track_caller]
#[inline]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let at = std::panic::Location::caller();
    let mut future = Some(future);
    let spawned =
        crate::context::with_runtime(|shared| future.take().map(|future| shared.spawn(future, at)));
    match spawned.flatten() {
        Some(handle) => handle,
        None => crate::runtime::no_runtime("spawn"),
    }
}

/// Runs a closure that blocks, on a thread of the runtime's blocking pool.
///
/// The pool grows to 512 threads by default; further closures wait for a thread. A closure that has
/// started cannot be cancelled. A runtime that is dropped waits for those that have a thread, and cancels
/// those that wait for one.
///
/// # Panics
/// Panics if called outside of a runtime, if the pool refuses the closure because its queue is bounded
/// and full, and if no thread at all can be started. [`Handle::try_spawn_blocking`] returns an error
/// instead in the latter two cases.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let text = tress::task::spawn_blocking(|| std::fs::read_to_string("Cargo.toml")).await.unwrap();
/// assert!(text.is_ok());
/// # });
/// ```
#[track_caller]
pub fn spawn_blocking<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    Handle::current().shared.spawn_blocking(f)
}

/// Runs a closure that blocks on the current thread, and lets another thread take over the worker's queue.
///
/// Unlike [`spawn_blocking`] the closure may borrow, and it is not cancelled; but whatever else the same
/// task does concurrently (`join!`, `select!`) waits.
///
/// On a thread that runs no tasks, such as one of the blocking pool, the closure is just called.
///
/// A worker that has started coroutines keeps its thread: there the worker itself blocks, and what can
/// be stolen from it is left to the others. A coroutine cannot suspend inside of the closure.
///
/// # Panics
/// Panics in the tasks and in `block_on` of a current-thread runtime and in a
/// [`LocalSet`](super::LocalSet), where no other thread can take over, and if the system refuses to start
/// the thread that would. The task may catch that panic: its worker goes on.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let text = tress::task::block_in_place(|| std::fs::read_to_string("Cargo.toml"));
/// assert!(text.is_ok());
/// # });
/// ```
#[track_caller]
pub fn block_in_place<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    scheduler::block_in_place(f)
}
