use super::{UnixDatagram, UnixListener, UnixStream, addr};
use crate::words;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, RawFd};
use std::os::unix::net;
use std::path::Path;

/// A Unix socket before it is a stream, a listener or one for datagrams: to give it an address first.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let socket = tress::net::UnixSocket::new_datagram()?;
/// let datagrams = socket.datagram()?;
/// # drop(datagrams);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct UnixSocket {
    inner: Socket,
}

impl UnixSocket {
    /// A socket for datagrams.
    ///
    /// # Errors
    /// What the system says.
    pub fn new_datagram() -> io::Result<UnixSocket> {
        UnixSocket::new(Type::DGRAM)
    }

    /// A socket for a stream or a listener.
    ///
    /// # Errors
    /// What the system says.
    pub fn new_stream() -> io::Result<UnixSocket> {
        UnixSocket::new(Type::STREAM)
    }

    fn new(kind: Type) -> io::Result<UnixSocket> {
        let inner = Socket::new(Domain::UNIX, kind, None)?;
        inner.set_nonblocking(true)?;
        Ok(UnixSocket { inner })
    }

    fn check(&self, kind: Type, message: &'static str) -> io::Result<()> {
        if self.inner.r#type()? == kind {
            Ok(())
        } else {
            Err(io::Error::other(message))
        }
    }

    /// Gives it an address: a path, or on Linux, after a zero byte, a name in the abstract space.
    ///
    /// # Errors
    /// What the system says.
    pub fn bind(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.inner.bind(&address(path.as_ref())?)
    }

    /// Listens, with room for so many connections that were not accepted yet.
    ///
    /// # Errors
    /// If it is one for datagrams; what the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<UnixListener> {
        self.check(Type::STREAM, words::LISTEN)?;
        self.inner
            .listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        let socket = mio::net::UnixListener::from_std(net::UnixListener::from(self.inner));
        UnixListener::new(socket, "UnixSocket::listen")
    }

    /// Connects to a listener.
    ///
    /// # Errors
    /// If it is one for datagrams; what the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub async fn connect(self, path: impl AsRef<Path>) -> io::Result<UnixStream> {
        self.check(Type::STREAM, words::CONNECT)?;
        let address = address(path.as_ref())?;
        // The path need not be `Send`.
        drop(path);
        if let Err(error) = self.inner.connect(&address) {
            if error.raw_os_error() != Some(libc::EINPROGRESS) {
                return Err(error);
            }
        }
        let socket = mio::net::UnixStream::from_std(net::UnixStream::from(self.inner));
        UnixStream::connecting(socket).await
    }

    /// Makes it a socket for datagrams.
    ///
    /// # Errors
    /// If it is one for streams; what the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn datagram(self) -> io::Result<UnixDatagram> {
        self.check(Type::DGRAM, words::DATAGRAM)?;
        UnixDatagram::from_std(net::UnixDatagram::from(self.inner))
    }
}

fn address(path: &Path) -> io::Result<SockAddr> {
    // The same rule for both kinds of names as everywhere.
    addr::of_path(path)?;
    SockAddr::unix(path)
}

impl AsRawFd for UnixSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.inner.as_raw_fd()
    }
}

impl AsFd for UnixSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl FromRawFd for UnixSocket {
    unsafe fn from_raw_fd(fd: RawFd) -> UnixSocket {
        UnixSocket {
            // SAFETY: the caller hands over an open descriptor.
            inner: unsafe { Socket::from_raw_fd(fd) },
        }
    }
}

impl IntoRawFd for UnixSocket {
    fn into_raw_fd(self) -> RawFd {
        self.inner.into_raw_fd()
    }
}
