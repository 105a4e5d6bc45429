//! What is known of files, and of the disk that they are on.

use super::enter_for;
use super::file::also;
use super::path::{name_by, open_file};
use super::real_path::{Access, enter_at};
use super::{answer, real, stream, timespec};
use crate::disk::Attributes;
use crate::kernel::{Errno, Here};
use crate::raw;
use libc::{AT_FDCWD, c_char, c_int, c_uint, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::time::Duration;

/// The device number of the disk of the running thread's host, as major and minor number.
fn device(kernel: &Here) -> (u32, u32) {
    (8, kernel.running().1.0 as u32)
}

fn answer_stat(kernel: &Here, found: Result<Attributes, Errno>, to: *mut libc::stat64) -> c_int {
    let (major, minor) = device(kernel);
    answer(found.map(|found| {
        // SAFETY: zeros are valid.
        let mut stat: libc::stat64 = unsafe { mem::zeroed() };
        stat.st_dev = libc::makedev(major, minor);
        stat.st_ino = found.inode.0;
        stat.st_nlink = found.links as _;
        stat.st_mode = found.mode;
        stat.st_uid = found.user;
        stat.st_gid = found.group;
        stat.st_size = found.size as _;
        stat.st_blksize = found.block_size as _;
        stat.st_blocks = (found.blocks * u64::from(found.block_size) / 512) as _;
        let accessed = timespec(found.accessed);
        (stat.st_atime, stat.st_atime_nsec) = (accessed.tv_sec, accessed.tv_nsec);
        let modified = timespec(found.modified);
        (stat.st_mtime, stat.st_mtime_nsec) = (modified.tv_sec, modified.tv_nsec);
        let changed = timespec(found.changed);
        (stat.st_ctime, stat.st_ctime_nsec) = (changed.tv_sec, changed.tv_nsec);
        // SAFETY: the caller's promise, of every function here: there is room for the answer.
        unsafe { to.write(stat) };
        0
    }))
}

/// `fstatat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fstatat64(
    directory: c_int,
    path: *const c_char,
    to: *mut libc::stat64,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(directory, path, Access::Read) }) else {
        return real!(SYS_newfstatat, directory, path, to, flags) as c_int;
    };
    let found = kernel.attributes(name_by(directory, text, flags));
    answer_stat(&kernel, found, to)
}
also!(fstatat = fstatat64, (directory: c_int, path: *const c_char, to: *mut libc::stat64, flags: c_int) -> c_int);

/// `stat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stat64(path: *const c_char, to: *mut libc::stat64) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { fstatat64(AT_FDCWD, path, to, 0) }
}
also!(stat = stat64, (path: *const c_char, to: *mut libc::stat64) -> c_int);

/// `lstat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lstat64(path: *const c_char, to: *mut libc::stat64) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { fstatat64(AT_FDCWD, path, to, libc::AT_SYMLINK_NOFOLLOW) }
}
also!(lstat = lstat64, (path: *const c_char, to: *mut libc::stat64) -> c_int);

/// What is known of an open descriptor of any kind.
fn of_descriptor(kernel: &mut Here, fd: c_int) -> Result<Attributes, Errno> {
    kernel.descriptors.object(fd)?;
    if kernel.is_file(fd) {
        return kernel.attributes(open_file(fd));
    }
    Ok(Attributes {
        inode: crate::disk::InodeId(1),
        mode: if kernel.socket_of(fd).is_ok() {
            libc::S_IFSOCK | 0o777
        } else {
            0o600
        },
        links: 1,
        user: 0,
        group: 0,
        size: 0,
        blocks: 0,
        block_size: 4096,
        accessed: Duration::ZERO,
        modified: Duration::ZERO,
        changed: Duration::ZERO,
        created: Duration::ZERO,
    })
}

/// `fstat(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fstat64(fd: c_int, to: *mut libc::stat64) -> c_int {
    let fd = stream::meant(fd);
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_fstat, fd, to) as c_int;
    };
    let found = of_descriptor(&mut kernel, fd);
    answer_stat(&kernel, found, to)
}
also!(fstat = fstat64, (fd: c_int, to: *mut libc::stat64) -> c_int);

/// `statx(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn statx(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    to: *mut libc::statx,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(directory, path, Access::Read) }) else {
        return real!(SYS_statx, directory, path, flags, mask, to) as c_int;
    };
    if path.is_null() && flags & libc::AT_EMPTY_PATH == 0 {
        return answer(Err(libc::EFAULT));
    }
    let found = match flags & libc::AT_EMPTY_PATH != 0 && text.is_empty() && directory != AT_FDCWD {
        true => of_descriptor(&mut kernel, directory),
        false => kernel.attributes(name_by(directory, text, flags)),
    };
    let (major, minor) = device(&kernel);
    answer(found.map(|found| {
        // SAFETY: zeros are valid.
        let mut stat: libc::statx = unsafe { mem::zeroed() };
        stat.stx_mask = libc::STATX_BASIC_STATS | libc::STATX_BTIME;
        stat.stx_blksize = found.block_size;
        stat.stx_nlink = found.links;
        stat.stx_uid = found.user;
        stat.stx_gid = found.group;
        stat.stx_mode = found.mode as u16;
        stat.stx_ino = found.inode.0;
        stat.stx_size = found.size;
        stat.stx_blocks = found.blocks * u64::from(found.block_size) / 512;
        let time = |time: Duration| {
            // SAFETY: zeros are valid.
            let mut stamp: libc::statx_timestamp = unsafe { mem::zeroed() };
            (stamp.tv_sec, stamp.tv_nsec) = (time.as_secs() as i64, time.subsec_nanos());
            stamp
        };
        stat.stx_atime = time(found.accessed);
        stat.stx_btime = time(found.created);
        stat.stx_ctime = time(found.changed);
        stat.stx_mtime = time(found.modified);
        (stat.stx_dev_major, stat.stx_dev_minor) = (major, minor);
        // SAFETY: the caller's promise: there is room for the answer.
        unsafe { to.write(stat) };
        0
    }))
}

