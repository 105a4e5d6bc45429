use super::chan::{Acquire, Chan, Refusal};
use super::error::{SendError, SendTimeoutError, TrySendError};
use super::permit::{OwnedPermit, Permit, PermitIterator};
use super::tx::{Tx, WeakTx};
use crate::channel::acquire::Closed;
use crate::sync::blocking;
use crate::time::timeout;
use std::fmt;
use std::future::poll_fn;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use std::time::Duration;

/// The sending end of a [bounded channel](super::channel()). Clone it to send from several places.
pub struct Sender<T> {
    tx: Tx<T>,
}

/// A sender that does not keep the channel open; made by [`Sender::downgrade`].
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
    pub(super) fn chan(&self) -> &Chan<T> {
        self.tx.chan()
    }

    /// Sends a message, waiting for a free place if there is none.
    ///
    /// Success means that the message is in the channel, not that it will be looked at: the receiver
    /// may be dropped. The error means that it will not be, and returns it.
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
    ///
    /// # Cancel safety
    /// If it is dropped before it is ready the message was not sent, and is dropped with it; the
    /// place in line is lost. To keep the message, use [`reserve`](Sender::reserve) first.
    pub async fn send(&self, message: T) -> Result<(), SendError<T>> {
        let mut acquire = pin!(Acquire::new(self.chan(), 1));
        match poll_fn(|cx| acquire.as_mut().poll_spot(cx)).await {
            Ok(spot) => self.chan().send(spot, message).map_err(SendError),
            Err(Closed) => Err(SendError(message)),
        }
    }

    /// Waits until the receiver is dropped or closes the channel.
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
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub async fn closed(&self) {
        self.chan().closed().await
    }

    /// Sends a message if there is a free place and nobody is in line for it.
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
        match self.chan().try_claim() {
            Ok(spot) => self
                .chan()
                .send(spot, message)
                .map_err(TrySendError::Closed),
            Err(Refusal::Full) => Err(TrySendError::Full(message)),
            Err(Refusal::Closed) => Err(TrySendError::Closed(message)),
        }
    }

    /// Sends a message, waiting for a free place for at most `duration`.
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
    ///
    /// # Panics
    /// Outside of a runtime, or in one built without `enable_time`.
    ///
    /// # Cancel safety
    /// As for [`send`](Sender::send).
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

    /// Sends a message, blocking this thread while there is no free place.
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
    ///
    /// # Panics
    /// If this thread drives asynchronous tasks: use [`send`](Sender::send) there.
    #[track_caller]
    pub fn blocking_send(&self, message: T) -> Result<(), SendError<T>> {
        blocking::block_on(
            cannot_block!("mpsc::Sender::blocking_send"),
            self.send(message),
        )
    }

    /// True if the receiver was dropped or has closed the channel.
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
        self.chan().is_closed()
    }

    /// Waits for a free place and reserves it.
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
    ///
    /// # Cancel safety
    /// Dropping it loses the place in line and nothing else.
    pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
        match Acquire::new(self.chan(), 1).await {
            Ok(()) => Ok(Permit::new(self.chan())),
            Err(Closed) => Err(SendError(())),
        }
    }

    /// Waits for `count` free places and reserves them. Others may send in between, but no place
    /// that has become free for this request goes to anybody else.
    ///
    /// Fails if the channel is closed, or `count` is more than its capacity.
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
    ///
    /// # Cancel safety
    /// Dropping it loses the place in line, and gives back what had been reserved.
    pub async fn reserve_many(&self, count: usize) -> Result<PermitIterator<'_, T>, SendError<()>> {
        if count > self.chan().max_reserved() {
            return Err(SendError(()));
        }
        match Acquire::new(self.chan(), count as u64).await {
            Ok(()) => Ok(PermitIterator::new(self.chan(), count)),
            Err(Closed) => Err(SendError(())),
        }
    }

    /// As [`reserve`](Sender::reserve), for a permit that borrows nothing. It consumes the sender,
    /// and sending through the permit returns it.
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
    ///
    /// # Cancel safety
    /// Dropping it drops the sender, and loses the place in line.
    pub async fn reserve_owned(self) -> Result<OwnedPermit<T>, SendError<()>> {
        match Acquire::new(self.chan(), 1).await {
            Ok(()) => Ok(OwnedPermit::new(self)),
            Err(Closed) => Err(SendError(())),
        }
    }

    /// Reserves a place if one is free and nobody is in line for it.
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
        match self.chan().try_reserve(1) {
            Ok(()) => Ok(Permit::new(self.chan())),
            Err(refusal) => Err(refused(refusal, ())),
        }
    }

    /// Reserves `count` places if they are free and nobody is in line for them.
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
        if count > self.chan().max_reserved() {
            return Err(TrySendError::Full(()));
        }
        match self.chan().try_reserve(count as u64) {
            Ok(()) => Ok(PermitIterator::new(self.chan(), count)),
            Err(refusal) => Err(refused(refusal, ())),
        }
    }

    /// As [`try_reserve`](Sender::try_reserve), for a permit that borrows nothing. The sender comes
    /// back in the error.
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
        match self.chan().try_reserve(1) {
            Ok(()) => Ok(OwnedPermit::new(self)),
            Err(refusal) => Err(refused(refusal, self)),
        }
    }

    /// True if both senders are of the same channel.
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

    /// Free places at this moment. Reserved ones are not free.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!(tx.capacity(), 1);
    /// ```
    pub fn capacity(&self) -> usize {
        self.chan().capacity()
    }

    /// The capacity the channel was made with.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel(2);
    /// tx.try_send(1).unwrap();
    /// assert_eq!(tx.max_capacity(), 2);
    /// ```
    pub fn max_capacity(&self) -> usize {
        self.chan().max_capacity()
    }

    /// A sender that does not keep the channel open.
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

    /// How many senders there are. An [`OwnedPermit`] counts as one.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<()>(1);
    /// let _other = tx.clone();
    /// assert_eq!(tx.strong_count(), 2);
    /// ```
    pub fn strong_count(&self) -> usize {
        self.chan().senders().strong.get()
    }

    /// How many weak senders there are.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<()>(1);
    /// let _weak = tx.downgrade();
    /// assert_eq!(tx.weak_count(), 1);
    /// ```
    pub fn weak_count(&self) -> usize {
        self.chan().senders().weak.get()
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
    /// A sender, if there still is one.
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

    /// How many senders there are.
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
        self.tx.chan().senders().strong.get()
    }

    /// How many weak senders there are, this one included.
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<()>(1);
    /// assert_eq!(tx.downgrade().weak_count(), 1);
    /// ```
    pub fn weak_count(&self) -> usize {
        self.tx.chan().senders().weak.get()
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
