use super::attempt::Receiving;
use super::error::{Cause, RecvError, RecvTimeoutError, TryRecvError};
use super::rendezvous::{Meet, Meeting};
use super::shared::{Channel, by_kind};
use crate::queue::{Arrive, Many, Over, Queue};
use crate::runtime::block_thread::{self, cannot_block};
use crate::sys::Arc;
use crate::task::coop;
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::iter::FusedIterator;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::time::Instant;

/// The receiving end of a channel, which can be cloned: each message goes to one of the receivers.
///
/// When the last receiver is dropped the channel is closed, and what is left in it goes to
/// [`on_undelivered`](super::Builder::on_undelivered).
///
/// # Examples
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = tress::channel::bounded(1);
/// let workers = [rx.clone(), rx].map(|rx| {
///     tress::spawn(async move {
///         let mut received = 0;
///         while rx.recv().await.is_ok() {
///             received += 1;
///         }
///         received
///     })
/// });
/// for n in 0..10 {
///     tx.send(n).await.unwrap();
/// }
/// drop(tx);
/// let [one, other] = workers;
/// assert_eq!(one.await.unwrap() + other.await.unwrap(), 10);
/// # });
/// ```
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
}

/// A receiver that does not keep the channel open; returned by [`Receiver::downgrade`].
///
/// # Examples
///
/// ```
/// let (tx, rx) = tress::channel::bounded::<u32>(1);
/// let weak = rx.downgrade();
/// drop(rx);
/// assert!(tx.is_closed());
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakReceiver<T> {
    channel: Arc<Channel<T>>,
}

impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}
impl<T> UnwindSafe for WeakReceiver<T> {}
impl<T> RefUnwindSafe for WeakReceiver<T> {}

impl<T> Receiver<T> {
    /// Creates the first receiver of a channel.
    pub(super) fn new(channel: Arc<Channel<T>>) -> Receiver<T> {
        Receiver { channel }
    }

    #[inline(always)]
    pub(super) fn channel(&self) -> &Channel<T> {
        &self.channel
    }

    /// Receives the next message, waiting until there is one; in a rendezvous, until a sender comes.
    ///
    /// # Errors
    /// Returns [`RecvError`] if the channel is closed, all its messages have been received, and no place is
    /// reserved.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before it is ready, no message is lost: another
    /// receiver gets it, or the next call.
    ///
    /// # Examples
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tress::channel::bounded(1);
    /// tress::spawn(async move { tx.send("hello").await });
    /// assert_eq!(rx.recv().await.unwrap(), "hello");
    /// assert!(rx.recv().await.is_err()); // the sender is gone
    /// # });
    /// ```
    pub fn recv(&self) -> impl Future<Output = Result<T, RecvError>> {
        Receiving::First {
            channel: &self.channel,
            wait: wait_to_receive,
        }
    }

    /// Waits until there is a message, and moves up to `limit` messages to the end of `buffer`.
    ///
    /// Returns the number of messages that were moved, which is 0 only if `limit` is 0.
    ///
    /// # Errors
    /// Returns an error where [`recv`](Receiver::recv) does.
    ///
    /// # Cancel safety
    /// This method is cancel safe, as [`recv`](Receiver::recv) is.
    ///
    /// # Examples
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tress::channel::bounded(10);
    /// for i in 0..5 {
    ///     tx.send(i).await.unwrap();
    /// }
    /// let mut batch = Vec::new();
    /// assert_eq!(rx.recv_many(&mut batch, 3).await.unwrap(), 3);
    /// assert_eq!(rx.recv_many(&mut batch, 3).await.unwrap(), 2);
    /// assert_eq!(batch, [0, 1, 2, 3, 4]);
    /// # });
    /// ```
    pub async fn recv_many(&self, buffer: &mut Vec<T>, limit: usize) -> Result<usize, RecvError> {
        if limit == 0 {
            return Ok(0);
        }
        let first = self.recv().await?;
        buffer.push(first);
        let mut received = 1;
        while received < limit {
            buffer.reserve(1);
            match self.try_recv() {
                Ok(message) => buffer.push(message),
                Err(_) => break,
            }
            received += 1;
        }
        Ok(received)
    }

