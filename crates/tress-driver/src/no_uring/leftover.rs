//! What dropped reads have received: nothing.

use crate::driver::Driver;
use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What dropped reads of one source have received: here nothing, since no read is under way when it is dropped.
#[derive(Debug, Default)]
pub struct Leftover(());

impl Leftover {
    /// Creates an empty one.
    pub fn new() -> Leftover {
        Leftover::default()
    }

    /// Returns `true`: there is neither anything to read nor a dropped read to wait for.
    pub fn is_empty(&self) -> bool {
        true
    }

    /// Does nothing: no read is under way.
    pub fn expect(&self, _: &Arc<Driver>) {}

    /// Returns at once that there is nothing to read.
    pub fn poll(&self, _: &mut Context<'_>) -> Poll<bool> {
        Poll::Ready(false)
    }

    /// Returns `None`: there is nothing to read.
    pub fn read(&self, _: &mut [MaybeUninit<u8>]) -> Option<io::Result<usize>> {
        None
    }

    /// Returns `None`: there is nothing to read.
    pub fn peek(&self, _: &mut [MaybeUninit<u8>]) -> Option<io::Result<usize>> {
        None
    }

    /// Returns `None`: there is nothing to read.
    pub fn take(&self) -> Option<io::Result<Box<[u8]>>> {
        None
    }

    /// Returns at once: there is no dropped read to wait for.
    ///
    /// # Errors
    /// None.
    pub fn conclude(&self) -> io::Result<()> {
        Ok(())
    }
}
