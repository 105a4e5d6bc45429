//! Transfers: how bytes get from buffers into sockets and back, and the methods of streams that do it.

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
    path = "transfer/direct.rs"
)]
#[cfg_attr(
    not(all(target_os = "linux", target_pointer_width = "64", not(miri))),
    path = "transfer/by_library.rs"
)]
mod call;

pub(super) use call::{receive, send};

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

/// Methods for streams: polls for both directions, and attempts to read and write.
macro_rules! stream_methods {
    () => {
        $crate::net::readiness::polling_methods!();

        /// Attempts to read into `buf`, without waiting, and returns how many bytes were read.
        ///
        /// A return value of 0 means that the stream is at its end, or that `buf` is empty. See
        /// [`readable`](Self::readable) for a loop that waits whenever there is nothing.
        ///
        /// # Errors
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is nothing to read; otherwise any error
        /// of `recv(2)`.
        ///
        /// # Examples
        /// With a TCP stream:
        /// ```
        /// use tress::io::{AsyncWriteExt, ErrorKind};
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// let mut buf = [0; 64];
        /// assert_eq!(stream.try_read(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        /// peer.write_all(b"hello").await?;
        /// stream.readable().await?;
        /// assert_eq!(stream.try_read(&mut buf)?, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
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
        ///
        /// # Examples
        /// With a TCP stream:
        /// ```
        /// use std::io::IoSliceMut;
        /// use tress::io::AsyncWriteExt;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// peer.write_all(b"hello").await?;
        /// let (mut first, mut rest) = ([0; 1], [0; 64]);
        /// stream.readable().await?;
        /// let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut rest)];
        /// assert_eq!(stream.try_read_vectored(&mut bufs)?, 5);
        /// assert_eq!((&first, &rest[..4]), (b"h", &b"ello"[..]));
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
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
                    $crate::net::transfer::fill(buf, |room| self.io.try_leftover_uninit(room))
                };
            }
            self.io.try_io($crate::io::Interest::READABLE, |socket| {
                // SAFETY: receiving initializes as many bytes as it returns.
                unsafe {
                    $crate::net::transfer::fill(buf, |room| {
                        $crate::net::transfer::receive(socket, room)
                    })
                }
            })
        }

        /// Attempts to write from `buf`, without waiting, and returns how many bytes were written.
        ///
        /// See [`writable`](Self::writable) for a loop that waits whenever there is no room.
        ///
        /// # Errors
        /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is no room; otherwise any error of
        /// `send(2)`.
        ///
        /// # Examples
        /// With a TCP stream:
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// stream.writable().await?;
        /// assert_eq!(stream.try_write(b"hello")?, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn try_write(&self, buf: &[u8]) -> std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::WRITABLE, |socket| {
                $crate::net::transfer::send(socket, buf)
            })
        }

        /// Attempts to write from several buffers in order, without waiting, and returns how many bytes
        /// were written.
        ///
        /// The last buffer that is used may be written only in part.
        ///
        /// # Errors
        /// See [`try_write`](Self::try_write).
        ///
        /// # Examples
        /// With a TCP stream:
        /// ```
        /// use std::io::IoSlice;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// stream.writable().await?;
        /// let bufs = [IoSlice::new(b"hello "), IoSlice::new(b"world")];
        /// assert_eq!(stream.try_write_vectored(&bufs)?, 11);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn try_write_vectored(&self, bufs: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::WRITABLE, |socket| {
                $crate::net::transfer::write_vectored(socket, bufs)
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
                $crate::net::transfer::send(socket, buf)
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
                $crate::net::transfer::write_vectored(socket, bufs)
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
                    $crate::net::transfer::receive,
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
                $crate::net::transfer::send,
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

pub(super) use {stream_methods, stream_traits};

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
