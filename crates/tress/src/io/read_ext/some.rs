use crate::io::operation::Step;
use crate::io::{AsyncRead, ReadBuf};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// [`AsyncReadExt::read`](crate::io::AsyncReadExt::read).
#[derive(Debug)]
pub struct Read<'a> {
    buf: &'a mut [u8],
}

impl<'a> Read<'a> {
    pub(super) fn new(buf: &'a mut [u8]) -> Self {
        Read { buf }
    }
}

impl<R: AsyncRead + ?Sized> Step<R> for Read<'_> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(self.buf);
        ready!(reader.poll_read(cx, &mut buf))?;
        Poll::Ready(Ok(buf.filled().len()))
    }
}
