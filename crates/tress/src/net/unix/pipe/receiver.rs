use super::{End, end};
use crate::io::source::Source;
use crate::io::{
    AsyncRead, AsyncReadOwned, BufferMut, Interest, ReadBuf, owned, ring, uninterrupted,
};
#[cfg(feature = "bytes")]
use crate::net::readiness::fill;
use std::io::{self, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use tress_driver::Direction;

/// The end of a pipe that one reads from.
///
/// Reading finds the end when all senders are gone. A named pipe may get new ones later.
#[derive(Debug)]
pub struct Receiver {
    io: Source<mio::unix::pipe::Receiver>,
}

end!(
    Receiver,
    mio::unix::pipe::Receiver,
    End::Read,
    Interest::READABLE
);

impl Receiver {
    /// Waits until the pipe is readable.
    ///
    /// # Errors
    /// As for [`ready`](Self::ready).
    ///
    /// # Cancel safety
    /// Waiting takes nothing.
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await.map(drop)
    }

    /// Polls for readability. The waker of the last call is woken; of
    /// [`readable`](Self::readable) any number may wait.
    ///
    /// # Errors
    /// As for [`ready`](Self::ready).
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_ready(cx, Direction::Read)
    }

    /// Reads what there is, without waiting. 0 is the end, or an empty buffer.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; else what the system says.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(read) = self.io.try_leftover(buf) {
            return read;
        }
        self.io.try_io(Interest::READABLE, |mut pipe| {
            uninterrupted(|| pipe.read(buf))
        })
    }

    /// Reads what there is into several buffers, one after the other.
    ///
    /// # Errors
    /// As for [`try_read`](Self::try_read).
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        if let Some(read) = self.io.try_leftover_vectored(bufs) {
            return read;
        }
        self.io.try_io(Interest::READABLE, |mut pipe| {
            uninterrupted(|| pipe.read_vectored(bufs))
        })
    }

    /// Reads what there is into a buffer that grows or keeps its place by itself.
    ///
    /// # Errors
    /// As for [`try_read`](Self::try_read).
    #[cfg(feature = "bytes")]
    pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        if self.io.leftover().is_some() {
            // SAFETY: it initialises as many bytes as it says.
            return unsafe { fill(buf, |room| self.io.try_leftover_uninit(room)) };
        }
        self.io.try_io(Interest::READABLE, |pipe| {
            // SAFETY: reading initialises as many bytes as it says.
            unsafe { fill(buf, |room| read(pipe, room)) }
        })
    }
}

impl AsyncRead for Receiver {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: reading initialises as many bytes as it says.
        unsafe { self.io.poll_read(cx, buf, read) }
    }
}

impl AsyncReadOwned for Receiver {
    async fn read_owned<B: BufferMut>(&mut self, buffer: B) -> (io::Result<usize>, B) {
        // A named pipe whose first sender is still to come would say that it has ended.
        if let Err(error) = self.readable().await {
            return (Err(error), buffer);
        }
        // SAFETY: reading initialises as many bytes as it says.
        unsafe { owned::fill(&self.io, buffer, ring::read, read) }.await
    }
}

/// Reads into memory that need not be initialised; as many bytes of it are afterwards as this says.
fn read(pipe: &mio::unix::pipe::Receiver, room: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    uninterrupted(|| {
        // SAFETY: the kernel writes no more than `room` holds, and the descriptor is open.
        match unsafe { libc::read(pipe.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) } {
            -1 => Err(io::Error::last_os_error()),
            n => Ok(n as usize),
        }
    })
}
