use super::write::pass_on;
use super::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, BufReader, BufWriter, ReadBuf};
use super::{buf_reader, buf_writer};
use pin_project_lite::pin_project;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// Adds a buffer for each direction to a stream.
    ///
    /// It is a [`BufReader`] and a [`BufWriter`] in one. Dropping it, or calling
    /// [`into_inner`](BufStream::into_inner), loses the bytes that are still in the buffers:
    /// [`flush`](super::AsyncWriteExt::flush) it first.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (here, there) = tress::io::duplex(64);
    /// let (mut client, mut server) = (BufStream::new(here), BufStream::new(there));
    /// client.write_all(b"who is there?\n").await?;
    /// client.flush().await?;
    /// let mut line = String::new();
    /// server.read_line(&mut line).await?;
    /// assert_eq!(line, "who is there?\n");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    pub struct BufStream<RW> {
        #[pin]
        inner: BufReader<BufWriter<RW>>,
    }
}

impl<RW: AsyncRead + AsyncWrite> BufStream<RW> {
    /// Creates a `BufStream` with two buffers of 8 KiB.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncBufReadExt, AsyncWriteExt, BufStream, duplex};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, far) = duplex(64);
    /// let (mut near, mut far) = (BufStream::new(near), BufStream::new(far));
    /// near.write_all(b"hello\n").await?;
    /// near.flush().await?;
    /// let mut line = String::new();
    /// far.read_line(&mut line).await?;
    /// assert_eq!(line, "hello\n");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn new(stream: RW) -> BufStream<RW> {
        BufStream {
            inner: BufReader::new(BufWriter::new(stream)),
        }
    }

    /// Creates a `BufStream` with buffers of the given sizes, in bytes.
    ///
    /// # Panics
    /// Panics if `reader_capacity` is 0.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{BufStream, duplex};
    ///
    /// let (near, _far) = duplex(64);
    /// let stream = BufStream::with_capacity(64 * 1024, 4 * 1024, near);
    /// # drop(stream);
    /// ```
    #[track_caller]
    pub fn with_capacity(
        reader_capacity: usize,
        writer_capacity: usize,
        stream: RW,
    ) -> BufStream<RW> {
        let writer = BufWriter::with_capacity(writer_capacity, stream);
        BufStream {
            inner: BufReader::with_capacity(reader_capacity, writer),
        }
    }

    /// Returns a reference to the inner stream.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{BufStream, join};
    ///
    /// let stream = BufStream::new(join(&b"in"[..], Vec::new()));
    /// assert_eq!(stream.get_ref().reader(), b"in");
    /// ```
    pub fn get_ref(&self) -> &RW {
        self.inner.get_ref().get_ref()
    }

    /// Returns a mutable reference to the inner stream.
    ///
    /// Using it directly bypasses the bytes in the buffers.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{BufStream, join};
    ///
    /// let mut stream = BufStream::new(join(&b"in"[..], Vec::new()));
    /// stream.get_mut().writer_mut().push(1);
    /// assert_eq!(stream.get_ref().writer(), &[1]);
    /// ```
    pub fn get_mut(&mut self) -> &mut RW {
        self.inner.get_mut().get_mut()
    }

    /// Returns a pinned mutable reference to the inner stream.
    ///
    /// Using it directly bypasses the bytes in the buffers.
    ///
    /// # Examples
    /// ```
    /// use std::pin::pin;
    /// use tress::io::{BufStream, join};
    ///
    /// let mut stream = pin!(BufStream::new(join(&b"in"[..], Vec::new())));
    /// stream.as_mut().get_pin_mut().writer_mut().push(1);
    /// assert_eq!(stream.get_ref().writer(), &[1]);
    /// ```
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut RW> {
        self.project().inner.get_pin_mut().get_pin_mut()
    }

    /// Returns the inner stream.
    ///
    /// Bytes in the buffers are lost: [flush](super::AsyncWriteExt::flush) the stream before.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncWriteExt, BufStream, join};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut stream = BufStream::new(join(tress::io::empty(), Vec::new()));
    /// stream.write_all(b"out").await?;
    /// stream.flush().await?;
    /// assert_eq!(stream.into_inner().into_inner().1, b"out");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_inner(self) -> RW {
        self.inner.into_inner().into_inner()
    }
}

impl<RW> From<BufReader<BufWriter<RW>>> for BufStream<RW> {
    fn from(inner: BufReader<BufWriter<RW>>) -> Self {
        BufStream { inner }
    }
}

impl<RW> From<BufWriter<BufReader<RW>>> for BufStream<RW> {
    /// Takes over both buffers with the bytes in them. A seek that is not complete is given up.
    fn from(outer: BufWriter<BufReader<RW>>) -> Self {
        let reader = outer.inner;
        BufStream {
            inner: BufReader {
                inner: BufWriter {
                    inner: reader.inner,
                    buf: outer.buf,
                    written: outer.written,
                    seek: buf_writer::Seek::No,
                },
                buf: reader.buf,
                start: reader.start,
                end: reader.end,
                seek: buf_reader::Seek::No,
            },
        }
    }
}

impl<RW: AsyncRead + AsyncWrite> AsyncRead for BufStream<RW> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.project().inner.poll_read(cx, buf)
    }
}

impl<RW: AsyncRead + AsyncWrite> AsyncBufRead for BufStream<RW> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().inner.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().inner.consume(amt);
    }
}

impl<RW: AsyncRead + AsyncWrite> AsyncWrite for BufStream<RW> {
    pass_on!(self => self.project().inner, self.inner);
}

/// Writes the bytes of the write buffer to the stream before it moves the position, and discards those of
/// the read buffer.
impl<RW: AsyncRead + AsyncWrite + AsyncSeek> AsyncSeek for BufStream<RW> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        self.project().inner.start_seek(position)
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.project().inner.poll_complete(cx)
    }

    fn poll_settled(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Option<u64>>> {
        self.project().inner.poll_settled(cx)
    }
}
