use super::all::poll_write_all;
use crate::io::AsyncWrite;
use crate::io::operation::Step;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The operation of [`AsyncWriteExt::write_u8`](crate::io::AsyncWriteExt::write_u8) and its siblings, which
/// write a number of `N` bytes.
#[derive(Debug)]
pub struct WriteNumber<const N: usize> {
    bytes: [u8; N],
    written: usize,
}

impl<const N: usize> WriteNumber<N> {
    pub(super) fn new(bytes: [u8; N]) -> Self {
        WriteNumber { bytes, written: 0 }
    }
}

impl<W: AsyncWrite + ?Sized, const N: usize> Step<W> for WriteNumber<N> {
    type Output = ();

    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut rest = &self.bytes[self.written..];
        let polled = poll_write_all(writer, cx, &mut rest);
        self.written = N - rest.len();
        polled
    }
}
