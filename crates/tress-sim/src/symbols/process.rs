//! Child processes, which a host cannot have.

use crate::kernel::is_here;
use crate::raw;
use libc::{c_char, c_int, c_void, pid_t};
use std::mem;
use std::ptr;
use std::sync::atomic::AtomicPtr;

/// `fork(2)`: fails on a host.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fork() -> pid_t {
    if is_here() {
        raw::set_errno(libc::ENOSYS);
        return -1;
    }
    type Fork = unsafe extern "C" fn() -> pid_t;
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: the function of that name has this type; the rest is the caller's promise.
    unsafe {
        let fork: Fork = mem::transmute(raw::next(&NEXT, c"fork"));
        fork()
    }
}

/// Defines a function that starts another program, and fails on a host.
macro_rules! spawns {
    ($($name:ident, $text:literal;)*) => {
        $(
            /// Fails with `ENOSYS` on a host.
            ///
            /// # Safety
            /// As for the function of that name.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                pid: *mut pid_t,
                path: *const c_char,
                actions: *const c_void,
                attributes: *const c_void,
                arguments: *const *mut c_char,
                environment: *const *mut c_char,
            ) -> c_int {
                if is_here() {
                    return libc::ENOSYS;
                }
                type Spawn = unsafe extern "C" fn(
                    *mut pid_t,
                    *const c_char,
                    *const c_void,
                    *const c_void,
                    *const *mut c_char,
                    *const *mut c_char,
                ) -> c_int;
                static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
                // SAFETY: the function of that name has this type; the rest is the caller's promise.
                unsafe {
                    let spawn: Spawn = mem::transmute(raw::next(&NEXT, $text));
                    spawn(pid, path, actions, attributes, arguments, environment)
                }
            }
        )*
    };
}

spawns! {
    posix_spawn, c"posix_spawn";
    posix_spawnp, c"posix_spawnp";
}
