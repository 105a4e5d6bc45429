use super::receiver::Receiver;
use super::sender::Sender;
use super::shared::{Channel, Undelivered};
use crate::sys::Arc;
use std::fmt;

/// What sending does if the channel is full.
///
/// # Examples
/// ```
/// use tress::channel::{self, Overflow};
///
/// let (tx, rx) = channel::builder().capacity(1).overflow(Overflow::DropLatest).build();
/// tx.try_send("first").unwrap();
/// tx.try_send("dropped").unwrap();
/// assert_eq!(rx.try_recv().unwrap(), "first");
/// assert!(rx.try_recv().unwrap_err().is_empty());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Overflow {
    /// The sender waits for a place.
    #[default]
    Suspend,
    /// The oldest message in the channel is dropped. Sending never waits.
    DropOldest,
    /// The new message is dropped. Sending never waits.
    DropLatest,
}

/// A builder of a channel; returned by [`builder`](super::builder()).
///
/// # Examples
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use tress::channel::{self, Overflow};
///
/// let missed = Arc::new(Mutex::new(Vec::new()));
/// let list = missed.clone();
/// let (tx, rx) = channel::builder()
///     .capacity(2)
///     .overflow(Overflow::DropOldest)
///     .on_undelivered(move |n: u32| list.lock().unwrap().push(n))
///     .build();
/// for n in 0..4 {
///     tx.try_send(n).unwrap();
/// }
/// assert_eq!(rx.try_recv().unwrap(), 2);
/// assert_eq!(rx.try_recv().unwrap(), 3);
/// assert_eq!(*missed.lock().unwrap(), [0, 1]);
/// ```
pub struct Builder<T> {
    capacity: Option<usize>,
    overflow: Overflow,
    undelivered: Option<Undelivered<T>>,
}

impl<T> Builder<T> {
    pub(super) fn new() -> Builder<T> {
        Builder {
            capacity: None,
            overflow: Overflow::Suspend,
            undelivered: None,
        }
    }

    /// Sets the maximum number of messages in the channel; 0 makes it a rendezvous.
    ///
    /// The channel is unbounded if this is not called.
    ///
    /// # Examples
    /// ```
    /// use tress::channel;
    ///
    /// let (tx, _rx) = channel::builder::<u32>().capacity(8).build();
    /// assert_eq!(tx.capacity(), Some(8));
    /// let (tx, _rx) = channel::builder::<u32>().build();
    /// assert_eq!(tx.capacity(), None);
    /// ```
    pub fn capacity(mut self, capacity: usize) -> Builder<T> {
        self.capacity = Some(capacity);
        self
    }

    /// Sets what sending does if the channel is full.
    ///
    /// The default is [`Overflow::Suspend`].
    ///
    /// # Examples
    /// ```
    /// use tress::channel::{self, Overflow};
    ///
    /// let (tx, rx) = channel::builder().capacity(1).overflow(Overflow::DropOldest).build();
    /// tx.try_send("old").unwrap();
    /// tx.try_send("new").unwrap();
    /// assert_eq!(rx.try_recv().unwrap(), "new");
    /// ```
    pub fn overflow(mut self, overflow: Overflow) -> Builder<T> {
        self.overflow = overflow;
        self
    }

    /// Sets a function that gets the messages that no receiver gets, instead of their being dropped.
    ///
    /// It is called exactly once with each message that was given to the channel and is neither
    /// received nor returned in an error:
    /// - one that [`DropOldest`](Overflow::DropOldest) or [`DropLatest`](Overflow::DropLatest) drops,
    ///   by the sender that causes it;
    /// - one that is in the channel when the last receiver is dropped, by that drop;
    /// - one whose [`send`](Sender::send) is dropped before it is ready, by that drop. (In a
    ///   rendezvous it may have been taken already; then it is received, and the function is not called.)
    ///
    /// It runs on the thread on which that happens, without a lock held. If it panics, the panic
    /// continues after the channel has finished its operation.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    /// use tress::channel;
    ///
    /// let (tell, told) = mpsc::channel();
    /// let (tx, rx) = channel::builder()
    ///     .on_undelivered(move |letter| tell.send(letter).unwrap())
    ///     .build();
    /// tx.try_send("hello").unwrap();
    /// drop(rx); // no receiver gets it
    /// assert_eq!(told.recv().unwrap(), "hello");
    /// ```
    pub fn on_undelivered(mut self, undelivered: impl Fn(T) + Send + Sync + 'static) -> Builder<T> {
        self.undelivered = Some(Box::new(undelivered));
        self
    }

    /// Creates the channel.
    ///
    /// # Panics
    /// Panics if the capacity is 0 and the overflow is not [`Suspend`](Overflow::Suspend): a rendezvous holds
    /// no message that could be dropped.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = tress::channel::builder().capacity(2).build();
    /// tx.try_send(1).unwrap();
    /// assert_eq!(rx.try_recv().unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn build(self) -> (Sender<T>, Receiver<T>) {
        assert!(
            self.capacity != Some(0) || self.overflow == Overflow::Suspend,
            "a rendezvous holds no message that could be dropped: use a capacity of at least 1, or \
             `Overflow::Suspend`"
        );
        let channel = Arc::new(Channel::new(self.capacity, self.overflow, self.undelivered));
        (Sender::new(channel.clone()), Receiver::new(channel))
    }
}

impl<T> fmt::Debug for Builder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("capacity", &self.capacity)
            .field("overflow", &self.overflow)
            .finish_non_exhaustive()
    }
}
