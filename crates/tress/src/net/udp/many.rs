//! Several datagrams with one system call, where the system has such a call.

use super::UdpSocket;
use crate::io::Interest;
use std::io;
use std::net::SocketAddr;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod mmsg;
#[cfg(any(target_os = "linux", target_os = "android"))]
use mmsg as calls;

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod one_by_one;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use one_by_one as calls;

/// Maximum number of datagrams that one call sends or receives.
const BATCH: usize = 32;

/// A datagram to be sent by [`UdpSocket::send_many`].
///
/// # Examples
/// ```
/// use tress::net::udp::Datagram;
///
/// let greeting = Datagram {
///     bytes: b"hello",
///     target: Some(([127, 0, 0, 1], 8080).into()),
/// };
/// # assert_eq!(greeting.bytes.len(), 5);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Contents of the datagram.
    pub bytes: &'a [u8],
    /// Address to send to, or `None` for the peer that the socket is connected to.
    pub target: Option<SocketAddr>,
}

/// A buffer for a datagram that is received by [`UdpSocket::recv_many`].
///
/// # Examples
/// ```
/// use tress::net::udp::ReceivedDatagram;
///
/// let mut space = [0; 1500];
/// let place = ReceivedDatagram::new(&mut space);
/// assert!(place.bytes().is_empty());
/// assert!(place.sender().is_none());
/// ```
#[derive(Debug)]
pub struct ReceivedDatagram<'a> {
    buf: &'a mut [u8],
    received: Option<(usize, SocketAddr)>,
}

impl<'a> ReceivedDatagram<'a> {
    /// Creates an empty place for a datagram.
    ///
    /// Bytes that do not fit into `buf` are lost.
    ///
    /// # Examples
    /// ```
    /// use tress::net::udp::ReceivedDatagram;
    ///
    /// let mut space = [0; 4 * 1500];
    /// let places: Vec<_> = space.chunks_mut(1500).map(ReceivedDatagram::new).collect();
    /// assert_eq!(places.len(), 4);
    /// ```
    pub fn new(buf: &'a mut [u8]) -> ReceivedDatagram<'a> {
        let received = None;
        ReceivedDatagram { buf, received }
    }

    /// Returns the contents of the datagram, which are empty if none was received.
    ///
    /// # Examples
    /// ```
    /// use tress::net::udp::ReceivedDatagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # socket.connect(peer.local_addr()?).await?;
    /// # peer.connect(socket.local_addr()?).await?;
    /// peer.send(b"hello").await?;
    /// let mut space = [0; 1500];
    /// let mut places = [ReceivedDatagram::new(&mut space)];
    /// socket.recv_many(&mut places).await?;
    /// assert_eq!(places[0].bytes(), b"hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn bytes(&self) -> &[u8] {
        &self.buf[..self.received.map_or(0, |(n, _)| n)]
    }

    /// Returns the address of the sender, if a datagram was received.
    ///
    /// # Examples
    /// ```
    /// use tress::net::udp::ReceivedDatagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # socket.connect(peer.local_addr()?).await?;
    /// # peer.connect(socket.local_addr()?).await?;
    /// peer.send(b"hello").await?;
    /// let mut space = [0; 1500];
    /// let mut places = [ReceivedDatagram::new(&mut space)];
    /// socket.recv_many(&mut places).await?;
    /// assert_eq!(places[0].sender(), Some(peer.local_addr()?));
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn sender(&self) -> Option<SocketAddr> {
        self.received.map(|(_, from)| from)
    }
}

/// Sending and receiving several datagrams at once.
impl UdpSocket {
    /// Receives several datagrams with one system call, and returns how many.
    ///
    /// It waits until there is at least one, and receives those that are there, up to 32, into the first of
    /// `places`. It returns 0 only if there are no places. On systems without `recvmmsg(2)`, that is, other
    /// than Linux and Android, the datagrams are received one by one.
    ///
    /// # Errors
    /// See [`recv_from`](Self::recv_from). On Windows a datagram that does not fit into its place is lost,
    /// and causes an error if it is the first one.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped before it is ready, no datagram was taken.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UdpSocket;
    /// use tress::net::udp::{Datagram, ReceivedDatagram};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let here = UdpSocket::bind("127.0.0.1:0").await?;
    /// let there = UdpSocket::bind("127.0.0.1:0").await?;
    /// let target = Some(there.local_addr()?);
    /// let out = [b"one", b"two"].map(|bytes| Datagram { bytes, target });
    /// assert_eq!(here.send_many(&out).await?, 2);
    /// let mut space = [[0; 16]; 4];
    /// let mut places = space.each_mut().map(|buf| ReceivedDatagram::new(buf));
    /// let n = there.recv_many(&mut places).await?;
    /// assert_eq!(places[0].bytes(), b"one");
    /// # assert!((1..=2).contains(&n));
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn recv_many(&self, places: &mut [ReceivedDatagram<'_>]) -> io::Result<usize> {
        if places.is_empty() {
            return Ok(0);
        }
        let batch = places.len().min(BATCH);
        for place in &mut *places {
            place.received = None;
        }
        self.io
            .io(Interest::READABLE, |socket| {
                calls::receive(socket, &mut places[..batch])
            })
            .await
    }

    /// Sends several datagrams with one system call, and returns how many.
    ///
    /// It waits until there is room for at least one, and sends in order as many as there is room for, up
    /// to 32. It returns 0 only if there is nothing to send. On systems without `sendmmsg(2)`, that is,
    /// other than Linux and Android, the datagrams are sent one by one.
    ///
    /// # Errors
    /// See [`send`](Self::send), for the first datagram. If a later one cannot be sent, those before it are
    /// sent and counted.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped before it is ready, nothing was sent.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UdpSocket;
    /// use tress::net::udp::Datagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let here = UdpSocket::bind("127.0.0.1:0").await?;
    /// let there = UdpSocket::bind("127.0.0.1:0").await?;
    /// let target = Some(there.local_addr()?);
    /// let mut rest = &[b"one", b"two"].map(|bytes| Datagram { bytes, target })[..];
    /// while !rest.is_empty() {
    ///     rest = &rest[here.send_many(rest).await?..];
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn send_many(&self, datagrams: &[Datagram<'_>]) -> io::Result<usize> {
        if datagrams.is_empty() {
            return Ok(0);
        }
        let batch = &datagrams[..datagrams.len().min(BATCH)];
        self.io
            .io(Interest::WRITABLE, |socket| calls::send(socket, batch))
            .await
    }
}
