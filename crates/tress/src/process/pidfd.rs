//! A descriptor that becomes readable when a process ends (Linux 5.3).

use std::os::fd::{FromRawFd, OwnedFd};

/// Opens the descriptor of a child that has not been waited for. `None` if the kernel lacks the call
/// or the process has no descriptors left: then `SIGCHLD` is used instead.
pub(super) fn open(pid: u32) -> Option<OwnedFd> {
    // SAFETY: plain numbers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    // SAFETY: a new descriptor, which nothing else owns.
    i32::try_from(fd)
        .ok()
        .filter(|fd| *fd >= 0)
        .map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}
