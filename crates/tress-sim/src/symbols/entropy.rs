//! Random numbers of the system: each host has a stream of its own.

use super::real;
use crate::kernel::{enter, is_here};
use libc::{c_int, c_uint, c_void, size_t, ssize_t};
use std::slice;

/// `getrandom(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
    // Libraries ask for nothing once in a process, to see whether the call is there. If that took time, the first of several
    // simulations in a process would differ from the others.
    if length == 0 && is_here() {
        return 0;
    }
    let Some(mut kernel) = enter() else {
        if length > 0 {
            // SAFETY: the caller's promise: it can be written, and only the caller has it.
            let bytes = unsafe { slice::from_raw_parts_mut(buffer.cast(), length) };
            if crate::runner::draw(bytes) {
                return length as ssize_t;
            }
        }
        return real!(SYS_getrandom, buffer, length, flags) as ssize_t;
    };
    let (_, host) = kernel.running();
    // SAFETY: the caller's promise: it can be written, and only the caller has it.
    let bytes = unsafe { slice::from_raw_parts_mut(buffer.cast(), length) };
    kernel.hosts[host.0].entropy.fill(bytes);
    length as ssize_t
}

/// `getentropy(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getentropy(buffer: *mut c_void, length: size_t) -> c_int {
    if length > 256 {
        crate::raw::set_errno(libc::EIO);
        return -1;
    }
    // SAFETY: the caller's promise.
    match unsafe { getrandom(buffer, length, 0) } {
        -1 => -1,
        _ => 0,
    }
}
