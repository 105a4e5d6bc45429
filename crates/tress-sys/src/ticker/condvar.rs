use crate::{Condvar, Mutex, clock};
use std::io;
use std::time::{Duration, Instant};

/// An alarm that one thread waits for and any thread may set.
#[derive(Debug)]
pub struct Ticker {
    alarm: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl Ticker {
    /// Creates an alarm that is not set.
    ///
    /// # Errors
    /// The system has no room for another timer.
    pub fn new() -> io::Result<Self> {
        Ok(Ticker {
            alarm: Mutex::new(None),
            changed: Condvar::new(),
        })
    }

    /// Makes `wait` return after `after`, replacing an earlier setting.
    pub fn arm(&self, after: Duration) {
        *self.alarm.lock() = Some(clock::now() + after);
        self.changed.notify_one();
    }

    /// Blocks until the alarm goes off.
    pub fn wait(&self) {
        let mut alarm = self.alarm.lock();
        loop {
            alarm = match *alarm {
                None => self.changed.wait(alarm),
                Some(at) => {
                    let left = at.saturating_duration_since(clock::now());
                    if left.is_zero() {
                        *alarm = None;
                        return;
                    }
                    self.changed.wait_timeout(alarm, left)
                }
            };
        }
    }
}
