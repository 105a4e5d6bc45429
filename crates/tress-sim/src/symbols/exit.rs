//! The end of a program, which is not that of the process.

use super::real;
use crate::kernel::here;
use crate::kernel::process::Status;
use crate::raw;
use libc::{c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The status of a program that has called `exit` with one that is not known.
pub(crate) const UNKNOWN_STATUS: c_int = c_int::MIN;

/// What libtest ends with if a test has failed.
const FAILED: c_int = 101;

/// A program of a host has called `exit`.
static HAS_EXITED: AtomicBool = AtomicBool::new(false);

/// `exit(3)`: ends the program of a host, and not the process.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn exit(status: c_int) -> ! {
    if let Some(mut kernel) = here() {
        HAS_EXITED.store(true, Ordering::Relaxed);
        kernel.exit(Status::Exited(status));
    }
    type Exit = unsafe extern "C" fn(c_int) -> !;
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: the function of that name has this type; the rest is the caller's promise.
    unsafe {
        let exit: Exit = mem::transmute(raw::next(&NEXT, c"exit"));
        exit(status)
    }
}

/// `pause(2)`.
///
/// The standard library lets one thread of a process through to `exit`, and every other one waits here for ever. If the
/// first was that of a host, the next ones end as well: a host's program, with a status that is not known, or the process.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pause() -> c_int {
    if let Some(mut kernel) = here() {
        kernel.exit(Status::Exited(UNKNOWN_STATUS));
    }
    if HAS_EXITED.load(Ordering::Relaxed) {
        let status = if was_called_to_exit() { FAILED } else { 0 };
        // SAFETY: the process is at its end, and all that the standard library does before is done.
        unsafe { exit(status) };
    }
    let null = ptr::null::<c_void>();
    real!(SYS_ppoll, null, 0, null, null, 0) as c_int
}

/// Returns whether `std::process::exit` is among the callers, and not just the end of `main`.
fn was_called_to_exit() -> bool {
    type Visit = extern "C" fn(*mut c_void, *mut c_void) -> c_int;
    unsafe extern "C" {
        fn _Unwind_Backtrace(visit: Visit, found: *mut c_void) -> c_int;
        fn _Unwind_GetIP(frame: *mut c_void) -> usize;
        fn _Unwind_FindEnclosingFunction(address: *const c_void) -> *const c_void;
    }
    extern "C" fn visit(frame: *mut c_void, found: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes a frame that is valid now, and the pointer that it was given.
        unsafe {
            let address = _Unwind_GetIP(frame).saturating_sub(1) as *const c_void;
            let function = _Unwind_FindEnclosingFunction(address);
            if ptr::eq(function, std::process::exit as *const c_void) {
                *found.cast::<bool>() = true;
            }
        }
        0
    }
    let mut found = false;
    // SAFETY: the visitor has that type, and writes to a local value.
    unsafe { _Unwind_Backtrace(visit, ptr::from_mut(&mut found).cast()) };
    found
}
