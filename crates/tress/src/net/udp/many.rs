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

/// Most datagrams that one call sends or receives.
const BATCH: usize = 32;

/// A datagram to send.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// What is in it.
    pub bytes: &'a [u8],
    /// Whom it goes to; `None` for the peer that the socket is connected to.
    pub target: Option<SocketAddr>,
}

/// A place for a datagram to receive.
#[derive(Debug)]
pub struct ReceivedDatagram<'a> {
    buf: &'a mut [u8],
    received: Option<(usize, SocketAddr)>,
}

impl<'a> ReceivedDatagram<'a> {
    /// A place with nothing in it. What does not fit `buf` is lost.
    pub fn new(buf: &'a mut [u8]) -> ReceivedDatagram<'a> {
        let received = None;
        ReceivedDatagram { buf, received }
    }

    /// What was received; nothing if nothing was.
    pub fn bytes(&self) -> &[u8] {
        &self.buf[..self.received.map_or(0, |(n, _)| n)]
    }

    /// Who it is from, if anything was received.
    pub fn sender(&self) -> Option<SocketAddr> {
        self.received.map(|(_, from)| from)
    }
}

/// Many at once.
impl UdpSocket {
    /// Waits for datagrams and receives as many as there are and as one call takes, up to 32, into
    /// the first of `places`. Says how many; at least one, unless there are no places.
    ///
    /// # Errors
    /// As for [`recv_from`](Self::recv_from). On Windows one that does not fit its place is lost, and an
    /// error if it is the first.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, no datagram was taken.
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

    /// Sends datagrams in order, as many as there is room for and as one call takes, up to 32, and
    /// waits if there is room for none. Says how many; at least one, unless there are none to send.
    ///
    /// # Errors
    /// As for [`send`](Self::send), of the first one: those before a datagram that cannot be sent are
    /// sent and counted.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, nothing was sent.
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
