//! What every socket, pipe and watched descriptor is made of: an object that can become ready, and its
//! registration with a driver.
//!
//! A source is registered when an operation on it would block for the first time, with the driver of the
//! worker that found out. A connection that is served at once is never registered, and connections spread
//! over the workers with the tasks that serve them.
//!
//! On a current-thread runtime of the facade, one is registered when it is made, unless it was
//! accepted: operations wait for the driver to say that it is ready, as in Tokio. Tests of programs rely on it: others run
//! while a connection is made.

mod watched;

use crate::io::ReadBuf;
use crate::io::ring::{Descriptor, Held, Loan, Name};
use crate::runtime::driver::IoHandle;
use crate::sight::WaitKind;
use crate::task::coop;
use std::fmt;
use std::future::Future;
use std::io;
#[cfg(all(unix, feature = "signal"))]
use std::sync::OnceLock;
use std::task::{Context, Poll, ready};
use tress_driver::{Direction, Gone, Interest, Ready, Registration};
use watched::{Attempt, Attempts, Tried, Watched, nothing, readiness};

pub(crate) struct Source<T: tress_driver::Source> {
    // Dropped before `inner`: a registration that outlived it would name the descriptor of another object.
    watched: Watched,
    pub(super) inner: Held<T>,
}

#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "mostly for sockets"))]
impl<T: tress_driver::Source> Source<T> {
    /// Creates a source in the current runtime. `inner` is in non-blocking mode.
    ///
    /// # Errors
    /// The runtime has shut down, or, where sources are registered at once (Windows), registration fails.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O. `what` names the object in the message.
    #[track_caller]
    pub(crate) fn new(inner: T, what: &str) -> io::Result<Source<T>> {
        Source::with_interest(inner, Interest::READABLE | Interest::WRITABLE, what)
    }

    /// Creates a source like `new`, for an object of which only some events are of interest.
    #[track_caller]
    pub(crate) fn with_interest(inner: T, interest: Interest, what: &str) -> io::Result<Source<T>> {
        let source = Source::to_be_tried(inner, interest, what)?;
        if source.watched.runtime.registers_at_once() {
            source.registration()?;
        }
        Ok(source)
    }

    /// Creates a source like `with_interest`, for an object of which so much is known that it is tried first, whatever
    /// the runtime.
    #[track_caller]
    pub(crate) fn to_be_tried(inner: T, interest: Interest, what: &str) -> io::Result<Source<T>> {
        let source = Source::lazy(inner, interest, what);
        if source.watched.runtime.is_closing() {
            return Err(Gone.into());
        }
        #[cfg(not(unix))]
        let source = source.registered()?;
        Ok(source)
    }

    /// Creates a source like `with_interest`, without registering it.
    #[track_caller]
    pub(crate) fn lazy(inner: T, interest: Interest, what: &str) -> Source<T> {
        Source::lazy_in(IoHandle::current(what), inner, interest)
    }

    /// Creates a source like `lazy`, in the given runtime, even if that has shut down.
    pub(crate) fn lazy_in(runtime: IoHandle, inner: T, interest: Interest) -> Source<T> {
        Source {
            watched: Watched::new(runtime, interest),
            inner: Held::new(inner),
        }
    }

