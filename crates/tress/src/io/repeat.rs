use super::{AsyncRead, ReadBuf};
use crate::task::coop;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Creates a reader that yields the same byte without end.
///
/// # Examples
/// ```
/// use tress::io::AsyncReadExt;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut buf = [0; 3];
/// tress::io::repeat(7).read_exact(&mut buf).await?;
/// assert_eq!(buf, [7, 7, 7]);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub fn repeat(byte: u8) -> Repeat {
    Repeat { byte }
}

/// A reader that yields the same byte without end, created by [`repeat`].
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, Repeat};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut reader: Repeat = tress::io::repeat(7);
/// assert_eq!(reader.read_u16().await?, 0x0707);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Repeat {
    byte: u8,
}

impl AsyncRead for Repeat {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(coop::poll_proceed(cx)).made_progress();
        let n = buf.remaining();
        // SAFETY: all of it is filled with initialized bytes.
        unsafe {
            buf.unfilled_mut().fill(MaybeUninit::new(self.byte));
            buf.assume_init(n);
        }
        buf.advance(n);
        Poll::Ready(Ok(()))
    }
}
