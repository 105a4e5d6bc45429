//! The working directory, and paths as the C library returns them.

use super::enter_for;
use super::path::{name_by, open_file, zero};
use super::real_path::{Access, enter_at};
use super::{answer, real};
use crate::kernel::{Errno, enter, is_here};
use crate::raw;
use libc::{AT_FDCWD, c_char, c_int, c_void, mode_t, size_t};
use std::mem;
use std::ptr;
use std::slice;
use std::sync::atomic::AtomicPtr;

/// `chdir(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chdir(path: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(AT_FDCWD, path, Access::Change) }) else {
        return real!(SYS_chdir, path) as c_int;
    };
    zero(kernel.work_in(name_by(AT_FDCWD, text, 0)))
}

/// `fchdir(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fchdir(fd: c_int) -> c_int {
    match enter_for(fd) {
        Some(mut kernel) => zero(kernel.work_in(open_file(fd))),
        None => real!(SYS_fchdir, fd) as c_int,
    }
}

/// `umask(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn umask(mask: mode_t) -> mode_t {
    match enter() {
        Some(mut kernel) => {
            let (_, host) = kernel.running();
            mem::replace(&mut kernel.disks[host.0].mask, mask & 0o777)
        }
        None => real!(SYS_umask, mask) as mode_t,
    }
}

/// Returns a path as the C library does: in the buffer, or in memory that the caller frees.
///
/// # Safety
/// The buffer is null, or has room for that many bytes.
unsafe fn give(path: Result<Vec<u8>, Errno>, buffer: *mut c_char, size: size_t) -> *mut c_char {
    let fail = |errno| {
        raw::set_errno(errno);
        ptr::null_mut()
    };
    let path = match path {
        Ok(path) => path,
        Err(errno) => return fail(errno),
    };
    let needed = path.len() + 1;
    if size != 0 && size < needed {
        return fail(libc::ERANGE);
    }
    // SAFETY: the caller's promise; what is allocated here has room for as much.
    unsafe {
        let to = if buffer.is_null() {
            libc::malloc(size.max(needed)).cast()
        } else {
            buffer
        };
        if to.is_null() {
            return fail(libc::ENOMEM);
        }
        let to_slice = slice::from_raw_parts_mut(to.cast::<u8>(), needed);
        to_slice[..path.len()].copy_from_slice(&path);
        to_slice[path.len()] = 0;
        to
    }
}

/// `getcwd(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getcwd(buffer: *mut c_char, size: size_t) -> *mut c_char {
    let Some(mut kernel) = enter() else {
        type GetCwd = unsafe extern "C" fn(*mut c_char, size_t) -> *mut c_char;
        static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: the function of that name has this type; the rest is the caller's promise.
        return unsafe {
            let next: GetCwd = mem::transmute(raw::next(&NEXT, c"getcwd"));
            next(buffer, size)
        };
    };
    let path = kernel.with_path(AT_FDCWD, b"", |disk, working| disk.path_of(working));
    let path = match size {
        0 if !buffer.is_null() => Err(libc::EINVAL),
        _ => path,
    };
    // SAFETY: the caller's promise.
    unsafe { give(path, buffer, size) }
}

/// `realpath(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realpath(path: *const c_char, buffer: *mut c_char) -> *mut c_char {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(AT_FDCWD, path, Access::Read) }) else {
        type RealPath = unsafe extern "C" fn(*const c_char, *mut c_char) -> *mut c_char;
        static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: the function of that name has this type; the rest is the caller's promise.
        return unsafe {
            let next: RealPath = mem::transmute(raw::next(&NEXT, c"realpath"));
            next(path, buffer)
        };
    };
    let path = kernel.with_path(AT_FDCWD, text, |disk, base| disk.real_path(base, text));
    // SAFETY: the caller's promise: the buffer is null, or has room for every path.
    unsafe { give(path, buffer, 0) }
}

/// `chroot(2)`: refused to programs of hosts.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chroot(path: *const c_char) -> c_int {
    match is_here() {
        true => answer(Err(libc::EPERM)),
        false => real!(SYS_chroot, path) as c_int,
    }
}
