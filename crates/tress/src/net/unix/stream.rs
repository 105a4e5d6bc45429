use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::{SocketAddr, UCred, addr, ucred};
use crate::io::source::Source;
use crate::io::{ReadBuf, Ready};
use crate::net::readiness::{
    readiness_methods, receive, socket_traits, stream_methods, stream_traits,
};
use std::io;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll};

/// A connection within this machine.
///
/// It is used as a [`TcpStream`](crate::net::TcpStream) is.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt};
/// use tress::net::UnixStream;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (mut near, mut far) = UnixStream::pair()?;
/// near.write_all(b"ping").await?;
/// let mut four = [0; 4];
/// far.read_exact(&mut four).await?;
/// assert_eq!(&four, b"ping");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct UnixStream {
    io: Source<mio::net::UnixStream>,
}

impl UnixStream {
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
    pub async fn connect<P>(path: P) -> io::Result<UnixStream>
    where
        P: AsRef<Path>,
    {
        let address = addr::of_path(path.as_ref())?;
        // The path need not be `Send`.
        drop(path);
        UnixStream::connect_std(&address).await
    }

    /// As [`connect`](Self::connect), to an address.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    ///
    /// # Cancel safety
    /// As for [`connect`](Self::connect).
    pub async fn connect_addr(socket_addr: &SocketAddr) -> io::Result<UnixStream> {
        UnixStream::connect_std(&socket_addr.0).await
    }

    async fn connect_std(address: &net::SocketAddr) -> io::Result<UnixStream> {
        UnixStream::connecting(mio::net::UnixStream::connect_addr(address)?).await
    }

    /// Waits for a connection that was asked for.
    pub(super) async fn connecting(socket: mio::net::UnixStream) -> io::Result<UnixStream> {
        let stream = UnixStream::new(socket, "connecting a UnixStream")?;
        stream.io.connecting().await?;
        match stream.take_error()? {
            None => Ok(stream),
            Some(error) => Err(error),
        }
    }

    pub(in crate::net) fn io(&self) -> &Source<mio::net::UnixStream> {
        &self.io
    }

    #[track_caller]
    pub(super) fn new(socket: mio::net::UnixStream, what: &str) -> io::Result<UnixStream> {
        let io = Source::new(socket, what)?;
        Ok(UnixStream { io })
    }

    /// One that was accepted: it is likely that the peer has written already, and there is room.
    pub(super) fn accepted(socket: mio::net::UnixStream, what: &str) -> io::Result<UnixStream> {
        let mut stream = UnixStream::new(socket, what)?;
        stream.io = stream.io.assuming(Ready::READABLE | Ready::WRITABLE);
        Ok(stream)
    }

    /// Two streams that are connected to each other, without names.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (one, other) = mio::net::UnixStream::pair()?;
        let end = |socket| UnixStream::new(socket, "UnixStream::pair");
        Ok((end(one)?, end(other)?))
    }

    /// Makes it of a stream of the standard library, which is put into non-blocking mode.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn from_std(stream: net::UnixStream) -> io::Result<UnixStream> {
        stream.set_nonblocking(true)?;
        UnixStream::new(
            mio::net::UnixStream::from_std(stream),
            "UnixStream::from_std",
        )
    }

    /// Makes it a stream of the standard library, which stays in non-blocking mode:
    /// [`set_nonblocking`](net::UnixStream::set_nonblocking) changes that.
    ///
    /// # Errors
    /// If an [owned](crate::io::AsyncReadOwned) read that was dropped has received bytes that nobody has read
    /// since: read them first, until `try_read` finds none. If an owned operation that was dropped still has
    /// the socket, and it cannot be duplicated.
    pub fn into_std(self) -> io::Result<net::UnixStream> {
        self.io.reclaim().map(Into::into)
    }

    /// The address of this side.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr().map(SocketAddr)
    }

    /// The address of the peer.
    ///
    /// # Errors
    /// What the system says.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr().map(SocketAddr)
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
        self.io.get_ref().take_error()
    }

    readiness_methods!();
    stream_methods!();

    /// Reads through a shared reference: also for the halves.
    ///
    /// A read that is short has not always emptied the socket: one that brings descriptors along ends
    /// with the message they came with. So only a read that would block uses up the readiness.
    pub(super) fn poll_read_shared(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: receiving initialises as many bytes as it says.
        unsafe { self.io.poll_read(cx, buf, receive) }
    }

    /// Makes two halves, to be used at the same time in one task. Costs nothing.
    pub fn split<'a>(&'a mut self) -> (ReadHalf<'a>, WriteHalf<'a>) {
        split::split(self)
    }

    /// Makes two halves that can go to different tasks. Costs one allocation and no locks. They can
    /// be [reunited](OwnedReadHalf::reunite); dropping the writing half ends the writing side.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split::into_split(self)
    }
}

stream_traits!(UnixStream);
socket_traits!(UnixStream, net::UnixStream);
