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

use crate::io::ReadBuf;
use crate::io::ring::{Descriptor, Held};
use crate::runtime::driver::IoHandle;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicBool;
#[cfg(unix)]
use crate::sys::plain::Mutex;
use crate::task::coop;
use std::fmt;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::OnceLock;
use std::task::{Context, Poll, ready};
use tress_driver::{Direction, Gone, Interest, Ready, Registration};

pub(crate) struct Source<T: tress_driver::Source> {
    // Dropped before `inner`: a registration that outlived it would name the descriptor of another object.
    registration: OnceLock<Registration>,
    #[cfg(unix)]
    registering: Mutex<()>,
    interest: Interest,
    assumed: Ready,
    /// For reading and writing, before the source is registered: whether the last transfer has left nothing
    /// to try.
    used_up: [AtomicBool; 2],
    /// Whether a task takes care of urgent bytes: once it takes one, it may be unknown that there was one.
    urgent: AtomicBool,
    runtime: IoHandle,
    pub(super) inner: Held<T>,
}

// A panic leaves no inconsistent state: the parts change in single steps, under locks of their own.
impl<T: tress_driver::Source + UnwindSafe> UnwindSafe for Source<T> {}
impl<T: tress_driver::Source + RefUnwindSafe> RefUnwindSafe for Source<T> {}

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
        if source.runtime.registers_at_once() {
            source.registration()?;
        }
        Ok(source)
    }

    /// Creates a source like `with_interest`, for an object of which so much is known that it is tried first, whatever
    /// the runtime.
    #[track_caller]
    pub(crate) fn to_be_tried(inner: T, interest: Interest, what: &str) -> io::Result<Source<T>> {
        let source = Source::lazy(inner, interest, what);
        if source.runtime.is_closing() {
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
            registration: OnceLock::new(),
            #[cfg(unix)]
            registering: Mutex::new(()),
            interest,
            assumed: Ready::EMPTY,
            used_up: [const { AtomicBool::new(false) }; 2],
            urgent: AtomicBool::new(false),
            runtime,
            inner: Held::new(inner),
        }
    }

    /// Sets the readiness that a task finds that waits before anything is known: an attempt is likely to
    /// succeed.
    pub(crate) fn assuming(mut self, ready: Ready) -> Source<T> {
        self.assumed = ready;
        if let Some(registration) = self.registration.get() {
            registration.assume_ready(ready);
        }
        self
    }

    /// Returns whether attempts wait for the driver, since the source is registered.
    #[cfg(feature = "net")]
    pub(crate) fn is_registered(&self) -> bool {
        self.registration.get().is_some()
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
        self.registration()?;
        let registration = self.registration.get().expect("found just now");
        Ok((registration, &mut self.inner))
    }

    /// Removes the source from the driver, and returns the object. For objects that are never lent to
    /// operations; for others there is `reclaim`.
    pub(crate) fn into_inner(self) -> T {
        drop(self.registration);
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
        drop(self.registration);
        self.inner.reclaim()
    }

    /// Returns the runtime that the source belongs to.
    pub(crate) fn runtime(&self) -> &IoHandle {
        &self.runtime
    }

    /// Moves the source to the current runtime, if that is not its own, which may have ended or may not be
    /// driven by any thread. Tasks that wait for it are forgotten.
    #[cfg(all(unix, feature = "signal"))]
    pub(crate) fn follow(&mut self) {
        if let Some(here) = self.runtime.current_other() {
            self.registration = OnceLock::new();
            self.runtime = here;
        }
    }

    /// Returns the registration with a driver, after making it if need be.
    #[cfg(unix)]
    pub(crate) fn registration(&self) -> io::Result<&Registration> {
        if let Some(registration) = self.registration.get() {
            return Ok(registration);
        }
        // One thread at a time: registered with two drivers, the source would have two states of readiness.
        let _one = self.registering.lock();
        if let Some(registration) = self.registration.get() {
            return Ok(registration);
        }
        let descriptor = &mut std::os::fd::AsRawFd::as_raw_fd(&*self.inner);
        let registration = self
            .runtime
            .with_driver(|driver| driver.register(descriptor, self.interest))?;
        Ok(self.registration.get_or_init(|| registration))
    }

    #[cfg(not(unix))]
    pub(crate) fn registration(&self) -> io::Result<&Registration> {
        Ok(self
            .registration
            .get()
            .expect("registered when it was made"))
    }

    #[cfg(not(unix))]
    fn registered(mut self) -> io::Result<Source<T>> {
        let registration = self
            .runtime
            .with_driver(|driver| driver.register(&mut *self.inner, self.interest))?;
        let _ = self.registration.set(registration);
        Ok(self)
    }

    /// Returns the registration like `registration`, before any attempt was made.
    ///
    /// A new registration is told at once what is assumed and not used up, or else what the source is ready
    /// for at this moment, in either case without `unless`. Otherwise that would be known only after the
    /// driver's next turn.
    fn registration_assuming(&self, unless: Ready) -> io::Result<&Registration> {
        let is_new = self.registration.get().is_none();
        let registration = self.registration()?;
        if is_new {
            let ready = match self.assumed {
                #[cfg(unix)]
                Ready::EMPTY => ready_now(&*self.inner, self.interest),
                assumed => assumed - self.used_up_sides(),
            };
            let ready = ready - unless;
            if !ready.is_empty() {
                registration.assume_ready(ready);
            }
        }
        Ok(registration)
    }

    /// Returns the result of `f` for a source that is not registered. `None` if it is, or if `f` would
    /// block.
    // D-NET-01
    #[inline]
    fn try_unregistered<R>(&self, f: impl FnOnce(&T) -> io::Result<R>) -> Option<io::Result<R>> {
        if self.registration.get().is_some() {
            return None;
        }
        match f(&self.inner) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            result => Some(result),
        }
    }

    /// Tries `f` like `try_unregistered`, in one direction. After a transfer that `uses_up` what there was,
    /// the next one waits without trying.
    // D-NET-08
    #[inline]
    fn try_side<R>(
        &self,
        direction: Direction,
        uses_up: impl Fn(&R) -> bool,
        f: impl FnOnce(&T) -> io::Result<R>,
    ) -> Option<io::Result<R>> {
        // Once the source is registered, the registration knows. Until then this is only a hint: a task
        // that waits is told what there is.
        let used_up = &self.used_up[direction as usize];
        if self.registration.get().is_some() || used_up.load(Ordering::Relaxed) {
            return None;
        }
        let result = self.try_unregistered(f)?;
        if result.as_ref().is_ok_and(uses_up) {
            used_up.store(true, Ordering::Relaxed);
        }
        Some(result)
    }

    fn used_up_sides(&self) -> Ready {
        let mut ready = Ready::EMPTY;
        for (side, used_up) in [Ready::READABLE, Ready::WRITABLE]
            .into_iter()
            .zip(&self.used_up)
        {
            if used_up.load(Ordering::Relaxed) {
                ready |= side;
            }
        }
        ready
    }

    /// Calls `f` until it would not block. One waker is kept for each direction; for more waiters there is
    /// `io`.
    pub(crate) fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        f: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_attempts(cx, direction, |_| false, f)
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
        f: impl FnMut(&T) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let tells = match direction {
            // Other systems do not report an urgent mark.
            Direction::Read => cfg!(any(target_os = "linux", target_os = "android")),
            Direction::Write => cfg!(unix),
        };
        let is_short = |&n: &usize| tells && 0 < n && n < wanted;
        self.poll_attempts(cx, direction, is_short, f)
    }

    #[inline]
    fn poll_attempts<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        uses_up: impl Fn(&R) -> bool,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        if direction == Direction::Read {
            ready!(self.poll_settled(cx))?;
        }
        loop {
            // In every iteration, because a source may be reported ready again and again, and never be.
            let progress = ready!(coop::poll_proceed(cx));
            if let Some(result) = self.try_side(direction, &uses_up, &mut f) {
                progress.made_progress();
                return Poll::Ready(result);
            }
            let registration = self.registration()?;
            let event = ready!(registration.poll_ready(cx, direction))?;
            progress.made_progress();
            match f(&self.inner) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    registration.would_block(event);
                }
                result => {
                    if result.as_ref().is_ok_and(&uses_up)
                        && !self.may_end_early(registration, direction)
                    {
                        registration.clear(event);
                    }
                    return Poll::Ready(result);
                }
            }
        }
    }

    /// Whether there was ever an error, or for reads an urgent mark, before which a transfer ends although
    /// there is more to come.
    ///
    /// Bytes that have arrived since the event of the attempt was seen bring another event, and then a
    /// `clear` of that one does nothing. Bytes that had arrived before were there when the selector was
    /// asked, and if one was urgent the selector has said so, unless it was taken before.
    #[inline]
    fn may_end_early(&self, registration: &Registration, direction: Direction) -> bool {
        let rare = match direction {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Direction::Read => Interest::PRIORITY | Interest::ERROR,
            _ => Interest::ERROR,
        };
        registration.ready_now(rare).is_some() || self.urgent.load(Ordering::Acquire)
    }

    /// Notes that an urgent byte may be taken. To be called before anything that may take one.
    #[inline]
    fn note_urgency(&self, interest: Interest) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if interest.is_priority() {
            self.urgent.store(true, Ordering::Release);
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let _ = interest;
    }

    /// Calls `f` until it would not block, and waits for `interest` in between. Any number of tasks may
    /// wait.
    ///
    /// # Cancel safety
    /// `f` is called only in a poll that returns its result at once, or would block.
    pub(crate) async fn io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        coop::consume_budget().await;
        self.note_urgency(interest);
        if interest.is_readable() {
            self.settled().await?;
        }
        if let Some(result) = self.try_unregistered(&mut f) {
            return result;
        }
        attempts(self.registration()?, interest, || f(&self.inner)).await
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
        self.note_urgency(interest);
        if interest.is_readable() {
            self.try_settled()?;
        }
        match self.registration.get() {
            None => {
                let result = f(&self.inner);
                match &result {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        if !self.assumed.is_empty() {
                            self.registration_assuming(used_up(interest))?;
                        }
                        // As a registration says it: one error whether the system was asked or not.
                        Err(io::ErrorKind::WouldBlock.into())
                    }
                    _ => result,
                }
            }
            Some(registration) => registration.try_io(interest, || f(&self.inner)),
        }
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
        let result = ready!(
            self.registration_assuming(Ready::EMPTY)?
                .poll_ready(cx, direction)
        );
        progress.made_progress();
        Poll::Ready(result.map(|_| ()))
    }

    /// Waits until a connection that is being made can be written to, or has failed. Nothing is assumed.
    ///
    /// # Cancel safety
    /// Waiting takes nothing.
    pub(crate) async fn connecting(&self) -> io::Result<()> {
        let readiness = self.registration()?.readiness(Interest::WRITABLE);
        readiness.await.map(|_| ())
    }

    /// Waits until the source is ready for any of `interest`.
    ///
    /// # Cancel safety
    /// Waiting takes nothing.
    pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.note_urgency(interest);
        if interest == Interest::READABLE {
            if let Some(leftover) = self.leftover() {
                if std::future::poll_fn(|cx| leftover.poll(cx)).await {
                    return Ok(Ready::READABLE);
                }
            }
        }
        let event = self
            .registration_assuming(Ready::EMPTY)?
            .readiness(interest)
            .await?;
        Ok(event.ready())
    }
}

