use super::source::{Source, attempts};
use super::{Interest, Ready};
use crate::task::coop;
use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::task::{Context, Poll, ready};
use tress_driver::{Direction, ReadyEvent, Registration};

mod guard;

pub use guard::{AsyncFdReadyGuard, AsyncFdReadyMutGuard, TryIoError};

/// Waits for any descriptor that the system can watch: a serial line, a tunnel, `inotify`, a socket of
/// another library.
///
/// The descriptor must be in non-blocking mode. One waits for readiness, tries the operation, and if that
/// would block, clears the readiness and waits again; [`async_io`](AsyncFd::async_io) does all of it, and
/// so do the [guards](AsyncFdReadyGuard::try_io) one step at a time. Readiness that is not cleared when
/// the operation would block makes a loop spin; readiness that is cleared when it would not makes it
/// wait for ever.
///
/// The descriptor is watched while this type has it: until it is dropped, which drops `T` as well, or
/// [taken out](AsyncFd::into_inner). It must stay the same and open so long.
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
/// let near = AsyncFd::new(near)?;
/// far.write_all(b"tick")?;
/// let mut buf = [0; 8];
/// let n = near.async_io(Interest::READABLE, |mut near| near.read(&mut buf)).await?;
/// assert_eq!(&buf[..n], b"tick");
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub struct AsyncFd<T: AsRawFd> {
    /// Registered from the beginning.
    io: Source<T>,
}

