use super::handle::{EnterGuard, Handle};
use super::metrics::RuntimeMetrics;
use super::shutdown::{self, ShutdownReport};
use super::{Builder, Shared, enter_driving, in_span, park_thread};
use crate::scheduler::Scheduler;
use crate::task::JoinHandle;
use std::future::Future;
use std::io;
use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// A runtime: a scheduler of tasks, with timers, I/O and the threads that they run on.
///
/// Dropping it shuts it down, and waits for the polls and blocking closures that are running; the order is
/// that of [`shutdown_timeout`](Runtime::shutdown_timeout). See the [module documentation](super) for the
/// kinds of runtimes.
///
/// On Windows it must not be dropped by the destructor of a thread-local variable: no thread can end while such a
/// destructor runs, so that the drop would wait for ever. [`shutdown_background`](Runtime::shutdown_background) does not
/// wait.
///
/// # Panics
/// Dropping a runtime in asynchronous code panics, because waiting would block the tasks of that thread;
/// [`shutdown_background`](Runtime::shutdown_background) is for such code.
///
/// # Examples
/// ```
/// use tress::runtime::Runtime;
///
/// let rt = Runtime::new()?;
/// let task = rt.spawn(async { 1 + 1 });
/// assert_eq!(rt.block_on(task).unwrap(), 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
}

impl std::panic::UnwindSafe for Runtime {}
impl std::panic::RefUnwindSafe for Runtime {}

impl Runtime {
    /// Creates a multi-thread runtime with a worker for every CPU that this process may use, and with timers
    /// and I/O.
    ///
    /// # Errors
    /// - [`ErrorKind::InvalidInput`](io::ErrorKind::InvalidInput) if one of the environment variables
    ///   `TRESS_TRACE`, `TRESS_SLOW_POLL_MS` and `TRESS_DUMP` cannot be understood.
    /// - The system's error if a resource of the runtime cannot be made.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// assert_eq!(rt.block_on(async { 3 }), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<Runtime> {
        Builder::new_multi_thread().enable_all().build()
    }

    pub(super) fn from_shared(shared: Arc<Shared>) -> Runtime {
        Runtime {
            handle: Handle { shared },
        }
    }

    /// Returns a handle to the runtime.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let handle = rt.handle().clone();
    /// let thread = std::thread::spawn(move || handle.spawn(async { 7 }));
    /// assert_eq!(rt.block_on(thread.join().unwrap()).unwrap(), 7);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Spawns a task on the runtime.
    ///
    /// Does the same as [`spawn`](crate::spawn()). On a current-thread runtime the task runs while a thread is
    /// in [`block_on`](Runtime::block_on).
    ///
    /// # Panics
    /// Panics if the system refuses to start the runtime's first worker thread.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let task = rt.spawn(async { 1 + 1 });
    /// assert_eq!(rt.block_on(task).unwrap(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.shared.spawn(future, Location::caller())
    }

    /// Runs a closure that blocks, on a thread of the runtime's blocking pool.
    ///
    /// Does the same as [`Handle::spawn_blocking`].
    ///
    /// # Panics
    /// Panics where [`Handle::spawn_blocking`] does.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let sum = rt.spawn_blocking(|| (0..1000).sum::<i32>());
    /// assert_eq!(rt.block_on(sum).unwrap(), 499_500);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.shared.spawn_blocking(f)
    }

    /// Runs a future to completion on the current thread, and returns its output.
    ///
    /// On a multi-thread runtime the workers run the tasks it spawns; on a current-thread runtime
    /// this thread does.
    ///
    /// # Panics
    /// Panics if the current thread already drives asynchronous tasks, or if the future panics.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread().enable_all().build()?;
    /// assert_eq!(rt.block_on(async { tress::spawn(async { 3 }).await.unwrap() }), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let shared = &self.handle.shared;
        let future = pin!(in_span(future, Location::caller()));
        match &shared.scheduler {
            Scheduler::Multi(multi) => {
                let _entered = enter_driving(shared, true);
                park_thread::block_on(future, multi.config.spin, multi.config.cores)
            }
            Scheduler::Current(current) => {
                let _entered = enter_driving(shared, false);
                current.block_on(shared, future)
            }
        }
    }

    /// Enters the context of the runtime on the current thread, until the returned guard is dropped.
    ///
    /// Does the same as [`Handle::enter`].
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let _guard = rt.enter();
    /// let task = tress::spawn(async { "from a plain thread" });
    /// assert!(rt.block_on(task).is_ok());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Returns a view of what the runtime has done so far.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    /// assert_eq!(rt.metrics().num_workers(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }

    /// Shuts the runtime down, waiting at most `timeout` for what is running.
    ///
    /// In this order:
    ///
    /// 1. New tasks are refused: their handles report a cancellation at once.
    /// 2. Every worker stops after the poll it is in.
    /// 3. Every task that is not being polled is dropped, wherever it waits: in a queue, for a
    ///    timer, for a channel. Shields do not hold it.
    /// 4. Timers still registered from outside are closed; awaiting them panics. I/O that is waited for from outside
    ///    ends with [an error](super::is_shutdown_error); operations that the kernel has are cancelled, and waited
    ///    for. Then the worker threads are waited for, unless the kernel has kept an operation: they cannot end before
    ///    it does.
    /// 5. Blocking closures that wait because the maximum number of threads is busy are cancelled; the others run, or
    ///    are about to, and are waited for.
    /// 6. What has not stopped when the time is up is left behind and reported. It stops by itself
    ///    when its poll, closure or operation returns.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let rt = tress::runtime::Runtime::new()?;
    /// rt.spawn(std::future::pending::<()>());
    /// let report = rt.shutdown_timeout(Duration::from_secs(1));
    /// assert!(report.is_clean());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_timeout(self, timeout: Duration) -> ShutdownReport {
        shutdown::run(&self.handle.shared, Some(timeout))
    }

    /// Shuts the runtime down without waiting for anything.
    ///
    /// Step 6 of [`shutdown_timeout`](Runtime::shutdown_timeout) comes at once. Unlike dropping a runtime, this
    /// is possible in asynchronous code.
    ///
    /// # Examples
    /// ```
    /// use tress::runtime::Runtime;
    ///
    /// # Runtime::new().unwrap().block_on(async {
    /// let inner = Runtime::new()?;
    /// inner.spawn(std::future::pending::<()>());
    /// inner.shutdown_background();
    /// # Ok::<(), std::io::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        shutdown::on_drop(&self.handle.shared);
    }
}
