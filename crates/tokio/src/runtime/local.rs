use super::{Builder, LocalOptions};
use std::io;
use std::ops::Deref;
use std::time::Duration;

/// A runtime for one thread: [`tress::runtime::LocalRuntime`], whose methods it has.
///
/// Those below are here because they return something else in Tokio.
#[derive(Debug)]
pub struct LocalRuntime(pub(super) tress::runtime::LocalRuntime);

impl LocalRuntime {
    /// A runtime for this thread, with timers and I/O.
    pub fn new() -> io::Result<LocalRuntime> {
        Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
    }

    /// Shuts the runtime down, waiting at most `duration` for what is running.
    ///
    /// See [`tress::runtime::LocalRuntime::shutdown_timeout`], which also tells what was left behind.
    pub fn shutdown_timeout(self, duration: Duration) {
        self.0.shutdown_timeout(duration);
    }

    /// Shuts the runtime down without waiting for anything.
    pub fn shutdown_background(self) {
        self.0.shutdown_background();
    }
}

/// Gives the methods of tress's runtime, and lets it be passed where tress wants one.
impl Deref for LocalRuntime {
    type Target = tress::runtime::LocalRuntime;

    fn deref(&self) -> &tress::runtime::LocalRuntime {
        &self.0
    }
}
