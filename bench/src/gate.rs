//! A waker cell of our own, the same for every runtime, so that a wake measures the scheduler
//! alone.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use atomic_waker::AtomicWaker;

/// Lets one task through, once per `open`.
#[derive(Default)]
pub struct Gate {
    open: AtomicBool,
    waker: AtomicWaker,
}

impl Gate {
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate and wakes the task waiting there.
    pub fn open(&self) {
        self.open.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Waits until the gate is open and shuts it again. One task at a time.
    pub async fn pass(&self) {
        poll_fn(|cx| {
            if self.shut() {
                return Poll::Ready(());
            }
            // Look again after registering: an `open` in between found no waker.
            self.waker.register(cx.waker());
            if self.shut() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// Shuts the gate; whether it was open.
    fn shut(&self) -> bool {
        self.open.load(Ordering::Relaxed) && self.open.swap(false, Ordering::Acquire)
    }
}
