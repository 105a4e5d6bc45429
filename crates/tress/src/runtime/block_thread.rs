//! Waiting for a future by blocking the thread.

use super::{check_blocking_allowed, park_thread};
use crate::sight;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Names a blocking function for the panic of a call where blocking is not allowed. It begins with the words that
/// users of Tokio look for.
macro_rules! cannot_block {
    ($function:literal) => {
        concat!(
            "Cannot block the current thread from within a runtime: `",
            $function,
            "`"
        )
    };
}
pub(crate) use cannot_block;

/// Blocks this thread until `future` is ready. `what` names the caller's public function.
///
/// # Panics
/// Panics if the thread is driving tasks.
#[track_caller]
pub(crate) fn block_on<F: Future>(what: &str, future: F) -> F::Output {
    check_blocking_allowed(what);
    let mut future = pin!(future);
    // Most futures are ready at once and need no waker for the thread.
    let polled = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    match polled {
        Poll::Ready(output) => output,
        // No spin: the primitives spin themselves where that pays.
        Poll::Pending => block_on_noted(future),
    }
}

/// Blocks this thread until `future` is ready. If a task runs on it, that waits for what the future waits for.
fn block_on_noted<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    let noted = poll_fn(|cx| poll_noted(future.as_mut(), cx));
    park_thread::block_on(pin!(noted), Duration::ZERO, 1)
}

fn poll_noted<F: Future>(future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    match sight::is_on() {
        true => sight::watch_blocking(|| future.poll(cx)),
        false => future.poll(cx),
    }
}

/// Blocks the current thread until `future` is ready or the deadline has passed; in the latter case returns `None`.
/// `what` names the caller's public function.
///
/// # Panics
/// Panics if the thread is driving tasks.
#[track_caller]
pub(crate) fn block_on_until<F: Future>(
    what: &str,
    deadline: Instant,
    future: F,
) -> Option<F::Output> {
    check_blocking_allowed(what);
    let mut future = pin!(future);
    let noted = poll_fn(|cx| poll_noted(future.as_mut(), cx));
    park_thread::block_on_until(pin!(noted), deadline)
}
