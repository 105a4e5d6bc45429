//! Operations on sockets.

use super::path::new_descriptor;
use super::{AS_OFTEN_AS_IT_TAKES, KeptBy, Operation, Prepare, descriptor, keep, length};
use crate::uring::buffer::{Buffer, BufferMut};
use crate::uring::leftover::Leftover;
use io_uring::opcode;
use io_uring::squeue::Entry;
use std::fmt;
use std::io;
use std::marker::Send as SendMarker;
use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, OwnedFd};

/// A socket address of any family.
///
/// # Examples
/// ```
/// use std::net::SocketAddr;
/// use tress_driver::op::Address;
///
/// let inet: SocketAddr = "127.0.0.1:80".parse().unwrap();
/// assert_eq!(Address::from(inet).as_inet(), Some(inet));
/// ```
#[derive(Clone, Copy)]
pub struct Address {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Address {
    /// An empty address with room for any family.
    fn room() -> Address {
        Address {
            // SAFETY: all integers.
            storage: unsafe { mem::zeroed() },
            length: size_of::<libc::sockaddr_storage>() as libc::socklen_t,
        }
    }

    /// Creates an address from the bytes of a `sockaddr` structure. Returns `None` if there are more than 128.
    pub fn from_bytes(bytes: &[u8]) -> Option<Address> {
        let mut address = Address::room();
        if bytes.len() > size_of::<libc::sockaddr_storage>() {
            return None;
        }
        // SAFETY: the storage is at least as long, and plain bytes are fine in it.
        unsafe {
            let to = (&raw mut address.storage).cast::<u8>();
            to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        address.length = bytes.len() as libc::socklen_t;
        Some(address)
    }

    /// Returns the bytes of the `sockaddr` structure.
    pub fn as_bytes(&self) -> &[u8] {
        let length = (self.length as usize).min(size_of::<libc::sockaddr_storage>());
        // SAFETY: the storage is initialised, and that long.
        unsafe { std::slice::from_raw_parts((&raw const self.storage).cast(), length) }
    }

    /// Returns the internet address; `None` if the address is of another family.
    pub fn as_inet(&self) -> Option<SocketAddr> {
        match i32::from(self.storage.ss_family) {
            libc::AF_INET if self.as_bytes().len() >= size_of::<libc::sockaddr_in>() => {
                // SAFETY: the family says so, and it is long enough.
                let v4 = unsafe { &*(&raw const self.storage).cast::<libc::sockaddr_in>() };
                let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
                Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
            }
            libc::AF_INET6 if self.as_bytes().len() >= size_of::<libc::sockaddr_in6>() => {
                // SAFETY: as above.
                let v6 = unsafe { &*(&raw const self.storage).cast::<libc::sockaddr_in6>() };
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let port = u16::from_be(v6.sin6_port);
                Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
            }
            _ => None,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        let mut this = Address::room();
        let storage = &raw mut this.storage;
        match address {
            SocketAddr::V4(v4) => {
                // SAFETY: there is room for it, and the storage is aligned for every family.
                let to = unsafe { &mut *storage.cast::<libc::sockaddr_in>() };
                to.sin_family = libc::AF_INET as libc::sa_family_t;
                to.sin_port = v4.port().to_be();
                to.sin_addr.s_addr = u32::from(*v4.ip()).to_be();
                this.length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
            }
            SocketAddr::V6(v6) => {
                // SAFETY: as above.
                let to = unsafe { &mut *storage.cast::<libc::sockaddr_in6>() };
                to.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                to.sin6_port = v6.port().to_be();
                to.sin6_addr.s6_addr = v6.ip().octets();
                to.sin6_flowinfo = v6.flowinfo();
                to.sin6_scope_id = v6.scope_id();
                this.length = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
            }
        }
        this
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_inet() {
            Some(inet) => inet.fmt(f),
            None => f.debug_tuple("Address").field(&self.as_bytes()).finish(),
        }
    }
}

/// Accepts one connection.
///
/// Resolves to the socket, which is non-blocking and close-on-exec, and the peer's address. Fails with any
/// error of `accept4(2)`. To accept many connections, [`AcceptMulti`](crate::AcceptMulti) is cheaper.
///
/// # Examples
/// ```
/// use std::net::{TcpListener, TcpStream};
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Accept<TcpListener>>() {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let client = TcpStream::connect(listener.local_addr()?)?;
///     let (socket, peer) = block_on(&driver, driver.submit(op::Accept::new(listener)))?;
///     assert_eq!(peer.as_inet(), Some(client.local_addr()?));
///     # drop(socket);
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Accept<F> {
    listener: F,
    peer: Box<Address>,
}

impl<F> Accept<F> {
    /// Creates an operation that accepts a connection from `listener`.
    pub fn new(listener: F) -> Self {
        Accept {
            listener,
            peer: Box::new(Address::room()),
        }
    }
}

impl<F: AsFd + SendMarker + 'static> Prepare for Accept<F> {
    const OPCODE: u8 = opcode::Accept::CODE;
    const REPEATS_IF_CANCELLED: u32 = AS_OFTEN_AS_IT_TAKES;

    fn entry(&mut self) -> Entry {
        *self.peer = Address::room();
        opcode::Accept::new(
            descriptor(&self.listener),
            (&raw mut self.peer.storage).cast(),
            &raw mut self.peer.length,
        )
        .flags(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK)
        .build()
    }

    unsafe fn discard(&mut self, value: i32) {
        // SAFETY: by the caller's promise it is the result, or an error.
        drop(u32::try_from(value).map(|fd| unsafe { new_descriptor(fd) }));
    }
}

impl<F: AsFd + SendMarker + 'static> Operation for Accept<F> {
    type Output = io::Result<(OwnedFd, Address)>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        // SAFETY: by the caller's promise it is the result.
        result.map(|fd| (unsafe { new_descriptor(fd) }, *self.peer))
    }
}

/// Connects a socket to an address.
///
/// Resolves to the socket, also on failure. Fails with any error of `connect(2)`.
///
/// # Examples
/// ```
/// use std::net::UdpSocket;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Connect<UdpSocket>>() {
///     let server = UdpSocket::bind("127.0.0.1:0")?;
///     let client = UdpSocket::bind("127.0.0.1:0")?;
///     let connect = op::Connect::new(client, server.local_addr()?);
///     let (connected, client) = block_on(&driver, driver.submit(connect));
///     connected?;
///     assert_eq!(client.peer_addr()?, server.local_addr()?);
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Connect<F> {
    socket: F,
    peer: Box<Address>,
}

impl<F> Connect<F> {
    /// Creates an operation that connects `socket` to `peer`.
    pub fn new(socket: F, peer: impl Into<Address>) -> Self {
        Connect {
            socket,
            peer: Box::new(peer.into()),
        }
    }
}

impl<F: AsFd + SendMarker + 'static> Prepare for Connect<F> {
    const OPCODE: u8 = opcode::Connect::CODE;
    const REPEATS_IF_CANCELLED: u32 = AS_OFTEN_AS_IT_TAKES;

