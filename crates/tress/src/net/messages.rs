//! What sockets for datagrams and for messages have in common. Each macro is called once in an `impl` of a
//! type whose field `io` is a `Source` of a [`Messages`].

use super::transfer::{Socket, receive};
use crate::io::ReadBuf;
use crate::io::source::Source;
use std::io;
use std::mem::MaybeUninit;
use std::task::{Context, Poll, ready};
use tress_driver::Direction;

/// A socket whose messages have senders.
pub(super) trait Messages: Socket + tress_driver::Source {
    type Addr;

    fn take_from(&self, buf: &mut [u8]) -> io::Result<(usize, Self::Addr)>;

    /// Converts the address of a sender from the system's form.
    fn sender(address: socket2::SockAddr) -> io::Result<Self::Addr>;

    /// Receives a message. The bytes whose number is returned are initialized.
    fn receive_from(&self, room: &mut [MaybeUninit<u8>]) -> io::Result<(usize, Self::Addr)> {
        let (n, from) = self.attempt(|socket| socket.recv_from(room))?;
        Ok((n, Self::sender(from)?))
    }
}

/// Polls for a message that `f` puts into a buffer.
///
/// # Safety
/// `f` initializes the bytes whose number it returns.
pub(super) unsafe fn poll_fill<T: tress_driver::Source, R>(
    source: &Source<T>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
    mut f: impl FnMut(&T, &mut [MaybeUninit<u8>]) -> io::Result<(usize, R)>,
) -> Poll<io::Result<R>> {
    // SAFETY: nothing is de-initialized: `f` only writes bytes into it.
    let room = unsafe { buf.unfilled_mut() };
    let received = ready!(source.poll_io(cx, Direction::Read, |socket| f(socket, room)));
    let (n, result) = received?;
    // SAFETY: by the caller's promise.
    unsafe { buf.assume_init(n) };
    buf.advance(n);
    Poll::Ready(Ok(result))
}

/// Polls for a message from any sender.
pub(super) fn poll_receive<T: Socket + tress_driver::Source>(
    source: &Source<T>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let filled = |socket: &T, room: &mut [MaybeUninit<u8>]| receive(socket, room).map(|n| (n, ()));
    // SAFETY: receiving initializes as many bytes as it returns.
    unsafe { poll_fill(source, cx, buf, filled) }
}

/// Receives into the room that a buffer offers.
#[cfg(feature = "bytes")]
pub(super) fn fill_with<B: bytes::BufMut>(socket: &impl Socket, buf: &mut B) -> io::Result<usize> {
    // SAFETY: receiving initializes as many bytes as it returns.
    unsafe { super::transfer::fill(buf, |room| receive(socket, room)) }
}

/// Receives like `fill_with`, and returns the sender too.
#[cfg(feature = "bytes")]
pub(super) fn fill_from<T: Messages, B: bytes::BufMut>(
    socket: &T,
    buf: &mut B,
) -> io::Result<(usize, T::Addr)> {
    let mut sender = None;
    // SAFETY: receiving initializes as many bytes as it returns.
    let n = unsafe {
        super::transfer::fill(buf, |room| {
            let (n, from) = socket.receive_from(room)?;
            sender = Some(from);
            Ok(n)
        })
    }?;
    Ok((n, sender.expect("set with the length")))
}

