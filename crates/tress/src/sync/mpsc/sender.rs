use super::error::{SendError, SendTimeoutError, TrySendError};
use super::permit::{OwnedPermit, Permit, PermitIterator};
use super::tx::{Tx, WeakTx};
use crate::queue::{Acquire, Closed, Queue, Refusal, Single};
use crate::runtime::block_thread::{self, cannot_block};
use crate::task::coop;
use crate::time::timeout;
use std::fmt;
use std::future::poll_fn;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::task::{Poll, ready};
use std::time::Duration;

/// The sending end of a [bounded channel](super::channel()), which can be cloned.
pub struct Sender<T> {
    tx: Tx<T>,
}

/// A sender that does not keep the channel open; returned by [`Sender::downgrade`].
///
/// # Examples
///
/// ```
/// use tress::sync::mpsc;
///
/// let (tx, _rx) = mpsc::channel::<()>(1);
/// let weak = tx.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// ```
pub struct WeakSender<T> {
    tx: WeakTx<T>,
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for WeakSender<T> {}
impl<T> RefUnwindSafe for WeakSender<T> {}

impl<T> Sender<T> {
    pub(super) fn new(tx: Tx<T>) -> Sender<T> {
        Sender { tx }
    }

    #[inline(always)]
    pub(super) fn queue(&self) -> &Queue<Single<T>> {
        self.tx.queue()
    }

    /// Sends a message, waiting until a place is free.
    ///
    /// Success does not mean that the message will be received: the receiver may be dropped.
    ///
    /// # Errors
    /// Returns the message if the receiver was dropped or has closed the channel.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, the message was not sent, and is dropped with it; the
    /// place in line is lost. To keep the message, use [`reserve`](Sender::reserve) first.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// tress::spawn(async move {
    ///     for i in 0..10 {
    ///         if tx.send(i).await.is_err() {
    ///             break; // nobody listens any more
    ///         }
    ///     }
    /// });
    /// for i in 0..10 {
    ///     assert_eq!(rx.recv().await, Some(i));
    /// }
    /// # });
    /// ```
    pub async fn send(&self, message: T) -> Result<(), SendError<T>> {
        let mut acquire = pin!(Acquire::new(self.queue(), 1));
        let acquired = poll_fn(|cx| {
            let proceed = ready!(coop::poll_proceed(cx));
            let acquired = ready!(acquire.as_mut().poll_spot(cx));
            proceed.made_progress();
            Poll::Ready(acquired)
        });
        match acquired.await {
            Ok(spot) => self.queue().send(spot, message).map_err(SendError),
            Err(Closed) => Err(SendError(message)),
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
    /// let (tx, rx) = mpsc::channel::<()>(1);
    /// tress::spawn(async move { drop(rx) });
    /// tx.closed().await; // stop producing
    /// # });
    /// ```
    pub async fn closed(&self) {
        coop::cooperative(self.queue().closed()).await
    }

    /// Sends a message without waiting, if a place is free and no sender is in line for it.
    ///
    /// # Errors
    /// Returns the message if there is no such place, or if the receiver was dropped or has closed the
    /// channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc::{self, error::TrySendError};
    ///
    /// let (tx, rx) = mpsc::channel(1);
    /// assert_eq!(tx.try_send(1), Ok(()));
    /// assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    /// drop(rx);
    /// assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
    /// ```
    #[inline]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        match self.queue().try_claim() {
            Ok(spot) => self
                .queue()
                .send(spot, message)
                .map_err(TrySendError::Closed),
            Err(Refusal::Full) => Err(TrySendError::Full(message)),
            Err(Refusal::Closed) => Err(TrySendError::Closed(message)),
        }
    }

    /// Sends a message, waiting until a place is free, for at most `duration`.
    ///
    /// # Errors
    /// Returns the message if no place became free in time, or if the receiver was dropped or has closed the
    /// channel.
    ///
    /// # Panics
    /// If it is called outside of a runtime, or in one built without `enable_time`.
    ///
    /// # Cancel safety
    /// As for [`send`](Sender::send).
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc::{self, error::SendTimeoutError};
    /// use tress::time::Duration;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, _rx) = mpsc::channel(1);
    /// let soon = Duration::from_millis(1);
    /// assert_eq!(tx.send_timeout(1, soon).await, Ok(()));
    /// assert_eq!(tx.send_timeout(2, soon).await, Err(SendTimeoutError::Timeout(2)));
    /// # });
    /// ```
    pub async fn send_timeout(
        &self,
        message: T,
        duration: Duration,
    ) -> Result<(), SendTimeoutError<T>> {
        match timeout(duration, self.reserve()).await {
            Ok(Ok(permit)) => {
                permit.send(message);
                Ok(())
            }
            Ok(Err(SendError(()))) => Err(SendTimeoutError::Closed(message)),
            Err(_) => Err(SendTimeoutError::Timeout(message)),
        }
    }

