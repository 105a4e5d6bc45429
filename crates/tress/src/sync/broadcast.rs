//! Every message, to every receiver.
//!
//! The channel keeps the newest messages in a ring; each receiver walks along it and gets a clone of
//! each. Nobody waits for a slow receiver: when the ring is full the oldest message is overwritten,
//! and a receiver that had not had it learns [how many it missed](error::RecvError::Lagged). So every
//! receiver gets every message that is sent while it exists, or is told that it did not.
//!
//! ```
//! use tress::sync::broadcast;
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, mut one) = broadcast::channel(16);
//! let mut two = tx.subscribe();
//! tx.send("hello").unwrap();
//! tx.send("world").unwrap();
//! assert_eq!(one.recv().await, Ok("hello"));
//! assert_eq!(one.recv().await, Ok("world"));
//! assert_eq!(two.recv().await, Ok("hello"));
//! # });
//! ```
//!
//! # Cloning
//! A message is cloned by one receiver at a time, with its place in the ring locked; others that want
//! the same message at that moment, and a sender that wants to overwrite it, wait with their
//! threads. Wrap what is expensive to clone into an [`Arc`]. A `Clone` that uses the channel itself may come
//! upon the place that it is cloned from: that panics, or waits for ever if the message is of a type that
//! has nothing to drop. A message is dropped when
//! the last receiver that it was sent to has had it.

mod cloning;
pub mod error;
#[cfg(all(test, loom))]
mod model;
mod ring;
mod shared;
mod tail;

use self::error::{RecvError, SendError, TryRecvError};
use self::shared::Shared;
use crate::runtime::block_thread::{self, cannot_block};
use crate::sys::Arc;
use crate::task::coop;
use crate::wait::Listener;
use std::fmt;
use std::future::poll_fn;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::task::{Poll, ready};

/// Makes a channel that keeps up to `capacity` messages, rounded up to a power of two.
///
/// ```
/// use tress::sync::broadcast::{self, error::RecvError};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = broadcast::channel(2);
/// for i in 0..5 {
///     tx.send(i).unwrap();
/// }
/// assert_eq!(rx.recv().await, Err(RecvError::Lagged(3)));
/// assert_eq!(rx.recv().await, Ok(3));
/// assert_eq!(rx.recv().await, Ok(4));
/// # });
/// ```
///
/// # Panics
/// If `capacity` is 0 or more than `usize::MAX / 2`.
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared::new(capacity, 1));
    (
        Sender {
            shared: shared.clone(),
        },
        Receiver { shared, next: 0 },
    )
}

/// The sending end of a [broadcast channel](channel()). Clone it to send from several places.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

/// A receiving end of a [broadcast channel](channel()); made by [`Sender::subscribe`].
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The position of the next message.
    next: u64,
}

/// A sender that does not keep the channel open; made by [`Sender::downgrade`].
///
/// ```
/// use tress::sync::broadcast;
///
/// let (tx, _rx) = broadcast::channel::<()>(1);
/// let weak = tx.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakSender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}
impl<T> UnwindSafe for WeakSender<T> {}
impl<T> RefUnwindSafe for WeakSender<T> {}

impl<T> Sender<T> {
    /// A channel without receivers; [`subscribe`](Sender::subscribe) makes them.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let tx = broadcast::Sender::new(4);
    /// assert!(tx.send(1).is_err()); // nobody listens yet
    /// let mut rx = tx.subscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(2));
    /// ```
    ///
    /// # Panics
    /// As for [`channel`].
    #[track_caller]
    pub fn new(capacity: usize) -> Sender<T> {
        Sender {
            shared: Arc::new(Shared::new(capacity, 0)),
        }
    }

    /// Sends a message to all receivers that there are now, and returns how many. If there is none
    /// the message comes back.
    ///
    /// Never waits for a receiver. That a message was sent does not mean that anybody will look at
    /// it: receivers may be dropped, or lag.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel(4);
    /// let _other = tx.subscribe();
    /// assert_eq!(tx.send(1).unwrap(), 2);
    /// drop((rx, _other));
    /// assert_eq!(tx.send(2).unwrap_err().0, 2);
    /// ```
    pub fn send(&self, message: T) -> Result<usize, SendError<T>> {
        self.shared.send(message).map_err(SendError)
    }