/// How much room there is, as blocks: all, and free.
fn blocks(space: (u64, u64)) -> (u64, u64) {
    (space.0 / 4096, space.1 / 4096)
}

fn answer_statfs(space: Result<(u64, u64), Errno>, to: *mut libc::statfs64) -> c_int {
    answer(space.map(|space| {
        let (all, free) = blocks(space);
        // SAFETY: zeros are valid.
        let mut stat: libc::statfs64 = unsafe { mem::zeroed() };
        stat.f_type = libc::EXT4_SUPER_MAGIC as _;
        (stat.f_bsize, stat.f_frsize, stat.f_namelen) = (4096, 4096, 255);
        (stat.f_blocks, stat.f_bfree, stat.f_bavail) = (all as _, free as _, free as _);
        (stat.f_files, stat.f_ffree) = (1 << 20, 1 << 19);
        // SAFETY: the caller's promise, of both functions: there is room for the answer.
        unsafe { to.write(stat) };
        0
    }))
}

fn answer_statvfs(space: Result<(u64, u64), Errno>, to: *mut libc::statvfs64) -> c_int {
    answer(space.map(|space| {
        let (all, free) = blocks(space);
        // SAFETY: zeros are valid.
        let mut stat: libc::statvfs64 = unsafe { mem::zeroed() };
        (stat.f_bsize, stat.f_frsize, stat.f_namemax) = (4096, 4096, 255);
        (stat.f_blocks, stat.f_bfree, stat.f_bavail) = (all, free, free);
        (stat.f_files, stat.f_ffree, stat.f_favail) = (1 << 20, 1 << 19, 1 << 19);
        // SAFETY: the caller's promise, of both functions: there is room for the answer.
        unsafe { to.write(stat) };
        0
    }))
}

/// `statfs(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn statfs64(path: *const c_char, to: *mut libc::statfs64) -> c_int {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(AT_FDCWD, path, Access::Read) }) else {
        return real!(SYS_statfs, path, to) as c_int;
    };
    answer_statfs(
        kernel.with_inode(name_by(AT_FDCWD, text, 0), |disk, _| Ok(disk.space())),
        to,
    )
}
also!(statfs = statfs64, (path: *const c_char, to: *mut libc::statfs64) -> c_int);

/// `fstatfs(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fstatfs64(fd: c_int, to: *mut libc::statfs64) -> c_int {
    match enter_for(fd) {
        Some(mut kernel) => answer_statfs(
            kernel.with_inode(open_file(fd), |disk, _| Ok(disk.space())),
            to,
        ),
        None => real!(SYS_fstatfs, fd, to) as c_int,
    }
}
also!(fstatfs = fstatfs64, (fd: c_int, to: *mut libc::statfs64) -> c_int);

/// `statvfs(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn statvfs64(path: *const c_char, to: *mut libc::statvfs64) -> c_int {
    // SAFETY: the caller's promise.
    let Some((mut kernel, text)) = (unsafe { enter_at(AT_FDCWD, path, Access::Read) }) else {
        type StatVfs = unsafe extern "C" fn(*const c_char, *mut libc::statvfs64) -> c_int;
        static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: the function of that name has this type; the rest is the caller's promise.
        return unsafe {
            let next: StatVfs = mem::transmute(raw::next(&NEXT, c"statvfs64"));
            next(path, to)
        };
    };
    answer_statvfs(
        kernel.with_inode(name_by(AT_FDCWD, text, 0), |disk, _| Ok(disk.space())),
        to,
    )
}
also!(statvfs = statvfs64, (path: *const c_char, to: *mut libc::statvfs64) -> c_int);

/// `fstatvfs(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fstatvfs64(fd: c_int, to: *mut libc::statvfs64) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        type StatVfs = unsafe extern "C" fn(c_int, *mut libc::statvfs64) -> c_int;
        static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: the function of that name has this type; the rest is the caller's promise.
        return unsafe {
            let next: StatVfs = mem::transmute(raw::next(&NEXT, c"fstatvfs64"));
            next(fd, to)
        };
    };
    answer_statvfs(
        kernel.with_inode(open_file(fd), |disk, _| Ok(disk.space())),
        to,
    )
}
also!(fstatvfs = fstatvfs64, (fd: c_int, to: *mut libc::statvfs64) -> c_int);
