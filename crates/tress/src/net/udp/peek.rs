use super::UdpSocket;
use super::receive::internet;
use crate::io::{Interest, ReadBuf, uninterrupted};
use crate::net::messages::poll_fill;
use crate::net::readiness::Socket;
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use tress_driver::Direction;

/// Looking at the next datagram without taking it.
impl UdpSocket {
    /// Copies the next datagram without taking it, and says how long it is (or how much of it fits).
    ///
    /// # Errors
    /// What the system says: also of datagrams sent earlier that did not arrive.
    ///
    /// # Cancel safety
    /// Nothing is taken.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io
            .io(Interest::READABLE, |socket| {
                uninterrupted(|| socket.peek(buf))
            })
            .await
    }

    /// As [`peek`](Self::peek), by poll. The waker of the last poll that receives is woken.
    ///
    /// # Errors
    /// As for [`peek`](Self::peek).
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let peek = |socket: &mio::net::UdpSocket, room: &mut [MaybeUninit<u8>]| {
            let n = socket.attempt(|socket| socket.peek(room))?;
            Ok((n, ()))
        };
        // SAFETY: peeking initialises as many bytes as it says.
        unsafe { poll_fill(&self.io, cx, buf, peek) }
    }

    /// As [`peek`](Self::peek), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; else what the system says.
    pub fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |socket| {
            uninterrupted(|| socket.peek(buf))
        })
    }

    /// As [`peek`](Self::peek), and says who the datagram is from.
    ///
    /// # Errors
    /// As for [`peek`](Self::peek).
    ///
    /// # Cancel safety
    /// Nothing is taken.
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io
            .io(Interest::READABLE, |socket| {
                uninterrupted(|| socket.peek_from(buf))
            })
            .await
    }

    /// As [`peek_from`](Self::peek_from), by poll. The waker of the last poll that receives is woken.
    ///
    /// # Errors
    /// As for [`peek`](Self::peek).
    pub fn poll_peek_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let peek = |socket: &mio::net::UdpSocket, room: &mut [MaybeUninit<u8>]| {
            let (n, from) = socket.attempt(|socket| socket.peek_from(room))?;
            Ok((n, internet(from)?))
        };
        // SAFETY: peeking initialises as many bytes as it says.
        unsafe { poll_fill(&self.io, cx, buf, peek) }
    }

    /// As [`peek_from`](Self::peek_from), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; else what the system says.
    pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, |socket| {
            uninterrupted(|| socket.peek_from(buf))
        })
    }

    /// Who the next datagram is from.
    ///
    /// # Errors
    /// As for [`peek`](Self::peek).
    ///
    /// # Cancel safety
    /// Nothing is taken.
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.io(Interest::READABLE, sender).await
    }

    /// As [`peek_sender`](Self::peek_sender), by poll. The waker of the last poll that receives is
    /// woken.
    ///
    /// # Errors
    /// As for [`peek`](Self::peek).
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.io.poll_io(cx, Direction::Read, sender)
    }

    /// As [`peek_sender`](Self::peek_sender), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; else what the system says.
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.try_io(Interest::READABLE, sender)
    }
}

fn sender(socket: &mio::net::UdpSocket) -> io::Result<SocketAddr> {
    internet(socket.attempt(|socket| socket.peek_sender())?)
}
