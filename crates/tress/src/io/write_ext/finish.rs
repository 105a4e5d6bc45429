use crate::io::AsyncWrite;
use crate::io::operation::Step;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The operation of [`AsyncWriteExt::flush`](crate::io::AsyncWriteExt::flush).
#[derive(Debug)]
pub struct Flush;

impl<W: AsyncWrite + ?Sized> Step<W> for Flush {
    type Output = ();

    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        writer.poll_flush(cx)
    }
}

/// The operation of [`AsyncWriteExt::shutdown`](crate::io::AsyncWriteExt::shutdown).
#[derive(Debug)]
pub struct Shutdown;

impl<W: AsyncWrite + ?Sized> Step<W> for Shutdown {
    type Output = ();

    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        writer.poll_shutdown(cx)
    }
}