    /// Receives the next message without waiting, if there is one; in a rendezvous, if a sender waits.
    ///
    /// If a sender is moving its message into the channel, this method waits for that. So it never reports
    /// an empty channel after a call of `send` has returned.
    ///
    /// # Errors
    /// - [`TryRecvError::Empty`] if there is no message at the moment.
    /// - [`TryRecvError::Closed`] if none will come.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::bounded(1);
    /// assert!(rx.try_recv().unwrap_err().is_empty());
    /// tx.try_send(1).unwrap();
    /// drop(tx);
    /// assert_eq!(rx.try_recv().unwrap(), 1);
    /// assert!(rx.try_recv().unwrap_err().is_closed());
    /// ```
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.channel.try_recv()
    }

    /// Receives the next message, blocking the thread until there is one.
    ///
    /// # Errors
    /// Returns an error where [`recv`](Receiver::recv) does.
    ///
    /// # Panics
    /// Panics if the thread drives asynchronous tasks: use [`recv`](Receiver::recv) there.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::bounded(1);
    /// std::thread::spawn(move || tx.send_blocking(1));
    /// assert_eq!(rx.recv_blocking().unwrap(), 1);
    /// assert!(rx.recv_blocking().is_err());
    /// ```
    #[track_caller]
    pub fn recv_blocking(&self) -> Result<T, RecvError> {
        block_thread::block_on(cannot_block!("Receiver::recv_blocking"), self.recv())
    }

    /// Receives the next message, blocking the thread until there is one, or until a deadline.
    ///
    /// # Errors
    /// - [`RecvTimeoutError::Timeout`] if no message came before the deadline.
    /// - [`RecvTimeoutError::Closed`] if none will come.
    ///
    /// # Panics
    /// Panics if the thread drives asynchronous tasks: use [`recv`](Receiver::recv) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// let (tx, rx) = tress::channel::bounded(1);
    /// assert!(rx.recv_blocking_until(Instant::now()).unwrap_err().is_timeout());
    /// tx.try_send(1).unwrap();
    /// assert_eq!(rx.recv_blocking_until(Instant::now()).unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn recv_blocking_until(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        let what = cannot_block!("Receiver::recv_blocking_until");
        match block_thread::block_on_until(what, deadline, self.recv()) {
            Some(received) => Ok(received?),
            None => Err(RecvTimeoutError::Timeout),
        }
    }

    /// Returns an iterator that receives messages, blocking the thread, until the channel is closed and empty.
    ///
    /// # Panics
    /// `next` of the iterator panics if the thread drives asynchronous tasks.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::bounded(2);
    /// let sender = std::thread::spawn(move || {
    ///     for i in 0..10 {
    ///         tx.send_blocking(i).unwrap();
    ///     }
    /// });
    /// assert_eq!(rx.iter().sum::<i32>(), 45);
    /// sender.join().unwrap();
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// Returns an iterator that receives messages without waiting, until there is none.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::unbounded();
    /// tx.try_send(1).unwrap();
    /// tx.try_send(2).unwrap();
    /// assert_eq!(rx.try_iter().collect::<Vec<_>>(), [1, 2]);
    /// ```
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }

    /// Closes the channel, as [`Sender::close`](super::Sender::close) does. Its messages can still be
    /// received.
    ///
    /// Returns `false` if the channel was closed already.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::unbounded();
    /// tx.try_send(1).unwrap();
    /// assert!(rx.close());
    /// assert!(tx.try_send(2).unwrap_err().is_closed());
    /// assert_eq!(rx.try_recv().unwrap(), 1);
    /// ```
    pub fn close(&self) -> bool {
        self.channel.close(None, false)
    }

    /// Closes the channel and sets the cause that both sides find in their errors, as
    /// [`Sender::close_with`](super::Sender::close_with) does.
    ///
    /// Returns `false` if the channel was closed already; the cause is dropped then.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::unbounded();
    /// assert!(rx.close_with("out of memory"));
    /// let error = tx.send_blocking(1).unwrap_err();
    /// assert_eq!(error.cause().unwrap().to_string(), "out of memory");
    /// ```
    pub fn close_with(&self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        self.channel.close(Some(Cause::new(cause)), false)
    }

    /// Creates a receiver that does not keep the channel open.
    ///
    /// # Examples
    ///
    /// ```
    /// let (_tx, rx) = tress::channel::bounded::<()>(1);
    /// let weak = rx.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(rx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    pub fn downgrade(&self) -> WeakReceiver<T> {
        WeakReceiver {
            channel: self.channel.clone(),
        }
    }

    /// Returns `true` if both receivers are of the same channel.
    ///
    /// # Examples
    ///
    /// ```
    /// let (_tx, one) = tress::channel::unbounded::<()>();
    /// let (_tx, two) = tress::channel::unbounded::<()>();
    /// assert!(one.same_channel(&one.clone()));
    /// assert!(!one.same_channel(&two));
    /// ```
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Receiver<T> {
        self.channel.receivers.add();
        Receiver {
            channel: self.channel.clone(),
        }
    }
}