    /// Sends a message, blocking the thread until a place is free.
    ///
    /// # Errors
    /// Returns the message if the receiver was dropped or has closed the channel.
    ///
    /// # Panics
    /// If the thread drives asynchronous tasks: use [`send`](Sender::send) there.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let thread = std::thread::spawn(move || {
    ///     for i in 0..3 {
    ///         tx.blocking_send(i).unwrap();
    ///     }
    /// });
    /// assert_eq!(rx.blocking_recv(), Some(0));
    /// assert_eq!(rx.blocking_recv(), Some(1));
    /// assert_eq!(rx.blocking_recv(), Some(2));
    /// # thread.join().unwrap();
    /// ```
    #[track_caller]
    pub fn blocking_send(&self, message: T) -> Result<(), SendError<T>> {
        block_thread::block_on(
            cannot_block!("mpsc::Sender::blocking_send"),
            self.send(message),
        )
    }

    /// Returns `true` if the receiver was dropped or has closed the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel::<()>(1);
    /// assert!(!tx.is_closed());
    /// rx.close();
    /// assert!(tx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.queue().is_closed()
    }

    /// Waits until a place is free and reserves it.
    ///
    /// # Errors
    /// Returns an error if the receiver was dropped or has closed the channel.
    ///
    /// # Cancel safety
    /// This method is cancel safe. Dropping the future loses the place in line.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.reserve().await.unwrap();
    /// // Made only now that there is room for it.
    /// permit.send(vec![0; 4096]);
    /// assert_eq!(rx.recv().await.unwrap().len(), 4096);
    /// # });
    /// ```
    pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
        match coop::cooperative(Acquire::new(self.queue(), 1)).await {
            Ok(()) => Ok(Permit::new(self.queue())),
            Err(Closed) => Err(SendError(())),
        }
    }

    /// Waits until `count` places are free and reserves them.
    ///
    /// Places that become free are collected for the first sender in line, so that a large request is not
    /// starved by small ones behind it.
    ///
    /// # Errors
    /// Returns an error if the receiver was dropped or has closed the channel, or if `count` is more than the
    /// capacity.
    ///
    /// # Cancel safety
    /// This method is cancel safe. Dropping the future loses the place in line, and gives back the places that
    /// were collected.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(2);
    /// for (i, permit) in tx.reserve_many(2).await.unwrap().enumerate() {
    ///     permit.send(i);
    /// }
    /// assert_eq!(rx.recv().await, Some(0));
    /// assert_eq!(rx.recv().await, Some(1));
    /// assert!(tx.reserve_many(3).await.is_err());
    /// # });
    /// ```
    pub async fn reserve_many(&self, count: usize) -> Result<PermitIterator<'_, T>, SendError<()>> {
        if count > self.queue().max_reserved() {
            return Err(SendError(()));
        }
        match coop::cooperative(Acquire::new(self.queue(), count as u64)).await {
            Ok(()) => Ok(PermitIterator::new(self.queue(), count)),
            Err(Closed) => Err(SendError(())),
        }
    }

    /// Waits until a place is free and reserves it, as [`reserve`](Sender::reserve) does, for a permit that
    /// borrows nothing. It consumes the sender, and sending through the permit returns it.
    ///
    /// # Errors
    /// Returns an error if the receiver was dropped or has closed the channel.
    ///
    /// # Cancel safety
    /// Dropping the future drops the sender and loses the place in line.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.clone().reserve_owned().await.unwrap();
    /// tress::spawn(async move { permit.send(7) });
    /// assert_eq!(rx.recv().await, Some(7));
    /// # });
    /// ```
    pub async fn reserve_owned(self) -> Result<OwnedPermit<T>, SendError<()>> {
        match coop::cooperative(Acquire::new(self.queue(), 1)).await {
            Ok(()) => Ok(OwnedPermit::new(self)),
            Err(Closed) => Err(SendError(())),
        }
    }

    /// Reserves a place if one is free and no sender is in line for it.
    ///
    /// # Errors
    /// Returns an error if there is no such place, or if the receiver was dropped or has closed the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc::{self, error::TrySendError};
    ///
    /// let (tx, _rx) = mpsc::channel(1);
    /// let permit = tx.try_reserve().unwrap();
    /// assert!(matches!(tx.try_reserve(), Err(TrySendError::Full(()))));
    /// permit.send(1);
    /// ```
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        match self.queue().try_reserve(1) {
            Ok(()) => Ok(Permit::new(self.queue())),
            Err(refusal) => Err(refused(refusal, ())),
        }
    }

    /// Reserves `count` places if they are free and no sender is in line for them.
    ///
    /// # Errors
    /// Returns an error if there are no such places, or if the receiver was dropped or has closed the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<()>(2);
    /// assert_eq!(tx.try_reserve_many(2).unwrap().len(), 2);
    /// assert!(tx.try_reserve_many(3).is_err());
    /// ```
    pub fn try_reserve_many(
        &self,
        count: usize,
    ) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        if count > self.queue().max_reserved() {
            return Err(TrySendError::Full(()));
        }
        match self.queue().try_reserve(count as u64) {
            Ok(()) => Ok(PermitIterator::new(self.queue(), count)),
            Err(refusal) => Err(refused(refusal, ())),
        }
    }

    /// Reserves a place if one is free and no sender is in line for it, for a permit that borrows nothing.
    ///
    /// # Errors
    /// Returns the sender if there is no such place, or if the receiver was dropped or has closed the channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel(1);
    /// let permit = tx.try_reserve_owned().unwrap();
    /// let tx = permit.send(1);
    /// assert!(tx.try_reserve_owned().is_err());
    /// ```
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        match self.queue().try_reserve(1) {
            Ok(()) => Ok(OwnedPermit::new(self)),
            Err(refusal) => Err(refused(refusal, self)),
        }
    }

    /// Returns `true` if both senders are of the same channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<()>(1);
    /// assert!(tx.same_channel(&tx.clone()));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        self.tx.same_channel(&other.tx)
    }

    /// Returns the number of free places. Reserved places are not free.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!(tx.capacity(), 1);
    /// ```
    pub fn capacity(&self) -> usize {
        self.queue().free_places()
    }

    /// Returns the capacity with which the channel was created.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!(tx.max_capacity(), 2);
    /// ```
    pub fn max_capacity(&self) -> usize {
        self.queue().max_capacity()
    }

    /// Creates a sender that does not keep the channel open.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel::<()>(1);
    /// let weak = tx.downgrade();
    /// drop(tx);
    /// assert_eq!(rx.recv().await, None);
    /// # drop(weak);
    /// # });
    /// ```
    #[must_use = "a weak sender does nothing by itself"]
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender {
            tx: self.tx.downgrade(),
        }
    }

    /// Returns the number of senders. An [`OwnedPermit`] counts as one.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<()>(1);
    /// let _other = tx.clone();
    /// assert_eq!(tx.strong_count(), 2);
    /// ```
    pub fn strong_count(&self) -> usize {
        self.queue().senders().strong.get()
    }

    /// Returns the number of weak senders.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<()>(1);
    /// let _weak = tx.downgrade();
    /// assert_eq!(tx.weak_count(), 1);
    /// ```
    pub fn weak_count(&self) -> usize {
        self.queue().senders().weak.get()
    }
}

fn refused<E>(refusal: Refusal, returned: E) -> TrySendError<E> {
    match refusal {
        Refusal::Full => TrySendError::Full(returned),
        Refusal::Closed => TrySendError::Closed(returned),
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender {
            tx: self.tx.clone(),
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("capacity", &self.capacity())
            .field("max_capacity", &self.max_capacity())
            .field("closed", &self.is_closed())
            .finish()
    }
}

impl<T> WeakSender<T> {
    /// Creates a sender. Returns `None` if all senders were dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let weak = tx.downgrade();
    /// weak.upgrade().unwrap().try_send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.tx.upgrade().map(|tx| Sender { tx })
    }

    /// Returns the number of senders.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<()>(1);
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
    /// let (tx, _rx) = mpsc::channel::<()>(1);
    /// assert_eq!(tx.downgrade().weak_count(), 1);
    /// ```
    pub fn weak_count(&self) -> usize {
        self.tx.queue().senders().weak.get()
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        WeakSender {
            tx: self.tx.clone(),
        }
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender").finish_non_exhaustive()
    }
}
