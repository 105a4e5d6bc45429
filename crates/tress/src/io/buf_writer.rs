use super::transfer::DEFAULT_BUF_SIZE;
use super::{
    AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf, check_written, is_interrupted,
};
use crate::words;
use pin_project_lite::pin_project;
use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// Adds a buffer to a writer, for many small writes.
    ///
    /// It collects bytes until the buffer is full, and writes them in one go. A write that is at least as
    /// large as the buffer goes directly to the writer, after what is in the buffer. Writers in memory gain
    /// nothing from it.
    ///
    /// Dropping it, or calling [`into_inner`](BufWriter::into_inner), loses the bytes that are still in the
    /// buffer: [`flush`](super::AsyncWriteExt::flush) or [`shutdown`](super::AsyncWriteExt::shutdown) it
    /// first.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncWriteExt, BufWriter};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.write_all(b"hello").await?;
    /// assert_eq!(writer.buffer(), b"hello");
    /// writer.flush().await?;
    /// assert_eq!(writer.into_inner(), b"hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub struct BufWriter<W> {
        #[pin]
        pub(super) inner: W,
        // Never grows beyond the capacity that it was created with.
        pub(super) buf: Vec<u8>,
        // Number of bytes of `buf` that the inner writer has taken already.
        pub(super) written: usize,
        pub(super) seek: Seek,
    }
}

/// A seek, before which the buffer must be empty.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seek {
    No,
    /// Requested, and not begun.
    To(SeekFrom),
    UnderWay,
}

impl<W: AsyncWrite> BufWriter<W> {
    /// Creates a `BufWriter` with a buffer of 8 KiB.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncWriteExt, BufWriter};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut writer = BufWriter::new(tress::io::sink());
    /// for n in 0..100 {
    ///     writer.write_u32(n).await?;
    /// }
    /// writer.flush().await?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn new(inner: W) -> Self {
        BufWriter::with_capacity(DEFAULT_BUF_SIZE, inner)
    }

    /// Creates a `BufWriter` with a buffer of `cap` bytes.
    ///
    /// With 0 every write goes directly to the inner writer.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncWriteExt, BufWriter};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut writer = BufWriter::with_capacity(4, Vec::new());
    /// writer.write_all(b"abc").await?;
    /// assert_eq!((writer.buffer(), writer.get_ref().as_slice()), (&b"abc"[..], &b""[..]));
    /// // There is no room for these two, so the buffer is written first.
    /// writer.write_all(b"de").await?;
    /// assert_eq!((writer.buffer(), writer.get_ref().as_slice()), (&b"de"[..], &b"abc"[..]));
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn with_capacity(cap: usize, inner: W) -> Self {
        BufWriter {
            inner,
            buf: Vec::with_capacity(cap),
            written: 0,
            seek: Seek::No,
        }
    }

    /// Returns a reference to the inner writer.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncWriteExt, BufWriter};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.write_all(b"hello").await?;
    /// assert!(writer.get_ref().is_empty()); // all of it is in the buffer
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_ref(&self) -> &W {
        &self.inner
    }

    /// Returns a mutable reference to the inner writer.
    ///
    /// Bytes that are written to it directly come before those in the buffer.
    ///
    /// # Examples
    /// ```
    /// use tress::io::BufWriter;
    ///
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.get_mut().push(1);
    /// assert_eq!(writer.into_inner(), [1]);
    /// ```
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Returns a pinned mutable reference to the inner writer.
    ///
    /// Bytes that are written to it directly come before those in the buffer.
    ///
    /// # Examples
    /// ```
    /// use std::pin::pin;
    /// use tress::io::{AsyncWriteExt, BufWriter};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut writer = pin!(BufWriter::new(Vec::new()));
    /// writer.as_mut().get_pin_mut().write_all(b"direct").await?;
    /// assert_eq!(writer.get_ref(), b"direct");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().inner
    }

    /// Returns the inner writer.
    ///
    /// Bytes in the buffer are lost: [flush](super::AsyncWriteExt::flush) the writer before.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncWriteExt, BufWriter};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.write_all(b"hello").await?;
    /// writer.flush().await?;
    /// assert_eq!(writer.into_inner(), b"hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// Returns the bytes in the buffer that the inner writer has not taken yet.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncWriteExt, BufWriter};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.write_all(b"hello").await?;
    /// assert_eq!(writer.buffer(), b"hello");
    /// writer.flush().await?;
    /// assert!(writer.buffer().is_empty());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn buffer(&self) -> &[u8] {
        &self.buf[self.written..]
    }

    /// Writes all of the buffer to the inner writer.
    fn poll_flush_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut this = self.project();
        while *this.written < this.buf.len() {
            let rest = &this.buf[*this.written..];
            match ready!(this.inner.as_mut().poll_write(cx, rest)) {
                Ok(0) => return Poll::Ready(Err(words::buffer_not_written())),
                Ok(n) => {
                    check_written(n, rest.len());
                    *this.written += n;
                }
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        this.buf.clear();
        *this.written = 0;
        Poll::Ready(Ok(()))
    }

    /// Makes room for `len` bytes, or empties the buffer.
    fn poll_make_room(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        len: usize,
    ) -> Poll<io::Result<()>> {
        if len > self.room() {
            self.poll_flush_buf(cx)
        } else {
            Poll::Ready(Ok(()))
        }
    }
}

