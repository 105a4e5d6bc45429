//! The standard streams, which a child may have for itself.

use super::signal::next;
use crate::kernel::here;
use crate::kernel::process::Stream;
use crate::raw;
use libc::{c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::AtomicPtr;

/// Returns the descriptor that a process means by a number: a standard stream of a child may be a simulated one.
#[inline]
pub(super) fn meant(fd: c_int) -> c_int {
    match (0..3).contains(&fd) {
        true => here().map_or(fd, |kernel| kernel.meant(fd)),
        false => fd,
    }
}

/// Notes that a process closes a descriptor, by its number.
pub(super) fn close(fd: c_int) {
    if (0..3).contains(&fd) {
        if let Some(mut kernel) = here() {
            if kernel.stream(fd) != Stream::Real {
                kernel.close_stream(fd);
            }
        }
    }
}

/// `isatty(3)`: no simulated descriptor is a terminal.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isatty(fd: c_int) -> c_int {
    if meant(fd) != fd {
        raw::set_errno(libc::ENOTTY);
        return 0;
    }
    next!(c"isatty", fn(c_int) -> c_int, fd)
}
