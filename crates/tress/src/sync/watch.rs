//! A channel that holds one value, which senders replace and receivers watch.
//!
//! Only the latest value is kept. Each [`Receiver`] can look at it at any time, and wait until it
//! changes; a slow receiver misses the values in between and slows no sender down. This suits
//! configuration, progress and state that is displayed, and shutdown signals. Use
//! [`broadcast`](super::broadcast) if every receiver has to see every value.
//!
//! [`channel`](channel()) creates a sender and a receiver; both can be cloned.
//!
//! # Changes
//! Each value has a version, and each receiver remembers the version that it has seen last. The
//! value has changed, for that receiver, if the two differ. A new receiver has seen the value that
//! is there when it is created.
//!
//! # Borrowing
//! [`borrow`](Receiver::borrow) and its variants return a guard of a blocking reader-writer lock.
//! While one exists, senders block their threads, and as soon as a sender waits, other receivers
//! may as well. Hold it briefly and never over an `.await`, and hold only one at a time on a
//! thread: a second one may wait for a sender that waits for the first.
//!
//! # Closing
//! When the last sender is dropped, waiting receivers get an error, and the last value can still be
//! borrowed. When the last receiver is dropped, [`Sender::send`] fails and [`Sender::closed`]
//! returns, but [`Sender::subscribe`] can open the channel again.
//!
//! # Examples
//! ```
//! use tress::sync::watch;
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, mut rx) = watch::channel("starting");
//! let watcher = tress::spawn(async move {
//!     let mut seen = vec![*rx.borrow_and_update()];
//!     while rx.changed().await.is_ok() {
//!         seen.push(*rx.borrow_and_update());
//!     }
//!     seen
//! });
//! tx.send("running").unwrap();
//! drop(tx);
//! assert!(watcher.await.unwrap().contains(&"running"));
//! # });
//! ```

pub mod error;
#[cfg(all(test, loom))]
mod model;
mod shared;

use self::error::{RecvError, SendError};
use self::shared::{Guard, Shared, Version};
use crate::sys::Arc;
use crate::task::coop;
use crate::wait::Listener;
use std::fmt;
use std::future::poll_fn;
use std::ops::Deref;
use std::pin::pin;
use std::task::ready;

/// Creates a channel with its first value, and returns a sender and a receiver.
///
/// The receiver counts the first value as seen: [`changed`](Receiver::changed) waits for the next
/// one.
///
/// # Examples
/// ```
/// use tress::sync::watch;
///
/// let (tx, rx) = watch::channel(1);
/// tx.send(2).unwrap();
/// assert_eq!(*rx.borrow(), 2);
/// ```
#[track_caller]
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared::new(value, 1));
    let version = shared.state().version();
    (
        Sender {
            shared: shared.clone(),
        },
        Receiver { shared, version },
    )
}

/// A sending half of a watch channel; see [`channel`](channel()).
///
/// Clones send to the same receivers. When the last sender is dropped, the channel is closed.
///
/// # Examples
/// ```
/// use tress::sync::watch;
///
/// let (tx, rx) = watch::channel(0);
/// let other = tx.clone();
/// other.send(1).unwrap();
/// assert_eq!(*rx.borrow(), 1);
/// ```
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

/// A receiving half of a watch channel; see [`channel`](channel()) and [`Sender::subscribe`].
///
/// A clone has seen the same version as the original, and counts its own from then on.
///
/// # Examples
/// ```
/// use tress::sync::watch;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = watch::channel(0);
/// tress::spawn(async move { tx.send(1) });
/// rx.changed().await.unwrap();
/// assert_eq!(*rx.borrow_and_update(), 1);
/// # });
/// ```
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version seen last.
    version: Version,
}

/// A borrow of the value of a watch channel, which cannot change while it exists.
///
/// Returned by [`Sender::borrow`], [`Receiver::borrow`], [`Receiver::borrow_and_update`] and
/// [`Receiver::wait_for`]. Senders block their threads until it is dropped; see
/// [Borrowing](self#borrowing).
///
/// # Examples
/// ```
/// use tress::sync::watch;
///
/// let (tx, rx) = watch::channel(String::from("one"));
/// let length = rx.borrow().len(); // the borrow ends here
/// tx.send("three".into()).unwrap();
/// assert_eq!(length, 3);
/// ```
pub struct Ref<'a, T> {
    value: Guard<'a, T>,
    has_changed: bool,
}

