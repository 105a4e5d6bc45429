//! Reads and writes that complete immediately if nothing but memory is involved (Linux).
//!
//! `RWF_NOWAIT` makes the kernel refuse rather than wait: for a disk, a lock, or the writing of dirty
//! pages.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// The maximum number of bytes that a worker copies at once.
const MOST: usize = 256 * 1024;

/// The reason why nothing was done.
#[derive(Debug, Clone, Copy)]
pub(in crate::fs) enum Refusal {
    /// The call would have had to wait. Pipes and terminals count as busy whatever they report: the
    /// kernel waits for those by polling, without a thread.
    Busy,
    /// The file is a regular one whose file system does not support the flag, or the kernel refuses it.
    Unable,
}

/// Reads at an offset, or at the position of the file, unless that would have to wait.
///
/// As many bytes of `room` as it returns are initialised, from the start.
pub(in crate::fs) fn read(
    file: &File,
    room: &mut [MaybeUninit<u8>],
    at: Option<u64>,
) -> Result<io::Result<usize>, Refusal> {
    let length = room.len().min(MOST);
    call(
        libc::SYS_preadv2,
        file,
        room.as_mut_ptr().cast(),
        length,
        at,
    )
}

/// Writes at an offset, or at the position of the file, unless that would have to wait.
pub(in crate::fs) fn write(
    file: &File,
    bytes: &[u8],
    at: Option<u64>,
) -> Result<io::Result<usize>, Refusal> {
    let length = bytes.len().min(MOST);
    let pointer = bytes.as_ptr().cast_mut().cast();
    call(libc::SYS_pwritev2, file, pointer, length, at)
}

/// Makes one of the two system calls above, with memory that the caller has borrowed for it.
fn call(
    call: libc::c_long,
    file: &File,
    pointer: *mut libc::c_void,
    length: usize,
    at: Option<u64>,
) -> Result<io::Result<usize>, Refusal> {
    let vector = libc::iovec {
        iov_base: pointer,
        iov_len: length,
    };
    // -1 stands for the position of the file. No other offset has the highest bit: see
    // `File::read_at`.
    let offset = at.map_or(-1, |at| at as i64);
    // SAFETY: one vector, of memory that the caller has borrowed for this. The offset's upper half is
    // ignored on 64 bits, the only kind of system where this is used.
    let result = unsafe {
        let vector = &raw const vector;
        libc::syscall(
            call,
            file.as_raw_fd(),
            vector,
            1,
            offset,
            0,
            libc::RWF_NOWAIT,
        )
    };
    if let Ok(n) = usize::try_from(result) {
        return Ok(Ok(n));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // It would wait, or a signal came.
        Some(libc::EAGAIN | libc::EINTR) => Err(Refusal::Busy),
        // `EINVAL` may be about the flag, and `EPERM` may come from a seccomp filter: the call
        // without the flag reports what is wrong.
        Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL | libc::EPERM) => {
            Err(if is_regular(file) {
                Refusal::Unable
            } else {
                Refusal::Busy
            })
        }
        _ => Ok(Err(error)),
    }
}

/// Returns whether the file is a regular one, from cached attributes: asking the server of a network
/// file system would have to wait. True if nothing is cached.
pub(in crate::fs) fn is_regular(file: &File) -> bool {
    kind(file).is_none_or(|kind| kind == libc::S_IFREG)
}

/// Returns the type bits of the mode (`S_IFMT`), or `None` if they are not known.
pub(in crate::fs) fn kind(file: &File) -> Option<libc::mode_t> {
    let mut known = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: an empty name, which stands for the descriptor itself, and room for the answer.
    let failed = unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC,
            libc::STATX_TYPE,
            known.as_mut_ptr(),
        )
    };
    // SAFETY: zeros are an answer that says nothing.
    let mode = unsafe { known.assume_init() }.stx_mode;
    (failed == 0).then_some(libc::mode_t::from(mode) & libc::S_IFMT)
}
