use super::{AsyncRead, ReadBuf};
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// State of memory after a read.
pub(super) struct Filled {
    /// Number of bytes that were read.
    pub(super) len: usize,
    /// Number of initialized bytes: at least `len`.
    pub(super) initialized: usize,
}

/// Reads into memory of which the first `initialized` bytes are initialized.
///
/// # Panics
/// Panics if the reader exchanges the buffer for another one, because then the contents of this one are unknown.
///
/// # Safety
/// The first `initialized` bytes of `memory` must be initialized.
pub(super) unsafe fn poll_read_uninit<R: AsyncRead + ?Sized>(
    reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    memory: &mut [MaybeUninit<u8>],
    initialized: usize,
) -> Poll<io::Result<Filled>> {
    let (start, room) = (memory.as_ptr().cast::<u8>(), memory.len());
    let mut buf = ReadBuf::uninit(memory);
    // SAFETY: by contract.
    unsafe { buf.assume_init(initialized) };
    ready!(reader.poll_read(cx, &mut buf))?;
    check(&buf, start, room);
    Poll::Ready(Ok(Filled {
        len: buf.filled().len(),
        initialized: buf.initialized().len(),
    }))
}

/// Reads behind the first `filled` bytes, and returns how many are filled then, those included.
///
/// # Panics
/// Panics if the reader exchanges the buffer for another one, or makes its filled part shorter.
#[inline]
pub(super) fn poll_read_behind<R: AsyncRead + ?Sized>(
    reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    bytes: &mut [u8],
    filled: usize,
) -> Poll<io::Result<usize>> {
    let (start, room) = (bytes.as_ptr(), bytes.len());
    let mut buf = ReadBuf::new(bytes);
    buf.set_filled(filled);
    ready!(reader.poll_read(cx, &mut buf))?;
    check(&buf, start, room);
    let now = buf.filled().len();
    assert!(
        now >= filled,
        "the reader has emptied the buffer that it was to fill"
    );
    Poll::Ready(Ok(now))
}

/// Checks that a buffer is the one that the reader was given.
#[inline]
fn check(buf: &ReadBuf<'_>, start: *const u8, room: usize) {
    assert!(
        buf.filled().as_ptr() == start && buf.capacity() == room,
        "the reader has exchanged the buffer for another one"
    );
}
