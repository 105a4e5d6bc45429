//! Error types of the time module.

use crate::words;
use std::fmt;

/// The error returned by a [`timeout`](super::timeout()) whose time was up before its future completed.
///
/// It converts into an [`io::Error`](std::io::Error) of the kind
/// [`TimedOut`](std::io::ErrorKind::TimedOut).
///
/// # Examples
///
/// ```
/// use tress::time::{timeout, Duration};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let elapsed = timeout(Duration::from_millis(1), std::future::pending::<()>()).await.unwrap_err();
/// assert_eq!(std::io::Error::from(elapsed).kind(), std::io::ErrorKind::TimedOut);
/// # });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elapsed(pub(crate) ());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(_: Elapsed) -> std::io::Error {
        std::io::ErrorKind::TimedOut.into()
    }
}

/// An error of a timer.
///
/// The timers of this crate do not return it: they panic if their runtime has shut down. It is for crates
/// that implement timers of their own.
///
/// # Examples
///
/// ```
/// use tress::time::error::Error;
///
/// assert!(Error::shutdown().is_shutdown());
/// assert!(Error::at_capacity().is_at_capacity());
/// assert!(Error::invalid().is_invalid());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shutdown,
    AtCapacity,
    Invalid,
}

impl Error {
    /// Creates the error of a timer whose runtime has shut down.
    pub fn shutdown() -> Error {
        Error(Kind::Shutdown)
    }

    /// Returns whether the runtime has shut down before the timer fired.
    pub fn is_shutdown(&self) -> bool {
        self.0 == Kind::Shutdown
    }

    /// Creates the error of a timer that was refused because there are too many.
    pub fn at_capacity() -> Error {
        Error(Kind::AtCapacity)
    }

    /// Returns whether the timer was refused because there are too many.
    pub fn is_at_capacity(&self) -> bool {
        self.0 == Kind::AtCapacity
    }

    /// Creates the error of a timer whose deadline cannot be represented.
    pub fn invalid() -> Error {
        Error(Kind::Invalid)
    }

    /// Returns whether the deadline of the timer cannot be represented.
    pub fn is_invalid(&self) -> bool {
        self.0 == Kind::Invalid
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Shutdown => words::TIMER_SHUT_DOWN,
            Kind::AtCapacity => words::TIMER_NO_ROOM,
            Kind::Invalid => words::TIMER_TOO_FAR,
        })
    }
}

impl std::error::Error for Error {}
