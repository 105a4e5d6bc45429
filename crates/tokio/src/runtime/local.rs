use super::{Builder, EnterGuard, Handle, LocalOptions, RuntimeMetrics};
use crate::task::JoinHandle;
use std::io;
use std::ops::Deref;
use std::time::Duration;

/// A runtime that stays on one thread, with Tokio's contract.
///
/// It dereferences to [`tress::runtime::LocalRuntime`], for what tress offers in addition.
///
/// # Examples
/// ```
/// use std::rc::Rc;
///
/// let rt = tokio::runtime::LocalRuntime::new()?;
/// let shared = Rc::new(5); // not `Send`
/// let task = rt.spawn_local({
///     let shared = shared.clone();
///     async move { *shared }
/// });
/// assert_eq!(rt.block_on(task).unwrap(), 5);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct LocalRuntime(pub(super) tress::runtime::LocalRuntime);

impl LocalRuntime {
    /// Creates a runtime for the current thread, with timers and I/O.
    ///
    /// # Errors
    /// Returns the errors of [`Builder::build_local`].
    ///
    /// # Panics
    /// Panics under the conditions of [`Builder::build`].
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::LocalRuntime::new()?;
    /// assert_eq!(rt.block_on(async { 1 + 1 }), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<LocalRuntime> {
        Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
    }

    /// Spawns a task that stays on this thread. It runs while the runtime is in
    /// [`block_on`](LocalRuntime::block_on).
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::LocalRuntime::new()?;
    /// let task = rt.spawn_local(async { std::rc::Rc::new(5) });
    /// assert_eq!(*rt.block_on(task).unwrap(), 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.0.spawn_local(future)
    }

    /// Runs a closure on a thread where it may block. See [`Handle::spawn_blocking`].
    ///
    /// # Panics
    /// If no thread runs such closures and the operating system refuses one.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::LocalRuntime::new()?;
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
    /// let rt = tokio::runtime::LocalRuntime::new()?;
    /// assert_eq!(rt.block_on(async { 1 + 1 }), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    /// Enters the context of the runtime on this thread, until the guard is dropped.
    ///
    /// In it timers and sockets can be made, and local tasks spawned.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::LocalRuntime::new()?;
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
    /// let rt = tokio::runtime::LocalRuntime::new()?;
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
    /// let rt = tokio::runtime::LocalRuntime::new()?;
    /// assert_eq!(rt.metrics().num_workers(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn metrics(&self) -> RuntimeMetrics {
        self.0.metrics()
    }

    /// Shuts the runtime down, waiting for at most `duration` until running blocking closures
    /// return.
    ///
    /// All tasks are dropped. [`tress::runtime::LocalRuntime::shutdown_timeout`] describes the
    /// steps, and also returns a report of what was left behind.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let rt = tokio::runtime::LocalRuntime::new()?;
    /// rt.shutdown_timeout(Duration::from_secs(1));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_timeout(self, duration: Duration) {
        self.0.shutdown_timeout(duration);
    }

    /// Shuts the runtime down without waiting.
    ///
    /// # Examples
    /// ```
    /// let rt = tokio::runtime::LocalRuntime::new()?;
    /// rt.shutdown_background();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown_background(self) {
        self.0.shutdown_background();
    }
}

/// Offers the methods of tress's runtime, and lets a reference be passed where tress expects one.
impl Deref for LocalRuntime {
    type Target = tress::runtime::LocalRuntime;

    fn deref(&self) -> &tress::runtime::LocalRuntime {
        &self.0
    }
}
