use super::exact::poll_read_exact;
use crate::io::AsyncRead;
use crate::io::operation::Step;
use crate::words;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The operation of [`AsyncReadExt::read_u8`](crate::io::AsyncReadExt::read_u8) and its siblings, which
/// read a number `T` of `N` bytes.
#[derive(Debug)]
pub struct ReadNumber<T, const N: usize> {
    bytes: [u8; N],
    filled: usize,
    from_bytes: fn([u8; N]) -> T,
}

impl<T, const N: usize> ReadNumber<T, N> {
    pub(super) fn new(from_bytes: fn([u8; N]) -> T) -> Self {
        ReadNumber {
            bytes: [0; N],
            filled: 0,
            from_bytes,
        }
    }
}

impl<R: AsyncRead + ?Sized, T, const N: usize> Step<R> for ReadNumber<T, N> {
    type Output = T;

    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        ready!(poll_read_exact(
            reader,
            cx,
            &mut self.bytes,
            &mut self.filled,
            words::cut_number,
        ))?;
        Poll::Ready(Ok((self.from_bytes)(self.bytes)))
    }
}