    /// Says what tasks wait for that wait for the source to be readable, if not for bytes or connections.
    #[cfg_attr(
        not(all(unix, feature = "signal")),
        allow(dead_code, reason = "for signals and children of Unix")
    )]
    pub(crate) fn known_as(mut self, kind: WaitKind) -> Source<T> {
        self.watched.readable_is = kind;
        self
    }

    /// Sets the readiness that a task finds that waits before anything is known: an attempt is likely to
    /// succeed.
    pub(crate) fn assuming(mut self, ready: Ready) -> Source<T> {
        self.watched.assumed = ready;
        if let Some(registration) = self.watched.registration.get() {
            registration.assume_ready(ready);
        }
        self
    }

    /// Returns whether attempts wait for the driver, since the source is registered.
    #[cfg(feature = "net")]
    pub(crate) fn is_registered(&self) -> bool {
        self.watched.registration.get().is_some()
    }

    pub(crate) fn get_ref(&self) -> &T {
        &self.inner
    }

    #[cfg(unix)]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Returns the registration and the object itself.
    #[cfg(unix)]
    pub(crate) fn parts_mut(&mut self) -> io::Result<(&Registration, &mut T)> {
        let registration = self.watched.registration(self.inner.name())?;
        Ok((registration, &mut self.inner))
    }

    /// Removes the source from the driver, and returns the object. For objects that are never lent to
    /// operations; for others there is `reclaim`.
    pub(crate) fn into_inner(self) -> T {
        drop(self.watched);
        self.inner.into_inner()
    }

    /// Returns the object like `into_inner`, even if it is lent to an operation that was dropped and is not
    /// over yet.
    ///
    /// # Errors
    /// A duplicate is needed for that and there are no more descriptors, or a dropped read has received
    /// bytes that have not been read.
    pub(crate) fn reclaim(self) -> io::Result<T>
    where
        T: Descriptor,
    {
        drop(self.watched);
        self.inner.reclaim()
    }

    /// Returns the runtime that the source belongs to.
    pub(crate) fn runtime(&self) -> &IoHandle {
        &self.watched.runtime
    }

    /// Moves the source to the current runtime, if that is not its own, which may have ended or may not be
    /// driven by any thread. Tasks that wait for it are forgotten.
    #[cfg(all(unix, feature = "signal"))]
    pub(crate) fn follow(&mut self) {
        if let Some(here) = self.watched.runtime.current_other() {
            self.watched.registration = OnceLock::new();
            self.watched.runtime = here;
        }
    }

    /// Returns the registration with a driver, after making it if need be.
    pub(crate) fn registration(&self) -> io::Result<&Registration> {
        self.watched.registration(self.inner.name())
    }

    /// Returns what `Watched` needs to know of the object.
    #[inline]
    fn object(&self) -> (Name, &Loan) {
        (self.inner.name(), self.inner.loan())
    }

    #[cfg(not(unix))]
    fn registered(mut self) -> io::Result<Source<T>> {
        let registration = self
            .watched
            .runtime
            .with_driver(|driver| driver.register(&mut *self.inner, self.watched.interest))?;
        let _ = self.watched.registration.set(registration);
        Ok(self)
    }

    /// Calls `f` until it would not block. One waker is kept for each direction; for more waiters there is
    /// `io`.
    pub(crate) fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        let mut kept = nothing();
        let mut attempt = || {
            kept = f(&self.inner);
            Attempt::of(kept.as_ref().err())
        };
        ready!(
            self.watched
                .poll_attempts(self.object(), cx, direction, &mut attempt)
        )?;
        Poll::Ready(kept)
    }

    /// Reads like `poll_read`, from a stream of bytes, such as TCP, that ends a read only where there is no
    /// more: a read that did not fill the buffer has emptied the source, so the next one waits without
    /// trying first. TCP also ends a read at an urgent mark: such a source is registered for
    /// [`Interest::PRIORITY`](tress_driver::Interest) too, so that this is known.
    ///
    /// It is not for pipes, whose writers may send packets, nor for sockets that pass descriptors or keep
    /// messages apart, nor for descriptors of unknown kind: a short read of those means nothing.
    ///
    /// # Safety
    /// `f` initializes the bytes whose number it returns.
    // D-NET-02
    #[cfg(feature = "net")]
    pub(crate) unsafe fn poll_read_stream(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        mut f: impl FnMut(&T, &mut [std::mem::MaybeUninit<u8>]) -> io::Result<usize>,
    ) -> Poll<io::Result<()>> {
        if let Some(read) = ready!(self.poll_leftover(cx, buf)) {
            return Poll::Ready(read);
        }
        // SAFETY: nothing is de-initialized: `f` only writes bytes into it.
        let room = unsafe { buf.unfilled_mut() };
        let wanted = room.len();
        let n = ready!(self.poll_transfer(cx, Direction::Read, wanted, |inner| f(inner, room)))?;
        // SAFETY: by the caller's promise.
        unsafe { buf.assume_init(n) };
        buf.advance(n);
        Poll::Ready(Ok(()))
    }

    /// Reads like `poll_io`. Only an attempt that would block uses up the readiness.
    ///
    /// # Safety
    /// `f` initializes the bytes whose number it returns.
    #[cfg_attr(not(unix), allow(dead_code, reason = "for sockets and pipes of Unix"))]
    pub(crate) unsafe fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        mut f: impl FnMut(&T, &mut [std::mem::MaybeUninit<u8>]) -> io::Result<usize>,
    ) -> Poll<io::Result<()>> {
        if let Some(read) = ready!(self.poll_leftover(cx, buf)) {
            return Poll::Ready(read);
        }
        // SAFETY: nothing is de-initialized: `f` only writes bytes into it.
        let room = unsafe { buf.unfilled_mut() };
        let n = ready!(self.poll_io(cx, Direction::Read, |inner| f(inner, room)))?;
        // SAFETY: by the caller's promise.
        unsafe { buf.assume_init(n) };
        buf.advance(n);
        Poll::Ready(Ok(()))
    }

    /// Transfers up to `wanted` bytes, like `poll_io`. A transfer that is shorter, but not empty, has used
    /// up the readiness. For reads only of sources that `poll_read_stream` is for.
    pub(crate) fn poll_transfer(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        wanted: usize,
        mut f: impl FnMut(&T) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let tells = match direction {
            // Other systems do not report an urgent mark.
            Direction::Read => cfg!(any(target_os = "linux", target_os = "android")),
            Direction::Write => cfg!(unix),
        };
        let mut kept = nothing();
        let mut attempt = || {
            kept = f(&self.inner);
            Attempt::of_transfer(&kept, wanted, tells)
        };
        ready!(
            self.watched
                .poll_attempts(self.object(), cx, direction, &mut attempt)
        )?;
        Poll::Ready(kept)
    }

    /// Calls `f` until it would not block, and waits for `interest` in between. Any number of tasks may
    /// wait.
    ///
    /// # Cancel safety
    /// `f` is called only in a poll that returns its result at once, or would block.
    pub(crate) fn io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> impl Future<Output = io::Result<R>> {
        let inner = &self.inner;
        Tried {
            attempts: Attempts::of(&self.watched, self.object(), interest),
            f: move || f(inner),
        }
    }

    /// Calls `f`, unless it is known that it would block.
    ///
    /// # Errors
    /// `WouldBlock` if the source is not ready for `interest`; otherwise the error of `f`.
    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        let mut f = Some(f);
        let mut kept = nothing();
        // Called at most once.
        let mut attempt = || {
            if let Some(f) = f.take() {
                kept = f(&self.inner);
            }
            Attempt::of(kept.as_ref().err())
        };
        self.watched
            .try_attempt(self.object(), interest, &mut attempt)?;
        kept
    }

    /// Polls until one direction is ready.
    pub(crate) fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<()>> {
        let progress = ready!(coop::poll_proceed(cx));
        if direction == Direction::Read {
            if let Some(leftover) = self.leftover() {
                if ready!(leftover.poll(cx)) {
                    progress.made_progress();
                    return Poll::Ready(Ok(()));
                }
            }
        }
        let registration = self
            .watched
            .registration_assuming(self.inner.name(), Ready::EMPTY)?;
        let result = ready!(self.watched.poll_ready(registration, cx, direction));
        progress.made_progress();
        Poll::Ready(result.map(|_| ()))
    }

    /// Waits until a connection that is being made can be written to, or has failed. Nothing is assumed.
    ///
    /// # Cancel safety
    /// Waiting takes nothing.
    pub(crate) async fn connecting(&self) -> io::Result<()> {
        let registration = self.registration()?;
        let readiness = readiness(registration, Interest::WRITABLE, WaitKind::Write);
        readiness.await.map(|_| ())
    }

    /// Waits until the source is ready for any of `interest`.
    ///
    /// # Cancel safety
    /// Waiting takes nothing.
    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.watched.note_urgency(interest);
        if interest == Interest::READABLE {
            if let Some(leftover) = self.leftover() {
                if std::future::poll_fn(|cx| leftover.poll(cx)).await {
                    return Ok(Ready::READABLE);
                }
            }
        }
        let registration = self
            .watched
            .registration_assuming(self.inner.name(), Ready::EMPTY)?;
        let kind = self.watched.kind_of(interest);
        let event = readiness(registration, interest, kind).await?;
        Ok(event.ready())
    }
}

