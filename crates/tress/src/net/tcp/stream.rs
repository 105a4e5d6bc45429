use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::io::source::Source;
use crate::io::{Interest, ReadBuf, Ready, uninterrupted};
use crate::net::addr::{self, ToSocketAddrs};
use crate::net::conversion::socket_traits;
use crate::net::readiness::readiness_methods;
use crate::net::transfer::{Socket, receive, stream_methods, stream_traits};
use crate::task::coop;
use socket2::SockRef;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tress_driver::Direction;

/// Includes urgent bytes, because a read ends before the mark of one.
#[cfg(any(target_os = "linux", target_os = "android"))]
const INTEREST: Interest = Interest::READABLE
    .add(Interest::WRITABLE)
    .add(Interest::PRIORITY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const INTEREST: Interest = Interest::READABLE.add(Interest::WRITABLE);

/// A TCP connection.
///
/// It is created by [`connect`](TcpStream::connect) or by
/// [`TcpListener::accept`](super::TcpListener::accept), and read and written through
/// [`AsyncRead`](crate::io::AsyncRead) and [`AsyncWrite`](crate::io::AsyncWrite). Bytes that a write has
/// reported as written are with the kernel, so flushing does nothing. [Shutting
/// down](crate::io::AsyncWriteExt::shutdown) ends the writing side and leaves the reading side open;
/// dropping closes both.
///
/// To read and write at the same time, [`split`](TcpStream::split) it within one task, or
/// [`into_split`](TcpStream::into_split) for two tasks.
///
/// # Urgent bytes
/// A read ends before an urgent (out-of-band) byte, and the next read goes on behind it. To receive such
/// bytes on Linux and Android, pass a `recv` with `MSG_OOB` to [`try_io`](TcpStream::try_io) or
/// [`async_io`](TcpStream::async_io) with `Interest::PRIORITY`, so that the stream knows of it. If they are
/// taken in another way, bytes behind an urgent byte may not be read before more bytes arrive.
///
/// # Examples
/// ```
/// use tress::io::{AsyncReadExt, AsyncWriteExt};
/// use tress::net::{TcpListener, TcpStream};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let mut client = TcpStream::connect(listener.local_addr()?).await?;
/// let (mut server, _) = listener.accept().await?;
/// client.write_all(b"ping").await?;
/// let mut four = [0; 4];
/// server.read_exact(&mut four).await?;
/// assert_eq!(&four, b"ping");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct TcpStream {
    io: Source<mio::net::TcpStream>,
}

