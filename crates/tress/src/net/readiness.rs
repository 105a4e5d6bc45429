//! The methods that all sockets have, to wait for readiness and to use it. Each macro is called once in
//! an `impl` of a type whose field `io` is a `Source`.

/// To wait for readiness: for every socket, and for pipes.
macro_rules! waiting_methods {
    () => {
        /// Waits until there is readiness for any of `interest`, and says for what.
        ///
        /// Ready means that an attempt makes sense, not that it succeeds: the operation may find
        /// that it would block, and then one waits again. This is how to wait for either side in
        /// one task; else [`readable`](Self::readable) and [`writable`](Self::writable) will do.
        ///
        /// # Errors
        /// If the runtime has shut down, or the system does not register it.
        ///
        /// # Cancel safety
        /// Waiting takes nothing: whoever waits next finds the same readiness.
        pub async fn ready(
            &self,
            interest: $crate::io::Interest,
        ) -> std::io::Result<$crate::io::Ready> {
            self.io.ready(interest).await
        }

        /// Waits until it is readable: before a `try_` method that reads.
        ///
        /// # Errors
        /// As for [`ready`](Self::ready).
        ///
        /// # Cancel safety
        /// Waiting takes nothing.
        pub async fn readable(&self) -> std::io::Result<()> {
            self.ready($crate::io::Interest::READABLE).await.map(drop)
        }

        /// Waits until it is writable: before a `try_` method that writes.
        ///
        /// # Errors
        /// As for [`ready`](Self::ready).
        ///
        /// # Cancel safety
        /// Waiting takes nothing.
        pub async fn writable(&self) -> std::io::Result<()> {
            self.ready($crate::io::Interest::WRITABLE).await.map(drop)
        }
    };
}

/// For every socket.
macro_rules! readiness_methods {
    () => {
        $crate::net::readiness::waiting_methods!();

        /// Does `f`, a non-blocking operation on this socket of the user's own, unless the socket is
        /// known not to be ready for it.
        ///
        /// If `f` finds that it would block, the socket is not ready any more: `f` must return that
        /// error only when the socket did, and must not use the methods of this type, which have
        /// done that by themselves.
        ///
        /// # Errors
        /// `WouldBlock` without a call of `f` if the socket is not ready; else what `f` returns.
        pub fn try_io<R>(
            &self,
            interest: $crate::io::Interest,
            f: impl FnOnce() -> std::io::Result<R>,
        ) -> std::io::Result<R> {
            self.io.try_io(interest, |socket| socket.try_io(f))
        }

        /// Does `f`, a non-blocking operation on this socket of the user's own, until it would not
        /// block, and waits for `interest` in between. See [`try_io`](Self::try_io) for what `f` may
        /// do.
        ///
        /// # Errors
        /// As for [`ready`](Self::ready); else what `f` returns.
        ///
        /// # Cancel safety
        /// The result of `f`, unless it would have blocked, is returned by the same poll: dropping the
        /// future loses nothing.
        pub async fn async_io<R>(
            &self,
            interest: $crate::io::Interest,
            mut f: impl FnMut() -> std::io::Result<R>,
        ) -> std::io::Result<R> {
            self.io.io(interest, |socket| socket.try_io(&mut f)).await
        }
    };
}

/// To poll for readiness: for streams, and for pipes.
macro_rules! polling_methods {
    () => {
        /// Polls for readability. The waker of the last call is woken; of
        /// [`readable`](Self::readable) any number may wait.
        ///
        /// # Errors
        /// As for [`ready`](Self::ready).
        pub fn poll_read_ready(
            &self,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            self.io.poll_ready(cx, tress_driver::Direction::Read)
        }

        /// Polls for writability. The waker of the last call is woken; of
        /// [`writable`](Self::writable) any number may wait.
        ///
        /// # Errors
        /// As for [`ready`](Self::ready).
        pub fn poll_write_ready(
            &self,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            self.io.poll_ready(cx, tress_driver::Direction::Write)
        }
    };
}

