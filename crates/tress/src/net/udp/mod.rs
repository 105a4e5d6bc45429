//! UDP.

mod many;
mod options;
mod peek;
mod receive;
mod send;

pub use many::{Datagram, ReceivedDatagram};

use crate::io::source::Source;
use crate::net::addr::{self, ToSocketAddrs};
use crate::net::readiness::{readiness_methods, socket_traits};
use std::io;
use std::net::SocketAddr;

/// Sends and receives datagrams.
///
/// One socket can talk to anybody with [`send_to`](UdpSocket::send_to) and
/// [`recv_from`](UdpSocket::recv_from), or be [connected](UdpSocket::connect) to one peer and use
/// [`send`](UdpSocket::send) and [`recv`](UdpSocket::recv). All of it takes `&self`: share it by an
/// `Arc` to send and receive at the same time. A datagram that does not fit the buffer is cut off (on
/// Windows it is an error).
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
    /// Binds to the first of the addresses that lets it, port 0 being any free one.
    ///
    /// # Errors
    /// Of the last address tried, or of the lookup.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<UdpSocket> {
        let socket = addr::each(addr, mio::net::UdpSocket::bind).await?;
        UdpSocket::new(socket, "UdpSocket::bind")
    }

    #[track_caller]
    fn new(socket: mio::net::UdpSocket, what: &str) -> io::Result<UdpSocket> {
        let io = Source::new(socket, what)?;
        Ok(UdpSocket { io })
    }

    /// Makes it of a socket of the standard library, which is put into non-blocking mode.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn from_std(socket: std::net::UdpSocket) -> io::Result<UdpSocket> {
        socket.set_nonblocking(true)?;
        UdpSocket::new(mio::net::UdpSocket::from_std(socket), "UdpSocket::from_std")
    }

    /// Makes it a socket of the standard library, which stays in non-blocking mode:
    /// [`set_nonblocking`](std::net::UdpSocket::set_nonblocking) changes that.
    ///
    /// # Errors
    /// None at present.
    pub fn into_std(self) -> io::Result<std::net::UdpSocket> {
        Ok(self.io.into_inner().into())
    }

    /// The address of this side.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// The address of the peer it is connected to.
    ///
    /// # Errors
    /// `NotConnected`, or what else the system says.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr()
    }

    /// Takes the first of the addresses that lets it as the only peer, to whom
    /// [`send`](Self::send) sends and from whom alone datagrams are received. Nothing is sent by this.
    ///
    /// # Errors
    /// Of the last address tried, or of the lookup.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the socket as it was.
    pub async fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        addr::each(addr, |address| self.io.get_ref().connect(address)).await
    }

    /// Takes the error that waits to be reported by the next operation, if there is one.
    ///
    /// # Errors
    /// If the system cannot be asked.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }

    readiness_methods!();
}

socket_traits!(UdpSocket, std::net::UdpSocket);
