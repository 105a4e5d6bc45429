//! Blocking reads and writes, made by the blocking pool.

use crate::io::is_interrupted;
use crate::runtime::{AtShutdown, Handle, SpawnBlockingError};
use crate::task::{JoinError, JoinHandle};
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

mod input;
mod output;

pub(crate) use input::Input;
pub(crate) use output::Output;

/// Maximum number of bytes that are read or written at once.
const MAX_CHUNK: usize = 2 * 1024 * 1024;

/// A closure on the blocking pool, as a future of its result. Dropping it does not stop the closure.
pub struct Job<R> {
    handle: JoinHandle<Erased>,
    result: PhantomData<fn() -> R>,
}

/// A closure's result, without its type: all these closures are one type of task, which is compiled once.
// D-SYS-04
type Erased = Box<dyn Any + Send>;

impl<R> fmt::Debug for Job<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}

impl<R: Any> Future for Job<R> {
    type Output = Result<R, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<R, JoinError>> {
        Poll::Ready(match ready!(Pin::new(&mut self.handle).poll(cx)) {
            Ok(result) => match result.downcast::<R>() {
                Ok(result) => Ok(*result),
                Err(_) => unreachable!("a closure's result has its type"),
            },
            Err(error) => Err(error),
        })
    }
}

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
) -> io::Result<Job<R>> {
    submit_typed(f, AtShutdown::Cancel)
}

/// As [`spawn`], but the closure runs even if the runtime is shut down before a thread gets to it.
#[track_caller]
pub(crate) fn spawn_mandatory<R: Send + 'static>(
    f: impl FnOnce() -> R + Send + 'static,
) -> io::Result<Job<R>> {
    submit_typed(f, AtShutdown::Run)
}

#[track_caller]
fn submit_typed<R: Send + 'static>(
    f: impl FnOnce() -> R + Send + 'static,
    at_shutdown: AtShutdown,
) -> io::Result<Job<R>> {
    let handle = submit(Box::new(move || Box::new(f()) as Erased), at_shutdown)?;
    Ok(Job {
        handle,
        result: PhantomData,
    })
}

#[track_caller]
fn submit(
    f: Box<dyn FnOnce() -> Erased + Send>,
    at_shutdown: AtShutdown,
) -> io::Result<JoinHandle<Erased>> {
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
