use super::error::SendError;
use super::sender::Sender;
use std::fmt;
use std::mem;

/// A reserved place in a channel, into which a message can be sent without waiting; returned by
/// [`Sender::reserve`].
///
/// Dropping it gives the place back.
///
/// # Examples
///
/// ```
/// use tress::channel::Permit;
///
/// let (tx, rx) = tress::channel::bounded(1);
/// let permit: Permit<'_, u32> = tx.try_reserve().unwrap();
/// permit.send(1).unwrap();
/// assert_eq!(rx.try_recv().unwrap(), 1);
/// ```
pub struct Permit<'a, T> {
    sender: &'a Sender<T>,
}

impl<'a, T> Permit<'a, T> {
    /// Creates a permit for a place that the caller has reserved.
    pub(super) fn new(sender: &'a Sender<T>) -> Permit<'a, T> {
        Permit { sender }
    }

    /// Sends a message into the place.
    ///
    /// The message is received even if the channel was closed after the place was reserved.
    ///
    /// # Errors
    /// Returns the message if all receivers were dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = tress::channel::bounded(1);
    /// let permit = tx.reserve().await.unwrap();
    /// rx.close();
    /// permit.send("promised").unwrap();
    /// assert_eq!(rx.recv().await.unwrap(), "promised");
    /// assert!(rx.recv().await.is_err());
    /// # });
    /// ```
    pub fn send(self, message: T) -> Result<(), SendError<T>> {
        let sender = self.sender;
        mem::forget(self);
        sender.channel().send_reserved(message)
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        self.sender.channel().release();
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

/// A reserved place in a channel that borrows nothing; returned by [`Sender::reserve_owned`].
///
/// It counts as a sender. Dropping it gives the place back.
///
/// # Examples
///
/// ```
/// use tress::channel::OwnedPermit;
///
/// let (tx, rx) = tress::channel::bounded(1);
/// let permit: OwnedPermit<u32> = tx.try_reserve_owned().unwrap();
/// let sender = std::thread::spawn(move || permit.send(1).unwrap());
/// assert_eq!(rx.recv_blocking().unwrap(), 1);
/// # sender.join().unwrap();
/// ```
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

    fn take(&mut self) -> Sender<T> {
        self.sender.take().expect("taken only by consuming methods")
    }

    /// Sends a message into the place, and returns the sender.
    ///
    /// The message is received even if the channel was closed after the place was reserved.
    ///
    /// # Errors
    /// Returns the message if all receivers were dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, rx) = tress::channel::bounded(1);
    /// let permit = tx.try_reserve_owned().unwrap();
    /// let tx = permit.send(1).unwrap();
    /// assert_eq!(rx.try_recv().unwrap(), 1);
    /// assert!(tx.try_send(2).is_ok());
    /// ```
    pub fn send(mut self, message: T) -> Result<Sender<T>, SendError<T>> {
        let sender = self.take();
        sender.channel().send_reserved(message)?;
        Ok(sender)
    }

    /// Gives the place back, and returns the sender.
    ///
    /// # Examples
    ///
    /// ```
    /// let (tx, _rx) = tress::channel::bounded::<()>(1);
    /// let permit = tx.try_reserve_owned().unwrap();
    /// let tx = permit.release();
    /// assert!(tx.try_reserve().is_ok());
    /// ```
    pub fn release(mut self) -> Sender<T> {
        let sender = self.take();
        sender.channel().release();
        sender
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let Some(sender) = &self.sender {
            sender.channel().release();
        }
    }
}

impl<T> fmt::Debug for OwnedPermit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").finish_non_exhaustive()
    }
}
