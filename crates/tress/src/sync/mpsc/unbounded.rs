use super::chan::{Chan, UNBOUNDED};
use super::error::{SendError, TryRecvError};
use super::rx::Rx;
use super::tx::{Tx, WeakTx};
use crate::sync::blocking;
use crate::sys::Arc;
use std::fmt;
use std::future::poll_fn;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll};

/// Makes a channel for any number of messages.
///
/// Sending never waits, so nothing keeps the messages from piling up; the memory of those that were
/// received is released.
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
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (chan, block) = Chan::new(UNBOUNDED);
    let chan = Arc::new(chan);
    // SAFETY: the first block, and the only receiver.
    let rx = unsafe { Rx::new(chan.clone(), block) };
    (
        UnboundedSender { tx: Tx::new(chan) },
        UnboundedReceiver { rx },
    )
}

/// The sending end of an [unbounded channel](unbounded_channel()). Clone it to send from several
/// places.
pub struct UnboundedSender<T> {
    tx: Tx<T>,
}

/// The receiving end of an [unbounded channel](unbounded_channel()).
pub struct UnboundedReceiver<T> {
    rx: Rx<T>,
}

/// A sender that does not keep the channel open; made by [`UnboundedSender::downgrade`].
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
    /// Sends a message. It comes back if the receiver was dropped or has closed the channel.
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
        let chan = self.tx.chan();
        match chan.try_claim() {
            Ok(spot) => chan.send(spot, message).map_err(SendError),
            Err(_) => Err(SendError(message)),
        }
    }

    /// Waits until the receiver is dropped or closes the channel.
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
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub async fn closed(&self) {
        self.tx.chan().closed().await
    }

    /// True if the receiver was dropped or has closed the channel.
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
        self.tx.chan().is_closed()
    }

    /// True if both senders are of the same channel.
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

    /// A sender that does not keep the channel open.
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

    /// How many senders there are.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::unbounded_channel::<()>();
    /// let _other = tx.clone();
    /// assert_eq!(tx.strong_count(), 2);
    /// ```
    pub fn strong_count(&self) -> usize {
        self.tx.chan().senders().strong.get()
    }

    /// How many weak senders there are.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::unbounded_channel::<()>();
    /// let _weak = tx.downgrade();
    /// assert_eq!(tx.weak_count(), 1);
    /// ```
    pub fn weak_count(&self) -> usize {
        self.tx.chan().senders().weak.get()
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
    /// A sender, if there still is one.
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

    /// How many senders there are.
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
        self.tx.chan().senders().strong.get()
    }

    /// How many weak senders there are, this one included.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::unbounded_channel::<()>();
    /// assert_eq!(tx.downgrade().weak_count(), 1);
    /// ```
    pub fn weak_count(&self) -> usize {
        self.tx.chan().senders().weak.get()
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
    /// The next message; `None` when there will be none any more: all senders are gone, or the
    /// channel was closed and everything that was sent before has come.
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
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// for i in 0..5 {
    ///     tx.send(i).unwrap();
    /// }
    /// let mut batch = Vec::new();
    /// assert_eq!(rx.recv_many(&mut batch, 3).await, 3);
    /// assert_eq!(batch, [0, 1, 2]);
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

    /// As [`recv`](UnboundedReceiver::recv), blocking this thread.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// std::thread::spawn(move || tx.send(1));
    /// assert_eq!(rx.blocking_recv(), Some(1));
    /// assert_eq!(rx.blocking_recv(), None);
    /// ```
    ///
    /// # Panics
    /// If this thread drives asynchronous tasks: use [`recv`](UnboundedReceiver::recv) there.
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Option<T> {
        blocking::block_on(
            cannot_block!("mpsc::UnboundedReceiver::blocking_recv"),
            self.recv(),
        )
    }

    /// As [`recv_many`](UnboundedReceiver::recv_many), blocking this thread.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::unbounded_channel();
    /// tx.send(1).unwrap();
    /// let mut batch = Vec::new();
    /// assert_eq!(rx.blocking_recv_many(&mut batch, 10), 1);
    /// ```
    ///
    /// # Panics
    /// If this thread drives asynchronous tasks: use [`recv_many`](UnboundedReceiver::recv_many)
    /// there.
    #[track_caller]
    pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        blocking::block_on(
            cannot_block!("mpsc::UnboundedReceiver::blocking_recv_many"),
            self.recv_many(buffer, limit),
        )
    }

    /// Refuses new messages. What is in the channel can still be received; after that,
    /// [`recv`](UnboundedReceiver::recv) returns `None`.
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

    /// True if no message can be sent any more: the channel was closed or all senders are gone.
    /// There may be messages left.
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

    /// True if there is no message in the channel at this moment.
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

    /// How many messages are in the channel at this moment.
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

    /// As [`recv`](UnboundedReceiver::recv), for use in hand-written futures. Only the waker of the
    /// most recent call is woken.
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

    /// As [`recv_many`](UnboundedReceiver::recv_many), for use in hand-written futures. Only the
    /// waker of the most recent call is woken.
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

    /// How many senders there are.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, rx) = mpsc::unbounded_channel::<()>();
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
    /// let (tx, rx) = mpsc::unbounded_channel::<()>();
    /// let _weak = tx.downgrade();
    /// assert_eq!(rx.sender_weak_count(), 1);
    /// ```
    pub fn sender_weak_count(&self) -> usize {
        self.rx.chan().senders().weak.get()
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
