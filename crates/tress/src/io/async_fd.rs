use super::source::{self, Source, attempts};
use super::{Interest, Ready};
use crate::task::coop;
use crate::words;
use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::task::{Context, Poll, ready};
use tress_driver::{Direction, ReadyEvent, Registration};

mod guard;

pub use guard::{AsyncFdReadyGuard, AsyncFdReadyMutGuard, TryIoError};

/// A file descriptor that can be waited for.
///
/// It makes any descriptor that the system can watch usable in async code: a serial line, a tunnel device,
/// `inotify`, a socket of another library. For TCP, UDP, Unix sockets and pipes use the types of
/// [`net`](crate::net) instead.
///
/// The descriptor must be in non-blocking mode. To use it, wait for readiness, try the operation, and if
/// that would block, clear the readiness and wait again. [`async_io`](AsyncFd::async_io) does all of this;
/// with [`readable`](AsyncFd::readable) and [`writable`](AsyncFd::writable), whose
/// [guards](AsyncFdReadyGuard) have a method [`try_io`](AsyncFdReadyGuard::try_io), it can be done step by
/// step.
///
/// Clear the readiness if and only if the operation would block: if it is not cleared then, a loop spins;
/// if it is cleared although the descriptor is still ready, the next wait may never end.
///
/// The descriptor is watched until the `AsyncFd` is dropped, which drops `T` as well, or until it is [taken
/// out](AsyncFd::into_inner). Until then `T` must keep the same descriptor open.
///
/// # Examples
/// ```
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
/// use tress::io::{AsyncFd, Interest};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (near, mut far) = UnixStream::pair()?;
/// near.set_nonblocking(true)?;
/// // SAFETY: the socket owns its descriptor.
/// let near = unsafe { AsyncFd::register(near)? };
/// far.write_all(b"tick")?;
/// let mut buf = [0; 8];
/// let n = near.async_io(Interest::READABLE, |mut near| near.read(&mut buf)).await?;
/// assert_eq!(&buf[..n], b"tick");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
///
/// The same, step by step:
/// ```
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
/// use tress::io::AsyncFd;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// # let (near, mut far) = UnixStream::pair()?;
/// # near.set_nonblocking(true)?;
/// # let near = unsafe { AsyncFd::register(near)? };
/// # far.write_all(b"tick")?;
/// let mut buf = [0; 8];
/// let n = loop {
///     let mut guard = near.readable().await?;
///     match guard.try_io(|near| near.get_ref().read(&mut buf)) {
///         Ok(result) => break result?,
///         // The readiness has been cleared.
///         Err(_would_block) => continue,
///     }
/// };
/// assert_eq!(&buf[..n], b"tick");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct AsyncFd<T: AsRawFd> {
    /// Registered from the beginning.
    io: Source<T>,
}