/// Methods to send to and receive from the peer.
macro_rules! message_methods {
    ($datagram:literal, $sending:literal, $receiving:literal) => {
        /// Polls until there is something to receive.
        ///
        /// After `Pending` the current task is woken when there is. Only the waker of the last poll that
        /// receives is kept; with [`readable`](Self::readable) any number of tasks may wait.
        ///
        /// # Errors
        /// See [`ready`](Self::ready).
        ///
        /// # Examples
        /// With a UDP socket:
        /// ```
        /// use std::future::poll_fn;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # socket.connect(peer.local_addr()?).await?;
        /// # peer.connect(socket.local_addr()?).await?;
        /// peer.send(b"hello").await?;
        /// poll_fn(|cx| socket.poll_recv_ready(cx)).await?;
        /// assert_eq!(socket.try_recv(&mut [0; 16])?, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn poll_recv_ready(
            &self,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            self.io.poll_ready(cx, tress_driver::Direction::Read)
        }

        /// Polls until there is room to send.
        ///
        /// After `Pending` the current task is woken when there is. Only the waker of the last poll that
        /// sends is kept; with [`writable`](Self::writable) any number of tasks may wait.
        ///
        /// # Errors
        /// See [`ready`](Self::ready).
        ///
        /// # Examples
        /// With a UDP socket:
        /// ```
        /// use std::future::poll_fn;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # socket.connect(peer.local_addr()?).await?;
        /// # peer.connect(socket.local_addr()?).await?;
        /// poll_fn(|cx| socket.poll_send_ready(cx)).await?;
        /// assert_eq!(socket.try_send(b"hello")?, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn poll_send_ready(
            &self,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            self.io.poll_ready(cx, tress_driver::Direction::Write)
        }

        #[doc = concat!("Sends a ", $datagram, " to the connected peer, and returns how many bytes were sent.")]
        ///
        /// It waits until there is room. Any number of tasks may send at the same time.
        ///
        /// # Errors
        #[doc = $sending]
        ///
        /// # Cancel safety
        /// This method is cancel safe: if it is dropped before it is ready, nothing was sent.
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # socket.connect(peer.local_addr()?).await?;
        /// assert_eq!(socket.send(b"hello").await?, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub async fn send(&self, buf: &[u8]) -> std::io::Result<usize> {
            self.io
                .io($crate::io::Interest::WRITABLE, |socket| {
                    $crate::io::uninterrupted(|| socket.send(buf))
                })
                .await
        }

        /// Polls to send, like [`send`](Self::send).
        ///
        /// After `Pending` nothing was sent, and the current task is woken when there may be room. Only the
        /// waker of the last poll that sends is kept.
        ///
        /// # Errors
        /// See [`send`](Self::send).
        ///
        /// # Examples
        /// With a UDP socket:
        /// ```
        /// use std::future::poll_fn;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # socket.connect(peer.local_addr()?).await?;
        /// # peer.connect(socket.local_addr()?).await?;
        /// assert_eq!(poll_fn(|cx| socket.poll_send(cx, b"hello")).await?, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn poll_send(
            &self,
            cx: &mut std::task::Context<'_>,
            buf: &[u8],
        ) -> std::task::Poll<std::io::Result<usize>> {
            self.io
                .poll_io(cx, tress_driver::Direction::Write, |socket| {
                    $crate::io::uninterrupted(|| socket.send(buf))
                })
        }

        /// Attempts to send like [`send`](Self::send), without waiting.
        ///
        /// # Errors
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is no room; otherwise see
        /// [`send`](Self::send).
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # socket.connect(peer.local_addr()?).await?;
        /// # peer.connect(socket.local_addr()?).await?;
        /// socket.writable().await?;
        /// assert_eq!(socket.try_send(b"hello")?, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn try_send(&self, buf: &[u8]) -> std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::WRITABLE, |socket| {
                $crate::io::uninterrupted(|| socket.send(buf))
            })
        }

        #[doc = concat!("Receives a ", $datagram, ", and returns its length.")]
        ///
        /// Bytes that do not fit into `buf` are lost. Any number of tasks may wait at the same time, and each
        #[doc = concat!(" ", $datagram, " goes to one of them.")]
        ///
        /// # Errors
        #[doc = $receiving]
        ///
        /// # Cancel safety
        #[doc = concat!("This method is cancel safe: if it is dropped before it is ready, no ", $datagram, " was taken.")]
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # peer.connect(socket.local_addr()?).await?;
        /// # peer.send(b"hello").await?;
        /// let mut buf = [0; 1024];
        /// let n = socket.recv(&mut buf).await?;
        /// assert_eq!(&buf[..n], b"hello");
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub async fn recv(&self, buf: &mut [u8]) -> std::io::Result<usize> {
            self.io
                .io($crate::io::Interest::READABLE, |socket| {
                    $crate::io::uninterrupted(|| socket.recv(buf))
                })
                .await
        }

        /// Polls to receive into `buf`, like [`recv`](Self::recv).
        ///
        /// After `Pending` nothing was received, and the current task is woken when there may be something.
        /// Only the waker of the last poll that receives is kept.
        ///
        /// # Errors
        /// See [`recv`](Self::recv).
        ///
        /// # Examples
        /// With a UDP socket:
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
        /// let mut space = [0; 1024];
        /// let mut buf = ReadBuf::new(&mut space);
        /// poll_fn(|cx| socket.poll_recv(cx, &mut buf)).await?;
        /// assert_eq!(buf.filled(), b"hello");
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn poll_recv(
            &self,
            cx: &mut std::task::Context<'_>,
            buf: &mut $crate::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            $crate::net::messages::poll_receive(&self.io, cx, buf)
        }

        /// Attempts to receive like [`recv`](Self::recv), without waiting.
        ///
        /// # Errors
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is nothing; otherwise see
        /// [`recv`](Self::recv).
        ///
        /// # Examples
        /// ```
        /// use tress::io::ErrorKind;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # socket.connect(peer.local_addr()?).await?;
        /// # peer.connect(socket.local_addr()?).await?;
        /// # peer.send(b"hello").await?;
        /// let mut buf = [0; 1024];
        /// let n = loop {
        ///     socket.readable().await?;
        ///     match socket.try_recv(&mut buf) {
        ///         Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
        ///         result => break result?,
        ///     }
        /// };
        /// assert_eq!(&buf[..n], b"hello");
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn try_recv(&self, buf: &mut [u8]) -> std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::READABLE, |socket| {
                $crate::io::uninterrupted(|| socket.recv(buf))
            })
        }

        /// Receives like [`recv`](Self::recv), into the spare room of `buf`, and advances it.
        ///
        /// Bytes that do not fit into the room that the buffer has are lost: reserve enough before.
        ///
        /// # Errors
        /// See [`recv`](Self::recv).
        ///
        /// # Cancel safety
        /// See [`recv`](Self::recv).
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # socket.connect(peer.local_addr()?).await?;
        /// # peer.connect(socket.local_addr()?).await?;
        /// # peer.send(b"hello").await?;
        /// let mut buf = Vec::with_capacity(1024);
        /// socket.recv_buf(&mut buf).await?;
        /// assert_eq!(buf, b"hello");
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[cfg(feature = "bytes")]
        pub async fn recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> std::io::Result<usize> {
            self.io
                .io($crate::io::Interest::READABLE, |socket| {
                    $crate::net::messages::fill_with(socket, buf)
                })
                .await
        }

        /// Attempts to receive like [`recv_buf`](Self::recv_buf), without waiting.
        ///
        /// # Errors
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is nothing; otherwise see
        /// [`recv`](Self::recv).
        ///
        /// # Examples
        /// With a UDP socket:
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # socket.connect(peer.local_addr()?).await?;
        /// # peer.connect(socket.local_addr()?).await?;
        /// peer.send(b"hello").await?;
        /// let mut buf = Vec::with_capacity(1024);
        /// socket.readable().await?;
        /// socket.try_recv_buf(&mut buf)?;
        /// assert_eq!(buf, b"hello");
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[cfg(feature = "bytes")]
        pub fn try_recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::READABLE, |socket| {
                $crate::net::messages::fill_with(socket, buf)
            })
        }
    };
}

