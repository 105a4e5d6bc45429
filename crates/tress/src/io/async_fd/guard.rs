use super::{AsyncFd, Ready};
use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use tress_driver::ReadyEvent;

/// Readiness of an [`AsyncFd`], returned by its waiting methods.
///
/// Try the operation with [`try_io`](AsyncFdReadyGuard::try_io), which clears the readiness if the
/// operation would block, or clear it by [`clear_ready`](AsyncFdReadyGuard::clear_ready). Dropping the
/// guard keeps the readiness: the next wait ends at once.
///
/// # Examples
/// ```
/// use std::io::Read;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
/// # near.set_nonblocking(true)?;
/// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
/// # std::io::Write::write_all(&mut far, b"tick")?;
/// let mut guard = near.readable().await?;
/// while let Ok(read) = guard.try_io(|near| near.get_ref().read(&mut [0; 8])) {
///     println!("{} bytes", read?);
/// }
/// assert!(!guard.ready().is_readable());
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[must_use = "use the readiness: try the operation, and clear it if that would block"]
pub struct AsyncFdReadyGuard<'a, T: AsRawFd> {
    async_fd: &'a AsyncFd<T>,
    event: Option<ReadyEvent>,
}

/// Readiness of an [`AsyncFd`], with mutable access to it.
///
/// It is as [`AsyncFdReadyGuard`] otherwise.
///
/// # Examples
/// ```
/// use std::io::Read;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
/// # near.set_nonblocking(true)?;
/// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
/// # std::io::Write::write_all(&mut far, b"tick")?;
/// let mut guard = near.readable_mut().await?;
/// while let Ok(read) = guard.try_io(|near| near.get_mut().read(&mut [0; 8])) {
///     println!("{} bytes", read?);
/// }
/// assert!(!guard.ready().is_readable());
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[must_use = "use the readiness: try the operation, and clear it if that would block"]
pub struct AsyncFdReadyMutGuard<'a, T: AsRawFd> {
    async_fd: &'a mut AsyncFd<T>,
    event: Option<ReadyEvent>,
}

/// The error of the guards' `try_io`: the operation would have blocked, and the readiness has been cleared.
///
/// Wait for readiness again.
///
/// # Examples
/// ```
/// use std::io::Read;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
/// # near.set_nonblocking(true)?;
/// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
/// # std::io::Write::write_all(&mut far, b"tick")?;
/// let mut guard = near.readable().await?;
/// guard.try_io(|near| near.get_ref().read(&mut [0; 8])).unwrap()?;
/// let error = guard.try_io(|near| near.get_ref().read(&mut [0; 8])).unwrap_err();
/// println!("{error}");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct TryIoError(());

impl fmt::Display for TryIoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the descriptor was not ready after all: wait again")
    }
}

impl Error for TryIoError {}

macro_rules! readiness {
    () => {
        /// Clears the readiness, so that the next wait is for a new event.
        ///
        /// Call it only if the operation would have blocked. An event that has arrived since the guard was
        /// created is not cleared.
        ///
        /// # Examples
        /// ```
        /// use std::io::{ErrorKind, Write};
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
        /// # near.set_nonblocking(true)?;
        /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
        /// let mut guard = near.writable().await?;
        /// match guard.get_inner().write(b"tick") {
        ///     Err(error) if error.kind() == ErrorKind::WouldBlock => guard.clear_ready(),
        ///     result => assert_eq!(result?, 4),
        /// }
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn clear_ready(&mut self) {
            if let Some(event) = self.event.take() {
                self.async_fd.clear(event);
            }
        }

        /// Clears the given part of the readiness, like [`clear_ready`](Self::clear_ready).
        ///
        /// # Examples
        /// ```
        /// use tress::io::{Interest, Ready};
        ///
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
        /// # near.set_nonblocking(true)?;
        /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
        /// # std::io::Write::write_all(&mut far, b"tick")?;
        /// let mut guard = near.ready(Interest::READABLE | Interest::WRITABLE).await?;
        /// guard.clear_ready_matching(Ready::WRITABLE);
        /// assert!(!guard.ready().is_writable());
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn clear_ready_matching(&mut self, ready: Ready) {
            if let Some(event) = self.event.take() {
                self.async_fd.clear(event.with_ready(event.ready() & ready));
                let rest = event.ready() - ready;
                self.event = (!rest.is_empty()).then_some(event.with_ready(rest));
            }
        }

        /// Keeps the readiness.
        ///
        /// Dropping the guard does the same; this method makes it visible in the code.
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
        /// # near.set_nonblocking(true)?;
        /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
        /// near.writable().await?.retain_ready();
        /// assert!(near.writable().await?.ready().is_writable());
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn retain_ready(&mut self) {}

        /// Returns the readiness that was found, without what has been cleared.
        ///
        /// # Examples
        /// ```
        /// # tress::runtime::Runtime::new().unwrap().block_on(async {
        /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
        /// # near.set_nonblocking(true)?;
        /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
        /// let mut guard = near.writable().await?;
        /// assert!(guard.ready().is_writable());
        /// guard.clear_ready();
        /// assert!(guard.ready().is_empty());
        /// # Ok::<(), std::io::Error>(()) }).unwrap();
        /// ```
        pub fn ready(&self) -> Ready {
            self.event.map_or(Ready::EMPTY, |event| event.ready())
        }
    };
}

