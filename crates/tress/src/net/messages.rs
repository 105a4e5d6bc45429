//! What sockets for datagrams and for messages have in common. Each macro is called once in an `impl` of a
//! type whose field `io` is a `Source` of a [`Messages`].

use super::readiness::{Socket, receive};
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

    /// The sender, as the system names it.
    fn sender(address: socket2::SockAddr) -> io::Result<Self::Addr>;

    /// As many bytes are initialised afterwards as this says.
    fn receive_from(&self, room: &mut [MaybeUninit<u8>]) -> io::Result<(usize, Self::Addr)> {
        let (n, from) = self.attempt(|socket| socket.recv_from(room))?;
        Ok((n, Self::sender(from)?))
    }
}

/// Polls for a message that `f` puts into a buffer.
///
/// # Safety
/// `f` initialises the bytes whose number it returns.
pub(super) unsafe fn poll_fill<T: tress_driver::Source, R>(
    source: &Source<T>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
    mut f: impl FnMut(&T, &mut [MaybeUninit<u8>]) -> io::Result<(usize, R)>,
) -> Poll<io::Result<R>> {
    // SAFETY: nothing is de-initialised: `f` only writes bytes into it.
    let room = unsafe { buf.unfilled_mut() };
    let received = ready!(source.poll_io(cx, Direction::Read, |socket| f(socket, room)));
    let (n, result) = received?;
    // SAFETY: by the caller's promise.
    unsafe { buf.assume_init(n) };
    buf.advance(n);
    Poll::Ready(Ok(result))
}

/// Polls for a message, whoever it is from.
pub(super) fn poll_receive<T: Socket + tress_driver::Source>(
    source: &Source<T>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let filled = |socket: &T, room: &mut [MaybeUninit<u8>]| receive(socket, room).map(|n| (n, ()));
    // SAFETY: receiving initialises as many bytes as it says.
    unsafe { poll_fill(source, cx, buf, filled) }
}

/// Receives into whatever room a buffer offers.
#[cfg(feature = "bytes")]
pub(super) fn fill_with<B: bytes::BufMut>(socket: &impl Socket, buf: &mut B) -> io::Result<usize> {
    // SAFETY: receiving initialises as many bytes as it says.
    unsafe { super::readiness::fill(buf, |room| receive(socket, room)) }
}

/// As `fill_with`, and says who it is from.
#[cfg(feature = "bytes")]
pub(super) fn fill_from<T: Messages, B: bytes::BufMut>(
    socket: &T,
    buf: &mut B,
) -> io::Result<(usize, T::Addr)> {
    let mut sender = None;
    // SAFETY: receiving initialises as many bytes as it says.
    let n = unsafe {
        super::readiness::fill(buf, |room| {
            let (n, from) = socket.receive_from(room)?;
            sender = Some(from);
            Ok(n)
        })
    }?;
    Ok((n, sender.expect("set with the length")))
}

