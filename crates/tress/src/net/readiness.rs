//! Methods that all sockets have, to wait for readiness and to use it. Each macro is called once in an
//! `impl` of a type whose field `io` is a `Source`.

/// Methods to wait for readiness, for every socket and for pipes.
macro_rules! waiting_methods {
    () => {
        /// Waits until the socket is ready for any of `interest`, and returns for what.
        ///
        /// Readiness means that an attempt makes sense, not that it will succeed: if it would block all the
        /// same, wait again. Use this method to wait for both directions in one task; for one direction
        /// there are [`readable`](Self::readable) and [`writable`](Self::writable). Any number of tasks may
        /// wait at the same time.
        ///
        /// # Errors
        /// The runtime has shut down, or the socket cannot be registered with the system's selector.
        ///
        /// # Cancel safety
        /// This method is cancel safe: the next wait finds the same readiness.
        ///
        /// # Examples
        /// With a TCP stream:
        /// ```
        /// use tress::io::Interest;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// let ready = stream.ready(Interest::READABLE | Interest::WRITABLE).await?;
        /// if ready.is_writable() {
        ///     println!("there is room to write");
        /// }
        /// # assert!(ready.is_writable());
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub async fn ready(
            &self,
            interest: $crate::io::Interest,
        ) -> std::io::Result<$crate::io::Ready> {
            self.io.ready(interest).await
        }

        /// Waits until the socket is readable.
        ///
        /// Call it before a `try_` method that reads, and again if that returns
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock).
        ///
        /// # Errors
        /// See [`ready`](Self::ready).
        ///
        /// # Cancel safety
        /// This method is cancel safe: the next wait finds the same readiness.
        ///
        /// # Examples
        /// With a TCP stream:
        /// ```
        /// use tress::io::ErrorKind;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// # tress::io::AsyncWriteExt::write_all(&mut peer, b"hello").await?;
        /// let mut buf = [0; 64];
        /// let n = loop {
        ///     stream.readable().await?;
        ///     match stream.try_read(&mut buf) {
        ///         Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
        ///         result => break result?,
        ///     }
        /// };
        /// assert_eq!(&buf[..n], b"hello");
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub async fn readable(&self) -> std::io::Result<()> {
            self.ready($crate::io::Interest::READABLE).await.map(drop)
        }

        /// Waits until the socket is writable.
        ///
        /// Call it before a `try_` method that writes, and again if that returns
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock).
        ///
        /// # Errors
        /// See [`ready`](Self::ready).
        ///
        /// # Cancel safety
        /// This method is cancel safe: the next wait finds the same readiness.
        ///
        /// # Examples
        /// With a TCP stream:
        /// ```
        /// use tress::io::ErrorKind;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// let n = loop {
        ///     stream.writable().await?;
        ///     match stream.try_write(b"hello") {
        ///         Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
        ///         result => break result?,
        ///     }
        /// };
        /// assert_eq!(n, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub async fn writable(&self) -> std::io::Result<()> {
            self.ready($crate::io::Interest::WRITABLE).await.map(drop)
        }
    };
}

/// Methods for every socket.
macro_rules! readiness_methods {
    () => {
        $crate::net::readiness::waiting_methods!();

        /// Performs a non-blocking operation of the caller on this socket, unless the socket is known not
        /// to be ready for it.
        ///
        /// If `f` returns [`WouldBlock`](std::io::ErrorKind::WouldBlock), the readiness is cleared. So `f`
        /// must return that error only if the socket did, and must not call methods of this type, which
        /// clear the readiness by themselves.
        ///
        /// # Errors
        /// `WouldBlock`, without a call of `f`, if the socket is not ready; otherwise the error of `f`.
        /// Also if a dropped [owned](crate::io::AsyncReadOwned) read has received bytes that have not been
        /// read since.
        ///
        /// # Examples
        /// With a TCP stream, and `recv` through the crate `socket2`:
        /// ```
        /// use std::mem::MaybeUninit;
        /// use tress::io::Interest;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// # tress::io::AsyncWriteExt::write_all(&mut peer, b"hello").await?;
        /// stream.readable().await?;
        /// let mut buf = [MaybeUninit::uninit(); 64];
        /// let n = stream.try_io(Interest::READABLE, || socket2::SockRef::from(&stream).recv(&mut buf))?;
        /// assert_eq!(n, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn try_io<R>(
            &self,
            interest: $crate::io::Interest,
            f: impl FnOnce() -> std::io::Result<R>,
        ) -> std::io::Result<R> {
            self.io.try_io(interest, |socket| socket.try_io(f))
        }

        /// Performs a non-blocking operation of the caller on this socket, and waits for `interest`
        /// whenever it would block.
        ///
        /// It calls `f` until the result is other than [`WouldBlock`](std::io::ErrorKind::WouldBlock). See
        /// [`try_io`](Self::try_io) for what `f` may do.
        ///
        /// # Errors
        /// The error of `f`, or an error of [`ready`](Self::ready). Also if a dropped
        /// [owned](crate::io::AsyncReadOwned) read has received bytes that have not been read since.
        ///
        /// # Cancel safety
        /// This method is cancel safe: a result of `f` other than `WouldBlock` is returned by the same
        /// poll, so dropping the future loses none.
        ///
        /// # Examples
        /// With a TCP stream, and `recv` through the crate `socket2`:
        /// ```
        /// use std::mem::MaybeUninit;
        /// use tress::io::Interest;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// # tress::io::AsyncWriteExt::write_all(&mut peer, b"hello").await?;
        /// let mut buf = [MaybeUninit::uninit(); 64];
        /// let n = stream
        ///     .async_io(Interest::READABLE, || socket2::SockRef::from(&stream).recv(&mut buf))
        ///     .await?;
        /// assert_eq!(n, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub async fn async_io<R>(
            &self,
            interest: $crate::io::Interest,
            mut f: impl FnMut() -> std::io::Result<R>,
        ) -> std::io::Result<R> {
            self.io.io(interest, |socket| socket.try_io(&mut f)).await
        }
    };
}

