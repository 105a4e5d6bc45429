//! Which paths mean the real system.
//!
//! A host sees its own disk. Of the real one it can read what the simulation allows, and what a backtrace needs: the
//! program itself, the libraries that it has loaded, and where they are in memory.

use crate::kernel::{Descriptors, Here, Kernel, enter, is_here};
use crate::raw;
use libc::{AT_FDCWD, c_char, c_int, c_long};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

/// What is done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Nothing changes. Some of the real system can be seen.
    Read,
    Change,
}

/// Enters the kernel for a path, which it returns as well, if it is one of the calling thread's host.
///
/// # Safety
/// The path is null or a C string.
pub(super) unsafe fn enter_at<'a>(
    directory: c_int,
    path: *const c_char,
    access: Access,
) -> Option<(Here, &'a [u8])> {
    if !is_here() {
        return None;
    }
    let is_real_descriptor = directory != AT_FDCWD && !Descriptors::is_ours(directory);
    if path.is_null() {
        // A few calls mean the descriptor then.
        return if is_real_descriptor {
            None
        } else {
            Some((enter()?, b""))
        };
    }
    // SAFETY: the caller's promise.
    let path = unsafe { text(path) };
    let is_absolute = path.starts_with(b"/");
    if is_real_descriptor && !is_absolute {
        return None;
    }
    let kernel = enter()?;
    if access == Access::Read && is_absolute && is_real(&kernel, path) {
        return None;
    }
    Some((kernel, path))
}

/// The bytes of a C string.
///
/// # Safety
/// It is one, for `'a`.
pub(super) unsafe fn text<'a>(path: *const c_char) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(path) }.to_bytes()
}

/// Returns whether hosts see the real file of that path.
fn is_real(kernel: &Kernel, path: &[u8]) -> bool {
    if matches!(path, b"/proc/self/exe" | b"/proc/self/maps") {
        return true;
    }
    let executable = executable();
    // With its separate debug information, if there is any.
    if !executable.is_empty() && path.starts_with(executable) {
        return true;
    }
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let is_library = name.ends_with(b".so") || name.windows(4).any(|part| part == b".so.");
    let path = Path::new(OsStr::from_bytes(path));
    let is_below = |allowed: &std::path::PathBuf| path.starts_with(allowed);
    is_library || kernel.real_paths.iter().any(is_below)
}

/// The path of the program that runs.
fn executable() -> &'static [u8] {
    static PATH: OnceLock<Vec<u8>> = OnceLock::new();
    PATH.get_or_init(|| {
        let mut path = vec![0; 4096];
        let (name, room) = (
            c"/proc/self/exe".as_ptr() as c_long,
            path.as_mut_ptr() as c_long,
        );
        let size = path.len() as c_long;
        // SAFETY: a C string, and room of that size.
        let length = unsafe {
            raw::syscall(
                libc::SYS_readlinkat,
                [AT_FDCWD.into(), name, room, size, 0, 0],
            )
        };
        path.truncate(usize::try_from(length).unwrap_or(0));
        path
    })
}
