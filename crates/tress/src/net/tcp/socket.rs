use super::{TcpListener, TcpStream};
use crate::net::options::ip_options;
use crate::words;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// A TCP socket that is not connected and does not listen yet.
///
/// It is for options that have to be set before that. [`TcpStream::connect`] and [`TcpListener::bind`] are
/// shorter where no options are needed. It becomes one of these by [`connect`](TcpSocket::connect) or
/// [`listen`](TcpSocket::listen).
///
/// # Examples
/// ```
/// use tress::net::TcpSocket;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let socket = TcpSocket::new_v4()?;
/// socket.set_reuseaddr(true)?;
/// socket.bind("127.0.0.1:0".parse().unwrap())?;
/// let listener = socket.listen(128)?;
/// # drop(listener);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct TcpSocket {
    inner: Socket,
}

/// Defines setters and getters that call those of the inner socket, which have other names. All are of type `bool`.
macro_rules! options {
    ($($(#[$about:meta])* $get:ident, $set:ident, $type:ty = $inner_get:ident, $inner_set:ident;)*) => {$(
        $(#[$about])*
        ///
        /// # Errors
        /// Any error of `setsockopt(2)`.
        ///
        /// # Examples
        /// ```
        /// use tress::net::TcpSocket;
        ///
        /// let socket = TcpSocket::new_v4()?;
        #[doc = concat!("socket.", stringify!($set), "(true)?;")]
        #[doc = concat!("assert!(socket.", stringify!($get), "()?);")]
        /// # Ok::<(), std::io::Error>(())
        /// ```
        pub fn $set(&self, value: $type) -> io::Result<()> {
            self.inner.$inner_set(value)
        }

        #[doc = concat!("Returns the value that [`", stringify!($set), "`](Self::", stringify!($set), ") sets.")]
        ///
        /// # Errors
        /// Any error of `getsockopt(2)`.
        ///
        /// # Examples
        /// ```
        /// use tress::net::TcpSocket;
        ///
        /// let socket = TcpSocket::new_v4()?;
        #[doc = concat!("println!(\"", stringify!($get), ": {}\", socket.", stringify!($get), "()?);")]
        /// # Ok::<(), std::io::Error>(())
        /// ```
        pub fn $get(&self) -> io::Result<$type> {
            self.inner.$inner_get()
        }
    )*};
}

impl TcpSocket {
    /// Creates a socket for IPv4.
    ///
    /// # Errors
    /// Any error of `socket(2)`.
    ///
    /// # Examples
    /// ```
    /// use tress::net::TcpSocket;
    ///
    /// let socket = TcpSocket::new_v4()?;
    /// socket.set_nodelay(true)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new_v4() -> io::Result<TcpSocket> {
        TcpSocket::new(Domain::IPV4)
    }

    /// Creates a socket for IPv6.
    ///
    /// On most systems it can also be used for IPv4.
    ///
    /// # Errors
    /// Any error of `socket(2)`, for example that the system has no IPv6.
    ///
    /// # Examples
    /// ```
    /// use tress::net::TcpSocket;
    ///
    /// match TcpSocket::new_v6() {
    ///     Ok(socket) => socket.set_nodelay(true)?,
    ///     Err(error) => println!("there is no IPv6 here: {error}"),
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new_v6() -> io::Result<TcpSocket> {
        TcpSocket::new(Domain::IPV6)
    }

    fn new(domain: Domain) -> io::Result<TcpSocket> {
        let inner = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        inner.set_nonblocking(true)?;
        Ok(TcpSocket { inner })
    }

    /// Creates a `TcpSocket` from a socket of another library, which is not connected yet.
    ///
    /// The standard library has no type for such a socket, so it is passed as its `TcpStream`.
    /// [`connect`](Self::connect) and [`listen`](Self::listen) put it into non-blocking mode.
    ///
    /// # Examples
    /// ```
    /// use tress::net::TcpSocket;
    ///
    /// let other = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    /// other.set_keepalive(true)?;
    /// let socket = TcpSocket::from_std_stream(other.into());
    /// assert!(socket.keepalive()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn from_std_stream(std_stream: std::net::TcpStream) -> TcpSocket {
        TcpSocket {
            inner: std_stream.into(),
        }
    }

    options! {
        /// Sets whether packets are sent to a silent peer from time to time, to find out whether it is
        /// still there (`SO_KEEPALIVE`).
        keepalive, set_keepalive, bool = keepalive, set_keepalive;
        /// Sets whether the socket may bind to an address on which closed connections still linger
        /// (`SO_REUSEADDR`).
        ///
        /// On Windows it lets the socket bind to an address that is in use.
        reuseaddr, set_reuseaddr, bool = reuse_address, set_reuse_address;
        /// Sets whether small writes are sent at once, without Nagle's algorithm (`TCP_NODELAY`).
        nodelay, set_nodelay, bool = tcp_nodelay, set_tcp_nodelay;
    }

    /// Sets whether several sockets may bind to the same address and share its connections
    /// (`SO_REUSEPORT`).
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// use tress::net::TcpSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let first = TcpSocket::new_v4()?;
    /// first.set_reuseport(true)?;
    /// first.bind("127.0.0.1:0".parse().unwrap())?;
    /// let first = first.listen(128)?;
    ///
    /// let second = TcpSocket::new_v4()?;
    /// second.set_reuseport(true)?;
    /// second.bind(first.local_addr()?)?;
    /// let second = second.listen(128)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[cfg(all(unix, not(target_os = "solaris"), not(target_os = "illumos")))]
    pub fn set_reuseport(&self, reuseport: bool) -> io::Result<()> {
        self.inner.set_reuse_port(reuseport)
    }

    /// Returns the value that [`set_reuseport`](Self::set_reuseport) sets.
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// let socket = tress::net::TcpSocket::new_v4()?;
    /// assert!(!socket.reuseport()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(all(unix, not(target_os = "solaris"), not(target_os = "illumos")))]
    pub fn reuseport(&self) -> io::Result<bool> {
        self.inner.reuse_port()
    }

    /// Sets the size of the send buffer, in bytes (`SO_SNDBUF`).
    ///
    /// The system may choose another size.
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// use tress::net::TcpSocket;
    ///
    /// let socket = TcpSocket::new_v4()?;
    /// socket.set_send_buffer_size(64 * 1024)?;
    /// println!("the system has chosen {} bytes", socket.send_buffer_size()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_send_buffer_size(&self, size: u32) -> io::Result<()> {
        self.inner.set_send_buffer_size(size as usize)
    }

    /// Returns the size of the send buffer, in bytes (`SO_SNDBUF`).
    ///
    /// Linux returns twice the size that was set, because it counts its own overhead.
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// let socket = tress::net::TcpSocket::new_v4()?;
    /// println!("{} bytes", socket.send_buffer_size()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        self.inner.send_buffer_size().map(|size| size as u32)
    }

    /// Sets the size of the receive buffer, in bytes (`SO_RCVBUF`).
    ///
    /// The system may choose another size.
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// use tress::net::TcpSocket;
    ///
    /// let socket = TcpSocket::new_v4()?;
    /// socket.set_recv_buffer_size(64 * 1024)?;
    /// println!("the system has chosen {} bytes", socket.recv_buffer_size()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_recv_buffer_size(&self, size: u32) -> io::Result<()> {
        self.inner.set_recv_buffer_size(size as usize)
    }

    /// Returns the size of the receive buffer, in bytes (`SO_RCVBUF`).
    ///
    /// Linux returns twice the size that was set, because it counts its own overhead.
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// let socket = tress::net::TcpSocket::new_v4()?;
    /// println!("{} bytes", socket.recv_buffer_size()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        self.inner.recv_buffer_size().map(|size| size as u32)
    }

    /// Sets how long closing waits for written bytes to be acknowledged: see [`TcpStream::set_linger`].
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    #[deprecated = "closing then blocks the thread; use `set_zero_linger`, or shut the stream down and read its end"]
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        self.inner.set_linger(dur)
    }

    /// Makes closing reset the connection.
    ///
    /// Does the same as [`TcpStream::set_zero_linger`], for the stream that the socket becomes.
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let socket = tress::net::TcpSocket::new_v4()?;
    /// socket.set_zero_linger()?;
    /// assert_eq!(socket.linger()?, Some(Duration::ZERO));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.inner.set_linger(Some(Duration::ZERO))
    }

    /// Returns how long closing waits for written bytes to be acknowledged (`SO_LINGER`).
    ///
    /// See [`TcpStream::linger`].
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// let socket = tress::net::TcpSocket::new_v4()?;
    /// assert_eq!(socket.linger()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.inner.linger()
    }

    ip_options!();

    /// Returns the address that the socket is bound to.
    ///
    /// # Errors
    /// Any error of `getsockname(2)`; [`InvalidInput`](io::ErrorKind::InvalidInput) if the socket is not
    /// one of the Internet protocols.
    ///
    /// # Examples
    /// ```
    /// use tress::net::TcpSocket;
    ///
    /// let socket = TcpSocket::new_v4()?;
    /// socket.bind("127.0.0.1:0".parse().unwrap())?;
    /// assert!(socket.local_addr()?.ip().is_loopback());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner
            .local_addr()?
            .as_socket()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, words::OTHER_FAMILY))
    }

    /// Returns the pending error of the socket, if there is one, and clears it (`SO_ERROR`).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// let socket = tress::net::TcpSocket::new_v4()?;
    /// assert!(socket.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.inner.take_error()
    }

    /// Binds the socket to an address.
    ///
    /// Port 0 stands for any free port.
    ///
    /// # Errors
    /// Any error of `bind(2)`, such as [`AddrInUse`](io::ErrorKind::AddrInUse).
    ///
    /// # Examples
    /// ```
    /// use tress::net::TcpSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = TcpSocket::new_v4()?;
    /// socket.bind("127.0.0.1:0".parse().unwrap())?;
    /// let listener = socket.listen(1024)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.inner.bind(&addr.into())
    }

    /// Connects the socket to a peer.
    ///
    /// # Errors
    /// Any error of `connect(2)`, or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// Dropping the future closes the socket, whether the connection is established or under way.
    ///
    /// # Examples
    /// ```
    /// use tress::net::{TcpListener, TcpSocket};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let socket = TcpSocket::new_v4()?;
    /// socket.set_keepalive(true)?;
    /// let stream = socket.connect(listener.local_addr()?).await?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        self.inner.set_nonblocking(true)?;
        if let Err(error) = self.inner.connect(&SockAddr::from(addr)) {
            if !is_under_way(&error) {
                return Err(error);
            }
        }
        TcpStream::connecting(mio::net::TcpStream::from_std(self.inner.into())).await
    }

    /// Converts the socket to a listener.
    ///
    /// `backlog` is the maximum number of connections that wait to be accepted. The system has an upper
    /// bound for it. [Bind](Self::bind) the socket first; otherwise it listens on any free port of all
    /// addresses.
    ///
    /// # Errors
    /// Any error of `listen(2)`, or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```
    /// use tress::net::TcpSocket;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let socket = TcpSocket::new_v4()?;
    /// socket.bind("127.0.0.1:0".parse().unwrap())?;
    /// let listener = socket.listen(1024)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        self.inner.set_nonblocking(true)?;
        self.inner
            .listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        TcpListener::new(
            mio::net::TcpListener::from_std(self.inner.into()),
            "TcpSocket::listen",
        )
    }
}

