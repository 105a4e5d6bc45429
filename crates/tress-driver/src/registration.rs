//! A source in a driver, and the ways to wait for it.

use crate::driver::Driver;
use crate::gone::Gone;
use crate::interest::Interest;
use crate::ready::Ready;
use crate::slot::{Node, ReadyEvent, Slot};
use crate::slots::Key;
use crate::source::Handle;
use crate::wakers::Wakers;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// One of the two sides of a source, each with a place for one waker.
///
/// # Examples
/// ```
/// # #[cfg(unix)] {
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use std::task::{Context, Waker};
/// use tress_driver::{Config, Direction, Driver, Interest};
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// let (mut near, _far) = UnixStream::pair()?;
/// near.set_nonblocking(true)?;
/// let registration = driver.register(&mut near, Interest::READABLE)?;
/// let mut cx = Context::from_waker(Waker::noop());
/// assert!(registration.poll_ready(&mut cx, Direction::Read).is_pending());
/// # }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The side that reads.
    Read,
    /// The side that writes.
    Write,
}

impl Direction {
    pub(crate) const fn mask(self) -> Ready {
        match self {
            Direction::Read => Interest::READABLE.mask(),
            Direction::Write => Interest::WRITABLE.mask(),
        }
    }
}

/// A source that is registered with a driver; created by [`Driver::register`].
///
/// Readiness is edge-triggered: events set it, and it stays set until a system call finds the source not ready
/// and the readiness is [cleared](Registration::clear). [`try_io`](Registration::try_io),
/// [`poll_io`](Registration::poll_io) and [`async_io`](Registration::async_io) clear it by themselves.
///
/// Dropping the registration removes the source from the driver, from any thread. Drop it *before* the source:
/// on Unix it names the descriptor by its number, which another file may get once the source is closed.
///
/// # Examples
/// ```
/// # #[cfg(unix)] {
/// use std::io::{self, Read, Write};
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, Interest};
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// let (mut near, mut far) = UnixStream::pair()?;
/// near.set_nonblocking(true)?;
/// let registration = driver.register(&mut near, Interest::READABLE)?;
///
/// far.write_all(b"tick")?;
/// driver.park(None)?; // a thread has to drive
/// let mut buffer = [0; 8];
/// let read = registration.try_io(Interest::READABLE, || near.read(&mut buffer))?;
/// assert_eq!(&buffer[..read], b"tick");
///
/// // This read finds that the source would block, which clears its readiness.
/// let again = registration.try_io(Interest::READABLE, || near.read(&mut buffer));
/// assert_eq!(again.unwrap_err().kind(), io::ErrorKind::WouldBlock);
/// assert!(registration.ready_now(Interest::READABLE).is_none());
/// # }
/// # std::io::Result::Ok(())
/// ```
pub struct Registration {
    driver: Arc<Driver>,
    slot: NonNull<Slot>,
    key: Key,
    handle: Handle,
}

// SAFETY: the slot is `Sync` and lives in the driver, which the registration keeps alive.
unsafe impl Send for Registration {}
// SAFETY: as above.
unsafe impl Sync for Registration {}

impl Registration {
    pub(crate) fn new(driver: Arc<Driver>, key: Key, slot: NonNull<Slot>, handle: Handle) -> Self {
        Registration {
            driver,
            slot,
            key,
            handle,
        }
    }

    fn slot(&self) -> &Slot {
        // SAFETY: slots never move, and live as long as the driver.
        unsafe { self.slot.as_ref() }
    }

    /// Returns the driver that the source is registered with.
    pub fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// Returns the readiness for `interest` that is known now, or `None` if there is none.
    ///
    /// Makes no system call: it tells what the driver's last turn has found.
    pub fn ready_now(&self, interest: Interest) -> Option<ReadyEvent> {
        self.slot()
            .event(interest.mask())
            .filter(|event| !event.ready().is_empty())
    }

    /// Polls for readiness of one side.
    ///
    /// Each side keeps one waker, that of the last call which returned `Pending`: an earlier one is not woken
    /// any more. Tasks that wait for the same side use [`readiness`](Registration::readiness) instead.
    ///
    /// # Errors
    /// [`Gone`] after the driver was closed.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(unix)] {
    /// use std::os::unix::net::UnixStream;
    /// use std::sync::Arc;
    /// use std::task::{Context, Waker};
    /// use tress_driver::{Config, Direction, Driver, Interest};
    ///
    /// let driver = Arc::new(Driver::new(&Config::new())?);
    /// let (mut near, _far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// let registration = driver.register(&mut near, Interest::WRITABLE)?;
    /// let mut cx = Context::from_waker(Waker::noop());
    /// while registration.poll_ready(&mut cx, Direction::Write).is_pending() {
    ///     driver.park(None)?;
    /// }
    /// # }
    /// # std::io::Result::Ok(())
    /// ```
    pub fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<ReadyEvent>> {
        self.slot().poll(cx, direction).map(known)
    }

