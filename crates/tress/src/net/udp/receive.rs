use super::UdpSocket;
use crate::io::uninterrupted;
use crate::net::messages::{Messages, message_methods, sender_methods};
use std::io;
use std::net::SocketAddr;

/// Sending to the peer it is connected to, and receiving.
impl UdpSocket {
    message_methods!(
        "datagram",
        "What the system says: also of earlier datagrams that did not arrive.",
        "What the system says: also of datagrams sent earlier that did not arrive."
    );
    sender_methods!(
        SocketAddr,
        "What the system says: also of datagrams sent earlier that did not arrive."
    );
}

impl Messages for mio::net::UdpSocket {
    type Addr = SocketAddr;

    fn take_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        uninterrupted(|| self.recv_from(buf))
    }

    fn sender(address: socket2::SockAddr) -> io::Result<SocketAddr> {
        internet(address)
    }
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
