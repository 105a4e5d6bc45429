//! Operations that go on: one request, any number of results.
//!
//! The kernel may end one at any time (its queue was full, the pool was empty), and we stop one whose
//! results nobody fetches. Neither is an end: whoever asks for the next result starts it again. So a
//! connection that is not read from holds a bounded number of results, and one that waits holds none. How the
//! buffers of a pool are shared says `pool`.
//!
//! A receive has a companion, a poll for the peer's hanging up. Kernels up to (at least) 6.18 miss the end
//! of a stream if it comes together with the last bytes: the two wake-ups count as one, the receive finds
//! bytes, takes them for all there was, and waits for ever. The companion hears of it; then the receive is
//! stopped, and the next one finds the end first thing. The poll is silent while mere bytes arrive.

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

/// An operation that [`Driver::submit_multi`] takes. Those of this module, no others.
///
/// What the kernel has answered can be claimed by the driver only:
/// ```compile_fail,E0133
/// use std::net::TcpListener;
/// use tress_driver::{AcceptMulti, MultiOperation};
///
/// let accept = AcceptMulti::new(TcpListener::bind("127.0.0.1:0")?);
/// let a_strangers = accept.item(2, 0);
/// # std::io::Result::Ok(())
/// ```
pub trait MultiOperation: sealed::Prepare {
    /// One of its results.
    type Item;

    /// What a result stands for: something, unless it is the end.
    ///
    /// # Safety
    /// It is what the kernel has answered to this operation, and nobody has seen it before.
    #[doc(hidden)]
    unsafe fn item(&self, value: u32, flags: u32) -> Option<Self::Item>;

    /// A copy of a result that holds nothing others wait for; `None` if there is none, or no need.
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

    /// Results that wait to be fetched before the kernel is asked to stop.
    const BACKLOG: usize = if cfg!(loom) { 2 } else { 16 };

    /// What knows the results that wait.
    #[derive(Debug)]
    pub struct Member(pub(in crate::uring) Weak<dyn Unread>);

    pub trait Prepare: Send + Sync + Sized + 'static {
        /// An operation that came with the same kernel.
        const OPCODE: u8;
        /// Whether there may be results after an error.
        const SURVIVES_ERRORS: bool;

        fn entry(&self) -> Entry;

        /// The companion, if there is one: it tells that the operation may have missed something.
        fn companion(&self) -> Option<Entry> {
            None
        }

        /// Can it be submitted to this driver?
        fn belongs_to(&self, _driver: &Arc<Driver>) -> bool {
            true
        }

        /// Is this result the last one of the stream?
        fn is_end(_value: u32) -> bool {
            false
        }

        /// Waits until starting makes sense.
        fn poll_start(&self, _cx: &mut Context<'_>) -> Poll<()> {
            Poll::Ready(())
        }

        /// How many results may wait to be fetched before the kernel is asked to stop, as things are.
        fn backlog(&self) -> usize {
            BACKLOG
        }

        /// It is about to be submitted, where its results are known.
        fn join(&self, _member: Member) {}

        /// Nobody waits for any of that any more.
        fn leave(&self) {}
    }
}

/// Accepts connections (Linux 5.19). The new sockets are non-blocking and closed on `exec`.
#[derive(Debug)]
pub struct AcceptMulti<F> {
    listener: F,
}

impl<F> AcceptMulti<F> {
    /// From this listener.
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

/// Receives into the buffers of a [`Pool`] (Linux 6.0), until the end of the stream.
#[derive(Debug)]
pub struct RecvMulti<F> {
    socket: F,
    pool: Pool,
}

impl<F> RecvMulti<F> {
    /// From this socket. The pool must be one of the driver that it is submitted to.
    pub fn new(socket: F, pool: &Pool) -> Self {
        RecvMulti {
            socket,
            pool: pool.clone(),
        }
    }

    /// Tells those who wait for a buffer apart: a submitted operation stays where it is.
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

/// The results of an operation that goes on.
///
/// # Cancel safety
/// Dropping it cancels the operation; results that were not fetched are undone: connections are closed,
/// bytes are lost.
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
    /// The next result; `None` at the end of the stream, or after an error that leaves nothing to wait for.
    ///
    /// # Errors
    /// What the kernel reports; [`Gone`](crate::Gone) after the driver was closed; `Unsupported` if it
    /// cannot do it.
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

    /// As [`poll_next`](Multishot::poll_next), but starts nothing: `None` if the kernel has to be asked
    /// (again) for more.
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

    /// The next result, as [`poll_next`](Multishot::poll_next).
    ///
    /// # Errors
    /// As for [`poll_next`](Multishot::poll_next).
    ///
    /// # Cancel safety
    /// Dropping the future loses no result.
    pub async fn next(&mut self) -> Option<io::Result<M::Item>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Asks the kernel to stop, and waits until it has: then nothing arrives any more, and
    /// [`try_next`](Multishot::try_next) fetches what has. Asking for the [next](Multishot::next) result
    /// starts it again.
    ///
    /// # Cancel safety
    /// Dropping the future loses no result; the operation may be stopped or not.
    pub async fn stop(&mut self) {
        poll_fn(|cx| self.poll_stop(cx)).await;
    }

    /// As [`stop`](Multishot::stop), by poll: pending until it has stopped.
    pub fn poll_stop(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.cell.stop(cx) {
            Stop::Done => return Poll::Ready(()),
            Stop::Wait => {}
            Stop::Ask => self.cancel(),
        }
        Poll::Pending
    }

    /// A result that waits to be fetched, if there is one. Starts nothing.
    ///
    /// # Errors
    /// As for [`poll_next`](Multishot::poll_next).
    pub fn try_next(&mut self) -> Option<io::Result<M::Item>> {
        self.cell.try_next()
    }

    /// The driver that it was submitted to.
    pub fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// How many results wait to be fetched.
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
            // Looked at after the waker is where closing finds it.
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
        self.key = ring.start(&self.cell, entry, || is_asleep = self.driver.is_asleep());
        if self.key.is_none() {
            return Err(Gone.into());
        }
        if let Some(entry) = companion {
            self.cell.accompany();
            let companion = Arc::new(Watch(Arc::clone(&self.cell)));
            self.companion = ring.start(&companion, entry, || is_asleep |= self.driver.is_asleep());
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
    /// Makes an operation that goes on. It starts when its first result is asked for.
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
