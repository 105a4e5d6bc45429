//! Files by their paths.

use super::file::also;
use super::real_path::{Access, enter_at};
use super::{answer, length, real};
use crate::disk::Rename;
use crate::kernel::{Errno, Name, is_here};
use libc::{AT_FDCWD, c_char, c_int, c_uint, mode_t, off_t, size_t, ssize_t};
use std::ptr;

/// What a path refers to, by flags of calls that follow links unless they are told not to.
pub(super) fn name_by(directory: c_int, path: &[u8], flags: c_int) -> Name<'_> {
    Name {
        directory,
        path,
        follow: flags & libc::AT_SYMLINK_NOFOLLOW == 0,
        may_be_empty: flags & libc::AT_EMPTY_PATH != 0,
    }
}

/// What a descriptor refers to.
pub(super) fn open_file(fd: c_int) -> Name<'static> {
    name_by(fd, b"", libc::AT_EMPTY_PATH)
}

/// The result of a call that returns zero, or -1 and an error number.
pub(super) fn zero(result: Result<(), Errno>) -> c_int {
    answer(result.map(|()| 0))
}

/// `openat(2)`. Its last argument is passed alike whether it is named or not.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat64(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    let changes = libc::O_CREAT | libc::O_TRUNC;
    let reads = flags & libc::O_ACCMODE == libc::O_RDONLY && flags & changes == 0;
    let access = if reads { Access::Read } else { Access::Change };
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(directory, path, access) }) else {
        return real!(SYS_openat, directory, path, flags, mode) as c_int;
    };
    answer(kernel.open_file(directory, text, flags, mode))
}
also!(openat = openat64, (directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int);

/// `open(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { openat64(AT_FDCWD, path, flags, mode) }
}
also!(open = open64, (path: *const c_char, flags: c_int, mode: mode_t) -> c_int);

/// `creat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn creat64(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        openat64(
            AT_FDCWD,
            path,
            libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC,
            mode,
        )
    }
}
also!(creat = creat64, (path: *const c_char, mode: mode_t) -> c_int);

/// `mkdirat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mkdirat(directory: c_int, path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(directory, path, Access::Change) }) else {
        return real!(SYS_mkdirat, directory, path, mode) as c_int;
    };
    zero(kernel.with_path(directory, text, |disk, base| {
        disk.make_directory(base, text, mode)
    }))
}

/// `mkdir(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { mkdirat(AT_FDCWD, path, mode) }
}

/// `unlinkat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlinkat(directory: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(directory, path, Access::Change) }) else {
        return real!(SYS_unlinkat, directory, path, flags) as c_int;
    };
    let removed = kernel.with_path(directory, text, |disk, base| {
        match flags & libc::AT_REMOVEDIR {
            0 => disk.unlink(base, text),
            _ => disk.remove_directory(base, text),
        }
    });
    let (_, host) = kernel.running();
    zero(match removed {
        // The names of sockets are the network's.
        Err(libc::ENOENT) if kernel.net.unlink_unix(host, text) => Ok(()),
        removed => removed,
    })
}

/// `unlink(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { unlinkat(AT_FDCWD, path, 0) }
}

/// `rmdir(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { unlinkat(AT_FDCWD, path, libc::AT_REMOVEDIR) }
}

/// `remove(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remove(path: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        match unlink(path) {
            -1 if *libc::__errno_location() == libc::EISDIR => rmdir(path),
            result => result,
        }
    }
}

/// `renameat2(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn renameat2(
    from_directory: c_int,
    from: *const c_char,
    to_directory: c_int,
    to: *const c_char,
    flags: c_uint,
) -> c_int {
    // SAFETY: the caller's promise.
    let entered = unsafe { enter_at(from_directory, from, Access::Change) };
    let (Some((mut kernel, from)), false) = (entered, to.is_null()) else {
        return real!(SYS_renameat2, from_directory, from, to_directory, to, flags) as c_int;
    };
    // SAFETY: the caller's promise.
    let to = unsafe { super::real_path::text(to) };
    let how = match flags {
        0 => Rename::Replace,
        libc::RENAME_NOREPLACE => Rename::Keep,
        libc::RENAME_EXCHANGE => Rename::Exchange,
        _ => return answer(Err(libc::EINVAL)),
    };
    zero(kernel.rename((from_directory, from), (to_directory, to), how))
}