impl TcpStream {
    /// Connects to the first of the addresses that accepts the connection.
    ///
    /// The addresses are tried one after the other. To set options first, use
    /// [`TcpSocket`](super::TcpSocket).
    ///
    /// # Errors
    /// The error of the last address that was tried: any error of `connect(2)`; an error of the
    /// [lookup](crate::net::lookup_host); [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no
    /// address; or that the runtime has shut down.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// Dropping the future closes the socket, whether the connection is established or under way.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn f() -> std::io::Result<()> {
    /// let stream = tress::net::TcpStream::connect("example.org:80").await?;
    /// println!("connected to {}", stream.peer_addr()?);
    /// # Ok(()) }
    /// ```
    pub async fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {
        let mut failed = addr::no_address();
        for address in addr::resolve(addr).await? {
            let connected = match mio::net::TcpStream::connect(address) {
                Ok(socket) => TcpStream::connecting(socket).await,
                Err(error) => Err(error),
            };
            match connected {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Waits for a connection that has been requested.
    pub(super) async fn connecting(socket: mio::net::TcpStream) -> io::Result<TcpStream> {
        let stream = TcpStream::new(socket, "connecting a TcpStream")?;
        coop::consume_budget().await;
        // Connections within a machine are often established at once, and need not be registered.
        if stream.io.is_registered() || !stream.is_connected()? {
            stream.io.connecting().await?;
            if let Some(error) = stream.take_error()? {
                return Err(error);
            }
        }
        Ok(stream)
    }

    /// Returns `false` while the connection is being made.
    fn is_connected(&self) -> io::Result<bool> {
        if let Some(error) = self.take_error()? {
            return Err(error);
        }
        match self.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    #[cfg(feature = "pooled")]
    pub(in crate::net) fn io(&self) -> &Source<mio::net::TcpStream> {
        &self.io
    }

    #[track_caller]
    pub(super) fn new(socket: mio::net::TcpStream, what: &str) -> io::Result<TcpStream> {
        let io = Source::with_interest(socket, INTEREST, what)?;
        Ok(TcpStream { io })
    }

    /// Creates a stream that was accepted. It is likely that the peer has written already and that there is
    /// room to write.
    pub(super) fn accepted(socket: mio::net::TcpStream, what: &str) -> io::Result<TcpStream> {
        let io = Source::to_be_tried(socket, INTEREST, what)?;
        let io = io.assuming(Ready::READABLE | Ready::WRITABLE);
        Ok(TcpStream { io })
    }

    /// Creates a `TcpStream` from a stream of the standard library.
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
    /// use tress::net::TcpStream;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    /// # let address = listener.local_addr()?;
    /// let stream = std::net::TcpStream::connect(address)?;
    /// let stream = TcpStream::from_std(stream)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<TcpStream> {
        stream.set_nonblocking(true)?;
        TcpStream::new(mio::net::TcpStream::from_std(stream), "TcpStream::from_std")
    }

    /// Converts the stream to one of the standard library.
    ///
    /// It stays in non-blocking mode, until that is changed by
    /// [`set_nonblocking`](std::net::TcpStream::set_nonblocking).
    ///
    /// # Errors
    /// - A dropped [owned](crate::io::AsyncReadOwned) read has received bytes that have not been read
    ///   since: read them first, until `try_read` finds none.
    /// - A dropped owned operation still uses the socket, and it cannot be duplicated.
    ///
    /// # Examples
    /// ```
    /// use std::io::Write;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// let mut stream = stream.into_std()?;
    /// stream.set_nonblocking(false)?;
    /// stream.write_all(b"hello")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_std(self) -> io::Result<std::net::TcpStream> {
        self.io.reclaim().map(Into::into)
    }

    /// Returns the local address of the connection.
    ///
    /// # Errors
    /// Any error of `getsockname(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// assert_eq!(stream.local_addr()?, peer.peer_addr()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Returns the address of the peer.
    ///
    /// # Errors
    /// Any error of `getpeername(2)`, such as [`NotConnected`](io::ErrorKind::NotConnected) if the
    /// connection has been reset.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// assert_eq!(stream.peer_addr()?, listener.local_addr()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr()
    }

    /// Returns the pending error of the socket, if there is one, and clears it (`SO_ERROR`).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// if let Some(error) = stream.take_error()? {
    ///     eprintln!("the connection has failed: {error}");
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }

    readiness_methods!();
    stream_methods!();

