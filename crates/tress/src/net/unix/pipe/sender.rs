use super::{End, end};
use crate::io::source::Source;
use crate::io::{
    AsyncWrite, AsyncWriteOwned, Buffer, Interest, offered, owned, ring, uninterrupted,
};
use std::io::{self, IoSlice, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use tress_driver::Direction;

/// The end of a pipe that one writes to.
///
/// Writing to a pipe whose readers are gone fails with `BrokenPipe`.
#[derive(Debug)]
pub struct Sender {
    io: Source<mio::unix::pipe::Sender>,
}

end!(
    Sender,
    mio::unix::pipe::Sender,
    End::Write,
    Interest::WRITABLE
);

impl Sender {
    /// Waits until the pipe is writable.
    ///
    /// # Errors
    /// As for [`ready`](Self::ready).
    ///
    /// # Cancel safety
    /// Waiting takes nothing.
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await.map(drop)
    }

    /// Polls for writability. The waker of the last call is woken; of
    /// [`writable`](Self::writable) any number may wait.
    ///
    /// # Errors
    /// As for [`ready`](Self::ready).
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_ready(cx, Direction::Write)
    }

    /// Writes what there is room for, without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; else what the system says.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |mut pipe| {
            uninterrupted(|| pipe.write(buf))
        })
    }

    /// Writes what there is room for from several buffers, one after the other.
    ///
    /// # Errors
    /// As for [`try_write`](Self::try_write).
    pub fn try_write_vectored(&self, buf: &[IoSlice<'_>]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |mut pipe| {
            uninterrupted(|| pipe.write_vectored(buf))
        })
    }
}

impl AsyncWrite for Sender {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io
            .poll_transfer(cx, Direction::Write, buf.len(), |mut pipe| {
                uninterrupted(|| pipe.write(buf))
            })
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wanted = offered(bufs);
        self.io
            .poll_transfer(cx, Direction::Write, wanted, |mut pipe| {
                uninterrupted(|| pipe.write_vectored(bufs))
            })
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Nothing is kept back.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does nothing: a pipe ends when its senders are dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncWriteOwned for Sender {
    async fn write_owned<B: Buffer>(&mut self, buffer: B) -> (io::Result<usize>, B) {
        owned::empty(&self.io, buffer, ring::write, |mut pipe, bytes| {
            uninterrupted(|| pipe.write(bytes))
        })
        .await
    }
}
