use super::UdpSocket;
use crate::io::{Interest, uninterrupted};
use crate::net::addr::{self, ToSocketAddrs};
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use tress_driver::Direction;

/// Sending to anybody.
impl UdpSocket {
    /// Sends a datagram to the first of the addresses.
    ///
    /// # Errors
    /// What the system says: also of earlier datagrams that did not arrive. Of the lookup.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, nothing was sent.
    pub async fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], addr: A) -> io::Result<usize> {
        let first = addr::resolve(addr).await?.next();
        let target = first.ok_or_else(addr::no_address)?;
        self.io
            .io(Interest::WRITABLE, |socket| {
                uninterrupted(|| socket.send_to(buf, target))
            })
            .await
    }

    /// As [`send_to`](Self::send_to), by poll. The waker of the last poll that sends is woken.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.io.poll_io(cx, Direction::Write, |socket| {
            uninterrupted(|| socket.send_to(buf, target))
        })
    }

    /// As [`send_to`](Self::send_to), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; else what the system says.
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |socket| {
            uninterrupted(|| socket.send_to(buf, target))
        })
    }
}
