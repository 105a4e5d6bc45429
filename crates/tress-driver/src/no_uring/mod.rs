//! The twin of `uring` on systems without io_uring, where no ring is ever made.
//!
//! It has the types that portable code names. Each operation is refused, as by a driver without a ring; what can
//! only come from a ring has no value.

#[path = "../uring/buffer.rs"]
mod buffer;
mod leftover;
#[cfg(feature = "multishot")]
mod multi;
pub mod op;
mod submission;

pub use buffer::{Buffer, BufferMut, Slice};
pub use leftover::Leftover;
#[cfg(feature = "multishot")]
pub use multi::{MultiOperation, Multishot, Pool, PoolBuffer, RecvMulti};
pub use submission::Submission;

use crate::config::Resolved;
use crate::driver::By;
use crate::wakers::Wakers;
use std::io;

fn unsupported() -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        "this system has no io_uring, nor what needs one",
    )
}

#[derive(Debug)]
pub(crate) enum Ring {}

impl Ring {
    pub(crate) fn new(config: &Resolved, _: &mio::Registry, _: mio::Token) -> io::Result<Ring> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!(
                "no ring of {} entries: this system has no io_uring",
                config.entries
            ),
        ))
    }

    pub(crate) fn flush(&self, _: By) -> io::Result<bool> {
        match *self {}
    }

    pub(crate) fn reap(&self, _: &mut Wakers, _: impl FnMut()) -> usize {
        match *self {}
    }

    pub(crate) fn bury(&self) {
        match *self {}
    }

    pub(crate) fn close(&self, _: &mut Wakers) -> usize {
        match *self {}
    }

    pub(crate) fn started(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn in_flight(&self) -> usize {
        match *self {}
    }

    pub(crate) fn orphaned(&self) -> usize {
        match *self {}
    }
}
