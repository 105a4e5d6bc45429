//! A channel for a single value, from one sender to one receiver.
//!
//! [`channel`](channel()) creates the two ends. [`Sender::send`] consumes the sender; the
//! [`Receiver`] is a future that yields the value, or an error if the sender is dropped without
//! sending. Sending never waits and needs no runtime.
//!
//! The usual application is the answer to a request: the request, sent through another channel,
//! carries the [`Sender`], and the requesting task awaits the [`Receiver`].
//!
//! # Examples
//! ```
//! use tress::sync::oneshot;
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, rx) = oneshot::channel();
//! tress::spawn(async move {
//!     // This fails only if the receiver has been dropped.
//!     let _ = tx.send(6 * 7);
//! });
//! assert_eq!(rx.await, Ok(42));
//! # });
//! ```
//!
//! A task that owns some state and answers requests about it:
//!
//! ```
//! use tress::sync::{mpsc, oneshot};
//!
//! struct Add {
//!     amount: u64,
//!     total: oneshot::Sender<u64>,
//! }
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let (requests, mut inbox) = mpsc::channel::<Add>(16);
//! tress::spawn(async move {
//!     let mut total = 0;
//!     while let Some(request) = inbox.recv().await {
//!         total += request.amount;
//!         // The requesting task may have gone; that is its affair.
//!         let _ = request.total.send(total);
//!     }
//! });
//!
//! let (total, answer) = oneshot::channel();
//! requests.send(Add { amount: 5, total }).await.unwrap();
//! assert_eq!(answer.await, Ok(5));
//! # });
//! ```

mod cell;
pub mod error;
#[cfg(all(test, loom))]
mod model;
mod spare;
mod state;

use self::cell::Cell;
use self::error::{RecvError, TryRecvError};
use self::state::{Side, Snapshot};
use crate::runtime::block_thread::{self, cannot_block};
use crate::spans::{Oneshot, Op, Resource};
use crate::task::coop;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

/// Creates a channel for a single value, and returns its two ends.
///
/// # Examples
/// ```
/// use tress::sync::oneshot;
///
/// let (tx, rx) = oneshot::channel();
/// std::thread::spawn(move || tx.send("done"));
/// assert_eq!(rx.blocking_recv(), Ok("done"));
/// ```
#[inline]
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (seen, op) = Resource::oneshot();
    let cell = Cell::allocate();
    (
        Sender {
            cell,
            seen: seen.clone(),
            _value: PhantomData,
        },
        Receiver {
            cell: Some(cell),
            seen,
            op,
            _value: PhantomData,
        },
    )
}

/// The sending half of a oneshot channel; see [`channel`](channel()).
///
/// If it is dropped without sending, the receiver yields a [`RecvError`].
///
/// # Examples
/// ```
/// use tress::sync::oneshot;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = oneshot::channel();
/// tress::spawn(async move { tx.send("ready") });
/// assert_eq!(rx.await, Ok("ready"));
/// # });
/// ```
pub struct Sender<T> {
    cell: NonNull<Cell<T>>,
    /// What subscribers see of the channel.
    seen: Resource,
    _value: PhantomData<T>,
}

/// The receiving half of a oneshot channel; see [`channel`](channel()).
///
/// The receiver is a future that yields the value, or a [`RecvError`] if the sender is dropped
/// without sending. It need not be consumed: `&mut receiver` can be awaited as well, for instance
/// in a [`select!`](crate::select).
///
/// # Panics
/// Polling the receiver panics after the value or the error has been returned; see
/// [`is_terminated`](Receiver::is_terminated).
///
/// # Cancel safety
/// Awaiting `&mut receiver` is cancel safe: the value stays in the channel until it is returned.
///
/// # Examples
/// ```
/// use tress::sync::oneshot;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = oneshot::channel::<u32>();
/// drop(tx);
/// assert!(rx.await.is_err());
/// # });
/// ```
pub struct Receiver<T> {
    /// `None` once the outcome has been returned.
    cell: Option<NonNull<Cell<T>>>,
    /// What subscribers see of the channel, and of the receiver as a future.
    seen: Resource,
    op: Op,
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

    /// Sends the value to the receiver.
    ///
    /// This never waits. A value that was sent successfully may still go unread: the receiver may
    /// be dropped before it takes the value, which is dropped with it then.
    ///
    /// # Errors
    /// Returns the value if the receiver has been dropped or has [closed](Receiver::close) the
    /// channel.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// drop(rx);
    /// assert_eq!(tx.send(5), Err(5));
    /// ```
    #[inline]
    pub fn send(mut self, value: T) -> Result<(), T> {
        // SAFETY: a sender has not announced a value before.
        unsafe { self.cell().put(value) };
        match self.cell().state.send() {
            Ok(duties) => {
                let seen = self.seen.take();
                let this = ManuallyDrop::new(self);
                if !duties.left() {
                    // SAFETY: the sender has not left, and is forgotten.
                    unsafe { leave_sender(this.cell, duties) };
                }
                seen.happened(Oneshot::Sent);
                Ok(())
            }
            // SAFETY: put there just now and not announced.
            Err(state::Closed) => Err(unsafe { self.cell().take() }),
        }
    }

    /// Returns `true` if the receiver has been dropped or has [closed](Receiver::close) the
    /// channel.
    ///
    /// Sending fails from then on.
    ///
    /// # Examples
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

    /// Waits until the receiver is dropped or [closes](Receiver::close) the channel.
    ///
    /// A task can use this to stop working on a value that is no longer wanted.
    ///
    /// # Cancel safety
    /// This method is cancel safe: dropping the future has no effect on the channel.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::oneshot;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (mut tx, rx) = oneshot::channel::<()>();
    /// tress::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// # });
    /// ```
    pub async fn closed(&mut self) {
        let seen = self.seen.clone();
        seen.run("Sender::closed", "poll_closed", || {
            poll_fn(|cx| self.poll_closed(cx))
        })
        .await
    }

