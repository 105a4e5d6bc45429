//! Connections that keep messages apart.

use super::{SocketAddr, UCred, addr, ucred};
use crate::io::source::Source;
use crate::io::{Interest, uninterrupted};
use crate::net::messages::message_methods;
use crate::net::patience::Patience;
use crate::net::readiness::{Socket, readiness_methods};
use socket2::{Domain, SockRef, Type};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::task::{Context, Poll, ready};
use tress_driver::Direction;

/// Connections that were not accepted yet.
const BACKLOG: i32 = 1024;

/// A connection within this machine that keeps messages apart (`SOCK_SEQPACKET`): what was sent as one is
/// received as one, in order, and none is lost. Linux, Android, FreeBSD.
///
/// Receiving nothing means that the peer has closed or shut down its side (or has sent an empty message,
/// which is better not done). Sending waits while the peer's queue is full.
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
    /// Connects to a listener at a path; on Linux a path that begins with a zero byte is a name in
    /// the abstract space.
    ///
    /// # Errors
    /// What the system says. `WouldBlock` if the listener's backlog is full.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub async fn connect<P: AsRef<Path>>(path: P) -> io::Result<UnixSeqpacket> {
        let address = addr::of_path(path.as_ref())?;
        // The path need not be `Send`.
        drop(path);
        UnixSeqpacket::connect_addr(&SocketAddr(address)).await
    }

    /// As [`connect`](Self::connect), to an address.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    ///
    /// # Cancel safety
    /// As for [`connect`](Self::connect).
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

    /// Two sockets that are connected to each other, without names.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
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

    /// Makes it of a descriptor, which is put into non-blocking mode.
    ///
    /// # Errors
    /// `InvalidInput` if it is not such a socket; what the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn from_owned_fd(fd: OwnedFd) -> io::Result<UnixSeqpacket> {
        let socket = Inner::check(fd)?;
        UnixSeqpacket::new(socket, "UnixSeqpacket::from_owned_fd")
    }

    /// Takes the descriptor out, in non-blocking mode.
    pub fn into_owned_fd(self) -> OwnedFd {
        self.io.into_inner().0.into()
    }

    readiness_methods!();
    message_methods!(
        "message",
        "What the system says: `BrokenPipe` if the peer is gone.",
        "What the system says."
    );

    /// The address of this side.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        addr::of_system(&self.io.get_ref().0.local_addr()?)
    }

    /// The address of the peer.
    ///
    /// # Errors
    /// What the system says.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        addr::of_system(&self.io.get_ref().0.peer_addr()?)
    }

    /// Who the peer was when it connected, as the kernel knows it.
    ///
    /// # Errors
    /// What the system says.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        ucred::of_peer(self)
    }

    /// Takes the error that waits to be reported by the next operation, if there is one.
    ///
    /// # Errors
    /// If the system cannot be asked.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().0.take_error()
    }

    /// Ends one side or both: the peer receives nothing more, or nothing can be sent.
    ///
    /// # Errors
    /// What the system says.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.get_ref().0.shutdown(how)
    }
}

/// Accepts connections that keep messages apart.
///
/// Binding to a path makes a file there, which stays when the listener is dropped. On Linux a name in the
/// abstract space leaves nothing.
///
/// # Examples
/// ```no_run
/// # async fn f() -> std::io::Result<()> {
/// let listener = tress::net::UnixSeqpacketListener::bind("/run/example.sock")?;
/// let (connection, _) = listener.accept().await?;
/// let mut message = [0; 4096];
/// let n = connection.recv(&mut message).await?;
/// println!("{} bytes from user {}", n, connection.peer_cred()?.uid());
/// # Ok(()) }
/// ```
pub struct UnixSeqpacketListener {
    io: Source<Inner>,
    patience: Patience,
}

impl UnixSeqpacketListener {
    /// Listens at a path; on Linux one that begins with a zero byte is a name in the abstract space.
    ///
    /// # Errors
    /// What the system says: `AddrInUse` if there is a file already.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixSeqpacketListener> {
        UnixSeqpacketListener::bind_addr(&SocketAddr(addr::of_path(path.as_ref())?))
    }

    /// As [`bind`](Self::bind), to an address.
    ///
    /// # Errors
    /// As for [`bind`](Self::bind).
    ///
    /// # Panics
    /// As for [`bind`](Self::bind).
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

    /// Waits for a connection.
    ///
    /// # Errors
    /// As for [`TcpListener::accept`](crate::net::TcpListener::accept), which also tells how a loop
    /// recovers when descriptors have run out.
    ///
    /// # Cancel safety
    /// A connection that is not returned stays in the backlog.
    pub async fn accept(&self) -> io::Result<(UnixSeqpacket, SocketAddr)> {
        self.patience.wait().await;
        let accepted = self.io.io(Interest::READABLE, Inner::accept).await;
        UnixSeqpacketListener::accepted(self.patience.note(accepted)?)
    }

    /// As [`accept`](Self::accept), by poll. The waker of the last call is woken; of `accept` any
    /// number may wait.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
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

    /// The address it listens at.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        addr::of_system(&self.io.get_ref().0.local_addr()?)
    }

    /// Takes the error that waits to be reported by the next operation, if there is one.
    ///
    /// # Errors
    /// If the system cannot be asked.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().0.take_error()
    }
}

/// A socket of this kind, in non-blocking mode.
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
        // SAFETY: a byte may be taken for one that need not be initialised, as long as nobody
        // de-initialises it: receiving only writes bytes.
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
