//! Multishot operations: one request, any number of results.
//!
//! The kernel may end one at any time (its queue was full, the pool was empty), and the driver stops one whose
//! results are not fetched. Neither is an end: asking for the next result starts it again. So a connection that
//! is not read from holds a bounded number of results, and one that waits holds none. `pool` explains how the
//! buffers are shared.
//!
//! A receive has a companion, a poll for the peer's hang-up. Kernels up to (at least) 6.18 miss the end of a
//! stream if it comes together with the last bytes: the two wake-ups count as one, the receive finds bytes,
//! takes them for all there was, and waits for ever. The companion sees the hang-up; then the receive is
//! stopped, and the next one finds the end at once. The poll does not fire while mere bytes arrive.

mod cell;

use super::op::descriptor;
use super::pool::{Pool, PoolBuffer, Unread};
use super::table::Key;
use crate::driver::Driver;
use crate::gone::Gone;
use cell::{Found, MultiCell, Stop, Watch};
use io_uring::opcode;
use io_uring::squeue::Entry;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll};

/// An operation with many results, for [`Driver::submit_multi`]. Implemented by [`AcceptMulti`] and
/// [`RecvMulti`] only.
///
/// What the kernel has answered can be claimed by the driver only:
/// ```compile_fail,E0133
/// use std::net::TcpListener;
/// use tress_driver::{AcceptMulti, MultiOperation};
///
/// let accept = AcceptMulti::new(TcpListener::bind("127.0.0.1:0")?);
/// let of_another_socket = accept.item(2, 0);
/// # std::io::Result::Ok(())
/// ```
pub trait MultiOperation: sealed::Prepare {
    /// What one result is: a descriptor, or received bytes.
    type Item;

    /// Converts a result of the kernel; `None` if it is the end.
    ///
    /// # Safety
    /// It is what the kernel has answered to this operation, and was not converted before.
    #[doc(hidden)]
    unsafe fn item(&self, value: u32, flags: u32) -> Option<Self::Item>;

    /// Returns a copy of a result that holds no buffer of a pool; `None` if it holds none anyway.
    #[doc(hidden)]
    fn copied(&self, _item: &Self::Item) -> Option<Self::Item> {
        None
    }
}

mod sealed {
    use super::super::pool::Unread;
    use crate::driver::Driver;
    use io_uring::squeue::Entry;
    use std::sync::{Arc, Weak};
    use std::task::{Context, Poll};

    /// Maximum number of results that wait to be fetched before the kernel is asked to stop.
    const BACKLOG: usize = if cfg!(loom) { 2 } else { 16 };

    /// The cell that holds the results that wait.
    #[derive(Debug)]
    pub struct Member(pub(in crate::uring) Weak<dyn Unread>);

    pub trait Prepare: Send + Sync + Sized + 'static {
        /// An opcode that came with the same kernel.
        const OPCODE: u8;
        /// Whether there may be results after an error.
        const SURVIVES_ERRORS: bool;

        fn entry(&self) -> Entry;

        /// The companion, if there is one: it reports that the operation may have missed something.
        fn companion(&self) -> Option<Entry> {
            None
        }

        /// Whether it can be submitted to this driver.
        fn belongs_to(&self, _driver: &Arc<Driver>) -> bool {
            true
        }

        /// Whether this result is the end of the stream.
        fn is_end(_value: u32) -> bool {
            false
        }

        /// Waits until starting makes sense.
        fn poll_start(&self, _cx: &mut Context<'_>) -> Poll<()> {
            Poll::Ready(())
        }

        /// Maximum number of results that may wait to be fetched now before the kernel is asked to stop.
        fn backlog(&self) -> usize {
            BACKLOG
        }

        /// Announces an operation that is about to be submitted, and the cell that holds its results.
        fn join(&self, _member: Member) {}

        /// Takes back `join` and `poll_start`, when the operation is dropped.
        fn leave(&self) {}
    }
}

