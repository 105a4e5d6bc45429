use super::acquire::{Acquire, Closed};
use super::arrivals::Many;
use super::attempt::Sending;
use super::builder::Overflow;
use super::chan::Chan;
use super::error::{Cause, SendError, SendTimeoutError, TrySendError};
use super::meet::{Hope, Meet};
use super::meeting::Meeting;
use super::permit::{OwnedPermit, Permit};
use super::shared::{Channel, Held, Kind, by_kind};
use crate::sync::{blocking, cannot_block};
use crate::sys::Arc;
use crate::task::coop;
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::{Pin, pin};
use std::task::{Poll, ready};
use std::time::Instant;

/// The sending end of a channel. Clone it to send from several places.
///
/// When the last one is dropped the channel is closed: receivers get what is left, and then an error.
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
}

/// A sender that does not keep the channel open; made by [`Sender::downgrade`].
pub struct WeakSender<T> {
    channel: Arc<Channel<T>>,
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for WeakSender<T> {}
impl<T> RefUnwindSafe for WeakSender<T> {}

impl<T> Sender<T> {
    /// The first sender of a channel.
    pub(super) fn new(channel: Arc<Channel<T>>) -> Sender<T> {
        Sender { channel }
    }

    #[inline(always)]
    pub(super) fn channel(&self) -> &Channel<T> {
        &self.channel
    }

    /// Sends a message, waiting for a free place if there is none; in a rendezvous, for a receiver.
    ///
    /// Success means that the message is in the channel or in a receiver's hands. The error means that
    /// the channel is closed, and returns the message.
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
    ///
    /// # Cancel safety
    /// If it is dropped before it is ready the message was not sent, and goes to
    /// [`on_undelivered`](super::Builder::on_undelivered); the place in line is lost. To keep the
    /// message, use [`reserve`](Sender::reserve). In a rendezvous a receiver may have taken the message
    /// while the future was not polled: then it is received. Use [`Select`](super::Select) where
    /// that makes a difference.
    pub fn send(&self, message: T) -> impl Future<Output = Result<(), SendError<T>>> {
        // Not an `async fn`: what was not polled yet is not delivered either.
        Sending::First {
            held: Held::new(&self.channel, message),
            wait: wait_to_send,
        }
    }

    /// Sends a message if that needs no waiting: there is a free place and nobody is in line for it;
    /// in a rendezvous, a receiver waits.
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

    /// As [`send`](Sender::send), blocking this thread.
    ///
    /// ```
    /// let (tx, rx) = tress::channel::bounded(0);
    /// let sender = std::thread::spawn(move || tx.send_blocking("hello"));
    /// assert_eq!(rx.recv_blocking().unwrap(), "hello");
    /// sender.join().unwrap().unwrap();
    /// ```
    ///
    /// # Panics
    /// If this thread drives asynchronous tasks: use [`send`](Sender::send) there.
    #[track_caller]
    pub fn send_blocking(&self, message: T) -> Result<(), SendError<T>> {
        blocking::block_on(cannot_block!("Sender::send_blocking"), self.send(message))
    }

    /// As [`send_blocking`](Sender::send_blocking), until a deadline. The message comes back if it was
    /// not sent by then.
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
    ///
    /// # Panics
    /// As [`send_blocking`](Sender::send_blocking).
    #[track_caller]
    pub fn send_blocking_until(
        &self,
        message: T,
        deadline: Instant,
    ) -> Result<(), SendTimeoutError<T>> {
        let what = cannot_block!("Sender::send_blocking_until");
        // The message stays with us until its place is certain, so that it can come back.
        if let Kind::Meeting(meeting) = &self.channel.kind {
            let mut meet = pin!(Meet::give(meeting, message));
            let met =
                blocking::block_on_until(what, deadline, poll_fn(|cx| meet.as_mut().poll_meet(cx)));
            return match (meet.withdraw(), met) {
                (None, _) => Ok(()),
                (Some(message), None) => Err(SendTimeoutError::Timeout(message)),
                (Some(message), Some(_)) => {
                    Err(SendTimeoutError::Closed(self.channel.send_error(message)))
                }
            };
        }
        match blocking::block_on_until(what, deadline, self.reserve()) {
            Some(Ok(permit)) => Ok(permit.send(message)?),
            Some(Err(_)) => Err(self.channel.send_error(message).into()),
            None => Err(SendTimeoutError::Timeout(message)),
        }
    }

