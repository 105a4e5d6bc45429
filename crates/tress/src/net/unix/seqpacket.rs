//! Connections that keep messages apart.

use super::{SocketAddr, UCred, addr, ucred};
use crate::io::source::Source;
use crate::io::{Interest, uninterrupted};
use crate::net::messages::message_methods;
use crate::net::patience::Patience;
use crate::net::readiness::readiness_methods;
use crate::net::transfer::Socket;
use socket2::{Domain, SockRef, Type};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::task::{Context, Poll, ready};
use tress_driver::Direction;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// A connection within the machine that keeps messages apart (`SOCK_SEQPACKET`).
///
/// Each message is received as it was sent, in order, and none is lost. Sending waits while the queue of
/// the peer is full. It is available on Linux, Android and FreeBSD.
///
/// Receiving 0 bytes means that the peer has closed the connection or shut down its side. An empty message
/// cannot be told from that, so do not send any.
///
/// # Examples
/// ```
/// use tress::net::UnixSeqpacket;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (near, far) = UnixSeqpacket::pair()?;
/// near.send(b"one").await?;
/// near.send(b"two").await?;
/// let mut buf = [0; 16];
/// let n = far.recv(&mut buf).await?;
/// assert_eq!(&buf[..n], b"one");
/// let n = far.recv(&mut buf).await?;
/// assert_eq!(&buf[..n], b"two");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct UnixSeqpacket {
    io: Source<Inner>,
}

