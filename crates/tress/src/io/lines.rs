use super::AsyncBufRead;
use super::buf_read_ext::poll_read_until;
use pin_project_lite::pin_project;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// The lines of a source; made by [`AsyncBufReadExt::lines`](super::AsyncBufReadExt::lines).
    ///
    /// A line ends with `\n` or `\r\n`, which is not part of what is returned, or with the source.
    ///
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
        // What there is of a line.
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

    /// The next line, or `None` at the end.
    ///
    /// # Errors
    /// - [`InvalidData`](io::ErrorKind::InvalidData) if the line is not UTF-8. The error holds a
    ///   [`FromUtf8Error`](std::string::FromUtf8Error) with its bytes; the next call returns the next
    ///   line.
    /// - Those of the source, except `Interrupted`. What there is of the line is kept for the next
    ///   call.
    ///
    /// # Cancel safety
    /// Cancel safe: what there is of the line is kept for the next call.
    pub async fn next_line(&mut self) -> io::Result<Option<String>>
    where
        R: Unpin,
    {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_line(cx)).await
    }

    /// The next line, as [`next_line`](Lines::next_line) returns it, if it is there.
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

    /// The source.
    pub fn get_ref(&self) -> &R {
        &self.reader
    }

    /// The source. Reading from it directly mixes up the lines.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// The source. What has been read of a line that was not returned is lost.
    pub fn into_inner(self) -> R {
        self.reader
    }
}
