use super::chan::{Chan, UNBOUNDED};
use super::error::TryRecvError;
use super::rx::Rx;
use super::sender::Sender;
use super::tx::Tx;
use crate::sync::blocking;
use crate::sys::Arc;
use std::fmt;
use std::future::poll_fn;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll};

/// Makes a channel for up to `capacity` messages.
///
/// Memory is taken as messages come, in blocks of 32, not for the whole capacity at once.
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
///
/// # Panics
/// If `capacity` is 0.
#[track_caller]
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(
        capacity > 0,
        "a channel for no messages would never pass one on: use a capacity of at least 1"
    );
    let (chan, block) = Chan::new(capacity.min(UNBOUNDED - 1));
    let chan = Arc::new(chan);
    // SAFETY: the first block, and the only receiver.
    let rx = unsafe { Rx::new(chan.clone(), block) };
    (Sender::new(Tx::new(chan)), Receiver { rx })
}

/// The receiving end of a [bounded channel](channel()).
pub struct Receiver<T> {
    rx: Rx<T>,
}

impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}
impl<T> Unpin for Receiver<T> {}

impl<T> Receiver<T> {
    /// The next message; `None` when there will be none any more: all senders are gone, or the
    /// channel was closed and everything that was sent or promised before has come.
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
    ///
    /// # Cancel safety
    /// If it is dropped before it is ready no message was taken.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.rx.poll_recv(cx)).await
    }

    /// Waits for a message, and adds it and those behind it to `buffer`, up to `limit`. Returns how
    /// many there were: 0 only at the channel's end, or if `limit` is 0.
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
    ///
    /// # Cancel safety
    /// If it is dropped before it is ready no message was taken.
    pub async fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        poll_fn(|cx| self.rx.poll_recv_many(cx, buffer, limit)).await
    }

    /// The next message, if there is one.
    ///
    /// Never says `Empty` when a message was completely sent before. (If an earlier one is just being
    /// put in place it waits for that, which takes as long as moving the message.)
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

    /// As [`recv`](Receiver::recv), blocking this thread.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// std::thread::spawn(move || tx.blocking_send(1));
    /// assert_eq!(rx.blocking_recv(), Some(1));
    /// assert_eq!(rx.blocking_recv(), None);
    /// ```
    ///
    /// # Panics
    /// If this thread drives asynchronous tasks: use [`recv`](Receiver::recv) there.
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Option<T> {
        blocking::block_on(cannot_block!("mpsc::Receiver::blocking_recv"), self.recv())
    }

    /// As [`recv_many`](Receiver::recv_many), blocking this thread.
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
    ///
    /// # Panics
    /// If this thread drives asynchronous tasks: use [`recv_many`](Receiver::recv_many) there.
    #[track_caller]
    pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        blocking::block_on(
            cannot_block!("mpsc::Receiver::blocking_recv_many"),
            self.recv_many(buffer, limit),
        )
    }

    /// Refuses new messages. What is in the channel, and what is sent into places that were reserved
    /// before, can still be received; after that, [`recv`](Receiver::recv) returns `None`.
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

    /// True if no message can be sent any more: the channel was closed or all senders are gone.
    /// There may be messages left.
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

    /// True if there is no message in the channel at this moment.
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

    /// How many messages are in the channel at this moment.
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

    /// Free places at this moment. Reserved ones are not free.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!(rx.capacity(), 1);
    /// ```
    pub fn capacity(&self) -> usize {
        self.rx.chan().capacity()
    }

    /// The capacity the channel was made with.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (_tx, rx) = mpsc::channel::<()>(2);
    /// assert_eq!(rx.max_capacity(), 2);
    /// ```
    pub fn max_capacity(&self) -> usize {
        self.rx.chan().max_capacity()
    }

    /// As [`recv`](Receiver::recv), for use in hand-written futures. Only the waker of the most
    /// recent call is woken.
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

    /// As [`recv_many`](Receiver::recv_many), for use in hand-written futures. Only the waker of the
    /// most recent call is woken.
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

    /// How many senders there are.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::channel::<()>(1);
    /// let _other = tx.clone();
    /// assert_eq!(rx.sender_strong_count(), 2);
    /// ```
    pub fn sender_strong_count(&self) -> usize {
        self.rx.chan().senders().strong.get()
    }

    /// How many weak senders there are.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::channel::<()>(1);
    /// let _weak = tx.downgrade();
    /// assert_eq!(rx.sender_weak_count(), 1);
    /// ```
    pub fn sender_weak_count(&self) -> usize {
        self.rx.chan().senders().weak.get()
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