/// Methods to poll for readiness, for streams and for pipes.
macro_rules! polling_methods {
    () => {
        /// Polls until the socket is readable.
        ///
        /// After `Pending` the current task is woken when it is. Only the waker of the last poll for
        /// reading is kept; with [`readable`](Self::readable) any number of tasks may wait.
        ///
        /// # Errors
        /// See [`ready`](Self::ready).
        pub fn poll_read_ready(
            &self,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            self.io.poll_ready(cx, tress_driver::Direction::Read)
        }

        /// Polls until the socket is writable.
        ///
        /// After `Pending` the current task is woken when it is. Only the waker of the last poll for
        /// writing is kept; with [`writable`](Self::writable) any number of tasks may wait.
        ///
        /// # Errors
        /// See [`ready`](Self::ready).
        pub fn poll_write_ready(
            &self,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            self.io.poll_ready(cx, tress_driver::Direction::Write)
        }
    };
}

/// Methods for streams: polls for both directions, and attempts to read and write.
macro_rules! stream_methods {
    () => {
        $crate::net::readiness::polling_methods!();

        /// Attempts to read into `buf`, without waiting, and returns how many bytes were read.
        ///
        /// A return value of 0 means that the stream is at its end, or that `buf` is empty. See
        /// [`readable`](Self::readable) for an example.
        ///
        /// # Errors
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is nothing to read; otherwise any error
        /// of `recv(2)`.
        pub fn try_read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
            if let Some(read) = self.io.try_leftover(buf) {
                return read;
            }
            self.io
                .try_io($crate::io::Interest::READABLE, |mut socket| {
                    $crate::io::uninterrupted(|| std::io::Read::read(&mut socket, buf))
                })
        }

        /// Attempts to read into several buffers in order, without waiting, and returns how many bytes were
        /// read.
        ///
        /// The last buffer that is used may be filled only in part.
        ///
        /// # Errors
        /// See [`try_read`](Self::try_read).
        pub fn try_read_vectored(
            &self,
            bufs: &mut [std::io::IoSliceMut<'_>],
        ) -> std::io::Result<usize> {
            if let Some(read) = self.io.try_leftover_vectored(bufs) {
                return read;
            }
            self.io
                .try_io($crate::io::Interest::READABLE, |mut socket| {
                    $crate::io::uninterrupted(|| std::io::Read::read_vectored(&mut socket, bufs))
                })
        }

        /// Attempts to read into `buf`, behind what is in it, without waiting, and returns how many bytes
        /// were read.
        ///
        /// The buffer is advanced by the bytes that were read.
        ///
        /// # Errors
        /// See [`try_read`](Self::try_read).
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// # tress::io::AsyncWriteExt::write_all(&mut peer, b"hello").await?;
        /// let mut buf = Vec::with_capacity(64);
        /// while buf.is_empty() {
        ///     stream.readable().await?;
        ///     let _ = stream.try_read_buf(&mut buf);
        /// }
        /// assert_eq!(buf, b"hello");
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[cfg(feature = "bytes")]
        pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> std::io::Result<usize> {
            if self.io.leftover().is_some() {
                // SAFETY: it initializes as many bytes as it returns.
                return unsafe {
                    $crate::net::readiness::fill(buf, |room| self.io.try_leftover_uninit(room))
                };
            }
            self.io.try_io($crate::io::Interest::READABLE, |socket| {
                // SAFETY: receiving initializes as many bytes as it returns.
                unsafe {
                    $crate::net::readiness::fill(buf, |room| {
                        $crate::net::readiness::receive(socket, room)
                    })
                }
            })
        }

        /// Attempts to write from `buf`, without waiting, and returns how many bytes were written.
        ///
        /// See [`writable`](Self::writable) for an example.
        ///
        /// # Errors
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is no room; otherwise any error of
        /// `send(2)`.
        pub fn try_write(&self, buf: &[u8]) -> std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::WRITABLE, |socket| {
                $crate::net::readiness::send(socket, buf)
            })
        }

        /// Attempts to write from several buffers in order, without waiting, and returns how many bytes
        /// were written.
        ///
        /// The last buffer that is used may be written only in part.
        ///
        /// # Errors
        /// See [`try_write`](Self::try_write).
        pub fn try_write_vectored(&self, bufs: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::WRITABLE, |socket| {
                $crate::net::readiness::write_vectored(socket, bufs)
            })
        }

        /// Writes through a shared reference, also for the halves.
        pub(super) fn poll_write_shared(
            &self,
            cx: &mut std::task::Context<'_>,
            buf: &[u8],
        ) -> std::task::Poll<std::io::Result<usize>> {
            let write = tress_driver::Direction::Write;
            self.io.poll_transfer(cx, write, buf.len(), |socket| {
                $crate::net::readiness::send(socket, buf)
            })
        }

        /// Writes from several buffers like `poll_write_shared`.
        pub(super) fn poll_write_vectored_shared(
            &self,
            cx: &mut std::task::Context<'_>,
            bufs: &[std::io::IoSlice<'_>],
        ) -> std::task::Poll<std::io::Result<usize>> {
            let write = tress_driver::Direction::Write;
            let wanted = $crate::io::offered(bufs);
            self.io.poll_transfer(cx, write, wanted, |socket| {
                $crate::net::readiness::write_vectored(socket, bufs)
            })
        }

        /// Reads into an owned buffer, also for the halves.
        pub(super) async fn read_owned_shared<B: $crate::io::BufferMut>(
            &self,
            buffer: B,
        ) -> (std::io::Result<usize>, B) {
            // SAFETY: receiving initializes as many bytes as it returns.
            unsafe {
                $crate::io::owned::fill(
                    &self.io,
                    buffer,
                    $crate::io::ring::recv,
                    $crate::net::readiness::receive,
                )
            }
            .await
        }

        /// Writes from an owned buffer, also for the halves.
        pub(super) async fn write_owned_shared<B: $crate::io::Buffer>(
            &self,
            buffer: B,
        ) -> (std::io::Result<usize>, B) {
            $crate::io::owned::empty(
                &self.io,
                buffer,
                $crate::io::ring::send,
                $crate::net::readiness::send,
            )
            .await
        }

        /// Shuts down the writing side, also for the halves. It succeeds if the side has been shut down
        /// already.
        pub(super) fn shutdown_write(&self) -> std::io::Result<()> {
            match self.io.get_ref().shutdown(std::net::Shutdown::Write) {
                Err(error) if error.kind() == std::io::ErrorKind::NotConnected => Ok(()),
                result => result,
            }
        }
    };
}

