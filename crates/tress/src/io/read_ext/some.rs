use crate::io::AsyncRead;
use crate::io::operation::Step;
use crate::io::uninit::poll_read_behind;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The operation of [`AsyncReadExt::read`](crate::io::AsyncReadExt::read).
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
        poll_read_behind(reader, cx, self.buf, 0)
    }
}
