use super::{SocketAddr, UnixStream, addr};
use crate::io::source::Source;
use crate::io::{Interest, uninterrupted};
use crate::net::conversion::socket_traits;
use crate::net::patience::Patience;
use std::io;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll, ready};
use tress_driver::Direction;

/// A Unix socket that accepts connections from processes of the same machine.
///
/// Binding to a path creates a file there, which stays when the listener is dropped: remove it before or
/// after. A name in the abstract namespace (Linux and Android) leaves nothing behind.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt};
/// use tress::net::{UnixListener, UnixStream};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// # let path = std::env::temp_dir().join(format!("tress-doc-unix-listener-{}", std::process::id()));
/// let listener = UnixListener::bind(&path)?;
/// let mut client = UnixStream::connect(&path).await?;
/// let (mut server, _) = listener.accept().await?;
/// println!("connected by user {}", server.peer_cred()?.uid());
/// client.write_u8(7).await?;
/// assert_eq!(server.read_u8().await?, 7);
/// std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct UnixListener {
    io: Source<mio::net::UnixListener>,
    patience: Patience,
}

impl UnixListener {
    /// Creates a listener at a path.
    ///
    /// On Linux and Android, a path that begins with a zero byte is a name in the abstract namespace.
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
    /// let listener = tress::net::UnixListener::bind("/run/example.sock")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn bind<P>(path: P) -> io::Result<UnixListener>
    where
        P: AsRef<Path>,
    {
        UnixListener::bind_std(&addr::of_path(path.as_ref())?)
    }

    /// Creates a listener like [`bind`](Self::bind), at an address.
    ///
    /// # Errors
    /// See [`bind`](Self::bind).
    ///
    /// # Panics
    /// See [`bind`](Self::bind).
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::UnixListener;
    /// use tress::net::unix::SocketAddr;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let address = std::os::unix::net::SocketAddr::from_pathname("/run/example.sock")?;
    /// let listener = UnixListener::bind_addr(&SocketAddr::from(address))?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn bind_addr(socket_addr: &SocketAddr) -> io::Result<UnixListener> {
        UnixListener::bind_std(&socket_addr.0)
    }

    #[track_caller]
    fn bind_std(address: &net::SocketAddr) -> io::Result<UnixListener> {
        let socket = mio::net::UnixListener::bind_addr(address)?;
        UnixListener::new(socket, "UnixListener::bind")
    }

    #[track_caller]
    pub(super) fn new(socket: mio::net::UnixListener, what: &str) -> io::Result<UnixListener> {
        Ok(UnixListener {
            io: Source::with_interest(socket, Interest::READABLE, what)?,
            patience: Patience::default(),
        })
    }

    /// Waits for a connection, and returns it with the address of the peer.
    ///
    /// The stream belongs to the runtime in which this method is called. Any number of tasks may wait at
    /// the same time.
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
    /// ```no_run
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # async fn serve(_: tress::net::UnixStream) {}
    /// let listener = tress::net::UnixListener::bind("/run/example.sock")?;
    /// loop {
    ///     match listener.accept().await {
    ///         Ok((stream, _)) => drop(tress::spawn(serve(stream))),
    ///         Err(error) => eprintln!("cannot accept: {error}"),
    ///     }
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        self.patience.wait().await;
        let accepted = self.io.io(Interest::READABLE, accept).await;
        UnixListener::accepted(self.patience.note(accepted)?)
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
    /// use tress::net::{UnixListener, UnixStream};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-unix-poll-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// let client = UnixStream::connect(&path).await?;
    /// let (_server, peer) = poll_fn(|cx| listener.poll_accept(cx)).await?;
    /// assert!(peer.is_unnamed());
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        ready!(self.patience.poll_wait(cx));
        let accepted = ready!(self.io.poll_io(cx, Direction::Read, accept));
        Poll::Ready(UnixListener::accepted(self.patience.note(accepted)?))
    }

    fn accepted(
        (socket, peer): (mio::net::UnixStream, net::SocketAddr),
    ) -> io::Result<(UnixStream, SocketAddr)> {
        let stream = UnixStream::accepted(socket, "UnixListener::accept")?;
        Ok((stream, SocketAddr(peer)))
    }

    /// Creates a `UnixListener` from a listener of the standard library.
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
    /// use tress::net::UnixListener;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-unix-from-{}", std::process::id()));
    /// let listener = std::os::unix::net::UnixListener::bind(&path)?;
    /// let listener = UnixListener::from_std(listener)?;
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn from_std(listener: net::UnixListener) -> io::Result<UnixListener> {
        listener.set_nonblocking(true)?;
        UnixListener::new(
            mio::net::UnixListener::from_std(listener),
            "UnixListener::from_std",
        )
    }

    /// Converts the listener to one of the standard library.
    ///
    /// It stays in non-blocking mode, until that is changed by
    /// [`set_nonblocking`](net::UnixListener::set_nonblocking).
    ///
    /// # Errors
    /// None at present.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixListener;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-unix-into-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?.into_std()?;
    /// listener.set_nonblocking(false)?;
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_std(self) -> io::Result<net::UnixListener> {
        Ok(self.io.into_inner().into())
    }

    /// Returns the address that the listener is bound to.
    ///
    /// # Errors
    /// Any error of `getsockname(2)`.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixListener;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-unix-addr-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// assert_eq!(listener.local_addr()?.as_pathname(), Some(path.as_path()));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr().map(SocketAddr)
    }

    /// Returns the pending error of the socket, if there is one, and clears it (`SO_ERROR`).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```no_run
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let listener = tress::net::UnixListener::bind("/run/example.sock")?;
    /// assert!(listener.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }
}

fn accept(
    listener: &mio::net::UnixListener,
) -> io::Result<(mio::net::UnixStream, net::SocketAddr)> {
    uninterrupted(|| listener.accept())
}

socket_traits!(UnixListener, net::UnixListener);
