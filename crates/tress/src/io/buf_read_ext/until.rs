use crate::io::operation::Step;
use crate::io::{AsyncBufRead, is_interrupted};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The operation of [`AsyncBufReadExt::read_until`](crate::io::AsyncBufReadExt::read_until).
#[derive(Debug)]
pub struct ReadUntil<'a> {
    byte: u8,
    buf: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> ReadUntil<'a> {
    pub(super) fn new(byte: u8, buf: &'a mut Vec<u8>) -> Self {
        let start = buf.len();
        ReadUntil { byte, buf, start }
    }
}

impl<R: AsyncBufRead + ?Sized> Step<R> for ReadUntil<'_> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        ready!(poll_read_until(reader, cx, self.byte, self.buf))?;
        Poll::Ready(Ok(self.buf.len() - self.start))
    }
}

/// Appends everything up to and including the next `byte`, or up to the end.
pub(in crate::io) fn poll_read_until<R: AsyncBufRead + ?Sized>(
    mut reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    byte: u8,
    buf: &mut Vec<u8>,
) -> Poll<io::Result<()>> {
    loop {
        let available = match ready!(reader.as_mut().poll_fill_buf(cx)) {
            Ok(available) => available,
            Err(error) if is_interrupted(&error) => continue,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let found = available.iter().position(|&b| b == byte);
        let n = found.map_or(available.len(), |at| at + 1);
        buf.extend_from_slice(&available[..n]);
        reader.as_mut().consume(n);
        if found.is_some() || n == 0 {
            return Poll::Ready(Ok(()));
        }
    }
}