impl UnixSeqpacket {
    /// Connects to a listener at a path.
    ///
    /// On Linux and Android, a path that begins with a zero byte is a name in the abstract namespace.
    ///
    /// # Errors
    /// Any error of `connect(2)`, such as [`WouldBlock`](io::ErrorKind::WouldBlock) if the listener's
    /// backlog is full; or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// Dropping the future closes the socket.
    ///
    /// # Examples
    /// ```no_run
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let connection = tress::net::UnixSeqpacket::connect("/run/example.sock").await?;
    /// connection.send(b"hello").await?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn connect<P: AsRef<Path>>(path: P) -> io::Result<UnixSeqpacket> {
        let address = addr::of_path(path.as_ref())?;
        // It is dropped before the wait, so it need not be `Send`.
        drop(path);
        UnixSeqpacket::connect_addr(&SocketAddr(address)).await
    }

    /// Connects like [`connect`](Self::connect), to an address.
    ///
    /// # Errors
    /// See [`connect`](Self::connect); [`InvalidInput`](io::ErrorKind::InvalidInput) if the address is
    /// unnamed.
    ///
    /// # Panics
    /// See [`connect`](Self::connect).
    ///
    /// # Cancel safety
    /// See [`connect`](Self::connect).
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::UnixSeqpacket;
    /// use tress::net::unix::SocketAddr;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let address = std::os::unix::net::SocketAddr::from_pathname("/run/example.sock")?;
    /// let connection = UnixSeqpacket::connect_addr(&SocketAddr::from(address)).await?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn connect_addr(socket_addr: &SocketAddr) -> io::Result<UnixSeqpacket> {
        let socket = Inner::new()?;
        let address = addr::to_system(&socket_addr.0)?;
        match socket.0.connect(&address) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        let connection = UnixSeqpacket::new(socket, "connecting a UnixSeqpacket")?;
        connection.io.connecting().await?;
        match connection.take_error()? {
            None => Ok(connection),
            Some(error) => Err(error),
        }
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
    /// use tress::net::UnixSeqpacket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, far) = UnixSeqpacket::pair()?;
    /// near.send(b"ping").await?;
    /// let mut buf = [0; 16];
    /// assert_eq!(far.recv(&mut buf).await?, 4);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn pair() -> io::Result<(UnixSeqpacket, UnixSeqpacket)> {
        let (one, other) = socket2::Socket::pair(Domain::UNIX, Type::SEQPACKET, None)?;
        let end = |socket: socket2::Socket| {
            socket.set_nonblocking(true)?;
            UnixSeqpacket::new(Inner(socket), "UnixSeqpacket::pair")
        };
        Ok((end(one)?, end(other)?))
    }

    #[track_caller]
    fn new(socket: Inner, what: &str) -> io::Result<UnixSeqpacket> {
        let io = Source::new(socket, what)?;
        Ok(UnixSeqpacket { io })
    }

    /// Creates a `UnixSeqpacket` from a file descriptor.
    ///
    /// It is put into non-blocking mode.
    ///
    /// # Errors
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if the descriptor is not a Unix socket of type
    /// `SOCK_SEQPACKET`; any error of setting the mode; or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixSeqpacket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, far) = UnixSeqpacket::pair()?;
    /// let near = UnixSeqpacket::from_owned_fd(near.into_owned_fd())?;
    /// near.send(b"hello").await?;
    /// assert_eq!(far.recv(&mut [0; 16]).await?, 5);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn from_owned_fd(fd: OwnedFd) -> io::Result<UnixSeqpacket> {
        let socket = Inner::check(fd)?;
        UnixSeqpacket::new(socket, "UnixSeqpacket::from_owned_fd")
    }

    /// Converts the socket to its file descriptor, which stays in non-blocking mode.
    ///
    /// # Examples
    /// ```
    /// use std::os::fd::OwnedFd;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = tress::net::UnixSeqpacket::pair()?;
    /// let descriptor: OwnedFd = near.into_owned_fd();
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_owned_fd(self) -> OwnedFd {
        self.io.into_inner().0.into()
    }

    readiness_methods!();
    message_methods!(
        "message",
        "Any error of `send(2)`, such as `BrokenPipe` if the peer is gone; or that the runtime has shut down.",
        "Any error of `recv(2)`, or that the runtime has shut down."
    );

    /// Returns the local address of the connection.
    ///
    /// # Errors
    /// Any error of `getsockname(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = tress::net::UnixSeqpacket::pair()?;
    /// assert!(near.local_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        addr::of_system(&self.io.get_ref().0.local_addr()?)
    }

    /// Returns the address of the peer.
    ///
    /// # Errors
    /// Any error of `getpeername(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = tress::net::UnixSeqpacket::pair()?;
    /// assert!(near.peer_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        addr::of_system(&self.io.get_ref().0.peer_addr()?)
    }

    /// Returns the user, group and process of the peer at the time when it connected.
    ///
    /// The kernel vouches for them.
    ///
    /// # Errors
    /// Any error of `getsockopt(2)` or `getpeereid(3)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, far) = tress::net::UnixSeqpacket::pair()?;
    /// assert_eq!(near.peer_cred()?, far.peer_cred()?); // both are of this process
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn peer_cred(&self) -> io::Result<UCred> {
        ucred::of_peer(self)
    }

    /// Returns the pending error of the socket, if there is one, and clears it (`SO_ERROR`).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = tress::net::UnixSeqpacket::pair()?;
    /// assert!(near.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().0.take_error()
    }

    /// Shuts down reading, writing, or both.
    ///
    /// After shutting down writing, nothing more can be sent, and the peer receives 0 bytes once it has
    /// read everything. After shutting down reading, the peer cannot send any more.
    ///
    /// # Errors
    /// Any error of `shutdown(2)`.
    ///
    /// # Examples
    /// ```
    /// use std::net::Shutdown;
    /// use tress::net::UnixSeqpacket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, far) = UnixSeqpacket::pair()?;
    /// near.shutdown(Shutdown::Write)?;
    /// assert_eq!(far.recv(&mut [0; 16]).await?, 0);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.get_ref().0.shutdown(how)
    }
}