    /// Waits until the source is ready for any condition of `interest`. Any number of tasks may wait at the
    /// same time.
    ///
    /// The readiness stays set. [Clear](Registration::clear) it when a system call finds that it is used up, or
    /// the next wait returns at once.
    ///
    /// # Errors
    /// [`Gone`] after the driver was closed.
    ///
    /// # Cancel safety
    /// Cancel safe: waiting consumes nothing, so no readiness is lost if the future is dropped.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(unix)] {
    /// use std::os::unix::net::UnixStream;
    /// use std::sync::Arc;
    /// use tress_driver::{Config, Driver, Interest};
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
    /// #     let mut future = pin!(future);
    /// #     loop {
    /// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
    /// #             return value;
    /// #         }
    /// #         driver.park(None).unwrap();
    /// #     }
    /// # }
    ///
    /// let driver = Arc::new(Driver::new(&Config::new())?);
    /// let (mut near, _far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// let registration = driver.register(&mut near, Interest::WRITABLE)?;
    /// let event = block_on(&driver, registration.readiness(Interest::WRITABLE))?;
    /// assert!(event.ready().is_writable());
    /// # }
    /// # std::io::Result::Ok(())
    /// ```
    pub fn readiness(&self, interest: Interest) -> Readiness<'_> {
        Readiness {
            slot: self.slot(),
            mask: interest.mask(),
            node: Node::new(),
        }
    }

    /// Clears the readiness of `event` because it is used up.
    ///
    /// Does nothing if another event has arrived since `event` was seen. The closed states are not cleared;
    /// [`would_block`](Registration::would_block) clears those too.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(unix)] {
    /// use std::os::unix::net::UnixStream;
    /// use std::sync::Arc;
    /// use tress_driver::{Config, Driver, Interest};
    ///
    /// let driver = Arc::new(Driver::new(&Config::new())?);
    /// let (mut near, _far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// let registration = driver.register(&mut near, Interest::WRITABLE)?;
    /// while driver.park(None)?.events == 0 {}
    /// let event = registration.ready_now(Interest::WRITABLE).expect("just reported");
    /// registration.clear(event);
    /// assert!(registration.ready_now(Interest::WRITABLE).is_none());
    /// # }
    /// # std::io::Result::Ok(())
    /// ```
    pub fn clear(&self, event: ReadyEvent) {
        self.slot().clear(event);
    }

    /// Clears all readiness of `event`, closed states included, because a system call has found that the source
    /// would block.
    ///
    /// Such a source is not closed, whatever `event` says: the last writer of a FIFO may have left and another
    /// one have come. Does nothing if another event has arrived since `event` was seen.
    ///
    /// Only needed in hand-written loops: [`try_io`](Registration::try_io), [`poll_io`](Registration::poll_io)
    /// and [`async_io`](Registration::async_io) do it by themselves.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(unix)] {
    /// use std::io::{self, Read};
    /// use std::sync::Arc;
    /// use tress_driver::{Config, Driver, Interest, Ready};
    ///
    /// let driver = Arc::new(Driver::new(&Config::new())?);
    /// let (near, _far) = std::os::unix::net::UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// let mut source = near.try_clone()?;
    /// let registration = driver.register(&mut source, Interest::READABLE)?;
    /// registration.assume_ready(Ready::READABLE | Ready::READ_CLOSED);
    ///
    /// let event = registration.ready_now(Interest::READABLE).expect("assumed");
    /// let read = (&near).read(&mut [0; 8]);
    /// assert_eq!(read.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    /// registration.would_block(event);
    /// assert!(registration.ready_now(Interest::READABLE).is_none());
    /// # }
    /// # std::io::Result::Ok(())
    /// ```
    pub fn would_block(&self, event: ReadyEvent) {
        self.slot().would_block(event);
    }

    /// Sets readiness as an event would, and wakes the tasks that wait for it.
    ///
    /// For a source that is worth trying before the kernel has reported anything, such as a connection that was
    /// just accepted. If the assumption is wrong, the first attempt clears it again.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(unix)] {
    /// use std::os::unix::net::UnixStream;
    /// use std::sync::Arc;
    /// use tress_driver::{Config, Driver, Interest, Ready};
    ///
    /// let driver = Arc::new(Driver::new(&Config::new())?);
    /// let (mut near, _far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// let registration = driver.register(&mut near, Interest::WRITABLE)?;
    /// registration.assume_ready(Ready::WRITABLE);
    /// assert!(registration.ready_now(Interest::WRITABLE).is_some());
    /// # }
    /// # std::io::Result::Ok(())
    /// ```
    pub fn assume_ready(&self, ready: Ready) {
        let mut wakers = Wakers::default();
        let own = self.slot().generation();
        self.slot()
            .set_ready(|generation| generation == own, ready, &mut wakers);
        wakers.wake_all();
    }

    /// Calls `f` if the source is known to be ready for `interest`. If `f` returns `WouldBlock`, the readiness
    /// is cleared.
    ///
    /// `f` should make one non-blocking system call on the source. If it returns `WouldBlock` for another
    /// reason, later waits hang until the next event.
    ///
    /// # Errors
    /// - [`WouldBlock`](io::ErrorKind::WouldBlock), without calling `f`, if the source is not known to be
    ///   ready.
    /// - [`Gone`] after the driver was closed.
    /// - Any error of `f`.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        match self.slot().event(interest.mask()) {
            None => Err(io::ErrorKind::WouldBlock.into()),
            Some(event) => self.attempt(known(event)?, f),
        }
    }

    /// Polls for readiness of one side and calls `f` each time it is ready, until `f` returns something other
    /// than `WouldBlock`.
    ///
    /// As with [`poll_ready`](Registration::poll_ready), each side keeps one waker.
    ///
    /// # Errors
    /// - [`Gone`] after the driver was closed.
    /// - Any error of `f` except `WouldBlock`.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(unix)] {
    /// use std::io::{Read, Write};
    /// use std::os::unix::net::UnixStream;
    /// use std::sync::Arc;
    /// use std::task::{Context, Poll, Waker};
    /// use tress_driver::{Config, Direction, Driver, Interest};
    ///
    /// let driver = Arc::new(Driver::new(&Config::new())?);
    /// let (mut near, mut far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// let registration = driver.register(&mut near, Interest::READABLE)?;
    /// far.write_all(b"hello")?;
    /// let mut cx = Context::from_waker(Waker::noop());
    /// let mut buffer = [0; 8];
    /// let read = loop {
    ///     match registration.poll_io(&mut cx, Direction::Read, || near.read(&mut buffer)) {
    ///         Poll::Ready(read) => break read?,
    ///         Poll::Pending => driver.park(None)?,
    ///     };
    /// };
    /// assert_eq!(read, 5);
    /// # }
    /// # std::io::Result::Ok(())
    /// ```
    pub fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut f: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        loop {
            let event = ready!(self.poll_ready(cx, direction))?;
            match self.attempt(event, &mut f) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    /// Waits for `interest` and calls `f` each time the source is ready, until `f` returns something other than
    /// `WouldBlock`. Any number of tasks may wait at the same time.
    ///
    /// # Errors
    /// - [`Gone`] after the driver was closed.
    /// - Any error of `f` except `WouldBlock`.
    ///
    /// # Cancel safety
    /// Cancel safe: if `f` returns anything but `WouldBlock`, the same poll returns it, so nothing that `f` has
    /// done is lost if the future is dropped.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(unix)] {
    /// use std::io::{Read, Write};
    /// use std::os::unix::net::UnixStream;
    /// use std::sync::Arc;
    /// use tress_driver::{Config, Driver, Interest};
    /// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
    /// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
    /// #     let mut future = pin!(future);
    /// #     loop {
    /// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
    /// #             return value;
    /// #         }
    /// #         driver.park(None).unwrap();
    /// #     }
    /// # }
    ///
    /// let driver = Arc::new(Driver::new(&Config::new())?);
    /// let (mut near, mut far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// let registration = driver.register(&mut near, Interest::READABLE)?;
    /// far.write_all(b"hello")?;
    /// let mut buffer = [0; 8];
    /// let read = registration.async_io(Interest::READABLE, || near.read(&mut buffer));
    /// assert_eq!(block_on(&driver, read)?, 5);
    /// # }
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            let event = self.readiness(interest).await?;
            match self.attempt(event, &mut f) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
        }
    }

    fn attempt<R>(&self, event: ReadyEvent, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        match f() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.would_block(event);
                // The same error as where the readiness is known to be missing.
                Err(io::ErrorKind::WouldBlock.into())
            }
            result => result,
        }
    }
}

fn known(event: ReadyEvent) -> io::Result<ReadyEvent> {
    if event.is_shut_down() {
        Err(Gone.into())
    } else {
        Ok(event)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.driver.deregister(self.key, &self.handle);
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("slot", self.slot())
            .finish_non_exhaustive()
    }
}

/// Future returned by [`Registration::readiness`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Readiness<'a> {
    slot: &'a Slot,
    mask: Ready,
    node: Node,
}

impl Future for Readiness<'_> {
    type Output = io::Result<ReadyEvent>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.as_ref().get_ref();
        // SAFETY: pinned (a node is not `Unpin`); left in `drop`; the slot is always this one.
        unsafe { this.slot.poll_node(&this.node, this.mask, cx) }.map(known)
    }
}

impl Drop for Readiness<'_> {
    fn drop(&mut self) {
        // SAFETY: used with this slot only.
        unsafe { self.slot.leave(&self.node) };
    }
}
