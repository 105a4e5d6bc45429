use super::TcpStream;
use crate::io::source::Source;
use crate::io::{Interest, uninterrupted};
use crate::net::addr::{self, ToSocketAddrs};
use crate::net::patience::Patience;
use crate::net::readiness::socket_traits;
use socket2::{Domain, Protocol, Type};
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};
use tress_driver::Direction;

/// Connections that were not accepted yet. A burst of more than the 128 that mio and the standard
/// library allow is nothing unusual, and a connection that finds no room is tried again by its client
/// only after a second.
// D-NET-03
const BACKLOG: i32 = 1024;

/// Accepts TCP connections.
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
    /// Listens on the first of the addresses that lets it, port 0 being any free one. The address
    /// may be one that closed connections still linger on (`SO_REUSEADDR`), except on Windows; the
    /// backlog is 1024. [`TcpSocket`](super::TcpSocket) has more options.
    ///
    /// # Errors
    /// Of the last address tried, or of the lookup.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing.
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

    /// Waits for a connection, and says who it is from.
    ///
    /// # Errors
    /// What the system says. Some of it concerns one connection only, such as `ConnectionAborted` for
    /// a peer that has left already. When descriptors or memory have run out (`EMFILE`, `ENFILE`,
    /// `ENOBUFS`, `ENOMEM`) the connection stays in the backlog, and the next call pauses for ten
    /// milliseconds before it tries again, if the runtime has timers: a loop that goes on after an
    /// error recovers when there is room again, and does not keep a processor busy until then.
    ///
    /// # Cancel safety
    /// A connection that is not returned stays in the backlog.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.patience.wait().await;
        let accepted = self.io.io(Interest::READABLE, accept).await;
        let (socket, peer) = self.patience.note(accepted)?;
        Ok((TcpStream::accepted(socket, "TcpListener::accept")?, peer))
    }

    /// As [`accept`](Self::accept), by poll. The waker of the last call is woken; of `accept` any
    /// number may wait.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        ready!(self.patience.poll_wait(cx));
        let accepted = ready!(self.io.poll_io(cx, Direction::Read, accept));
        let (socket, peer) = self.patience.note(accepted)?;
        let stream = TcpStream::accepted(socket, "TcpListener::poll_accept")?;
        Poll::Ready(Ok((stream, peer)))
    }

    /// Makes it of a listener of the standard library, which is put into non-blocking mode.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        listener.set_nonblocking(true)?;
        TcpListener::new(
            mio::net::TcpListener::from_std(listener),
            "TcpListener::from_std",
        )
    }

    /// Makes it a listener of the standard library, which stays in non-blocking mode:
    /// [`set_nonblocking`](std::net::TcpListener::set_nonblocking) changes that.
    ///
    /// # Errors
    /// None at present.
    pub fn into_std(self) -> io::Result<std::net::TcpListener> {
        Ok(self.io.into_inner().into())
    }

    /// The address it listens on; of use after binding to port 0.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// How many hops packets may take (IPv4).
    ///
    /// # Errors
    /// What the system says.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.get_ref().ttl()
    }

    /// Sets how many hops packets may take (IPv4).
    ///
    /// # Errors
    /// What the system says.
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
        // There it would let others take an address that is in use.
        socket.set_reuse_address(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(mio::net::TcpListener::from_std(socket.into()))
}
