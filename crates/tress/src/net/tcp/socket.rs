use super::{TcpListener, TcpStream};
use crate::net::options::ip_options;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// A TCP socket before it connects or listens: to set options that have to be set first.
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

/// Getters and setters that are the socket's by another name or type.
macro_rules! options {
    ($($(#[$about:meta])* $get:ident, $set:ident, $type:ty = $inner_get:ident, $inner_set:ident;)*) => {$(
        $(#[$about])*
        ///
        /// # Errors
        /// What the system says.
        pub fn $set(&self, value: $type) -> io::Result<()> {
            self.inner.$inner_set(value)
        }

        #[doc = concat!("What [`", stringify!($set), "`](Self::", stringify!($set), ") sets.")]
        ///
        /// # Errors
        /// What the system says.
        pub fn $get(&self) -> io::Result<$type> {
            self.inner.$inner_get()
        }
    )*};
}

impl TcpSocket {
    /// A socket for IPv4.
    ///
    /// # Errors
    /// What the system says.
    pub fn new_v4() -> io::Result<TcpSocket> {
        TcpSocket::new(Domain::IPV4)
    }

    /// A socket for IPv6, which on most systems takes IPv4 as well.
    ///
    /// # Errors
    /// What the system says.
    pub fn new_v6() -> io::Result<TcpSocket> {
        TcpSocket::new(Domain::IPV6)
    }

    fn new(domain: Domain) -> io::Result<TcpSocket> {
        let inner = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        inner.set_nonblocking(true)?;
        Ok(TcpSocket { inner })
    }

    /// Makes it of a socket that another library has made and set up, and that is not connected yet,
    /// which the standard library has no type of its own for.
    ///
    /// [`connect`](Self::connect) and [`listen`](Self::listen) put it into non-blocking mode.
    ///
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
        /// Sends packets now and then to a peer that is silent, to see whether it is still there
        /// (`SO_KEEPALIVE`).
        keepalive, set_keepalive, bool = keepalive, set_keepalive;
        /// Lets it bind to an address that closed connections still linger on (`SO_REUSEADDR`). On
        /// Windows: to one that is in use.
        reuseaddr, set_reuseaddr, bool = reuse_address, set_reuse_address;
        /// Sends small writes at once instead of gathering them (`TCP_NODELAY`).
        nodelay, set_nodelay, bool = tcp_nodelay, set_tcp_nodelay;
    }

    /// Lets several sockets bind to the same address and share its connections (`SO_REUSEPORT`).
    ///
    /// # Errors
    /// What the system says.
    #[cfg(all(unix, not(target_os = "solaris"), not(target_os = "illumos")))]
    pub fn set_reuseport(&self, reuseport: bool) -> io::Result<()> {
        self.inner.set_reuse_port(reuseport)
    }

    /// What [`set_reuseport`](Self::set_reuseport) sets.
    ///
    /// # Errors
    /// What the system says.
    #[cfg(all(unix, not(target_os = "solaris"), not(target_os = "illumos")))]
    pub fn reuseport(&self) -> io::Result<bool> {
        self.inner.reuse_port()
    }

    /// Asks for a send buffer of this size; the system may take another one.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_send_buffer_size(&self, size: u32) -> io::Result<()> {
        self.inner.set_send_buffer_size(size as usize)
    }

    /// The size of the send buffer. On Linux twice what was asked for: it counts its own part.
    ///
    /// # Errors
    /// What the system says.
    pub fn send_buffer_size(&self) -> io::Result<u32> {
        self.inner.send_buffer_size().map(|size| size as u32)
    }

    /// Asks for a receive buffer of this size; the system may take another one.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_recv_buffer_size(&self, size: u32) -> io::Result<()> {
        self.inner.set_recv_buffer_size(size as usize)
    }

    /// The size of the receive buffer. On Linux twice what was asked for: it counts its own part.
    ///
    /// # Errors
    /// What the system says.
    pub fn recv_buffer_size(&self) -> io::Result<u32> {
        self.inner.recv_buffer_size().map(|size| size as u32)
    }

    /// As [`TcpStream::set_linger`].
    ///
    /// # Errors
    /// What the system says.
    #[deprecated = "closing then blocks the thread; use `set_zero_linger`, or shut the stream down and read its end"]
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        self.inner.set_linger(dur)
    }

    /// As [`TcpStream::set_zero_linger`].
    ///
    /// # Errors
    /// What the system says.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.inner.set_linger(Some(Duration::ZERO))
    }

    /// As [`TcpStream::linger`].
    ///
    /// # Errors
    /// What the system says.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.inner.linger()
    }

    ip_options!();

    /// The address of this side.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()?.as_socket().ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "the socket is not one of the Internet protocols",
            )
        })
    }

    /// Takes the error that waits to be reported by the next operation, if there is one.
    ///
    /// # Errors
    /// If the system cannot be asked.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.inner.take_error()
    }

    /// Gives it an address.
    ///
    /// # Errors
    /// What the system says.
    pub fn bind(&self, addr: SocketAddr) -> io::Result<()> {
        self.inner.bind(&addr.into())
    }

    /// Connects to a peer.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection, whether it is established or under way.
    pub async fn connect(self, addr: SocketAddr) -> io::Result<TcpStream> {
        self.inner.set_nonblocking(true)?;
        if let Err(error) = self.inner.connect(&SockAddr::from(addr)) {
            if !is_under_way(&error) {
                return Err(error);
            }
        }
        TcpStream::connecting(mio::net::TcpStream::from_std(self.inner.into())).await
    }

    /// Listens, with room for so many connections that were not accepted yet. The system has an upper
    /// bound for it.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
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
    // A signal does not end it.
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