impl<T: AsRawFd> AsyncFd<T> {
    /// Creates an `AsyncFd` that watches a descriptor for reading and writing.
    ///
    /// The descriptor must be in non-blocking mode.
    ///
    /// # Errors
    /// Any error of the system's selector, such as `epoll_ctl(2)`:
    /// [`PermissionDenied`](io::ErrorKind::PermissionDenied) for a file on a disk,
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) for a descriptor that this runtime watches already.
    /// Also if the runtime has shut down. The error gives `inner` back.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Safety
    /// [`inner.as_raw_fd()`](AsRawFd::as_raw_fd) must be an open descriptor, always the same, until the
    /// `AsyncFd` is dropped or `inner` is taken out: [`as_fd`](AsFd::as_fd) lends it to others. A type that
    /// owns its descriptor and gives it away only by value, as those of the standard library, satisfies this.
    ///
    /// # Examples
    /// ```
    /// use std::os::unix::net::UnixDatagram;
    /// use tress::io::AsyncFd;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = UnixDatagram::pair()?;
    /// near.set_nonblocking(true)?;
    /// // SAFETY: the socket owns its descriptor.
    /// let near = unsafe { AsyncFd::register(near)? };
    /// near.writable().await?.retain_ready();
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub unsafe fn register(inner: T) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        AsyncFd::watch(inner, Interest::READABLE | Interest::WRITABLE)
    }

    /// Creates an `AsyncFd` that watches a descriptor for `interest` only.
    ///
    /// Some descriptors can be watched for one direction only.
    ///
    /// # Errors
    /// See [`register`](AsyncFd::register).
    ///
    /// # Panics
    /// See [`register`](AsyncFd::register).
    ///
    /// # Safety
    /// See [`register`](AsyncFd::register).
    ///
    /// # Examples
    /// ```
    /// use tress::io::{AsyncFd, Interest};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (reader, _writer) = std::os::unix::net::UnixStream::pair()?;
    /// reader.set_nonblocking(true)?;
    /// // SAFETY: the socket owns its descriptor.
    /// let reader = unsafe { AsyncFd::register_with_interest(reader, Interest::READABLE)? };
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub unsafe fn register_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        AsyncFd::watch(inner, interest)
    }

    #[track_caller]
    fn watch(inner: T, interest: Interest) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        let io = Source::lazy(inner, interest, "AsyncFd");
        match io.registration() {
            Ok(_) => Ok(AsyncFd { io }),
            Err(cause) => Err(AsyncFdRegisterError {
                inner: io.into_inner(),
                cause,
            }),
        }
    }

    /// Creates an `AsyncFd` like [`register`](AsyncFd::register), without a promise about the descriptor.
    ///
    /// # Errors
    /// See [`register`](AsyncFd::register).
    ///
    /// # Panics
    /// See [`register`](AsyncFd::register).
    ///
    /// # Examples
    /// ```
    /// use std::os::unix::net::UnixStream;
    /// use tress::io::{AsyncFd, Interest};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// // SAFETY: the stream owns its descriptor, and keeps it open.
    /// let near = unsafe { AsyncFd::register_with_interest(near, Interest::WRITABLE) }?;
    /// near.writable().await?.retain_ready();
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    #[deprecated = "unsound if the descriptor may be closed meanwhile: use `AsyncFd::register`"]
    pub fn new(inner: T) -> io::Result<AsyncFd<T>> {
        Ok(AsyncFd::watch(
            inner,
            Interest::READABLE | Interest::WRITABLE,
        )?)
    }

    /// Creates an `AsyncFd` like [`register_with_interest`](AsyncFd::register_with_interest), without a
    /// promise about the descriptor.
    ///
    /// # Errors
    /// See [`register`](AsyncFd::register).
    ///
    /// # Panics
    /// See [`register`](AsyncFd::register).
    #[track_caller]
    #[deprecated = "unsound if the descriptor may be closed meanwhile: use `AsyncFd::register_with_interest`"]
    pub fn with_interest(inner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
        Ok(AsyncFd::watch(inner, interest)?)
    }

    /// Creates an `AsyncFd` like [`register`](AsyncFd::register), without a promise about the descriptor.
    ///
    /// # Errors
    /// See [`register`](AsyncFd::register).
    ///
    /// # Panics
    /// See [`register`](AsyncFd::register).
    #[track_caller]
    #[deprecated = "unsound if the descriptor may be closed meanwhile: use `AsyncFd::register`"]
    pub fn try_new(inner: T) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        AsyncFd::watch(inner, Interest::READABLE | Interest::WRITABLE)
    }

    /// Creates an `AsyncFd` like [`register_with_interest`](AsyncFd::register_with_interest), without a
    /// promise about the descriptor.
    ///
    /// # Errors
    /// See [`register`](AsyncFd::register).
    ///
    /// # Panics
    /// See [`register`](AsyncFd::register).
    #[track_caller]
    #[deprecated = "unsound if the descriptor may be closed meanwhile: use `AsyncFd::register_with_interest`"]
    pub fn try_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        AsyncFd::watch(inner, interest)
    }

    /// Returns a reference to the inner value.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// assert!(near.get_ref().peer_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_ref(&self) -> &T {
        self.io.get_ref()
    }

    /// Returns a mutable reference to the inner value.
    ///
    /// Its descriptor must stay the same.
    ///
    /// # Examples
    /// ```
    /// use std::io::Write;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// assert_eq!(near.get_mut().write(b"tick")?, 4);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.io.get_mut()
    }

    /// Stops watching the descriptor, and returns the inner value.
    ///
    /// # Examples
    /// ```
    /// use std::os::unix::net::UnixStream;
    /// use tress::io::AsyncFd;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// // SAFETY: the socket owns its descriptor.
    /// let near = unsafe { AsyncFd::register(near)? };
    /// let near: UnixStream = near.into_inner();
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_inner(self) -> T {
        self.io.into_inner()
    }

    fn registration(&self) -> io::Result<&Registration> {
        self.io.registration()
    }

    fn clear(&self, event: ReadyEvent) {
        if let Ok(registration) = self.registration() {
            registration.clear(event);
        }
    }

    fn poll_side(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<ReadyEvent>> {
        let progress = ready!(coop::poll_proceed(cx));
        let event = ready!(source::poll_ready(self.registration()?, cx, direction));
        progress.made_progress();
        Poll::Ready(event)
    }

    /// Polls until the descriptor is readable.
    ///
    /// After `Pending` the current task is woken when it is. Only the waker of the last call is kept; with
    /// [`readable`](AsyncFd::readable) any number of tasks may wait.
    ///
    /// # Errors
    /// The runtime has shut down.
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    /// use std::io::Write;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// far.write_all(b"tick")?;
    /// let guard = poll_fn(|cx| near.poll_read_ready(cx)).await?;
    /// assert!(guard.ready().is_readable());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_read_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.poll_side(cx, Direction::Read))?;
        Poll::Ready(Ok(AsyncFdReadyGuard::new(self, event)))
    }

    /// Polls until the descriptor is readable, and gives mutable access to the inner value.
    ///
    /// See [`poll_read_ready`](AsyncFd::poll_read_ready).
    ///
    /// # Errors
    /// The runtime has shut down.
    ///
    /// # Examples
    /// ```
    /// use std::io::Read;
    /// use std::task::{Poll, ready};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// # std::io::Write::write_all(&mut far, b"tick")?;
    /// let mut buf = [0; 8];
    /// let n = std::future::poll_fn(|cx| {
    ///     loop {
    ///         let mut guard = ready!(near.poll_read_ready_mut(cx))?;
    ///         if let Ok(read) = guard.try_io(|near| near.get_mut().read(&mut buf)) {
    ///             return Poll::Ready(read);
    ///         }
    ///     }
    /// });
    /// assert_eq!(n.await?, 4);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_read_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.poll_side(cx, Direction::Read))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard::new(self, event)))
    }

    /// Polls until the descriptor is writable.
    ///
    /// After `Pending` the current task is woken when it is. Only the waker of the last call is kept; with
    /// [`writable`](AsyncFd::writable) any number of tasks may wait.
    ///
    /// # Errors
    /// The runtime has shut down.
    ///
    /// # Examples
    /// ```
    /// use std::future::poll_fn;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// let guard = poll_fn(|cx| near.poll_write_ready(cx)).await?;
    /// assert!(guard.ready().is_writable());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_write_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.poll_side(cx, Direction::Write))?;
        Poll::Ready(Ok(AsyncFdReadyGuard::new(self, event)))
    }

    /// Polls until the descriptor is writable, and gives mutable access to the inner value.
    ///
    /// See [`poll_write_ready`](AsyncFd::poll_write_ready).
    ///
    /// # Errors
    /// The runtime has shut down.
    ///
    /// # Examples
    /// ```
    /// use std::io::Write;
    /// use std::task::{Poll, ready};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// let n = std::future::poll_fn(|cx| {
    ///     loop {
    ///         let mut guard = ready!(near.poll_write_ready_mut(cx))?;
    ///         if let Ok(written) = guard.try_io(|near| near.get_mut().write(b"tick")) {
    ///             return Poll::Ready(written);
    ///         }
    ///     }
    /// });
    /// assert_eq!(n.await?, 4);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn poll_write_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.poll_side(cx, Direction::Write))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard::new(self, event)))
    }

    /// Waits until the descriptor is ready for any of `interest`.
    ///
    /// Any number of tasks may wait at the same time.
    ///
    /// # Errors
    /// The runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: readiness that was found and not used is still there.
    ///
    /// # Examples
    /// ```
    /// use std::os::unix::net::UnixStream;
    /// use tress::io::{AsyncFd, Interest};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// // SAFETY: the socket owns its descriptor.
    /// let near = unsafe { AsyncFd::register(near)? };
    /// let guard = near.ready(Interest::READABLE | Interest::WRITABLE).await?;
    /// assert!(guard.ready().is_writable());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn ready(&self, interest: Interest) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        let event = source::ready(self.registration()?, interest).await?;
        Ok(AsyncFdReadyGuard::new(self, event))
    }

    /// Waits until the descriptor is ready for any of `interest`, and gives mutable access to the inner
    /// value.
    ///
    /// See [`ready`](AsyncFd::ready).
    ///
    /// # Errors
    /// The runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: readiness that was found and not used is still there.
    ///
    /// # Examples
    /// ```
    /// use tress::io::Interest;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// let guard = near.ready_mut(Interest::READABLE | Interest::WRITABLE).await?;
    /// assert!(guard.ready().is_writable());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn ready_mut(
        &mut self,
        interest: Interest,
    ) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        let event = source::ready(self.registration()?, interest).await?;
        Ok(AsyncFdReadyMutGuard::new(self, event))
    }

    /// Waits until the descriptor is readable.
    ///
    /// Any number of tasks may wait at the same time.
    ///
    /// # Errors
    /// The runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: readiness that was found and not used is still there.
    ///
    /// # Examples
    /// ```
    /// use std::io::{Read, Write};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// far.write_all(b"tick")?;
    /// let mut guard = near.readable().await?;
    /// if let Ok(read) = guard.try_io(|near| near.get_ref().read(&mut [0; 8])) {
    ///     assert_eq!(read?, 4);
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn readable<'a>(&'a self) -> io::Result<AsyncFdReadyGuard<'a, T>> {
        self.ready(Interest::READABLE).await
    }

    /// Waits until the descriptor is readable, and gives mutable access to the inner value.
    ///
    /// See [`readable`](AsyncFd::readable).
    ///
    /// # Errors
    /// The runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: readiness that was found and not used is still there.
    ///
    /// # Examples
    /// ```
    /// use std::io::{Read, Write};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// far.write_all(b"tick")?;
    /// let mut guard = near.readable_mut().await?;
    /// if let Ok(read) = guard.try_io(|near| near.get_mut().read(&mut [0; 8])) {
    ///     assert_eq!(read?, 4);
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn readable_mut<'a>(&'a mut self) -> io::Result<AsyncFdReadyMutGuard<'a, T>> {
        self.ready_mut(Interest::READABLE).await
    }

    /// Waits until the descriptor is writable.
    ///
    /// Any number of tasks may wait at the same time.
    ///
    /// # Errors
    /// The runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: readiness that was found and not used is still there.
    ///
    /// # Examples
    /// ```
    /// use std::io::Write;
    /// use std::os::unix::net::UnixStream;
    /// use tress::io::AsyncFd;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// // SAFETY: the socket owns its descriptor.
    /// let near = unsafe { AsyncFd::register(near)? };
    /// let mut guard = near.writable().await?;
    /// if let Ok(written) = guard.try_io(|near| near.get_ref().write(b"tick")) {
    ///     assert_eq!(written?, 4);
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn writable<'a>(&'a self) -> io::Result<AsyncFdReadyGuard<'a, T>> {
        self.ready(Interest::WRITABLE).await
    }

    /// Waits until the descriptor is writable, and gives mutable access to the inner value.
    ///
    /// See [`writable`](AsyncFd::writable).
    ///
    /// # Errors
    /// The runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: readiness that was found and not used is still there.
    ///
    /// # Examples
    /// ```
    /// use std::io::Write;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// let mut guard = near.writable_mut().await?;
    /// if let Ok(written) = guard.try_io(|near| near.get_mut().write(b"tick")) {
    ///     assert_eq!(written?, 4);
    /// }
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn writable_mut<'a>(&'a mut self) -> io::Result<AsyncFdReadyMutGuard<'a, T>> {
        self.ready_mut(Interest::WRITABLE).await
    }

    /// Performs a non-blocking operation, and waits for `interest` whenever it would block.
    ///
    /// It calls `f` until the result is other than [`WouldBlock`](io::ErrorKind::WouldBlock). `f` must
    /// return `WouldBlock` only if the descriptor did: the readiness is cleared then.
    ///
    /// # Errors
    /// The error of `f`, or that the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: a result of `f` other than `WouldBlock` is returned by the same poll, so
    /// dropping the future loses none.
    ///
    /// # Examples
    /// ```
    /// use std::io::Write;
    /// use std::os::unix::net::UnixStream;
    /// use tress::io::{AsyncFd, Interest};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// // SAFETY: the socket owns its descriptor.
    /// let near = unsafe { AsyncFd::register(near)? };
    /// let n = near.async_io(Interest::WRITABLE, |mut near| near.write(b"tick")).await?;
    /// assert_eq!(n, 4);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        coop::consume_budget().await;
        let inner = self.get_ref();
        attempts(self.registration()?, interest, || f(inner)).await
    }

    /// Performs a non-blocking operation like [`async_io`](AsyncFd::async_io), with mutable access to the
    /// inner value.
    ///
    /// # Errors
    /// See [`async_io`](AsyncFd::async_io).
    ///
    /// # Cancel safety
    /// See [`async_io`](AsyncFd::async_io).
    ///
    /// # Examples
    /// ```
    /// use std::io::Read;
    /// use std::os::unix::net::UnixStream;
    /// use tress::io::{AsyncFd, Interest};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// // SAFETY: the socket owns its descriptor.
    /// let mut near = unsafe { AsyncFd::register(near)? };
    /// drop(far);
    /// let n = near.async_io_mut(Interest::READABLE, |near| near.read(&mut [0; 8])).await?;
    /// assert_eq!(n, 0);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub async fn async_io_mut<R>(
        &mut self,
        interest: Interest,
        mut f: impl FnMut(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        coop::consume_budget().await;
        let (registration, inner) = self.io.parts_mut()?;
        attempts(registration, interest, || f(inner)).await
    }

    /// Performs a non-blocking operation, unless the descriptor is known not to be ready for it.
    ///
    /// If `f` returns [`WouldBlock`](io::ErrorKind::WouldBlock), the readiness is cleared.
    ///
    /// # Errors
    /// `WouldBlock`, without a call of `f`, if the descriptor is not ready; otherwise the error of `f`.
    ///
    /// # Examples
    /// ```
    /// use std::io::Read;
    /// use std::os::unix::net::UnixStream;
    /// use tress::io::{AsyncFd, ErrorKind, Interest};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, _far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// // SAFETY: the socket owns its descriptor.
    /// let near = unsafe { AsyncFd::register(near)? };
    /// let read = near.try_io(Interest::READABLE, |mut near| near.read(&mut [0; 8]));
    /// assert_eq!(read.unwrap_err().kind(), ErrorKind::WouldBlock);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.io.try_io(interest, f)
    }

    /// Performs a non-blocking operation like [`try_io`](AsyncFd::try_io), with mutable access to the inner
    /// value.
    ///
    /// # Errors
    /// See [`try_io`](AsyncFd::try_io).
    ///
    /// # Examples
    /// ```
    /// use std::io::Read;
    /// use tress::io::{ErrorKind, Interest};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// let read = near.try_io_mut(Interest::READABLE, |near| near.read(&mut [0; 8]));
    /// assert_eq!(read.unwrap_err().kind(), ErrorKind::WouldBlock);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_io_mut<R>(
        &mut self,
        interest: Interest,
        f: impl FnOnce(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        let (registration, inner) = self.io.parts_mut()?;
        registration.try_io(interest, || f(inner))
    }
}

