use std::ops::Deref;
use std::time::Duration;

/// A runtime: [`tress::runtime::Runtime`], whose methods it has.
///
/// Those below are here because they return something else in Tokio.
#[derive(Debug)]
pub struct Runtime(pub(super) tress::runtime::Runtime);

impl Runtime {
    /// A multi-thread runtime with timers and I/O.
    ///
    /// # Panics
    /// As [`Builder::build`](super::Builder::build).
    #[cfg(feature = "rt-multi-thread")]
    #[track_caller]
    pub fn new() -> std::io::Result<Runtime> {
        super::Builder::new_multi_thread().enable_all().build()
    }

    /// Shuts the runtime down, waiting at most `duration` for what is running.
    ///
    /// See [`tress::runtime::Runtime::shutdown_timeout`], which also tells what was left behind.
    pub fn shutdown_timeout(self, duration: Duration) {
        self.0.shutdown_timeout(duration);
    }

    /// Shuts the runtime down without waiting for anything.
    pub fn shutdown_background(self) {
        self.0.shutdown_background();
    }
}

/// Gives the methods of tress's runtime, and lets it be passed where tress wants one.
impl Deref for Runtime {
    type Target = tress::runtime::Runtime;

    fn deref(&self) -> &tress::runtime::Runtime {
        &self.0
    }
}
