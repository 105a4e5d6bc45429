//! Transfer of bytes to and from a socket by the system calls themselves (Linux).
//!
//! The C library's `recv` and `send` are points at which a thread may be cancelled. In a program with
//! several threads they prepare for that before and after each call, which takes 25 to 30 ns. No thread
//! here is ever cancelled in this way.

use super::Socket;
use crate::io::uninterrupted;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Receives into memory that need not be initialized. The bytes whose number is returned are initialized.
// D-NET-07
#[inline]
pub(in crate::net) fn receive<S: Socket>(
    socket: &S,
    room: &mut [MaybeUninit<u8>],
) -> io::Result<usize> {
    uninterrupted(|| {
        // SAFETY: the memory is borrowed for this call, and the address of the sender is not requested.
        returned(unsafe {
            libc::syscall(
                libc::SYS_recvfrom,
                socket.as_raw_fd(),
                room.as_mut_ptr(),
                room.len(),
                0,
                ptr::null_mut::<libc::sockaddr>(),
                ptr::null_mut::<libc::socklen_t>(),
            )
        })
    })
}

/// Sends as many bytes as there is room for, and returns how many that was.
#[inline]
pub(in crate::net) fn send<S: Socket>(socket: &S, bytes: &[u8]) -> io::Result<usize> {
    uninterrupted(|| {
        // SAFETY: the bytes are borrowed for this call, and the socket is connected.
        returned(unsafe {
            libc::syscall(
                libc::SYS_sendto,
                socket.as_raw_fd(),
                bytes.as_ptr(),
                bytes.len(),
                libc::MSG_NOSIGNAL,
                ptr::null::<libc::sockaddr>(),
                0 as libc::socklen_t,
            )
        })
    })
}

#[inline]
fn returned(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