/// Returns what must not be assumed any more after an attempt that would have blocked.
fn used_up(interest: Interest) -> Ready {
    let mut ready = Ready::EMPTY;
    if interest.is_readable() {
        ready |= Ready::READABLE;
    }
    if interest.is_writable() {
        ready |= Ready::WRITABLE;
    }
    ready
}

/// Calls `f` until it would not block, waits for `interest` in between, and yields when the budget is used
/// up. The budget of the first attempt has been taken.
///
/// # Cancel safety
/// `f` is called only in a poll that returns its result at once, or would block.
pub(super) async fn attempts<R>(
    registration: &Registration,
    interest: Interest,
    mut f: impl FnMut() -> io::Result<R>,
) -> io::Result<R> {
    loop {
        registration.readiness(interest).await?;
        match registration.try_io(interest, &mut f) {
            // Or another task has used up the readiness.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
        coop::consume_budget().await;
    }
}

/// Returns what a descriptor is ready for, without waiting.
#[cfg(unix)]
#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "mostly for sockets"))]
fn ready_now(descriptor: &impl std::os::fd::AsRawFd, interest: Interest) -> Ready {
    let mut asked = libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: 0,
        revents: 0,
    };
    if interest.is_readable() {
        asked.events |= libc::POLLIN;
    }
    if interest.is_writable() {
        asked.events |= libc::POLLOUT;
    }
    // SAFETY: there is one entry, which is ours. If the call fails, nothing is reported ready.
    unsafe { libc::poll(&mut asked, 1, 0) };
    let mut ready = Ready::EMPTY;
    if asked.revents & libc::POLLIN != 0 {
        ready |= Ready::READABLE;
    }
    if asked.revents & libc::POLLOUT != 0 {
        ready |= Ready::WRITABLE;
    }
    ready
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
