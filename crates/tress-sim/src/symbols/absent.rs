//! What the disks of hosts do not have: extended attributes, and news of changes. Programs can do without them, and are
//! told so.

use super::{answer, real};
use crate::kernel::is_here;
use libc::{c_char, c_int, c_void, size_t, ssize_t};

/// Defines functions that fail with an error on threads of hosts, and are system calls elsewhere.
macro_rules! absent {
    ($($name:ident = $number:ident ($($argument:ident: $type:ty),*) -> $result:ty, $errno:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), "(2)`.")]
        ///
        /// # Safety
        /// As for that call.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            match is_here() {
                true => answer(Err(libc::$errno)) as $result,
                false => real!($number $(, $argument)*) as $result,
            }
        }
    )*};
}

absent! {
    getxattr = SYS_getxattr(path: *const c_char, name: *const c_char, value: *mut c_void, size: size_t) -> ssize_t, ENOTSUP;
    lgetxattr = SYS_lgetxattr(path: *const c_char, name: *const c_char, value: *mut c_void, size: size_t) -> ssize_t, ENOTSUP;
    fgetxattr = SYS_fgetxattr(fd: c_int, name: *const c_char, value: *mut c_void, size: size_t) -> ssize_t, ENOTSUP;
    setxattr = SYS_setxattr(path: *const c_char, name: *const c_char, value: *const c_void, size: size_t, flags: c_int) -> c_int, ENOTSUP;
    lsetxattr = SYS_lsetxattr(path: *const c_char, name: *const c_char, value: *const c_void, size: size_t, flags: c_int) -> c_int, ENOTSUP;
    fsetxattr = SYS_fsetxattr(fd: c_int, name: *const c_char, value: *const c_void, size: size_t, flags: c_int) -> c_int, ENOTSUP;
    listxattr = SYS_listxattr(path: *const c_char, list: *mut c_char, size: size_t) -> ssize_t, ENOTSUP;
    llistxattr = SYS_llistxattr(path: *const c_char, list: *mut c_char, size: size_t) -> ssize_t, ENOTSUP;
    flistxattr = SYS_flistxattr(fd: c_int, list: *mut c_char, size: size_t) -> ssize_t, ENOTSUP;
    removexattr = SYS_removexattr(path: *const c_char, name: *const c_char) -> c_int, ENOTSUP;
    lremovexattr = SYS_lremovexattr(path: *const c_char, name: *const c_char) -> c_int, ENOTSUP;
    fremovexattr = SYS_fremovexattr(fd: c_int, name: *const c_char) -> c_int, ENOTSUP;
    inotify_init1 = SYS_inotify_init1(flags: c_int) -> c_int, ENOSYS;
}

/// `inotify_init(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn inotify_init() -> c_int {
    // SAFETY: it has no conditions.
    unsafe { inotify_init1(0) }
}