/// Polls a registration of a source of bytes, and notes that the running task waits for it.
#[cfg(unix)]
pub(super) fn poll_ready(
    registration: &Registration,
    cx: &mut Context<'_>,
    direction: Direction,
) -> Poll<io::Result<tress_driver::ReadyEvent>> {
    watched::poll_ready(registration, cx, direction, WaitKind::Read)
}

/// Waits until a registration is ready for any of `interest`.
#[cfg(unix)]
pub(super) async fn ready(
    registration: &Registration,
    interest: Interest,
) -> io::Result<tress_driver::ReadyEvent> {
    readiness(registration, interest, watched::kind_of(interest)).await
}

/// Calls `f` until it would not block, waits for `interest` in between, and yields when the budget is used
/// up. The budget of the first attempt has been taken.
///
/// # Cancel safety
/// `f` is called only in a poll that returns its result at once, or would block.
#[cfg(unix)]
pub(super) fn attempts<R>(
    registration: &Registration,
    interest: Interest,
    f: impl FnMut() -> io::Result<R>,
) -> impl Future<Output = io::Result<R>> {
    Tried {
        attempts: Attempts::of_registered(registration, interest),
        f,
    }
}

impl<T: tress_driver::Source + fmt::Debug> fmt::Debug for Source<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[cfg(all(test, target_os = "linux", feature = "net", not(loom), not(miri)))]
mod tests {
    use super::*;
    use crate::runtime::Builder;
    use std::io::{Read, Write};
    use std::task::Waker;

