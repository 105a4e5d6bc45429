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

/// A source in a driver: what it is ready for, and who waits for it.
///
/// Readiness is edge-triggered: it is set by events and stays until somebody finds that it is used
/// up and [clears](Registration::clear) it. [`try_io`](Registration::try_io),
/// [`poll_io`](Registration::poll_io) and [`async_io`](Registration::async_io) do that by themselves.
///
/// Dropping the registration takes the source out of the driver, from any thread. Drop it *before*
/// the source: on Unix it names the descriptor by its number.
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
/// driver.park(None)?; // somebody has to drive
/// let mut buffer = [0; 8];
/// let read = registration.try_io(Interest::READABLE, || near.read(&mut buffer))?;
/// assert_eq!(&buffer[..read], b"tick");
///
/// // It is not known to be readable any more once a read has said so.
/// let again = registration.try_io(Interest::READABLE, || near.read(&mut buffer));
/// assert_eq!(again.unwrap_err().kind(), io::ErrorKind::WouldBlock);
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

    /// The driver it is registered with.
    pub fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// Is the source ready for anything of `interest`, as far as is known?
    pub fn ready_now(&self, interest: Interest) -> Option<ReadyEvent> {
        self.slot()
            .event(interest.mask())
            .filter(|event| !event.ready().is_empty())
    }

    /// Waits until a side is ready. Only the last waker of each side is woken; for more waiters there
    /// is [`readiness`](Registration::readiness).
    ///
    /// # Errors
    /// [`Gone`] after the driver was closed.
    pub fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<ReadyEvent>> {
        self.slot().poll(cx, direction).map(known)
    }

    /// Waits until the source is ready for any of `interest`. Any number of tasks may wait.
    ///
    /// # Errors
    /// [`Gone`] after the driver was closed.
    ///
    /// # Cancel safety
    /// Waiting takes nothing: dropping the future loses no readiness.
    pub fn readiness(&self, interest: Interest) -> Readiness<'_> {
        Readiness {
            slot: self.slot(),
            mask: interest.mask(),
            node: Node::new(),
        }
    }

    /// Says that the readiness of `event` is used up. Does nothing if another event came since it was
    /// seen; the closed states stay.
    pub fn clear(&self, event: ReadyEvent) {
        self.slot().clear(event);
    }

    /// Says that a system call has found that the source would block, so that it is neither ready nor closed,
    /// whatever `event` says: a FIFO's last writer may have left, and another one come. Does nothing if
    /// another event came since `event` was seen. For those who make their own loops;
    /// [`try_io`](Registration::try_io), [`poll_io`](Registration::poll_io) and
    /// [`async_io`](Registration::async_io) do it by themselves.
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

    /// Assumes that the source is ready, until it is found not to be: for a source that is worth
    /// trying before the kernel has said anything, such as a connection just accepted.
    pub fn assume_ready(&self, ready: Ready) {
        let mut wakers = Wakers::default();
        let own = self.slot().generation();
        self.slot()
            .set_ready(|generation| generation == own, ready, &mut wakers);
        wakers.wake_all();
    }

    /// Does `f` if the source is ready for `interest`, and clears the readiness if `f` finds that it
    /// would block.
    ///
    /// # Errors
    /// `WouldBlock` if the source is not known to be ready, without calling `f`; [`Gone`] after the
    /// driver was closed; else what `f` returns.
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

    /// Does `f` as often as the side is ready until it would not block.
    ///
    /// # Errors
    /// [`Gone`] after the driver was closed; else what `f` returns.
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

    /// Waits for `interest` and does `f` until it would not block.
    ///
    /// # Errors
    /// [`Gone`] after the driver was closed; else what `f` returns.
    ///
    /// # Cancel safety
    /// `f` is called only in a poll that returns its result at once, or would block: dropping the
    /// future loses nothing that `f` has done.
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
        let result = f();
        if let Err(error) = &result {
            if error.kind() == io::ErrorKind::WouldBlock {
                self.would_block(event);
            }
        }
        result
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

/// The future of [`Registration::readiness`].
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
