use crate::io::AsyncRead;
use crate::io::operation::Step;
use crate::io::uninit::poll_read_uninit;
use bytes::BufMut;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The operation of [`AsyncReadExt::read_buf`](crate::io::AsyncReadExt::read_buf).
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
        // SAFETY: only initialized bytes are written to it, because from here on it is the memory of a
        // `ReadBuf`.
        let memory = unsafe { chunk.as_uninit_slice_mut() };
        // SAFETY: none are taken to be initialized.
        let filled = ready!(unsafe { poll_read_uninit(reader, cx, memory, 0) })?;
        // SAFETY: `filled.len` bytes of the chunk have just been written.
        unsafe { self.buf.advance_mut(filled.len) };
        Poll::Ready(Ok(filled.len))
    }
}
