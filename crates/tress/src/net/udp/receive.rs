use super::UdpSocket;
use crate::io::{Interest, ReadBuf, uninterrupted};
#[cfg(feature = "bytes")]
use crate::net::readiness::fill;
use crate::net::readiness::{Socket, receive};
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};
use tress_driver::Direction;

/// Receiving.
impl UdpSocket {
    /// Receives a datagram, from the peer it is connected to if it is, and says how long it is.
    ///
    /// # Errors
    /// What the system says: also of datagrams sent earlier that did not arrive.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, no datagram was taken.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io
            .io(Interest::READABLE, |socket| {
                uninterrupted(|| socket.recv(buf))
            })
            .await
    }

    /// As [`recv`](Self::recv), by poll. The waker of the last poll that receives is woken.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let filled = |socket: &mio::net::UdpSocket, room: &mut [MaybeUninit<u8>]| {
            receive(socket, room).map(|n| (n, ()))
        };
        // SAFETY: receiving initialises as many bytes as it says.
        unsafe { self.poll_fill(cx, buf, filled) }
    }

    /// As [`recv`](Self::recv), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; else what the system says.
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |socket| {
            uninterrupted(|| socket.recv(buf))
        })
    }

    /// As [`recv`](Self::recv), into the room that a buffer offers. Give it enough: what does not
    /// fit is lost.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    ///
    /// # Cancel safety
    /// As for [`recv`](Self::recv).
    #[cfg(feature = "bytes")]
    pub async fn recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io
            .io(Interest::READABLE, |socket| {
                // SAFETY: receiving initialises as many bytes as it says.
                unsafe { fill(buf, |room| receive(socket, room)) }
            })
            .await
    }

    /// As [`recv_buf`](Self::recv_buf), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; else what the system says.
    #[cfg(feature = "bytes")]
    pub fn try_recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |socket| {
            // SAFETY: receiving initialises as many bytes as it says.
            unsafe { fill(buf, |room| receive(socket, room)) }
        })
    }

    /// Receives a datagram, and says how long it is and who it is from.
    ///
    /// # Errors
    /// What the system says: also of datagrams sent earlier that did not arrive.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, no datagram was taken.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io
            .io(Interest::READABLE, |socket| {
                uninterrupted(|| socket.recv_from(buf))
            })
            .await
    }

    /// As [`recv_from`](Self::recv_from), by poll. The waker of the last poll that receives is woken.
    ///
    /// # Errors
    /// As for [`recv_from`](Self::recv_from).
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        // SAFETY: receiving initialises as many bytes as it says.
        unsafe { self.poll_fill(cx, buf, receive_from) }
    }

    /// As [`recv_from`](Self::recv_from), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; else what the system says.
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, |socket| {
            uninterrupted(|| socket.recv_from(buf))
        })
    }

    /// As [`recv_from`](Self::recv_from), into the room that a buffer offers. Give it enough: what
    /// does not fit is lost.
    ///
    /// # Errors
    /// As for [`recv_from`](Self::recv_from).
    ///
    /// # Cancel safety
    /// As for [`recv_from`](Self::recv_from).
    #[cfg(feature = "bytes")]
    pub async fn recv_buf_from<B: bytes::BufMut>(
        &self,
        buf: &mut B,
    ) -> io::Result<(usize, SocketAddr)> {
        self.io
            .io(Interest::READABLE, |socket| fill_from(socket, buf))
            .await
    }

    /// As [`recv_buf_from`](Self::recv_buf_from), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; else what the system says.
    #[cfg(feature = "bytes")]
    pub fn try_recv_buf_from<B: bytes::BufMut>(
        &self,
        buf: &mut B,
    ) -> io::Result<(usize, SocketAddr)> {
        self.io
            .try_io(Interest::READABLE, |socket| fill_from(socket, buf))
    }

    /// Polls for a datagram that `f` puts into a buffer.
    ///
    /// # Safety
    /// `f` initialises the bytes whose number it returns.
    pub(super) unsafe fn poll_fill<R>(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        mut f: impl FnMut(&mio::net::UdpSocket, &mut [MaybeUninit<u8>]) -> io::Result<(usize, R)>,
    ) -> Poll<io::Result<R>> {
        // SAFETY: nothing is de-initialised: `f` only writes bytes into it.
        let room = unsafe { buf.unfilled_mut() };
        let received = ready!(
            self.io
                .poll_io(cx, Direction::Read, |socket| f(socket, room))
        );
        let (n, result) = received?;
        // SAFETY: by the caller's promise.
        unsafe { buf.assume_init(n) };
        buf.advance(n);
        Poll::Ready(Ok(result))
    }
}

/// As many bytes are initialised afterwards as this says.
fn receive_from(
    socket: &mio::net::UdpSocket,
    room: &mut [MaybeUninit<u8>],
) -> io::Result<(usize, SocketAddr)> {
    let (n, from) = socket.attempt(|socket| socket.recv_from(room))?;
    Ok((n, internet(from)?))
}

#[cfg(feature = "bytes")]
fn fill_from<B: bytes::BufMut>(
    socket: &mio::net::UdpSocket,
    buf: &mut B,
) -> io::Result<(usize, SocketAddr)> {
    let mut sender = None;
    // SAFETY: receiving initialises as many bytes as it says.
    let n = unsafe {
        fill(buf, |room| {
            let (n, from) = receive_from(socket, room)?;
            sender = Some(from);
            Ok(n)
        })
    }?;
    Ok((n, sender.expect("set with the length")))
}

/// The sender of a datagram.
pub(super) fn internet(address: socket2::SockAddr) -> io::Result<SocketAddr> {
    address.as_socket().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "the datagram's sender has no address of the Internet protocols",
        )
    })
}
