use super::{End, end};
use crate::io::source::Source;
use crate::io::{
    AsyncWrite, AsyncWriteOwned, Buffer, Interest, offered, owned, ring, uninterrupted,
};
use std::io::{self, IoSlice, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use tress_driver::Direction;

/// The end of a pipe to write to.
///
/// It is created by [`pipe`](super::pipe()) or
/// [`OpenOptions::open_sender`](super::OpenOptions::open_sender), and written through [`AsyncWrite`].
/// Writes fail with [`BrokenPipe`](io::ErrorKind::BrokenPipe) when all receivers have been dropped.
/// Dropping the last sender ends the stream; shutting it down does nothing.
///
/// # Examples
/// ```
/// use tress::io::{AsyncWriteExt, ErrorKind};
/// use tress::net::unix::pipe;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (mut sender, receiver) = pipe::pipe()?;
/// drop(receiver);
/// let error = sender.write_all(b"hello").await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::BrokenPipe);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Sender {
    io: Source<mio::unix::pipe::Sender>,
}

end!(
    Sender,
    mio::unix::pipe::Sender,
    End::Write,
    Interest::WRITABLE
);

impl Sender {
    /// Waits until the pipe is writable.
    ///
    /// Call it before a `try_` method, and again if that returns [`WouldBlock`](io::ErrorKind::WouldBlock).
    ///
    /// # Errors
    /// See [`ready`](Self::ready).
    ///
    /// # Cancel safety
    /// This method is cancel safe: the next wait finds the same readiness.
    ///
    /// # Examples
    /// ```
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, _receiver) = pipe::pipe()?;
    /// sender.writable().await?;
    /// assert_eq!(sender.try_write(b"hello")?, 5);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await.map(drop)
    }

    /// Polls until the pipe is writable.
    ///
    /// After `Pending` the current task is woken when it is. Only the waker of the last poll is kept; with
    /// [`writable`](Self::writable) any number of tasks may wait.
    ///
    /// # Errors
    /// See [`ready`](Self::ready).
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, _receiver) = pipe::pipe()?;
    /// poll_fn(|cx| sender.poll_write_ready(cx)).await?;
    /// assert_eq!(sender.try_write(b"hello")?, 5);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_ready(cx, Direction::Write)
    }

    /// Attempts to write from `buf`, without waiting, and returns how many bytes were written.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room; otherwise any error of `write(2)`,
    /// such as [`BrokenPipe`](io::ErrorKind::BrokenPipe) if there is no receiver.
    ///
    /// # Examples
    /// ```
    /// use tress::io::ErrorKind;
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, receiver) = pipe::pipe()?;
    /// sender.writable().await?;
    /// assert_eq!(sender.try_write(b"hello")?, 5);
    /// drop(receiver);
    /// assert_eq!(sender.try_write(b"hello").unwrap_err().kind(), ErrorKind::BrokenPipe);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |mut pipe| {
            uninterrupted(|| pipe.write(buf))
        })
    }

    /// Attempts to write from several buffers in order, without waiting, and returns how many bytes were
    /// written.
    ///
    /// # Errors
    /// See [`try_write`](Self::try_write).
    ///
    /// # Examples
    /// ```
    /// use std::io::IoSlice;
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, _receiver) = pipe::pipe()?;
    /// sender.writable().await?;
    /// let bufs = [IoSlice::new(b"hello "), IoSlice::new(b"world")];
    /// assert_eq!(sender.try_write_vectored(&bufs)?, 11);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_write_vectored(&self, buf: &[IoSlice<'_>]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |mut pipe| {
            uninterrupted(|| pipe.write_vectored(buf))
        })
    }
}

impl AsyncWrite for Sender {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io
            .poll_transfer(cx, Direction::Write, buf.len(), |mut pipe| {
                uninterrupted(|| pipe.write(buf))
            })
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wanted = offered(bufs);
        self.io
            .poll_transfer(cx, Direction::Write, wanted, |mut pipe| {
                uninterrupted(|| pipe.write_vectored(bufs))
            })
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing, because nothing is buffered in the process.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does nothing: a pipe ends when its senders are dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncWriteOwned for Sender {
    async fn write_owned<B: Buffer>(&mut self, buffer: B) -> (io::Result<usize>, B) {
        owned::empty(&self.io, buffer, ring::write, |mut pipe, bytes| {
            uninterrupted(|| pipe.write(bytes))
        })
        .await
    }
}
