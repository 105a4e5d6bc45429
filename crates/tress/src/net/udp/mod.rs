//! UDP: a socket for datagrams, one at a time or many with one system call.
//!
//! - [`UdpSocket`] sends and receives datagrams. It is also in [`net`](crate::net).
//! - [`Datagram`] and [`ReceivedDatagram`] are for [`UdpSocket::send_many`] and [`UdpSocket::recv_many`].

#[cfg(feature = "extra")]
mod many;
mod options;
mod peek;
mod receive;
mod send;

#[cfg(feature = "extra")]
pub use many::{Datagram, ReceivedDatagram};

use crate::io::source::Source;
use crate::net::addr::{self, ToSocketAddrs};
use crate::net::conversion::socket_traits;
use crate::net::readiness::readiness_methods;
use std::io;
use std::net::SocketAddr;

/// A UDP socket.
///
/// There are two ways to use it:
///
/// - To talk to any peer, [`bind`](UdpSocket::bind) it and use [`send_to`](UdpSocket::send_to) and
///   [`recv_from`](UdpSocket::recv_from).
/// - To talk to one peer, [`connect`](UdpSocket::connect) it in addition and use [`send`](UdpSocket::send)
///   and [`recv`](UdpSocket::recv).
///
/// All methods take `&self`, so it needs no `split`: share it by an [`Arc`](std::sync::Arc) to send and
/// receive in different tasks. A datagram that does not fit into the buffer is cut off; on Windows it is an
/// error.
///
/// # Examples
/// ```
/// use tress::net::UdpSocket;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let here = UdpSocket::bind("127.0.0.1:0").await?;
/// let there = UdpSocket::bind("127.0.0.1:0").await?;
/// here.send_to(b"hello", there.local_addr()?).await?;
/// let mut buf = [0; 64];
/// let (n, from) = there.recv_from(&mut buf).await?;
/// assert_eq!((&buf[..n], from), (&b"hello"[..], here.local_addr()?));
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct UdpSocket {
    io: Source<mio::net::UdpSocket>,
}

impl UdpSocket {
    /// Creates a socket that is bound to the first of the addresses that can be bound to.
    ///
    /// Port 0 stands for any free port.
    ///
    /// # Errors
    /// The error of the last address that was tried: any error of `socket(2)` or `bind(2)`; an error of the
    /// [lookup](crate::net::lookup_host); [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no
    /// address; or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped, no socket is left behind.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UdpSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = UdpSocket::bind("127.0.0.1:0").await?;
    /// assert_ne!(socket.local_addr()?.port(), 0);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<UdpSocket> {
        let socket = addr::each(addr, mio::net::UdpSocket::bind).await?;
        UdpSocket::new(socket, "UdpSocket::bind")
    }

    #[track_caller]
    fn new(socket: mio::net::UdpSocket, what: &str) -> io::Result<UdpSocket> {
        let io = Source::new(socket, what)?;
        Ok(UdpSocket { io })
    }

    /// Creates a `UdpSocket` from a socket of the standard library.
    ///
    /// It is put into non-blocking mode.
    ///
    /// # Errors
    /// Any error of setting the mode, or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UdpSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
    /// let socket = UdpSocket::from_std(socket)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn from_std(socket: std::net::UdpSocket) -> io::Result<UdpSocket> {
        socket.set_nonblocking(true)?;
        UdpSocket::new(mio::net::UdpSocket::from_std(socket), "UdpSocket::from_std")
    }

    /// Converts the socket to one of the standard library.
    ///
    /// It stays in non-blocking mode, until that is changed by
    /// [`set_nonblocking`](std::net::UdpSocket::set_nonblocking).
    ///
    /// # Errors
    /// None at present.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// let socket: std::net::UdpSocket = socket.into_std()?;
    /// socket.set_nonblocking(false)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_std(self) -> io::Result<std::net::UdpSocket> {
        Ok(self.io.into_inner().into())
    }

    /// Returns the address that the socket is bound to.
    ///
    /// # Errors
    /// Any error of `getsockname(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// println!("the system chose port {}", socket.local_addr()?.port());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Returns the address of the peer that the socket is connected to.
    ///
    /// # Errors
    /// [`NotConnected`](io::ErrorKind::NotConnected) if it is not connected, or any other error of
    /// `getpeername(2)`.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UdpSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = UdpSocket::bind("127.0.0.1:0").await?;
    /// let client = UdpSocket::bind("127.0.0.1:0").await?;
    /// assert!(client.peer_addr().is_err());
    /// client.connect(server.local_addr()?).await?;
    /// assert_eq!(client.peer_addr()?, server.local_addr()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr()
    }

    /// Connects the socket to a peer: the first of the addresses that is accepted.
    ///
    /// From then on [`send`](Self::send) sends to this peer, and only datagrams from it are received.
    /// Nothing is sent by connecting. A socket may be connected again, to another peer.
    ///
    /// # Errors
    /// The error of the last address that was tried: any error of `connect(2)`; an error of the
    /// [lookup](crate::net::lookup_host); or [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no
    /// address.
    ///
    /// # Panics
    /// Panics if a lookup is needed and there is no current runtime.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped, the socket is as it was.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UdpSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let client = UdpSocket::bind("127.0.0.1:0").await?;
    /// let server = UdpSocket::bind("127.0.0.1:0").await?;
    /// client.connect(server.local_addr()?).await?;
    /// client.send(b"hello").await?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        addr::each(addr, |address| self.io.get_ref().connect(address)).await
    }

    /// Returns the pending error of the socket, if there is one, and clears it (`SO_ERROR`).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// if let Some(error) = socket.take_error()? {
    ///     eprintln!("a datagram did not arrive: {error}");
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }

    readiness_methods!();
}

socket_traits!(UdpSocket, std::net::UdpSocket);
