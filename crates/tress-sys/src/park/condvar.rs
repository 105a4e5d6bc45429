use crate::{Condvar, Mutex};
use std::time::Duration;

/// The portable twin of the futex parker: same contract, a lock and a condition.
#[derive(Debug)]
pub struct Parker {
    notified: Mutex<bool>,
    condition: Condvar,
}

impl Parker {
    /// Creates a parker without a token.
    pub fn new() -> Self {
        Parker {
            notified: Mutex::new(false),
            condition: Condvar::new(),
        }
    }

    /// Waits for a token, at most `timeout`. True if a token was consumed. May
    /// return false early.
    pub fn park(&self, timeout: Option<Duration>) -> bool {
        let mut notified = self.notified.lock();
        if !*notified && timeout != Some(Duration::ZERO) {
            notified = match timeout {
                None => self.condition.wait(notified),
                Some(t) => self.condition.wait_timeout(notified, t),
            };
        }
        std::mem::take(&mut *notified)
    }

    /// Returns whether `park` would return at once.
    pub fn is_notified(&self) -> bool {
        *self.notified.lock()
    }

    /// Leaves a token, and wakes the thread if it waits.
    pub fn unpark(&self) {
        *self.notified.lock() = true;
        self.condition.notify_one();
    }
}
