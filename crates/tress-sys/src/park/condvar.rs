//! The portable twin of the futex: a lock and a condition beside the word.

use crate::atomic::{AtomicU32, Ordering};
use crate::{Condvar, Mutex};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Bed {
    lock: Mutex<()>,
    condition: Condvar,
}

impl Bed {
    pub(super) fn new() -> Self {
        Bed {
            lock: Mutex::new(()),
            condition: Condvar::new(),
        }
    }

    /// Sleeps until it is roused, at most `timeout`, unless the word is not `expected` any more. May return early.
    pub(super) fn sleep(&self, word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
        let guard = self.lock.lock();
        // A thread that changes the word takes the lock afterwards: either before us, and we see the change here, or
        // when we wait already.
        if word.load(Ordering::Relaxed) == expected {
            drop(match timeout {
                None => self.condition.wait(guard),
                Some(timeout) => self.condition.wait_timeout(guard, timeout),
            });
        }
    }

    /// Ends the sleep of the thread, for a caller that has changed the word.
    pub(super) fn rouse(&self, _: &AtomicU32) {
        drop(self.lock.lock());
        self.condition.notify_one();
    }
}