#[cfg(unix)]
fn is_under_way(error: &io::Error) -> bool {
    // A signal does not end the attempt.
    matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EINTR))
}

#[cfg(windows)]
fn is_under_way(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

impl fmt::Debug for TcpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[cfg(unix)]
mod descriptor {
    use super::{Socket, TcpSocket};
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, RawFd};

    impl AsRawFd for TcpSocket {
        fn as_raw_fd(&self) -> RawFd {
            self.inner.as_raw_fd()
        }
    }

    impl AsFd for TcpSocket {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.inner.as_fd()
        }
    }

    impl FromRawFd for TcpSocket {
        unsafe fn from_raw_fd(fd: RawFd) -> TcpSocket {
            TcpSocket {
                // SAFETY: the caller hands over an open descriptor.
                inner: unsafe { Socket::from_raw_fd(fd) },
            }
        }
    }

    impl IntoRawFd for TcpSocket {
        fn into_raw_fd(self) -> RawFd {
            self.inner.into_raw_fd()
        }
    }
}

#[cfg(windows)]
mod handle {
    use super::{Socket, TcpSocket};
    use std::os::windows::io::{
        AsRawSocket, AsSocket, BorrowedSocket, FromRawSocket, IntoRawSocket, RawSocket,
    };

    impl AsRawSocket for TcpSocket {
        fn as_raw_socket(&self) -> RawSocket {
            self.inner.as_raw_socket()
        }
    }

    impl AsSocket for TcpSocket {
        fn as_socket(&self) -> BorrowedSocket<'_> {
            self.inner.as_socket()
        }
    }

    impl FromRawSocket for TcpSocket {
        unsafe fn from_raw_socket(socket: RawSocket) -> TcpSocket {
            TcpSocket {
                // SAFETY: the caller hands over an open socket.
                inner: unsafe { Socket::from_raw_socket(socket) },
            }
        }
    }

    impl IntoRawSocket for TcpSocket {
        fn into_raw_socket(self) -> RawSocket {
            self.inner.into_raw_socket()
        }
    }
}
