//! Who may use files, and when they were used.

use super::enter_for;
use super::path::{name_by, open_file, zero};
use super::real;
use super::real_path::{Access, enter_at};
use crate::kernel::Errno;
use libc::{AT_FDCWD, c_char, c_int, gid_t, mode_t, uid_t};
use std::ptr;
use std::time::Duration;

/// `faccessat(2)`. Programs of hosts may do everything, but execute what nobody may.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn faccessat(
    directory: c_int,
    path: *const c_char,
    mode: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(directory, path, Access::Read) }) else {
        return match flags {
            0 => real!(SYS_faccessat, directory, path, mode) as c_int,
            _ => real!(SYS_faccessat2, directory, path, mode, flags) as c_int,
        };
    };
    let found = kernel.attributes(name_by(directory, text, flags));
    zero(found.and_then(
        |found| match mode & libc::X_OK != 0 && found.mode & 0o111 == 0 {
            true => Err(libc::EACCES),
            false => Ok(()),
        },
    ))
}

/// `access(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { faccessat(AT_FDCWD, path, mode, 0) }
}

/// `fchmodat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fchmodat(
    directory: c_int,
    path: *const c_char,
    mode: mode_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(directory, path, Access::Change) }) else {
        return real!(SYS_fchmodat, directory, path, mode) as c_int;
    };
    zero(
        kernel.with_inode(name_by(directory, text, flags), |disk, inode| {
            disk.set_mode(inode, mode)
        }),
    )
}

/// `chmod(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chmod(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { fchmodat(AT_FDCWD, path, mode, 0) }
}

/// `fchmod(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fchmod(fd: c_int, mode: mode_t) -> c_int {
    match enter_for(fd) {
        Some(mut kernel) => {
            zero(kernel.with_inode(open_file(fd), |disk, inode| disk.set_mode(inode, mode)))
        }
        None => real!(SYS_fchmod, fd, mode) as c_int,
    }
}

/// An owner; the highest number means none.
fn owner(id: u32) -> Option<u32> {
    (id != u32::MAX).then_some(id)
}

/// `fchownat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fchownat(
    directory: c_int,
    path: *const c_char,
    user: uid_t,
    group: gid_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(directory, path, Access::Change) }) else {
        return real!(SYS_fchownat, directory, path, user, group, flags) as c_int;
    };
    let name = name_by(directory, text, flags);
    zero(kernel.with_inode(name, |disk, inode| {
        disk.set_owner(inode, owner(user), owner(group))
    }))
}

/// `chown(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chown(path: *const c_char, user: uid_t, group: gid_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { fchownat(AT_FDCWD, path, user, group, 0) }
}

/// `lchown(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lchown(path: *const c_char, user: uid_t, group: gid_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { fchownat(AT_FDCWD, path, user, group, libc::AT_SYMLINK_NOFOLLOW) }
}

/// `fchown(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fchown(fd: c_int, user: uid_t, group: gid_t) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_fchown, fd, user, group) as c_int;
    };
    zero(kernel.with_inode(open_file(fd), |disk, inode| {
        disk.set_owner(inode, owner(user), owner(group))
    }))
}

/// Reads the two times of `utimensat(2)`; none stays as it is.
///
/// # Safety
/// The pointer is null, or points to two times.
unsafe fn times(
    times: *const libc::timespec,
    now: Duration,
) -> Result<[Option<Duration>; 2], Errno> {
    if times.is_null() {
        return Ok([Some(now); 2]);
    }
    let mut read = [None; 2];
    for (at, time) in read.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *time = unsafe {
            match (*times.add(at)).tv_nsec {
                libc::UTIME_NOW => Some(now),
                libc::UTIME_OMIT => None,
                _ => Some(super::duration(times.add(at))?),
            }
        };
    }
    Ok(read)
}

/// `utimensat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn utimensat(
    directory: c_int,
    path: *const c_char,
    to: *const libc::timespec,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(directory, path, Access::Change) }) else {
        return real!(SYS_utimensat, directory, path, to, flags) as c_int;
    };
    // No path means the descriptor, by the system call.
    let name = match text {
        b"" if path.is_null() => open_file(directory),
        _ => name_by(directory, text, flags),
    };
    zero(kernel.with_inode(name, |disk, inode| {
        // SAFETY: the caller's promise.
        let [accessed, modified] = unsafe { times(to, disk.wall())? };
        disk.set_times(inode, accessed, modified)
    }))
}

/// `futimens(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn futimens(fd: c_int, to: *const libc::timespec) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { utimensat(fd, ptr::null(), to, 0) }
}
