//! Sockets and pipes.

mod address;
mod message;
mod option;

pub(super) use message::{recvmmsg, recvmsg, sendmmsg, sendmsg};
pub(super) use option::{getsockopt, setsockopt};

use super::{answer, enter_for, length, real};
use crate::kernel::{Errno, enter};
use crate::net::{About, Manner};
use address::write_address;
pub(super) use address::{read_address, v4, v6};
use libc::{c_int, c_void, size_t, sockaddr, socklen_t, ssize_t};
use std::ptr;
use std::slice;

fn done(result: Result<(), Errno>) -> c_int {
    answer(result.map(|()| 0))
}

/// The bytes of a buffer, which may be null if it is empty.
///
/// # Safety
/// It is valid for reads for `'a`.
unsafe fn bytes<'a>(buffer: *const c_void, size: size_t) -> &'a [u8] {
    if size == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(buffer.cast(), size) }
}

/// As `bytes`, to be written to.
///
/// # Safety
/// It is valid for writes for `'a`.
unsafe fn bytes_mut<'a>(buffer: *mut c_void, size: size_t) -> &'a mut [u8] {
    if size == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts_mut(buffer.cast(), size) }
}

/// Refuses what no socket has: urgent bytes, and a queue of errors.
fn refuse_flags(flags: c_int) -> Result<(), Errno> {
    match flags {
        _ if flags & libc::MSG_ERRQUEUE != 0 => Err(libc::EAGAIN),
        _ if flags & libc::MSG_OOB != 0 => Err(libc::EINVAL),
        _ => Ok(()),
    }
}

/// Writes two descriptors.
///
/// # Safety
/// There is room for two.
unsafe fn give_both(to: *mut c_int, both: Result<[c_int; 2], Errno>) -> c_int {
    answer(both.map(|both| {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[c_int; 2]>().write_unaligned(both) };
        0
    }))
}

/// `socket(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    match enter() {
        Some(mut kernel) => answer(kernel.socket(domain, kind, protocol)),
        None => real!(SYS_socket, domain, kind, protocol) as c_int,
    }
}

/// `socketpair(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    both: *mut c_int,
) -> c_int {
    match enter() {
        // SAFETY: the caller's promise.
        Some(mut kernel) => unsafe { give_both(both, kernel.socket_pair(domain, kind, protocol)) },
        None => real!(SYS_socketpair, domain, kind, protocol, both) as c_int,
    }
}

/// `pipe(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pipe(both: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { pipe2(both, 0) }
}

/// `pipe2(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pipe2(both: *mut c_int, flags: c_int) -> c_int {
    match enter() {
        // SAFETY: the caller's promise.
        Some(mut kernel) => unsafe { give_both(both, kernel.pipe(flags)) },
        None => real!(SYS_pipe2, both, flags) as c_int,
    }
}

/// `bind(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bind(fd: c_int, address: *const sockaddr, size: socklen_t) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_bind, fd, address, size) as c_int;
    };
    // SAFETY: the caller's promise.
    let address = unsafe { read_address(address, size) };
    done(address.and_then(|address| kernel.with_socket(fd, |net, id, _| net.bind(id, address))))
}

/// `listen(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    match enter_for(fd) {
        Some(mut kernel) => done(kernel.with_socket(fd, |net, id, _| net.listen(id, backlog))),
        None => real!(SYS_listen, fd, backlog) as c_int,
    }
}

/// `accept(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept(fd: c_int, address: *mut sockaddr, size: *mut socklen_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { accept4(fd, address, size, 0) }
}

/// `accept4(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept4(
    fd: c_int,
    address: *mut sockaddr,
    size: *mut socklen_t,
    flags: c_int,
) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_accept4, fd, address, size, flags) as c_int;
    };
    answer(kernel.accept(fd, flags).map(|(accepted, from)| {
        // SAFETY: the caller's promise.
        unsafe { write_address(&from, address, size) };
        accepted
    }))
}

/// `connect(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn connect(fd: c_int, address: *const sockaddr, size: socklen_t) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_connect, fd, address, size) as c_int;
    };
    // SAFETY: the caller's promise.
    let address = unsafe { read_address(address, size) };
    done(address.and_then(|address| kernel.connect(fd, &address)))
}

/// `getsockname(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockname(
    fd: c_int,
    address: *mut sockaddr,
    size: *mut socklen_t,
) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_getsockname, fd, address, size) as c_int;
    };
    let local = kernel.with_socket(fd, |net, id, _| net.local_address(id));
    // SAFETY: the caller's promise.
    done(local.map(|local| unsafe { write_address(&local, address, size) }))
}

/// `getpeername(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getpeername(
    fd: c_int,
    address: *mut sockaddr,
    size: *mut socklen_t,
) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_getpeername, fd, address, size) as c_int;
    };
    let remote = kernel.with_socket(fd, |net, id, _| net.remote_address(id));
    // SAFETY: the caller's promise.
    done(remote.map(|remote| unsafe { write_address(&remote, address, size) }))
}

/// `shutdown(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    match enter_for(fd) {
        Some(mut kernel) => done(kernel.with_socket(fd, |net, id, now| net.shutdown(now, id, how))),
        None => real!(SYS_shutdown, fd, how) as c_int,
    }
}

/// `send(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn send(
    fd: c_int,
    buffer: *const c_void,
    size: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's promise.
    unsafe { sendto(fd, buffer, size, flags, ptr::null(), 0) }
}

/// `sendto(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendto(
    fd: c_int,
    buffer: *const c_void,
    size: size_t,
    flags: c_int,
    to: *const sockaddr,
    to_size: socklen_t,
) -> ssize_t {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_sendto, fd, buffer, size, flags, to, to_size) as ssize_t;
    };
    // SAFETY: the caller's promise.
    let (from, to) = unsafe {
        let to = (!to.is_null())
            .then(|| read_address(to, to_size))
            .transpose();
        (bytes(buffer, size), to)
    };
    let is_socket = kernel.with_socket(fd, |_, _, _| refuse_flags(flags));
    length(is_socket.and(to).and_then(|to| {
        kernel.send_message(
            fd,
            &[from],
            to.as_ref(),
            About::default(),
            Manner::of(flags),
        )
    }))
}

/// `recv(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(
    fd: c_int,
    buffer: *mut c_void,
    size: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's promise.
    unsafe { recvfrom(fd, buffer, size, flags, ptr::null_mut(), ptr::null_mut()) }
}

/// `recvfrom(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvfrom(
    fd: c_int,
    buffer: *mut c_void,
    size: size_t,
    flags: c_int,
    from: *mut sockaddr,
    from_size: *mut socklen_t,
) -> ssize_t {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_recvfrom, fd, buffer, size, flags, from, from_size) as ssize_t;
    };
    let is_socket = kernel.with_socket(fd, |_, _, _| refuse_flags(flags));
    // SAFETY: the caller's promise.
    let into = unsafe { bytes_mut(buffer, size) };
    let received =
        is_socket.and_then(|()| kernel.receive_message(fd, &mut [into], Manner::of(flags)));
    length(received.map(|received| {
        // SAFETY: the caller's promise.
        unsafe {
            match &received.from {
                Some(address) => write_address(address, from, from_size),
                None if !from_size.is_null() => from_size.write(0),
                None => {}
            }
        }
        if flags & libc::MSG_TRUNC != 0 {
            received.length
        } else {
            received.copied
        }
    }))
}
