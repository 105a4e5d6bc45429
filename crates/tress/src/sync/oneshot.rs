//! One value, from one sender to one receiver.
//!
//! The usual way to answer a request: the question carries the [`Sender`], the asker awaits the
//! [`Receiver`].
//!
//! ```
//! use tress::sync::oneshot;
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, rx) = oneshot::channel();
//! tress::spawn(async move {
//!     // Fails only if the receiver is gone.
//!     let _ = tx.send(6 * 7);
//! });
//! assert_eq!(rx.await, Ok(42));
//! # });
//! ```
//!
//! Sending needs no runtime and never waits. Both ends work with any waker and share one
//! allocation, which is guarded by one atomic word (`oneshot/state.rs`); no lock is involved.

mod cell;
pub mod error;
#[cfg(all(test, loom))]
mod model;
mod spare;
mod state;

use self::cell::Cell;
use self::error::{RecvError, TryRecvError};
use self::state::Snapshot;
use crate::runtime::block_thread::{self, cannot_block};
use crate::task::coop;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

/// Makes a channel for one value.
///
/// ```
/// use tress::sync::oneshot;
///
/// let (tx, rx) = oneshot::channel();
/// std::thread::spawn(move || tx.send("done"));
/// assert_eq!(rx.blocking_recv(), Ok("done"));
/// ```
#[inline]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let cell = Cell::allocate();
    (
        Sender {
            cell,
            _value: PhantomData,
        },
        Receiver {
            cell: Some(cell),
            _value: PhantomData,
        },
    )
}

/// The right to send the one value of a [channel](channel()).
///
/// Dropping it without sending fails the receiver.
pub struct Sender<T> {
    cell: NonNull<Cell<T>>,
    _value: PhantomData<T>,
}

/// The receiving end of a [channel](channel()): a future of the value.
///
/// ```
/// use tress::sync::oneshot;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = oneshot::channel::<u32>();
/// drop(tx);
/// assert!(rx.await.is_err());
/// # });
/// ```
///
/// # Cancel safety
/// Awaiting `&mut receiver` can be dropped and repeated: the value stays in the channel until it is
/// returned.
#[must_use = "receivers do nothing unless awaited or asked"]
pub struct Receiver<T> {
    /// `None` once the outcome has been returned.
    cell: Option<NonNull<Cell<T>>>,
    _value: PhantomData<T>,
}

// SAFETY (all four): the ends hand a `T` from one thread to another and otherwise only share the
// state word and wakers, by the rules of `state.rs`. A shared reference to an end gives no access
// to the value.
// SAFETY: see above.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: see above.
unsafe impl<T: Send> Sync for Sender<T> {}
// SAFETY: see above.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: see above.
unsafe impl<T: Send> Sync for Receiver<T> {}

impl<T> Unpin for Sender<T> {}
impl<T> Unpin for Receiver<T> {}
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Sender<T> {
    fn cell(&self) -> &Cell<T> {
        // SAFETY: the sender has not left, so the cell is alive.
        unsafe { self.cell.as_ref() }
    }

    /// Sends the value. It comes back if the receiver was dropped or has closed the channel.
    ///
    /// A value that was accepted may still never be looked at: the receiver may be dropped later.
    ///
    /// ```
    /// use tress::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// drop(rx);
    /// assert_eq!(tx.send(5), Err(5));
    /// ```
    #[inline]
    pub fn send(self, value: T) -> Result<(), T> {
        // SAFETY: a sender has not announced a value before.
        unsafe { self.cell().put(value) };
        match self.cell().state.send() {
            Ok(duties) => {
                let this = ManuallyDrop::new(self);
                if !duties.left() {
                    // SAFETY: the sender has not left, and is forgotten.
                    unsafe { leave_sender(this.cell, duties) };
                }
                Ok(())
            }
            // SAFETY: put there just now and not announced.
            Err(state::Closed) => Err(unsafe { self.cell().take() }),
        }
    }

    /// True if the receiver was dropped or has closed the channel: sending would fail.
    ///
    /// ```
    /// use tress::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel::<()>();
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.cell().state.load().is_rx_closed()
    }

    /// Waits until nobody is interested in the value any more, to stop working on it.
    ///
    /// ```
    /// use tress::sync::oneshot;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut tx, rx) = oneshot::channel::<()>();
    /// tress::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_closed(cx)).await
    }

    /// As [`closed`](Sender::closed), for use in hand-written futures. Only the waker of the most
    /// recent call is woken.
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use tress::sync::oneshot;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut tx, mut rx) = oneshot::channel::<()>();
    /// rx.close();
    /// poll_fn(|cx| tx.poll_closed(cx)).await;
    /// # });
    /// ```
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let proceed = ready!(coop::poll_proceed(cx));
        let cell = self.cell();
        let mut state = cell.state.load();
        loop {
            if state.is_rx_closed() {
                proceed.made_progress();
                return Poll::Ready(());
            }
            if state.has_tx_waker() {
                // SAFETY: the bit says that we filled it.
                if unsafe { cell.tx_waker.will_wake(cx.waker()) } {
                    return Poll::Pending;
                }
                match cell.state.unset_tx_waker(state) {
                    Ok(unset) => {
                        // SAFETY: unset, so it is ours again.
                        drop(unsafe { cell.tx_waker.take() });
                        state = unset;
                    }
                    Err(actual) => {
                        state = actual;
                        continue;
                    }
                }
            }
            // SAFETY: the bit is clear and the channel open, so the slot is ours, and empty.
            unsafe { cell.tx_waker.fill(cx.waker().clone()) };
            match cell.state.set_tx_waker(state) {
                Ok(()) => return Poll::Pending,
                Err(actual) => {
                    // SAFETY: the bit was not set, so the slot is still ours, and was just filled.
                    drop(unsafe { cell.tx_waker.take() });
                    state = actual;
                }
            }
        }
    }
}

