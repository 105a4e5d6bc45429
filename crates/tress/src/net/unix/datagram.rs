//! Datagrams within this machine.

use super::SocketAddr;
use crate::io::source::Source;
use crate::io::{Interest, ReadBuf, Ready, uninterrupted};
#[cfg(feature = "bytes")]
use crate::net::readiness::fill;
use crate::net::readiness::{Socket, readiness_methods, receive, socket_traits};
use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll, ready};
use tress_driver::Direction;

/// Sends and receives datagrams within this machine. None is lost: sending waits while the receiver's
/// queue is full.
///
/// It is used as a [`UdpSocket`](crate::net::UdpSocket) is, with paths for addresses. Binding makes a file,
/// which stays when the socket is dropped.
///
/// # Examples
/// ```
/// use tress::net::UnixDatagram;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (near, far) = UnixDatagram::pair()?;
/// near.send(b"hello").await?;
/// let mut buf = [0; 16];
/// let n = far.recv(&mut buf).await?;
/// assert_eq!(&buf[..n], b"hello");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct UnixDatagram {
    io: Source<mio::net::UnixDatagram>,
}

impl UnixDatagram {
    /// A socket with a path.
    ///
    /// # Errors
    /// What the system says: `AddrInUse` if there is a file already.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn bind<P>(path: P) -> io::Result<UnixDatagram>
    where
        P: AsRef<Path>,
    {
        let address = super::addr::of_path(path.as_ref())?;
        let socket = mio::net::UnixDatagram::bind_addr(&address)?;
        UnixDatagram::new(socket, "UnixDatagram::bind")
    }

    /// Two sockets that are connected to each other, without names.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (one, other) = mio::net::UnixDatagram::pair()?;
        let end = |socket| -> io::Result<UnixDatagram> {
            let io = Source::new(socket, "UnixDatagram::pair")?.assuming(Ready::WRITABLE);
            Ok(UnixDatagram { io })
        };
        Ok((end(one)?, end(other)?))
    }

    /// A socket without a name: nobody can answer it.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn unbound() -> io::Result<UnixDatagram> {
        let socket = mio::net::UnixDatagram::unbound()?;
        UnixDatagram::new(socket, "UnixDatagram::unbound")
    }

    #[track_caller]
    fn new(socket: mio::net::UnixDatagram, what: &str) -> io::Result<UnixDatagram> {
        let io = Source::new(socket, what)?;
        Ok(UnixDatagram { io })
    }

    /// Makes it of a socket of the standard library, which is put into non-blocking mode.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn from_std(datagram: net::UnixDatagram) -> io::Result<UnixDatagram> {
        datagram.set_nonblocking(true)?;
        UnixDatagram::new(
            mio::net::UnixDatagram::from_std(datagram),
            "UnixDatagram::from_std",
        )
    }

    /// Makes it a socket of the standard library, which stays in non-blocking mode:
    /// [`set_nonblocking`](net::UnixDatagram::set_nonblocking) changes that.
    ///
    /// # Errors
    /// None at present.
    pub fn into_std(self) -> io::Result<net::UnixDatagram> {
        Ok(self.io.into_inner().into())
    }

    /// Takes the socket at a path as the only peer.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.io.get_ref().connect(path)
    }

    readiness_methods!();

    /// Polls for something to receive. The waker of the last poll that receives is woken; of
    /// [`readable`](Self::readable) any number may wait.
    ///
    /// # Errors
    /// As for [`ready`](Self::ready).
    pub fn poll_recv_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_ready(cx, Direction::Read)
    }

    /// Polls for room to send. The waker of the last poll that sends is woken; of
    /// [`writable`](Self::writable) any number may wait.
    ///
    /// # Errors
    /// As for [`ready`](Self::ready).
    pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_ready(cx, Direction::Write)
    }

    /// Sends a datagram to the peer it is connected to.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, nothing was sent.
    pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.io
            .io(Interest::WRITABLE, |socket| {
                uninterrupted(|| socket.send(buf))
            })
            .await
    }

    /// As [`send`](Self::send), by poll. The waker of the last poll that sends is woken.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.io.poll_io(cx, Direction::Write, |socket| {
            uninterrupted(|| socket.send(buf))
        })
    }

    /// As [`send`](Self::send), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; else what the system says.
    pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |socket| {
            uninterrupted(|| socket.send(buf))
        })
    }

    /// Sends a datagram to the socket at a path.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, nothing was sent.
    pub async fn send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        self.io
            .io(Interest::WRITABLE, |socket| {
                uninterrupted(|| socket.send_to(buf, target.as_ref()))
            })
            .await
    }

    /// As [`send_to`](Self::send_to), by poll. The waker of the last poll that sends is woken.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub fn poll_send_to<P>(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: P,
    ) -> Poll<io::Result<usize>>
    where
        P: AsRef<Path>,
    {
        self.io.poll_io(cx, Direction::Write, |socket| {
            uninterrupted(|| socket.send_to(buf, target.as_ref()))
        })
    }

    /// As [`send_to`](Self::send_to), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; else what the system says.
    pub fn try_send_to<P>(&self, buf: &[u8], target: P) -> io::Result<usize>
    where
        P: AsRef<Path>,
    {
        self.io.try_io(Interest::WRITABLE, |socket| {
            uninterrupted(|| socket.send_to(buf, target.as_ref()))
        })
    }

    /// Receives a datagram and says how long it is.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, no datagram was taken.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io
            .io(Interest::READABLE, |socket| {
                uninterrupted(|| socket.recv(buf))
            })
            .await
    }

    /// As [`recv`](Self::recv), by poll. The waker of the last poll that receives is woken.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let filled = |socket: &mio::net::UnixDatagram, room: &mut [MaybeUninit<u8>]| {
            receive(socket, room).map(|n| (n, ()))
        };
        // SAFETY: receiving initialises as many bytes as it says.
        unsafe { self.poll_fill(cx, buf, filled) }
    }

    /// As [`recv`](Self::recv), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; else what the system says.
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |socket| {
            uninterrupted(|| socket.recv(buf))
        })
    }

    /// Receives a datagram, and says how long it is and who it is from.
    ///
    /// # Errors
    /// What the system says.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, no datagram was taken.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io
            .io(Interest::READABLE, |socket| take_from(socket, buf))
            .await
    }

    /// As [`recv_from`](Self::recv_from), by poll. The waker of the last poll that receives is woken.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        // SAFETY: receiving initialises as many bytes as it says.
        unsafe { self.poll_fill(cx, buf, receive_from) }
    }

    /// As [`recv_from`](Self::recv_from), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; else what the system says.
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io
            .try_io(Interest::READABLE, |socket| take_from(socket, buf))
    }

    /// Polls for a datagram that `f` puts into a buffer.
    ///
    /// # Safety
    /// `f` initialises the bytes whose number it returns.
    unsafe fn poll_fill<R>(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        mut f: impl FnMut(&mio::net::UnixDatagram, &mut [MaybeUninit<u8>]) -> io::Result<(usize, R)>,
    ) -> Poll<io::Result<R>> {
        // SAFETY: nothing is de-initialised: `f` only writes bytes into it.
        let room = unsafe { buf.unfilled_mut() };
        let received = ready!(
            self.io
                .poll_io(cx, Direction::Read, |socket| f(socket, room))
        );
        let (n, result) = received?;
        // SAFETY: by the caller's promise.
        unsafe { buf.assume_init(n) };
        buf.advance(n);
        Poll::Ready(Ok(result))
    }

    /// The address of this side.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr().map(SocketAddr)
    }

    /// The address of the peer it is connected to.
    ///
    /// # Errors
    /// What the system says.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr().map(SocketAddr)
    }

    /// Takes the error that waits to be reported by the next operation, if there is one.
    ///
    /// # Errors
    /// If the system cannot be asked.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }

    /// Ends one side or both: operations on it fail, or find the end.
    ///
    /// # Errors
    /// What the system says.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.get_ref().shutdown(how)
    }
}

