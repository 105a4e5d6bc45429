//! Elsewhere: a source is one of mio's types, which takes itself out when it is dropped.

use mio::{Interest, Registry, Token};
use std::io;

/// What can be registered: mio's sockets and pipes.
pub trait Source: mio::event::Source {}

impl<S: mio::event::Source + ?Sized> Source for S {}

/// A pipe that is dropped is closed only when the system has reported the end of the operations that mio
/// had under way for it, and somebody has fetched that report. How many those are is mio's secret.
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
    /// The source does it when it is dropped; until then its events find no slot of theirs.
    pub(crate) fn deregister(&self, _: &Registry) -> io::Result<()> {
        Ok(())
    }
}
