use super::{UnixDatagram, UnixListener, UnixStream, addr};
use crate::words;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, RawFd};
use std::os::unix::net;
use std::path::Path;

/// A Unix socket that is not a stream, a listener or a socket for datagrams yet.
///
/// It is for sockets that are bound to an address before they connect. [`UnixStream`], [`UnixListener`] and
/// [`UnixDatagram`] have shorter ways for all other cases.
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
    /// Creates a socket for datagrams.
    ///
    /// # Errors
    /// Any error of `socket(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = tress::net::UnixSocket::new_datagram()?.datagram()?;
    /// assert!(socket.local_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn new_datagram() -> io::Result<UnixSocket> {
        UnixSocket::new(Type::DGRAM)
    }

    /// Creates a socket for a stream or a listener.
    ///
    /// # Errors
    /// Any error of `socket(2)`.
    ///
    /// # Examples
    /// ```no_run
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = tress::net::UnixSocket::new_stream()?;
    /// let stream = socket.connect("/run/example.sock").await?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
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

    /// Binds the socket to a path.
    ///
    /// On Linux and Android, a path that begins with a zero byte is a name in the abstract namespace.
    ///
    /// # Errors
    /// Any error of `bind(2)`, such as [`AddrInUse`](io::ErrorKind::AddrInUse) if there is a file already.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-unix-bind-{}", std::process::id()));
    /// let socket = UnixSocket::new_datagram()?;
    /// socket.bind(&path)?;
    /// assert_eq!(socket.datagram()?.local_addr()?.as_pathname(), Some(path.as_path()));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn bind(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.inner.bind(&address(path.as_ref())?)
    }

    /// Converts the socket to a listener.
    ///
    /// `backlog` is the maximum number of connections that wait to be accepted. [Bind](Self::bind) the
    /// socket first.
    ///
    /// # Errors
    /// The socket is one for datagrams; any error of `listen(2)`; or the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-listen-{}", std::process::id()));
    /// let socket = UnixSocket::new_stream()?;
    /// socket.bind(&path)?;
    /// let listener = socket.listen(128)?;
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<UnixListener> {
        self.check(Type::STREAM, words::LISTEN)?;
        self.inner
            .listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        let socket = mio::net::UnixListener::from_std(net::UnixListener::from(self.inner));
        UnixListener::new(socket, "UnixSocket::listen")
    }

    /// Connects the socket to a listener at a path.
    ///
    /// # Errors
    /// The socket is one for datagrams; any error of `connect(2)`; or the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// Dropping the future closes the socket.
    ///
    /// # Examples
    /// ```
    /// use tress::net::{UnixListener, UnixSocket};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let directory = std::env::temp_dir().join(format!("tress-doc-unix-connect-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// let listener = UnixListener::bind(directory.join("server"))?;
    /// let socket = UnixSocket::new_stream()?;
    /// socket.bind(directory.join("client"))?;
    /// let client = socket.connect(directory.join("server")).await?;
    /// let (_server, peer) = listener.accept().await?;
    /// assert_eq!(peer.as_pathname(), Some(directory.join("client").as_path()));
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn connect(self, path: impl AsRef<Path>) -> io::Result<UnixStream> {
        self.check(Type::STREAM, words::CONNECT)?;
        let address = address(path.as_ref())?;
        // It is dropped before the wait, so it need not be `Send`.
        drop(path);
        if let Err(error) = self.inner.connect(&address) {
            if error.raw_os_error() != Some(libc::EINPROGRESS) {
                return Err(error);
            }
        }
        let socket = mio::net::UnixStream::from_std(net::UnixStream::from(self.inner));
        UnixStream::connecting(socket).await
    }

    /// Converts the socket to one for datagrams.
    ///
    /// # Errors
    /// The socket is one for streams, or the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// assert!(UnixSocket::new_datagram()?.datagram().is_ok());
    /// assert!(UnixSocket::new_stream()?.datagram().is_err());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn datagram(self) -> io::Result<UnixDatagram> {
        self.check(Type::DGRAM, words::DATAGRAM)?;
        UnixDatagram::from_std(net::UnixDatagram::from(self.inner))
    }
}

fn address(path: &Path) -> io::Result<SockAddr> {
    // This applies the same rules to both kinds of names as everywhere else.
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