/// Accepts connections, one result for each (Linux 5.19).
///
/// The item is an [`OwnedFd`]. New sockets are non-blocking and close-on-exec. Errors such as a lack of
/// descriptors are reported as results, and accepting goes on after them.
///
/// # Examples
/// ```
/// use std::net::{TcpListener, TcpStream};
/// use std::sync::Arc;
/// use tress_driver::{AcceptMulti, Config, Driver};
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
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// let mut accepted = driver.submit_multi(AcceptMulti::new(listener));
/// let _client = TcpStream::connect(address)?;
/// match block_on(&driver, accepted.next()).expect("listeners have no end") {
///     Ok(socket) => drop(TcpStream::from(socket)),
///     Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::Unsupported),
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct AcceptMulti<F> {
    listener: F,
}

impl<F> AcceptMulti<F> {
    /// Creates an operation that accepts connections from `listener`.
    pub fn new(listener: F) -> Self {
        AcceptMulti { listener }
    }
}

impl<F: AsFd + Send + Sync + 'static> sealed::Prepare for AcceptMulti<F> {
    const OPCODE: u8 = opcode::Socket::CODE;
    const SURVIVES_ERRORS: bool = true;

    fn entry(&self) -> Entry {
        opcode::AcceptMulti::new(descriptor(&self.listener))
            .flags(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK)
            .build()
    }
}

impl<F: AsFd + Send + Sync + 'static> MultiOperation for AcceptMulti<F> {
    type Item = OwnedFd;

    unsafe fn item(&self, value: u32, _: u32) -> Option<OwnedFd> {
        // SAFETY: the kernel has made it for this operation, and by the caller's promise it is seen once.
        Some(unsafe { OwnedFd::from_raw_fd(value as i32) })
    }
}

/// Receives into the buffers of a [`Pool`] until the end of the stream (Linux 6.0).
///
/// The item is a [`PoolBuffer`]. A connection that waits holds no buffer. See [`Pool`] for an example.
#[derive(Debug)]
pub struct RecvMulti<F> {
    socket: F,
    pool: Pool,
}

impl<F> RecvMulti<F> {
    /// Creates an operation that receives from `socket` into buffers of `pool`, which must belong to the driver
    /// that it is submitted to.
    pub fn new(socket: F, pool: &Pool) -> Self {
        RecvMulti {
            socket,
            pool: pool.clone(),
        }
    }

    /// The key of this receive in the pool: a submitted operation stays where it is.
    fn who(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl<F: AsFd + Send + Sync + 'static> sealed::Prepare for RecvMulti<F> {
    const OPCODE: u8 = opcode::SendZc::CODE;
    const SURVIVES_ERRORS: bool = false;

    fn entry(&self) -> Entry {
        opcode::RecvMulti::new(descriptor(&self.socket), self.pool.group()).build()
    }

    // D-DRV-03
    fn companion(&self) -> Option<Entry> {
        let hang_up = libc::POLLRDHUP as u32;
        Some(opcode::PollAdd::new(descriptor(&self.socket), hang_up).build())
    }

    fn belongs_to(&self, driver: &Arc<Driver>) -> bool {
        self.pool.belongs_to(driver)
    }

    fn is_end(value: u32) -> bool {
        value == 0
    }

    fn poll_start(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.pool.poll_available(self.who(), cx)
    }

    fn backlog(&self) -> usize {
        self.pool.share()
    }

    fn join(&self, member: sealed::Member) {
        self.pool.join(self.who(), member.0);
    }

    fn leave(&self) {
        self.pool.leave(self.who());
    }
}

impl<F: AsFd + Send + Sync + 'static> MultiOperation for RecvMulti<F> {
    type Item = PoolBuffer;

    unsafe fn item(&self, value: u32, flags: u32) -> Option<PoolBuffer> {
        // SAFETY: a result of a receive into this pool, by the caller's promise.
        unsafe { self.pool.take(value, flags) }
    }

    fn copied(&self, item: &PoolBuffer) -> Option<PoolBuffer> {
        item.copied()
    }
}