/// Evaluates an attempt, and clears the readiness of a guard if it would have blocked.
macro_rules! attempt {
    ($guard:ident, $result:expr) => {
        match $result {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                $guard.clear_ready();
                Err(TryIoError(()))
            }
            result => Ok(result),
        }
    };
}

impl<'a, T: AsRawFd> AsyncFdReadyGuard<'a, T> {
    pub(super) fn new(async_fd: &'a AsyncFd<T>, event: ReadyEvent) -> Self {
        AsyncFdReadyGuard {
            async_fd,
            event: Some(event),
        }
    }

    readiness!();

    /// Performs a non-blocking operation, and clears the readiness if it would block.
    ///
    /// The outer result says whether the operation would have blocked, the inner one is that of `f`.
    ///
    /// # Errors
    /// [`TryIoError`] if `f` returns [`WouldBlock`](io::ErrorKind::WouldBlock): wait for readiness again.
    ///
    /// # Examples
    /// ```
    /// use std::io::Read;
    /// use std::os::unix::net::UnixStream;
    /// use tress::io::AsyncFd;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// // SAFETY: the socket owns its descriptor.
    /// let near = unsafe { AsyncFd::register(near)? };
    /// drop(far);
    /// let mut guard = near.readable().await?;
    /// let read = guard.try_io(|near| near.get_ref().read(&mut [0; 8]));
    /// assert_eq!(read.unwrap()?, 0);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_io<R>(
        &mut self,
        f: impl FnOnce(&'a AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        attempt!(self, f(self.async_fd))
    }

    /// Returns a reference to the [`AsyncFd`].
    ///
    /// # Examples
    /// ```
    /// use std::os::fd::AsRawFd;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// let guard = near.writable().await?;
    /// assert_eq!(guard.get_ref().as_raw_fd(), near.as_raw_fd());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_ref(&self) -> &'a AsyncFd<T> {
        self.async_fd
    }

    /// Returns a reference to the inner value of the [`AsyncFd`].
    ///
    /// # Examples
    /// ```
    /// use std::io::Write;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// let guard = near.writable().await?;
    /// assert_eq!(guard.get_inner().write(b"tick")?, 4);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_inner(&self) -> &'a T {
        self.async_fd.get_ref()
    }
}

impl<'a, T: AsRawFd> AsyncFdReadyMutGuard<'a, T> {
    pub(super) fn new(async_fd: &'a mut AsyncFd<T>, event: ReadyEvent) -> Self {
        AsyncFdReadyMutGuard {
            async_fd,
            event: Some(event),
        }
    }

    readiness!();

    /// Performs a non-blocking operation, and clears the readiness if it would block.
    ///
    /// The outer result says whether the operation would have blocked, the inner one is that of `f`.
    ///
    /// # Errors
    /// [`TryIoError`] if `f` returns [`WouldBlock`](io::ErrorKind::WouldBlock): wait for readiness again.
    ///
    /// # Examples
    /// ```
    /// use std::io::Read;
    /// use std::os::unix::net::UnixStream;
    /// use tress::io::AsyncFd;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (near, far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// // SAFETY: the socket owns its descriptor.
    /// let mut near = unsafe { AsyncFd::register(near)? };
    /// drop(far);
    /// let mut guard = near.readable_mut().await?;
    /// let read = guard.try_io(|near| near.get_mut().read(&mut [0; 8]));
    /// assert_eq!(read.unwrap()?, 0);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn try_io<R>(
        &mut self,
        f: impl FnOnce(&mut AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        attempt!(self, f(self.async_fd))
    }

    /// Returns a reference to the [`AsyncFd`].
    ///
    /// # Examples
    /// ```
    /// use std::os::fd::AsRawFd;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// let descriptor = near.as_raw_fd();
    /// let guard = near.writable_mut().await?;
    /// assert_eq!(guard.get_ref().as_raw_fd(), descriptor);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_ref(&self) -> &AsyncFd<T> {
        self.async_fd
    }

    /// Returns a mutable reference to the [`AsyncFd`].
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
    /// assert_eq!(guard.get_mut().get_mut().write(b"tick")?, 4);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_mut(&mut self) -> &mut AsyncFd<T> {
        self.async_fd
    }

    /// Returns a reference to the inner value of the [`AsyncFd`].
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// # let (near, mut far) = std::os::unix::net::UnixStream::pair()?;
    /// # near.set_nonblocking(true)?;
    /// # let mut near = unsafe { tress::io::AsyncFd::register(near) }?;
    /// let guard = near.writable_mut().await?;
    /// assert!(guard.get_inner().peer_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_inner(&self) -> &T {
        self.async_fd.get_ref()
    }

    /// Returns a mutable reference to the inner value of the [`AsyncFd`].
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
    /// let mut guard = near.writable_mut().await?;
    /// assert_eq!(guard.get_inner_mut().write(b"tick")?, 4);
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn get_inner_mut(&mut self) -> &mut T {
        self.async_fd.get_mut()
    }
}

impl<T: AsRawFd + fmt::Debug> fmt::Debug for AsyncFdReadyGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFdReadyGuard")
            .field("async_fd", &self.async_fd)
            .field("ready", &self.ready())
            .finish()
    }
}

impl<T: AsRawFd + fmt::Debug> fmt::Debug for AsyncFdReadyMutGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFdReadyMutGuard")
            .field("async_fd", &self.async_fd)
            .field("ready", &self.ready())
            .finish()
    }
}
