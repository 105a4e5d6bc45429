use crate::sys::Mutex;
#[cfg(loom)]
use loom::sync::Condvar;
use std::io;
#[cfg(not(loom))]
use std::sync::Condvar;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(crate) struct Ticker {
    alarm: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl Ticker {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Ticker {
            alarm: Mutex::new(None),
            changed: Condvar::new(),
        })
    }

    /// Makes `wait` return after `after`, replacing an earlier setting.
    pub(crate) fn arm(&self, after: Duration) {
        *self.alarm.lock() = Some(Instant::now() + after);
        self.changed.notify_one();
    }

    /// Blocks until the alarm goes off.
    pub(crate) fn wait(&self) {
        let mut alarm = self.alarm.lock();
        loop {
            alarm = match *alarm {
                None => self.changed.wait(alarm).unwrap(),
                Some(at) => {
                    let left = at.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        *alarm = None;
                        return;
                    }
                    self.changed.wait_timeout(alarm, left).unwrap().0
                }
            };
        }
    }
}
