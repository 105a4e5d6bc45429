//! The latest value, for many to watch.
//!
//! Senders replace one value; each receiver can look at it at any time and wait for a change. Only the
//! newest value is kept: a receiver that is slow misses what came in between, and nobody waits for
//! it. Made for configuration, state that is shown, and shutdown signals.
//!
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
//!
//! # Changes
//! Each value has a version. A receiver remembers the version it saw last; the value *has changed* for
//! it if the versions differ. A new receiver has seen the current value.
//!
//! # Borrowing
//! [`borrow`](Receiver::borrow) returns a guard of a read-write lock. While one is held senders block
//! their threads, and so may other receivers: hold it briefly, and never over an `.await`.

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

/// Makes a channel with a first value, which the receiver counts as seen.
///
/// ```
/// use tress::sync::watch;
///
/// let (tx, rx) = watch::channel(1);
/// tx.send(2).unwrap();
/// assert_eq!(*rx.borrow(), 2);
/// ```
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

/// The sending end of a [watch channel](channel()). Clones send to the same receivers.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

/// The receiving end of a [watch channel](channel()). A clone has seen what the original has.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version seen last.
    version: Version,
}

/// A look at the value; it cannot change meanwhile.
///
/// Senders wait for it to be dropped, blocking their threads.
pub struct Ref<'a, T> {
    value: Guard<'a, T>,
    has_changed: bool,
}

impl<T> Ref<'_, T> {
    /// Had the receiver not seen this value before?
    ///
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
    /// A channel without receivers; [`subscribe`](Sender::subscribe) makes them.
    ///
    /// ```
    /// use tress::sync::watch;
    ///
    /// let tx = watch::Sender::new(0);
    /// assert_eq!(tx.receiver_count(), 0);
    /// let rx = tx.subscribe();
    /// tx.send(1).unwrap();
    /// assert_eq!(*rx.borrow(), 1);
    /// ```
    pub fn new(value: T) -> Sender<T> {
        Sender {
            shared: Arc::new(Shared::new(value, 0)),
        }
    }

    /// Replaces the value and tells the receivers. If there is none the value does not change, and
    /// comes back.
    ///
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

    /// Changes the value in place and tells the receivers, if there are any.
    ///
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(vec![1]);
    /// tx.send_modify(|list| list.push(2));
    /// assert_eq!(*rx.borrow(), [1, 2]);
    /// ```
    ///
    /// # Panics
    /// If the closure does. What it did to the value stays, but the receivers are not told.
    pub fn send_modify<F>(&self, modify: F)
    where
        F: FnOnce(&mut T),
    {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Lets a closure change the value in place; the receivers are told if it returns true. Returns
    /// what the closure does.
    ///
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
    ///
    /// # Panics
    /// If the closure does. What it did to the value stays, but the receivers are not told.
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

    /// Replaces the value and tells the receivers, if there are any. Returns the old one.
    ///
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

    /// Looks at the value.
    ///
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

    /// True if there is no receiver at the moment. [`subscribe`](Sender::subscribe) may change that.
    ///
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
    /// ```
    /// use tress::sync::watch;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = watch::channel(());
    /// tress::spawn(async move { drop(rx) });
    /// tx.closed().await;
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
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

    /// Makes a receiver, which has seen the current value.
    ///
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

    /// How many receivers there are.
    ///
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

    /// How many senders there are.
    ///
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

    /// True if both senders are of the same channel.
    ///
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
    /// Looks at the value, without counting it as seen.
    ///
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

    /// Looks at the value, and counts it as seen.
    ///
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

    /// True if there is a value that this receiver has not seen. Fails if all senders are gone,
    /// seen or not.
    ///
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

    /// Forgets that the value was seen: [`changed`](Receiver::changed) will return at once.
    ///
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

    /// Counts the current value as seen without looking at it.
    ///
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

    /// Waits for a value that this receiver has not seen, and counts it as seen. Fails if there is
    /// none and all senders are gone.
    ///
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
    ///
    /// # Cancel safety
    /// If it is dropped before it is ready nothing was counted as seen.
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        self.version = changed(&self.shared, self.version).await?;
        Ok(())
    }

    /// Waits until the value, the current one included, satisfies a condition, and looks at it. All
    /// values that were looked at count as seen. Fails if the last one does not satisfy it and all
    /// senders are gone.
    ///
    /// The condition is called with the value locked.
    ///
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
    ///
    /// # Panics
    /// If the condition does.
    ///
    /// # Cancel safety
    /// If it is dropped before it is ready, values for which the condition was false may have been
    /// counted as seen; nothing else is lost.
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

    /// True if both receivers are of the same channel.
    ///
    /// ```
    /// use tress::sync::watch;
    ///
    /// let (_tx, rx) = watch::channel(());
    /// assert!(rx.same_channel(&rx.clone()));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// True if all senders are gone: the value will not change any more.
    ///
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

/// Waits for a version other than the one that was seen, and returns it.
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
