use super::handle::{EnterGuard, Handle};
use super::metrics::RuntimeMetrics;
use super::shutdown::{self, ShutdownReport};
use super::{Builder, Shared, enter_driving, park_thread};
use crate::scheduler::Scheduler;
use crate::task::JoinHandle;
use std::future::Future;
use std::io;
use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// A runtime. Dropping it shuts it down and waits for what is running.
///
/// See the [module documentation](super).
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
}

impl std::panic::UnwindSafe for Runtime {}
impl std::panic::RefUnwindSafe for Runtime {}

impl Runtime {
    /// Creates a multi-thread runtime with a worker for every CPU that this process may use.
    pub fn new() -> io::Result<Runtime> {
        Builder::new_multi_thread().enable_all().build()
    }

    pub(super) fn from_shared(shared: Arc<Shared>) -> Runtime {
        Runtime {
            handle: Handle { shared },
        }
    }

    /// Returns a handle to the runtime.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Spawns a task. See [`spawn`](crate::spawn()).
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.shared.spawn(future, Location::caller())
    }

    /// Runs a closure on the blocking pool. See [`Handle::spawn_blocking`].
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.shared.spawn_blocking(f)
    }

    /// Runs a future to completion on this thread, and returns its output.
    ///
    /// On a multi-thread runtime the workers run the tasks it spawns; on a current-thread runtime
    /// this thread does.
    ///
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread().enable_all().build()?;
    /// assert_eq!(rt.block_on(async { tress::spawn(async { 3 }).await.unwrap() }), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Panics
    /// If this thread already drives asynchronous tasks, or the future panics.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let shared = &self.handle.shared;
        let future = pin!(future);
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

    /// Puts this thread into the runtime's context. See [`Handle::enter`].
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Returns a view of what the runtime has done so far.
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

    /// Shuts the runtime down without waiting for anything: step 6 of
    /// [`shutdown_timeout`](Runtime::shutdown_timeout) comes at once.
    ///
    /// This is the only way to end a runtime from inside asynchronous code.
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        shutdown::on_drop(&self.handle.shared);
    }
}
