use super::transfer::DEFAULT_BUF_SIZE;
use super::uninit::poll_read_behind;
use super::write::pass_on;
use super::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use pin_project_lite::pin_project;
use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// Adds a buffer to a reader, for many small reads.
    ///
    /// It asks the reader for as much as fits into the buffer, and serves reads from there. A read that is
    /// at least as large as the buffer goes directly to the reader while the buffer is empty. Readers in
    /// memory gain nothing from it.
    ///
    /// Dropping it, or calling [`into_inner`](BufReader::into_inner), loses the bytes that are still in the
    /// buffer. A reader that is also a writer can be written to through it; writes are not buffered: see
    /// [`BufStream`](super::BufStream).
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let source: &[u8] = b"first line\nthe rest";
    /// let mut reader = BufReader::new(source);
    /// let mut text = String::new();
    /// reader.read_line(&mut text).await?;
    /// assert_eq!(text, "first line\n");
    /// assert_eq!(reader.buffer(), b"the rest");
    /// reader.read_to_string(&mut text).await?;
    /// assert_eq!(text, "first line\nthe rest");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub struct BufReader<R> {
        #[pin]
        pub(super) inner: R,
        pub(super) buf: Box<[u8]>,
        // `buf[start..end]` has been read from the inner reader and not yet from this one.
        pub(super) start: usize,
        pub(super) end: usize,
        pub(super) seek: Seek,
    }
}

/// A seek, which must take into account the bytes in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seek {
    No,
    /// Requested, and not begun.
    To(SeekFrom),
    /// The inner reader goes back to this reader's position, and will move by `then` from there, because
    /// the sum was out of a seek's range.
    Back {
        then: i64,
    },
    /// The inner reader moves to the requested position.
    UnderWay,
}

impl<R: AsyncRead> BufReader<R> {
    /// Creates a `BufReader` with a buffer of 8 KiB.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncBufReadExt, BufReader};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut reader = BufReader::new(&b"hello\nworld"[..]);
    /// let mut line = String::new();
    /// reader.read_line(&mut line).await?;
    /// assert_eq!(line, "hello\n");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn new(inner: R) -> Self {
        BufReader::with_capacity(DEFAULT_BUF_SIZE, inner)
    }

    /// Creates a `BufReader` with a buffer of `capacity` bytes.
    ///
    /// # Panics
    /// Panics if `capacity` is 0.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, BufReader};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut reader = BufReader::with_capacity(4, &b"hello"[..]);
    /// assert_eq!(reader.read_u8().await?, b'h');
    /// assert_eq!(reader.buffer(), b"ell");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn with_capacity(capacity: usize, inner: R) -> Self {
        assert!(
            capacity > 0,
            "capacity must be greater than zero: what is read has to go somewhere"
        );
        BufReader {
            inner,
            buf: vec![0; capacity].into_boxed_slice(),
            start: 0,
            end: 0,
            seek: Seek::No,
        }
    }

    /// Returns a reference to the inner reader.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, BufReader};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut reader = BufReader::with_capacity(2, &b"hello"[..]);
    /// reader.read_u8().await?;
    /// assert_eq!(reader.get_ref(), b"llo"); // `e` is in the buffer
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// Returns a mutable reference to the inner reader.
    ///
    /// Reading from it directly misses the bytes in the buffer.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, BufReader};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut reader = BufReader::new(&b"hello"[..]);
    /// assert_eq!(reader.get_mut().read_u8().await?, b'h');
    /// assert_eq!(reader.read_u8().await?, b'e');
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// Returns a pinned mutable reference to the inner reader.
    ///
    /// Reading from it directly misses the bytes in the buffer.
    ///
    /// # Examples
    /// ```
    /// use std::pin::pin;
    /// use tress::io::{AsyncReadExt, BufReader};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let reader = pin!(BufReader::new(&b"hello"[..]));
    /// assert_eq!(reader.get_pin_mut().read_u8().await?, b'h');
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// Returns the inner reader.
    ///
    /// Bytes in the buffer are lost.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, BufReader};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut reader = BufReader::with_capacity(2, &b"hello"[..]);
    /// reader.read_u8().await?;
    /// assert_eq!(reader.into_inner(), b"llo"); // `e` was in the buffer
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// Returns the bytes in the buffer.
    ///
    /// Unlike [`fill_buf`](super::AsyncBufReadExt::fill_buf) it does not fill the buffer if it is empty.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncBufReadExt, BufReader};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut reader = BufReader::new(&b"hello"[..]);
    /// assert_eq!(reader.buffer(), b"");
    /// reader.fill_buf().await?;
    /// assert_eq!(reader.buffer(), b"hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn buffer(&self) -> &[u8] {
        &self.buf[self.start..self.end]
    }
}