/// A Unix socket that accepts connections that keep messages apart.
///
/// Binding to a path creates a file there, which stays when the listener is dropped: remove it before or
/// after. A name in the abstract namespace (Linux and Android) leaves nothing behind.
///
/// # Examples
/// ```no_run
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let listener = tress::net::UnixSeqpacketListener::bind("/run/example.sock")?;
/// let (connection, _) = listener.accept().await?;
/// let mut message = [0; 4096];
/// let n = connection.recv(&mut message).await?;
/// println!("{} bytes from user {}", n, connection.peer_cred()?.uid());
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct UnixSeqpacketListener {
    io: Source<Inner>,
    patience: Patience,
}

impl UnixSeqpacketListener {
    /// Creates a listener at a path.
    ///
    /// On Linux and Android, a path that begins with a zero byte is a name in the abstract namespace. At
    /// most 1024 connections wait to be accepted.
    ///
    /// # Errors
    /// Any error of `bind(2)` or `listen(2)`, such as [`AddrInUse`](io::ErrorKind::AddrInUse) if there is a
    /// file already; or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```no_run
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let listener = tress::net::UnixSeqpacketListener::bind("/run/example.sock")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixSeqpacketListener> {
        UnixSeqpacketListener::bind_addr(&SocketAddr(addr::of_path(path.as_ref())?))
    }

    /// Creates a listener like [`bind`](Self::bind), at an address.
    ///
    /// # Errors
    /// See [`bind`](Self::bind); [`InvalidInput`](io::ErrorKind::InvalidInput) if the address is unnamed.
    ///
    /// # Panics
    /// See [`bind`](Self::bind).
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::UnixSeqpacketListener;
    /// use tress::net::unix::SocketAddr;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let address = std::os::unix::net::SocketAddr::from_pathname("/run/example.sock")?;
    /// let listener = UnixSeqpacketListener::bind_addr(&SocketAddr::from(address))?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn bind_addr(socket_addr: &SocketAddr) -> io::Result<UnixSeqpacketListener> {
        let socket = Inner::new()?;
        socket.0.bind(&addr::to_system(&socket_addr.0)?)?;
        socket.0.listen(BACKLOG)?;
        let what = "UnixSeqpacketListener::bind";
        Ok(UnixSeqpacketListener {
            io: Source::with_interest(socket, Interest::READABLE, what)?,
            patience: Patience::default(),
        })
    }

    /// Waits for a connection, and returns it with the address of the peer.
    ///
    /// Any number of tasks may wait at the same time.
    ///
    /// # Errors
    /// See [`TcpListener::accept`](crate::net::TcpListener::accept), which also describes how a loop
    /// recovers when descriptors have run out.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// This method is cancel safe: a connection that is not returned stays in the backlog.
    ///
    /// # Examples
    /// ```
    /// use tress::net::{UnixSeqpacket, UnixSeqpacketListener};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-seqpacket-{}", std::process::id()));
    /// let listener = UnixSeqpacketListener::bind(&path)?;
    /// let client = UnixSeqpacket::connect(&path).await?;
    /// let (server, _) = listener.accept().await?;
    /// client.send(b"hello").await?;
    /// assert_eq!(server.recv(&mut [0; 16]).await?, 5);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn accept(&self) -> io::Result<(UnixSeqpacket, SocketAddr)> {
        self.patience.wait().await;
        let accepted = self.io.io(Interest::READABLE, Inner::accept).await;
        UnixSeqpacketListener::accepted(self.patience.note(accepted)?)
    }

    /// Polls for a connection, like [`accept`](Self::accept).
    ///
    /// After `Pending` the current task is woken when there may be one. Only the waker of the last call is
    /// kept; with `accept` any number of tasks may wait.
    ///
    /// # Errors
    /// See [`accept`](Self::accept).
    ///
    /// # Panics
    /// See [`accept`](Self::accept).
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use tress::net::{UnixSeqpacket, UnixSeqpacketListener};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-packet-poll-{}", std::process::id()));
    /// let listener = UnixSeqpacketListener::bind(&path)?;
    /// let client = UnixSeqpacket::connect(&path).await?;
    /// let (server, _) = poll_fn(|cx| listener.poll_accept(cx)).await?;
    /// server.send(b"hello").await?;
    /// assert_eq!(client.recv(&mut [0; 16]).await?, 5);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_accept(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(UnixSeqpacket, SocketAddr)>> {
        ready!(self.patience.poll_wait(cx));
        let accepted = ready!(self.io.poll_io(cx, Direction::Read, Inner::accept));
        Poll::Ready(UnixSeqpacketListener::accepted(
            self.patience.note(accepted)?,
        ))
    }

    fn accepted(
        (socket, peer): (Inner, socket2::SockAddr),
    ) -> io::Result<(UnixSeqpacket, SocketAddr)> {
        let connection = UnixSeqpacket::new(socket, "UnixSeqpacketListener::accept")?;
        Ok((connection, addr::of_system(&peer)?))
    }

    /// Returns the address that the listener is bound to.
    ///
    /// # Errors
    /// Any error of `getsockname(2)`.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixSeqpacketListener;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-packet-addr-{}", std::process::id()));
    /// let listener = UnixSeqpacketListener::bind(&path)?;
    /// assert_eq!(listener.local_addr()?.as_pathname(), Some(path.as_path()));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        addr::of_system(&self.io.get_ref().0.local_addr()?)
    }

    /// Returns the pending error of the socket, if there is one, and clears it (`SO_ERROR`).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```no_run
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let listener = tress::net::UnixSeqpacketListener::bind("/run/example.sock")?;
    /// assert!(listener.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().0.take_error()
    }
}

