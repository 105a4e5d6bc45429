//! What a listener does when the system has run out of descriptors or memory for a connection.
//!
//! The connection stays in the backlog and the listener stays ready, so a loop that accepts, fails and
//! accepts again would keep a processor busy until something is closed somewhere. There is no event to wait
//! for. Therefore the error is returned at once, but the next `accept` begins with a pause.

use crate::runtime::has_timers;
use crate::sys::atomic::Ordering;
use crate::sys::plain::{AtomicBool, Mutex, MutexGuard};
use crate::time::{Instant, Sleep, sleep_until};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Length of the pause: short enough to go unnoticed, long enough to cost nothing.
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
pub(crate) struct Patience {
    /// Whether `pause` is set: in the usual case nothing else is read.
    exhausted: AtomicBool,
    pause: Mutex<Pause>,
}

#[derive(Debug, Default)]
struct Pause {
    until: Option<Instant>,
    /// The timer of `poll_accept`, which has one waker.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Patience {
    fn pause(&self) -> MutexGuard<'_, Pause> {
        self.pause.lock()
    }

    /// Returns the result of an attempt to accept, after noting whether the system had run out of
    /// something.
    pub(crate) fn note<R>(&self, result: io::Result<R>) -> io::Result<R> {
        if let Err(error) = &result {
            if is_exhaustion(error) {
                self.pause().until = Some(Instant::now() + PAUSE);
                self.exhausted.store(true, Ordering::Relaxed);
            }
        }
        result
    }

    /// Returns whether there is a pause, and a timer to wait with.
    fn is_on(&self) -> bool {
        self.exhausted.load(Ordering::Relaxed) && has_timers()
    }

    /// Waits until it makes sense to try again.
    pub(crate) async fn wait(&self) {
        if self.is_on() {
            let until = self.pause().until;
            if let Some(until) = until {
                sleep_until(until).await;
                self.end(until);
            }
        }
    }

    /// Polls for what `wait` waits for.
    pub(crate) fn poll_wait(&self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.is_on() {
            return Poll::Ready(());
        }
        // The timer is taken out, because it clones, drops and wakes wakers, which is foreign code that may
        // call back.
        let (until, sleep) = {
            let mut pause = self.pause();
            (pause.until, pause.sleep.take())
        };
        let Some(until) = until else {
            return Poll::Ready(());
        };
        let mut sleep = sleep.unwrap_or_else(|| Box::pin(sleep_until(until)));
        if sleep.as_mut().poll(cx).is_pending() {
            let replaced = self.pause().sleep.replace(sleep);
            drop(replaced);
            return Poll::Pending;
        }
        drop(sleep);
        self.end(until);
        Poll::Ready(())
    }

    /// Ends the pause, unless another one has begun.
    fn end(&self, until: Instant) {
        let mut pause = self.pause();
        if pause.until == Some(until) {
            pause.until = None;
            self.exhausted.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(unix)]
fn is_exhaustion(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM)
    )
}

/// `WSAEMFILE` and `WSAENOBUFS`.
#[cfg(windows)]
fn is_exhaustion(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(10024 | 10055))
}
