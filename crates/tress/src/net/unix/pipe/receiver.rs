use super::{End, end};
use crate::io::source::Source;
use crate::io::{
    AsyncRead, AsyncReadOwned, BufferMut, Interest, ReadBuf, owned, ring, uninterrupted,
};
#[cfg(feature = "bytes")]
use crate::net::transfer::fill;
use std::io::{self, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use tress_driver::Direction;

/// The end of a pipe to read from.
///
/// It is created by [`pipe`](super::pipe()) or
/// [`OpenOptions::open_receiver`](super::OpenOptions::open_receiver), and read through [`AsyncRead`]. Reads
/// see the end when all senders have been dropped; a named pipe may get new ones later.
///
/// # Examples
/// ```
/// use tress::io::AsyncReadExt;
/// use tress::net::unix::pipe;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (sender, mut receiver) = pipe::pipe()?;
/// drop(sender);
/// assert_eq!(receiver.read(&mut [0; 8]).await?, 0);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Receiver {
    io: Source<mio::unix::pipe::Receiver>,
}

end!(
    Receiver,
    mio::unix::pipe::Receiver,
    End::Read,
    Interest::READABLE
);

impl Receiver {
    /// Waits until the pipe is readable.
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
    /// use tress::io::ErrorKind;
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (sender, receiver) = pipe::pipe()?;
    /// # let mut sender = sender;
    /// # tress::io::AsyncWriteExt::write_all(&mut sender, b"hello").await?;
    /// let mut buf = [0; 16];
    /// let n = loop {
    ///     receiver.readable().await?;
    ///     match receiver.try_read(&mut buf) {
    ///         Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
    ///         result => break result?,
    ///     }
    /// };
    /// assert_eq!(&buf[..n], b"hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await.map(drop)
    }

    /// Polls until the pipe is readable.
    ///
    /// After `Pending` the current task is woken when it is. Only the waker of the last poll is kept; with
    /// [`readable`](Self::readable) any number of tasks may wait.
    ///
    /// # Errors
    /// See [`ready`](Self::ready).
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use tress::io::AsyncWriteExt;
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut sender, receiver) = pipe::pipe()?;
    /// sender.write_all(b"hello").await?;
    /// poll_fn(|cx| receiver.poll_read_ready(cx)).await?;
    /// assert_eq!(receiver.try_read(&mut [0; 64])?, 5);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_ready(cx, Direction::Read)
    }

    /// Attempts to read into `buf`, without waiting, and returns how many bytes were read.
    ///
    /// A return value of 0 means that the pipe is at its end, or that `buf` is empty. See
    /// [`readable`](Self::readable) for an example.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is nothing to read; otherwise any error of
    /// `read(2)`.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncWriteExt, ErrorKind};
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut sender, receiver) = pipe::pipe()?;
    /// let mut buf = [0; 64];
    /// assert_eq!(receiver.try_read(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
    /// sender.write_all(b"hello").await?;
    /// receiver.readable().await?;
    /// assert_eq!(receiver.try_read(&mut buf)?, 5);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(read) = self.io.try_leftover(buf) {
            return read;
        }
        self.io.try_io(Interest::READABLE, |mut pipe| {
            uninterrupted(|| pipe.read(buf))
        })
    }

    /// Attempts to read into several buffers in order, without waiting, and returns how many bytes were
    /// read.
    ///
    /// # Errors
    /// See [`try_read`](Self::try_read).
    ///
    /// # Examples
    /// ```
    /// use std::io::IoSliceMut;
    /// use tress::io::AsyncWriteExt;
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut sender, receiver) = pipe::pipe()?;
    /// sender.write_all(b"hello").await?;
    /// let (mut first, mut rest) = ([0; 1], [0; 64]);
    /// receiver.readable().await?;
    /// let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut rest)];
    /// assert_eq!(receiver.try_read_vectored(&mut bufs)?, 5);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        if let Some(read) = self.io.try_leftover_vectored(bufs) {
            return read;
        }
        self.io.try_io(Interest::READABLE, |mut pipe| {
            uninterrupted(|| pipe.read_vectored(bufs))
        })
    }

    /// Attempts to read into `buf`, behind what is in it, without waiting, and returns how many bytes were
    /// read.
    ///
    /// # Errors
    /// See [`try_read`](Self::try_read).
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncWriteExt;
    /// use tress::net::unix::pipe;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut sender, receiver) = pipe::pipe()?;
    /// sender.write_all(b"hello").await?;
    /// let mut buf = Vec::with_capacity(64);
    /// receiver.readable().await?;
    /// receiver.try_read_buf(&mut buf)?;
    /// assert_eq!(buf, b"hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[cfg(feature = "bytes")]
    pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        if self.io.leftover().is_some() {
            // SAFETY: it initializes as many bytes as it returns.
            return unsafe { fill(buf, |room| self.io.try_leftover_uninit(room)) };
        }
        self.io.try_io(Interest::READABLE, |pipe| {
            // SAFETY: reading initializes as many bytes as it returns.
            unsafe { fill(buf, |room| read(pipe, room)) }
        })
    }
}

impl AsyncRead for Receiver {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: reading initializes as many bytes as it returns.
        unsafe { self.io.poll_read(cx, buf, read) }
    }
}

impl AsyncReadOwned for Receiver {
    async fn read_owned<B: BufferMut>(&mut self, buffer: B) -> (io::Result<usize>, B) {
        // A named pipe whose first sender has not arrived yet would seem to have ended.
        if let Err(error) = self.readable().await {
            return (Err(error), buffer);
        }
        // SAFETY: reading initializes as many bytes as it returns.
        unsafe { owned::fill(&self.io, buffer, ring::read, read) }.await
    }
}

/// Reads into memory that need not be initialized. The bytes whose number is returned are initialized.
fn read(pipe: &mio::unix::pipe::Receiver, room: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    uninterrupted(|| {
        // SAFETY: the kernel writes no more than `room` holds, and the descriptor is open.
        match unsafe { libc::read(pipe.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) } {
            -1 => Err(io::Error::last_os_error()),
            n => Ok(n as usize),
        }
    })
}
