use crate::io::operation::Step;
use crate::io::uninit::poll_read_behind;
use crate::io::{AsyncRead, is_interrupted};
use crate::words;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The operation of [`AsyncReadExt::read_exact`](crate::io::AsyncReadExt::read_exact).
#[derive(Debug)]
pub struct ReadExact<'a> {
    buf: &'a mut [u8],
    filled: usize,
}

impl<'a> ReadExact<'a> {
    pub(super) fn new(buf: &'a mut [u8]) -> Self {
        ReadExact { buf, filled: 0 }
    }
}

impl<R: AsyncRead + ?Sized> Step<R> for ReadExact<'_> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let end = words::early_end;
        ready!(poll_read_exact(reader, cx, self.buf, &mut self.filled, end))?;
        Poll::Ready(Ok(self.buf.len()))
    }
}

/// Goes on filling `bytes`, of which the first `filled` have been read. An early end is the error `end`.
pub(super) fn poll_read_exact<R: AsyncRead + ?Sized>(
    mut reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    bytes: &mut [u8],
    filled: &mut usize,
    end: fn() -> io::Error,
) -> Poll<io::Result<()>> {
    while *filled < bytes.len() {
        match ready!(poll_read_behind(reader.as_mut(), cx, bytes, *filled)) {
            Ok(now) if now == *filled => return Poll::Ready(Err(end())),
            Ok(now) => *filled = now,
            Err(error) if is_interrupted(&error) => {}
            Err(error) => return Poll::Ready(Err(error)),
        }
    }
    Poll::Ready(Ok(()))
}
