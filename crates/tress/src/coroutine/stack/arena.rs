//! Where stacks come from: address ranges with guards, mapped many at a time, reused for ever.

use super::Stack;
use crate::sys::Mutex;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicBool;
use corosensei::stack::StackPointer;
use std::collections::HashMap;
use std::io;
use std::ptr;
use std::sync::OnceLock;

/// Stacks in one mapping.
const CHUNK: usize = 64;
/// Address space that stacks leave to the heap. If they took the last of it, the next small allocation,
/// perhaps that of the panic which says that there is no stack, would abort the process.
const RESERVE: usize = 4 << 20;

/// Free stacks by size. A range that was mapped once is kept for good; its memory is not.
static FREE: OnceLock<Mutex<HashMap<usize, Vec<Stack>>>> = OnceLock::new();

fn free() -> &'static Mutex<HashMap<usize, Vec<Stack>>> {
    FREE.get_or_init(Mutex::default)
}

pub(super) fn page_size() -> usize {
    static PAGE: OnceLock<usize> = OnceLock::new();
    *PAGE.get_or_init(|| {
        // SAFETY: a question without conditions.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).expect("a page has a size")
    })
}

/// Large enough that no ordinary frame steps over it: the compiler touches every page of larger ones.
pub(super) fn guard_size() -> usize {
    page_size()
}

/// A stack of exactly `size` bytes, a multiple of the page size.
pub(super) fn take(size: usize) -> io::Result<Stack> {
    let mut free = free().lock();
    let stacks = free.entry(size).or_default();
    if stacks.is_empty() {
        // There may be room for one where there is none for many.
        map(size, CHUNK, stacks).or_else(|_| map(size, 1, stacks))?;
    }
    stacks
        .pop()
        .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Takes a stack back and gives its memory to the system.
pub(super) fn give(stack: Stack) {
    let guard = stack.guard();
    // SAFETY: the range is a stack's that nobody uses. A lightweight guard stays.
    let given = unsafe {
        libc::madvise(
            ptr::with_exposed_provenance_mut(guard.end),
            stack.size(),
            libc::MADV_DONTNEED,
        )
    };
    debug_assert_eq!(given, 0, "{}", io::Error::last_os_error());
    free().lock().entry(stack.size()).or_default().push(stack);
}

/// Maps a number of stacks at once, and guards them.
fn map(size: usize, number: usize, into: &mut Vec<Stack>) -> io::Result<()> {
    let each = size + guard_size();
    let len = each.checked_mul(number).ok_or(io::ErrorKind::OutOfMemory)?;
    let with_reserve = len.checked_add(RESERVE).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: a new private mapping at an address of the kernel's choice.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            with_reserve,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | sys::FLAGS,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // The reserve is the lower end, so that the stacks lie beside those mapped before.
    // SAFETY: the mapping is ours, longer than the reserve, and used by nobody yet.
    if unsafe { libc::munmap(start, RESERVE) } != 0 {
        // There may be no more mappings than there are, and this would have split one.
        let error = io::Error::last_os_error();
        // SAFETY: as above; a whole mapping can always be given back.
        unsafe { libc::munmap(start, with_reserve) };
        return Err(error);
    }
    let start = start.wrapping_byte_add(RESERVE);
    sys::no_huge_pages(start, len);
    let start = start.expose_provenance();
    for n in 0..number {
        let bottom = start + n * each;
        if let Err(error) = guard(bottom, guard_size()) {
            // Those that have their guard can be used; the rest of the range stays unused.
            return if n == 0 { Err(error) } else { Ok(()) };
        }
        let (Some(bottom), Some(top)) =
            (StackPointer::new(bottom), StackPointer::new(bottom + each))
        else {
            unreachable!("no mapping begins at zero");
        };
        into.push(Stack { bottom, top });
    }
    Ok(())
}

/// Makes every access to a range a fault.
fn guard(start: usize, len: usize) -> io::Result<()> {
    static NO_LIGHT_GUARDS: AtomicBool = AtomicBool::new(false);
    let start = ptr::with_exposed_provenance_mut(start);
    if !NO_LIGHT_GUARDS.load(Ordering::Relaxed) {
        if sys::light_guard(start, len) {
            return Ok(());
        }
        NO_LIGHT_GUARDS.store(true, Ordering::Relaxed);
    }
    // SAFETY: the range was mapped by us and is used by nobody.
    match unsafe { libc::mprotect(start, len, libc::PROT_NONE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(target_os = "linux")]
mod sys {
    pub(super) const FLAGS: libc::c_int = libc::MAP_NORESERVE | libc::MAP_STACK;
    /// Linux 6.13.
    const MADV_GUARD_INSTALL: libc::c_int = 102;

    /// False if the kernel has no such guards.
    pub(super) fn light_guard(start: *mut libc::c_void, len: usize) -> bool {
        // SAFETY: the range was mapped by us and is used by nobody.
        unsafe { libc::madvise(start, len, MADV_GUARD_INSTALL) == 0 }
    }

    /// A stack that uses a page must not get two megabytes.
    pub(super) fn no_huge_pages(start: *mut libc::c_void, len: usize) {
        // SAFETY: advice about our own mapping. A kernel without huge pages refuses it, and is right.
        unsafe { libc::madvise(start, len, libc::MADV_NOHUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
mod sys {
    /// Elsewhere memory is promised only when it is touched, or the flag is gone.
    pub(super) const FLAGS: libc::c_int = 0;

    pub(super) fn light_guard(_: *mut libc::c_void, _: usize) -> bool {
        false
    }

    pub(super) fn no_huge_pages(_: *mut libc::c_void, _: usize) {}
}
