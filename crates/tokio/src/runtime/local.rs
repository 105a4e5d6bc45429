use super::{Builder, LocalOptions};
use std::io;
use std::ops::Deref;
use std::time::Duration;

/// A runtime that stays on one thread, with Tokio's contract.
///
/// It dereferences to [`tress::runtime::LocalRuntime`], which has most of its methods: `block_on`,
/// `spawn_local`, `spawn_blocking` and `enter`. The methods here differ in what they return.
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
