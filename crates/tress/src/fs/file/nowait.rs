//! Reads and writes that are made at once if they touch nothing but memory (Linux).
//!
//! `RWF_NOWAIT` makes the kernel refuse rather than wait: for a disk, a lock, or the writing of dirty
//! pages.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// A worker copies no more than this in one go; the rest is for the next turn.
const MOST: usize = 256 * 1024;

/// Why nothing was done.
#[derive(Debug, Clone, Copy)]
pub(in crate::fs) enum Refusal {
    /// It would have had to wait. So does a pipe or a terminal, whatever it says: the kernel waits for those
    /// by polling, without a thread.
    Busy,
    /// The file, a regular one, does not know how to do it without waiting, or the kernel will not ask it.
    Unable,
}

/// Reads at a position, or at the file's own, unless that would have to wait.
///
/// What it returns was initialised, from the start.
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

/// Writes at a position, or at the file's own, unless that would have to wait.
pub(in crate::fs) fn write(
    file: &File,
    bytes: &[u8],
    at: Option<u64>,
) -> Result<io::Result<usize>, Refusal> {
    let length = bytes.len().min(MOST);
    let pointer = bytes.as_ptr().cast_mut().cast();
    call(libc::SYS_pwritev2, file, pointer, length, at)
}

/// `call` is one of the two above, and the memory is there for it.
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
    // The file's own position goes by the name of -1. No other offset has the highest bit: see
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
        // `EINVAL` may mean the flag, and `EPERM` a filter of calls, so whoever does not give it is to say
        // what is wrong.
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

/// By what is known already: asking a file system's server would have to wait. True if nothing is.
pub(in crate::fs) fn is_regular(file: &File) -> bool {
    kind(file).is_none_or(|kind| kind == libc::S_IFREG)
}

/// What `S_IFMT` says of it. None if it is not known.
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