    /// Makes a receiver of the messages that are sent from now on.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, _rx) = broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// let mut late = tx.subscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(late.try_recv(), Ok(2));
    /// ```
    ///
    /// # Panics
    /// If there are 2³¹ − 1 receivers already.
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver {
            next: self.shared.add_receiver(),
            shared: self.shared.clone(),
        }
    }

    /// A sender that does not keep the channel open.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel::<()>(4);
    /// let weak = tx.downgrade();
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// # drop(weak);
    /// ```
    #[must_use = "a weak sender does nothing by itself"]
    pub fn downgrade(&self) -> WeakSender<T> {
        self.shared.add_weak_sender();
        WeakSender {
            shared: self.shared.clone(),
        }
    }

    /// How many messages there are that some receiver has not had.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// tx.send(2).unwrap();
    /// assert_eq!(tx.len(), 2);
    /// rx.try_recv().unwrap();
    /// assert_eq!(tx.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// True if all receivers have had all messages.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, _rx) = broadcast::channel(4);
    /// assert!(tx.is_empty());
    /// tx.send(1).unwrap();
    /// assert!(!tx.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many receivers there are.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, _rx) = broadcast::channel::<()>(4);
    /// let _other = tx.subscribe();
    /// assert_eq!(tx.receiver_count(), 2);
    /// ```
    pub fn receiver_count(&self) -> usize {
        self.shared.receivers()
    }

    /// True if both senders are of the same channel.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let tx = broadcast::Sender::<()>::new(4);
    /// assert!(tx.same_channel(&tx.clone()));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Waits until there is no receiver.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = broadcast::channel::<()>(4);
    /// tress::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub async fn closed(&self) {
        let mut listener = pin!(Listener::new(&self.shared.abandoned));
        poll_fn(|cx| {
            let proceed = ready!(coop::poll_proceed(cx));
            let closed = listener
                .as_mut()
                .poll_until(cx, || (self.receiver_count() == 0).then_some(()));
            if closed.is_ready() {
                proceed.made_progress();
            }
            closed
        })
        .await
    }

    /// How many senders there are.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, _rx) = broadcast::channel::<()>(4);
    /// let _other = tx.clone();
    /// assert_eq!(tx.strong_count(), 2);
    /// ```
    pub fn strong_count(&self) -> usize {
        self.shared.senders()
    }

    /// How many weak senders there are.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, _rx) = broadcast::channel::<()>(4);
    /// let _weak = tx.downgrade();
    /// assert_eq!(tx.weak_count(), 1);
    /// ```
    pub fn weak_count(&self) -> usize {
        self.shared.weak_senders()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.add_sender();
        Sender {
            shared: self.shared.clone(),
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.remove_sender();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("receivers", &self.receiver_count())
            .finish_non_exhaustive()
    }
}

impl<T> WeakSender<T> {
    /// A sender, if there still is one.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(4);
    /// let weak = tx.downgrade();
    /// weak.upgrade().unwrap().send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    #[must_use = "the upgraded sender is dropped if it is not used"]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.shared.try_add_sender().then(|| Sender {
            shared: self.shared.clone(),
        })
    }

    /// How many senders there are.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, _rx) = broadcast::channel::<()>(4);
    /// let weak = tx.downgrade();
    /// drop(tx);
    /// assert_eq!(weak.strong_count(), 0);
    /// ```
    pub fn strong_count(&self) -> usize {
        self.shared.senders()
    }

    /// How many weak senders there are, this one included.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, _rx) = broadcast::channel::<()>(4);
    /// assert_eq!(tx.downgrade().weak_count(), 1);
    /// ```
    pub fn weak_count(&self) -> usize {
        self.shared.weak_senders()
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        self.shared.add_weak_sender();
        WeakSender {
            shared: self.shared.clone(),
        }
    }
}