    /// Copies the bytes that the next read will return into `buf`, and leaves them in the socket.
    ///
    /// Returns how many bytes were copied: 0 means that the stream is at its end, or that `buf` is empty.
    /// It waits until there is at least one byte.
    ///
    /// # Errors
    /// Any error of `recv(2)`, or that the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: it takes nothing from the socket.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, AsyncWriteExt};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// peer.write_all(b"hello").await?;
    /// let mut first = [0; 1];
    /// assert_eq!(stream.peek(&mut first).await?, 1);
    /// let mut all = [0; 5];
    /// stream.read_exact(&mut all).await?;
    /// assert_eq!((&first, &all), (b"h", b"hello"));
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        let mut kept = ReadBuf::new(&mut *buf);
        if let Some(n) = poll_fn(|cx| self.io.poll_peek_leftover(cx, &mut kept)).await {
            return n;
        }
        self.io
            .io(Interest::READABLE, |socket| {
                uninterrupted(|| socket.peek(buf))
            })
            .await
    }

    /// Polls for bytes to [`peek`](Self::peek) at, appends them to `buf`, and returns how many they are.
    ///
    /// After `Pending` the current task is woken when there may be some. Only the waker of the last poll
    /// that reads or peeks is kept.
    ///
    /// # Errors
    /// See [`peek`](Self::peek).
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use tress::io::{AsyncWriteExt, ReadBuf};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// peer.write_all(b"hello").await?;
    /// let mut space = [0; 1];
    /// let mut buf = ReadBuf::new(&mut space);
    /// assert_eq!(poll_fn(|cx| stream.poll_peek(cx, &mut buf)).await?, 1);
    /// assert_eq!(buf.filled(), b"h");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_peek(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Some(n) = ready!(self.io.poll_peek_leftover(cx, buf)) {
            return Poll::Ready(n);
        }
        // SAFETY: nothing is de-initialized: `peek` only writes bytes into it.
        let room = unsafe { buf.unfilled_mut() };
        let n = ready!(self.io.poll_io(cx, Direction::Read, |socket| {
            socket.attempt(|socket| socket.peek(room))
        }))?;
        // SAFETY: peeking has initialized `n` bytes.
        unsafe { buf.assume_init(n) };
        buf.advance(n);
        Poll::Ready(Ok(n))
    }

    /// Reads through a shared reference, also for the halves.
    pub(super) fn poll_read_shared(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: receiving initializes as many bytes as it returns.
        unsafe { self.io.poll_read_stream(cx, buf, receive) }
    }

    /// Returns whether small writes are sent at once (`TCP_NODELAY`).
    ///
    /// See [`set_nodelay`](Self::set_nodelay).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// assert!(!stream.nodelay()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn nodelay(&self) -> io::Result<bool> {
        self.io.get_ref().nodelay()
    }

    /// Sets whether small writes are sent at once (`TCP_NODELAY`).
    ///
    /// If not, Nagle's algorithm collects them while earlier bytes have not been acknowledged.
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// stream.set_nodelay(true)?;
    /// assert!(stream.nodelay()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.io.get_ref().set_nodelay(nodelay)
    }

    /// Returns whether acknowledgements are sent at once (`TCP_QUICKACK`).
    ///
    /// See [`set_quickack`](Self::set_quickack).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// println!("acknowledges at once: {}", stream.quickack()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn quickack(&self) -> io::Result<bool> {
        SockRef::from(self).tcp_quickack()
    }

    /// Sets whether acknowledgements are sent at once or delayed (`TCP_QUICKACK`).
    ///
    /// The kernel may go back to the other mode by itself.
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// stream.set_quickack(true)?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        SockRef::from(self).set_tcp_quickack(quickack)
    }

    /// Returns how long closing waits for written bytes to be acknowledged (`SO_LINGER`).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// assert_eq!(stream.linger()?, None);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self).linger()
    }

    /// Makes closing wait until written bytes have been acknowledged, for at most this time, in whole
    /// seconds (`SO_LINGER`).
    ///
    /// That blocks the thread that drops the stream. Instead, shut the stream down and read to its end.
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    #[deprecated = "closing then blocks the thread; use `set_zero_linger`, or shut the stream down and read its end"]
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        SockRef::from(self).set_linger(dur)
    }

    /// Makes closing reset the connection (`SO_LINGER` of zero).
    ///
    /// Bytes that have not been sent yet are discarded, and the peer gets an error. Closing does not block.
    ///
    /// # Errors
    /// Any error of `setsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// use tress::io::AsyncReadExt;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// stream.set_zero_linger()?;
    /// drop(stream);
    /// assert!(peer.read_u8().await.is_err());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn set_zero_linger(&self) -> io::Result<()> {
        SockRef::from(self).set_linger(Some(Duration::ZERO))
    }

    /// Returns the time to live, the maximum number of hops, of packets that are sent (`IP_TTL`).
    ///
    /// # Errors
    /// Any error of `getsockopt(2)`.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// println!("at most {} hops", stream.ttl()?);
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
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// stream.set_ttl(64)?;
    /// assert_eq!(stream.ttl()?, 64);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.get_ref().set_ttl(ttl)
    }

    /// Splits the stream into two halves that borrow it, to be used at the same time within one task.
    ///
    /// It needs no allocation and no lock.
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncReadExt, AsyncWriteExt};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// let echo = tress::spawn(async move {
    ///     let (mut reader, mut writer) = stream.split();
    ///     tress::io::copy(&mut reader, &mut writer).await
    /// });
    /// peer.write_all(b"ping").await?;
    /// let mut four = [0; 4];
    /// peer.read_exact(&mut four).await?;
    /// assert_eq!(&four, b"ping");
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
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
    /// # let (mut peer, _) = listener.accept().await?;
    /// let (mut reader, mut writer) = stream.into_split();
    /// tress::spawn(async move { writer.write_all(b"question").await });
    /// tress::spawn(async move {
    ///     let mut question = String::new();
    ///     peer.read_to_string(&mut question).await?;
    ///     peer.write_all(b"answer").await
    /// });
    /// let mut answer = String::new();
    /// reader.read_to_string(&mut answer).await?;
    /// assert_eq!(answer, "answer");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split::into_split(self)
    }
}

stream_traits!(TcpStream);
socket_traits!(TcpStream, std::net::TcpStream);
