use super::write::pass_on;
use super::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};
use pin_project_lite::pin_project;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Joins a reader and a writer into one stream.
///
/// It is the opposite of [`split`](super::split()), for any two types.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut stream = tress::io::join(&b"question"[..], Vec::new());
/// let mut text = String::new();
/// stream.read_to_string(&mut text).await?;
/// stream.write_all(b"answer").await?;
/// assert_eq!(text, "question");
/// assert_eq!(stream.into_inner().1, b"answer");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub fn join<R, W>(reader: R, writer: W) -> Join<R, W>
where
    R: AsyncRead,
    W: AsyncWrite,
{
    Join { reader, writer }
}

pin_project! {
    /// A reader and a writer as one stream, created by [`join`].
    ///
    /// # Examples
    /// ```
    /// let mut stream = tress::io::join(tress::io::empty(), Vec::new());
    /// stream.writer_mut().push(1);
    /// let (_reader, writer) = stream.into_inner();
    /// assert_eq!(writer, [1]);
    /// ```
    #[derive(Debug)]
    pub struct Join<R, W> {
        #[pin]
        reader: R,
        #[pin]
        writer: W,
    }
}

impl<R, W> Join<R, W> {
    /// Returns the reader and the writer.
    ///
    /// # Examples
    /// ```
    /// let stream = tress::io::join(&b"in"[..], Vec::<u8>::new());
    /// let (reader, writer) = stream.into_inner();
    /// assert_eq!((reader, writer.len()), (&b"in"[..], 0));
    /// ```
    pub fn into_inner(self) -> (R, W) {
        (self.reader, self.writer)
    }

    /// Returns a reference to the reader.
    ///
    /// # Examples
    /// ```
    /// let stream = tress::io::join(&b"in"[..], tress::io::sink());
    /// assert_eq!(stream.reader(), b"in");
    /// ```
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// Returns a reference to the writer.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncWriteExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut stream = tress::io::join(tress::io::empty(), Vec::new());
    /// stream.write_all(b"out").await?;
    /// assert_eq!(stream.writer(), b"out");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// Returns a mutable reference to the reader.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut stream = tress::io::join(&b"in"[..], tress::io::sink());
    /// assert_eq!(stream.reader_mut().read_u8().await?, b'i');
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Returns a mutable reference to the writer.
    ///
    /// # Examples
    /// ```
    /// let mut stream = tress::io::join(tress::io::empty(), Vec::new());
    /// stream.writer_mut().push(1);
    /// assert_eq!(stream.writer(), &[1]);
    /// ```
    pub fn writer_mut(&mut self) -> &mut W {
        &mut self.writer
    }

    /// Returns a pinned mutable reference to the reader.
    ///
    /// # Examples
    /// ```
    /// use std::pin::pin;
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let stream = pin!(tress::io::join(&b"in"[..], tress::io::sink()));
    /// assert_eq!(stream.reader_pin_mut().read_u8().await?, b'i');
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn reader_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().reader
    }

    /// Returns a pinned mutable reference to the writer.
    ///
    /// # Examples
    /// ```
    /// use std::pin::pin;
    /// use tress::io::AsyncWriteExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut stream = pin!(tress::io::join(tress::io::empty(), Vec::new()));
    /// stream.as_mut().writer_pin_mut().write_all(b"out").await?;
    /// assert_eq!(stream.writer(), b"out");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn writer_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().writer
    }
}

impl<R: AsyncRead, W> AsyncRead for Join<R, W> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.project().reader.poll_read(cx, buf)
    }
}

impl<R: AsyncBufRead, W> AsyncBufRead for Join<R, W> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().reader.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().reader.consume(amt);
    }
}

impl<R, W: AsyncWrite> AsyncWrite for Join<R, W> {
    pass_on!(self => self.project().writer, self.writer);
}
