//! `poll`: waiting for some descriptors at once.

use super::descriptor::ready;
use super::{Errno, Here, Kernel, ObjectId};
use crate::time::Time;

impl Kernel {
    /// Writes what of each is ready. Returns how many are.
    fn poll_once(&mut self, fds: &mut [libc::pollfd], objects: &[Option<ObjectId>]) -> usize {
        let mut count = 0;
        for (fd, object) in fds.iter_mut().zip(objects) {
            fd.revents = match object {
                _ if fd.fd < 0 => 0,
                None => libc::POLLNVAL,
                Some(object) => {
                    // These bits of poll and epoll are the same.
                    let wanted = fd.events as u16 as u32 | ready::ERR | ready::HUP;
                    (self.readiness(*object) & wanted) as i16
                }
            };
            count += usize::from(fd.revents != 0);
        }
        count
    }
}

impl Here {
    /// `poll`, until that time.
    pub(crate) fn poll(
        &mut self,
        fds: &mut [libc::pollfd],
        until: Option<Time>,
    ) -> Result<usize, Errno> {
        let object = |fd: &libc::pollfd| self.descriptors.object(self.meant(fd.fd)).ok();
        let objects: Vec<_> = fds.iter().map(object).collect();
        let result = self.wait_or_signal(until, false, |kernel| {
            let count = kernel.poll_once(fds, &objects);
            if count == 0 {
                for object in objects.iter().flatten() {
                    kernel.wait_at(*object);
                }
            }
            (count > 0).then_some(count)
        })?;
        Ok(result.unwrap_or(0))
    }
}