impl<T> Ref<'_, T> {
    /// Returns `true` if the receiver had not seen this value before it was borrowed.
    ///
    /// For a borrow through a [`Sender`] it is always `false`.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert!(rx.borrow_and_update().has_changed());
    /// assert!(!rx.borrow_and_update().has_changed());
    /// ```
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ref")
            .field("value", &**self)
            .field("has_changed", &self.has_changed)
            .finish()
    }
}

impl<T> Sender<T> {
    /// Creates a channel without receivers, and returns its sender.
    ///
    /// [`subscribe`](Sender::subscribe) creates receivers.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let tx = watch::Sender::new(0);
    /// assert_eq!(tx.receiver_count(), 0);
    /// let rx = tx.subscribe();
    /// tx.send(1).unwrap();
    /// assert_eq!(*rx.borrow(), 1);
    /// ```
    #[track_caller]
    pub fn new(value: T) -> Sender<T> {
        Sender {
            shared: Arc::new(Shared::new(value, 0)),
        }
    }

    /// Replaces the value and notifies the receivers.
    ///
    /// Blocks the thread while the value is [borrowed](self#borrowing).
    ///
    /// # Errors
    /// Returns the new value in [`SendError`] if there is no receiver. The value of the channel
    /// does not change then; [`send_replace`](Sender::send_replace) changes it in any case.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(1);
    /// tx.send(2).unwrap();
    /// drop(rx);
    /// assert_eq!(tx.send(3).unwrap_err().0, 3);
    /// assert_eq!(*tx.borrow(), 2);
    /// ```
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.is_closed() {
            return Err(SendError(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// Changes the value in place and notifies the receivers, if there are any.
    ///
    /// Blocks the thread while the value is [borrowed](self#borrowing). The closure is called with
    /// the value locked, and must not use the channel itself.
    ///
    /// # Panics
    /// Panics if the closure panics. Changes that it made stay, but the receivers are not notified.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(vec![1]);
    /// tx.send_modify(|list| list.push(2));
    /// assert_eq!(*rx.borrow(), [1, 2]);
    /// ```
    pub fn send_modify<F>(&self, modify: F)
    where
        F: FnOnce(&mut T),
    {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Lets a closure change the value in place, and notifies the receivers if it returns `true`.
    ///
    /// Returns what the closure returns. Blocks the thread while the value is
    /// [borrowed](self#borrowing). The closure is called with the value locked, and must not use
    /// the channel itself.
    ///
    /// # Panics
    /// Panics if the closure panics. Changes that it made stay, but the receivers are not notified.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(1);
    /// let double_if_odd = |n: &mut i32| {
    ///     let odd = *n % 2 == 1;
    ///     if odd {
    ///         *n *= 2;
    ///     }
    ///     odd
    /// };
    /// assert!(tx.send_if_modified(double_if_odd));
    /// assert!(!tx.send_if_modified(double_if_odd));
    /// assert_eq!(*rx.borrow(), 2);
    /// ```
    pub fn send_if_modified<F>(&self, modify: F) -> bool
    where
        F: FnOnce(&mut T) -> bool,
    {
        let mut value = self.shared.write();
        if !modify(&mut value) {
            return false;
        }
        self.shared.advance();
        drop(value);
        self.shared.changed.ring();
        true
    }

    /// Replaces the value, notifies the receivers, if there are any, and returns the old value.
    ///
    /// Blocks the thread while the value is [borrowed](self#borrowing).
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let tx = watch::Sender::new(1);
    /// assert_eq!(tx.send_replace(2), 1);
    /// assert_eq!(*tx.borrow(), 2);
    /// ```
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|old| std::mem::swap(old, &mut value));
        value
    }

    /// Borrows the current value.
    ///
    /// Senders block their threads while the returned [`Ref`] exists; see
    /// [Borrowing](self#borrowing).
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, _rx) = watch::channel("hello");
    /// assert_eq!(*tx.borrow(), "hello");
    /// ```
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref {
            value: self.shared.read(),
            has_changed: false,
        }
    }

