use super::error::{SendError, TryRecvError};
use super::rx::Rx;
use super::tx::{Tx, WeakTx};
use crate::queue::{Queue, UNBOUNDED};
use crate::runtime::block_thread::{self, cannot_block};
use crate::task::coop;
use std::fmt;
use std::future::poll_fn;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll};

/// Creates a channel that holds any number of messages.
///
/// Sending never waits, so nothing limits the number of messages that wait to be received; the memory of those
/// that were received is released.
///
/// # Examples
///
/// ```
/// use tress::sync::mpsc;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = mpsc::unbounded_channel();
/// tx.send("one").unwrap();
/// tx.send("two").unwrap();
/// assert_eq!(rx.recv().await, Some("one"));
/// # });
/// ```
#[track_caller]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (queue, consumer) = Queue::single(UNBOUNDED);
    let rx = Rx::new(consumer);
    (
        UnboundedSender { tx: Tx::new(queue) },
        UnboundedReceiver { rx },
    )
}

/// The sending end of an [unbounded channel](unbounded_channel()), which can be cloned.
pub struct UnboundedSender<T> {
    tx: Tx<T>,
}

/// The receiving end of an [unbounded channel](unbounded_channel()).
pub struct UnboundedReceiver<T> {
    rx: Rx<T>,
}

/// A sender that does not keep the channel open; returned by [`UnboundedSender::downgrade`].
///
/// # Examples
///
/// ```
/// use tress::sync::mpsc;
///
/// let (tx, _rx) = mpsc::unbounded_channel::<()>();
/// let weak = tx.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakUnboundedSender<T> {
    tx: WeakTx<T>,
}

impl<T> UnwindSafe for UnboundedSender<T> {}
impl<T> RefUnwindSafe for UnboundedSender<T> {}
impl<T> UnwindSafe for UnboundedReceiver<T> {}
impl<T> RefUnwindSafe for UnboundedReceiver<T> {}
impl<T> UnwindSafe for WeakUnboundedSender<T> {}
impl<T> RefUnwindSafe for WeakUnboundedSender<T> {}
impl<T> Unpin for UnboundedReceiver<T> {}

impl<T> UnboundedSender<T> {
    /// Sends a message. This never waits.
    ///
    /// # Errors
    /// Returns the message if the receiver was dropped or has closed the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::unbounded_channel();
    /// assert!(tx.send(1).is_ok());
    /// drop(rx);
    /// assert_eq!(tx.send(2).unwrap_err().0, 2);
    /// ```
    #[inline]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let queue = self.tx.queue();
        match queue.try_claim() {
            Ok(spot) => {
                queue.has_grown();
                queue.send(spot, message).map_err(SendError)
            }
            Err(_) => Err(SendError(message)),
        }
    }

    /// Waits until the receiver is dropped or closes the channel.
    ///
    /// # Cancel safety
    /// This method is cancel safe.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = mpsc::unbounded_channel::<()>();
    /// tress::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// # });
    /// ```
    pub async fn closed(&self) {
        coop::cooperative(self.tx.queue().closed()).await
    }

    /// Returns `true` if the receiver was dropped or has closed the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::unbounded_channel::<()>();
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.tx.queue().is_closed()
    }

    /// Returns `true` if both senders are of the same channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::unbounded_channel::<()>();
    /// assert!(tx.same_channel(&tx.clone()));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        self.tx.same_channel(&other.tx)
    }

    /// Creates a sender that does not keep the channel open.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::unbounded_channel::<()>();
    /// let weak = tx.downgrade();
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// # drop(weak);
    /// ```
    #[must_use = "a weak sender does nothing by itself"]
    pub fn downgrade(&self) -> WeakUnboundedSender<T> {
        WeakUnboundedSender {
            tx: self.tx.downgrade(),
        }
    }

    /// Returns the number of senders.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::unbounded_channel::<()>();
    /// let _other = tx.clone();
    /// assert_eq!(tx.strong_count(), 2);
    /// ```
    pub fn strong_count(&self) -> usize {
        self.tx.queue().senders().strong.get()
    }

    /// Returns the number of weak senders.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::unbounded_channel::<()>();
    /// let _weak = tx.downgrade();
    /// assert_eq!(tx.weak_count(), 1);
    /// ```
    pub fn weak_count(&self) -> usize {
        self.tx.queue().senders().weak.get()
    }
}

impl<T> Clone for UnboundedSender<T> {
    fn clone(&self) -> Self {
        UnboundedSender {
            tx: self.tx.clone(),
        }
    }
}

impl<T> fmt::Debug for UnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnboundedSender")
            .field("closed", &self.is_closed())
            .finish()
    }
}

