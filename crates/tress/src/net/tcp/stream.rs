use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::io::source::Source;
use crate::io::{Interest, ReadBuf, Ready, uninterrupted};
use crate::net::addr::{self, ToSocketAddrs};
use crate::net::readiness::{
    Socket, readiness_methods, receive, socket_traits, stream_methods, stream_traits,
};
use crate::task::coop;
use socket2::SockRef;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tress_driver::Direction;

/// Also for urgent bytes: a read ends before the mark of one.
#[cfg(any(target_os = "linux", target_os = "android"))]
const INTEREST: Interest = Interest::READABLE
    .add(Interest::WRITABLE)
    .add(Interest::PRIORITY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const INTEREST: Interest = Interest::READABLE.add(Interest::WRITABLE);

/// A TCP connection.
///
/// It reads and writes through [`AsyncRead`](crate::io::AsyncRead) and
/// [`AsyncWrite`](crate::io::AsyncWrite). What a write has reported as written is with the kernel:
/// flushing does nothing. [Shutting down](crate::io::AsyncWriteExt::shutdown) ends the writing side and
/// leaves the reading side open; dropping closes both.
///
/// To read and write at the same time, [`split`](TcpStream::split) it within a task, or
/// [`into_split`](TcpStream::into_split) for two tasks.
///
/// A read ends before an urgent (out-of-band) byte, and the next one goes on behind it. To take such bytes (Linux and
/// Android), pass a `recv` with `MSG_OOB` to [`try_io`](TcpStream::try_io) or [`async_io`](TcpStream::async_io) with
/// `Interest::PRIORITY`, so that the stream knows of it: if they are taken in another way, bytes that have come
/// behind one may not be read before more come.
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
    /// Connects to the first of the addresses that lets it.
    ///
    /// # Errors
    /// Of the last address tried, or of the lookup.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection, whether it is established or under way.
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

    /// Waits for a connection that was asked for.
    pub(super) async fn connecting(socket: mio::net::TcpStream) -> io::Result<TcpStream> {
        let stream = TcpStream::new(socket, "connecting a TcpStream")?;
        coop::consume_budget().await;
        // On the same machine it is often there at once, and need not be registered.
        if !stream.is_connected()? {
            stream.io.connecting().await?;
            if let Some(error) = stream.take_error()? {
                return Err(error);
            }
        }
        Ok(stream)
    }

    /// False while it is still being connected.
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

    pub(in crate::net) fn io(&self) -> &Source<mio::net::TcpStream> {
        &self.io
    }

    #[track_caller]
    pub(super) fn new(socket: mio::net::TcpStream, what: &str) -> io::Result<TcpStream> {
        let io = Source::with_interest(socket, INTEREST, what)?;
        Ok(TcpStream { io })
    }

    /// One that was accepted: it is likely that the peer has written already, and there is room.
    pub(super) fn accepted(socket: mio::net::TcpStream, what: &str) -> io::Result<TcpStream> {
        let mut stream = TcpStream::new(socket, what)?;
        stream.io = stream.io.assuming(Ready::READABLE | Ready::WRITABLE);
        Ok(stream)
    }

    /// Makes it of a stream of the standard library, which is put into non-blocking mode.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<TcpStream> {
        stream.set_nonblocking(true)?;
        TcpStream::new(mio::net::TcpStream::from_std(stream), "TcpStream::from_std")
    }

    /// Makes it a stream of the standard library, which stays in non-blocking mode:
    /// [`set_nonblocking`](std::net::TcpStream::set_nonblocking) changes that.
    ///
    /// # Errors
    /// If an [owned](crate::io::AsyncReadOwned) read that was dropped has received bytes that nobody has read
    /// since: read them first, until `try_read` finds none. If an owned operation that was dropped still has
    /// the socket, and it cannot be duplicated.
    pub fn into_std(self) -> io::Result<std::net::TcpStream> {
        self.io.reclaim().map(Into::into)
    }

    /// The address of this side.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// The address of the peer.
    ///
    /// # Errors
    /// What the system says, for instance that there is no connection any more.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr()
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

    /// Copies bytes that the next read will bring, without taking them, and says how many. 0 is the
    /// end, or an empty buffer.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Cancel safety
    /// Nothing is taken.
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

    /// As [`peek`](Self::peek), by poll. The waker of the last poll that reads or peeks is woken.
    ///
    /// # Errors
    /// What the system says.
    pub fn poll_peek(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Some(n) = ready!(self.io.poll_peek_leftover(cx, buf)) {
            return Poll::Ready(n);
        }
        // SAFETY: nothing is de-initialised: `peek` only writes bytes into it.
        let room = unsafe { buf.unfilled_mut() };
        let n = ready!(self.io.poll_io(cx, Direction::Read, |socket| {
            socket.attempt(|socket| socket.peek(room))
        }))?;
        // SAFETY: peeking has initialised so many.
        unsafe { buf.assume_init(n) };
        buf.advance(n);
        Poll::Ready(Ok(n))
    }

    /// Reads through a shared reference: also for the halves.
    pub(super) fn poll_read_shared(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: receiving initialises as many bytes as it says.
        unsafe { self.io.poll_read_stream(cx, buf, receive) }
    }

    /// Is Nagle's algorithm off?
    ///
    /// # Errors
    /// What the system says.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.io.get_ref().nodelay()
    }

    /// Turns Nagle's algorithm off, or on again: whether small writes are sent at once or gathered
    /// while there is something in flight.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.io.get_ref().set_nodelay(nodelay)
    }

    /// Are acknowledgements sent at once? See [`set_quickack`](Self::set_quickack).
    ///
    /// # Errors
    /// What the system says.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn quickack(&self) -> io::Result<bool> {
        SockRef::from(self).tcp_quickack()
    }

    /// Sends acknowledgements at once, or delays them. The kernel may go back by itself.
    ///
    /// # Errors
    /// What the system says.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        SockRef::from(self).set_tcp_quickack(quickack)
    }

    /// How long closing waits for what was written; see [`set_linger`](Self::set_linger).
    ///
    /// # Errors
    /// What the system says.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self).linger()
    }

    /// Makes closing wait, for whole seconds, until what was written has been acknowledged. That
    /// blocks the thread that drops the stream: better shut it down and read to its end.
    ///
    /// # Errors
    /// What the system says.
    #[deprecated = "closing then blocks the thread; use `set_zero_linger`, or shut the stream down and read its end"]
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        SockRef::from(self).set_linger(dur)
    }

    /// Makes closing reset the connection: what was not sent yet is discarded, and the peer gets an
    /// error. It blocks nothing.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        SockRef::from(self).set_linger(Some(Duration::ZERO))
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

    /// Makes two halves, to be used at the same time in one task. Costs nothing.
    ///
    /// ```
    /// # async fn f(mut stream: tress::net::TcpStream) -> std::io::Result<()> {
    /// let (mut reader, mut writer) = stream.split();
    /// tress::io::copy(&mut reader, &mut writer).await?; // an echo
    /// # Ok(()) }
    /// ```
    pub fn split<'a>(&'a mut self) -> (ReadHalf<'a>, WriteHalf<'a>) {
        split::split(self)
    }

    /// Makes two halves that can go to different tasks. Costs one allocation and no locks. They can
    /// be [reunited](OwnedReadHalf::reunite); dropping the writing half ends the writing side.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split::into_split(self)
    }
}

stream_traits!(TcpStream);
socket_traits!(TcpStream, std::net::TcpStream);
