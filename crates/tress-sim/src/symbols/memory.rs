//! Memory: maps of files of hosts.

use super::file::also;
use super::{answer, enter_for, real};
use crate::kernel::{self, Here, Wanted, here};
use crate::raw;
use libc::{c_int, c_long, c_void, off_t, size_t};

/// `mmap(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap64(
    address: *mut c_void,
    size: size_t,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    if flags & libc::MAP_ANONYMOUS == 0 {
        if let Some(mut kernel) = enter_for(fd) {
            let wanted = Wanted {
                address: address as usize,
                size,
                protection,
                flags,
                offset,
            };
            return pointer(kernel.map(fd, wanted));
        }
    }
    real!(SYS_mmap, address, size, protection, flags, fd, offset) as *mut c_void
}
also!(mmap = mmap64, (address: *mut c_void, size: size_t, protection: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void);

fn pointer(result: Result<usize, c_int>) -> *mut c_void {
    match result {
        Ok(address) => address as *mut c_void,
        Err(errno) => {
            raw::set_errno(errno);
            libc::MAP_FAILED
        }
    }
}

/// The kernel, on a thread of a host, or on that of a simulation while no host runs, which may drop what a host has mapped. It
/// takes no time unless there is something to do: allocators map memory, too.
fn look() -> Option<Here> {
    here().or_else(kernel::enter_owned)
}

/// `munmap(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(address: *mut c_void, size: size_t) -> c_int {
    let unmapped = look().and_then(|mut kernel| kernel.unmap(address as usize, size));
    match unmapped {
        Some(result) => answer(result.map(|()| 0)),
        None => real!(SYS_munmap, address, size) as c_int,
    }
}

/// `msync(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn msync(address: *mut c_void, size: size_t, flags: c_int) -> c_int {
    let synced = here().and_then(|mut kernel| kernel.sync_map(address as usize, size, flags));
    match synced {
        Some(result) => answer(result.map(|()| 0)),
        None => real!(SYS_msync, address, size, flags) as c_int,
    }
}

/// `mremap(2)`. Its arguments are passed alike whether they are named or not.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mremap(
    address: *mut c_void,
    size: size_t,
    new_size: size_t,
    flags: c_int,
    new_address: *mut c_void,
) -> *mut c_void {
    let (from, to) = (address as usize, new_address as usize);
    let remapped = look().and_then(|mut kernel| kernel.remap(from, size, new_size, flags, to));
    match remapped {
        Some(result) => pointer(result),
        None => {
            let (size, new_size) = (size as c_long, new_size as c_long);
            real!(SYS_mremap, address, size, new_size, flags, new_address) as *mut c_void
        }
    }
}
