//! `block_on` for a thread that drives nothing but its own future.

use crate::scheduler::{Crowd, Spin};
use crate::sight;
use crate::sys::{Parker, clock};
use crate::task::coop;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// A parked thread, as a waker.
struct ParkedThread(Parker);

impl Wake for ParkedThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

fn poll<F: Future>(future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    sight::watch_blocking(|| coop::with_fresh_budget(|| future.poll(cx)))
}

/// Polls `future` on this thread until it is ready, and sleeps in between.
pub(crate) fn block_on<F: Future>(
    mut future: Pin<&mut F>,
    spin: Duration,
    cores: usize,
) -> F::Output {
    let thread = Arc::new(ParkedThread(Parker::new()));
    let waker = Waker::from(thread.clone());
    let mut cx = Context::from_waker(&waker);
    let (spin, crowd) = (Spin::new(spin, cores), Crowd::new());
    loop {
        let polled = poll(future.as_mut(), &mut cx);
        if let Poll::Ready(output) = polled {
            return output;
        }
        let start = clock::now();
        crowd.look(start);
        if crowd.may_spin() && spin.wait(start, || thread.0.is_notified()) {
            thread.0.park(Some(Duration::ZERO));
        } else {
            let parked = clock::now();
            while !thread.0.park(None) {}
            let now = clock::now();
            spin.record_park(start, now);
            crowd.slept(now - parked);
        }
    }
}

/// As `block_on`, without spinning; returns `None` if the future is not ready at the deadline. It is polled at least
/// once.
pub(crate) fn block_on_until<F: Future>(
    mut future: Pin<&mut F>,
    deadline: Instant,
) -> Option<F::Output> {
    let thread = Arc::new(ParkedThread(Parker::new()));
    let waker = Waker::from(thread.clone());
    let mut cx = Context::from_waker(&waker);
    loop {
        let polled = poll(future.as_mut(), &mut cx);
        if let Poll::Ready(output) = polled {
            return Some(output);
        }
        loop {
            let left = deadline.saturating_duration_since(clock::now());
            if thread.0.park(Some(left)) {
                break;
            }
            if left.is_zero() {
                return None;
            }
        }
    }
}
