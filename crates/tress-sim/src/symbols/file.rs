//! Open files: reading, writing and syncing them.

use super::descriptor::{gather, scatter};
use super::enter_for;
use super::{answer, length, real};
use crate::disk::{LockKind, LockRange};
use crate::kernel::{self, At, Errno, Here};
use crate::raw;
use libc::{c_int, c_long, c_uint, c_void, iovec, off_t, size_t, ssize_t};
use std::slice;

/// Defines a function of another name that is the same: one for large files, on systems where all files may be.
macro_rules! also {
    ($name:ident = $same:path, ($($argument:ident: $type:ty),*) -> $result:ty) => {
        #[doc = concat!("`", stringify!($name), "`, the same as `", stringify!($same), "`.")]
        ///
        /// # Safety
        /// As for that function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the caller's promise.
            unsafe { $same($($argument),*) }
        }
    };
}
pub(super) use also;

/// `pread(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread64(
    fd: c_int,
    buffer: *mut c_void,
    size: size_t,
    offset: off_t,
) -> ssize_t {
    let Some(mut kernel) = enter_for(fd) else {
        let length = real!(SYS_pread64, fd, buffer, size, offset) as ssize_t;
        if length > 0 {
            // SAFETY: the system has written that much.
            kernel::note_input(fd, unsafe {
                slice::from_raw_parts(buffer.cast(), length as usize)
            });
        }
        return length;
    };
    let part = iovec {
        iov_base: buffer,
        iov_len: size,
    };
    // SAFETY: the caller's promise.
    let mut buffers = unsafe { scatter(&part, 1) };
    length(At::offset(offset).and_then(|at| kernel.read_at(fd, at, &mut buffers)))
}
also!(pread = pread64, (fd: c_int, buffer: *mut c_void, size: size_t, offset: off_t) -> ssize_t);

/// `pwrite(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(
    fd: c_int,
    buffer: *const c_void,
    size: size_t,
    offset: off_t,
) -> ssize_t {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_pwrite64, fd, buffer, size, offset) as ssize_t;
    };
    let part = iovec {
        iov_base: buffer.cast_mut(),
        iov_len: size,
    };
    // SAFETY: the caller's promise.
    let buffers = unsafe { gather(&part, 1) };
    length(At::offset(offset).and_then(|at| kernel.write_at(fd, at, &buffers)))
}
also!(pwrite = pwrite64, (fd: c_int, buffer: *const c_void, size: size_t, offset: off_t) -> ssize_t);

/// Where a read or write with these arguments is.
fn place(offset: off_t, flags: c_int) -> Result<At, Errno> {
    // Priority, and what applies to writes only, changes nothing here.
    const KNOWN: c_int = libc::RWF_NOWAIT | libc::RWF_HIPRI | libc::RWF_DSYNC | libc::RWF_SYNC;
    if flags & !KNOWN != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    let at = if offset == -1 {
        At::POSITION
    } else {
        At::offset(offset)?
    };
    Ok(At {
        no_wait: flags & libc::RWF_NOWAIT != 0,
        ..at
    })
}

/// `preadv2(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn preadv64v2(
    fd: c_int,
    vector: *const iovec,
    count: c_int,
    offset: off_t,
    flags: c_int,
) -> ssize_t {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_preadv2, fd, vector, count, offset, 0, flags) as ssize_t;
    };
    // SAFETY: the caller's promise.
    let mut buffers = unsafe { scatter(vector, count) };
    length(place(offset, flags).and_then(|at| kernel.read_at(fd, at, &mut buffers)))
}
also!(preadv2 = preadv64v2,
    (fd: c_int, vector: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t);

/// `pwritev2(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwritev64v2(
    fd: c_int,
    vector: *const iovec,
    count: c_int,
    offset: off_t,
    flags: c_int,
) -> ssize_t {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_pwritev2, fd, vector, count, offset, 0, flags) as ssize_t;
    };
    // SAFETY: the caller's promise.
    let buffers = unsafe { gather(vector, count) };
    let written = place(offset, flags).and_then(|at| kernel.write_at(fd, at, &buffers));
    let is_synced = flags & (libc::RWF_DSYNC | libc::RWF_SYNC) != 0;
    length(written.and_then(|written| match is_synced {
        true => kernel.sync_file(fd).map(|()| written),
        false => Ok(written),
    }))
}
also!(pwritev2 = pwritev64v2,
    (fd: c_int, vector: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t);

/// `preadv(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn preadv64(
    fd: c_int,
    vector: *const iovec,
    count: c_int,
    offset: off_t,
) -> ssize_t {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_preadv, fd, vector, count, offset) as ssize_t;
    };
    // SAFETY: the caller's promise.
    let mut buffers = unsafe { scatter(vector, count) };
    length(At::offset(offset).and_then(|at| kernel.read_at(fd, at, &mut buffers)))
}
also!(preadv = preadv64, (fd: c_int, vector: *const iovec, count: c_int, offset: off_t) -> ssize_t);

