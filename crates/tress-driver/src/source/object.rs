//! Elsewhere: a source is one of mio's types, which takes itself out when it is dropped.

use mio::{Interest, Registry, Token};
use std::io;

/// What can be registered: mio's sockets and pipes.
pub trait Source: mio::event::Source {}

impl<S: mio::event::Source + ?Sized> Source for S {}

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
