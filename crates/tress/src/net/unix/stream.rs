use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::{SocketAddr, UCred, addr, ucred};
use crate::io::source::Source;
use crate::io::{Interest, ReadBuf, Ready};
use crate::net::conversion::socket_traits;
use crate::net::readiness::readiness_methods;
use crate::net::transfer::{receive, stream_methods, stream_traits};
use std::io;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll};

/// A stream between processes of one machine.
///
/// It is created by [`connect`](UnixStream::connect), [`pair`](UnixStream::pair) or
/// [`UnixListener::accept`](super::UnixListener::accept), and used like a
/// [`TcpStream`](crate::net::TcpStream): read and write it through [`AsyncRead`](crate::io::AsyncRead) and
/// [`AsyncWrite`](crate::io::AsyncWrite), and [`split`](UnixStream::split) it to do both at the same time.
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
    /// Connects to a listener at a path.
    ///
    /// On Linux and Android, a path that begins with a zero byte is a name in the abstract namespace.
    ///
    /// # Errors
    /// Any error of `connect(2)`, such as [`WouldBlock`](io::ErrorKind::WouldBlock) if the listener's
    /// backlog is full; or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// Dropping the future closes the socket.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::io::AsyncWriteExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut stream = tress::net::UnixStream::connect("/run/example.sock").await?;
    /// stream.write_all(b"hello").await?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn connect<P>(path: P) -> io::Result<UnixStream>
    where
        P: AsRef<Path>,
    {
        let address = addr::of_path(path.as_ref())?;
        // It is dropped before the wait, so it need not be `Send`.
        drop(path);
        UnixStream::connect_std(&address).await
    }

    /// Connects like [`connect`](Self::connect), to an address.
    ///
    /// # Errors
    /// See [`connect`](Self::connect).
    ///
    /// # Panics
    /// See [`connect`](Self::connect).
    ///
    /// # Cancel safety
    /// See [`connect`](Self::connect).
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::UnixStream;
    /// use tress::net::unix::SocketAddr;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let address = std::os::unix::net::SocketAddr::from_pathname("/run/example.sock")?;
    /// let stream = UnixStream::connect_addr(&SocketAddr::from(address)).await?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn connect_addr(socket_addr: &SocketAddr) -> io::Result<UnixStream> {
        UnixStream::connect_std(&socket_addr.0).await
    }

    async fn connect_std(address: &net::SocketAddr) -> io::Result<UnixStream> {
        UnixStream::connecting(mio::net::UnixStream::connect_addr(address)?).await
    }

    /// Waits for a connection that has been requested.
    pub(super) async fn connecting(socket: mio::net::UnixStream) -> io::Result<UnixStream> {
        let stream = UnixStream::new(socket, "connecting a UnixStream")?;
        stream.io.connecting().await?;
        match stream.take_error()? {
            None => Ok(stream),
            Some(error) => Err(error),
        }
    }

    #[cfg(feature = "pooled")]
    pub(in crate::net) fn io(&self) -> &Source<mio::net::UnixStream> {
        &self.io
    }

    #[track_caller]
    pub(super) fn new(socket: mio::net::UnixStream, what: &str) -> io::Result<UnixStream> {
        let io = Source::new(socket, what)?;
        Ok(UnixStream { io })
    }

    /// Creates a stream that was accepted. It is likely that the peer has written already and that there is
    /// room to write.
    pub(super) fn accepted(socket: mio::net::UnixStream, what: &str) -> io::Result<UnixStream> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        let io = Source::to_be_tried(socket, interest, what)?;
        let io = io.assuming(Ready::READABLE | Ready::WRITABLE);
        Ok(UnixStream { io })
    }

    /// Creates two streams without names that are connected to each other.
    ///
    /// # Errors
    /// Any error of `socketpair(2)`, or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, AsyncWriteExt};
    /// use tress::net::UnixStream;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut near, mut far) = UnixStream::pair()?;
    /// near.write_u8(7).await?;
    /// assert_eq!(far.read_u8().await?, 7);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (one, other) = mio::net::UnixStream::pair()?;
        let end = |socket| -> io::Result<UnixStream> {
            // There is room to write.
            let mut stream = UnixStream::new(socket, "UnixStream::pair")?;
            stream.io = stream.io.assuming(Ready::WRITABLE);
            Ok(stream)
        };
        Ok((end(one)?, end(other)?))
    }

    /// Creates a `UnixStream` from a stream of the standard library.
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
    /// use tress::net::UnixStream;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = std::os::unix::net::UnixStream::pair()?;
    /// let near = UnixStream::from_std(near)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn from_std(stream: net::UnixStream) -> io::Result<UnixStream> {
        stream.set_nonblocking(true)?;
        UnixStream::new(
            mio::net::UnixStream::from_std(stream),
            "UnixStream::from_std",
        )
    }

    /// Converts the stream to one of the standard library.
    ///
    /// It stays in non-blocking mode, until that is changed by
    /// [`set_nonblocking`](net::UnixStream::set_nonblocking).
    ///
    /// # Errors
    /// - A dropped [owned](crate::io::AsyncReadOwned) read has received bytes that have not been read
    ///   since: read them first, until `try_read` finds none.
    /// - A dropped owned operation still uses the socket, and it cannot be duplicated.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = tress::net::UnixStream::pair()?;
    /// let stream: std::os::unix::net::UnixStream = near.into_std()?;
    /// stream.set_nonblocking(false)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_std(self) -> io::Result<net::UnixStream> {
        self.io.reclaim().map(Into::into)
    }

    /// Returns the local address of the stream.
    ///
    /// # Errors
    /// Any error of `getsockname(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = tress::net::UnixStream::pair()?;
    /// assert!(near.local_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr().map(SocketAddr)
    }

    /// Returns the address of the peer.
    ///
    /// # Errors
    /// Any error of `getpeername(2)`.
    ///
    /// # Examples
    /// ```
    /// use tress::net::{UnixListener, UnixStream};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let path = std::env::temp_dir().join(format!("tress-doc-unix-peer-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// let stream = UnixStream::connect(&path).await?;
    /// assert_eq!(stream.peer_addr()?.as_pathname(), Some(path.as_path()));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr().map(SocketAddr)
    }

    /// Returns the user, group and process of the peer at the time when it connected.
    ///
    /// The kernel vouches for them.
    ///
    /// # Errors
    /// Any error of `getsockopt(2)` or `getpeereid(3)`.
    ///
    /// # Examples
    /// ```
    /// use tress::net::UnixStream;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, far) = UnixStream::pair()?;
    /// assert_eq!(near.peer_cred()?.uid(), far.peer_cred()?.uid());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn peer_cred(&self) -> io::Result<UCred> {
        ucred::of_peer(self)
    }

    /// Returns the pending error of the socket, if there is one, and clears it (`SO_ERROR`).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = tress::net::UnixStream::pair()?;
    /// assert!(near.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }

    readiness_methods!();
    stream_methods!();

    /// Reads through a shared reference, also for the halves.
    ///
    /// A short read has not always emptied the socket: a read that passes descriptors ends with the message
    /// that they came with. Therefore only a read that would block uses up the readiness.
    pub(super) fn poll_read_shared(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: receiving initializes as many bytes as it returns.
        unsafe { self.io.poll_read(cx, buf, receive) }
    }

    /// Splits the stream into two halves that borrow it, to be used at the same time within one task.
    ///
    /// It needs no allocation and no lock.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, AsyncWriteExt};
    /// use tress::net::UnixStream;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut near, mut far) = UnixStream::pair()?;
    /// let echo = tress::spawn(async move {
    ///     let (mut reader, mut writer) = far.split();
    ///     tress::io::copy(&mut reader, &mut writer).await
    /// });
    /// near.write_u8(7).await?;
    /// assert_eq!(near.read_u8().await?, 7);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn split<'a>(&'a mut self) -> (ReadHalf<'a>, WriteHalf<'a>) {
        split::split(self)
    }

    /// Splits the stream into two halves that can be moved to different tasks.
    ///
    /// It needs one allocation and no lock. Dropping the writing half shuts down the writing side. The
    /// halves can be put together again by [`reunite`](OwnedReadHalf::reunite).
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, AsyncWriteExt};
    /// use tress::net::UnixStream;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, mut far) = UnixStream::pair()?;
    /// let (mut reader, mut writer) = near.into_split();
    /// tress::spawn(async move { writer.write_all(b"question").await });
    /// let mut text = String::new();
    /// // The writing half was dropped at the end of its task.
    /// far.read_to_string(&mut text).await?;
    /// far.write_all(b"answer").await?;
    /// drop(far);
    /// reader.read_to_string(&mut text).await?;
    /// assert_eq!(text, "questionanswer");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split::into_split(self)
    }
}

stream_traits!(UnixStream);
socket_traits!(UnixStream, net::UnixStream);
