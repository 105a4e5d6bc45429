use crate::io::AsyncWrite;
use crate::io::operation::Step;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The operation of [`AsyncWriteExt::write`](crate::io::AsyncWriteExt::write).
#[derive(Debug)]
pub struct Write<'a> {
    buf: &'a [u8],
}

impl<'a> Write<'a> {
    pub(super) fn new(buf: &'a [u8]) -> Self {
        Write { buf }
    }
}

impl<W: AsyncWrite + ?Sized> Step<W> for Write<'_> {
    type Output = usize;

    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        writer.poll_write(cx, self.buf)
    }
}

/// The operation of [`AsyncWriteExt::write_vectored`](crate::io::AsyncWriteExt::write_vectored).
#[derive(Debug)]
pub struct WriteVectored<'a, 'b> {
    bufs: &'a [IoSlice<'b>],
}

impl<'a, 'b> WriteVectored<'a, 'b> {
    pub(super) fn new(bufs: &'a [IoSlice<'b>]) -> Self {
        WriteVectored { bufs }
    }
}

impl<W: AsyncWrite + ?Sized> Step<W> for WriteVectored<'_, '_> {
    type Output = usize;

    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        writer.poll_write_vectored(cx, self.bufs)
    }
}