    /// Polls for the receiver to be dropped or to [close](Receiver::close) the channel.
    ///
    /// This is [`closed`](Sender::closed) for hand-written futures. Returns [`Poll::Pending`] and
    /// registers the waker of `cx` while the channel is open. Only the waker of the most recent
    /// call is woken.
    ///
    /// # Examples
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
        // SAFETY: this is the sender.
        let polled = unsafe { self.cell().poll(Side::Sender, cx.waker()) };
        ready!(polled);
        proceed.made_progress();
        Poll::Ready(())
    }
}

/// Does what the sender's last transition asked for, leaves, and frees the cell if the receiver has
/// left already.
///
/// # Safety
/// The sender has not left and is not used again; `duties` are what its last transition returned.
#[inline(never)]
unsafe fn leave_sender<T>(cell: NonNull<Cell<T>>, duties: state::Duties) {
    // SAFETY: the transition made the wakers it names ours; after leaving, the cell is touched only
    // by the side that leaves second.
    unsafe {
        cell.as_ref().gives_up(Side::Sender);
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
        self.seen.happened(Oneshot::SenderDropped);
    }
}

impl<T> Receiver<T> {
    fn cell(&self) -> Option<&Cell<T>> {
        // SAFETY: the receiver leaves only when it gives the pointer up, so the cell is alive.
        self.cell.map(|cell| unsafe { cell.as_ref() })
    }

    /// Closes the channel: values that have not been sent yet are refused.
    ///
    /// A value that was sent before can still be received. A sender that waits in
    /// [`closed`](Sender::closed) is woken.
    ///
    /// # Examples
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
            self.seen.happened(Oneshot::ReceiverDropped);
        }
    }

    /// Returns `true` if the value or the error has been returned.
    ///
    /// Polling the receiver again would panic then.
    ///
    /// # Examples
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

    /// Returns `true` if there is no value in the channel at the moment.
    ///
    /// That is so before the value is sent, after it has been received, and if the sender was
    /// dropped without sending.
    ///
    /// # Examples
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
    /// # Errors
    /// - [`TryRecvError::Empty`] if no value has been sent yet.
    /// - [`TryRecvError::Closed`] if none will be: the sender was dropped without sending, the
    ///   channel was [closed](Receiver::close) before, or the value has been received already.
    ///
    /// # Examples
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
        let Some(cell) = self.cell else {
            return Err(TryRecvError::Closed);
        };
        // SAFETY: the receiver has not left, so the cell is alive.
        let state = unsafe { cell.as_ref() }.state.load();
        if state.is_tx_done() || state.is_rx_closed() {
            self.cell = None;
            // SAFETY: the pointer was given up just now.
            let value = unsafe { finish(cell, state) }.ok_or(TryRecvError::Closed)?;
            self.seen.happened(Oneshot::Received);
            Ok(value)
        } else {
            Err(TryRecvError::Empty)
        }
    }

    /// Receives the value, blocking the current thread until it has been sent.
    ///
    /// # Errors
    /// Returns [`RecvError`] if the sender is dropped without sending, or the channel was
    /// [closed](Receiver::close) before a value was sent.
    ///
    /// # Panics
    /// Panics if called on a thread that is driving tasks, where the receiver is to be awaited
    /// instead, and if the value or the error has been returned already.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// std::thread::spawn(move || tx.send("from a thread"));
    /// assert_eq!(rx.blocking_recv(), Ok("from a thread"));
    /// ```
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        block_thread::block_on(cannot_block!("oneshot::Receiver::blocking_recv"), self)
    }
}

/// Takes the value, if there is one, and leaves the cell, for the receiver that held it. The outcome is settled in
/// `state`: the sender is done or the channel closed.
///
/// # Safety
/// The receiver has not left and is not used again.
#[inline(always)]
unsafe fn finish<T>(cell: NonNull<Cell<T>>, state: Snapshot) -> Option<T> {
    // SAFETY: by the caller's promise nothing is done twice.
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

/// Does what `finish` does, while the sender has not left yet.
///
/// # Safety
/// The receiver has not left, is not used again, and has not taken the value. Only a settled
/// outcome is acted on, as `leave_receiver` checks again.
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

/// Makes the receiver leave while the sender may still be at work. Returns the value if one was
/// sent meanwhile.
///
/// # Safety
/// The receiver has not left, is not used again, and has not taken the value.
#[inline(never)]
unsafe fn abandon_receiver<T>(cell: NonNull<Cell<T>>) -> Option<T> {
    // SAFETY: alive until we leave; each transition says what is ours.
    unsafe {
        cell.as_ref().gives_up(Side::Receiver);
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
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let _resource = this.seen.enter();
        let _op = this.op.enter();
        let proceed = ready!(coop::poll_proceed(cx));
        let Some(cell) = this.cell else {
            panic!("oneshot::Receiver polled after it returned its outcome");
        };
        // SAFETY: this is the receiver, which has not left: the cell is alive.
        let polled = unsafe { cell.as_ref().poll(Side::Receiver, cx.waker()) };
        this.op.tell_poll("poll_recv", polled.is_ready());
        let state = ready!(polled);
        proceed.made_progress();
        this.cell = None;
        // SAFETY: the pointer was given up just now.
        Poll::Ready(unsafe { finish(cell, state) }.ok_or(RecvError(())))
    }
}

impl<T> Drop for Receiver<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(cell) = self.cell.take() {
            // SAFETY: the receiver is being dropped and has not returned the outcome.
            drop(unsafe { abandon_receiver(cell) });
            self.seen.happened(Oneshot::ReceiverDropped);
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
