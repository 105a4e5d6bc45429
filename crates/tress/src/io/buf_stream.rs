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
    pub fn new(stream: RW) -> BufStream<RW> {
        BufStream {
            inner: BufReader::new(BufWriter::new(stream)),
        }
    }

    /// Creates a `BufStream` with buffers of the given sizes, in bytes.
    ///
    /// # Panics
    /// If `reader_capacity` is 0.
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
    pub fn get_ref(&self) -> &RW {
        self.inner.get_ref().get_ref()
    }

    /// Returns a mutable reference to the inner stream.
    ///
    /// Using it directly bypasses the bytes in the buffers.
    pub fn get_mut(&mut self) -> &mut RW {
        self.inner.get_mut().get_mut()
    }

    /// Returns a pinned mutable reference to the inner stream.
    ///
    /// Using it directly bypasses the bytes in the buffers.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut RW> {
        self.project().inner.get_pin_mut().get_pin_mut()
    }

    /// Returns the inner stream. Bytes in the buffers are lost.
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
