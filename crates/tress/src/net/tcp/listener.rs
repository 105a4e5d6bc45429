use super::TcpStream;
use crate::io::source::Source;
use crate::io::{Interest, uninterrupted};
use crate::net::addr::{self, ToSocketAddrs};
use crate::net::conversion::socket_traits;
use crate::net::patience::Patience;
use socket2::{Domain, Protocol, Type};
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};
use tress_driver::Direction;

/// Maximum number of connections that wait to be accepted. A burst of more than the 128 that mio and the
/// standard library allow is nothing unusual, and the client of a connection that finds no room tries again
/// only after a second.
// D-NET-03
const BACKLOG: i32 = 1024;

/// A TCP socket that accepts connections.
///
/// Call [`accept`](TcpListener::accept) in a loop. Dropping the listener closes it; connections that were
/// accepted stay open, and those that wait to be accepted are reset.
///
/// # Examples
/// ```no_run
/// use tress::net::TcpListener;
///
/// # async fn serve(_: tress::net::TcpStream) {}
/// #[tress::main]
/// async fn main() -> std::io::Result<()> {
///     let listener = TcpListener::bind("127.0.0.1:8080").await?;
///     loop {
///         match listener.accept().await {
///             Ok((stream, _peer)) => drop(tress::spawn(serve(stream))),
///             // A connection that was gone already, or no descriptors left: see `accept`.
///             Err(error) => eprintln!("cannot accept: {error}"),
///         }
///     }
/// }
/// ```
pub struct TcpListener {
    io: Source<mio::net::TcpListener>,
    patience: Patience,
}

impl TcpListener {
    /// Creates a listener on the first of the addresses that can be bound to.
    ///
    /// Port 0 stands for any free port: [`local_addr`](Self::local_addr) returns which one it is. At most
    /// 1024 connections wait to be accepted.
    ///
    /// Except on Windows, `SO_REUSEADDR` is set, so that a server can bind again to an address on which
    /// closed connections still linger. [`TcpSocket`](super::TcpSocket) gives access to this and other
    /// options.
    ///
    /// # Errors
    /// The error of the last address that was tried: any error of `socket(2)`, `bind(2)` or `listen(2)`; an
    /// error of the [lookup](crate::net::lookup_host); [`InvalidInput`](io::ErrorKind::InvalidInput) if
    /// there is no address; or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if it is dropped, no socket is left behind.
    ///
    /// # Examples
    /// ```
    /// use tress::net::TcpListener;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// assert_ne!(listener.local_addr()?.port(), 0);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<TcpListener> {
        let socket = addr::each(addr, listen).await?;
        TcpListener::new(socket, "TcpListener::bind")
    }

    #[track_caller]
    pub(super) fn new(socket: mio::net::TcpListener, what: &str) -> io::Result<TcpListener> {
        Ok(TcpListener {
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
    /// Any error of `accept(2)`, or that the runtime has shut down. Some errors concern one connection
    /// only, such as [`ConnectionAborted`](io::ErrorKind::ConnectionAborted) for a peer that has left
    /// already: a server should go on after them.
    ///
    /// When descriptors or memory have run out (`EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`), the connection
    /// stays in the backlog, and the next call pauses for 10 ms before it tries again, if the runtime has
    /// timers. A loop that goes on after errors therefore recovers when there is room again, and does not
    /// keep a processor busy until then.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// This method is cancel safe: a connection that is not returned stays in the backlog.
    ///
    /// # Examples
    /// ```
    /// use tress::net::{TcpListener, TcpStream};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let client = TcpStream::connect(listener.local_addr()?).await?;
    /// let (server, peer) = listener.accept().await?;
    /// assert_eq!(client.local_addr()?, peer);
    /// assert_eq!(server.peer_addr()?, peer);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.patience.wait().await;
        let accepted = self.io.io(Interest::READABLE, accept).await;
        let (socket, peer) = self.patience.note(accepted)?;
        Ok((TcpStream::accepted(socket, "TcpListener::accept")?, peer))
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
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// let client = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// let (_server, peer) = poll_fn(|cx| listener.poll_accept(cx)).await?;
    /// assert_eq!(peer, client.local_addr()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        ready!(self.patience.poll_wait(cx));
        let accepted = ready!(self.io.poll_io(cx, Direction::Read, accept));
        let (socket, peer) = self.patience.note(accepted)?;
        let stream = TcpStream::accepted(socket, "TcpListener::poll_accept")?;
        Poll::Ready(Ok((stream, peer)))
    }

    /// Creates a `TcpListener` from a listener of the standard library.
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
    /// use tress::net::TcpListener;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    /// let listener = TcpListener::from_std(listener)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        listener.set_nonblocking(true)?;
        TcpListener::new(
            mio::net::TcpListener::from_std(listener),
            "TcpListener::from_std",
        )
    }

    /// Converts the listener to one of the standard library.
    ///
    /// It stays in non-blocking mode, until that is changed by
    /// [`set_nonblocking`](std::net::TcpListener::set_nonblocking).
    ///
    /// # Errors
    /// None at present.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// let listener: std::net::TcpListener = listener.into_std()?;
    /// listener.set_nonblocking(false)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_std(self) -> io::Result<std::net::TcpListener> {
        Ok(self.io.into_inner().into())
    }

    /// Returns the address that the listener is bound to.
    ///
    /// This is useful after binding to port 0.
    ///
    /// # Errors
    /// Any error of `getsockname(2)`.
    ///
    /// # Examples
    /// ```
    /// use tress::net::TcpListener;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// println!("listening on {}", listener.local_addr()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Returns the time to live, the maximum number of hops, of packets that are sent (`IP_TTL`).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// println!("at most {} hops", listener.ttl()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.get_ref().ttl()
    }

    /// Sets the time to live, the maximum number of hops, of packets that are sent (`IP_TTL`).
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// listener.set_ttl(64)?;
    /// assert_eq!(listener.ttl()?, 64);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.get_ref().set_ttl(ttl)
    }
}

fn accept(listener: &mio::net::TcpListener) -> io::Result<(mio::net::TcpStream, SocketAddr)> {
    uninterrupted(|| listener.accept())
}

socket_traits!(TcpListener, std::net::TcpListener);

fn listen(address: SocketAddr) -> io::Result<mio::net::TcpListener> {
    let socket = socket2::Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_nonblocking(true)?;
    if !cfg!(windows) {
        // On Windows the option would let other programs take an address that is in use.
        socket.set_reuse_address(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(mio::net::TcpListener::from_std(socket.into()))
}
