//! The messages that receivers have been given and have not taken yet.

use crate::sys::atomic::{AtomicUsize, Ordering};

/// The number of receivers that have a message in their hand, and whether the channel is closed. It is one
/// word, so that the thread that takes the last message learns of the end.
#[derive(Debug)]
pub(super) struct Hands(AtomicUsize);

const CLOSED: usize = 1;
const HAND: usize = 2;

impl Hands {
    pub(super) fn new() -> Hands {
        Hands(AtomicUsize::new(0))
    }

    /// Counts a message that was put into a receiver's hand. The caller holds the lock.
    pub(super) fn fill(&self) {
        self.0.fetch_add(HAND, Ordering::Relaxed);
    }

    /// Counts a message that its receiver has taken, or gives away. Returns true if it was the last one of a
    /// closed channel: that may have been the last step, see `Meeting::conclude`.
    #[must_use]
    pub(super) fn empty(&self) -> bool {
        self.0.fetch_sub(HAND, Ordering::AcqRel) == HAND | CLOSED
    }

    /// Closes the channel. The caller holds the lock.
    pub(super) fn close(&self) {
        self.0.fetch_or(CLOSED, Ordering::AcqRel);
    }

    pub(super) fn are_empty(&self) -> bool {
        self.0.load(Ordering::Acquire) < HAND
    }

    pub(super) fn are_closed(&self) -> bool {
        self.0.load(Ordering::Acquire) & CLOSED != 0
    }
}