    fn entry(&mut self) -> Entry {
        opcode::Connect::new(
            descriptor(&self.socket),
            (&raw const self.peer.storage).cast(),
            self.peer.length,
        )
        .build()
    }
}

impl<F: AsFd + SendMarker + 'static> Operation for Connect<F> {
    type Output = (io::Result<()>, F);

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        (result.map(drop), self.socket)
    }
}

/// Receives from a socket into a buffer, from the buffer's start.
///
/// Resolves to the number of bytes received, 0 at the end of a stream, and the buffer. Fails with any error of
/// `recv(2)`.
///
/// # Examples
/// ```
/// use std::io::Write;
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Recv<UnixStream, Vec<u8>>>() {
///     let (near, mut far) = UnixStream::pair()?;
///     let receive = driver.submit(op::Recv::new(near, Vec::with_capacity(64), 0));
///     far.write_all(b"hello")?;
///     let (received, buffer) = block_on(&driver, receive);
///     assert_eq!((received?, &buffer[..]), (5, &b"hello"[..]));
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Recv<F, B> {
    socket: F,
    buffer: B,
    flags: i32,
    leftover: Option<KeptBy<F>>,
}

impl<F, B> Recv<F, B> {
    /// Creates an operation with the flags of `recv(2)`, usually 0.
    ///
    /// With `MSG_TRUNC`, TCP discards the bytes instead of copying them; the buffer is filled with zeros behind
    /// what was in it.
    pub fn new(socket: F, buffer: B, flags: i32) -> Self {
        Recv {
            socket,
            buffer,
            flags,
            leftover: None,
        }
    }

    /// Keeps what the operation has received if its submission is dropped, so that no bytes are lost.
    ///
    /// `leftover` returns the [`Leftover`] of the socket, where the next read finds the bytes. The owner of the
    /// submission must call [`Leftover::expect`] before it drops it.
    pub fn keeping(self, leftover: fn(&F) -> &Leftover) -> Self {
        Recv {
            leftover: Some(leftover),
            ..self
        }
    }
}

impl<F: AsFd + SendMarker + 'static, B: BufferMut> Prepare for Recv<F, B> {
    const OPCODE: u8 = opcode::Recv::CODE;
    const REPEATS_IF_CANCELLED: u32 = AS_OFTEN_AS_IT_TAKES;

    fn entry(&mut self) -> Entry {
        before_receiving(&mut self.buffer, self.flags);
        let room = length(self.buffer.room());
        opcode::Recv::new(descriptor(&self.socket), self.buffer.pointer_mut(), room)
            .flags(self.flags)
            .build()
    }

    unsafe fn discard(&mut self, value: i32) {
        if let Some(leftover) = self.leftover {
            // SAFETY: by the caller's promise it is the result.
            unsafe { keep(leftover(&self.socket), &mut self.buffer, value) };
        }
    }
}