/// `renameat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn renameat(
    from_directory: c_int,
    from: *const c_char,
    to_directory: c_int,
    to: *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { renameat2(from_directory, from, to_directory, to, 0) }
}

/// `rename(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { renameat2(AT_FDCWD, from, AT_FDCWD, to, 0) }
}

/// `linkat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linkat(
    from_directory: c_int,
    from: *const c_char,
    to_directory: c_int,
    to: *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let entered = unsafe { enter_at(from_directory, from, Access::Change) };
    let (Some((mut kernel, from)), false) = (entered, to.is_null()) else {
        return real!(SYS_linkat, from_directory, from, to_directory, to, flags) as c_int;
    };
    // SAFETY: the caller's promise.
    let to = unsafe { super::real_path::text(to) };
    let from = Name {
        directory: from_directory,
        path: from,
        follow: flags & libc::AT_SYMLINK_FOLLOW != 0,
        may_be_empty: flags & libc::AT_EMPTY_PATH != 0,
    };
    zero(kernel.link(from, to_directory, to))
}

/// `link(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn link(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { linkat(AT_FDCWD, from, AT_FDCWD, to, 0) }
}

/// `symlinkat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symlinkat(
    target: *const c_char,
    directory: c_int,
    path: *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    let entered = unsafe { enter_at(directory, path, Access::Change) };
    let (Some((mut kernel, text)), false) = (entered, target.is_null()) else {
        return real!(SYS_symlinkat, target, directory, path) as c_int;
    };
    // SAFETY: the caller's promise.
    let target = unsafe { super::real_path::text(target) };
    zero(kernel.with_path(directory, text, |disk, base| {
        disk.make_link(target, base, text)
    }))
}

/// `symlink(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn symlink(target: *const c_char, path: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { symlinkat(target, AT_FDCWD, path) }
}

/// `readlinkat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlinkat(
    directory: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    size: size_t,
) -> ssize_t {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(directory, path, Access::Read) }) else {
        return real!(SYS_readlinkat, directory, path, buffer, size) as ssize_t;
    };
    let name = name_by(directory, text, libc::AT_SYMLINK_NOFOLLOW);
    length(kernel.with_inode(name, |disk, inode| {
        let target = disk.target(inode)?;
        let size = size.min(target.len());
        // SAFETY: the caller's promise: there is that much room.
        unsafe { ptr::copy_nonoverlapping(target.as_ptr(), buffer.cast(), size) };
        Ok(size)
    }))
}

/// `readlink(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlink(
    path: *const c_char,
    buffer: *mut c_char,
    size: size_t,
) -> ssize_t {
    // SAFETY: the caller's promise.
    unsafe { readlinkat(AT_FDCWD, path, buffer, size) }
}

/// `truncate(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn truncate64(path: *const c_char, size: off_t) -> c_int {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(AT_FDCWD, path, Access::Change) }) else {
        return real!(SYS_truncate, path, size) as c_int;
    };
    let Ok(size) = u64::try_from(size) else {
        return answer(Err(libc::EINVAL));
    };
    zero(
        kernel.with_inode(name_by(AT_FDCWD, text, 0), |disk, inode| {
            disk.truncate(inode, size)
        }),
    )
}
also!(truncate = truncate64, (path: *const c_char, size: off_t) -> c_int);

/// `mkfifoat(3)`: disks of hosts have no pipes.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mkfifoat(directory: c_int, path: *const c_char, mode: mode_t) -> c_int {
    match is_here() {
        true => answer(Err(libc::EPERM)),
        false => real!(
            SYS_mknodat,
            directory,
            path,
            mode & 0o7777 | libc::S_IFIFO,
            0
        ) as c_int,
    }
}

/// `mkfifo(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mkfifo(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { mkfifoat(AT_FDCWD, path, mode) }
}
