use std::ops::Deref;
use std::time::Duration;

/// A runtime with Tokio's contract.
///
/// It dereferences to [`tress::runtime::Runtime`], which has most of its methods: `block_on`,
/// `spawn`, `spawn_blocking`, `enter`, `handle` and `metrics`. The methods here differ in what they
/// return or in their defaults.
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