    /// Returns `true` if there is no receiver at the moment.
    ///
    /// [`subscribe`](Sender::subscribe) can change that.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// let _rx = tx.subscribe();
    /// assert!(!tx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.shared.receivers() == 0
    }

    /// Waits until there is no receiver.
    ///
    /// # Cancel safety
    /// This method is cancel safe: dropping the future has no effect on the channel.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = watch::channel(());
    /// tress::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// # });
    /// ```
    pub async fn closed(&self) {
        let mut listener = pin!(Listener::new(&self.shared.abandoned));
        poll_fn(|cx| {
            let proceed = ready!(coop::poll_proceed(cx));
            let closed = listener
                .as_mut()
                .poll_until(cx, || self.is_closed().then_some(()));
            if closed.is_ready() {
                proceed.made_progress();
            }
            closed
        })
        .await
    }

    /// Creates a receiver, which counts the current value as seen.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let tx = watch::Sender::new(1);
    /// let rx = tx.subscribe();
    /// assert!(!rx.has_changed().unwrap());
    /// tx.send(2).unwrap();
    /// assert!(rx.has_changed().unwrap());
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        self.shared.add_receiver();
        Receiver {
            version: self.shared.state().version(),
            shared: self.shared.clone(),
        }
    }

    /// Returns the number of receivers.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(());
    /// let _other = rx.clone();
    /// assert_eq!(tx.receiver_count(), 2);
    /// ```
    pub fn receiver_count(&self) -> usize {
        self.shared.receivers()
    }

    /// Returns the number of senders.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, _rx) = watch::channel(());
    /// let _other = tx.clone();
    /// assert_eq!(tx.sender_count(), 2);
    /// ```
    pub fn sender_count(&self) -> usize {
        self.shared.senders()
    }

    /// Returns `true` if both senders belong to the same channel.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let tx = watch::Sender::new(());
    /// assert!(tx.same_channel(&tx.clone()));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.add_sender();
        Sender {
            shared: self.shared.clone(),
        }
    }
}

impl<T: Default> Default for Sender<T> {
    fn default() -> Self {
        Sender::new(T::default())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.remove_sender();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("version", &self.shared.state().version())
            .field("receivers", &self.receiver_count())
            .finish_non_exhaustive()
    }
}

