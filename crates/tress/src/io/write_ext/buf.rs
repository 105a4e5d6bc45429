use crate::io::operation::Step;
use crate::io::{AsyncWrite, is_interrupted};
use crate::words;
use bytes::Buf;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Maximum number of pieces of a buffer that are written at once.
const PIECES: usize = 64;

/// The operation of [`AsyncWriteExt::write_buf`](crate::io::AsyncWriteExt::write_buf).
#[derive(Debug)]
pub struct WriteFrom<'a, B> {
    buf: &'a mut B,
}

impl<'a, B> WriteFrom<'a, B> {
    pub(super) fn new(buf: &'a mut B) -> Self {
        WriteFrom { buf }
    }
}

impl<W: AsyncWrite + ?Sized, B: Buf> Step<W> for WriteFrom<'_, B> {
    type Output = usize;

    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if !self.buf.has_remaining() {
            return Poll::Ready(Ok(0));
        }
        let n = if writer.is_write_vectored() {
            let mut pieces = [IoSlice::new(&[]); PIECES];
            let count = self.buf.chunks_vectored(&mut pieces);
            ready!(writer.poll_write_vectored(cx, &pieces[..count]))?
        } else {
            ready!(writer.poll_write(cx, self.buf.chunk()))?
        };
        self.buf.advance(n);
        Poll::Ready(Ok(n))
    }
}

/// The operation of [`AsyncWriteExt::write_all_buf`](crate::io::AsyncWriteExt::write_all_buf).
#[derive(Debug)]
pub struct WriteAllFrom<'a, B> {
    some: WriteFrom<'a, B>,
}

impl<'a, B> WriteAllFrom<'a, B> {
    pub(super) fn new(buf: &'a mut B) -> Self {
        WriteAllFrom {
            some: WriteFrom::new(buf),
        }
    }
}

impl<W: AsyncWrite + ?Sized, B: Buf> Step<W> for WriteAllFrom<'_, B> {
    type Output = ();

    fn poll(&mut self, mut writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.some.buf.has_remaining() {
            match ready!(self.some.poll(writer.as_mut(), cx)) {
                Ok(0) => return Poll::Ready(Err(words::write_zero())),
                Ok(_) => {}
                Err(error) if is_interrupted(&error) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}
