//! Blocking closures as tasks, so that they have ids, handles and cancellation like all tasks.

use super::Shared;
use crate::blocking::{Job, SpawnError};
use crate::context;
use crate::scheduler::Rest;
use crate::spans::What;
use crate::sys::Mutex;
use crate::task::coop;
use crate::task::{JoinHandle, Ran, Ready};
use crate::words;
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A task for the blocking pool.
pub(crate) struct BlockingTask {
    task: Ready,
    shared: Arc<Shared>,
    at_shutdown: AtShutdown,
    _busy: Option<Busy>,
}

/// What happens to a closure that no thread has got to when the runtime shuts down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtShutdown {
    /// It is cancelled.
    Cancel,
    /// It runs all the same: it is mandatory.
    Run,
}

/// Keeps a paused clock from jumping while something is going on that the runtime does not see.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Shared>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.clock.leave_busy();
        if self.0.clock.is_paused() {
            // The thread that drives the runtime may be waiting for nothing but the clock.
            self.0.rests().for_each(Rest::unpark);
        }
    }
}

impl Job for BlockingTask {
    fn run(self) {
        let _entered = context::Within::enter(self.shared.clone());
        let ran = self.task.run();
        assert!(
            matches!(ran, Ran::Complete),
            "a closure is ready in one poll"
        );
    }

    fn cancel(self) {
        self.task.refuse();
    }

    fn is_mandatory(&self) -> bool {
        self.at_shutdown == AtShutdown::Run
    }
}

/// A closure that runs when it is first polled.
struct Once<F>(Option<F>);

impl<F> Unpin for Once<F> {}

impl<F: FnOnce() -> R, R> Future for Once<F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<R> {
        let f = self.0.take().expect("a finished closure is not polled");
        // It may block for as long as it likes: no budget.
        let _ = coop::stop();
        Poll::Ready(f())
    }
}

/// An error returned by [`Handle::try_spawn_blocking`](super::Handle::try_spawn_blocking).
///
/// # Examples
/// ```
/// use tress::runtime::{Runtime, SpawnBlockingError};
///
/// let rt = Runtime::new()?;
/// let handle = rt.handle().clone();
/// drop(rt);
/// let (error, _closure) = handle.try_spawn_blocking(|| ()).unwrap_err();
/// assert!(matches!(error, SpawnBlockingError::ShutDown));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum SpawnBlockingError {
    /// The maximum number of closures, which the builder's `blocking_queue_bound` sets, is waiting.
    Full,
    /// No thread could be started to run it.
    NoThread(io::Error),
    /// The runtime has shut down.
    ShutDown,
}

impl fmt::Display for SpawnBlockingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnBlockingError::Full => f.write_str(
                "the blocking pool's queue is full: try again later, raise \
                 `blocking_queue_bound` or `max_blocking_threads`",
            ),
            SpawnBlockingError::NoThread(error) => write!(
                f,
                "{}: {error}; raise the process's thread limit or lower `max_blocking_threads`",
                words::NO_THREAD
            ),
            SpawnBlockingError::ShutDown => f.write_str(words::POOL_SHUT_DOWN),
        }
    }
}

impl std::error::Error for SpawnBlockingError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SpawnBlockingError::NoThread(error) => Some(error),
            _ => None,
        }
    }
}

impl Shared {
    /// Keeps the clock from jumping until the guard is dropped; `None` if it never jumps.
    pub(crate) fn hold_clock(self: &Arc<Self>) -> Option<Busy> {
        self.clock.enter_busy().then(|| Busy(self.clone()))
    }

    /// Runs a closure on the blocking pool. If the pool refuses it, the handle's task is cancelled.
    pub(crate) fn submit_blocking<F, R>(
        self: &Arc<Self>,
        f: F,
        at: &'static Location<'static>,
        at_shutdown: AtShutdown,
    ) -> (JoinHandle<R>, Result<(), SpawnBlockingError>)
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let (task, handle) = self.new_blocking(Once(Some(f)), at, What::blocking::<F>());
        (handle, self.queue_blocking(task, at_shutdown))
    }

    fn queue_blocking(
        self: &Arc<Self>,
        task: Ready,
        at_shutdown: AtShutdown,
    ) -> Result<(), SpawnBlockingError> {
        let job = BlockingTask {
            task,
            shared: self.clone(),
            at_shutdown,
            _busy: self.hold_clock(),
        };
        let (job, error) = match self.blocking.spawn(job) {
            Ok(()) => return Ok(()),
            Err(SpawnError::ShutDown(job)) => (job, SpawnBlockingError::ShutDown),
            Err(SpawnError::Full(job)) => (job, SpawnBlockingError::Full),
            Err(SpawnError::NoThread(job, e)) => (job, SpawnBlockingError::NoThread(e)),
        };
        job.cancel();
        Err(error)
    }

    #[track_caller]
    pub(crate) fn spawn_blocking<F, R>(self: &Arc<Self>, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let (handle, result) = self.submit_blocking(f, Location::caller(), AtShutdown::Cancel);
        unless_refused(result);
        handle
    }

    /// As [`spawn_blocking`](Shared::spawn_blocking), perhaps with a name; see [`spawn_named`](Shared::spawn_named).
    #[track_caller]
    pub(crate) fn spawn_named_blocking<F, R>(
        self: &Arc<Self>,
        f: F,
        name: Option<&str>,
    ) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let Some(name) = name else {
            return self.spawn_blocking(f);
        };
        let (at, what) = (Location::caller(), What::blocking::<F>());
        let (task, handle) = self.new_named_blocking(Once(Some(f)), name, at, what);
        unless_refused(self.queue_blocking(task, AtShutdown::Cancel));
        handle
    }

    /// As `spawn_blocking`, but gives the closure back if the pool refuses it.
    pub(crate) fn try_spawn_blocking<F, R>(
        self: &Arc<Self>,
        f: F,
        at: &'static Location<'static>,
        at_shutdown: AtShutdown,
    ) -> Result<JoinHandle<R>, (SpawnBlockingError, F)>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let keep = Arc::new(Mutex::new(Some(f)));
        let taken = keep.clone();
        let take = move || taken.lock().take().expect("only one of the two takes it");
        let (handle, result) = self.submit_blocking(move || take()(), at, at_shutdown);
        match result {
            Ok(()) => Ok(handle),
            Err(error) => {
                let f = keep.lock().take();
                Err((error, f.expect("a refused closure was not run")))
            }
        }
    }
}

/// Panics if the pool has refused a closure. As with any task of a runtime that has shut down, the handle reports that.
#[track_caller]
fn unless_refused(result: Result<(), SpawnBlockingError>) {
    match result {
        Ok(()) | Err(SpawnBlockingError::ShutDown) => {}
        Err(error) => panic!("spawn_blocking: {error}"),
    }
}
