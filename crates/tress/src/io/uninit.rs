use super::{AsyncRead, ReadBuf};
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What a read has left in memory.
pub(super) struct Filled {
    /// So many bytes hold what was read.
    pub(super) len: usize,
    /// So many bytes are initialised. At least `len`.
    pub(super) initialized: usize,
}

/// Reads into memory of which only the first `initialized` bytes are initialised.
///
/// # Panics
/// If the reader puts another buffer in the place of the one that it was given: then nobody knows
/// what is in this one.
///
/// # Safety
/// They must be.
pub(super) unsafe fn poll_read_uninit<R: AsyncRead + ?Sized>(
    reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    memory: &mut [MaybeUninit<u8>],
    initialized: usize,
) -> Poll<io::Result<Filled>> {
    let start = memory.as_ptr().cast::<u8>();
    let mut buf = ReadBuf::uninit(memory);
    // SAFETY: by contract.
    unsafe { buf.assume_init(initialized) };
    ready!(reader.poll_read(cx, &mut buf))?;
    assert_eq!(
        buf.filled().as_ptr(),
        start,
        "the reader has exchanged the buffer for another one"
    );
    Poll::Ready(Ok(Filled {
        len: buf.filled().len(),
        initialized: buf.initialized().len(),
    }))
}