    /// A short read of a TCP stream means that there is no more: the next one waits, and is told of bytes
    /// that have arrived before.
    #[test]
    fn after_a_short_read_the_next_one_waits_without_a_try() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut sender, receiver) = connection();
            let source = Source::new(receiver, "testing").unwrap();
            let mut tries = 0;
            let mut buffer = [0; 8];
            let mut read = |cx: &mut Context<'_>| {
                source.poll_transfer(cx, Direction::Read, buffer.len(), |mut socket| {
                    tries += 1;
                    socket.read(&mut buffer)
                })
            };
            sender.write_all(b"12345678").unwrap();
            assert_eq!(std::future::poll_fn(&mut read).await.unwrap(), 8);
            sender.write_all(b"123").unwrap();
            assert_eq!(std::future::poll_fn(&mut read).await.unwrap(), 3);
            let mut cx = Context::from_waker(Waker::noop());
            sender.write_all(b"1").unwrap();
            assert!(read(&mut cx).is_pending());
            let n = std::future::poll_fn(&mut read).await.unwrap();
            assert_eq!((n, tries), (1, 3));
        });
    }

    /// The same once the source is registered: this is what a request costs.
    #[test]
    fn a_request_takes_one_try_to_read_it() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut sender, receiver) = connection();
            let interest = Interest::READABLE | Interest::WRITABLE | Interest::PRIORITY;
            let source = Source::with_interest(receiver, interest, "testing").unwrap();
            source.registration().unwrap();
            let mut tries = 0;
            for _ in 0..10 {
                sender.write_all(b"request").unwrap();
                let mut buffer = [0; 64];
                let n = std::future::poll_fn(|cx| {
                    source.poll_transfer(cx, Direction::Read, buffer.len(), |mut socket| {
                        tries += 1;
                        socket.read(&mut buffer)
                    })
                });
                assert_eq!(n.await.unwrap(), 7);
            }
            assert_eq!(tries, 10);
        });
    }

    /// Returns both ends of a TCP connection.
    fn connection() -> (std::net::TcpStream, mio::net::TcpStream) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        near.set_nodelay(true).unwrap();
        let (far, _) = listener.accept().unwrap();
        far.set_nonblocking(true).unwrap();
        (near, mio::net::TcpStream::from_std(far))
    }
}