/// For the streams: both sides by poll, and attempts at reading and writing.
macro_rules! stream_methods {
    () => {
        $crate::net::readiness::polling_methods!();

        /// Reads what there is, without waiting. 0 is the end, or an empty buffer.
        ///
        /// # Errors
        /// `WouldBlock` if there is nothing; else what the system says.
        pub fn try_read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
            if let Some(read) = self.io.try_leftover(buf) {
                return read;
            }
            self.io
                .try_io($crate::io::Interest::READABLE, |mut socket| {
                    $crate::io::uninterrupted(|| std::io::Read::read(&mut socket, buf))
                })
        }

        /// Reads what there is into several buffers, one after the other.
        ///
        /// # Errors
        /// As for [`try_read`](Self::try_read).
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

        /// Reads what there is into a buffer that grows or keeps its place by itself.
        ///
        /// # Errors
        /// As for [`try_read`](Self::try_read).
        #[cfg(feature = "bytes")]
        pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> std::io::Result<usize> {
            if self.io.leftover().is_some() {
                // SAFETY: it initialises as many bytes as it says.
                return unsafe {
                    $crate::net::readiness::fill(buf, |room| self.io.try_leftover_uninit(room))
                };
            }
            self.io.try_io($crate::io::Interest::READABLE, |socket| {
                // SAFETY: receiving initialises as many bytes as it says.
                unsafe {
                    $crate::net::readiness::fill(buf, |room| {
                        $crate::net::readiness::receive(socket, room)
                    })
                }
            })
        }

        /// Writes what there is room for, without waiting, and says how much that was.
        ///
        /// # Errors
        /// `WouldBlock` if there is no room; else what the system says.
        pub fn try_write(&self, buf: &[u8]) -> std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::WRITABLE, |socket| {
                $crate::net::readiness::send(socket, buf)
            })
        }

        /// Writes what there is room for from several buffers, one after the other.
        ///
        /// # Errors
        /// As for [`try_write`](Self::try_write).
        pub fn try_write_vectored(&self, bufs: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::WRITABLE, |socket| {
                $crate::net::readiness::write_vectored(socket, bufs)
            })
        }

        /// Writes through a shared reference: also for the halves.
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

        /// As `poll_write_shared`.
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

        /// Reads into an owned buffer: also for the halves.
        pub(super) async fn read_owned_shared<B: $crate::io::BufferMut>(
            &self,
            buffer: B,
        ) -> (std::io::Result<usize>, B) {
            // SAFETY: receiving initialises as many bytes as it says.
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

        /// As `read_owned_shared`.
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

        /// Ends the writing side: also for the halves. One that has ended already is fine.
        pub(super) fn shutdown_write(&self) -> std::io::Result<()> {
            match self.io.get_ref().shutdown(std::net::Shutdown::Write) {
                Err(error) if error.kind() == std::io::ErrorKind::NotConnected => Ok(()),
                result => result,
            }
        }
    };
}

/// Outside of the `impl`: the traits of a stream.
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

            /// Nothing is kept back.
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

/// Outside of the `impl`: how the standard library's type becomes ours, and how the system knows it.
macro_rules! socket_traits {
    ($Socket:ident, $Std:ty) => {
        impl TryFrom<$Std> for $Socket {
            type Error = std::io::Error;

            /// As [`from_std`](Self::from_std).
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

/// Several buffers with no more than this in all are put together before they are written: that takes less
/// than the kernel takes to be told of them one by one.
// D-NET-06
const GATHERED: usize = 1024;

/// Writes from several buffers, one after the other.
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

/// The buffers' bytes in one piece, if there is room for them.
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

/// Reads into whatever room a buffer offers, and counts it as filled.
///
/// # Safety
/// `read` initialises the bytes whose number it returns.
#[cfg(feature = "bytes")]
pub(super) unsafe fn fill<B: bytes::BufMut>(
    buf: &mut B,
    read: impl FnOnce(&mut [MaybeUninit<u8>]) -> io::Result<usize>,
) -> io::Result<usize> {
    // SAFETY: `read` only initialises bytes.
    let n = read(unsafe { buf.chunk_mut().as_uninit_slice_mut() })?;
    // SAFETY: by the caller's promise.
    unsafe { buf.advance_mut(n) };
    Ok(n)
}

/// mio's sockets, for operations they do not have.
pub(super) trait Socket: AsSystem {
    /// Does `f`, again if a signal came in between. On Windows mio must hear of operations that were
    /// not its own and would block.
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
