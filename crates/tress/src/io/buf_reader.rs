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
    /// A buffer in front of a source, for many small reads.
    ///
    /// It reads as much as fits into the buffer at once, and a read that is at least as large as the
    /// buffer goes past it. A source that is in memory anyway needs none.
    ///
    /// Dropping it, or taking it apart with [`into_inner`](BufReader::into_inner), loses what is in the
    /// buffer.
    ///
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
        // Read from the source, and not from here: `buf[start..end]`.
        pub(super) start: usize,
        pub(super) end: usize,
        pub(super) seek: Seek,
    }
}

/// A seek, which has to do without what is in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seek {
    No,
    /// Asked for, and not begun.
    To(SeekFrom),
    /// The source goes back to where this reader is, and by so much from there: together it was more
    /// than a seek can express.
    Back {
        then: i64,
    },
    /// The source goes to where it was asked for.
    UnderWay,
}

impl<R: AsyncRead> BufReader<R> {
    /// With a buffer of 8 KiB.
    pub fn new(inner: R) -> Self {
        BufReader::with_capacity(DEFAULT_BUF_SIZE, inner)
    }

    /// With a buffer of `capacity` bytes.
    ///
    /// # Panics
    /// If that is 0.
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

    /// The source.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// The source. Reading from it directly leaves out what is in the buffer.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The source. Reading from it directly leaves out what is in the buffer.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// The source. What is in the buffer is lost.
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// What is in the buffer. Unlike `fill_buf` it does not fill it.
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

/// A position is this reader's: what is in the buffer has not been read. It is given up when the
/// source has moved.
impl<R: AsyncRead + AsyncSeek> AsyncSeek for BufReader<R> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        // To begin it may take more than one try: `poll_complete` does it.
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
                    // The source is ahead by that.
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
        // One that has not reached the source never will.
        let begun = !matches!(*this.seek, Seek::No | Seek::To(_));
        *this.seek = Seek::No;
        let at = at?;
        if begun && at.is_some() {
            (*this.start, *this.end) = (0, 0);
        }
        Poll::Ready(Ok(at))
    }
}

/// Writing goes past the buffer.
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
