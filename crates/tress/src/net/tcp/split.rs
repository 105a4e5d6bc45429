use super::TcpStream;
use crate::io::ReadBuf;
use crate::net::halves::halves;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

halves!(TcpStream, SocketAddr);

/// Implements looking ahead for the reading halves.
macro_rules! peeking {
    ($Half:ty) => {
        impl $Half {
            /// Copies the bytes that the next read will return, and leaves them in the socket.
            ///
            /// See [`TcpStream::peek`].
            ///
            /// # Errors
            /// See [`TcpStream::peek`].
            ///
            /// # Cancel safety
            /// This method is cancel safe: it takes nothing from the socket.
            ///
            /// # Examples
            /// ```
            /// use tress::io::{AsyncReadExt, AsyncWriteExt};
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// peer.write_all(b"hello").await?;
            /// let (mut reader, _writer) = stream.into_split();
            /// let mut first = [0; 1];
            /// assert_eq!(reader.peek(&mut first).await?, 1);
            /// let mut all = [0; 5];
            /// reader.read_exact(&mut all).await?;
            /// assert_eq!(&all, b"hello");
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub async fn peek(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                self.0.peek(buf).await
            }

            /// Polls for bytes to peek at.
            ///
            /// See [`TcpStream::poll_peek`].
            ///
            /// # Errors
            /// See [`TcpStream::peek`].
            ///
            /// # Examples
            /// ```
            /// use std::future::poll_fn;
            /// use tress::io::{AsyncWriteExt, ReadBuf};
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// peer.write_all(b"hello").await?;
            /// let (mut reader, _writer) = stream.into_split();
            /// let mut space = [0; 1];
            /// let mut buf = ReadBuf::new(&mut space);
            /// assert_eq!(poll_fn(|cx| reader.poll_peek(cx, &mut buf)).await?, 1);
            /// assert_eq!(buf.filled(), b"h");
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
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