/// Implements the traits of a stream, outside of its `impl`.
macro_rules! stream_traits {
    ($Stream:ident) => {
        impl $crate::io::AsyncRead for $Stream {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &mut $crate::io::ReadBuf<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.poll_read_shared(cx, buf)
            }
        }

        impl $crate::io::AsyncWrite for $Stream {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.poll_write_shared(cx, buf)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.poll_write_vectored_shared(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            /// Does nothing, because nothing is buffered in the process.
            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::task::Poll::Ready(Ok(()))
            }

            fn poll_shutdown(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::task::Poll::Ready(self.shutdown_write())
            }
        }

        impl $crate::io::AsyncReadOwned for $Stream {
            async fn read_owned<B: $crate::io::BufferMut>(
                &mut self,
                buffer: B,
            ) -> (std::io::Result<usize>, B) {
                self.read_owned_shared(buffer).await
            }
        }

        impl $crate::io::AsyncWriteOwned for $Stream {
            async fn write_owned<B: $crate::io::Buffer>(
                &mut self,
                buffer: B,
            ) -> (std::io::Result<usize>, B) {
                self.write_owned_shared(buffer).await
            }
        }

        impl AsRef<$Stream> for $Stream {
            fn as_ref(&self) -> &$Stream {
                self
            }
        }
    };
}

