use super::transfer::DEFAULT_BUF_SIZE;
use super::{
    AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf, check_written, is_interrupted,
    write_zero,
};
use pin_project_lite::pin_project;
use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// A buffer in front of a sink, for many small writes.
    ///
    /// They are collected until the buffer is full; what is at least as large as the buffer goes past
    /// it. A sink that is in memory anyway needs none.
    ///
    /// Dropping it, or taking it apart with [`into_inner`](BufWriter::into_inner), loses what is in the
    /// buffer: [`flush`](super::AsyncWriteExt::flush) it before.
    ///
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
        // Never longer than the capacity that it was made with.
        pub(super) buf: Vec<u8>,
        // So many bytes of `buf` the sink has already.
        pub(super) written: usize,
        pub(super) seek: Seek,
    }
}

/// A seek, before which the buffer must be empty.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seek {
    No,
    /// Asked for, and not begun.
    To(SeekFrom),
    UnderWay,
}

impl<W: AsyncWrite> BufWriter<W> {
    /// With a buffer of 8 KiB.
    pub fn new(inner: W) -> Self {
        BufWriter::with_capacity(DEFAULT_BUF_SIZE, inner)
    }

    /// With a buffer of `cap` bytes. With 0 everything goes past it.
    pub fn with_capacity(cap: usize, inner: W) -> Self {
        BufWriter {
            inner,
            buf: Vec::with_capacity(cap),
            written: 0,
            seek: Seek::No,
        }
    }

    /// The sink.
    pub fn get_ref(&self) -> &W {
        &self.inner
    }

    /// The sink. What is written to it directly comes before what is in the buffer.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// The sink. What is written to it directly comes before what is in the buffer.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().inner
    }

    /// The sink. What is in the buffer is lost.
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// What is in the buffer and was not written to the sink.
    pub fn buffer(&self) -> &[u8] {
        &self.buf[self.written..]
    }

    /// Writes the buffer to the sink, all of it.
    fn poll_flush_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut this = self.project();
        while *this.written < this.buf.len() {
            let rest = &this.buf[*this.written..];
            match ready!(this.inner.as_mut().poll_write(cx, rest)) {
                Ok(0) => return Poll::Ready(Err(write_zero())),
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

    /// Sees to it that there is room for `len` bytes, or that the buffer is empty.
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
        // The first buffer as if it were the only one, which may go past ours.
        let mut written = ready!(self.as_mut().poll_write(cx, first))?;
        // Then as many as find room: the rest can wait for another call.
        if first.len() < self.buf.capacity() {
            for buf in bufs {
                let n = buf.len().min(self.room());
                self.as_mut().project().buf.extend_from_slice(&buf[..n]);
                written += n;
            }
        }
        Poll::Ready(Ok(written))
    }

    /// Collecting small pieces is what it is there for.
    fn is_write_vectored(&self) -> bool {
        true
    }
}

/// The buffer is written first.
impl<W: AsyncWrite + AsyncSeek> AsyncSeek for BufWriter<W> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        // The buffer has to be written before that: `poll_complete` does both.
        *self.project().seek = Seek::To(position);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if let Seek::To(position) = self.seek {
            ready!(self.as_mut().poll_flush_buf(cx))?;
            let mut this = self.as_mut().project();
            // The sink may still be at work on what was written.
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
        // One that has not reached the sink never will.
        *this.seek = Seek::No;
        Poll::Ready(at)
    }
}

/// Reading goes past the buffer.
impl<W: AsyncWrite + AsyncRead> AsyncRead for BufWriter<W> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.project().inner.poll_read(cx, buf)
    }
}

/// Reading goes past the buffer.
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
