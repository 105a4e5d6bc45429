use super::error::TryRecvError;
use super::rx::Rx;
use super::sender::Sender;
use super::tx::Tx;
use crate::queue::{Queue, UNBOUNDED};
use crate::runtime::block_thread::{self, cannot_block};
use std::fmt;
use std::future::poll_fn;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll};

/// Creates a channel that holds up to `capacity` messages.
///
/// Memory is allocated as messages come, in blocks of 32, not for the whole capacity at once.
///
/// # Panics
/// If `capacity` is 0.
///
/// # Examples
///
/// ```
/// use tress::sync::mpsc;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = mpsc::channel(2);
/// tx.send("one").await.unwrap();
/// tx.send("two").await.unwrap();
/// assert!(tx.try_send("three").is_err()); // full
/// assert_eq!(rx.recv().await, Some("one"));
/// # });
/// ```
#[track_caller]
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(
        capacity > 0,
        "a channel for no messages would never pass one on: use a capacity of at least 1"
    );
    let (queue, consumer) = Queue::single(capacity.min(UNBOUNDED - 1));
    let rx = Rx::new(consumer);
    (Sender::new(Tx::new(queue)), Receiver { rx })
}

/// The receiving end of a [bounded channel](channel()).
pub struct Receiver<T> {
    rx: Rx<T>,
}

impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}
impl<T> Unpin for Receiver<T> {}

impl<T> Receiver<T> {
    /// Receives the next message, waiting until there is one. Returns `None` if no message will come: all
    /// senders were dropped, or the channel was closed, and all messages and reserved places have been used up.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before it is ready, no message was taken.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// tress::spawn(async move { tx.send("hello").await });
    /// assert_eq!(rx.recv().await, Some("hello"));
    /// assert_eq!(rx.recv().await, None);
    /// # });
    /// ```
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.rx.poll_recv(cx)).await
    }

    /// Waits until there is a message, and moves up to `limit` messages to the end of `buffer`. Returns how
    /// many they were: 0 only if no message will come, or if `limit` is 0.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before it is ready, no message was taken.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(10);
    /// for i in 0..5 {
    ///     tx.send(i).await.unwrap();
    /// }
    /// let mut batch = Vec::new();
    /// assert_eq!(rx.recv_many(&mut batch, 3).await, 3);
    /// assert_eq!(rx.recv_many(&mut batch, 3).await, 2);
    /// assert_eq!(batch, [0, 1, 2, 3, 4]);
    /// # });
    /// ```
    pub async fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        poll_fn(|cx| self.rx.poll_recv_many(cx, buffer, limit)).await
    }

    /// Receives the next message without waiting, if there is one.
    ///
    /// If a sender is moving its message into the channel, this method waits for that. So it never reports
    /// an empty channel after a call of `send` has returned.
    ///
    /// # Errors
    /// Returns an error if there is no message, or if none will come.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc::{self, error::TryRecvError};
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.try_send(1).unwrap();
    /// drop(tx);
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.rx.try_recv()
    }

    /// Receives the next message, as [`recv`](Receiver::recv) does, blocking the thread until there is one.
    ///
    /// # Panics
    /// If the thread drives asynchronous tasks: use [`recv`](Receiver::recv) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// std::thread::spawn(move || tx.blocking_send(1));
    /// assert_eq!(rx.blocking_recv(), Some(1));
    /// assert_eq!(rx.blocking_recv(), None);
    /// ```
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Option<T> {
        block_thread::block_on(cannot_block!("mpsc::Receiver::blocking_recv"), self.recv())
    }

    /// Receives up to `limit` messages, as [`recv_many`](Receiver::recv_many) does, blocking the thread until
    /// there is one.
    ///
    /// # Panics
    /// If the thread drives asynchronous tasks: use [`recv_many`](Receiver::recv_many) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(2);
    /// tx.blocking_send(1).unwrap();
    /// tx.blocking_send(2).unwrap();
    /// let mut batch = Vec::new();
    /// assert_eq!(rx.blocking_recv_many(&mut batch, 10), 2);
    /// ```
    #[track_caller]
    pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        block_thread::block_on(
            cannot_block!("mpsc::Receiver::blocking_recv_many"),
            self.recv_many(buffer, limit),
        )
    }

    /// Closes the channel: no new message can be sent. Messages that are in the channel, or are sent into places
    /// that were reserved before, can still be received; after them, [`recv`](Receiver::recv) returns `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(2);
    /// tx.send(1).await.unwrap();
    /// rx.close();
    /// assert!(tx.send(2).await.is_err());
    /// assert_eq!(rx.recv().await, Some(1));
    /// assert_eq!(rx.recv().await, None);
    /// # });
    /// ```
    pub fn close(&mut self) {
        self.rx.close();
    }

    /// Returns `true` if no message can be sent any more: the channel was closed, or all senders were dropped.
    /// There may be messages left.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::channel::<()>(1);
    /// assert!(!rx.is_closed());
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.rx.is_closed()
    }

    /// Returns `true` if there is no message in the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::channel(1);
    /// assert!(rx.is_empty());
    /// tx.try_send(1).unwrap();
    /// assert!(!rx.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of messages in the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!(rx.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.rx.len()
    }

    /// Returns the number of free places. Reserved places are not free.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!(rx.capacity(), 1);
    /// ```
    pub fn capacity(&self) -> usize {
        self.rx.queue().free_places()
    }

    /// Returns the capacity with which the channel was created.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (_tx, rx) = mpsc::channel::<()>(2);
    /// assert_eq!(rx.max_capacity(), 2);
    /// ```
    pub fn max_capacity(&self) -> usize {
        self.rx.queue().max_capacity()
    }

    /// Polls for the next message, as [`recv`](Receiver::recv) does. Only the waker of the most recent call is
    /// woken.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// tx.send(1).await.unwrap();
    /// assert_eq!(poll_fn(|cx| rx.poll_recv(cx)).await, Some(1));
    /// # });
    /// ```
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.rx.poll_recv(cx)
    }

    /// Polls for up to `limit` messages, as [`recv_many`](Receiver::recv_many) does. Only the waker of the most
    /// recent call is woken.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// tx.send(1).await.unwrap();
    /// let mut batch = Vec::new();
    /// assert_eq!(poll_fn(|cx| rx.poll_recv_many(cx, &mut batch, 8)).await, 1);
    /// # });
    /// ```
    pub fn poll_recv_many(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        self.rx.poll_recv_many(cx, buffer, limit)
    }

    /// Returns the number of senders.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::channel::<()>(1);
    /// let _other = tx.clone();
    /// assert_eq!(rx.sender_strong_count(), 2);
    /// ```
    pub fn sender_strong_count(&self) -> usize {
        self.rx.queue().senders().strong.get()
    }

    /// Returns the number of weak senders.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::channel::<()>(1);
    /// let _weak = tx.downgrade();
    /// assert_eq!(rx.sender_weak_count(), 1);
    /// ```
    pub fn sender_weak_count(&self) -> usize {
        self.rx.queue().senders().weak.get()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("len", &self.len())
            .field("max_capacity", &self.max_capacity())
            .field("closed", &self.is_closed())
            .finish()
    }
}
