use super::chan::Chan;
use super::sender::Sender;
use std::fmt;
use std::iter::FusedIterator;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A place in a channel, reserved by [`Sender::reserve`]; sending into it neither waits nor fails.
///
/// Dropping it gives the place back.
pub struct Permit<'a, T> {
    chan: &'a Chan<T>,
}

impl<T> UnwindSafe for Permit<'_, T> {}
impl<T> RefUnwindSafe for Permit<'_, T> {}

/// Uses a reservation up. A message for a receiver that is gone is dropped.
fn send_reserved<T>(chan: &Chan<T>, message: T) {
    if let Some(spot) = chan.claim_reserved() {
        drop(chan.send(spot, message));
    }
}

impl<'a, T> Permit<'a, T> {
    /// The caller has reserved a place.
    pub(super) fn new(chan: &'a Chan<T>) -> Permit<'a, T> {
        Permit { chan }
    }

    /// Sends a message.
    ///
    /// It is dropped if the receiver is; it is received if the channel was only
    /// [closed](super::Receiver::close), since the place was promised before.
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
        let chan = self.chan;
        mem::forget(self);
        send_reserved(chan, message);
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        self.chan.release(1);
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

/// Several places in a channel, reserved by [`Sender::reserve_many`], one by one.
///
/// Dropping it gives the rest of the places back.
pub struct PermitIterator<'a, T> {
    chan: &'a Chan<T>,
    left: usize,
}

impl<T> UnwindSafe for PermitIterator<'_, T> {}
impl<T> RefUnwindSafe for PermitIterator<'_, T> {}

impl<'a, T> PermitIterator<'a, T> {
    /// The caller has reserved `left` places.
    pub(super) fn new(chan: &'a Chan<T>, left: usize) -> PermitIterator<'a, T> {
        PermitIterator { chan, left }
    }
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        self.left = self.left.checked_sub(1)?;
        Some(Permit::new(self.chan))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}
impl<T> FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    fn drop(&mut self) {
        self.chan.release(self.left as u64);
    }
}

impl<T> fmt::Debug for PermitIterator<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitIterator")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

/// A place in a channel that borrows nothing, reserved by [`Sender::reserve_owned`].
///
/// It counts as a sender. Dropping it gives the place back.
pub struct OwnedPermit<T> {
    /// `None` once the place has been used or given back.
    sender: Option<Sender<T>>,
}

impl<T> OwnedPermit<T> {
    /// The caller has reserved a place.
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

    /// Sends a message, and returns the sender that the place was reserved with.
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
        send_reserved(sender.chan(), message);
        sender
    }

    /// Gives the place back, and returns the sender that it was reserved with.
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
        sender.chan().release(1);
        sender
    }

    /// True if both permits are for the same channel.
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

    /// True if the permit is for the sender's channel.
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
            sender.chan().release(1);
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").finish_non_exhaustive()
    }
}
