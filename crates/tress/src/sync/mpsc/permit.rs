use super::sender::Sender;
use crate::queue::{Queue, Single};
use std::fmt;
use std::iter::FusedIterator;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A reserved place in a channel, into which a message can be sent without waiting; returned by
/// [`Sender::reserve`].
///
/// Dropping it gives the place back.
pub struct Permit<'a, T> {
    queue: &'a Queue<Single<T>>,
}

impl<T> UnwindSafe for Permit<'_, T> {}
impl<T> RefUnwindSafe for Permit<'_, T> {}

/// Sends into a reserved place. Drops the message if the receiver was dropped.
fn send_reserved<T>(queue: &Queue<Single<T>>, message: T) {
    if let Some(spot) = queue.claim_reserved() {
        drop(queue.send(spot, message));
    }
}

impl<'a, T> Permit<'a, T> {
    /// Creates a permit for a place that the caller has reserved.
    pub(super) fn new(queue: &'a Queue<Single<T>>) -> Permit<'a, T> {
        Permit { queue }
    }

    /// Sends a message.
    ///
    /// It is received even if the channel was [closed](super::Receiver::close) after the place was reserved.
    /// It is dropped if the receiver was dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.reserve().await.unwrap();
    /// permit.send("made for this place");
    /// assert_eq!(rx.recv().await, Some("made for this place"));
    /// # });
    /// ```
    pub fn send(self, message: T) {
        let queue = self.queue;
        mem::forget(self);
        send_reserved(queue, message);
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        self.queue.release(1);
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

/// Iterator over several reserved places in a channel; returned by [`Sender::reserve_many`].
///
/// Dropping it gives the remaining places back.
pub struct PermitIterator<'a, T> {
    queue: &'a Queue<Single<T>>,
    left: usize,
}

impl<T> UnwindSafe for PermitIterator<'_, T> {}
impl<T> RefUnwindSafe for PermitIterator<'_, T> {}

impl<'a, T> PermitIterator<'a, T> {
    /// Creates an iterator over `left` places that the caller has reserved.
    pub(super) fn new(queue: &'a Queue<Single<T>>, left: usize) -> PermitIterator<'a, T> {
        PermitIterator { queue, left }
    }
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        self.left = self.left.checked_sub(1)?;
        Some(Permit::new(self.queue))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}
impl<T> FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    fn drop(&mut self) {
        self.queue.release(self.left as u64);
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitIterator")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

/// A reserved place in a channel that borrows nothing; returned by [`Sender::reserve_owned`].
///
/// It counts as a sender. Dropping it gives the place back.
pub struct OwnedPermit<T> {
    /// `None` once the place has been used or given back.
    sender: Option<Sender<T>>,
}

impl<T> OwnedPermit<T> {
    /// Creates a permit for a place that the caller has reserved.
    pub(super) fn new(sender: Sender<T>) -> OwnedPermit<T> {
        OwnedPermit {
            sender: Some(sender),
        }
    }

    fn sender(&self) -> &Sender<T> {
        self.sender
            .as_ref()
            .expect("taken only by consuming methods")
    }

    fn take(&mut self) -> Sender<T> {
        self.sender.take().expect("taken only by consuming methods")
    }

    /// Sends a message, as [`Permit::send`] does, and returns the sender with which the place was reserved.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = mpsc::channel(1);
    /// let permit = tx.reserve_owned().await.unwrap();
    /// let tx = permit.send(1);
    /// assert_eq!(rx.recv().await, Some(1));
    /// assert!(tx.try_send(2).is_ok());
    /// # });
    /// ```
    pub fn send(mut self, message: T) -> Sender<T> {
        let sender = self.take();
        send_reserved(sender.queue(), message);
        sender
    }

    /// Gives the place back, and returns the sender with which it was reserved.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<()>(1);
    /// let permit = tx.try_reserve_owned().unwrap();
    /// let tx = permit.release();
    /// assert_eq!(tx.capacity(), 1);
    /// ```
    pub fn release(mut self) -> Sender<T> {
        let sender = self.take();
        sender.queue().release(1);
        sender
    }

    /// Returns `true` if both permits are for the same channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<()>(2);
    /// let one = tx.clone().try_reserve_owned().unwrap();
    /// let two = tx.try_reserve_owned().unwrap();
    /// assert!(one.same_channel(&two));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        self.sender().same_channel(other.sender())
    }

    /// Returns `true` if the permit is for the sender's channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel::<()>(2);
    /// let permit = tx.clone().try_reserve_owned().unwrap();
    /// assert!(permit.same_channel_as_sender(&tx));
    /// ```
    pub fn same_channel_as_sender(&self, sender: &Sender<T>) -> bool {
        self.sender().same_channel(sender)
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let Some(sender) = &self.sender {
            sender.queue().release(1);
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").finish_non_exhaustive()
    }
}
