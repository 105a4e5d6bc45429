use super::AsyncBufRead;
use super::buf_read_ext::poll_read_until;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The lines of a reader, created by [`AsyncBufReadExt::lines`](super::AsyncBufReadExt::lines).
    ///
    /// A line ends with `\n` or `\r\n`, which is not part of what is returned, or with the end of the
    /// reader.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let source: &[u8] = b"hello\r\n\nworld";
    /// let mut lines = source.lines();
    /// while let Some(line) = lines.next_line().await? {
    ///     assert!(["hello", "", "world"].contains(&line.as_str()));
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    #[must_use = "it reads nothing unless asked for a line"]
    pub struct Lines<R> {
        #[pin]
        reader: R,
        // Part of a line that was read and not returned yet.
        line: Vec<u8>,
    }
}

impl<R: AsyncBufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Lines {
            reader,
            line: Vec::new(),
        }
    }

    /// Returns the next line, without its line break, or `None` at the end.
    ///
    /// # Errors
    /// - [`InvalidData`](io::ErrorKind::InvalidData) if the line is not UTF-8. The error holds a
    ///   [`FromUtf8Error`](std::string::FromUtf8Error) with the bytes of the line; the next call returns
    ///   the next line.
    /// - Any error of the reader except [`Interrupted`](io::ErrorKind::Interrupted), after which it tries
    ///   again. The part of the line that was read is kept for the next call.
    ///
    /// # Cancel safety
    /// This method is cancel safe: the part of the line that was read is kept for the next call.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut lines = (&b"hello\nworld"[..]).lines();
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("hello"));
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("world"));
    /// assert_eq!(lines.next_line().await?, None);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn next_line(&mut self) -> io::Result<Option<String>>
    where
        R: Unpin,
    {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_line(cx)).await
    }

    /// Attempts to return the next line, like [`next_line`](Lines::next_line).
    ///
    /// After `Pending` the current task is woken when another attempt may succeed.
    ///
    /// # Errors
    /// See [`next_line`](Lines::next_line).
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use std::pin::Pin;
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut lines = (&b"hello\nworld"[..]).lines();
    /// let first = poll_fn(|cx| Pin::new(&mut lines).poll_next_line(cx)).await?;
    /// assert_eq!(first.as_deref(), Some("hello"));
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_next_line(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<String>>> {
        let this = self.project();
        ready!(poll_read_until(this.reader, cx, b'\n', this.line))?;
        if this.line.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let mut line = mem::take(this.line);
        if line.ends_with(b"\n") {
            line.pop();
            if line.ends_with(b"\r") {
                line.pop();
            }
        }
        let line = String::from_utf8(line)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Poll::Ready(Ok(Some(line)))
    }

    /// Returns a reference to the inner reader.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut lines = (&b"hello\nworld"[..]).lines();
    /// lines.next_line().await?;
    /// assert_eq!(lines.get_ref(), b"world");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_ref(&self) -> &R {
        &self.reader
    }

    /// Returns a mutable reference to the inner reader.
    ///
    /// Bytes that are read from it directly are missing from the lines.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncBufReadExt, AsyncReadExt};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut lines = (&b"hello\nworld"[..]).lines();
    /// lines.get_mut().read_u8().await?;
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("ello"));
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Returns the inner reader. The part of a line that was read and not returned is lost.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut lines = (&b"header\nthe rest"[..]).lines();
    /// lines.next_line().await?;
    /// assert_eq!(lines.into_inner(), b"the rest");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_inner(self) -> R {
        self.reader
    }
}
