//! Streams of directories: `opendir(3)` and what belongs to it.

use super::descriptor::close;
use super::enter_for;
use super::file::also;
use super::path::{open_file, openat64};
use super::real_path::{Access, enter_at};
use super::{length, real};
use crate::disk::Listed;
use crate::kernel::Descriptors;
use crate::raw;
use libc::{AT_FDCWD, DIR, c_char, c_int, c_long, c_void, dirent64, size_t, ssize_t};
use std::mem;
use std::ptr;
use std::slice;
use std::sync::atomic::AtomicPtr;

/// A stream of a simulated directory. Programs have a pointer to it, as they have to the C library's.
#[repr(C)]
struct Stream {
    /// Tells it from those of the C library, which begin with a descriptor: this is none.
    mark: u64,
    fd: c_int,
    listed: Vec<Listed>,
    next: usize,
    /// What was returned last.
    entry: dirent64,
}

const MARK: u64 = 0xd15c_0d15_c0d1_5c0d;

/// The stream, if it is one of a simulated directory.
///
/// # Safety
/// It is a stream that is open, and only the caller uses it.
unsafe fn ours<'a>(stream: *mut DIR) -> Option<&'a mut Stream> {
    let stream = stream.cast::<Stream>();
    // SAFETY: the C library's begins with two numbers that are as long together as the mark.
    unsafe {
        if (*stream).mark == MARK {
            Some(&mut *stream)
        } else {
            None
        }
    }
}

/// Calls the C library's function of that name.
macro_rules! next {
    ($name:literal, ($($argument:expr => $type:ty),*) -> $result:ty) => {{
        type Function = unsafe extern "C" fn($($type),*) -> $result;
        static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
        // SAFETY: the function of that name has this type; the rest is the promise of the symbol's caller.
        unsafe {
            let next: Function = mem::transmute(raw::next(&NEXT, $name));
            next($($argument),*)
        }
    }};
}

/// Lists the directory of a descriptor.
fn list(fd: c_int) -> Option<Vec<Listed>> {
    let mut kernel = enter_for(fd)?;
    match kernel.with_inode(open_file(fd), |disk, inode| disk.list(inode)) {
        Ok(listed) => Some(listed),
        Err(errno) => {
            raw::set_errno(errno);
            None
        }
    }
}

/// `opendir(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opendir(path: *const c_char) -> *mut DIR {
    // SAFETY: the caller's promise.
    if unsafe { enter_at(AT_FDCWD, path, Access::Read) }.is_none() {
        return next!(c"opendir", (path => *const c_char) -> *mut DIR);
    }
    // SAFETY: the caller's promise.
    unsafe {
        let fd = openat64(
            AT_FDCWD,
            path,
            libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC,
            0,
        );
        if fd < 0 {
            return ptr::null_mut();
        }
        let stream = fdopendir(fd);
        if stream.is_null() {
            close(fd);
        }
        stream
    }
}

/// `fdopendir(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdopendir(fd: c_int) -> *mut DIR {
    if !Descriptors::is_ours(fd) {
        return next!(c"fdopendir", (fd => c_int) -> *mut DIR);
    }
    let Some(listed) = list(fd) else {
        return ptr::null_mut();
    };
    let stream = Stream {
        mark: MARK,
        fd,
        listed,
        next: 0,
        // SAFETY: zeros are valid.
        entry: unsafe { mem::zeroed() },
    };
    Box::into_raw(Box::new(stream)).cast()
}

/// `readdir(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readdir64(stream: *mut DIR) -> *mut dirent64 {
    // SAFETY: the caller's promise.
    let Some(stream) = (unsafe { ours(stream) }) else {
        return next!(c"readdir64", (stream => *mut DIR) -> *mut dirent64);
    };
    let Some((name, inode, kind)) = stream.listed.get(stream.next) else {
        return ptr::null_mut();
    };
    stream.next += 1;
    let entry = &mut stream.entry;
    entry.d_ino = inode.0;
    entry.d_off = stream.next as i64;
    entry.d_reclen = size_of::<dirent64>() as u16;
    entry.d_type = entry_type(*kind);
    let name = name.iter().chain([&0]);
    for (to, byte) in entry.d_name.iter_mut().zip(name) {
        *to = *byte as c_char;
    }
    entry
}
also!(readdir = readdir64, (stream: *mut DIR) -> *mut dirent64);

/// `closedir(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn closedir(stream: *mut DIR) -> c_int {
    // SAFETY: the caller's promise.
    let Some(ours) = (unsafe { ours(stream) }) else {
        return next!(c"closedir", (stream => *mut DIR) -> c_int);
    };
    // SAFETY: it was made by `fdopendir`, and is not used again.
    unsafe {
        let stream = Box::from_raw(ptr::from_mut(ours));
        close(stream.fd)
    }
}

/// `dirfd(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dirfd(stream: *mut DIR) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { ours(stream) } {
        Some(stream) => stream.fd,
        None => next!(c"dirfd", (stream => *mut DIR) -> c_int),
    }
}

/// `getdents64(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getdents64(fd: c_int, buffer: *mut c_void, size: size_t) -> ssize_t {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_getdents64, fd, buffer, size) as ssize_t;
    };
    // SAFETY: the caller's promise: it can be written, and only the caller has it.
    let room = unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), size) };
    length(kernel.read_directory(fd, |position, left| {
        let (mut taken, mut used) = (0, 0);
        for (name, inode, kind) in left {
            let Some(entry) = room.get_mut(used..used + entry_size(name)) else {
                break;
            };
            taken += 1;
            used += entry.len();
            let size = entry.len() as u16;
            entry.fill(0);
            entry[..8].copy_from_slice(&inode.0.to_ne_bytes());
            entry[8..16].copy_from_slice(&(position + taken as u64).to_ne_bytes());
            entry[16..18].copy_from_slice(&size.to_ne_bytes());
            entry[18] = entry_type(*kind);
            entry[NAME..NAME + name.len()].copy_from_slice(name);
        }
        match taken {
            0 if !left.is_empty() => Err(libc::EINVAL),
            taken => Ok((taken, used)),
        }
    }))
}

/// Where the name is in an entry of the system.
const NAME: usize = 19;

/// The size of an entry of the system, with a zero behind its name.
fn entry_size(name: &[u8]) -> usize {
    (NAME + name.len() + 1).next_multiple_of(8)
}

/// The type of an entry, as `IFTODT` of the C library has it.
fn entry_type(mode: u32) -> u8 {
    (mode >> 12) as u8
}

/// `rewinddir(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rewinddir(stream: *mut DIR) {
    // SAFETY: the caller's promise.
    match unsafe { ours(stream) } {
        Some(stream) => {
            stream.next = 0;
            stream.listed = list(stream.fd).unwrap_or_default();
        }
        None => next!(c"rewinddir", (stream => *mut DIR) -> ()),
    }
}

/// `telldir(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn telldir(stream: *mut DIR) -> c_long {
    // SAFETY: the caller's promise.
    match unsafe { ours(stream) } {
        Some(stream) => stream.next as c_long,
        None => next!(c"telldir", (stream => *mut DIR) -> c_long),
    }
}

/// `seekdir(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seekdir(stream: *mut DIR, to: c_long) {
    // SAFETY: the caller's promise.
    match unsafe { ours(stream) } {
        Some(stream) => stream.next = to as usize,
        None => next!(c"seekdir", (stream => *mut DIR, to => c_long) -> ()),
    }
}