/// Does what the sender's last transition asked for, leaves, and frees the cell if it is the second.
///
/// # Safety
/// The sender has not left and is not used again; `duties` are what its last transition returned.
#[inline(never)]
unsafe fn leave_sender<T>(cell: NonNull<Cell<T>>, duties: state::Duties) {
    // SAFETY: the transition made the wakers it names ours; after leaving, the cell is touched only
    // by whoever was second.
    unsafe {
        let own = duties.own_waker.then(|| cell.as_ref().tx_waker.take());
        let other = duties.other_waker.then(|| cell.as_ref().rx_waker.take());
        if duties.alone || cell.as_ref().state.leave_sender() {
            Cell::free(cell);
        }
        // Foreign code comes last: a waker may panic.
        if let Some(waker) = other {
            waker.wake();
        }
        drop(own);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let duties = self.cell().state.drop_sender();
        if !duties.left() {
            // SAFETY: the sender is being dropped.
            unsafe { leave_sender(self.cell, duties) };
        }
    }
}

impl<T> Receiver<T> {
    fn cell(&self) -> Option<&Cell<T>> {
        // SAFETY: the receiver leaves only when it gives the pointer up, so the cell is alive.
        self.cell.map(|cell| unsafe { cell.as_ref() })
    }

    /// Refuses values that have not been sent yet. One that was sent before can still be received.
    ///
    /// ```
    /// use tress::sync::oneshot;
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// rx.close();
    /// assert_eq!(tx.send(1), Err(1));
    /// assert!(rx.try_recv().is_err());
    /// ```
    pub fn close(&mut self) {
        if let Some(cell) = self.cell() {
            if cell.state.close() {
                // SAFETY: the transition made the sender's waker ours.
                unsafe { cell.tx_waker.take() }.wake();
            }
        }
    }

    /// True if the value or the failure has been returned: awaiting the receiver again would panic.
    ///
    /// ```
    /// use tress::sync::oneshot;
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// tx.send(1).unwrap();
    /// assert!(!rx.is_terminated());
    /// rx.try_recv().unwrap();
    /// assert!(rx.is_terminated());
    /// ```
    pub fn is_terminated(&self) -> bool {
        self.cell.is_none()
    }

    /// True if there is no value in the channel at this moment.
    ///
    /// ```
    /// use tress::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// assert!(rx.is_empty());
    /// tx.send(1).unwrap();
    /// assert!(!rx.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.cell()
            .is_none_or(|cell| !cell.state.load().has_value())
    }

    /// Takes the value if it has been sent.
    ///
    /// ```
    /// use tress::sync::oneshot::{self, error::TryRecvError};
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    /// ```
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let Some(cell) = self.cell() else {
            return Err(TryRecvError::Closed);
        };
        let state = cell.state.load();
        if state.is_tx_done() || state.is_rx_closed() {
            self.finish(state).ok_or(TryRecvError::Closed)
        } else {
            Err(TryRecvError::Empty)
        }
    }

    /// Blocks this thread until the value has come.
    ///
    /// ```
    /// use tress::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// std::thread::spawn(move || tx.send("from a thread"));
    /// assert_eq!(rx.blocking_recv(), Ok("from a thread"));
    /// ```
    ///
    /// # Panics
    /// If this thread drives asynchronous tasks: `.await` the receiver there.
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        block_thread::block_on(cannot_block!("oneshot::Receiver::blocking_recv"), self)
    }

    /// Takes the value, if there is one, and leaves the cell. `state` says that the outcome is
    /// settled: the sender is done or the channel closed.
    #[inline(always)]
    fn finish(&mut self, state: Snapshot) -> Option<T> {
        let cell = self.cell.take()?;
        // SAFETY: the pointer was given up just now, so nothing is done twice.
        unsafe {
            if state.is_tx_gone() {
                let value = state.has_value().then(|| cell.as_ref().take());
                Cell::free(cell);
                value
            } else {
                finish_with_sender(cell, state)
            }
        }
    }
}