/// `pwritev(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwritev64(
    fd: c_int,
    vector: *const iovec,
    count: c_int,
    offset: off_t,
) -> ssize_t {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_pwritev, fd, vector, count, offset) as ssize_t;
    };
    // SAFETY: the caller's promise.
    let buffers = unsafe { gather(vector, count) };
    length(At::offset(offset).and_then(|at| kernel.write_at(fd, at, &buffers)))
}
also!(pwritev = pwritev64, (fd: c_int, vector: *const iovec, count: c_int, offset: off_t) -> ssize_t);

impl Here {
    /// Reads at a place, which only files have.
    fn read_at(&mut self, fd: c_int, at: At, buffers: &mut [&mut [u8]]) -> Result<usize, Errno> {
        self.check_places(fd, at)?;
        self.read_file(fd, at, buffers)
    }

    /// Writes at a place, which only files have.
    fn write_at(&mut self, fd: c_int, at: At, buffers: &[&[u8]]) -> Result<usize, Errno> {
        self.check_places(fd, at)?;
        self.write_file(fd, at, buffers)
    }

    fn check_places(&self, fd: c_int, at: At) -> Result<(), Errno> {
        self.descriptors.object(fd)?;
        match (self.is_file(fd), at.offset) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err(libc::ESPIPE),
            (false, None) => Err(libc::EOPNOTSUPP),
        }
    }
}

/// `fsync(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    match enter_for(fd) {
        Some(mut kernel) => answer(kernel.sync_file(fd).map(|()| 0)),
        None => real!(SYS_fsync, fd) as c_int,
    }
}

/// `fdatasync(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    match enter_for(fd) {
        Some(mut kernel) => answer(kernel.sync_file(fd).map(|()| 0)),
        None => real!(SYS_fdatasync, fd) as c_int,
    }
}

/// `sync_file_range(2)`: waits for what it writes, whatever the flags say.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sync_file_range(
    fd: c_int,
    offset: off_t,
    size: off_t,
    flags: c_uint,
) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_sync_file_range, fd, offset, size, flags) as c_int;
    };
    answer(match (u64::try_from(offset), u64::try_from(size)) {
        (Ok(offset), Ok(size)) => kernel.sync_file_range(fd, offset, size).map(|()| 0),
        _ => Err(libc::EINVAL),
    })
}

/// `sync(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn sync() {
    match crate::kernel::enter() {
        // It cannot say that it failed.
        Some(mut kernel) => drop(kernel.sync_disk()),
        None => {
            real!(SYS_sync);
        }
    }
}

/// `syncfs(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syncfs(fd: c_int) -> c_int {
    match enter_for(fd) {
        Some(mut kernel) => answer(kernel.sync_disk().map(|()| 0)),
        None => real!(SYS_syncfs, fd) as c_int,
    }
}

/// `ftruncate(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ftruncate64(fd: c_int, size: off_t) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_ftruncate, fd, size) as c_int;
    };
    let size = u64::try_from(size).map_err(|_| libc::EINVAL);
    let cut =
        size.and_then(|size| kernel.with_writable(fd, |disk, inode| disk.truncate(inode, size)));
    answer(cut.map(|()| 0))
}
also!(ftruncate = ftruncate64, (fd: c_int, size: off_t) -> c_int);

/// `fallocate(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fallocate64(fd: c_int, mode: c_int, offset: off_t, size: off_t) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_fallocate, fd, mode, offset, size) as c_int;
    };
    answer(kernel.allocate_file(fd, mode, offset, size).map(|()| 0))
}
also!(fallocate = fallocate64, (fd: c_int, mode: c_int, offset: off_t, size: off_t) -> c_int);

