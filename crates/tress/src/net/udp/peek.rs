use super::UdpSocket;
use super::receive::internet;
use crate::io::{Interest, ReadBuf, uninterrupted};
use crate::net::messages::poll_fill;
use crate::net::transfer::Socket;
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use tress_driver::Direction;

/// Looking at the next datagram without taking it.
impl UdpSocket {
    /// Copies the next datagram into `buf` without taking it, and returns its length.
    ///
    /// If the datagram is longer than `buf`, it is cut off, and the length of `buf` is returned; on Windows
    /// that is an error.
    ///
    /// # Errors
    /// Any error of `recv(2)`, which may also report that a datagram sent earlier did not arrive; or that
    /// the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: it takes nothing from the socket.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # socket.connect(peer.local_addr()?).await?;
    /// # peer.connect(socket.local_addr()?).await?;
    /// peer.send(b"hello").await?;
    /// let mut buf = [0; 16];
    /// assert_eq!(socket.peek(&mut buf).await?, 5);
    /// // The datagram is still there.
    /// assert_eq!(socket.recv(&mut buf).await?, 5);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io
            .io(Interest::READABLE, |socket| {
                uninterrupted(|| socket.peek(buf))
            })
            .await
    }

    /// Polls for a datagram to [`peek`](Self::peek) at, and appends it to `buf`.
    ///
    /// After `Pending` the current task is woken when there may be one. Only the waker of the last poll
    /// that receives is kept.
    ///
    /// # Errors
    /// See [`peek`](Self::peek).
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use tress::io::ReadBuf;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # socket.connect(peer.local_addr()?).await?;
    /// # peer.connect(socket.local_addr()?).await?;
    /// peer.send(b"hello").await?;
    /// let mut space = [0; 16];
    /// let mut buf = ReadBuf::new(&mut space);
    /// poll_fn(|cx| socket.poll_peek(cx, &mut buf)).await?;
    /// assert_eq!(buf.filled(), b"hello");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let peek = |socket: &mio::net::UdpSocket, room: &mut [MaybeUninit<u8>]| {
            let n = socket.attempt(|socket| socket.peek(room))?;
            Ok((n, ()))
        };
        // SAFETY: peeking initializes as many bytes as it returns.
        unsafe { poll_fill(&self.io, cx, buf, peek) }
    }

    /// Attempts to [`peek`](Self::peek) at the next datagram, without waiting.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; otherwise see [`peek`](Self::peek).
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # socket.connect(peer.local_addr()?).await?;
    /// # peer.connect(socket.local_addr()?).await?;
    /// peer.send(b"hello").await?;
    /// socket.readable().await?;
    /// assert_eq!(socket.try_peek(&mut [0; 16])?, 5);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |socket| {
            uninterrupted(|| socket.peek(buf))
        })
    }

    /// Copies the next datagram like [`peek`](Self::peek), and returns its length and the address of its
    /// sender.
    ///
    /// # Errors
    /// See [`peek`](Self::peek).
    ///
    /// # Cancel safety
    /// This method is cancel safe: it takes nothing from the socket.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # socket.connect(peer.local_addr()?).await?;
    /// # peer.connect(socket.local_addr()?).await?;
    /// peer.send(b"hello").await?;
    /// let mut buf = [0; 16];
    /// let (n, sender) = socket.peek_from(&mut buf).await?;
    /// assert_eq!((n, sender), (5, peer.local_addr()?));
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io
            .io(Interest::READABLE, |socket| {
                uninterrupted(|| socket.peek_from(buf))
            })
            .await
    }

    /// Polls for a datagram like [`poll_peek`](Self::poll_peek), and returns the address of its sender.
    ///
    /// # Errors
    /// See [`peek`](Self::peek).
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use tress::io::ReadBuf;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # socket.connect(peer.local_addr()?).await?;
    /// # peer.connect(socket.local_addr()?).await?;
    /// peer.send(b"hello").await?;
    /// let mut space = [0; 16];
    /// let mut buf = ReadBuf::new(&mut space);
    /// let sender = poll_fn(|cx| socket.poll_peek_from(cx, &mut buf)).await?;
    /// assert_eq!((buf.filled(), sender), (&b"hello"[..], peer.local_addr()?));
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_peek_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let peek = |socket: &mio::net::UdpSocket, room: &mut [MaybeUninit<u8>]| {
            let (n, from) = socket.attempt(|socket| socket.peek_from(room))?;
            Ok((n, internet(from)?))
        };
        // SAFETY: peeking initializes as many bytes as it returns.
        unsafe { poll_fill(&self.io, cx, buf, peek) }
    }

    /// Attempts to peek like [`peek_from`](Self::peek_from), without waiting.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no datagram; otherwise see
    /// [`peek`](Self::peek).
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # socket.connect(peer.local_addr()?).await?;
    /// # peer.connect(socket.local_addr()?).await?;
    /// peer.send(b"hello").await?;
    /// socket.readable().await?;
    /// assert_eq!(socket.try_peek_from(&mut [0; 16])?, (5, peer.local_addr()?));
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, |socket| {
            uninterrupted(|| socket.peek_from(buf))
        })
    }

    /// Waits for a datagram, and returns the address of its sender without taking it.
    ///
    /// # Errors
    /// See [`peek`](Self::peek).
    ///
    /// # Cancel safety
    /// This method is cancel safe: it takes nothing from the socket.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # socket.connect(peer.local_addr()?).await?;
    /// # peer.connect(socket.local_addr()?).await?;
    /// peer.send(b"hello").await?;
    /// assert_eq!(socket.peek_sender().await?, peer.local_addr()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.io(Interest::READABLE, sender).await
    }

    /// Polls for the sender of the next datagram, like [`peek_sender`](Self::peek_sender).
    ///
    /// After `Pending` the current task is woken when there may be a datagram. Only the waker of the last
    /// poll that receives is kept.
    ///
    /// # Errors
    /// See [`peek`](Self::peek).
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # socket.connect(peer.local_addr()?).await?;
    /// # peer.connect(socket.local_addr()?).await?;
    /// peer.send(b"hello").await?;
    /// let sender = poll_fn(|cx| socket.poll_peek_sender(cx)).await?;
    /// assert_eq!(sender, peer.local_addr()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.io.poll_io(cx, Direction::Read, sender)
    }

    /// Attempts to return the sender of the next datagram, without waiting.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no datagram; otherwise see
    /// [`peek`](Self::peek).
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
    /// # socket.connect(peer.local_addr()?).await?;
    /// # peer.connect(socket.local_addr()?).await?;
    /// peer.send(b"hello").await?;
    /// socket.readable().await?;
    /// assert_eq!(socket.try_peek_sender()?, peer.local_addr()?);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.try_io(Interest::READABLE, sender)
    }
}

fn sender(socket: &mio::net::UdpSocket) -> io::Result<SocketAddr> {
    internet(socket.attempt(|socket| socket.peek_sender())?)
}
