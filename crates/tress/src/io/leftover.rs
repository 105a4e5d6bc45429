//! Bytes that dropped owned reads of a source have received, and that are read before anything else.
//!
//! Every kind of read looks here first. That costs a load of a flag, and only for sources that were ever
//! read by an operation of a ring. Foreign code that uses the descriptor (`try_io`, `async_io`) cannot be
//! given the bytes: it is refused until they are read.

use super::ReadBuf;
use super::ring::{Leftover, Loan};
use super::source::Source;
use std::io;
#[cfg(feature = "net")]
use std::io::IoSliceMut;
#[cfg(feature = "net")]
use std::mem::MaybeUninit;
use std::task::{Context, Poll, ready};

#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "mostly for sockets"))]
impl<T: tress_driver::Source> Source<T> {
    /// Returns the bytes, if there are any or a dropped read is still under way.
    #[inline]
    pub(crate) fn leftover(&self) -> Option<&Leftover> {
        self.inner.loan().leftover()
    }

    /// Reads into a buffer. Returns `None` if there is nothing, and the source itself is to be read.
    #[inline]
    pub(crate) fn poll_leftover(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<Option<io::Result<()>>> {
        match self.leftover() {
            None => Poll::Ready(None),
            Some(leftover) => poll_read(leftover, cx, buf),
        }
    }

    /// Reads what there is without waiting, as `try_read` does.
    #[cfg(feature = "net")]
    pub(crate) fn try_leftover(&self, buf: &mut [u8]) -> Option<io::Result<usize>> {
        // SAFETY: only bytes that have a value are written to it.
        let room = unsafe { &mut *(std::ptr::from_mut(buf) as *mut [MaybeUninit<u8>]) };
        self.leftover()?.read(room)
    }

    /// Reads like `try_leftover`, into the first buffer that has room.
    #[cfg(feature = "net")]
    pub(crate) fn try_leftover_vectored(
        &self,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Option<io::Result<usize>> {
        self.leftover()?;
        match bufs.iter_mut().find(|buf| !buf.is_empty()) {
            Some(buf) => self.try_leftover(buf),
            None => self.try_leftover(&mut []),
        }
    }

    /// Reads like `try_leftover`, into memory that need not be initialized. The bytes whose number is
    /// returned are initialized.
    #[cfg(all(feature = "net", feature = "bytes"))]
    pub(crate) fn try_leftover_uninit(&self, room: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        let read = self.leftover().and_then(|leftover| leftover.read(room));
        // Otherwise another task has read it meanwhile.
        read.unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
    }

    /// Reads like `poll_leftover`, leaves the bytes in place, and returns how many they are.
    #[cfg(feature = "net")]
    pub(crate) fn poll_peek_leftover(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<Option<io::Result<usize>>> {
        let Some(leftover) = self.leftover() else {
            return Poll::Ready(None);
        };
        if !ready!(leftover.poll(cx)) {
            return Poll::Ready(None);
        }
        // SAFETY: nothing is de-initialized: bytes that have a value are written to it.
        let peeked = leftover.peek(unsafe { buf.unfilled_mut() });
        Poll::Ready(peeked.map(|peeked| filled(buf, peeked)))
    }
}

impl Loan {
    /// Polls until foreign code may use the descriptor.
    ///
    /// # Errors
    /// There are bytes that must be read first.
    #[inline]
    pub(super) fn poll_settled(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.leftover() {
            None => Poll::Ready(Ok(())),
            Some(leftover) => Poll::Ready(match ready!(leftover.poll(cx)) {
                true => Err(unread()),
                false => Ok(()),
            }),
        }
    }

    /// Returns what `poll_settled` would, without waiting.
    pub(super) fn try_settled(&self) -> io::Result<()> {
        match self.leftover().map(|leftover| leftover.peek(&mut [])) {
            None | Some(None) => Ok(()),
            Some(Some(Err(error))) => Err(error),
            Some(Some(Ok(_))) => Err(unread()),
        }
    }
}

fn poll_read(
    leftover: &Leftover,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<Option<io::Result<()>>> {
    if !ready!(leftover.poll(cx)) {
        return Poll::Ready(None);
    }
    // SAFETY: nothing is de-initialized: bytes that have a value are written to it.
    let read = leftover.read(unsafe { buf.unfilled_mut() });
    Poll::Ready(read.map(|read| filled(buf, read).map(drop)))
}

/// Counts the bytes that `Leftover` has put into a buffer.
fn filled(buf: &mut ReadBuf<'_>, read: io::Result<usize>) -> io::Result<usize> {
    let n = read?;
    // SAFETY: `n` bytes were initialized.
    unsafe { buf.assume_init(n) };
    buf.advance(n);
    Ok(n)
}

fn unread() -> io::Error {
    io::Error::other(
        "an owned read that was dropped has received bytes that were not read: read them first, by `try_read` \
         or any other read",
    )
}
