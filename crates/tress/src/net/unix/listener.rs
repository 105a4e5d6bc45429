use super::{SocketAddr, UnixStream, addr};
use crate::io::source::Source;
use crate::io::{Interest, uninterrupted};
use crate::net::patience::Patience;
use crate::net::readiness::socket_traits;
use std::io;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll, ready};
use tress_driver::Direction;

/// Accepts connections within this machine.
///
/// Binding to a path makes a file there, which stays when the listener is dropped: remove it, before or
/// after. On Linux a name in the abstract space leaves nothing.
///
/// # Examples
/// ```no_run
/// # async fn f() -> std::io::Result<()> {
/// let listener = tress::net::UnixListener::bind("/run/example.sock")?;
/// let (stream, _) = listener.accept().await?;
/// println!("connected by user {}", stream.peer_cred()?.uid());
/// # Ok(()) }
/// ```
pub struct UnixListener {
    io: Source<mio::net::UnixListener>,
    patience: Patience,
}

impl UnixListener {
    /// Listens at a path; on Linux one that begins with a zero byte is a name in the abstract space.
    ///
    /// # Errors
    /// What the system says: `AddrInUse` if there is a file already.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn bind<P>(path: P) -> io::Result<UnixListener>
    where
        P: AsRef<Path>,
    {
        UnixListener::bind_std(&addr::of_path(path.as_ref())?)
    }

    /// As [`bind`](Self::bind), to an address.
    ///
    /// # Errors
    /// As for [`bind`](Self::bind).
    ///
    /// # Panics
    /// As for [`bind`](Self::bind).
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

    /// Waits for a connection.
    ///
    /// # Errors
    /// As for [`TcpListener::accept`](crate::net::TcpListener::accept), which also tells how a loop
    /// recovers when descriptors have run out.
    ///
    /// # Cancel safety
    /// A connection that is not returned stays in the backlog.
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        self.patience.wait().await;
        let accepted = self.io.io(Interest::READABLE, accept).await;
        UnixListener::accepted(self.patience.note(accepted)?)
    }

    /// As [`accept`](Self::accept), by poll. The waker of the last call is woken; of `accept` any
    /// number may wait.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
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

    /// Makes it of a listener of the standard library, which is put into non-blocking mode.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn from_std(listener: net::UnixListener) -> io::Result<UnixListener> {
        listener.set_nonblocking(true)?;
        UnixListener::new(
            mio::net::UnixListener::from_std(listener),
            "UnixListener::from_std",
        )
    }

    /// Makes it a listener of the standard library, which stays in non-blocking mode:
    /// [`set_nonblocking`](net::UnixListener::set_nonblocking) changes that.
    ///
    /// # Errors
    /// None at present.
    pub fn into_std(self) -> io::Result<net::UnixListener> {
        Ok(self.io.into_inner().into())
    }

    /// The address it listens at.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr().map(SocketAddr)
    }

    /// Takes the error that waits to be reported by the next operation, if there is one.
    ///
    /// # Errors
    /// If the system cannot be asked.
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
