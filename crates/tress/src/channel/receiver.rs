use super::arrivals::{Arrive, Many, Over};
use super::attempt::Receiving;
use super::chan::Chan;
use super::error::{Cause, RecvError, RecvTimeoutError, TryRecvError};
use super::meet::Meet;
use super::meeting::Meeting;
use super::shared::{Channel, by_kind};
use crate::sync::{blocking, cannot_block};
use crate::sys::Arc;
use crate::task::coop;
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::iter::FusedIterator;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::task::{Poll, ready};
use std::time::Instant;

/// The receiving end of a channel. Clone it to receive in several places: each message goes to one of
/// them.
///
/// When the last one is dropped the channel is closed, and what is left in it goes to
/// [`on_undelivered`](super::Builder::on_undelivered).
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
}

/// A receiver that does not keep the channel open; made by [`Receiver::downgrade`].
pub struct WeakReceiver<T> {
    channel: Arc<Channel<T>>,
}

impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}
impl<T> UnwindSafe for WeakReceiver<T> {}
impl<T> RefUnwindSafe for WeakReceiver<T> {}

impl<T> Receiver<T> {
    /// The first receiver of a channel.
    pub(super) fn new(channel: Arc<Channel<T>>) -> Receiver<T> {
        Receiver { channel }
    }

    #[inline(always)]
    pub(super) fn channel(&self) -> &Channel<T> {
        &self.channel
    }

    /// The next message. The error means that the channel is closed, and that everything that was sent
    /// or promised before has been received.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tress::channel::bounded(1);
    /// tress::spawn(async move { tx.send("hello").await });
    /// assert_eq!(rx.recv().await.unwrap(), "hello");
    /// assert!(rx.recv().await.is_err()); // the sender is gone
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// If it is dropped before it is ready no message is lost: another receiver gets it, or the next
    /// call.
    pub fn recv(&self) -> impl Future<Output = Result<T, RecvError>> {
        Receiving::First {
            channel: &self.channel,
            wait: wait_to_receive,
        }
    }

    /// Waits for a message, and adds it and those behind it to `buffer`, up to `limit`. Returns how
    /// many there were; 0 only if `limit` is 0.
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
    ///
    /// # Cancel safety
    /// As [`recv`](Receiver::recv).
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

    /// The next message, if there is one; in a rendezvous, if a sender waits.
    ///
    /// Never says that the channel is empty when a message was completely sent before. (If an earlier
    /// one is just being put in place it waits for that, which takes as long as moving the message.)
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

    /// As [`recv`](Receiver::recv), blocking this thread.
    ///
    /// ```
    /// let (tx, rx) = tress::channel::bounded(1);
    /// std::thread::spawn(move || tx.send_blocking(1));
    /// assert_eq!(rx.recv_blocking().unwrap(), 1);
    /// assert!(rx.recv_blocking().is_err());
    /// ```
    ///
    /// # Panics
    /// If this thread drives asynchronous tasks: use [`recv`](Receiver::recv) there.
    #[track_caller]
    pub fn recv_blocking(&self) -> Result<T, RecvError> {
        blocking::block_on(cannot_block!("Receiver::recv_blocking"), self.recv())
    }

    /// As [`recv_blocking`](Receiver::recv_blocking), until a deadline.
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// let (tx, rx) = tress::channel::bounded(1);
    /// assert!(rx.recv_blocking_until(Instant::now()).unwrap_err().is_timeout());
    /// tx.try_send(1).unwrap();
    /// assert_eq!(rx.recv_blocking_until(Instant::now()).unwrap(), 1);
    /// ```
    ///
    /// # Panics
    /// As [`recv_blocking`](Receiver::recv_blocking).
    #[track_caller]
    pub fn recv_blocking_until(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        let what = cannot_block!("Receiver::recv_blocking_until");
        match blocking::block_on_until(what, deadline, self.recv()) {
            Some(received) => Ok(received?),
            None => Err(RecvTimeoutError::Timeout),
        }
    }

    /// The messages, one by one, blocking this thread, until the channel is closed.
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

    /// The messages that are there, without waiting for more.
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

    /// Closes the channel, as [`Sender::close`](super::Sender::close) does. What is in it can still be
    /// received.
    pub fn close(&self) -> bool {
        self.channel.close(None, false)
    }

    /// As [`close`](Receiver::close), and says why, as
    /// [`Sender::close_with`](super::Sender::close_with) does.
    pub fn close_with(&self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        self.channel.close(Some(Cause::new(cause)), false)
    }

    /// A receiver that does not keep the channel open.
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

    /// True if both are of the same channel.
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
        chan => match wait_for_message(chan).await {
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
async fn wait_for_message<L: Many>(chan: &Chan<L>) -> Result<L::Message, Over> {
    let mut arrive = pin!(Arrive::new(chan));
    poll_fn(|cx| {
        let proceed = ready!(coop::poll_proceed(cx));
        let taken = ready!(arrive.as_mut().poll_take(cx));
        proceed.made_progress();
        Poll::Ready(taken)
    })
    .await
}

async fn wait_to_meet<T>(meeting: &Meeting<T>) -> Option<T> {
    let mut meet = pin!(Meet::take(meeting));
    let _met = poll_fn(|cx| {
        let proceed = ready!(coop::poll_proceed(cx));
        let met = ready!(meet.as_mut().poll_meet(cx));
        proceed.made_progress();
        Poll::Ready(met)
    })
    .await;
    meet.as_mut().into_hand()
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.channel.remove_receiver();
    }
}

impl<T> WeakReceiver<T> {
    /// A receiver, unless all are gone.
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

/// Messages, one by one; made by [`Receiver::iter`]. Blocks the thread.
#[derive(Debug)]
pub struct Iter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// As [`Iter`], with a receiver of its own.
#[derive(Debug)]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

/// The messages that are there; made by [`Receiver::try_iter`].
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

// After the end of a channel comes nothing.
impl<T> FusedIterator for Iter<'_, T> {}
impl<T> FusedIterator for IntoIter<T> {}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}