/// The results of a multishot operation; created by [`Driver::submit_multi`].
///
/// The operation starts when the first result is asked for. It is stopped while at least 16 results wait to be
/// fetched (fewer if its pool runs low), and goes on when they have been fetched.
///
/// # Cancel safety
/// Dropping it cancels the operation. Results that were not fetched are undone: connections are closed, bytes
/// are lost.
///
/// # Examples
/// ```
/// use std::io::Write;
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, Pool, RecvMulti};
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
/// if let Ok(pool) = Pool::new(&driver, 16, 1024) {
///     let (near, mut far) = UnixStream::pair()?;
///     far.write_all(b"last words")?;
///     drop(far);
///     let mut received = driver.submit_multi(RecvMulti::new(near, &pool));
///     while let Some(bytes) = block_on(&driver, received.next()) {
///         assert_eq!(&bytes?[..], b"last words");
///     }
/// }
/// # std::io::Result::Ok(())
/// ```
#[must_use = "dropping it cancels the operation"]
pub struct Multishot<M: MultiOperation>
where
    M::Item: Send,
{
    cell: Arc<MultiCell<M>>,
    driver: Arc<Driver>,
    key: Option<Key>,
    companion: Option<Key>,
}

impl<M: MultiOperation> Multishot<M>
where
    M::Item: Send,
{
    /// Polls for the next result. Returns `None` at the end of the stream, or after an error that ends the
    /// operation.
    ///
    /// Starts the operation if it is not running.
    ///
    /// # Errors
    /// - Any error of `accept4(2)` or `recv(2)`.
    /// - [`Unsupported`](io::ErrorKind::Unsupported) if the driver has no ring, or the kernel is too old.
    /// - [`InvalidInput`](io::ErrorKind::InvalidInput) if the pool belongs to another driver.
    /// - [`Gone`] after the driver was closed.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<M::Item>>> {
        if let Some(polled) = self.poll_started(cx) {
            return polled;
        }
        self.cell.expect(cx);
        match self.start(cx) {
            Ok(()) => Poll::Pending,
            Err(error) => {
                self.cell.end();
                Poll::Ready(Some(Err(error)))
            }
        }
    }

    /// Polls for the next result like [`poll_next`](Multishot::poll_next), but starts nothing. Returns `None`
    /// if the operation is not running and no result waits.
    ///
    /// # Errors
    /// As for [`poll_next`](Multishot::poll_next).
    pub fn poll_started(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Option<Poll<Option<io::Result<M::Item>>>> {
        match self.cell.poll(cx) {
            Found::Result(result) => Some(Poll::Ready(Some(result))),
            Found::End => Some(Poll::Ready(None)),
            Found::Stopped => None,
            Found::Nothing => Some(Poll::Pending),
            Found::Missed => {
                self.cancel();
                Some(Poll::Pending)
            }
        }
    }

    /// Waits for the next result. Returns `None` at the end of the stream, or after an error that ends the
    /// operation.
    ///
    /// # Errors
    /// As for [`poll_next`](Multishot::poll_next).
    ///
    /// # Cancel safety
    /// Cancel safe: no result is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<io::Result<M::Item>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Asks the kernel to stop, and waits until it has.
    ///
    /// Then nothing arrives any more, and [`try_next`](Multishot::try_next) returns what has arrived before.
    /// Asking for the [next](Multishot::next) result starts the operation again.
    ///
    /// # Cancel safety
    /// Cancel safe: no result is lost if the future is dropped. The operation may or may not be stopped then.
    ///
    /// # Examples
    /// ```
    /// use std::net::TcpListener;
    /// use std::sync::Arc;
    /// use tress_driver::{AcceptMulti, Config, Driver};
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
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut accepted = driver.submit_multi(AcceptMulti::new(listener));
    /// block_on(&driver, accepted.stop()); // it was never started
    /// assert!(accepted.try_next().is_none());
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn stop(&mut self) {
        poll_fn(|cx| self.poll_stop(cx)).await;
    }

    /// Polls for the end of the operation; see [`stop`](Multishot::stop).
    pub fn poll_stop(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.cell.stop(cx) {
            Stop::Done => return Poll::Ready(()),
            Stop::Wait => {}
            Stop::Ask => self.cancel(),
        }
        Poll::Pending
    }

    /// Returns a result that has arrived, if there is one. Starts nothing and does not wait.
    ///
    /// # Errors
    /// As for [`poll_next`](Multishot::poll_next).
    pub fn try_next(&mut self) -> Option<io::Result<M::Item>> {
        self.cell.try_next()
    }

    /// Returns the driver that the operation was submitted to.
    pub fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// Returns the number of results that have arrived and were not fetched.
    pub fn pending(&self) -> usize {
        self.cell.pending()
    }

    /// Starts it (again), or waits until that makes sense.
    fn start(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let ring = match &self.driver.ring {
            Some(ring) if ring.supports(M::OPCODE) => ring,
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "the driver has no ring, or its kernel cannot do it",
                ));
            }
        };
        if !self.cell.op.belongs_to(&self.driver) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the buffer pool belongs to another driver: make one for this driver",
            ));
        }
        if self.cell.op.poll_start(cx).is_pending() {
            // Looked at after the waker was stored, where closing finds it.
            return if ring.is_closed() {
                Err(Gone.into())
            } else {
                Ok(())
            };
        }
        // Both before anything is changed: they ask the descriptor, which is foreign code and may panic.
        let entry = self.cell.op.entry();
        let accompanied = self.companion.is_some();
        let companion = (!accompanied).then(|| self.cell.op.companion()).flatten();
        self.cell.run();
        let mut is_asleep = false;
        self.key = ring.start(self.cell.clone(), entry, &mut || {
            is_asleep = self.driver.is_asleep()
        });
        if self.key.is_none() {
            return Err(Gone.into());
        }
        if let Some(entry) = companion {
            self.cell.accompany();
            let companion = Arc::new(Watch(Arc::clone(&self.cell)));
            self.companion = ring.start(companion, entry, &mut || {
                is_asleep |= self.driver.is_asleep()
            });
        }
        if is_asleep {
            self.driver.summon();
        }
        Ok(())
    }

    /// Asks the kernel to end what it has, with the driver's next turn.
    fn cancel(&self) {
        let Some(ring) = &self.driver.ring else {
            return;
        };
        let mut is_asleep = false;
        ring.cancel(self.key.into_iter(), || is_asleep = self.driver.is_asleep());
        if is_asleep {
            self.driver.summon();
        }
    }
}

