//! The halves of a stream: borrowed ones for two futures of one task, owned ones for two tasks.

/// Defines the four types for a stream that has `poll_read_shared` and its siblings.
macro_rules! halves {
    ($Stream:ident, $Addr:ty) => {
        /// The reading half of a borrowed stream, created by its method `split`.
        ///
        /// It is read through [`AsyncRead`](crate::io::AsyncRead).
        ///
        /// # Examples
        /// ```
        /// use tress::io::{AsyncReadExt, AsyncWriteExt};
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// peer.write_u8(7).await?;
        /// let (mut reader, _writer) = stream.split();
        /// assert_eq!(reader.read_u8().await?, 7);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[derive(Debug)]
        pub struct ReadHalf<'a>(&'a $Stream);

        /// The writing half of a borrowed stream, created by its method `split`.
        ///
        /// It is written through [`AsyncWrite`](crate::io::AsyncWrite). [Shutting it
        /// down](crate::io::AsyncWriteExt::shutdown) shuts down the stream's writing side; dropping it does
        /// not.
        ///
        /// # Examples
        /// ```
        /// use tress::io::{AsyncReadExt, AsyncWriteExt};
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// let (_reader, mut writer) = stream.split();
        /// writer.write_u8(7).await?;
        /// assert_eq!(peer.read_u8().await?, 7);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[derive(Debug)]
        pub struct WriteHalf<'a>(&'a $Stream);

        /// The reading half of a stream, created by its method `into_split`.
        ///
        /// It is read through [`AsyncRead`](crate::io::AsyncRead). [`reunite`](OwnedReadHalf::reunite) puts
        /// it together with the other half.
        ///
        /// # Examples
        /// ```
        /// use tress::io::{AsyncReadExt, AsyncWriteExt};
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// let (mut reader, _writer) = stream.into_split();
        /// let task = tress::spawn(async move { reader.read_u8().await });
        /// peer.write_u8(7).await?;
        /// assert_eq!(task.await.unwrap()?, 7);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[derive(Debug)]
        pub struct OwnedReadHalf(std::sync::Arc<$Stream>);

        /// The writing half of a stream, created by its method `into_split`.
        ///
        /// It is written through [`AsyncWrite`](crate::io::AsyncWrite). Dropping it shuts down the stream's
        /// writing side, so that the peer sees the end; [`forget`](OwnedWriteHalf::forget) drops it without
        /// that.
        ///
        /// # Examples
        /// ```
        /// use tress::io::{AsyncReadExt, AsyncWriteExt};
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// let (_reader, mut writer) = stream.into_split();
        /// tress::spawn(async move { writer.write_all(b"hello").await });
        /// let mut text = String::new();
        /// // The end is there when the writing half has been dropped.
        /// peer.read_to_string(&mut text).await?;
        /// assert_eq!(text, "hello");
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[derive(Debug)]
        pub struct OwnedWriteHalf {
            stream: std::sync::Arc<$Stream>,
            shut_down_on_drop: bool,
        }

        /// The error of `reunite`: the halves belong to different streams.
        ///
        /// It holds both halves.
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// let (reader, _writer) = stream.into_split();
        /// let (_reader, writer) = peer.into_split();
        /// let error = reader.reunite(writer).unwrap_err();
        /// println!("{error}");
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        #[derive(Debug)]
        pub struct ReuniteError(
            /// The reading half.
            pub OwnedReadHalf,
            /// The writing half.
            pub OwnedWriteHalf,
        );

        impl std::fmt::Display for ReuniteError {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::words::OTHER_HALF)
            }
        }

        impl std::error::Error for ReuniteError {}

        pub(super) fn split(stream: &$Stream) -> (ReadHalf<'_>, WriteHalf<'_>) {
            (ReadHalf(stream), WriteHalf(stream))
        }

        pub(super) fn into_split(stream: $Stream) -> (OwnedReadHalf, OwnedWriteHalf) {
            let stream = std::sync::Arc::new(stream);
            let writer = OwnedWriteHalf {
                stream: stream.clone(),
                shut_down_on_drop: true,
            };
            (OwnedReadHalf(stream), writer)
        }

        impl OwnedReadHalf {
            /// Puts the two halves together, and returns the stream.
            ///
            /// # Errors
            /// The halves do not come from the same stream. The error gives them back.
            ///
            /// # Examples
            /// ```
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// let (reader, writer) = stream.into_split();
            /// let stream = reader.reunite(writer).expect("both come from one stream");
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn reunite(self, other: OwnedWriteHalf) -> Result<$Stream, ReuniteError> {
                if !std::sync::Arc::ptr_eq(&self.0, &other.stream) {
                    return Err(ReuniteError(self, other));
                }
                other.forget();
                Ok(std::sync::Arc::into_inner(self.0).expect("there are but two halves"))
            }
        }

        impl OwnedWriteHalf {
            /// Puts the two halves together, and returns the stream.
            ///
            /// # Errors
            /// The halves do not come from the same stream. The error gives them back.
            ///
            /// # Examples
            /// With a TCP stream:
            /// ```
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// let (reader, writer) = stream.into_split();
            /// let stream = writer.reunite(reader).expect("both come from one stream");
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn reunite(self, other: OwnedReadHalf) -> Result<$Stream, ReuniteError> {
                other.reunite(self)
            }

            /// Drops the half without shutting down the stream's writing side.
            ///
            /// # Examples
            /// ```
            /// use tress::io::{AsyncReadExt, AsyncWriteExt};
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// let (mut reader, mut writer) = stream.into_split();
            /// writer.write_u8(7).await?;
            /// writer.forget();
            /// assert_eq!(peer.read_u8().await?, 7);
            /// peer.write_u8(8).await?;
            /// assert_eq!(reader.read_u8().await?, 8);
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn forget(mut self) {
                self.shut_down_on_drop = false;
            }
        }

        impl Drop for OwnedWriteHalf {
            fn drop(&mut self) {
                if self.shut_down_on_drop {
                    // This fails only if there is no peer any more.
                    let _ = self.stream.shutdown_write();
                }
            }
        }

        impl WriteHalf<'_> {
            fn stream(&self) -> &$Stream {
                self.0
            }

            fn shut_down(&mut self) -> std::io::Result<()> {
                self.0.shutdown_write()
            }
        }

        impl OwnedWriteHalf {
            fn stream(&self) -> &$Stream {
                &self.stream
            }

            fn shut_down(&mut self) -> std::io::Result<()> {
                self.stream.shutdown_write()?;
                self.shut_down_on_drop = false;
                Ok(())
            }
        }

        $crate::net::halves::reading_half!(ReadHalf<'_>, $Stream, $Addr);
        $crate::net::halves::reading_half!(OwnedReadHalf, $Stream, $Addr);
        $crate::net::halves::writing_half!(WriteHalf<'_>, $Stream, $Addr);
        $crate::net::halves::writing_half!(OwnedWriteHalf, $Stream, $Addr);
    };
}

