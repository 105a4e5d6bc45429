//! A channel that delivers every message to every receiver.
//!
//! The channel keeps the newest messages in a ring. Each [`Receiver`] walks along the ring and gets
//! a clone of every message that is sent while it exists. Use [`watch`](super::watch) if receivers
//! only need the latest value, and [`mpsc`](super::mpsc) if each message is for one receiver.
//!
//! [`channel`](channel()) creates a sender and a receiver. [`Sender::clone`] and
//! [`Sender::subscribe`] make more of them.
//!
//! # Lagging
//! Senders never wait for a slow receiver. When the ring is full, the oldest message is
//! overwritten, and a receiver that had not received it gets [`RecvError::Lagged`] with the number
//! of messages it has missed. It then continues with the oldest message that is left. Every
//! receiver thus gets every message, or is told how many it did not get.
//!
//! # Closing
//! When the last sender is dropped, the channel is closed: receivers get what is left, then
//! [`RecvError::Closed`]. When the last receiver is dropped, [`Sender::send`] fails until
//! [`Sender::subscribe`] creates another one.
//!
//! # Cloning
//! A message is dropped when the last receiver that it was sent to has received it. Until then it
//! is cloned by one receiver at a time, with its slot in the ring locked. Other receivers of the
//! same message, and a sender that overwrites it, block their threads meanwhile. Wrap messages that
//! are expensive to clone in an [`Arc`].
//!
//! A `Clone` implementation that uses the channel itself may need the slot that it is cloned from.
//! That panics, or waits for ever if the message is of a type without a destructor.
//!
//! # Examples
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

/// Creates a channel that keeps up to `capacity` messages, and returns a sender and a receiver.
///
/// The capacity is rounded up to a power of two. The room for it is allocated at once.
///
/// # Panics
/// Panics if `capacity` is 0 or exceeds `usize::MAX / 2`.
///
/// # Examples
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

/// A sending half of a broadcast channel; see [`channel`](channel()).
///
/// Clones send to the same receivers. When the last sender is dropped, the channel is closed.
///
/// # Examples
/// ```
/// use tress::sync::broadcast;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = broadcast::channel(16);
/// let other = tx.clone();
/// tress::spawn(async move { other.send("hello") });
/// assert_eq!(rx.recv().await, Ok("hello"));
/// # });
/// ```
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

/// A receiving half of a broadcast channel; see [`channel`](channel()) and [`Sender::subscribe`].
///
/// Dropping it gives up the messages that it has not received.
///
/// # Examples
/// ```
/// use tress::sync::broadcast::{self, error::RecvError};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = broadcast::channel(16);
/// for n in 0..3 {
///     tx.send(n).unwrap();
/// }
/// drop(tx);
/// let mut sum = 0;
/// loop {
///     match rx.recv().await {
///         Ok(n) => sum += n,
///         Err(RecvError::Lagged(missed)) => println!("missed {missed} messages"),
///         Err(RecvError::Closed) => break,
///     }
/// }
/// assert_eq!(sum, 3);
/// # });
/// ```
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The position of the next message.
    next: u64,
}