impl<T> Receiver<T> {
    /// Borrows the current value, without counting it as seen.
    ///
    /// [`changed`](Receiver::changed) still returns for this value. Senders block their threads
    /// while the returned [`Ref`] exists; see [Borrowing](self#borrowing).
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*rx.borrow(), 2);
    /// assert!(rx.has_changed().unwrap());
    /// ```
    pub fn borrow(&self) -> Ref<'_, T> {
        let value = self.shared.read();
        let has_changed = self.shared.state().version() != self.version;
        Ref { value, has_changed }
    }

    /// Borrows the current value, and counts it as seen.
    ///
    /// Use this in loops with [`changed`](Receiver::changed), which may otherwise return a second
    /// time for a value that was sent between the change and the borrow. Senders block their
    /// threads while the returned [`Ref`] exists; see [Borrowing](self#borrowing).
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*rx.borrow_and_update(), 2);
    /// assert!(!rx.has_changed().unwrap());
    /// ```
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let value = self.shared.read();
        let current = self.shared.state().version();
        let has_changed = current != std::mem::replace(&mut self.version, current);
        Ref { value, has_changed }
    }

    /// Returns `true` if the receiver has not seen the current value.
    ///
    /// # Errors
    /// Returns [`RecvError`] if all senders have been dropped, whether the last value has been seen
    /// or not.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(1);
    /// assert!(!rx.has_changed().unwrap());
    /// tx.send(2).unwrap();
    /// assert!(rx.has_changed().unwrap());
    /// drop(tx);
    /// assert!(rx.has_changed().is_err());
    /// ```
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let state = self.shared.state();
        if state.is_closed() {
            return Err(RecvError(()));
        }
        Ok(state.version() != self.version)
    }

    /// Counts the current value as not seen: [`changed`](Receiver::changed) returns at once.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (_tx, mut rx) = watch::channel(1);
    /// rx.mark_changed();
    /// assert!(rx.has_changed().unwrap());
    /// ```
    pub fn mark_changed(&mut self) {
        self.version = self.shared.state().version().previous();
    }

    /// Counts the current value as seen, without borrowing it.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel(1);
    /// tx.send(2).unwrap();
    /// rx.mark_unchanged();
    /// assert!(!rx.has_changed().unwrap());
    /// ```
    pub fn mark_unchanged(&mut self) {
        self.version = self.shared.state().version();
    }

    /// Waits until there is a value that the receiver has not seen, and counts it as seen.
    ///
    /// Returns at once if there is one already.
    ///
    /// # Errors
    /// Returns [`RecvError`] if all senders have been dropped and the last value has been seen.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before it is ready, no value has been
    /// counted as seen.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = watch::channel(1);
    /// tress::spawn(async move { tx.send(2) });
    /// rx.changed().await.unwrap();
    /// assert_eq!(*rx.borrow(), 2);
    /// assert!(rx.changed().await.is_err());
    /// # });
    /// ```
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        self.version = changed(&self.shared, self.version).await?;
        Ok(())
    }

    /// Waits until the value satisfies a condition, and borrows it.
    ///
    /// The current value is examined first, seen or not. Every value that was examined counts as
    /// seen. The condition is called with the value locked, and must not use the channel itself. The
    /// value stays locked while the returned [`Ref`] exists; see [Borrowing](self#borrowing).
    ///
    /// # Errors
    /// Returns [`RecvError`] if all senders have been dropped and the last value does not satisfy
    /// the condition.
    ///
    /// # Panics
    /// Panics if the condition panics.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before it is ready, values that did not
    /// satisfy the condition may have been counted as seen; nothing else is lost.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut rx) = watch::channel(1);
    /// tress::spawn(async move {
    ///     for i in 2..10 {
    ///         tx.send_replace(i);
    ///         tress::task::yield_now().await;
    ///     }
    /// });
    /// let value = rx.wait_for(|n| *n >= 5).await.unwrap();
    /// assert!(*value >= 5);
    /// # });
    /// ```
    pub async fn wait_for(
        &mut self,
        mut condition: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, RecvError> {
        // The value may satisfy the condition each time without a wait.
        coop::consume_budget().await;
        loop {
            {
                let value = self.shared.read();
                let current = self.shared.state().version();
                let has_changed = current != std::mem::replace(&mut self.version, current);
                if condition(&value) {
                    return Ok(Ref { value, has_changed });
                }
            }
            changed(&self.shared, self.version).await?;
        }
    }

    /// Returns `true` if both receivers belong to the same channel.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (_tx, rx) = watch::channel(());
    /// assert!(rx.same_channel(&rx.clone()));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns `true` if all senders have been dropped.
    ///
    /// The value does not change any more then.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(());
    /// assert!(!rx.is_closed());
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.shared.state().is_closed()
    }
}

/// Waits for a version other than `seen`, and returns it.
async fn changed<T>(shared: &Shared<T>, seen: Version) -> Result<Version, RecvError> {
    let mut listener = pin!(Listener::new(&shared.changed));
    poll_fn(|cx| {
        let proceed = ready!(coop::poll_proceed(cx));
        let changed = listener.as_mut().poll_until(cx, || {
            let state = shared.state();
            if state.version() != seen {
                Some(Ok(state.version()))
            } else {
                state.is_closed().then_some(Err(RecvError(())))
            }
        });
        if changed.is_ready() {
            proceed.made_progress();
        }
        changed
    })
    .await
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.add_receiver();
        Receiver {
            shared: self.shared.clone(),
            version: self.version,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.remove_receiver();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("version", &self.version)
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
