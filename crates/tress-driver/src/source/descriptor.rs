//! Unix: a source is a descriptor, and its number is enough to take it out again.

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// What can be registered: anything with a descriptor that the system's selector can watch. It must
/// be in non-blocking mode for edge-triggered readiness to make sense.
pub trait Source: AsRawFd {}

impl<S: AsRawFd + ?Sized> Source for S {}

/// A descriptor that is closed is closed.
pub(crate) const LINGERS: bool = false;

#[derive(Debug)]
pub(crate) struct Handle(RawFd);

pub(crate) fn register<S: Source + ?Sized>(
    registry: &Registry,
    source: &mut S,
    token: Token,
    interest: Interest,
) -> io::Result<Handle> {
    let fd = source.as_raw_fd();
    registry.register(&mut SourceFd(&fd), token, interest)?;
    Ok(Handle(fd))
}

impl Handle {
    pub(crate) fn deregister(&self, registry: &Registry) -> io::Result<()> {
        registry.deregister(&mut SourceFd(&self.0))
    }
}
