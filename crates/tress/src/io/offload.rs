//! What has to block is done by the blocking pool.

use crate::io::is_interrupted;
use crate::runtime::{Handle, SpawnBlockingError};
use crate::task::{JoinError, JoinHandle};
use std::io::{self, Read};
use std::panic::Location;

mod input;
mod output;

pub(crate) use input::Input;
pub(crate) use output::Output;

/// As much as is read or written at once.
const MAX_CHUNK: usize = 2 * 1024 * 1024;

/// Has the blocking pool do something. What is mandatory is done even if the runtime is shut down
/// before a thread gets to it.
///
/// # Errors
/// If the pool takes nothing more.
///
/// # Panics
/// If there is no current runtime.
#[track_caller]
pub(crate) fn spawn<R: Send + 'static>(
    f: impl FnOnce() -> R + Send + 'static,
    mandatory: bool,
) -> io::Result<JoinHandle<R>> {
    let runtime = Handle::current();
    runtime
        .shared
        .try_spawn_blocking(f, Location::caller(), mandatory)
        .map_err(|(error, _)| io::Error::other(error))
}

/// It was begun and has no result.
pub(crate) fn lost(error: JoinError) -> io::Error {
    if error.is_cancelled() {
        io::Error::other(SpawnBlockingError::ShutDown)
    } else {
        io::Error::other(error)
    }
}

/// Reads once, as much as there is room for, and says how much that was.
pub(crate) fn read_once(mut from: impl Read, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(room) {
            Err(error) if is_interrupted(&error) => {}
            result => return result,
        }
    }
}
