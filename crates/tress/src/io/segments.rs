use super::AsyncBufRead;
use super::buf_read_ext::poll_read_until;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The pieces of a source between one byte and the next; made by
    /// [`AsyncBufReadExt::split`](super::AsyncBufReadExt::split).
    ///
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
        // What there is of a segment.
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

    /// The next segment, without the byte that ends it, or `None` at the end.
    ///
    /// # Errors
    /// Those of the source, except `Interrupted`. What there is of the segment is kept for the next
    /// call.
    ///
    /// # Cancel safety
    /// Cancel safe: what there is of the segment is kept for the next call.
    pub async fn next_segment(&mut self) -> io::Result<Option<Vec<u8>>>
    where
        R: Unpin,
    {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_segment(cx)).await
    }

    /// The next segment, as [`next_segment`](Split::next_segment) returns it, if it is there.
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
