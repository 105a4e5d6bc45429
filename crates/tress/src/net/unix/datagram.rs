//! Datagrams between processes of one machine.

use super::{SocketAddr, addr};
use crate::io::source::Source;
use crate::io::{Interest, uninterrupted};
use crate::net::conversion::socket_traits;
use crate::net::messages::{Messages, message_methods, sender_methods};
use crate::net::readiness::readiness_methods;
use crate::net::transfer::Socket;
use std::io;
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll};
use tress_driver::{Direction, Ready};

/// Flag that makes a peer that is gone an error and not a signal.
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

/// A Unix socket for datagrams.
///
/// It is used like a [`UdpSocket`](crate::net::UdpSocket), with paths as addresses. No datagram is lost:
/// sending waits while the queue of the receiver is full.
///
/// [`bind`](UnixDatagram::bind) creates a file, which stays when the socket is dropped. A socket without a
/// name can send but cannot be answered. [`pair`](UnixDatagram::pair) creates two sockets that need no
/// names.
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
    /// Creates a socket that is bound to a path.
    ///
    /// On Linux and Android, a path that begins with a zero byte is a name in the abstract namespace.
    ///
    /// # Errors
    /// Any error of `bind(2)`, such as [`AddrInUse`](io::ErrorKind::AddrInUse) if there is a file already;
    /// or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixDatagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let directory = std::env::temp_dir().join(format!("tress-doc-bind-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// let path = directory.join("server");
    /// let server = UnixDatagram::bind(&path)?;
    /// let client = UnixDatagram::unbound()?;
    /// client.send_to(b"hello", &path).await?;
    /// let mut buf = [0; 16];
    /// let (n, sender) = server.recv_from(&mut buf).await?;
    /// assert_eq!(&buf[..n], b"hello");
    /// assert!(sender.is_unnamed());
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn bind<P>(path: P) -> io::Result<UnixDatagram>
    where
        P: AsRef<Path>,
    {
        let address = addr::of_path(path.as_ref())?;
        let socket = mio::net::UnixDatagram::bind_addr(&address)?;
        UnixDatagram::new(socket, "UnixDatagram::bind")
    }

    /// Creates two sockets without names that are connected to each other.
    ///
    /// # Errors
    /// Any error of `socketpair(2)`, or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixDatagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, far) = UnixDatagram::pair()?;
    /// near.send(b"ping").await?;
    /// let mut buf = [0; 16];
    /// assert_eq!(far.recv(&mut buf).await?, 4);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (one, other) = mio::net::UnixDatagram::pair()?;
        let end = |socket| -> io::Result<UnixDatagram> {
            // There is room to write.
            let io = Source::new(socket, "UnixDatagram::pair")?.assuming(Ready::WRITABLE);
            Ok(UnixDatagram { io })
        };
        Ok((end(one)?, end(other)?))
    }

    /// Creates a socket without a name.
    ///
    /// It can send, but no other socket can send to it.
    ///
    /// # Errors
    /// Any error of `socket(2)`, or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = tress::net::UnixDatagram::unbound()?;
    /// assert!(socket.local_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
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

    /// Creates a `UnixDatagram` from a socket of the standard library.
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
    /// use tress::net::UnixDatagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = std::os::unix::net::UnixDatagram::pair()?;
    /// let near = UnixDatagram::from_std(near)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn from_std(datagram: net::UnixDatagram) -> io::Result<UnixDatagram> {
        datagram.set_nonblocking(true)?;
        UnixDatagram::new(
            mio::net::UnixDatagram::from_std(datagram),
            "UnixDatagram::from_std",
        )
    }

    /// Converts the socket to one of the standard library.
    ///
    /// It stays in non-blocking mode, until that is changed by
    /// [`set_nonblocking`](net::UnixDatagram::set_nonblocking).
    ///
    /// # Errors
    /// None at present.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = tress::net::UnixDatagram::unbound()?.into_std()?;
    /// socket.set_nonblocking(false)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_std(self) -> io::Result<net::UnixDatagram> {
        Ok(self.io.into_inner().into())
    }

    /// Connects the socket to the one at a path.
    ///
    /// From then on [`send`](Self::send) sends to this peer, and only datagrams from it are received.
    ///
    /// # Errors
    /// Any error of `connect(2)`, such as [`NotFound`](io::ErrorKind::NotFound) if there is no such path.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixDatagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-dgram-connect-{}", std::process::id()));
    /// let server = UnixDatagram::bind(&path)?;
    /// let client = UnixDatagram::unbound()?;
    /// client.connect(&path)?;
    /// client.send(b"hello").await?;
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        let address = addr::to_system(&addr::of_path(path.as_ref())?)?;
        self.io.get_ref().attempt(|socket| socket.connect(&address))
    }

    readiness_methods!();
    message_methods!(
        "datagram",
        "Any error of `send(2)`, or that the runtime has shut down.",
        "Any error of `recv(2)`, or that the runtime has shut down."
    );
    sender_methods!(
        SocketAddr,
        "Any error of `recvfrom(2)`, or that the runtime has shut down."
    );

    /// Sends a datagram to the socket at a path, and returns how many bytes were sent.
    ///
    /// It waits while the queue of the receiver is full.
    ///
    /// # Errors
    /// Any error of `sendto(2)`, such as [`NotFound`](io::ErrorKind::NotFound) if there is no such path; or
    /// that the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped before it is ready, nothing was sent.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixDatagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-dgram-send-{}", std::process::id()));
    /// let server = UnixDatagram::bind(&path)?;
    /// let client = UnixDatagram::unbound()?;
    /// assert_eq!(client.send_to(b"hello", &path).await?, 5);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        let target = addr::to_system(&addr::of_path(target.as_ref())?)?;
        self.io
            .io(Interest::WRITABLE, |socket| send_to(socket, buf, &target))
            .await
    }

    /// Polls to send a datagram, like [`send_to`](Self::send_to).
    ///
    /// After `Pending` nothing was sent, and the current task is woken when there may be room. Only the
    /// waker of the last poll that sends is kept.
    ///
    /// # Errors
    /// See [`send_to`](Self::send_to).
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use tress::net::UnixDatagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-dgram-poll-{}", std::process::id()));
    /// let server = UnixDatagram::bind(&path)?;
    /// let client = UnixDatagram::unbound()?;
    /// assert_eq!(poll_fn(|cx| client.poll_send_to(cx, b"hello", &path)).await?, 5);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
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

    /// Attempts to send like [`send_to`](Self::send_to), without waiting.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room; otherwise see
    /// [`send_to`](Self::send_to).
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixDatagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-dgram-try-{}", std::process::id()));
    /// let server = UnixDatagram::bind(&path)?;
    /// let client = UnixDatagram::unbound()?;
    /// client.writable().await?;
    /// assert_eq!(client.try_send_to(b"hello", &path)?, 5);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        let target = addr::to_system(&addr::of_path(target.as_ref())?)?;
        self.io
            .try_io(Interest::WRITABLE, |socket| send_to(socket, buf, &target))
    }

    /// Returns the address that the socket is bound to.
    ///
    /// # Errors
    /// Any error of `getsockname(2)`.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixDatagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-dgram-addr-{}", std::process::id()));
    /// let socket = UnixDatagram::bind(&path)?;
    /// assert_eq!(socket.local_addr()?.as_pathname(), Some(path.as_path()));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr().map(SocketAddr)
    }

    /// Returns the address of the peer that the socket is connected to.
    ///
    /// # Errors
    /// Any error of `getpeername(2)`, such as [`NotConnected`](io::ErrorKind::NotConnected).
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixDatagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-dgram-peer-{}", std::process::id()));
    /// let server = UnixDatagram::bind(&path)?;
    /// let client = UnixDatagram::unbound()?;
    /// client.connect(&path)?;
    /// assert_eq!(client.peer_addr()?.as_pathname(), Some(path.as_path()));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr().map(SocketAddr)
    }

    /// Returns the pending error of the socket, if there is one, and clears it (`SO_ERROR`).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = tress::net::UnixDatagram::pair()?;
    /// assert!(near.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }

    /// Shuts down receiving, sending, or both.
    ///
    /// Operations in a direction that is shut down fail, or receive 0 bytes.
    ///
    /// # Errors
    /// Any error of `shutdown(2)`.
    ///
    /// # Examples
    /// ```
    /// use std::net::Shutdown;
    /// use tress::net::UnixDatagram;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = UnixDatagram::pair()?;
    /// near.shutdown(Shutdown::Both)?;
    /// assert!(near.send(b"hello").await.is_err());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
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