/// A sender that does not keep the channel open; see [`Sender::downgrade`].
///
/// To send, [`upgrade`](WeakSender::upgrade) it.
///
/// # Examples
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
    /// Creates a channel without receivers, and returns its sender.
    ///
    /// [`subscribe`](Sender::subscribe) creates receivers. The capacity is rounded up to a power of
    /// two.
    ///
    /// # Panics
    /// Panics if `capacity` is 0 or exceeds `usize::MAX / 2`.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let tx = broadcast::Sender::new(4);
    /// assert!(tx.send(1).is_err()); // there is no receiver yet
    /// let mut rx = tx.subscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(2));
    /// ```
    #[track_caller]
    pub fn new(capacity: usize) -> Sender<T> {
        Sender {
            shared: Arc::new(Shared::new(capacity, 0)),
        }
    }

    /// Sends a message to all current receivers, and returns their number.
    ///
    /// This never waits for a receiver: if the ring is full, the oldest message is overwritten. A
    /// message that was sent successfully may still go unread, since receivers may be dropped or
    /// [lag](self#lagging).
    ///
    /// # Errors
    /// Returns the message in [`SendError`] if there is no receiver.
    ///
    /// # Examples
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

    /// Creates a receiver of the messages that are sent from now on.
    ///
    /// # Panics
    /// Panics if there are 2³¹ − 1 receivers already.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, _rx) = broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// let mut late = tx.subscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(late.try_recv(), Ok(2));
    /// ```
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver {
            next: self.shared.add_receiver(),
            shared: self.shared.clone(),
        }
    }

    /// Creates a sender that does not keep the channel open.
    ///
    /// # Examples
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

    /// Returns the number of messages that some receiver has not received.
    ///
    /// At most the capacity: overwritten messages do not count.
    ///
    /// # Examples
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

    /// Returns `true` if all receivers have received all messages.
    ///
    /// # Examples
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

    /// Returns the number of receivers.
    ///
    /// # Examples
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

    /// Returns `true` if both senders belong to the same channel.
    ///
    /// # Examples
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
    /// # Cancel safety
    /// This method is cancel safe: dropping the future has no effect on the channel.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = broadcast::channel::<()>(4);
    /// tress::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// # });
    /// ```
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

    /// Returns the number of senders, without the weak ones.
    ///
    /// # Examples
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

    /// Returns the number of weak senders.
    ///
    /// # Examples
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
    /// Creates a [`Sender`], or returns `None` if all senders have been dropped.
    ///
    /// # Examples
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

    /// Returns the number of senders, without the weak ones.
    ///
    /// # Examples
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

    /// Returns the number of weak senders, this one included.
    ///
    /// # Examples
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
    /// Returns the number of messages that were sent and that this receiver has not received.
    ///
    /// Overwritten messages count: the number exceeds the capacity if the receiver
    /// [lags](self#lagging).
    ///
    /// # Examples
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

    /// Returns `true` if this receiver has received all messages.
    ///
    /// # Examples
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

    /// Returns `true` if both receivers belong to the same channel.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel::<()>(4);
    /// assert!(rx.same_channel(&tx.subscribe()));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns `true` if all senders have been dropped.
    ///
    /// There may be messages left to receive.
    ///
    /// # Examples
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

    /// Returns the number of senders, without the weak ones.
    ///
    /// # Examples
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

    /// Returns the number of weak senders.
    ///
    /// # Examples
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
    /// Creates another receiver, of the messages that are sent from now on.
    ///
    /// Messages that this receiver has not received yet are not for the new one.
    ///
    /// # Panics
    /// Panics if there are 2³¹ − 1 receivers already.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel(4);
    /// tx.send(1).unwrap();
    /// let mut other = rx.resubscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(other.try_recv(), Ok(2));
    /// ```
    #[track_caller]
    pub fn resubscribe(&self) -> Self {
        Receiver {
            next: self.shared.add_receiver(),
            shared: self.shared.clone(),
        }
    }

    /// Receives the next message, waiting until there is one.
    ///
    /// # Errors
    /// - [`RecvError::Lagged`] if messages were overwritten before this receiver got to them, with
    ///   their number. The next call returns the oldest message that is left.
    /// - [`RecvError::Closed`] if all senders have been dropped and all messages have been
    ///   received.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before it is ready, no message has been
    /// received.
    ///
    /// # Examples
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

    /// Receives the next message if there is one.
    ///
    /// # Errors
    /// - [`TryRecvError::Empty`] if there is no message at the moment.
    /// - [`TryRecvError::Lagged`] if messages were overwritten before this receiver got to them,
    ///   with their number. The next call returns the oldest message that is left.
    /// - [`TryRecvError::Closed`] if all senders have been dropped and all messages have been
    ///   received.
    ///
    /// # Examples
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

    /// Receives the next message, blocking the current thread until there is one.
    ///
    /// # Errors
    /// - [`RecvError::Lagged`] if messages were overwritten before this receiver got to them, with
    ///   their number. The next call returns the oldest message that is left.
    /// - [`RecvError::Closed`] if all senders have been dropped and all messages have been
    ///   received.
    ///
    /// # Panics
    /// Panics if called on a thread that is driving tasks; use [`recv`](Receiver::recv) there.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(4);
    /// std::thread::spawn(move || tx.send(1));
    /// assert_eq!(rx.blocking_recv(), Ok(1));
    /// assert!(rx.blocking_recv().is_err());
    /// ```
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
