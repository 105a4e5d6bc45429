//! `eventfd`: a number that can be added to and waited for.

use super::descriptor::{Object, ready};
use super::{Errno, Kernel};
use libc::c_int;

#[derive(Debug)]
pub(crate) struct EventFd {
    pub(crate) count: u64,
    pub(crate) is_semaphore: bool,
}

impl EventFd {
    pub(super) fn readiness(&self) -> u32 {
        let readable = if self.count > 0 { ready::IN } else { 0 };
        let writable = if self.count < u64::MAX - 1 {
            ready::OUT
        } else {
            0
        };
        readable | writable
    }
}

impl Kernel {
    /// Reads the number, if it is not zero.
    pub(crate) fn event_fd_read(&mut self, fd: c_int) -> Result<Option<u64>, Errno> {
        let id = self.descriptors.object(fd)?;
        let Object::EventFd(event) = &mut self.descriptors.entry(id).object else {
            return Err(libc::EINVAL);
        };
        if event.count == 0 {
            return Ok(None);
        }
        let taken = if event.is_semaphore { 1 } else { event.count };
        event.count -= taken;
        self.changed(id);
        Ok(Some(taken))
    }

    /// Adds to the number. Returns false if it would become too large.
    pub(crate) fn event_fd_write(&mut self, fd: c_int, number: u64) -> Result<bool, Errno> {
        let id = self.descriptors.object(fd)?;
        let Object::EventFd(event) = &mut self.descriptors.entry(id).object else {
            return Err(libc::EINVAL);
        };
        if number == u64::MAX {
            return Err(libc::EINVAL);
        }
        if event.count > u64::MAX - 1 - number {
            return Ok(false);
        }
        event.count += number;
        self.changed(id);
        Ok(true)
    }
}
