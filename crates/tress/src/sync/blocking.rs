//! Waiting with a thread instead of a task.

use crate::runtime::{check_blocking_allowed, park_thread};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Blocks this thread until `future` is ready. `what` names the caller's public function.
///
/// # Panics
/// If the thread drives tasks.
#[track_caller]
pub(crate) fn block_on<F: Future>(what: &str, future: F) -> F::Output {
    check_blocking_allowed(what);
    let mut future = pin!(future);
    // Most are ready at once, and need no thread to be woken.
    let polled = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    match polled {
        Poll::Ready(output) => output,
        // No spin: the primitives spin themselves where that pays.
        Poll::Pending => park_thread::block_on(future, Duration::ZERO, 1),
    }
}

/// As `block_on`, until a deadline; `None` if the future is not ready by then.
#[track_caller]
pub(crate) fn block_on_until<F: Future>(
    what: &str,
    deadline: Instant,
    future: F,
) -> Option<F::Output> {
    check_blocking_allowed(what);
    park_thread::block_on_until(pin!(future), deadline)
}
