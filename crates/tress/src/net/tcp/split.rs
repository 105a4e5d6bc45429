use super::TcpStream;
use crate::io::ReadBuf;
use crate::net::halves::halves;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

halves!(TcpStream, SocketAddr);

/// The reading halves can look ahead as the stream can.
macro_rules! peeking {
    ($Half:ty) => {
        impl $Half {
            /// Copies bytes that the next read will bring, without taking them; see
            /// [`TcpStream::peek`].
            ///
            /// # Errors
            /// What the system says.
            ///
            /// # Cancel safety
            /// Nothing is taken.
            pub async fn peek(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                self.0.peek(buf).await
            }

            /// As [`peek`](Self::peek), by poll; see [`TcpStream::poll_peek`].
            ///
            /// # Errors
            /// What the system says.
            pub fn poll_peek(
                &mut self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<usize>> {
                self.0.poll_peek(cx, buf)
            }
        }
    };
}

peeking!(ReadHalf<'_>);
peeking!(OwnedReadHalf);