/// `posix_fallocate(3)`, which returns its error.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_fallocate64(fd: c_int, offset: off_t, size: off_t) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        let result = real!(SYS_fallocate, fd, 0, offset, size);
        return if result < 0 { raw::errno() } else { 0 };
    };
    kernel.allocate_file(fd, 0, offset, size).err().unwrap_or(0)
}
also!(posix_fallocate = posix_fallocate64, (fd: c_int, offset: off_t, size: off_t) -> c_int);

impl Here {
    fn allocate_file(
        &mut self,
        fd: c_int,
        mode: c_int,
        offset: off_t,
        size: off_t,
    ) -> Result<(), Errno> {
        match (u64::try_from(offset), u64::try_from(size)) {
            (Ok(offset), Ok(size)) if size > 0 => {
                self.with_writable(fd, |disk, inode| disk.allocate(inode, mode, offset, size))
            }
            _ => Err(libc::EINVAL),
        }
    }
}

/// `posix_fadvise(3)`, which returns its error. `POSIX_FADV_DONTNEED` has what was not changed read from the disk again.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_fadvise64(
    fd: c_int,
    offset: off_t,
    size: off_t,
    advice: c_int,
) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        let result = real!(SYS_fadvise64, fd, offset, size, advice);
        return if result < 0 { raw::errno() } else { 0 };
    };
    let advised = match advice {
        libc::POSIX_FADV_DONTNEED => kernel.forget_clean(fd),
        _ => kernel.descriptors.object(fd).map(drop),
    };
    advised.err().unwrap_or(0)
}
also!(posix_fadvise = posix_fadvise64, (fd: c_int, offset: off_t, size: off_t, advice: c_int) -> c_int);

/// `flock(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn flock(fd: c_int, operation: c_int) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_flock, fd, operation) as c_int;
    };
    let exclusive = match operation & !libc::LOCK_NB {
        libc::LOCK_EX => Some(true),
        libc::LOCK_SH => Some(false),
        libc::LOCK_UN => None,
        _ => return answer(Err(libc::EINVAL)),
    };
    let waits = operation & libc::LOCK_NB == 0;
    answer(
        kernel
            .lock_file(fd, LockKind::Whole, LockRange::WHOLE, exclusive, waits)
            .map(|()| 0),
    )
}

/// What `fcntl(2)` does with locks.
///
/// # Safety
/// The argument points to what the command is about.
pub(super) unsafe fn lock_range(
    kernel: &mut Here,
    fd: c_int,
    command: c_int,
    argument: c_long,
) -> Result<c_int, Errno> {
    // SAFETY: the caller's promise.
    let asked = unsafe { &mut *(argument as *mut libc::flock) };
    let (position, size) = kernel.position_and_size(fd)?;
    let from = match c_int::from(asked.l_whence) {
        libc::SEEK_SET => 0,
        libc::SEEK_CUR => position,
        libc::SEEK_END => size,
        _ => return Err(libc::EINVAL),
    };
    let start = from.checked_add_signed(asked.l_start).ok_or(libc::EINVAL)?;
    let range = match asked.l_len {
        0 => LockRange {
            start,
            end: u64::MAX,
        },
        size => {
            let other = start.checked_add_signed(size).ok_or(libc::EINVAL)?;
            LockRange {
                start: start.min(other),
                end: start.max(other),
            }
        }
    };
    let exclusive = match c_int::from(asked.l_type) {
        libc::F_WRLCK => Some(true),
        libc::F_RDLCK => Some(false),
        libc::F_UNLCK => None,
        _ => return Err(libc::EINVAL),
    };
    match command {
        libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
            let waits = command == libc::F_OFD_SETLKW;
            kernel.lock_file(fd, LockKind::Range, range, exclusive, waits)?;
        }
        libc::F_OFD_GETLK => {
            let exclusive = exclusive.ok_or(libc::EINVAL)?;
            match kernel.lock_in_the_way(fd, range, exclusive)? {
                None => asked.l_type = libc::F_UNLCK as _,
                Some((range, exclusive)) => {
                    asked.l_type = if exclusive {
                        libc::F_WRLCK
                    } else {
                        libc::F_RDLCK
                    } as _;
                    asked.l_whence = libc::SEEK_SET as _;
                    asked.l_start = range.start as off_t;
                    asked.l_len = if range.end == u64::MAX {
                        0
                    } else {
                        (range.end - range.start) as off_t
                    };
                    asked.l_pid = -1;
                }
            }
        }
        // These locks are the program's, of which a host has one: they are never in its own way.
        libc::F_GETLK => asked.l_type = libc::F_UNLCK as _,
        _ => {}
    }
    Ok(0)
}
