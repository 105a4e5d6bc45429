use super::until::poll_read_until;
use crate::io::AsyncBufRead;
use crate::io::operation::Step;
use crate::io::text::Text;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The operation of [`AsyncBufReadExt::read_line`](crate::io::AsyncBufReadExt::read_line).
#[derive(Debug)]
pub struct ReadLine<'a> {
    text: Text<'a>,
}

impl<'a> ReadLine<'a> {
    pub(super) fn new(line: &'a mut String) -> Self {
        ReadLine {
            text: Text::new(line),
        }
    }
}

impl<R: AsyncBufRead + ?Sized> Step<R> for ReadLine<'_> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        // If this fails, the part of the line that was read is kept when the operation is dropped.
        ready!(poll_read_until(reader, cx, b'\n', &mut self.text.bytes))?;
        Poll::Ready(self.text.commit())
    }
}

impl Drop for ReadLine<'_> {
    fn drop(&mut self) {
        // Bytes that are not UTF-8, or not yet, cannot be in a string.
        let _ = self.text.commit();
    }
}
