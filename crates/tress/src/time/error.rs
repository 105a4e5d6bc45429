//! Errors of timers.

use std::fmt;

/// A [`timeout`](super::timeout()) ended before its future did.
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

/// Why a timer failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shutdown,
    AtCapacity,
    Invalid,
}

impl Error {
    /// The runtime shut down before the timer fired.
    pub fn shutdown() -> Error {
        Error(Kind::Shutdown)
    }

    /// True for [`shutdown`](Error::shutdown).
    pub fn is_shutdown(&self) -> bool {
        self.0 == Kind::Shutdown
    }

    /// There are too many timers.
    pub fn at_capacity() -> Error {
        Error(Kind::AtCapacity)
    }

    /// True for [`at_capacity`](Error::at_capacity).
    pub fn is_at_capacity(&self) -> bool {
        self.0 == Kind::AtCapacity
    }

    /// The deadline cannot be represented.
    pub fn invalid() -> Error {
        Error(Kind::Invalid)
    }

    /// True for [`invalid`](Error::invalid).
    pub fn is_invalid(&self) -> bool {
        self.0 == Kind::Invalid
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Shutdown => "the timer's runtime has shut down",
            Kind::AtCapacity => "there are too many timers; try again later",
            Kind::Invalid => "the timer's deadline is out of range",
        })
    }
}

impl std::error::Error for Error {}
