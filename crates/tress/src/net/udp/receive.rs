use super::UdpSocket;
use crate::io::uninterrupted;
use crate::net::messages::{Messages, message_methods, sender_methods};
use std::io;
use std::net::SocketAddr;

/// Sending to the connected peer, and receiving.
impl UdpSocket {
    message_methods!(
        "datagram",
        "Any error of `send(2)`, which may also report that an earlier datagram did not arrive; or that the runtime has shut down.",
        "Any error of `recv(2)`, which may also report that a datagram sent earlier did not arrive; or that the runtime has shut down."
    );
    sender_methods!(
        SocketAddr,
        "Any error of `recvfrom(2)`, which may also report that a datagram sent earlier did not arrive; or that the runtime has shut down."
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

/// Converts the address of a sender from the system's form.
pub(super) fn internet(address: socket2::SockAddr) -> io::Result<SocketAddr> {
    address.as_socket().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "the datagram's sender has no address of the Internet protocols",
        )
    })
}