impl<T> WeakUnboundedSender<T> {
    /// Creates a sender. Returns `None` if all senders were dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// let weak = tx.downgrade();
    /// weak.upgrade().unwrap().send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    pub fn upgrade(&self) -> Option<UnboundedSender<T>> {
        self.tx.upgrade().map(|tx| UnboundedSender { tx })
    }

    /// Returns the number of senders.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::unbounded_channel::<()>();
    /// let weak = tx.downgrade();
    /// drop(tx);
    /// assert_eq!(weak.strong_count(), 0);
    /// ```
    pub fn strong_count(&self) -> usize {
        self.tx.queue().senders().strong.get()
    }

    /// Returns the number of weak senders, including this one.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::unbounded_channel::<()>();
    /// assert_eq!(tx.downgrade().weak_count(), 1);
    /// ```
    pub fn weak_count(&self) -> usize {
        self.tx.queue().senders().weak.get()
    }
}

impl<T> Clone for WeakUnboundedSender<T> {
    fn clone(&self) -> Self {
        WeakUnboundedSender {
            tx: self.tx.clone(),
        }
    }
}

impl<T> fmt::Debug for WeakUnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakUnboundedSender")
            .finish_non_exhaustive()
    }
}

impl<T> UnboundedReceiver<T> {
    /// Receives the next message, waiting until there is one. Returns `None` if no message will come: all
    /// senders were dropped, or the channel was closed, and all messages have been received.
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
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// tress::spawn(async move { tx.send("hello") });
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
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// for i in 0..5 {
    ///     tx.send(i).unwrap();
    /// }
    /// let mut batch = Vec::new();
    /// assert_eq!(rx.recv_many(&mut batch, 3).await, 3);
    /// assert_eq!(batch, [0, 1, 2]);
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
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.send(1).unwrap();
    /// drop(tx);
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.rx.try_recv()
    }

    /// Receives the next message, as [`recv`](UnboundedReceiver::recv) does, blocking the thread until there is
    /// one.
    ///
    /// # Panics
    /// If the thread drives asynchronous tasks: use [`recv`](UnboundedReceiver::recv) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// std::thread::spawn(move || tx.send(1));
    /// assert_eq!(rx.blocking_recv(), Some(1));
    /// assert_eq!(rx.blocking_recv(), None);
    /// ```
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Option<T> {
        block_thread::block_on(
            cannot_block!("mpsc::UnboundedReceiver::blocking_recv"),
            self.recv(),
        )
    }

    /// Receives up to `limit` messages, as [`recv_many`](UnboundedReceiver::recv_many) does, blocking the thread
    /// until there is one.
    ///
    /// # Panics
    /// If the thread drives asynchronous tasks: use [`recv_many`](UnboundedReceiver::recv_many)
    /// there.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// tx.send(1).unwrap();
    /// let mut batch = Vec::new();
    /// assert_eq!(rx.blocking_recv_many(&mut batch, 10), 1);
    /// ```
    #[track_caller]
    pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        block_thread::block_on(
            cannot_block!("mpsc::UnboundedReceiver::blocking_recv_many"),
            self.recv_many(buffer, limit),
        )
    }

    /// Closes the channel: no new message can be sent. Messages that are in the channel can still be received;
    /// after them, [`recv`](UnboundedReceiver::recv) returns `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// tx.send(1).unwrap();
    /// rx.close();
    /// assert!(tx.send(2).is_err());
    /// assert_eq!(rx.try_recv(), Ok(1));
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
    /// let (tx, rx) = mpsc::unbounded_channel::<()>();
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
    /// let (tx, rx) = mpsc::unbounded_channel();
    /// tx.send(1).unwrap();
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
    /// let (tx, rx) = mpsc::unbounded_channel();
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.rx.len()
    }

    /// Polls for the next message, as [`recv`](UnboundedReceiver::recv) does. Only the waker of the most recent
    /// call is woken.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// tx.send(1).unwrap();
    /// assert_eq!(poll_fn(|cx| rx.poll_recv(cx)).await, Some(1));
    /// # });
    /// ```
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.rx.poll_recv(cx)
    }

    /// Polls for up to `limit` messages, as [`recv_many`](UnboundedReceiver::recv_many) does. Only the waker of
    /// the most recent call is woken.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// tx.send(1).unwrap();
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
    /// let (tx, rx) = mpsc::unbounded_channel::<()>();
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
    /// let (tx, rx) = mpsc::unbounded_channel::<()>();
    /// let _weak = tx.downgrade();
    /// assert_eq!(rx.sender_weak_count(), 1);
    /// ```
    pub fn sender_weak_count(&self) -> usize {
        self.rx.queue().senders().weak.get()
    }
}

impl<T> fmt::Debug for UnboundedReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnboundedReceiver")
            .field("len", &self.len())
            .field("closed", &self.is_closed())
            .finish()
    }
}