impl<W> BufWriter<W> {
    fn room(&self) -> usize {
        self.buf.capacity() - self.buf.len()
    }
}

impl<W: AsyncWrite> AsyncWrite for BufWriter<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.as_mut().poll_make_room(cx, buf.len()))?;
        if buf.len() >= self.buf.capacity() {
            self.project().inner.poll_write(cx, buf)
        } else {
            self.project().buf.extend_from_slice(buf);
            Poll::Ready(Ok(buf.len()))
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush_buf(cx))?;
        self.project().inner.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush_buf(cx))?;
        self.project().inner.poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.inner.is_write_vectored() {
            let total = bufs
                .iter()
                .fold(0, |n: usize, buf| n.saturating_add(buf.len()));
            ready!(self.as_mut().poll_make_room(cx, total))?;
            let this = self.project();
            if total >= this.buf.capacity() {
                return this.inner.poll_write_vectored(cx, bufs);
            }
            bufs.iter().for_each(|buf| this.buf.extend_from_slice(buf));
            return Poll::Ready(Ok(total));
        }
        let mut bufs = bufs.iter().filter(|buf| !buf.is_empty());
        let Some(first) = bufs.next() else {
            return Poll::Ready(Ok(0));
        };
        // The first buffer is written as if it were the only one, possibly past our buffer.
        let mut written = ready!(self.as_mut().poll_write(cx, first))?;
        // Then as much of the others as there is room for. The rest is left to another call.
        if first.len() < self.buf.capacity() {
            for buf in bufs {
                let n = buf.len().min(self.room());
                self.as_mut().project().buf.extend_from_slice(&buf[..n]);
                written += n;
            }
        }
        Poll::Ready(Ok(written))
    }

    /// Returns `true`: small pieces are collected in the buffer in any case.
    fn is_write_vectored(&self) -> bool {
        true
    }
}

/// Writes the buffer to the inner writer before it moves the position.
impl<W: AsyncWrite + AsyncSeek> AsyncSeek for BufWriter<W> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        // The buffer has to be written first, for which only `poll_complete` can wait.
        *self.project().seek = Seek::To(position);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if let Seek::To(position) = self.seek {
            ready!(self.as_mut().poll_flush_buf(cx))?;
            let mut this = self.as_mut().project();
            // The inner writer may still be busy with what was written.
            ready!(this.inner.as_mut().poll_settled(cx))?;
            *this.seek = Seek::No;
            this.inner.start_seek(position)?;
            *this.seek = Seek::UnderWay;
        }
        let this = self.project();
        let at = ready!(this.inner.poll_complete(cx));
        *this.seek = Seek::No;
        Poll::Ready(at)
    }

    fn poll_settled(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Option<u64>>> {
        let this = self.project();
        let at = ready!(this.inner.poll_settled(cx));
        // A seek that has not reached the inner writer is given up.
        *this.seek = Seek::No;
        Poll::Ready(at)
    }
}

/// Reads directly from the inner stream.
impl<W: AsyncWrite + AsyncRead> AsyncRead for BufWriter<W> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.project().inner.poll_read(cx, buf)
    }
}

/// Reads directly from the inner stream.
impl<W: AsyncWrite + AsyncBufRead> AsyncBufRead for BufWriter<W> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().inner.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().inner.consume(amt);
    }
}

impl<W: fmt::Debug> fmt::Debug for BufWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufWriter")
            .field("inner", &self.inner)
            .field(
                "buffer",
                &format_args!("{}/{}", self.buf.len() - self.written, self.buf.capacity()),
            )
            .finish_non_exhaustive()
    }
}