macro_rules! reading_half {
    ($Half:ty, $Stream:ident, $Addr:ty) => {
        impl $Half {
            /// Waits until the stream is ready for any of `interest`, and returns for what.
            ///
            /// # Errors
            /// The runtime has shut down, or the stream cannot be registered with the system's selector.
            ///
            /// # Cancel safety
            /// This method is cancel safe: the next wait finds the same readiness.
            ///
            /// # Examples
            /// With a TCP stream:
            /// ```
            /// use tress::io::{AsyncWriteExt, Interest};
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// peer.write_all(b"hello").await?;
            /// let (reader, _writer) = stream.into_split();
            /// assert!(reader.ready(Interest::READABLE).await?.is_readable());
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub async fn ready(
                &self,
                interest: $crate::io::Interest,
            ) -> std::io::Result<$crate::io::Ready> {
                self.0.ready(interest).await
            }

            /// Waits until the stream is readable.
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
            /// use tress::io::AsyncWriteExt;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// peer.write_all(b"hello").await?;
            /// let (reader, _writer) = stream.into_split();
            /// reader.readable().await?;
            /// assert_eq!(reader.try_read(&mut [0; 64])?, 5);
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub async fn readable(&self) -> std::io::Result<()> {
                self.0.readable().await
            }

            /// Attempts to read into `buf`, without waiting, and returns how many bytes were read.
            ///
            /// A return value of 0 means that the stream is at its end, or that `buf` is empty.
            ///
            /// # Errors
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is nothing to read; otherwise any
            /// error of `recv(2)`.
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
            /// let (reader, _writer) = stream.into_split();
            /// let error = reader.try_read(&mut [0; 64]).unwrap_err();
            /// assert_eq!(error.kind(), ErrorKind::WouldBlock);
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn try_read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
                self.0.try_read(buf)
            }

            /// Attempts to read into several buffers in order, without waiting, and returns how many bytes
            /// were read.
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
            /// let (reader, _writer) = stream.into_split();
            /// let (mut first, mut rest) = ([0; 1], [0; 64]);
            /// reader.readable().await?;
            /// let mut bufs = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut rest)];
            /// assert_eq!(reader.try_read_vectored(&mut bufs)?, 5);
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn try_read_vectored(
                &self,
                bufs: &mut [std::io::IoSliceMut<'_>],
            ) -> std::io::Result<usize> {
                self.0.try_read_vectored(bufs)
            }

            /// Attempts to read into `buf`, behind what is in it, without waiting, and returns how many
            /// bytes were read.
            ///
            /// # Errors
            /// See [`try_read`](Self::try_read).
            ///
            /// # Examples
            /// With a TCP stream:
            /// ```
            /// use tress::io::AsyncWriteExt;
            ///
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// peer.write_all(b"hello").await?;
            /// let (reader, _writer) = stream.into_split();
            /// let mut buf = Vec::with_capacity(64);
            /// reader.readable().await?;
            /// reader.try_read_buf(&mut buf)?;
            /// assert_eq!(buf, b"hello");
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            #[cfg(feature = "bytes")]
            pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> std::io::Result<usize> {
                self.0.try_read_buf(buf)
            }

            /// Returns the address of the peer.
            ///
            /// # Errors
            /// Any error of `getpeername(2)`.
            ///
            /// # Examples
            /// With a TCP stream:
            /// ```
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// let (reader, _writer) = stream.into_split();
            /// assert_eq!(reader.peer_addr()?, listener.local_addr()?);
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn peer_addr(&self) -> std::io::Result<$Addr> {
                self.0.peer_addr()
            }

            /// Returns the local address of the stream.
            ///
            /// # Errors
            /// Any error of `getsockname(2)`.
            ///
            /// # Examples
            /// With a TCP stream:
            /// ```
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// let (reader, _writer) = stream.into_split();
            /// assert_eq!(reader.local_addr()?, peer.peer_addr()?);
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn local_addr(&self) -> std::io::Result<$Addr> {
                self.0.local_addr()
            }
        }

        impl AsRef<$Stream> for $Half {
            fn as_ref(&self) -> &$Stream {
                &self.0
            }
        }

        impl $crate::io::AsyncRead for $Half {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &mut $crate::io::ReadBuf<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.0.poll_read_shared(cx, buf)
            }
        }

        impl $crate::io::AsyncReadOwned for $Half {
            async fn read_owned<B: $crate::io::BufferMut>(
                &mut self,
                buffer: B,
            ) -> (std::io::Result<usize>, B) {
                self.0.read_owned_shared(buffer).await
            }
        }
    };
}

