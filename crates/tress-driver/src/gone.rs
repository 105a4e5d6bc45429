//! The error that every wait ends with after the driver was closed.

use std::error::Error;
use std::fmt;
use std::io;

/// The error of a source or an operation whose driver was [closed](crate::Driver::close).
///
/// It travels inside an [`io::Error`] of the kind [`Other`](io::ErrorKind::Other); [`Gone::is_in`] finds it
/// there.
///
/// # Examples
/// ```
/// use tress_driver::Gone;
///
/// assert!(Gone::is_in(&std::io::Error::from(Gone)));
/// assert!(!Gone::is_in(&std::io::Error::other("something else")));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "tokio-words"), derive(Debug))]
pub struct Gone;

#[cfg(not(feature = "tokio-words"))]
const WORDS: &str = "the I/O driver was shut down; use the source on a runtime that is running";
#[cfg(feature = "tokio-words")]
const WORDS: &str = "A Tokio 1.x context was found, but it is being shutdown.";

/// As a string does, which is what Tokio's error is.
#[cfg(feature = "tokio-words")]
impl fmt::Debug for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(WORDS, f)
    }
}

impl Gone {
    /// Returns `true` if `error` was made from a `Gone`: the driver was closed.
    pub fn is_in(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Gone>())
    }
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WORDS)
    }
}

impl Error for Gone {}

impl From<Gone> for io::Error {
    fn from(gone: Gone) -> io::Error {
        io::Error::other(gone)
    }
}
