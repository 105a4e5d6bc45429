//! Datagrams within this machine.

use super::{SocketAddr, addr};
use crate::io::source::Source;
use crate::io::{Interest, uninterrupted};
use crate::net::messages::{Messages, message_methods, sender_methods};
use crate::net::readiness::{Socket, readiness_methods, socket_traits};
use std::io;
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll};
use tress_driver::Direction;

/// A peer that has gone is an error, never a signal.
const NO_SIGNAL: i32 = if cfg!(target_vendor = "apple") {
    0
} else {
    libc::MSG_NOSIGNAL
};

fn send_to(
    socket: &mio::net::UnixDatagram,
    buf: &[u8],
    target: &socket2::SockAddr,
) -> io::Result<usize> {
    socket.attempt(|socket| socket.send_to_with_flags(buf, target, NO_SIGNAL))
}

/// Sends and receives datagrams within this machine. None is lost: sending waits while the receiver's
/// queue is full.
///
/// It is used as a [`UdpSocket`](crate::net::UdpSocket) is, with paths for addresses. Binding makes a file,
/// which stays when the socket is dropped.
///
/// # Examples
/// ```
/// use tress::net::UnixDatagram;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (near, far) = UnixDatagram::pair()?;
/// near.send(b"hello").await?;
/// let mut buf = [0; 16];
/// let n = far.recv(&mut buf).await?;
/// assert_eq!(&buf[..n], b"hello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct UnixDatagram {
    io: Source<mio::net::UnixDatagram>,
}

impl UnixDatagram {
    /// A socket with a path.
    ///
    /// # Errors
    /// What the system says: `AddrInUse` if there is a file already.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn bind<P>(path: P) -> io::Result<UnixDatagram>
    where
        P: AsRef<Path>,
    {
        let address = addr::of_path(path.as_ref())?;
        let socket = mio::net::UnixDatagram::bind_addr(&address)?;
        UnixDatagram::new(socket, "UnixDatagram::bind")
    }

    /// Two sockets that are connected to each other, without names.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (one, other) = mio::net::UnixDatagram::pair()?;
        let end = |socket| -> io::Result<UnixDatagram> {
            let io = Source::new(socket, "UnixDatagram::pair")?;
            Ok(UnixDatagram { io })
        };
        Ok((end(one)?, end(other)?))
    }

    /// A socket without a name: nobody can answer it.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn unbound() -> io::Result<UnixDatagram> {
        let socket = mio::net::UnixDatagram::unbound()?;
        UnixDatagram::new(socket, "UnixDatagram::unbound")
    }

    #[track_caller]
    fn new(socket: mio::net::UnixDatagram, what: &str) -> io::Result<UnixDatagram> {
        let io = Source::new(socket, what)?;
        Ok(UnixDatagram { io })
    }

    /// Makes it of a socket of the standard library, which is put into non-blocking mode.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn from_std(datagram: net::UnixDatagram) -> io::Result<UnixDatagram> {
        datagram.set_nonblocking(true)?;
        UnixDatagram::new(
            mio::net::UnixDatagram::from_std(datagram),
            "UnixDatagram::from_std",
        )
    }

    /// Makes it a socket of the standard library, which stays in non-blocking mode:
    /// [`set_nonblocking`](net::UnixDatagram::set_nonblocking) changes that.
    ///
    /// # Errors
    /// None at present.
    pub fn into_std(self) -> io::Result<net::UnixDatagram> {
        Ok(self.io.into_inner().into())
    }

    /// Takes the socket at a path as the only peer.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        let address = addr::to_system(&addr::of_path(path.as_ref())?)?;
        self.io.get_ref().attempt(|socket| socket.connect(&address))
    }

    readiness_methods!();
    message_methods!("datagram", "What the system says.", "What the system says.");
    sender_methods!(SocketAddr, "What the system says.");

    /// Sends a datagram to the socket at a path.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, nothing was sent.
    pub async fn send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        let target = addr::to_system(&addr::of_path(target.as_ref())?)?;
        self.io
            .io(Interest::WRITABLE, |socket| send_to(socket, buf, &target))
            .await
    }

    /// As [`send_to`](Self::send_to), by poll. The waker of the last poll that sends is woken.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub fn poll_send_to<P>(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: P,
    ) -> Poll<io::Result<usize>>
    where
        P: AsRef<Path>,
    {
        let target = addr::to_system(&addr::of_path(target.as_ref())?)?;
        self.io
            .poll_io(cx, Direction::Write, |socket| send_to(socket, buf, &target))
    }

    /// As [`send_to`](Self::send_to), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; else what the system says.
    pub fn try_send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        let target = addr::to_system(&addr::of_path(target.as_ref())?)?;
        self.io
            .try_io(Interest::WRITABLE, |socket| send_to(socket, buf, &target))
    }

    /// The address of this side.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr().map(SocketAddr)
    }

    /// The address of the peer it is connected to.
    ///
    /// # Errors
    /// What the system says.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr().map(SocketAddr)
    }

    /// Takes the error that waits to be reported by the next operation, if there is one.
    ///
    /// # Errors
    /// If the system cannot be asked.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }

    /// Ends one side or both: operations on it fail, or find the end.
    ///
    /// # Errors
    /// What the system says.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.get_ref().shutdown(how)
    }
}

impl Messages for mio::net::UnixDatagram {
    type Addr = SocketAddr;

    fn take_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (n, from) = uninterrupted(|| self.recv_from(buf))?;
        Ok((n, SocketAddr(from)))
    }

    fn sender(address: socket2::SockAddr) -> io::Result<SocketAddr> {
        addr::of_system(&address)
    }
}

socket_traits!(UnixDatagram, net::UnixDatagram);
