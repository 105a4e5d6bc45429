//! Sources on systems other than Unix: a source is one of mio's types, which deregisters itself when it is
//! dropped.

use mio::{Interest, Registry, Token};
use std::io;

/// Something that can be [registered](crate::Driver::register) with a driver: mio's sockets and pipes.
///
/// It is implemented for every `mio::event::Source`.
pub trait Source: mio::event::Source {}

impl<S: mio::event::Source + ?Sized> Source for S {}

/// A pipe that is dropped is closed only when the system has reported the end of the operations that mio had
/// under way for it, and the driver has fetched that report. mio does not tell how many there are.
pub(crate) const LINGERS: bool = true;

#[derive(Debug)]
pub(crate) struct Handle;

pub(crate) fn register<S: Source + ?Sized>(
    registry: &Registry,
    source: &mut S,
    token: Token,
    interest: Interest,
) -> io::Result<Handle> {
    registry.register(source, token, interest)?;
    Ok(Handle)
}

impl Handle {
    /// The source deregisters itself when it is dropped; until then its events find a slot of another
    /// generation.
    pub(crate) fn deregister(&self, _: &Registry) -> io::Result<()> {
        Ok(())
    }
}
