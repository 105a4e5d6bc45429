use super::{EnterGuard, Handle, RuntimeMetrics};
use crate::task::JoinHandle;
use std::ops::Deref;
use std::time::Duration;

/// A runtime with Tokio's contract.
///
/// It dereferences to [`tress::runtime::Runtime`], for what tress offers in addition.
///
/// Dropping it shuts the runtime down.
///
/// # Examples
/// ```
/// let rt = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// let task = rt.spawn(async { 1 + 1 });
/// assert_eq!(rt.block_on(task).unwrap(), 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Runtime(pub(super) tress::runtime::Runtime);

impl Runtime {
    /// Creates a multi-thread runtime with timers and I/O.
    ///
    /// Use [`Builder`](super::Builder) for other configurations.
    ///
    /// # Errors
    /// Returns the errors of [`Builder::build`](super::Builder::build).
    ///
    /// # Panics
    /// Panics under the conditions of [`Builder::build`](super::Builder::build).
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Runtime::new()?;
    /// assert_eq!(rt.block_on(async { 1 + 1 }), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "rt-multi-thread")]
    #[track_caller]
    pub fn new() -> std::io::Result<Runtime> {
        super::Builder::new_multi_thread().enable_all().build()
    }

    /// Spawns a task. See [`spawn`](crate::spawn).
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
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
        self.0.spawn(future)
    }

    /// Runs a closure on a thread where it may block. See [`Handle::spawn_blocking`].
    ///
    /// # Panics
    /// If no thread runs such closures and the operating system refuses one.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// let task = rt.spawn_blocking(|| 1 + 1);
    /// assert_eq!(rt.block_on(task).unwrap(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, func: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.0.spawn_blocking(func)
    }

    /// Runs a future to its end on this thread, and returns its output.
    ///
    /// # Panics
    /// If this thread drives asynchronous tasks already, or the future panics.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// assert_eq!(rt.block_on(async { 1 + 1 }), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    /// Enters the context of the runtime on this thread, until the guard is dropped.
    ///
    /// In it timers and sockets can be made, and tasks spawned.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// let _entered = rt.enter();
    /// let sleep = tokio::time::sleep(std::time::Duration::ZERO);
    /// rt.block_on(sleep);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        self.0.enter()
    }

    /// Returns a handle to the runtime.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// let handle = rt.handle().clone();
    /// assert_eq!(handle.id(), rt.handle().id());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn handle(&self) -> &Handle {
        self.0.handle()
    }

    /// Returns what the runtime has counted so far.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// assert_eq!(rt.metrics().num_workers(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics(&self) -> RuntimeMetrics {
        self.0.metrics()
    }

    /// Shuts the runtime down, waiting for at most `duration` until running polls and blocking
    /// closures return.
    ///
    /// All other tasks are dropped. [`tress::runtime::Runtime::shutdown_timeout`] describes the
    /// steps, and also returns a report of what was left behind.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let rt = tokio::runtime::Builder::new_current_thread().build()?;
    /// rt.spawn_blocking(|| ());
    /// rt.shutdown_timeout(Duration::from_secs(1));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_timeout(self, duration: Duration) {
        self.0.shutdown_timeout(duration);
    }

    /// Shuts the runtime down without waiting.
    ///
    /// Unlike dropping the runtime, this can be called from within an asynchronous task.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::Builder::new_current_thread().build()?;
    /// rt.spawn_blocking(|| std::thread::sleep(std::time::Duration::from_millis(1)));
    /// rt.shutdown_background();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_background(self) {
        self.0.shutdown_background();
    }
}

/// Offers the methods of tress's runtime, and lets a reference be passed where tress expects one.
impl Deref for Runtime {
    type Target = tress::runtime::Runtime;

    fn deref(&self) -> &tress::runtime::Runtime {
        &self.0
    }
}