impl<F: AsFd + SendMarker + 'static, B: BufferMut> Operation for Recv<F, B> {
    type Output = (io::Result<usize>, B);

    unsafe fn finish(mut self, result: io::Result<u32>) -> Self::Output {
        // SAFETY: by the caller's promise it is the result.
        let result = result.map(|read| unsafe { received(&mut self.buffer, read) });
        (result, self.buffer)
    }
}

/// Initialises the rest of the buffer if `MSG_TRUNC` is set: a stream's bytes are counted then, and not copied.
fn before_receiving(buffer: &mut impl BufferMut, flags: i32) {
    if flags & libc::MSG_TRUNC != 0 {
        let filled = buffer.filled().min(buffer.room());
        let rest = buffer.room() - filled;
        // SAFETY: as many bytes as there is room for can be written.
        unsafe { buffer.pointer_mut().add(filled).write_bytes(0, rest) };
    }
}

/// Records what the kernel has received. With `MSG_TRUNC` it reports more than there was room for.
///
/// # Safety
/// It is the result of a receive into this buffer, which was prepared by `before_receiving`.
unsafe fn received(buffer: &mut impl BufferMut, read: u32) -> usize {
    let filled = (read as usize).min(buffer.room());
    // SAFETY: the kernel has filled that much, or it was filled before.
    unsafe { buffer.set_filled(filled) };
    read as usize
}

/// Sends the initialised bytes of a buffer to a socket's peer.
///
/// Resolves to the number of bytes sent, which may be fewer than asked for, and the buffer. Fails with any
/// error of `send(2)`; `SIGPIPE` is never raised.
///
/// # Examples
/// ```
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Send<UnixStream, &'static str>>() {
///     let (near, _far) = UnixStream::pair()?;
///     let (sent, _text) = block_on(&driver, driver.submit(op::Send::new(near, "hello", 0)));
///     assert_eq!(sent?, 5);
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Send<F, B> {
    socket: F,
    buffer: B,
    flags: i32,
}

impl<F, B> Send<F, B> {
    /// Creates an operation with the flags of `send(2)`, usually 0. `MSG_NOSIGNAL` is added to them.
    pub fn new(socket: F, buffer: B, flags: i32) -> Self {
        Send {
            socket,
            buffer,
            flags: flags | libc::MSG_NOSIGNAL,
        }
    }
}

impl<F: AsFd + SendMarker + 'static, B: Buffer> Prepare for Send<F, B> {
    const OPCODE: u8 = opcode::Send::CODE;
    const REPEATS_IF_CANCELLED: u32 = AS_OFTEN_AS_IT_TAKES;

    fn entry(&mut self) -> Entry {
        let filled = length(self.buffer.filled());
        opcode::Send::new(descriptor(&self.socket), self.buffer.pointer(), filled)
            .flags(self.flags)
            .build()
    }
}

impl<F: AsFd + SendMarker + 'static, B: Buffer> Operation for Send<F, B> {
    type Output = (io::Result<usize>, B);

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        (result.map(|sent| sent as usize), self.buffer)
    }
}

