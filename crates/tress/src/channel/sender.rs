use super::attempt::Sending;
use super::builder::Overflow;
use super::error::{Cause, SendError, SendTimeoutError, TrySendError};
use super::permit::{OwnedPermit, Permit};
use super::rendezvous::{Hope, Meet, Meeting};
use super::shared::{Channel, Kind, Outgoing, by_kind};
use crate::queue::{Acquire, Closed, Many, Queue};
use crate::runtime::block_thread::{self, cannot_block};
use crate::sys::Arc;
use crate::task::coop;
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::{Pin, pin};
use std::time::Instant;

/// The sending end of a channel, which can be cloned.
///
/// When the last sender is dropped the channel is closed: receivers get what is left, and then an error.
///
/// # Examples
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = tress::channel::bounded(1);
/// for tx in [tx.clone(), tx] {
///     tress::spawn(async move { tx.send("hello").await });
/// }
/// assert_eq!(rx.recv().await.unwrap(), "hello");
/// assert_eq!(rx.recv().await.unwrap(), "hello");
/// assert!(rx.recv().await.is_err()); // both senders are gone
/// # });
/// ```
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
}

/// A sender that does not keep the channel open; returned by [`Sender::downgrade`].
///
/// # Examples
///
/// ```
/// let (tx, rx) = tress::channel::bounded::<u32>(1);
/// let weak = tx.downgrade();
/// drop(tx);
/// assert!(rx.is_closed());
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakSender<T> {
    channel: Arc<Channel<T>>,
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for WeakSender<T> {}
impl<T> RefUnwindSafe for WeakSender<T> {}

impl<T> Sender<T> {
    /// Creates the first sender of a channel.
    pub(super) fn new(channel: Arc<Channel<T>>) -> Sender<T> {
        Sender { channel }
    }

    #[inline(always)]
    pub(super) fn channel(&self) -> &Channel<T> {
        &self.channel
    }

    /// Sends a message, waiting until a place is free; in a rendezvous, until a receiver takes it.
    ///
    /// Success does not mean that the message will be received: the receivers may be dropped.
    ///
    /// # Errors
    /// Returns [`SendError`], which contains the message, if the channel is closed.
    ///
    /// # Cancel safety
    /// This method is not cancel safe. If the future is dropped before it is ready, the message was not sent,
    /// and goes to [`on_undelivered`](super::Builder::on_undelivered); the place in line is lost. To keep the
    /// message, use [`reserve`](Sender::reserve). In a rendezvous, a receiver may have taken the message
    /// while the future was not polled: then it is received. Use [`Select`](super::Select) if
    /// that makes a difference.
    ///
    /// # Examples
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tress::channel::bounded(1);
    /// tress::spawn(async move {
    ///     for i in 0..10 {
    ///         if tx.send(i).await.is_err() {
    ///             break; // nobody listens any more
    ///         }
    ///     }
    /// });
    /// for i in 0..10 {
    ///     assert_eq!(rx.recv().await.unwrap(), i);
    /// }
    /// # });
    /// ```
    pub fn send(&self, message: T) -> impl Future<Output = Result<(), SendError<T>>> {
        // Not an `async fn`: the message of a future that was never polled counts as undelivered, too.
        Sending::First {
            outgoing: Outgoing::new(&self.channel, message),
            wait: wait_to_send,
        }
    }

    /// Sends a message without waiting: if a place is free and no sender is in line for it; in a
    /// rendezvous, if a receiver waits.
    ///
    /// # Errors
    /// - [`TrySendError::Full`] if there is no such place or receiver.
    /// - [`TrySendError::Closed`] if the channel is closed.
    ///
    /// Both contain the message.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::bounded(1);
    /// tx.try_send(1).unwrap();
    /// assert!(tx.try_send(2).unwrap_err().is_full());
    /// drop(rx);
    /// let error = tx.try_send(3).unwrap_err();
    /// assert!(error.is_closed());
    /// assert_eq!(error.into_inner(), 3);
    /// ```
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        self.channel.try_send(message)
    }

    /// Sends a message, blocking the thread until a place is free; in a rendezvous, until a receiver takes it.
    ///
    /// # Errors
    /// Returns [`SendError`], which contains the message, if the channel is closed.
    ///
    /// # Panics
    /// Panics if the thread drives asynchronous tasks: use [`send`](Sender::send) there.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::bounded(0);
    /// let sender = std::thread::spawn(move || tx.send_blocking("hello"));
    /// assert_eq!(rx.recv_blocking().unwrap(), "hello");
    /// sender.join().unwrap().unwrap();
    /// ```
    #[track_caller]
    pub fn send_blocking(&self, message: T) -> Result<(), SendError<T>> {
        block_thread::block_on(cannot_block!("Sender::send_blocking"), self.send(message))
    }

    /// Sends a message, blocking the thread until a place is free, or until a deadline.
    ///
    /// # Errors
    /// - [`SendTimeoutError::Timeout`] if the message was not sent before the deadline.
    /// - [`SendTimeoutError::Closed`] if the channel is closed.
    ///
    /// Both contain the message.
    ///
    /// # Panics
    /// Panics if the thread drives asynchronous tasks: use [`send`](Sender::send) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// let (tx, _rx) = tress::channel::bounded(1);
    /// tx.send_blocking_until(1, Instant::now()).unwrap();
    /// let error = tx.send_blocking_until(2, Instant::now()).unwrap_err();
    /// assert!(error.is_timeout());
    /// assert_eq!(error.into_inner(), 2);
    /// ```
    #[track_caller]
    pub fn send_blocking_until(
        &self,
        message: T,
        deadline: Instant,
    ) -> Result<(), SendTimeoutError<T>> {
        let what = cannot_block!("Sender::send_blocking_until");
        // The message stays here until its place is certain, so that it can be returned.
        if let Kind::Meeting(meeting) = &self.channel.kind {
            let mut meet = pin!(Meet::give(meeting, message));
            let met = block_thread::block_on_until(
                what,
                deadline,
                poll_fn(|cx| meet.as_mut().poll_meet(cx)),
            );
            return match (meet.withdraw(), met) {
                (None, _) => Ok(()),
                (Some(message), None) => Err(SendTimeoutError::Timeout(message)),
                (Some(message), Some(_)) => {
                    Err(SendTimeoutError::Closed(self.channel.send_error(message)))
                }
            };
        }
        match block_thread::block_on_until(what, deadline, self.reserve()) {
            Some(Ok(permit)) => Ok(permit.send(message)?),
            Some(Err(_)) => Err(self.channel.send_error(message).into()),
            None => Err(SendTimeoutError::Timeout(message)),
        }
    }

    /// Waits until a place is free and reserves it, so that sending into it does not wait.
    ///
    /// In a rendezvous it waits for a receiver; if that receiver goes away, the message is kept for the next.
    ///
    /// A channel whose [overflow](super::Overflow) is not `Suspend` needs no reservation, and this
    /// method does not wait.
    ///
    /// # Errors
    /// Returns [`SendError`] if the channel is closed.
    ///
    /// # Cancel safety
    /// This method is cancel safe. Dropping the future loses the place in line.
    ///
    /// # Examples
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tress::channel::bounded(1);
    /// let permit = tx.reserve().await.unwrap();
    /// assert!(tx.try_send("too late").is_err());
    /// permit.send("made for this place").unwrap();
    /// assert_eq!(rx.recv().await.unwrap(), "made for this place");
    /// # });
    /// ```
    pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
        self.wait_for_place().await?;
        Ok(Permit::new(self))
    }

    /// Waits until a place is free and reserves it, for a permit that borrows nothing.
    ///
    /// Does the same as [`reserve`](Sender::reserve), but consumes the sender, which sending through the
    /// permit returns.
    ///
    /// # Errors
    /// Returns [`SendError`] if the channel is closed.
    ///
    /// # Cancel safety
    /// This method is not cancel safe. Dropping the future drops the sender and loses the place in line.
    ///
    /// # Examples
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tress::channel::bounded(1);
    /// let permit = tx.clone().reserve_owned().await.unwrap();
    /// tress::spawn(async move { permit.send(7) });
    /// assert_eq!(rx.recv().await.unwrap(), 7);
    /// # });
    /// ```
    pub async fn reserve_owned(self) -> Result<OwnedPermit<T>, SendError<()>> {
        self.wait_for_place().await?;
        Ok(OwnedPermit::new(self))
    }

    async fn wait_for_place(&self) -> Result<(), SendError<()>> {
        if self.channel.overflow != Overflow::Suspend {
            coop::consume_budget().await;
            return if self.is_closed() {
                Err(self.channel.send_error(()))
            } else {
                Ok(())
            };
        }
        let place = by_kind!(
            self.channel,
            queue => coop::cooperative(Acquire::new(queue, 1)).await.is_ok(),
            meeting => {
                let mut hope = pin!(Hope::new(meeting));
                coop::cooperative(poll_fn(|cx| hope.as_mut().poll_promise(cx)))
                    .await
                    .is_ok()
            },
        );
        if place {
            Ok(())
        } else {
            Err(self.channel.send_error(()))
        }
    }

    /// Reserves a place if one is free and no sender is in line for it.
    ///
    /// # Errors
    /// - [`TrySendError::Full`] if there is no such place.
    /// - [`TrySendError::Closed`] if the channel is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = tress::channel::bounded(1);
    /// let permit = tx.try_reserve().unwrap();
    /// assert!(tx.try_reserve().unwrap_err().is_full());
    /// drop(permit);
    /// assert!(tx.try_send(1).is_ok());
    /// ```
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        match self.channel.try_reserve() {
            Some(reserved) => Ok(reserved.map(|()| Permit::new(self))?),
            None => Err(TrySendError::Full(())),
        }
    }

    /// Reserves a place if one is free and no sender is in line for it, for a permit that borrows nothing.
    ///
    /// # Errors
    /// - [`TrySendError::Full`] if there is no such place.
    /// - [`TrySendError::Closed`] if the channel is closed.
    ///
    /// Both contain the sender.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::bounded(1);
    /// let permit = tx.try_reserve_owned().unwrap();
    /// let tx = permit.send(1).unwrap();
    /// let tx = tx.try_reserve_owned().unwrap_err().into_inner();
    /// assert_eq!(rx.try_recv().unwrap(), 1);
    /// assert!(tx.try_reserve_owned().is_ok());
    /// ```
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Sender<T>>> {
        match self.channel.try_reserve() {
            Some(Ok(())) => Ok(OwnedPermit::new(self)),
            Some(Err(error)) => Err(TrySendError::Closed(SendError {
                message: self,
                cause: error.cause,
            })),
            None => Err(TrySendError::Full(self)),
        }
    }

    /// Waits until the channel is closed: by [`close`](Sender::close), or because all receivers were dropped.
    ///
    /// # Cancel safety
    /// This method is cancel safe. Dropping the future loses nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tress::channel::bounded::<()>(1);
    /// tress::spawn(async move { drop(rx) });
    /// tx.closed().await; // stop producing
    /// # });
    /// ```
    pub async fn closed(&self) {
        by_kind!(
            self.channel,
            queue => coop::cooperative(queue.closed()).await,
            meeting => meeting.closed().await,
        )
    }

    /// Closes the channel.
    ///
    /// No message can be sent any more, except into places that were reserved before. Receivers get what is
    /// left, and then an error.
    ///
    /// Returns `false` if the channel was closed already.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::unbounded();
    /// tx.try_send(1).unwrap();
    /// assert!(tx.close());
    /// assert!(tx.try_send(2).is_err());
    /// assert_eq!(rx.try_recv().unwrap(), 1);
    /// assert!(rx.try_recv().unwrap_err().is_closed());
    /// ```
    pub fn close(&self) -> bool {
        self.channel.close(None, false)
    }

    /// Closes the channel, as [`close`](Sender::close) does, and sets the cause that both sides find in
    /// their errors.
    ///
    /// Returns `false` if the channel was closed already; the cause is dropped then.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::bounded::<u32>(1);
    /// tx.close_with("the disk is full");
    /// let error = rx.try_recv().unwrap_err();
    /// assert_eq!(error.cause().unwrap().to_string(), "the disk is full");
    /// ```
    pub fn close_with(&self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        self.channel.close(Some(Cause::new(cause)), false)
    }

    /// Creates a sender that does not keep the channel open.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = tress::channel::bounded::<()>(1);
    /// let weak = tx.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender {
            channel: self.channel.clone(),
        }
    }

    /// Returns `true` if both senders are of the same channel.
    ///
    /// # Examples
    ///
    /// ```
    /// let (one, _rx) = tress::channel::unbounded::<()>();
    /// let (two, _rx) = tress::channel::unbounded::<()>();
    /// assert!(one.same_channel(&one.clone()));
    /// assert!(!one.same_channel(&two));
    /// ```
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }
}

