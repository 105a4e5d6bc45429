use super::UdpSocket;
use crate::io::{Interest, uninterrupted};
use crate::net::addr::{self, ToSocketAddrs};
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use tress_driver::Direction;

/// Sending to any address.
impl UdpSocket {
    /// Sends a datagram to the first of the addresses, and returns how many bytes were sent.
    ///
    /// It waits until there is room. Unlike [`connect`](Self::connect) it does not try the other addresses
    /// if the first one fails.
    ///
    /// # Errors
    /// Any error of `sendto(2)`, which may also report that an earlier datagram did not arrive; an error of
    /// the [lookup](crate::net::lookup_host); [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no
    /// address; or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if a lookup is needed and there is no current runtime.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped before it is ready, nothing was sent.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UdpSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let server = UdpSocket::bind("127.0.0.1:0").await?;
    /// # let address = server.local_addr()?;
    /// let socket = UdpSocket::bind("127.0.0.1:0").await?;
    /// assert_eq!(socket.send_to(b"hello", address).await?, 5);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], addr: A) -> io::Result<usize> {
        let first = addr::resolve(addr).await?.next();
        let target = first.ok_or_else(addr::no_target)?;
        self.io
            .io(Interest::WRITABLE, |socket| {
                uninterrupted(|| socket.send_to(buf, target))
            })
            .await
    }

    /// Polls to send a datagram, like [`send_to`](Self::send_to).
    ///
    /// After `Pending` nothing was sent, and the current task is woken when there may be room. Only the
    /// waker of the last poll that sends is kept.
    ///
    /// # Errors
    /// See [`send`](Self::send).
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use tress::net::UdpSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = UdpSocket::bind("127.0.0.1:0").await?;
    /// let client = UdpSocket::bind("127.0.0.1:0").await?;
    /// let address = server.local_addr()?;
    /// assert_eq!(poll_fn(|cx| client.poll_send_to(cx, b"hello", address)).await?, 5);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
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

    /// Attempts to send like [`send_to`](Self::send_to), without waiting.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room; otherwise see [`send`](Self::send).
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let server = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # let address = server.local_addr()?;
    /// let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// socket.writable().await?;
    /// assert_eq!(socket.try_send_to(b"hello", address)?, 5);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |socket| {
            uninterrupted(|| socket.send_to(buf, target))
        })
    }
}
