//! Blocking reads and writes, made by the blocking pool.

use crate::io::is_interrupted;
use crate::runtime::{AtShutdown, Handle, SpawnBlockingError};
use crate::task::{JoinError, JoinHandle};
use std::io::{self, Read};
use std::panic::Location;

mod input;
mod output;

pub(crate) use input::Input;
pub(crate) use output::Output;

/// Maximum number of bytes that are read or written at once.
const MAX_CHUNK: usize = 2 * 1024 * 1024;

/// Runs a closure on the blocking pool. If the runtime is shut down before a thread gets to it, it is cancelled.
///
/// # Errors
/// The pool does not accept the closure.
///
/// # Panics
/// Panics if there is no current runtime.
#[track_caller]
pub(crate) fn spawn<R: Send + 'static>(
    f: impl FnOnce() -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    submit(Box::new(f), AtShutdown::Cancel)
}

/// As [`spawn`], but the closure runs even if the runtime is shut down before a thread gets to it.
#[track_caller]
pub(crate) fn spawn_mandatory<R: Send + 'static>(
    f: impl FnOnce() -> R + Send + 'static,
) -> io::Result<JoinHandle<R>> {
    submit(Box::new(f), AtShutdown::Run)
}

/// The closure is boxed so that tasks are compiled for each type of result, and not for each closure.
// D-SYS-04
#[track_caller]
fn submit<R: Send + 'static>(
    f: Box<dyn FnOnce() -> R + Send>,
    at_shutdown: AtShutdown,
) -> io::Result<JoinHandle<R>> {
    let shared = Handle::current().shared;
    let (handle, result) = shared.submit_blocking(f, Location::caller(), at_shutdown);
    result.map(|()| handle).map_err(io::Error::other)
}

/// Returns the error for a closure that was accepted and has no result.
pub(crate) fn lost(error: JoinError) -> io::Error {
    if error.is_cancelled() {
        io::Error::other(SpawnBlockingError::ShutDown)
    } else {
        io::Error::other(error)
    }
}

/// Reads once, as much as there is room for, and returns how many bytes that was.
pub(crate) fn read_once(mut from: impl Read, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(room) {
            Err(error) if is_interrupted(&error) => {}
            result => return result,
        }
    }
}