impl<R: AsyncRead> AsyncRead for BufReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.start == self.end && buf.remaining() >= self.buf.len() {
            return self.project().inner.poll_read(cx, buf);
        }
        let bytes = ready!(self.as_mut().poll_fill_buf(cx))?;
        let n = bytes.len().min(buf.remaining());
        buf.put_slice(&bytes[..n]);
        self.consume(n);
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncRead> AsyncBufRead for BufReader<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.project();
        if this.start == this.end {
            let end = ready!(poll_read_behind(this.inner, cx, this.buf, 0))?;
            (*this.start, *this.end) = (0, end);
        }
        Poll::Ready(Ok(&this.buf[*this.start..*this.end]))
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let this = self.project();
        *this.start = this.start.saturating_add(amt).min(*this.end);
    }
}

/// Positions are those of this reader, which are behind the inner reader's by the bytes in the buffer. A
/// seek discards the buffer once the inner reader has moved, even if the new position is within it.
impl<R: AsyncRead + AsyncSeek> AsyncSeek for BufReader<R> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        // Only `poll_complete` can wait, so it does the work.
        *self.project().seek = Seek::To(position);
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let mut this = self.project();
        loop {
            match *this.seek {
                Seek::No => return this.inner.poll_complete(cx),
                Seek::To(position) => {
                    *this.seek = Seek::No;
                    // The inner reader is ahead by this much.
                    let ahead = (*this.end - *this.start) as i64;
                    let (position, next) = match position {
                        SeekFrom::Current(n) => match n.checked_sub(ahead) {
                            Some(n) => (SeekFrom::Current(n), Seek::UnderWay),
                            None => (SeekFrom::Current(-ahead), Seek::Back { then: n }),
                        },
                        position => (position, Seek::UnderWay),
                    };
                    this.inner.as_mut().start_seek(position)?;
                    *this.seek = next;
                }
                Seek::Back { then } => {
                    let back = ready!(this.inner.as_mut().poll_complete(cx));
                    *this.seek = Seek::No;
                    back?;
                    (*this.start, *this.end) = (0, 0);
                    this.inner.as_mut().start_seek(SeekFrom::Current(then))?;
                    *this.seek = Seek::UnderWay;
                }
                Seek::UnderWay => {
                    let at = ready!(this.inner.poll_complete(cx));
                    *this.seek = Seek::No;
                    let at = at?;
                    (*this.start, *this.end) = (0, 0);
                    return Poll::Ready(Ok(at));
                }
            }
        }
    }

    fn poll_settled(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Option<u64>>> {
        let this = self.project();
        let at = ready!(this.inner.poll_settled(cx));
        // A seek that has not reached the inner reader is given up.
        let begun = !matches!(*this.seek, Seek::No | Seek::To(_));
        *this.seek = Seek::No;
        let at = at?;
        if begun && at.is_some() {
            (*this.start, *this.end) = (0, 0);
        }
        Poll::Ready(Ok(at))
    }
}

/// Writes directly to the inner stream.
impl<R: AsyncRead + AsyncWrite> AsyncWrite for BufReader<R> {
    pass_on!(self => self.project().inner, self.inner);
}

impl<R: fmt::Debug> fmt::Debug for BufReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufReader")
            .field("inner", &self.inner)
            .field(
                "buffer",
                &format_args!("{}/{}", self.end - self.start, self.buf.len()),
            )
            .finish_non_exhaustive()
    }
}
