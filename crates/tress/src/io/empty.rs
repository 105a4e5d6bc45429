use super::sink::{Sink, sink};
use super::write::pass_on;
use super::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use crate::task::coop;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Creates a stream that is at its end, and that discards what is written to it.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut nothing = tress::io::empty();
/// nothing.write_all(b"hello").await?;
/// assert_eq!(nothing.read(&mut [0; 8]).await?, 0);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub fn empty() -> Empty {
    Empty { sink: sink() }
}

/// A stream that is at its end, created by [`empty`].
///
/// Reads return no bytes, and writes discard theirs.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, Empty};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut reader: Empty = tress::io::empty();
/// assert_eq!(reader.read(&mut [0; 8]).await?, 0);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Empty {
    sink: Sink,
}

impl AsyncRead for Empty {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        _buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(coop::poll_proceed(cx)).made_progress();
        Poll::Ready(Ok(()))
    }
}

impl AsyncBufRead for Empty {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        ready!(coop::poll_proceed(cx)).made_progress();
        Poll::Ready(Ok(&[]))
    }

    fn consume(self: Pin<&mut Self>, _amt: usize) {}
}

impl AsyncWrite for Empty {
    pass_on!(self => Pin::new(&mut self.sink), self.sink);
}

/// Every seek ends at position 0, the only one there is.
impl AsyncSeek for Empty {
    fn start_seek(self: Pin<&mut Self>, _position: SeekFrom) -> io::Result<()> {
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        ready!(coop::poll_proceed(cx)).made_progress();
        Poll::Ready(Ok(0))
    }
}