/// A message's header and what it points to, except the buffer.
struct Header {
    message: libc::msghdr,
    vector: libc::iovec,
    address: Address,
}

// SAFETY: the pointers lead to the header itself, and to a buffer that the same operation owns and that
// is `Send`.
unsafe impl SendMarker for Header {}

impl Header {
    fn new(address: Address) -> Box<Header> {
        Box::new(Header {
            // SAFETY: integers and pointers that may be null.
            message: unsafe { mem::zeroed() },
            vector: libc::iovec {
                iov_base: std::ptr::null_mut(),
                iov_len: 0,
            },
            address,
        })
    }

    fn point_at(&mut self, pointer: *mut u8, length: usize, with_address: bool) {
        self.vector.iov_base = pointer.cast();
        self.vector.iov_len = length;
        self.message.msg_iov = &raw mut self.vector;
        self.message.msg_iovlen = 1;
        if with_address {
            self.message.msg_name = (&raw mut self.address.storage).cast();
            self.message.msg_namelen = self.address.length;
        }
    }
}

/// Receives a message and the address of its sender.
///
/// Resolves to the number of bytes received, the sender's address, and the buffer. Fails with any error of
/// `recvmsg(2)`.
///
/// # Examples
/// ```
/// use std::net::UdpSocket;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::RecvMsg<UdpSocket, Vec<u8>>>() {
///     let server = UdpSocket::bind("127.0.0.1:0")?;
///     let client = UdpSocket::bind("127.0.0.1:0")?;
///     client.send_to(b"hello", server.local_addr()?)?;
///     let receive = op::RecvMsg::new(server, Vec::with_capacity(64), 0);
///     let (received, buffer) = block_on(&driver, driver.submit(receive));
///     let (_, from) = received?;
///     assert_eq!((&buffer[..], from.as_inet()), (&b"hello"[..], Some(client.local_addr()?)));
/// }
/// # std::io::Result::Ok(())
/// ```
pub struct RecvMsg<F, B> {
    socket: F,
    buffer: B,
    flags: i32,
    header: Box<Header>,
}

impl<F, B> RecvMsg<F, B> {
    /// Creates an operation with the flags of `recvmsg(2)`, usually 0. `MSG_TRUNC` works as in [`Recv::new`].
    pub fn new(socket: F, buffer: B, flags: i32) -> Self {
        RecvMsg {
            socket,
            buffer,
            flags,
            header: Header::new(Address::room()),
        }
    }
}

impl<F: AsFd + SendMarker + 'static, B: BufferMut> Prepare for RecvMsg<F, B> {
    const OPCODE: u8 = opcode::RecvMsg::CODE;
    const REPEATS_IF_CANCELLED: u32 = AS_OFTEN_AS_IT_TAKES;

    fn entry(&mut self) -> Entry {
        before_receiving(&mut self.buffer, self.flags);
        let room = self.buffer.room();
        self.header.address = Address::room();
        self.header.point_at(self.buffer.pointer_mut(), room, true);
        opcode::RecvMsg::new(descriptor(&self.socket), &raw mut self.header.message)
            .flags(self.flags as u32)
            .build()
    }
}

impl<F: AsFd + SendMarker + 'static, B: BufferMut> Operation for RecvMsg<F, B> {
    /// The number of bytes received and the sender's address, and the buffer.
    type Output = (io::Result<(usize, Address)>, B);

    unsafe fn finish(mut self, result: io::Result<u32>) -> Self::Output {
        let result = result.map(|read| {
            let mut peer = self.header.address;
            peer.length = self.header.message.msg_namelen;
            // SAFETY: by the caller's promise it is the result.
            (unsafe { received(&mut self.buffer, read) }, peer)
        });
        (result, self.buffer)
    }
}

impl<F, B> fmt::Debug for RecvMsg<F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvMsg").finish_non_exhaustive()
    }
}

