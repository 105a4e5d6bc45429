//! The error number of a thread, for signal handlers.

/// Calls `f`, and leaves the thread's `errno` as it was: what a signal has interrupted may be about to read it.
#[inline]
pub fn keep_errno(f: impl FnOnce()) {
    let errno = location();
    // SAFETY: this thread's own.
    let before = unsafe { *errno };
    f();
    // SAFETY: as above.
    unsafe { *errno = before };
}

#[inline]
fn location() -> *mut libc::c_int {
    #[cfg(any(
        target_os = "linux",
        target_os = "emscripten",
        target_os = "dragonfly",
        target_os = "hurd",
        target_os = "redox"
    ))]
    let location = libc::__errno_location;
    #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
    let location = libc::__error;
    #[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
    let location = libc::__errno;
    #[cfg(any(target_os = "illumos", target_os = "solaris"))]
    let location = libc::___errno;
    // SAFETY: always callable.
    unsafe { location() }
}