async fn wait_to_receive<T>(channel: &Channel<T>) -> Result<T, RecvError> {
    by_kind!(
        channel,
        queue => match wait_for_message(queue).await {
            Ok(message) => Ok(message),
            Err(Over) => Err(channel.recv_error()),
        },
        meeting => match wait_to_meet(meeting).await {
            Some(message) => Ok(message),
            None => Err(channel.recv_error()),
        },
    )
}

#[inline]
async fn wait_for_message<L: Many>(queue: &Queue<L>) -> Result<L::Message, Over> {
    let mut arrive = pin!(Arrive::new(queue));
    coop::cooperative(poll_fn(|cx| arrive.as_mut().poll_take(cx))).await
}

async fn wait_to_meet<T>(meeting: &Meeting<T>) -> Option<T> {
    let mut meet = pin!(Meet::take(meeting));
    let _met = coop::cooperative(poll_fn(|cx| meet.as_mut().poll_meet(cx))).await;
    meet.as_mut().into_hand()
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.channel.remove_receiver();
    }
}

impl<T> WeakReceiver<T> {
    /// Creates a receiver, or returns `None` if all receivers were dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::unbounded();
    /// let weak = rx.downgrade();
    /// tx.try_send(1).unwrap();
    /// assert_eq!(weak.upgrade().unwrap().try_recv().unwrap(), 1);
    /// drop(rx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    pub fn upgrade(&self) -> Option<Receiver<T>> {
        self.channel.receivers.try_add().then(|| Receiver {
            channel: self.channel.clone(),
        })
    }
}

impl<T> Clone for WeakReceiver<T> {
    fn clone(&self) -> WeakReceiver<T> {
        WeakReceiver {
            channel: self.channel.clone(),
        }
    }
}

impl<T> fmt::Debug for WeakReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakReceiver").finish_non_exhaustive()
    }
}

/// An iterator over the messages of a channel that blocks the thread; returned by [`Receiver::iter`].
///
/// # Examples
///
/// ```
/// let (tx, rx) = tress::channel::unbounded();
/// std::thread::spawn(move || (0..3).for_each(|n| tx.try_send(n).unwrap()));
/// for (expected, n) in rx.iter().enumerate() {
///     assert_eq!(n, expected);
/// }
/// ```
#[derive(Debug)]
pub struct Iter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// An iterator over the messages of a channel that blocks the thread and owns its receiver; returned by
/// [`Receiver::into_iter`].
///
/// # Examples
///
/// ```
/// let (tx, rx) = tress::channel::unbounded();
/// std::thread::spawn(move || (0..3).for_each(|n| tx.try_send(n).unwrap()));
/// assert_eq!(rx.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
/// ```
#[derive(Debug)]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

/// An iterator over the messages of a channel that never waits; returned by [`Receiver::try_iter`].
///
/// # Examples
///
/// ```
/// let (tx, rx) = tress::channel::unbounded();
/// tx.try_send(1).unwrap();
/// let mut messages = rx.try_iter();
/// assert_eq!(messages.next(), Some(1));
/// assert_eq!(messages.next(), None);
/// ```
#[derive(Debug)]
pub struct TryIter<'a, T> {
    receiver: &'a Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv_blocking().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv_blocking().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

// No message comes after the end of a channel.
impl<T> FusedIterator for Iter<'_, T> {}
impl<T> FusedIterator for IntoIter<T> {}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    /// Returns an iterator that receives messages, blocking the thread, until the channel is closed and empty.
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    /// Returns an iterator that receives messages, blocking the thread, until the channel is closed and empty.
    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}
