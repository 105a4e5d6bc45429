//! Methods to wait for readiness and to use it. Each macro is called once in an `impl` of a type whose field
//! `io` is a `Source`.

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
        ///
        /// # Examples
        /// With a TCP stream:
        /// ```
        /// use std::future::poll_fn;
        /// use tress::io::AsyncWriteExt;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// peer.write_all(b"hello").await?;
        /// poll_fn(|cx| stream.poll_read_ready(cx)).await?;
        /// assert_eq!(stream.try_read(&mut [0; 64])?, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
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
        ///
        /// # Examples
        /// With a TCP stream:
        /// ```
        /// use std::future::poll_fn;
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
        /// # let mut stream = tress::net::TcpStream::connect(listener.local_addr()?).await?;
        /// # let (mut peer, _) = listener.accept().await?;
        /// poll_fn(|cx| stream.poll_write_ready(cx)).await?;
        /// assert_eq!(stream.try_write(b"hello")?, 5);
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn poll_write_ready(
            &self,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            self.io.poll_ready(cx, tress_driver::Direction::Write)
        }
    };
}

pub(super) use {polling_methods, readiness_methods, waiting_methods};