/// Implements conversion from the standard library's type and access to the descriptor, outside of the
/// socket's `impl`.
macro_rules! socket_traits {
    ($Socket:ident, $Std:ty) => {
        impl TryFrom<$Std> for $Socket {
            type Error = std::io::Error;

            /// Converts like [`from_std`](Self::from_std).
            #[track_caller]
            fn try_from(socket: $Std) -> std::io::Result<$Socket> {
                $Socket::from_std(socket)
            }
        }

        impl std::fmt::Debug for $Socket {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.io.fmt(f)
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $Socket {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.io.get_ref().as_raw_fd()
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsFd for $Socket {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.io.get_ref().as_fd()
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsRawSocket for $Socket {
            fn as_raw_socket(&self) -> std::os::windows::io::RawSocket {
                self.io.get_ref().as_raw_socket()
            }
        }

        #[cfg(windows)]
        impl std::os::windows::io::AsSocket for $Socket {
            fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
                self.io.get_ref().as_socket()
            }
        }
    };
}

pub(super) use {
    polling_methods, readiness_methods, socket_traits, stream_methods, stream_traits,
    waiting_methods,
};

use crate::io::uninterrupted;
use std::io::{self, IoSlice, Write};
#[cfg(feature = "bytes")]
use std::mem::MaybeUninit;
#[cfg(unix)]
use std::os::fd::AsRawFd as AsSystem;
#[cfg(windows)]
use std::os::windows::io::AsRawSocket as AsSystem;

#[cfg_attr(
    all(target_os = "linux", target_pointer_width = "64", not(miri)),
    path = "readiness/direct.rs"
)]
#[cfg_attr(
    not(all(target_os = "linux", target_pointer_width = "64", not(miri))),
    path = "readiness/by_library.rs"
)]
mod transfer;

pub(super) use transfer::{receive, send};

/// Maximum total size of buffers that are copied together before they are written, which takes less time
/// than the kernel needs to handle them one by one.
// D-NET-06
const GATHERED: usize = 1024;

/// Writes from several buffers in order.
pub(super) fn write_vectored<S: Socket>(mut socket: &S, bufs: &[IoSlice<'_>]) -> io::Result<usize>
where
    for<'a> &'a S: Write,
{
    let mut together = [0; GATHERED];
    match gather(bufs, &mut together) {
        Some(bytes) => send(socket, bytes),
        None => uninterrupted(|| socket.write_vectored(bufs)),
    }
}

/// Returns the bytes of the buffers in one piece, if there is room for them.
fn gather<'a>(bufs: &[IoSlice<'_>], room: &'a mut [u8]) -> Option<&'a [u8]> {
    let total = bufs
        .iter()
        .try_fold(0_usize, |total, buf| total.checked_add(buf.len()))?;
    let room = room.get_mut(..total)?;
    let mut rest = &mut *room;
    for buf in bufs {
        let (place, behind) = rest.split_at_mut(buf.len());
        place.copy_from_slice(buf);
        rest = behind;
    }
    Some(room)
}

/// Reads into the room that a buffer offers, and counts the bytes as filled.
///
/// # Safety
/// `read` initializes the bytes whose number it returns.
#[cfg(feature = "bytes")]
pub(super) unsafe fn fill<B: bytes::BufMut>(
    buf: &mut B,
    read: impl FnOnce(&mut [MaybeUninit<u8>]) -> io::Result<usize>,
) -> io::Result<usize> {
    // SAFETY: `read` only initializes bytes.
    let n = read(unsafe { buf.chunk_mut().as_uninit_slice_mut() })?;
    // SAFETY: by the caller's promise.
    unsafe { buf.advance_mut(n) };
    Ok(n)
}

/// A socket of mio, for operations that mio does not have.
pub(super) trait Socket: AsSystem {
    /// Calls `f`, and calls it again if a signal interrupts it. On Windows, mio must be told of operations
    /// that are not its own and would block.
    fn attempt<R>(&self, f: impl FnMut(&socket2::Socket) -> io::Result<R>) -> io::Result<R>;
}

macro_rules! socket {
    ($($Socket:ty),* $(,)?) => {$(
        impl Socket for $Socket {
            fn attempt<R>(
                &self,
                mut f: impl FnMut(&socket2::Socket) -> io::Result<R>,
            ) -> io::Result<R> {
                let socket = socket2::SockRef::from(self);
                self.try_io(|| uninterrupted(|| f(&socket)))
            }
        }
    )*};
}

socket!(mio::net::TcpStream, mio::net::UdpSocket);
#[cfg(unix)]
socket!(mio::net::UnixStream, mio::net::UnixDatagram);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn small_buffers_are_put_together_up_to_the_edge() {
        let (head, body) = (b"head", [b'b'; GATHERED]);
        let mut room = [0; GATHERED];
        for length in [0, 1, GATHERED - 5, GATHERED - 4] {
            let bufs = [&head[..], &[], &body[..length]].map(IoSlice::new);
            let want = [&head[..], &body[..length]].concat();
            assert_eq!(gather(&bufs, &mut room), Some(&want[..]));
        }
        let bufs = [&head[..], &body[..GATHERED - 3]].map(IoSlice::new);
        assert_eq!(gather(&bufs, &mut room), None);
        assert_eq!(gather(&[], &mut room), Some(&[][..]));
    }
}
