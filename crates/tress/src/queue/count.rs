//! Counting the handles of a channel.

use crate::sys::atomic::{AtomicUsize, Ordering};

/// The number of handles of one kind, such as senders.
pub(crate) struct Count(AtomicUsize);

impl Count {
    pub(crate) fn new(count: usize) -> Count {
        Count(AtomicUsize::new(count))
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// Adds one. Aborts the process before the number can overflow.
    pub(crate) fn add(&self) {
        if self.0.fetch_add(1, Ordering::Relaxed) > usize::MAX / 2 {
            std::process::abort();
        }
    }

    /// Adds one unless there are none. Returns whether it did.
    #[must_use]
    pub(crate) fn try_add(&self) -> bool {
        let mut count = self.get();
        while count != 0 {
            match self.0.compare_exchange_weak(
                count,
                count + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(actual) => count = actual,
            }
        }
        false
    }

    /// Removes one. Returns true if it was the last one.
    pub(crate) fn remove(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}
