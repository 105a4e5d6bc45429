//! The vDSO: functions that the kernel puts into the memory of each process, so that a look at a clock takes no system call.
//!
//! Programs that do without the C library find them by themselves, and so does the C library. Symbols do not reach those
//! calls, nor does a filter of system calls. So when the program is loaded, before it has a second thread, the first
//! instructions of these functions are replaced by a jump to the functions below, which answer as the symbols do. The memory is
//! this process's own copy.

use super::{clock, entropy};
use crate::raw;
use libc::{c_char, c_int, c_long, c_uint, c_void, size_t, ssize_t};
use std::ffi::CStr;
use std::ops::Range;
use std::ptr;

/// Calls [`replace`] when the program is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = replace;

#[cfg(target_arch = "x86_64")]
fn functions() -> [(&'static CStr, usize); 5] {
    [
        (c"__vdso_clock_gettime", clock_gettime as *const () as usize),
        (c"__vdso_gettimeofday", gettimeofday as *const () as usize),
        (c"__vdso_time", time as *const () as usize),
        (c"__vdso_getcpu", getcpu as *const () as usize),
        (c"__vdso_getrandom", getrandom as *const () as usize),
    ]
}

#[cfg(target_arch = "aarch64")]
fn functions() -> [(&'static CStr, usize); 3] {
    [
        (
            c"__kernel_clock_gettime",
            clock_gettime as *const () as usize,
        ),
        (c"__kernel_gettimeofday", gettimeofday as *const () as usize),
        (c"__kernel_getrandom", getrandom as *const () as usize),
    ]
}

/// A jump to an address, from anywhere.
#[cfg(target_arch = "x86_64")]
fn jump_to(address: usize) -> [u8; 12] {
    let [a, b, c, d, e, f, g, h] = address.to_le_bytes();
    // mov rax, address; jmp rax
    [0x48, 0xb8, a, b, c, d, e, f, g, h, 0xff, 0xe0]
}

#[cfg(target_arch = "aarch64")]
fn jump_to(address: usize) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h] = address.to_le_bytes();
    // ldr x16, #8; br x16; the address
    [
        0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6, a, b, c, d, e, f, g, h,
    ]
}

/// Makes the processor see instructions that were written.
#[cfg(target_arch = "x86_64")]
fn see(_: Range<usize>) {}

#[cfg(target_arch = "aarch64")]
fn see(written: Range<usize>) {
    // The smallest line of any cache.
    for line in (written.start & !3..written.end).step_by(4) {
        // SAFETY: cleans caches of memory that is mapped.
        unsafe { std::arch::asm!("dc cvau, {0}", "ic ivau, {0}", in(reg) line) };
    }
    // SAFETY: waits until that is done.
    unsafe { std::arch::asm!("dsb ish", "isb") };
}

/// Replaces the functions of the vDSO. Where there is none, or the system does not let it be changed, they stay as they are.
extern "C" fn replace() {
    let Some(image) = image() else { return };
    if !is_alone() || !protect(&image, libc::PROT_READ | libc::PROT_WRITE) {
        return;
    }
    // SAFETY: a name; nothing is loaded.
    let handle = unsafe {
        libc::dlopen(
            c"linux-vdso.so.1".as_ptr(),
            libc::RTLD_NOW | libc::RTLD_NOLOAD,
        )
    };
    for (name, ours) in functions() {
        let jump = jump_to(ours);
        // SAFETY: the handle is one, and the name is a C string.
        let Some(theirs) = (unsafe { find(handle, name, jump.len()) }) else {
            continue;
        };
        let written = theirs..theirs + jump.len();
        if image.start <= written.start && written.end <= image.end {
            // SAFETY: memory of the vDSO, which may be written now, and in which the function is not shorter. This
            // is the only thread, and it is not in there.
            unsafe { ptr::copy_nonoverlapping(jump.as_ptr(), theirs as *mut u8, jump.len()) };
            see(written);
        }
    }
    assert!(
        protect(&image, libc::PROT_READ | libc::PROT_EXEC),
        "what could be made writable can be made executable again"
    );
}

/// Returns the address of a function with at least that many bytes.
///
/// # Safety
/// The handle is null or one of `dlopen`.
unsafe fn find(handle: *mut c_void, name: &CStr, size: usize) -> Option<usize> {
    /// What the linker knows of a symbol.
    #[repr(C)]
    struct Symbol {
        name: u32,
        info: u8,
        other: u8,
        section: u16,
        value: u64,
        size: u64,
    }
    const RTLD_DL_SYMENT: c_int = 1;
    unsafe extern "C" {
        fn dladdr1(
            address: *const c_void,
            info: *mut libc::Dl_info,
            extra: *mut *mut c_void,
            flags: c_int,
        ) -> c_int;
    }
    if handle.is_null() {
        return None;
    }
    // SAFETY: the caller's promise. The linker's own entry of a symbol that it has found lives for ever.
    unsafe {
        let address = raw::dlsym(handle, name.as_ptr());
        if address.is_null() {
            return None;
        }
        let (mut info, mut symbol) = (std::mem::zeroed(), ptr::null_mut());
        let found = dladdr1(address, &mut info, &mut symbol, RTLD_DL_SYMENT);
        let symbol: *const Symbol = symbol.cast();
        if found == 0 || symbol.is_null() || ((*symbol).size as usize) < size {
            return None;
        }
        Some(address as usize)
    }
}

