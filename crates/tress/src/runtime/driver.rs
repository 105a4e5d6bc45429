//! How sources of I/O find a driver.

#[cfg(all(feature = "fs", target_os = "linux", target_pointer_width = "64"))]
use super::RuntimeFlavor;
use super::{Shared, no_runtime};
use crate::context;
use crate::words;
use std::io;
#[cfg(all(unix, feature = "process"))]
use std::panic::Location;
use std::sync::Arc;
use tress_driver::{Config, Driver};

/// What the builder was told about I/O.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) enabled: bool,
    /// Sockets are registered when they are made, on a current-thread runtime.
    pub(super) early: bool,
    pub(super) config: Config,
    #[cfg(feature = "pooled")]
    pub(super) pool: crate::buffers::Sizes,
}

/// Calls `f` once with a driver of the current runtime, as `IoHandle::with_driver` does. Does not call it if there is no
/// current runtime, it was built without I/O, no driver can be made, or it is a current-thread runtime that another
/// thread would have to drive: perhaps none does.
#[cfg(all(feature = "fs", target_os = "linux", target_pointer_width = "64"))]
pub(crate) fn with_current_driver(f: &mut dyn FnMut(&Arc<Driver>)) {
    let Some(runtime) = context::runtime().filter(|shared| shared.io_enabled) else {
        return;
    };
    if runtime.flavor() == RuntimeFlavor::CurrentThread && !runtime.runs_here() {
        return;
    }
    // An error means that there is no driver: `f` has not been called.
    let _ = IoHandle(runtime).with_driver(|driver| {
        f(driver);
        Ok(())
    });
}

/// A runtime with I/O, to find a driver in. What is made in a runtime stays with it, wherever it is polled, unless it
/// follows (`Source::follow`).
#[derive(Clone)]
pub(crate) struct IoHandle(Arc<Shared>);

impl IoHandle {
    /// Returns a handle to the current runtime.
    ///
    /// # Panics
    /// If there is none, or it was built without I/O.
    #[track_caller]
    pub(crate) fn current(what: &str) -> IoHandle {
        match context::runtime() {
            None => no_runtime(what),
            Some(shared) if !shared.io_enabled => panic!("{what}: {}", words::NO_IO),
            Some(shared) => IoHandle(shared),
        }
    }

    /// Returns a handle to the current runtime if that is another one, which has I/O and is not closing.
    #[cfg(all(unix, feature = "signal"))]
    pub(crate) fn current_other(&self) -> Option<IoHandle> {
        context::runtime()
            .filter(|here| here.io_enabled && !Arc::ptr_eq(here, &self.0))
            .map(IoHandle)
            .filter(|here| !here.is_closing())
    }

    /// Returns whether sources are registered when they are made, not when an operation would block.
    pub(crate) fn registers_at_once(&self) -> bool {
        self.0.registers_early
    }

    /// Returns whether the runtime has shut down or is about to.
    pub(crate) fn is_closing(&self) -> bool {
        self.0.scheduler.frame().is_closing()
    }

    /// Spawns a task that no other waits for. In a runtime that has shut down it is dropped.
    #[cfg(all(unix, feature = "process"))]
    #[track_caller]
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static, name: &str) {
        drop(self.0.spawn_named(future, Some(name), Location::caller()));
    }

    /// Calls `f` with the driver of this thread's worker, or of another one in turn.
    ///
    /// # Errors
    /// If the driver cannot be made or the runtime has shut down; or any error of `f`.
    pub(crate) fn with_driver<R>(
        &self,
        f: impl FnOnce(&Arc<Driver>) -> io::Result<R>,
    ) -> io::Result<R> {
        let shared = &*self.0;
        shared.scheduler.with_io(shared, |io| f(&io.driver()?))
    }
}

#[cfg(feature = "pooled")]
impl IoHandle {
    /// Calls `f` with the pool of this thread's worker or of the one that looks after its I/O, or of another one in
    /// turn.
    ///
    /// # Errors
    /// If the driver cannot be made, or the runtime has shut down.
    pub(crate) fn with_pool<R>(&self, f: impl FnOnce(&crate::buffers::Pool) -> R) -> io::Result<R> {
        let shared = &*self.0;
        shared
            .scheduler
            .with_kept_io(shared, |io| io.pool().map(|pool| f(&pool)))
    }
}

impl std::fmt::Debug for IoHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IoHandle")
    }
}