impl<T: AsRawFd> AsyncFd<T> {
    /// Watches a descriptor for both sides.
    ///
    /// # Errors
    /// If the system cannot watch it: `PermissionDenied` for a file on a disk, `AlreadyExists` for one
    /// that this runtime watches already.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn new(inner: T) -> io::Result<AsyncFd<T>> {
        Ok(AsyncFd::try_new(inner)?)
    }

    /// Watches a descriptor for `interest` only. Some can be watched for one side only.
    ///
    /// # Errors
    /// As for [`new`](AsyncFd::new).
    ///
    /// # Panics
    /// As for [`new`](AsyncFd::new).
    #[track_caller]
    pub fn with_interest(inner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
        Ok(AsyncFd::try_with_interest(inner, interest)?)
    }

    /// As [`new`](AsyncFd::new); the error gives `inner` back.
    ///
    /// # Errors
    /// As for [`new`](AsyncFd::new).
    ///
    /// # Panics
    /// As for [`new`](AsyncFd::new).
    #[track_caller]
    pub fn try_new(inner: T) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        AsyncFd::try_with_interest(inner, Interest::READABLE | Interest::WRITABLE)
    }

    /// As [`with_interest`](AsyncFd::with_interest); the error gives `inner` back.
    ///
    /// # Errors
    /// As for [`new`](AsyncFd::new).
    ///
    /// # Panics
    /// As for [`new`](AsyncFd::new).
    #[track_caller]
    pub fn try_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        let io = Source::lazy(inner, interest, "AsyncFd");
        match io.registration() {
            Ok(_) => Ok(AsyncFd { io }),
            Err(cause) => Err(AsyncFdRegisterError {
                inner: io.into_inner(),
                cause,
            }),
        }
    }

    /// [`try_new`](AsyncFd::try_new) for one who promises more.
    ///
    /// # Errors
    /// As for [`new`](AsyncFd::new).
    ///
    /// # Panics
    /// As for [`new`](AsyncFd::new).
    ///
    /// # Safety
    /// The descriptor is open and stays the same until it is dropped or taken out. Nothing in here
    /// relies on it: a promise that is broken makes waits end at the wrong time, or never.
    #[track_caller]
    pub unsafe fn register(inner: T) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        AsyncFd::try_new(inner)
    }

    /// [`try_with_interest`](AsyncFd::try_with_interest) for one who promises more.
    ///
    /// # Errors
    /// As for [`new`](AsyncFd::new).
    ///
    /// # Panics
    /// As for [`new`](AsyncFd::new).
    ///
    /// # Safety
    /// As for [`register`](AsyncFd::register).
    #[track_caller]
    pub unsafe fn register_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<AsyncFd<T>, AsyncFdRegisterError<T>> {
        AsyncFd::try_with_interest(inner, interest)
    }

    /// What it was made of.
    pub fn get_ref(&self) -> &T {
        self.io.get_ref()
    }

    /// What it was made of. Its descriptor must stay the same.
    pub fn get_mut(&mut self) -> &mut T {
        self.io.get_mut()
    }

    /// Ends the watch.
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
        let event = ready!(self.registration()?.poll_ready(cx, direction));
        progress.made_progress();
        Poll::Ready(event)
    }

    /// Polls for readability. The waker of the last call is woken; of
    /// [`readable`](AsyncFd::readable) any number may wait.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_read_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.poll_side(cx, Direction::Read))?;
        Poll::Ready(Ok(AsyncFdReadyGuard::new(self, event)))
    }

    /// As [`poll_read_ready`](AsyncFd::poll_read_ready), to change what it was made of.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_read_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.poll_side(cx, Direction::Read))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard::new(self, event)))
    }

    /// Polls for writability. The waker of the last call is woken; of
    /// [`writable`](AsyncFd::writable) any number may wait.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_write_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.poll_side(cx, Direction::Write))?;
        Poll::Ready(Ok(AsyncFdReadyGuard::new(self, event)))
    }

    /// As [`poll_write_ready`](AsyncFd::poll_write_ready), to change what it was made of.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_write_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.poll_side(cx, Direction::Write))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard::new(self, event)))
    }

    /// Waits until the descriptor is ready for any of `interest`.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancel safety
    /// Waiting takes nothing.
    pub async fn ready(&self, interest: Interest) -> io::Result<AsyncFdReadyGuard<'_, T>> {
        let event = self.registration()?.readiness(interest).await?;
        Ok(AsyncFdReadyGuard::new(self, event))
    }

    /// As [`ready`](AsyncFd::ready), to change what it was made of.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancel safety
    /// Waiting takes nothing.
    pub async fn ready_mut(
        &mut self,
        interest: Interest,
    ) -> io::Result<AsyncFdReadyMutGuard<'_, T>> {
        let event = self.registration()?.readiness(interest).await?;
        Ok(AsyncFdReadyMutGuard::new(self, event))
    }

    /// Waits until the descriptor is readable.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancel safety
    /// Waiting takes nothing.
    pub async fn readable<'a>(&'a self) -> io::Result<AsyncFdReadyGuard<'a, T>> {
        self.ready(Interest::READABLE).await
    }

    /// As [`readable`](AsyncFd::readable), to change what it was made of.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancel safety
    /// Waiting takes nothing.
    pub async fn readable_mut<'a>(&'a mut self) -> io::Result<AsyncFdReadyMutGuard<'a, T>> {
        self.ready_mut(Interest::READABLE).await
    }

    /// Waits until the descriptor is writable.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancel safety
    /// Waiting takes nothing.
    pub async fn writable<'a>(&'a self) -> io::Result<AsyncFdReadyGuard<'a, T>> {
        self.ready(Interest::WRITABLE).await
    }

    /// As [`writable`](AsyncFd::writable), to change what it was made of.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancel safety
    /// Waiting takes nothing.
    pub async fn writable_mut<'a>(&'a mut self) -> io::Result<AsyncFdReadyMutGuard<'a, T>> {
        self.ready_mut(Interest::WRITABLE).await
    }

    /// Does `f`, a non-blocking operation, until it would not block, and waits for `interest` in
    /// between. `f` must return `WouldBlock` only if the descriptor did.
    ///
    /// # Errors
    /// If the runtime has shut down; else what `f` returns.
    ///
    /// # Cancel safety
    /// The result of `f`, unless it would have blocked, is returned by the same poll: dropping the
    /// future loses nothing.
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        coop::consume_budget().await;
        let inner = self.get_ref();
        attempts(self.registration()?, interest, || f(inner)).await
    }

    /// As [`async_io`](AsyncFd::async_io), to change what it was made of.
    ///
    /// # Errors
    /// As for [`async_io`](AsyncFd::async_io).
    ///
    /// # Cancel safety
    /// As for [`async_io`](AsyncFd::async_io).
    pub async fn async_io_mut<R>(
        &mut self,
        interest: Interest,
        mut f: impl FnMut(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        coop::consume_budget().await;
        let (registration, inner) = self.io.parts_mut()?;
        attempts(registration, interest, || f(inner)).await
    }

    /// Does `f`, a non-blocking operation, unless the descriptor is known not to be ready for it.
    ///
    /// # Errors
    /// `WouldBlock` without a call of `f` if the descriptor is not ready; else what `f` returns.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.io.try_io(interest, f)
    }

    /// As [`try_io`](AsyncFd::try_io), to change what it was made of.
    ///
    /// # Errors
    /// As for [`try_io`](AsyncFd::try_io).
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

impl<T: AsRawFd + AsFd> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<T: AsRawFd + fmt::Debug> fmt::Debug for AsyncFd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFd")
            .field("inner", self.get_ref())
            .finish()
    }
}

/// The descriptor cannot be watched; here is what it came with.
pub struct AsyncFdRegisterError<T> {
    inner: T,
    cause: io::Error,
}

impl<T> AsyncFdRegisterError<T> {
    /// What was to be watched, and why it cannot be.
    pub fn into_parts(self) -> (T, io::Error) {
        (self.inner, self.cause)
    }
}

impl<T> fmt::Display for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the descriptor cannot be watched: {}", self.cause)
    }
}

impl<T> fmt::Debug for AsyncFdRegisterError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFdRegisterError")
            .field("cause", &self.cause)
            .finish_non_exhaustive()
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