/// Returns whether this is the only thread, as far as the C library knows.
fn is_alone() -> bool {
    // SAFETY: a variable of one byte, in versions that have it.
    unsafe {
        let name = c"__libc_single_threaded";
        let known: *const c_char = raw::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).cast();
        known.is_null() || *known != 0
    }
}

/// Sets how the memory of the vDSO may be used. It has to be the whole of it.
fn protect(image: &Range<usize>, how: c_int) -> bool {
    let arguments = [
        image.start as c_long,
        image.len() as c_long,
        how.into(),
        0,
        0,
        0,
    ];
    // SAFETY: the range is that of the vDSO, in which nothing runs now.
    unsafe { raw::syscall(libc::SYS_mprotect, arguments) == 0 }
}

/// Returns where the vDSO is.
fn image() -> Option<Range<usize>> {
    // SAFETY: a path, and descriptors and memory of its own.
    unsafe {
        let path = c"/proc/self/maps".as_ptr() as c_long;
        let flags = c_long::from(libc::O_RDONLY | libc::O_CLOEXEC);
        let arguments = [libc::AT_FDCWD.into(), path, flags, 0, 0, 0];
        let file = raw::syscall(libc::SYS_openat, arguments);
        if file < 0 {
            return None;
        }
        // Without allocating, so that what a process finds in memory does not depend on how long the list is.
        let mut buffer = [0u8; 8192];
        let mut filled = 0;
        let found = loop {
            let (at, room) = (buffer[filled..].as_mut_ptr(), buffer.len() - filled);
            let arguments = [file, at as c_long, room as c_long, 0, 0, 0];
            let length = raw::syscall(libc::SYS_read, arguments);
            if length <= 0 {
                break None;
            }
            filled += length as usize;
            let last = buffer[..filled].iter().rposition(|byte| *byte == b'\n');
            let whole = last.map_or(0, |last| last + 1);
            let mut lines = buffer[..whole].split(|byte| *byte == b'\n');
            if let Some(line) = lines.find(|line| line.ends_with(b"[vdso]")) {
                break range(line);
            }
            buffer.copy_within(whole..filled, 0);
            filled -= whole;
        };
        raw::syscall(libc::SYS_close, [file, 0, 0, 0, 0, 0]);
        found
    }
}

/// Reads the two addresses at the start of a line.
fn range(line: &[u8]) -> Option<Range<usize>> {
    let line = std::str::from_utf8(line).ok()?;
    let (addresses, _) = line.split_once(' ')?;
    let (start, end) = addresses.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some(number(start)?..number(end)?)
}

/// What the kernel's function returns for what that of the C library does: an error is a negative number, and `errno` stays.
fn status(call: impl FnOnce() -> ssize_t) -> ssize_t {
    let before = raw::errno();
    match call() {
        -1 => {
            let error = raw::errno();
            raw::set_errno(before);
            -(error as ssize_t)
        }
        result => result,
    }
}

unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    // SAFETY: the caller's promise.
    status(|| unsafe { clock::clock_gettime(clock, time) } as ssize_t) as c_int
}

unsafe extern "C" fn gettimeofday(time: *mut libc::timeval, zone: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    status(|| unsafe { clock::gettimeofday(time, zone) } as ssize_t) as c_int
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn time(seconds: *mut libc::time_t) -> libc::time_t {
    // SAFETY: the caller's promise.
    unsafe { clock::time(seconds) }
}

/// A host's threads are on the first processor.
#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn getcpu(processor: *mut c_uint, node: *mut c_uint, _: *mut c_void) -> c_long {
    if !crate::kernel::is_here() {
        let arguments = [processor as c_long, node as c_long, 0, 0, 0, 0];
        // SAFETY: the caller's promise.
        return unsafe { raw::syscall(libc::SYS_getcpu, arguments) };
    }
    for number in [processor, node] {
        if !number.is_null() {
            // SAFETY: the caller's promise.
            unsafe { number.write(0) };
        }
    }
    0
}

/// Does without the state that callers keep for it, which it is asked for with the greatest length.
unsafe extern "C" fn getrandom(
    buffer: *mut c_void,
    length: size_t,
    flags: c_uint,
    _: *mut c_void,
    state_length: size_t,
) -> ssize_t {
    if state_length == size_t::MAX {
        return -(libc::ENOSYS as ssize_t);
    }
    // SAFETY: the caller's promise.
    status(|| unsafe { entropy::getrandom(buffer, length, flags) })
}