/// Receiving into buffers that keep their place by themselves. What does not fit is lost.
#[cfg(feature = "bytes")]
impl UnixDatagram {
    /// As [`recv`](Self::recv), into the room that a buffer offers.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    ///
    /// # Cancel safety
    /// As for [`recv`](Self::recv).
    pub async fn recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io
            .io(Interest::READABLE, |socket| {
                // SAFETY: receiving initialises as many bytes as it says.
                unsafe { fill(buf, |room| receive(socket, room)) }
            })
            .await
    }

    /// As [`recv_buf`](Self::recv_buf), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; else what the system says.
    pub fn try_recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |socket| {
            // SAFETY: receiving initialises as many bytes as it says.
            unsafe { fill(buf, |room| receive(socket, room)) }
        })
    }

    /// As [`recv_from`](Self::recv_from), into the room that a buffer offers.
    ///
    /// # Errors
    /// As for [`recv`](Self::recv).
    ///
    /// # Cancel safety
    /// As for [`recv`](Self::recv).
    pub async fn recv_buf_from<B: bytes::BufMut>(
        &self,
        buf: &mut B,
    ) -> io::Result<(usize, SocketAddr)> {
        self.io
            .io(Interest::READABLE, |socket| fill_from(socket, buf))
            .await
    }

    /// As [`recv_buf_from`](Self::recv_buf_from), without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; else what the system says.
    pub fn try_recv_buf_from<B: bytes::BufMut>(
        &self,
        buf: &mut B,
    ) -> io::Result<(usize, SocketAddr)> {
        self.io
            .try_io(Interest::READABLE, |socket| fill_from(socket, buf))
    }
}

fn take_from(socket: &mio::net::UnixDatagram, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    let (n, from) = uninterrupted(|| socket.recv_from(buf))?;
    Ok((n, SocketAddr(from)))
}

/// As many bytes are initialised afterwards as this says.
fn receive_from(
    socket: &mio::net::UnixDatagram,
    room: &mut [MaybeUninit<u8>],
) -> io::Result<(usize, SocketAddr)> {
    let (n, from) = socket.attempt(|socket| socket.recv_from(room))?;
    let from = match from.as_unix() {
        Some(address) => address,
        // The system says nothing at all about a sender without a name.
        None => net::SocketAddr::from_pathname("")?,
    };
    Ok((n, SocketAddr(from)))
}

#[cfg(feature = "bytes")]
fn fill_from<B: bytes::BufMut>(
    socket: &mio::net::UnixDatagram,
    buf: &mut B,
) -> io::Result<(usize, SocketAddr)> {
    let mut sender = None;
    // SAFETY: receiving initialises as many bytes as it says.
    let n = unsafe {
        fill(buf, |room| {
            let (n, from) = receive_from(socket, room)?;
            sender = Some(from);
            Ok(n)
        })
    }?;
    Ok((n, sender.expect("set with the length")))
}

socket_traits!(UnixDatagram, net::UnixDatagram);