/// A message on its way through a rendezvous. Dropped with it, it counts as one that no receiver gets.
struct Giving<'a, T> {
    channel: &'a Channel<T>,
    meet: Meet<'a, T>,
}

impl<'a, T> Giving<'a, T> {
    fn meet(self: Pin<&mut Self>) -> Pin<&mut Meet<'a, T>> {
        // SAFETY: a field that is pinned whenever the whole is; nothing moves out of it.
        unsafe { self.map_unchecked_mut(|this| &mut this.meet) }
    }
}

impl<T> Drop for Giving<'_, T> {
    fn drop(&mut self) {
        if let Some(message) = self.meet.withdraw() {
            self.channel.undelivered(message);
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.channel.senders.add();
        Sender {
            channel: self.channel.clone(),
        }
    }
}

async fn wait_to_send<T>(outgoing: Outgoing<'_, T>) -> Result<(), SendError<T>> {
    by_kind!(
        outgoing.channel(),
        queue => wait_for_slot(queue, outgoing).await,
        meeting => wait_to_meet(meeting, outgoing).await,
    )
}

#[inline]
async fn wait_for_slot<L: Many>(
    queue: &Queue<L>,
    mut outgoing: Outgoing<'_, L::Message>,
) -> Result<(), SendError<L::Message>> {
    let channel = outgoing.channel();
    if channel.overflow != Overflow::Suspend {
        coop::consume_budget().await;
        return channel.send_now(queue, outgoing.take());
    }
    let mut acquire = pin!(Acquire::new(queue, 1));
    match coop::cooperative(poll_fn(|cx| acquire.as_mut().poll_spot(cx))).await {
        Ok(spot) => {
            L::fill(queue, spot, outgoing.take());
            Ok(())
        }
        Err(Closed) => Err(channel.send_error(outgoing.take())),
    }
}

async fn wait_to_meet<T>(
    meeting: &Meeting<T>,
    mut outgoing: Outgoing<'_, T>,
) -> Result<(), SendError<T>> {
    let channel = outgoing.channel();
    let mut giving = pin!(Giving {
        channel,
        meet: Meet::give(meeting, outgoing.take()),
    });
    let _met = coop::cooperative(poll_fn(|cx| giving.as_mut().meet().poll_meet(cx))).await;
    match giving.as_mut().meet().into_hand() {
        None => Ok(()),
        Some(message) => Err(channel.send_error(message)),
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.channel.remove_sender();
    }
}

impl<T> WeakSender<T> {
    /// Creates a sender, or returns `None` if all senders were dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::unbounded();
    /// let weak = tx.downgrade();
    /// weak.upgrade().unwrap().try_send(1).unwrap();
    /// assert_eq!(rx.try_recv().unwrap(), 1);
    /// drop(tx);
    /// assert!(weak.upgrade().is_none());
    /// ```
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.channel.senders.try_add().then(|| Sender {
            channel: self.channel.clone(),
        })
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> WeakSender<T> {
        WeakSender {
            channel: self.channel.clone(),
        }
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender").finish_non_exhaustive()
    }
}
