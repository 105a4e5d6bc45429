use crate::io::operation::Step;
use crate::io::{AsyncWrite, check_written, is_interrupted};
use crate::words;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The operation of [`AsyncWriteExt::write_all`](crate::io::AsyncWriteExt::write_all).
#[derive(Debug)]
pub struct WriteAll<'a> {
    rest: &'a [u8],
}

impl<'a> WriteAll<'a> {
    pub(super) fn new(buf: &'a [u8]) -> Self {
        WriteAll { rest: buf }
    }
}

impl<W: AsyncWrite + ?Sized> Step<W> for WriteAll<'_> {
    type Output = ();

    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        poll_write_all(writer, cx, &mut self.rest)
    }
}

/// Goes on writing, and leaves in `rest` what remains to be written.
pub(super) fn poll_write_all<W: AsyncWrite + ?Sized>(
    mut writer: Pin<&mut W>,
    cx: &mut Context<'_>,
    rest: &mut &[u8],
) -> Poll<io::Result<()>> {
    while !rest.is_empty() {
        match ready!(writer.as_mut().poll_write(cx, rest)) {
            Ok(0) => return Poll::Ready(Err(words::write_zero())),
            Ok(n) => {
                check_written(n, rest.len());
                *rest = &rest[n..];
            }
            Err(error) if is_interrupted(&error) => {}
            Err(error) => return Poll::Ready(Err(error)),
        }
    }
    Poll::Ready(Ok(()))
}
