use crate::io::AsyncRead;
use crate::io::operation::Step;
use crate::io::uninit::poll_read_uninit;
use bytes::BufMut;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// [`AsyncReadExt::read_buf`](crate::io::AsyncReadExt::read_buf).
#[derive(Debug)]
pub struct ReadInto<'a, B: ?Sized> {
    buf: &'a mut B,
}

impl<'a, B: ?Sized> ReadInto<'a, B> {
    pub(super) fn new(buf: &'a mut B) -> Self {
        ReadInto { buf }
    }
}

impl<R: AsyncRead + ?Sized, B: BufMut + ?Sized> Step<R> for ReadInto<'_, B> {
    type Output = usize;

    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if !self.buf.has_remaining_mut() {
            return Poll::Ready(Ok(0));
        }
        let chunk = self.buf.chunk_mut();
        // SAFETY: nothing but initialised bytes is written to it: it is a `ReadBuf`'s from here on.
        let memory = unsafe { chunk.as_uninit_slice_mut() };
        // SAFETY: none are taken to be initialised.
        let filled = ready!(unsafe { poll_read_uninit(reader, cx, memory, 0) })?;
        // SAFETY: so many bytes of the chunk have just been written.
        unsafe { self.buf.advance_mut(filled.len) };
        Poll::Ready(Ok(filled.len))
    }
}