/// Sending and receiving, to and from the peer.
macro_rules! message_methods {
    ($datagram:literal, $sending:literal, $receiving:literal) => {
        /// Polls for something to receive. The waker of the last poll that receives is woken; of
        /// [`readable`](Self::readable) any number may wait.
        ///
        /// # Errors
        /// As for [`ready`](Self::ready).
        pub fn poll_recv_ready(
            &self,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            self.io.poll_ready(cx, tress_driver::Direction::Read)
        }

        /// Polls for room to send. The waker of the last poll that sends is woken; of
        /// [`writable`](Self::writable) any number may wait.
        ///
        /// # Errors
        /// As for [`ready`](Self::ready).
        pub fn poll_send_ready(
            &self,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            self.io.poll_ready(cx, tress_driver::Direction::Write)
        }

        #[doc = concat!("Sends a ", $datagram, " to the peer it is connected to.")]
        ///
        /// # Errors
        #[doc = $sending]
        ///
        /// # Cancel safety
        /// If the future is dropped before it is ready, nothing was sent.
        pub async fn send(&self, buf: &[u8]) -> std::io::Result<usize> {
            self.io
                .io($crate::io::Interest::WRITABLE, |socket| {
                    $crate::io::uninterrupted(|| socket.send(buf))
                })
                .await
        }

        /// As [`send`](Self::send), by poll. The waker of the last poll that sends is woken.
        ///
        /// # Errors
        /// As for [`send`](Self::send).
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

        /// As [`send`](Self::send), without waiting.
        ///
        /// # Errors
        /// `WouldBlock` if there is no room; else what the system says.
        pub fn try_send(&self, buf: &[u8]) -> std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::WRITABLE, |socket| {
                $crate::io::uninterrupted(|| socket.send(buf))
            })
        }

        #[doc = concat!("Receives a ", $datagram, " and says how long it is. What does not fit is lost.")]
        ///
        /// # Errors
        #[doc = $receiving]
        ///
        /// # Cancel safety
        #[doc = concat!("If the future is dropped before it is ready, no ", $datagram, " was taken.")]
        pub async fn recv(&self, buf: &mut [u8]) -> std::io::Result<usize> {
            self.io
                .io($crate::io::Interest::READABLE, |socket| {
                    $crate::io::uninterrupted(|| socket.recv(buf))
                })
                .await
        }

        /// As [`recv`](Self::recv), by poll. The waker of the last poll that receives is woken.
        ///
        /// # Errors
        /// As for [`recv`](Self::recv).
        pub fn poll_recv(
            &self,
            cx: &mut std::task::Context<'_>,
            buf: &mut $crate::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            $crate::net::messages::poll_receive(&self.io, cx, buf)
        }

        /// As [`recv`](Self::recv), without waiting.
        ///
        /// # Errors
        /// `WouldBlock` if there is nothing; else what the system says.
        pub fn try_recv(&self, buf: &mut [u8]) -> std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::READABLE, |socket| {
                $crate::io::uninterrupted(|| socket.recv(buf))
            })
        }

        /// As [`recv`](Self::recv), into the room that a buffer offers. Give it enough.
        ///
        /// # Errors
        /// As for [`recv`](Self::recv).
        ///
        /// # Cancel safety
        /// As for [`recv`](Self::recv).
        #[cfg(feature = "bytes")]
        pub async fn recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> std::io::Result<usize> {
            self.io
                .io($crate::io::Interest::READABLE, |socket| {
                    $crate::net::messages::fill_with(socket, buf)
                })
                .await
        }

        /// As [`recv_buf`](Self::recv_buf), without waiting.
        ///
        /// # Errors
        /// `WouldBlock` if there is nothing; else what the system says.
        #[cfg(feature = "bytes")]
        pub fn try_recv_buf<B: bytes::BufMut>(&self, buf: &mut B) -> std::io::Result<usize> {
            self.io.try_io($crate::io::Interest::READABLE, |socket| {
                $crate::net::messages::fill_with(socket, buf)
            })
        }
    };
}

/// Receiving from anybody.
macro_rules! sender_methods {
    ($Addr:ty, $receiving:literal) => {
        /// Receives a datagram, and says how long it is and who it is from. What does not fit is lost.
        ///
        /// # Errors
        #[doc = $receiving]
        ///
        /// # Cancel safety
        /// If the future is dropped before it is ready, no datagram was taken.
        pub async fn recv_from(&self, buf: &mut [u8]) -> std::io::Result<(usize, $Addr)> {
            self.io
                .io($crate::io::Interest::READABLE, |socket| {
                    $crate::net::messages::Messages::take_from(socket, buf)
                })
                .await
        }

        /// As [`recv_from`](Self::recv_from), by poll. The waker of the last poll that receives is
        /// woken.
        ///
        /// # Errors
        /// As for [`recv_from`](Self::recv_from).
        pub fn poll_recv_from(
            &self,
            cx: &mut std::task::Context<'_>,
            buf: &mut $crate::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<$Addr>> {
            let receive_from = $crate::net::messages::Messages::receive_from;
            // SAFETY: receiving initialises as many bytes as it says.
            unsafe { $crate::net::messages::poll_fill(&self.io, cx, buf, receive_from) }
        }

        /// As [`recv_from`](Self::recv_from), without waiting.
        ///
        /// # Errors
        /// `WouldBlock` if there is nothing; else what the system says.
        pub fn try_recv_from(&self, buf: &mut [u8]) -> std::io::Result<(usize, $Addr)> {
            self.io.try_io($crate::io::Interest::READABLE, |socket| {
                $crate::net::messages::Messages::take_from(socket, buf)
            })
        }

        /// As [`recv_from`](Self::recv_from), into the room that a buffer offers. Give it enough.
        ///
        /// # Errors
        /// As for [`recv_from`](Self::recv_from).
        ///
        /// # Cancel safety
        /// As for [`recv_from`](Self::recv_from).
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

        /// As [`recv_buf_from`](Self::recv_buf_from), without waiting.
        ///
        /// # Errors
        /// `WouldBlock` if there is nothing; else what the system says.
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