impl<T: AsRawFd> AsRawFd for AsyncFd<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.get_ref().as_raw_fd()
    }
}

impl<T: AsRawFd> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: who made this with `register` has promised that the descriptor is open as long as this
        // lives. The other constructors are deprecated because nobody promises it there.
        unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
    }
}

impl<T: AsRawFd + fmt::Debug> fmt::Debug for AsyncFd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFd")
            .field("inner", self.get_ref())
            .finish()
    }
}

/// The error of [`AsyncFd::register`] and [`AsyncFd::register_with_interest`]: the descriptor cannot be
/// watched.
///
/// It gives back the value that was to be watched.
///
/// # Examples
/// ```
/// use std::fs::File;
/// use tress::io::AsyncFd;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let file = File::open("Cargo.toml")?;
/// // SAFETY: the file owns its descriptor.
/// let Err(error) = (unsafe { AsyncFd::register(file) }) else { panic!() };
/// println!("{error}");
/// let (_file, cause) = error.into_parts();
/// assert_eq!(cause.kind(), std::io::ErrorKind::PermissionDenied);
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct AsyncFdRegisterError<T> {
    inner: T,
    cause: io::Error,
}

impl<T> AsyncFdRegisterError<T> {
    /// Returns the value that was to be watched, and the cause of the error.
    ///
    /// # Examples
    /// ```
    /// use std::fs::File;
    /// use tress::io::AsyncFd;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// // SAFETY: a file keeps its descriptor open.
    /// let registered = unsafe { AsyncFd::register(File::open("Cargo.toml")?) };
    /// let (file, cause) = registered.unwrap_err().into_parts();
    /// println!("{file:?} cannot be watched: {cause}");
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn into_parts(self) -> (T, io::Error) {
        (self.inner, self.cause)
    }
}

impl<T> fmt::Display for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        words::not_watched(f, &self.cause)
    }
}

impl<T> fmt::Debug for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        words::show_not_watched(f, &self.cause)
    }
}

impl<T> Error for AsyncFdRegisterError<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

impl<T> From<AsyncFdRegisterError<T>> for io::Error {
    fn from(error: AsyncFdRegisterError<T>) -> io::Error {
        error.cause
    }
}
