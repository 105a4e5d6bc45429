//! The twin of `uring` on systems without io_uring: no ring is ever made.

#[path = "uring/buffer.rs"]
mod buffer;

pub use buffer::{Buffer, BufferMut, Slice};

use crate::config::Resolved;
use crate::driver::By;
use crate::wakers::Wakers;
use std::io;

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