impl<T> Drop for WeakSender<T> {
    fn drop(&mut self) {
        self.shared.remove_weak_sender();
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender").finish_non_exhaustive()
    }
}

impl<T> Receiver<T> {
    /// How many messages this receiver has not had. More than the capacity if it lags.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.shared.len_from(self.next)
    }

    /// True if this receiver has had all messages.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel(4);
    /// assert!(rx.is_empty());
    /// tx.send(1).unwrap();
    /// assert!(!rx.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if both receivers are of the same channel.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel::<()>(4);
    /// assert!(rx.same_channel(&tx.subscribe()));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// True if all senders are gone. There may be messages left.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel::<()>(4);
    /// assert!(!rx.is_closed());
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// How many senders there are.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel::<()>(4);
    /// let _other = tx.clone();
    /// assert_eq!(rx.sender_strong_count(), 2);
    /// ```
    pub fn sender_strong_count(&self) -> usize {
        self.shared.senders()
    }

    /// How many weak senders there are.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel::<()>(4);
    /// let _weak = tx.downgrade();
    /// assert_eq!(rx.sender_weak_count(), 1);
    /// ```
    pub fn sender_weak_count(&self) -> usize {
        self.shared.weak_senders()
    }
}

impl<T: Clone> Receiver<T> {
    /// Another receiver, of the messages that are sent from now on.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// let mut other = rx.resubscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(other.try_recv(), Ok(2));
    /// ```
    ///
    /// # Panics
    /// As [`Sender::subscribe`].
    #[track_caller]
    #[must_use = "a receiver makes the channel keep messages for it"]
    pub fn resubscribe(&self) -> Self {
        Receiver {
            next: self.shared.add_receiver(),
            shared: self.shared.clone(),
        }
    }

    /// The next message. Fails if this receiver was too slow for some, or all senders are gone and it
    /// has had everything.
    ///
    /// ```
    /// use tress::sync::broadcast::{self, error::RecvError};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = broadcast::channel(4);
    /// tress::spawn(async move { tx.send("hello") });
    /// assert_eq!(rx.recv().await, Ok("hello"));
    /// assert_eq!(rx.recv().await, Err(RecvError::Closed));
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// If it is dropped before it is ready no message was taken.
    pub async fn recv(&mut self) -> Result<T, RecvError> {
        let Receiver { shared, next } = self;
        let mut listener = pin!(Listener::new(&shared.news));
        poll_fn(|cx| {
            let proceed = ready!(coop::poll_proceed(cx));
            loop {
                let received = match shared.receive(next) {
                    Ok(message) => Ok(message),
                    Err(TryRecvError::Closed) => Err(RecvError::Closed),
                    Err(TryRecvError::Lagged(missed)) => Err(RecvError::Lagged(missed)),
                    Err(TryRecvError::Empty) => {
                        let position = *next;
                        let look = || shared.listen_at(position);
                        ready!(listener.as_mut().poll_until(cx, look));
                        continue;
                    }
                };
                proceed.made_progress();
                return Poll::Ready(received);
            }
        })
        .await
    }

    /// The next message, if there is one.
    ///
    /// ```
    /// use tress::sync::broadcast::{self, error::TryRecvError};
    ///
    /// let (tx, mut rx) = broadcast::channel(1);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.send(1).unwrap();
    /// tx.send(2).unwrap();
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Lagged(1)));
    /// assert_eq!(rx.try_recv(), Ok(2));
    /// drop(tx);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    /// ```
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.shared.receive(&mut self.next)
    }

    /// As [`recv`](Receiver::recv), blocking this thread.
    ///
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(4);
    /// std::thread::spawn(move || tx.send(1));
    /// assert_eq!(rx.blocking_recv(), Ok(1));
    /// assert!(rx.blocking_recv().is_err());
    /// ```
    ///
    /// # Panics
    /// If this thread drives asynchronous tasks: use [`recv`](Receiver::recv) there.
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        block_thread::block_on(
            cannot_block!("broadcast::Receiver::blocking_recv"),
            self.recv(),
        )
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.remove_receiver(self.next);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("len", &self.len())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