/// Sends a message, to an address or to the socket's peer.
///
/// Resolves to the number of bytes sent, and the buffer. Fails with any error of `sendmsg(2)`; `SIGPIPE` is
/// never raised.
///
/// # Examples
/// ```
/// use std::net::UdpSocket;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::SendMsg<UdpSocket, &'static str>>() {
///     let server = UdpSocket::bind("127.0.0.1:0")?;
///     let client = UdpSocket::bind("127.0.0.1:0")?;
///     let to = server.local_addr()?.into();
///     let send = op::SendMsg::new(client, "hello", Some(to), 0);
///     let (sent, _text) = block_on(&driver, driver.submit(send));
///     assert_eq!(sent?, 5);
/// }
/// # std::io::Result::Ok(())
/// ```
pub struct SendMsg<F, B> {
    socket: F,
    buffer: B,
    has_address: bool,
    flags: i32,
    header: Box<Header>,
}

impl<F, B> SendMsg<F, B> {
    /// Creates an operation that sends to `to`, or to the peer of a connected socket if it is `None`, with the
    /// flags of `sendmsg(2)`, usually 0. `MSG_NOSIGNAL` is added to them.
    pub fn new(socket: F, buffer: B, to: Option<Address>, flags: i32) -> Self {
        SendMsg {
            socket,
            buffer,
            has_address: to.is_some(),
            flags: flags | libc::MSG_NOSIGNAL,
            header: Header::new(to.unwrap_or_else(Address::room)),
        }
    }
}

impl<F: AsFd + SendMarker + 'static, B: Buffer> Prepare for SendMsg<F, B> {
    const OPCODE: u8 = opcode::SendMsg::CODE;
    const REPEATS_IF_CANCELLED: u32 = AS_OFTEN_AS_IT_TAKES;

    fn entry(&mut self) -> Entry {
        let bytes = self.buffer.pointer().cast_mut();
        self.header
            .point_at(bytes, self.buffer.filled(), self.has_address);
        opcode::SendMsg::new(descriptor(&self.socket), &raw const self.header.message)
            .flags(self.flags as u32)
            .build()
    }
}

impl<F: AsFd + SendMarker + 'static, B: Buffer> Operation for SendMsg<F, B> {
    type Output = (io::Result<usize>, B);

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        (result.map(|sent| sent as usize), self.buffer)
    }
}

impl<F, B> fmt::Debug for SendMsg<F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendMsg").finish_non_exhaustive()
    }
}

/// Shuts a connection down, in one direction or both (Linux 5.11).
///
/// Fails with any error of `shutdown(2)`.
///
/// # Examples
/// ```
/// use std::net::Shutdown;
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if driver.supports::<op::Shutdown<UnixStream>>() {
///     let (near, _far) = UnixStream::pair()?;
///     block_on(&driver, driver.submit(op::Shutdown::new(near, Shutdown::Write)))?;
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Shutdown<F> {
    socket: F,
    how: std::net::Shutdown,
}

impl<F> Shutdown<F> {
    /// Creates an operation that shuts down the direction `how`.
    pub fn new(socket: F, how: std::net::Shutdown) -> Self {
        Shutdown { socket, how }
    }
}

impl<F: AsFd + SendMarker + 'static> Prepare for Shutdown<F> {
    const OPCODE: u8 = opcode::Shutdown::CODE;
    const REPEATS_IF_CANCELLED: u32 = AS_OFTEN_AS_IT_TAKES;

    fn entry(&mut self) -> Entry {
        let how = match self.how {
            std::net::Shutdown::Read => libc::SHUT_RD,
            std::net::Shutdown::Write => libc::SHUT_WR,
            std::net::Shutdown::Both => libc::SHUT_RDWR,
        };
        opcode::Shutdown::new(descriptor(&self.socket), how).build()
    }
}

impl<F: AsFd + SendMarker + 'static> Operation for Shutdown<F> {
    type Output = io::Result<()>;

    unsafe fn finish(self, result: io::Result<u32>) -> Self::Output {
        result.map(drop)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_round_trip() {
        for text in ["127.0.0.1:80", "[::1]:65535", "0.0.0.0:0"] {
            let inet: SocketAddr = text.parse().unwrap();
            let address = Address::from(inet);
            assert_eq!(address.as_inet(), Some(inet));
            let copy = Address::from_bytes(address.as_bytes()).unwrap();
            assert_eq!(copy.as_inet(), Some(inet));
            assert_eq!(format!("{address:?}"), format!("{inet:?}"));
        }
        assert!(Address::from_bytes(&[0; 128]).is_some());
        assert!(Address::from_bytes(&[0; 129]).is_none());
        assert_eq!(Address::from_bytes(&[]).unwrap().as_inet(), None);
    }
}
