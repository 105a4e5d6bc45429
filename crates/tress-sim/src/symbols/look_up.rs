//! `dlsym`: libraries that look for a function of the C library at run time shall find ours.

use crate::raw;
use libc::{c_char, c_void};
use std::ffi::CStr;

/// Lists functions by their names.
macro_rules! functions {
    ($($module:ident: $($name:ident)*;)*) => {
        &[$($((stringify!($name), super::$module::$name as *const () as usize)),*),*]
    };
}

/// What programs are known to look up.
fn table() -> &'static [(&'static str, usize)] {
    static TABLE: std::sync::OnceLock<Vec<(&'static str, usize)>> = std::sync::OnceLock::new();
    TABLE.get_or_init(|| {
        let all: &[(&'static str, usize)] = functions! {
            clock: clock_gettime gettimeofday time nanosleep clock_nanosleep;
            entropy: getrandom getentropy;
            identity: getpid gettid sched_getaffinity sysconf getrusage;
            thread: pthread_create pthread_join pthread_detach sched_yield;
            numbers: syscall;
            signal: sigaction signal kill raise pthread_kill pthread_sigmask sigprocmask;
            descriptor: read write readv writev close dup fcntl ioctl poll ppoll copy_file_range splice;
            file: fsync fdatasync preadv2 pwritev2 fallocate;
            path: renameat2;
            stat: statx;
            epoll: epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd;
        };
        all.to_vec()
    })
}

/// `dlsym(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    if handle == libc::RTLD_DEFAULT {
        // SAFETY: the caller's promise: it is a C string.
        let name = unsafe { CStr::from_ptr(name) };
        let found = table()
            .iter()
            .find(|(ours, _)| ours.as_bytes() == name.to_bytes());
        if let Some((_, address)) = found {
            return *address as *mut c_void;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { raw::dlsym(handle, name) }
}
