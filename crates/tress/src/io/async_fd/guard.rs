use super::{AsyncFd, Ready};
use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use tress_driver::ReadyEvent;

/// Readiness that was found, to be used up or kept.
///
/// Dropping it keeps the readiness: the next wait ends at once.
#[must_use = "use the readiness: try the operation, and clear it if that would block"]
pub struct AsyncFdReadyGuard<'a, T: AsRawFd> {
    async_fd: &'a AsyncFd<T>,
    event: Option<ReadyEvent>,
}

/// As [`AsyncFdReadyGuard`], to change what the [`AsyncFd`] was made of.
#[must_use = "use the readiness: try the operation, and clear it if that would block"]
pub struct AsyncFdReadyMutGuard<'a, T: AsRawFd> {
    async_fd: &'a mut AsyncFd<T>,
    event: Option<ReadyEvent>,
}

/// The operation would have blocked; the readiness has been cleared.
#[derive(Debug)]
pub struct TryIoError(());

impl fmt::Display for TryIoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the descriptor was not ready after all: wait again")
    }
}

impl Error for TryIoError {}

macro_rules! readiness {
    () => {
        /// The descriptor is not ready any more: the next wait is one for a new event. If one has
        /// come meanwhile, this does nothing.
        pub fn clear_ready(&mut self) {
            if let Some(event) = self.event.take() {
                self.async_fd.clear(event);
            }
        }

        /// As [`clear_ready`](Self::clear_ready), for a part of the readiness.
        pub fn clear_ready_matching(&mut self, ready: Ready) {
            if let Some(event) = self.event.take() {
                self.async_fd.clear(event.with_ready(event.ready() & ready));
                let rest = event.ready() - ready;
                self.event = (!rest.is_empty()).then_some(event.with_ready(rest));
            }
        }

        /// Keeps the readiness, as dropping does: for the end of a branch that says so.
        pub fn retain_ready(&mut self) {}

        /// What was found, less what was cleared.
        pub fn ready(&self) -> Ready {
            self.event.map_or(Ready::EMPTY, |event| event.ready())
        }
    };
}

/// What an attempt means: clears the readiness of a guard if it would have blocked.
macro_rules! attempt {
    ($guard:ident, $result:expr) => {
        match $result {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                $guard.clear_ready();
                Err(TryIoError(()))
            }
            result => Ok(result),
        }
    };
}

impl<'a, T: AsRawFd> AsyncFdReadyGuard<'a, T> {
    pub(super) fn new(async_fd: &'a AsyncFd<T>, event: ReadyEvent) -> Self {
        AsyncFdReadyGuard {
            async_fd,
            event: Some(event),
        }
    }

    readiness!();

    /// Does `f`, a non-blocking operation, and clears the readiness if that would block.
    ///
    /// # Errors
    /// [`TryIoError`] if it would block: wait again.
    pub fn try_io<R>(
        &mut self,
        f: impl FnOnce(&'a AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        attempt!(self, f(self.async_fd))
    }

    /// What it is the readiness of.
    pub fn get_ref(&self) -> &'a AsyncFd<T> {
        self.async_fd
    }

    /// What the [`AsyncFd`] was made of.
    pub fn get_inner(&self) -> &'a T {
        self.async_fd.get_ref()
    }
}

impl<'a, T: AsRawFd> AsyncFdReadyMutGuard<'a, T> {
    pub(super) fn new(async_fd: &'a mut AsyncFd<T>, event: ReadyEvent) -> Self {
        AsyncFdReadyMutGuard {
            async_fd,
            event: Some(event),
        }
    }

    readiness!();

    /// Does `f`, a non-blocking operation, and clears the readiness if that would block.
    ///
    /// # Errors
    /// [`TryIoError`] if it would block: wait again.
    pub fn try_io<R>(
        &mut self,
        f: impl FnOnce(&mut AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        attempt!(self, f(self.async_fd))
    }

    /// What it is the readiness of.
    pub fn get_ref(&self) -> &AsyncFd<T> {
        self.async_fd
    }

    /// What it is the readiness of.
    pub fn get_mut(&mut self) -> &mut AsyncFd<T> {
        self.async_fd
    }

    /// What the [`AsyncFd`] was made of.
    pub fn get_inner(&self) -> &T {
        self.async_fd.get_ref()
    }

    /// What the [`AsyncFd`] was made of. Its descriptor must stay the same.
    pub fn get_inner_mut(&mut self) -> &mut T {
        self.async_fd.get_mut()
    }
}

impl<T: AsRawFd + fmt::Debug> fmt::Debug for AsyncFdReadyGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFdReadyGuard")
            .field("async_fd", &self.async_fd)
            .field("ready", &self.ready())
            .finish()
    }
}

impl<T: AsRawFd + fmt::Debug> fmt::Debug for AsyncFdReadyMutGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFdReadyMutGuard")
            .field("async_fd", &self.async_fd)
            .field("ready", &self.ready())
            .finish()
    }
}
