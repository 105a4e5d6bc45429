use super::pipe::{self, Pipe};
use super::wake::wake_all;
use super::{AsyncRead, AsyncWrite, ReadBuf, ReadHalf, WriteHalf, split};
use crate::sight::{self, WaitKind};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Creates a pipe in memory, and returns its two ends.
///
/// What is written to the second is read from the first. The pipe holds at most `max_buf_size` bytes; a
/// write waits while it is full.
///
/// The reader sees the end after the writer's [`shutdown`](super::AsyncWriteExt::shutdown). Because the two
/// ends are halves of one object, dropping the writer does not end the stream, and dropping the reader does
/// not make writes fail. [`duplex`](super::duplex) closes when either end is dropped.
///
/// # Panics
/// Panics if `max_buf_size` is 0.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (mut reader, mut writer) = tress::io::simplex(4);
/// let task = tress::spawn(async move {
///     writer.write_all(b"hello world").await?;
///     writer.shutdown().await
/// });
/// let mut text = String::new();
/// reader.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello world");
/// task.await.unwrap()?;
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[track_caller]
pub fn simplex(max_buf_size: usize) -> (ReadHalf<SimplexStream>, WriteHalf<SimplexStream>) {
    split(SimplexStream::new_unsplit(max_buf_size))
}

/// A pipe in memory, with both ends in one object.
///
/// What is written to it is read from it. [`simplex`] creates one and splits it.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt, SimplexStream};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut pipe = SimplexStream::new_unsplit(64);
/// pipe.write_all(b"hello").await?;
/// let mut buf = [0; 5];
/// pipe.read_exact(&mut buf).await?;
/// assert_eq!(&buf, b"hello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct SimplexStream {
    pipe: Pipe,
}

impl SimplexStream {
    /// Creates a pipe that holds at most `max_buf_size` bytes.
    ///
    /// # Panics
    /// Panics if `max_buf_size` is 0.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, AsyncWriteExt, SimplexStream};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut pipe = SimplexStream::new_unsplit(8);
    /// pipe.write_u32(7).await?;
    /// assert_eq!(pipe.read_u32().await?, 7);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn new_unsplit(max_buf_size: usize) -> SimplexStream {
        SimplexStream {
            pipe: Pipe::new(max_buf_size),
        }
    }
}

impl AsyncRead for SimplexStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let pipe = sight::address(&self.pipe);
        pipe::poll(cx, WaitKind::Read, pipe, |looker| {
            self.pipe.read(looker, buf)
        })
    }
}

impl AsyncWrite for SimplexStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        wake_all(self.pipe.close());
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let pipe = sight::address(&self.pipe);
        pipe::poll(cx, WaitKind::Write, pipe, |looker| {
            self.pipe.write(looker, bufs)
        })
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}