/// A socket of this type, in non-blocking mode.
struct Inner(socket2::Socket);

impl Inner {
    fn new() -> io::Result<Inner> {
        let socket = socket2::Socket::new(Domain::UNIX, Type::SEQPACKET, None)?;
        socket.set_nonblocking(true)?;
        Ok(Inner(socket))
    }

    fn check(fd: OwnedFd) -> io::Result<Inner> {
        let socket = socket2::Socket::from(fd);
        if !socket.local_addr()?.is_unix() || socket.r#type()? != Type::SEQPACKET {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "this is not a Unix socket that keeps messages apart (SOCK_SEQPACKET)",
            ));
        }
        socket.set_nonblocking(true)?;
        Ok(Inner(socket))
    }

    fn accept(&self) -> io::Result<(Inner, socket2::SockAddr)> {
        let (socket, peer) = uninterrupted(|| self.0.accept())?;
        socket.set_nonblocking(true)?;
        Ok((Inner(socket), peer))
    }

    fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.0.send_with_flags(buf, libc::MSG_NOSIGNAL)
    }

    fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        // SAFETY: initialized bytes may be treated as possibly uninitialized as long as they are not
        // de-initialized: receiving only writes bytes.
        let room = unsafe { &mut *(&raw mut *buf as *mut [MaybeUninit<u8>]) };
        self.0.recv(room)
    }

    fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        f()
    }
}

impl Socket for Inner {
    fn attempt<R>(&self, mut f: impl FnMut(&socket2::Socket) -> io::Result<R>) -> io::Result<R> {
        uninterrupted(|| f(&SockRef::from(&self.0)))
    }
}

impl AsRawFd for Inner {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

macro_rules! descriptor {
    ($Type:ty) => {
        impl AsFd for $Type {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.io.get_ref().0.as_fd()
            }
        }

        impl AsRawFd for $Type {
            fn as_raw_fd(&self) -> RawFd {
                self.io.get_ref().as_raw_fd()
            }
        }

        impl fmt::Debug for $Type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Type))
                    .field("fd", &self.as_raw_fd())
                    .finish()
            }
        }
    };
}

descriptor!(UnixSeqpacket);
descriptor!(UnixSeqpacketListener);
