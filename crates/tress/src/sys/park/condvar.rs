use crate::sys::Mutex;
#[cfg(loom)]
use loom::sync::Condvar;
#[cfg(not(loom))]
use std::sync::Condvar;
use std::time::Duration;

/// The portable twin of the futex parker: same contract, a lock and a condition.
#[derive(Debug)]
pub(crate) struct Parker {
    notified: Mutex<bool>,
    condition: Condvar,
}

impl Parker {
    pub(crate) fn new() -> Self {
        Parker {
            notified: Mutex::new(false),
            condition: Condvar::new(),
        }
    }

    /// Waits for a token, at most `timeout`. True if a token was consumed. May
    /// return false early.
    pub(crate) fn park(&self, timeout: Option<Duration>) -> bool {
        let mut notified = self.notified.lock();
        if !*notified && timeout != Some(Duration::ZERO) {
            notified = match timeout {
                None => self.condition.wait(notified).unwrap(),
                Some(t) => self.condition.wait_timeout(notified, t).unwrap().0,
            };
        }
        std::mem::take(&mut *notified)
    }

    /// Would `park` return at once?
    pub(crate) fn is_notified(&self) -> bool {
        *self.notified.lock()
    }

    pub(crate) fn unpark(&self) {
        *self.notified.lock() = true;
        self.condition.notify_one();
    }
}