macro_rules! writing_half {
    ($Half:ty, $Stream:ident, $Addr:ty) => {
        impl $Half {
            /// Waits until the stream is ready for any of `interest`, and returns for what.
            ///
            /// # Errors
            /// The runtime has shut down, or the stream cannot be registered with the system's selector.
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
            /// let (_reader, writer) = stream.into_split();
            /// assert!(writer.ready(Interest::WRITABLE).await?.is_writable());
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub async fn ready(
                &self,
                interest: $crate::io::Interest,
            ) -> std::io::Result<$crate::io::Ready> {
                self.stream().ready(interest).await
            }

            /// Waits until the stream is writable.
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
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// let (_reader, writer) = stream.into_split();
            /// writer.writable().await?;
            /// assert_eq!(writer.try_write(b"hello")?, 5);
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub async fn writable(&self) -> std::io::Result<()> {
                self.stream().writable().await
            }

            /// Attempts to write from `buf`, without waiting, and returns how many bytes were written.
            ///
            /// # Errors
            /// [`WouldBlock`](std::io::ErrorKind::WouldBlock) if there is no room; otherwise any error of
            /// `send(2)`.
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
            /// let (_reader, writer) = stream.into_split();
            /// match writer.try_write(b"hello") {
            ///     Ok(n) => println!("{n} bytes"),
            ///     Err(error) if error.kind() == ErrorKind::WouldBlock => println!("not now"),
            ///     Err(error) => return Err(error),
            /// }
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn try_write(&self, buf: &[u8]) -> std::io::Result<usize> {
                self.stream().try_write(buf)
            }

            /// Attempts to write from several buffers in order, without waiting, and returns how many bytes
            /// were written.
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
            /// let (_reader, writer) = stream.into_split();
            /// writer.writable().await?;
            /// let bufs = [IoSlice::new(b"hello "), IoSlice::new(b"world")];
            /// assert_eq!(writer.try_write_vectored(&bufs)?, 11);
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn try_write_vectored(
                &self,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::io::Result<usize> {
                self.stream().try_write_vectored(bufs)
            }

            /// Returns the address of the peer.
            ///
            /// # Errors
            /// Any error of `getpeername(2)`.
            ///
            /// # Examples
            /// With a TCP stream:
            /// ```
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// let (_reader, writer) = stream.into_split();
            /// assert_eq!(writer.peer_addr()?, listener.local_addr()?);
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn peer_addr(&self) -> std::io::Result<$Addr> {
                self.stream().peer_addr()
            }

            /// Returns the local address of the stream.
            ///
            /// # Errors
            /// Any error of `getsockname(2)`.
            ///
            /// # Examples
            /// With a TCP stream:
            /// ```
            /// # tress::runtime::Runtime::new().unwrap().block_on(async {
            /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
            /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
            /// # let (mut peer, _) = listener.accept().await?;
            /// let (_reader, writer) = stream.into_split();
            /// assert_eq!(writer.local_addr()?, peer.peer_addr()?);
            /// # Ok::<(), std::io::Error>(()) }).unwrap();
            /// ```
            pub fn local_addr(&self) -> std::io::Result<$Addr> {
                self.stream().local_addr()
            }
        }

        impl AsRef<$Stream> for $Half {
            fn as_ref(&self) -> &$Stream {
                self.stream()
            }
        }

        impl $crate::io::AsyncWrite for $Half {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.stream().poll_write_shared(cx, buf)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.stream().poll_write_vectored_shared(cx, bufs)
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
                std::task::Poll::Ready(self.get_mut().shut_down())
            }
        }

        impl $crate::io::AsyncWriteOwned for $Half {
            async fn write_owned<B: $crate::io::Buffer>(
                &mut self,
                buffer: B,
            ) -> (std::io::Result<usize>, B) {
                self.stream().write_owned_shared(buffer).await
            }
        }
    };
}

pub(super) use {halves, reading_half, writing_half};