/// Methods to receive from any sender.
macro_rules! sender_methods {
    ($Addr:ty, $receiving:literal) => {
        /// Receives a datagram, and returns its length and the address of its sender.
        ///
        /// Bytes that do not fit into `buf` are lost. Any number of tasks may wait at the same time, and each
        /// datagram goes to one of them.
        ///
        /// # Errors
        #[doc = $receiving]
        ///
        /// # Cancel safety
        /// This method is cancel safe: if it is dropped before it is ready, no datagram was taken.
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # peer.send_to(b"hello", socket.local_addr()?).await?;
        /// let mut buf = [0; 1024];
        /// let (n, sender) = socket.recv_from(&mut buf).await?;
        /// println!("{n} bytes from {sender:?}");
        /// # assert_eq!(n, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub async fn recv_from(&self, buf: &mut [u8]) -> std::io::Result<(usize, $Addr)> {
            self.io
                .io($crate::io::Interest::READABLE, |socket| {
                    $crate::net::messages::Messages::take_from(socket, buf)
                })
                .await
        }

        /// Polls to receive into `buf`, like [`recv_from`](Self::recv_from), and returns the address of the
        /// sender.
        ///
        /// After `Pending` nothing was received, and the current task is woken when there may be something.
        /// Only the waker of the last poll that receives is kept.
        ///
        /// # Errors
        /// See [`recv_from`](Self::recv_from).
        ///
        /// # Examples
        /// With a UDP socket:
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
        /// let mut space = [0; 1024];
        /// let mut buf = ReadBuf::new(&mut space);
        /// let sender = poll_fn(|cx| socket.poll_recv_from(cx, &mut buf)).await?;
        /// assert_eq!((buf.filled(), sender), (&b"hello"[..], peer.local_addr()?));
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn poll_recv_from(
            &self,
            cx: &mut std::task::Context<'_>,
            buf: &mut $crate::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<$Addr>> {
            let receive_from = $crate::net::messages::Messages::receive_from;
            // SAFETY: receiving initializes as many bytes as it returns.
            unsafe { $crate::net::messages::poll_fill(&self.io, cx, buf, receive_from) }
        }

        /// Attempts to receive like [`recv_from`](Self::recv_from), without waiting.
        ///
        /// # Errors
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is nothing; otherwise see
        /// [`recv_from`](Self::recv_from).
        ///
        /// # Examples
        /// With a UDP socket:
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # socket.connect(peer.local_addr()?).await?;
        /// # peer.connect(socket.local_addr()?).await?;
        /// peer.send(b"hello").await?;
        /// socket.readable().await?;
        /// let (n, sender) = socket.try_recv_from(&mut [0; 1024])?;
        /// assert_eq!((n, sender), (5, peer.local_addr()?));
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn try_recv_from(&self, buf: &mut [u8]) -> std::io::Result<(usize, $Addr)> {
            self.io.try_io($crate::io::Interest::READABLE, |socket| {
                $crate::net::messages::Messages::take_from(socket, buf)
            })
        }

        /// Receives like [`recv_from`](Self::recv_from), into the spare room of `buf`, and advances it.
        ///
        /// Bytes that do not fit into the room that the buffer has are lost: reserve enough before.
        ///
        /// # Errors
        /// See [`recv_from`](Self::recv_from).
        ///
        /// # Cancel safety
        /// See [`recv_from`](Self::recv_from).
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # socket.connect(peer.local_addr()?).await?;
        /// # peer.connect(socket.local_addr()?).await?;
        /// # peer.send(b"hello").await?;
        /// let mut buf = Vec::with_capacity(1024);
        /// let (n, _sender) = socket.recv_buf_from(&mut buf).await?;
        /// assert_eq!(&buf[..n], b"hello");
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[cfg(feature = "bytes")]
        pub async fn recv_buf_from<B: bytes::BufMut>(
            &self,
            buf: &mut B,
        ) -> std::io::Result<(usize, $Addr)> {
            self.io
                .io($crate::io::Interest::READABLE, |socket| {
                    $crate::net::messages::fill_from(socket, buf)
                })
                .await
        }

        /// Attempts to receive like [`recv_buf_from`](Self::recv_buf_from), without waiting.
        ///
        /// # Errors
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is nothing; otherwise see
        /// [`recv_from`](Self::recv_from).
        ///
        /// # Examples
        /// With a UDP socket:
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let socket = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # let peer = tress::net::UdpSocket::bind("127.0.0.1:0").await?;
        /// # socket.connect(peer.local_addr()?).await?;
        /// # peer.connect(socket.local_addr()?).await?;
        /// peer.send(b"hello").await?;
        /// let mut buf = Vec::with_capacity(1024);
        /// socket.readable().await?;
        /// let (n, sender) = socket.try_recv_buf_from(&mut buf)?;
        /// assert_eq!((n, sender), (5, peer.local_addr()?));
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[cfg(feature = "bytes")]
        pub fn try_recv_buf_from<B: bytes::BufMut>(
            &self,
            buf: &mut B,
        ) -> std::io::Result<(usize, $Addr)> {
            self.io.try_io($crate::io::Interest::READABLE, |socket| {
                $crate::net::messages::fill_from(socket, buf)
            })
        }
    };
}

pub(super) use {message_methods, sender_methods};
