//! `timerfd`: a timer that can be waited for like a file.

use super::descriptor::{Object, ready};
use super::{Errno, Event, Kernel, ObjectId};
use crate::time::Time;
use libc::c_int;
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct TimerFd {
    clock: libc::clockid_t,
    due: Option<Time>,
    every: Duration,
    /// Times that it was due since it was last read.
    expired: u64,
    /// Counts how often it was set.
    setting: u64,
}

impl TimerFd {
    pub(crate) fn new(clock: libc::clockid_t) -> TimerFd {
        TimerFd {
            clock,
            ..TimerFd::default()
        }
    }

    pub(super) fn readiness(&self) -> u32 {
        if self.expired > 0 { ready::IN } else { 0 }
    }
}

impl Kernel {
    fn timer_fd(&mut self, fd: c_int) -> Result<(ObjectId, &mut TimerFd), Errno> {
        let id = self.descriptors.object(fd)?;
        match &mut self.descriptors.entry(id).object {
            Object::TimerFd(timer) => Ok((id, timer)),
            _ => Err(libc::EINVAL),
        }
    }

    /// Sets the timer, or with `None` stops it. Returns what was left of the last setting.
    pub(crate) fn timer_fd_set(
        &mut self,
        fd: c_int,
        due: Option<Time>,
        every: Duration,
    ) -> Result<(Duration, Duration), Errno> {
        let now = self.now;
        let (id, timer) = self.timer_fd(fd)?;
        let old = (
            timer.due.map_or(Duration::ZERO, |due| due.since(now)),
            timer.every,
        );
        timer.setting += 1;
        (timer.due, timer.every, timer.expired) = (due, every, 0);
        let setting = timer.setting;
        if let Some(due) = due {
            self.events.add(due.max(now), Event::Timer(id, setting));
        }
        Ok(old)
    }

    /// Returns the clock that absolute settings are meant by.
    pub(crate) fn timer_fd_clock(&mut self, fd: c_int) -> Result<libc::clockid_t, Errno> {
        Ok(self.timer_fd(fd)?.1.clock)
    }

    /// Returns what is left until the timer is due, and its interval.
    pub(crate) fn timer_fd_get(&mut self, fd: c_int) -> Result<(Duration, Duration), Errno> {
        let now = self.now;
        let (_, timer) = self.timer_fd(fd)?;
        Ok((
            timer.due.map_or(Duration::ZERO, |due| due.since(now)),
            timer.every,
        ))
    }

    /// Takes the number of times that the timer was due, if there is any.
    pub(crate) fn timer_fd_read(&mut self, fd: c_int) -> Result<Option<u64>, Errno> {
        let (_, timer) = self.timer_fd(fd)?;
        let expired = std::mem::take(&mut timer.expired);
        Ok((expired > 0).then_some(expired))
    }

    /// A timer has become due, unless it was set again or closed.
    pub(super) fn timer_is_due(&mut self, id: ObjectId, setting: u64) {
        let Some(entry) = self.descriptors.get_mut(id) else {
            return;
        };
        let Object::TimerFd(timer) = &mut entry.object else {
            return;
        };
        if timer.setting != setting {
            return;
        }
        timer.expired += 1;
        timer.due = None;
        if timer.every > Duration::ZERO {
            let next = self.now + timer.every;
            timer.due = Some(next);
            self.events.add(next, Event::Timer(id, setting));
        }
        self.changed(id);
    }
}
