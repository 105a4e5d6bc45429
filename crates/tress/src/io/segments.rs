use super::AsyncBufRead;
use super::buf_read_ext::poll_read_until;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The segments of a reader between separators, created by
    /// [`AsyncBufReadExt::split`](super::AsyncBufReadExt::split).
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncBufReadExt, BufReader};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let source: &[u8] = b"usr/local/bin";
    /// let mut names = BufReader::new(source).split(b'/');
    /// assert_eq!(names.next_segment().await?.unwrap(), b"usr");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    #[must_use = "it reads nothing unless asked for a segment"]
    pub struct Split<R> {
        #[pin]
        reader: R,
        byte: u8,
        // Part of a segment that was read and not returned yet.
        segment: Vec<u8>,
    }
}

impl<R: AsyncBufRead> Split<R> {
    pub(super) fn new(reader: R, byte: u8) -> Self {
        Split {
            reader,
            byte,
            segment: Vec::new(),
        }
    }

    /// Returns the next segment, without the separator that ends it, or `None` at the end.
    ///
    /// Two separators in a row have an empty segment between them. A separator at the very end is not
    /// followed by another segment.
    ///
    /// # Errors
    /// Any error of the reader except [`Interrupted`](io::ErrorKind::Interrupted), after which it tries
    /// again. The part of the segment that was read is kept for the next call.
    ///
    /// # Cancel safety
    /// This method is cancel safe: the part of the segment that was read is kept for the next call.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut fields = AsyncBufReadExt::split(&b"a,,b,"[..], b',');
    /// assert_eq!(fields.next_segment().await?.as_deref(), Some(&b"a"[..]));
    /// assert_eq!(fields.next_segment().await?.as_deref(), Some(&b""[..]));
    /// assert_eq!(fields.next_segment().await?.as_deref(), Some(&b"b"[..]));
    /// assert_eq!(fields.next_segment().await?, None);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn next_segment(&mut self) -> io::Result<Option<Vec<u8>>>
    where
        R: Unpin,
    {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_segment(cx)).await
    }

    /// Attempts to return the next segment, like [`next_segment`](Split::next_segment).
    ///
    /// After `Pending` the current task is woken when another attempt may succeed.
    ///
    /// # Errors
    /// See [`next_segment`](Split::next_segment).
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use std::pin::Pin;
    /// use tress::io::AsyncBufReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut fields = AsyncBufReadExt::split(&b"a,b"[..], b',');
    /// let first = poll_fn(|cx| Pin::new(&mut fields).poll_next_segment(cx)).await?;
    /// assert_eq!(first.as_deref(), Some(&b"a"[..]));
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_next_segment(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Vec<u8>>>> {
        let this = self.project();
        ready!(poll_read_until(this.reader, cx, *this.byte, this.segment))?;
        if this.segment.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let mut segment = mem::take(this.segment);
        if segment.last() == Some(this.byte) {
            segment.pop();
        }
        Poll::Ready(Ok(Some(segment)))
    }
}