    /// Waits for a free place and reserves it: sending into it does not wait. In a rendezvous, waits
    /// for a receiver; should that one go away, the message is kept for the next.
    ///
    /// A channel whose [overflow](super::Overflow) is not `Suspend` needs no reservation, and this
    /// does not wait.
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
    ///
    /// # Cancel safety
    /// Dropping it loses the place in line, and nothing else.
    pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
        self.wait_for_place().await?;
        Ok(Permit::new(self))
    }

    /// As [`reserve`](Sender::reserve), for a permit that borrows nothing.
    ///
    /// # Cancel safety
    /// Dropping it loses the place in line and drops the sender.
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
            chan => Acquire::new(chan, 1).await.is_ok(),
            meeting => {
                let mut hope = pin!(Hope::new(meeting));
                poll_fn(|cx| {
                    let proceed = ready!(coop::poll_proceed(cx));
                    let promised = hope.as_mut().poll_promise(cx);
                    if promised.is_ready() {
                        proceed.made_progress();
                    }
                    promised
                })
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

    /// Reserves a place if one is free and nobody is in line for it.
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

    /// As [`try_reserve`](Sender::try_reserve), for a permit that borrows nothing. The sender comes
    /// back if there is no place.
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

    /// Waits until the channel is closed: by [`close`](Sender::close), or because no receiver is left.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tress::channel::bounded::<()>(1);
    /// tress::spawn(async move { drop(rx) });
    /// tx.closed().await; // stop producing
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub async fn closed(&self) {
        by_kind!(self.channel, chan => chan.closed().await, meeting => meeting.closed().await)
    }

    /// Closes the channel: nothing more can be sent, except into places that were reserved before.
    /// Receivers get what is left, and then an error. False if it was closed before.
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

    /// As [`close`](Sender::close), and says why: both sides find the cause in their errors. The cause
    /// of whoever closes the channel first counts.
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

    /// A sender that does not keep the channel open.
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

    /// True if both are of the same channel.
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

/// A rendezvous's message on its way; not delivered if it is dropped.
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

async fn wait_to_send<T>(held: Held<'_, T>) -> Result<(), SendError<T>> {
    by_kind!(
        held.channel(),
        chan => wait_for_slot(chan, held).await,
        meeting => wait_to_meet(meeting, held).await,
    )
}

#[inline]
async fn wait_for_slot<L: Many>(
    chan: &Chan<L>,
    mut held: Held<'_, L::Message>,
) -> Result<(), SendError<L::Message>> {
    let channel = held.channel();
    if channel.overflow != Overflow::Suspend {
        coop::consume_budget().await;
        return channel.send_now(chan, held.take());
    }
    let mut acquire = pin!(Acquire::new(chan, 1));
    match poll_fn(|cx| acquire.as_mut().poll_spot(cx)).await {
        Ok(spot) => {
            L::fill(chan, spot, held.take());
            Ok(())
        }
        Err(Closed) => Err(channel.send_error(held.take())),
    }
}

async fn wait_to_meet<T>(meeting: &Meeting<T>, mut held: Held<'_, T>) -> Result<(), SendError<T>> {
    let channel = held.channel();
    let mut giving = pin!(Giving {
        channel,
        meet: Meet::give(meeting, held.take()),
    });
    let _met = poll_fn(|cx| {
        let proceed = ready!(coop::poll_proceed(cx));
        let met = ready!(giving.as_mut().meet().poll_meet(cx));
        proceed.made_progress();
        Poll::Ready(met)
    })
    .await;
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
    /// A sender, unless all are gone.
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