impl<M: MultiOperation> Drop for Multishot<M>
where
    M::Item: Send,
{
    fn drop(&mut self) {
        self.cell.op.leave();
        let Some(ring) = &self.driver.ring else {
            return;
        };
        // Counted before, so that the count is there when the last result takes it back.
        ring.orphan();
        ring.orphan();
        let left = self.cell.abandon();
        let operation = self.key.filter(|_| left.operation);
        let companion = self.companion.filter(|_| left.companion);
        for key in [operation, companion] {
            if key.is_none() {
                ring.not_orphan();
            }
        }
        if operation.is_some() || companion.is_some() {
            self.driver.cancel(ring, [operation, companion]);
        }
    }
}

impl<M: MultiOperation> fmt::Debug for Multishot<M>
where
    M::Item: Send,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Multishot")
            .field("phase", &self.cell.phase())
            .field("pending", &self.pending())
            .finish_non_exhaustive()
    }
}

impl Driver {
    /// Creates a multishot operation. It starts when its first result is asked for.
    ///
    /// Problems are reported by that first result: see the errors of [`Multishot::poll_next`].
    ///
    /// # Examples
    /// ```
    /// use std::net::TcpListener;
    /// use std::sync::Arc;
    /// use tress_driver::{AcceptMulti, Config, Driver};
    ///
    /// let driver = Arc::new(Driver::new(&Config::new())?);
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let accepted = driver.submit_multi(AcceptMulti::new(listener));
    /// assert_eq!(accepted.pending(), 0);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn submit_multi<M: MultiOperation>(self: &Arc<Self>, op: M) -> Multishot<M>
    where
        M::Item: Send,
    {
        let cell = Arc::new(MultiCell::new(op));
        let member: Arc<dyn Unread> = cell.clone();
        cell.op.join(sealed::Member(Arc::downgrade(&member)));
        Multishot {
            cell,
            driver: Arc::clone(self),
            key: None,
            companion: None,
        }
    }
}