/// As `Receiver::finish`, while the sender is not gone yet.
///
/// # Safety
/// The receiver has not left, is not used again, and has not taken the value. Only a settled outcome
/// is acted on, as `leave_receiver` checks again.
#[inline(never)]
unsafe fn finish_with_sender<T>(cell: NonNull<Cell<T>>, state: Snapshot) -> Option<T> {
    // SAFETY: alive until we leave; the value is ours if it is said to be there.
    unsafe {
        if state.is_tx_done() {
            let value = state.has_value().then(|| cell.as_ref().take());
            if cell.as_ref().state.leave_receiver() {
                Cell::free(cell);
            }
            value
        } else {
            abandon_receiver(cell)
        }
    }
}

/// The receiver leaves while the sender may still be at work. Returns the value if one was sent
/// meanwhile.
///
/// # Safety
/// The receiver has not left, is not used again, and has not taken the value.
#[inline(never)]
unsafe fn abandon_receiver<T>(cell: NonNull<Cell<T>>) -> Option<T> {
    // SAFETY: alive until we leave; each transition says what is ours.
    unsafe {
        match cell.as_ref().state.drop_receiver() {
            Ok(duties) if duties.left() => None,
            Ok(duties) => {
                let own = duties.own_waker.then(|| cell.as_ref().rx_waker.take());
                let other = duties.other_waker.then(|| cell.as_ref().tx_waker.take());
                if cell.as_ref().state.leave_receiver() {
                    Cell::free(cell);
                }
                // Foreign code comes last: a waker may panic.
                if let Some(waker) = other {
                    waker.wake();
                }
                drop(own);
                None
            }
            Err(done) => {
                let value = done.has_value().then(|| cell.as_ref().take());
                if done.is_tx_gone() || cell.as_ref().state.leave_receiver() {
                    Cell::free(cell);
                }
                value
            }
        }
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    /// # Panics
    /// If polled again after it returned the value or the error.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let proceed = ready!(coop::poll_proceed(cx));
        let Some(cell) = self.cell() else {
            panic!("oneshot::Receiver polled after it returned its outcome");
        };
        let mut state = cell.state.load();
        loop {
            if state.is_tx_done() || state.is_rx_closed() {
                proceed.made_progress();
                return Poll::Ready(self.finish(state).ok_or(RecvError(())));
            }
            if state.has_rx_waker() {
                // SAFETY: the bit says that we filled it.
                if unsafe { cell.rx_waker.will_wake(cx.waker()) } {
                    return Poll::Pending;
                }
                match cell.state.unset_rx_waker(state) {
                    Ok(unset) => {
                        // SAFETY: unset, so it is ours again.
                        drop(unsafe { cell.rx_waker.take() });
                        state = unset;
                    }
                    Err(actual) => {
                        state = actual;
                        continue;
                    }
                }
            }
            // SAFETY: the bit is clear and the sender not done, so the slot is ours, and empty.
            unsafe { cell.rx_waker.fill(cx.waker().clone()) };
            match cell.state.set_rx_waker(state) {
                Ok(()) => return Poll::Pending,
                Err(actual) => {
                    // SAFETY: the bit was not set, so the slot is still ours, and was just filled.
                    drop(unsafe { cell.rx_waker.take() });
                    state = actual;
                }
            }
        }
    }
}

impl<T> Drop for Receiver<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(cell) = self.cell.take() {
            // SAFETY: the receiver is being dropped and has not returned the outcome.
            drop(unsafe { abandon_receiver(cell) });
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("state", &self.cell().state)
            .finish()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("state", &self.cell().map(|cell| &cell.state))
            .finish()
    }
}
