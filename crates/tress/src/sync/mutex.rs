use super::permits::{Closed, Permits};
use crate::runtime::block_thread::{self, cannot_block};
use std::cell::UnsafeCell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

mod guard;
#[cfg(all(test, loom))]
mod model;
mod owned;

pub use guard::{MappedMutexGuard, MutexGuard};
pub use owned::{OwnedMappedMutexGuard, OwnedMutexGuard};

/// A lock that a task waits for without blocking its thread, and that it may hold over an `.await`.
///
/// ```
/// use std::sync::Arc;
/// use tress::sync::Mutex;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let balance = Arc::new(Mutex::new(0));
/// let tasks: Vec<_> = (0..10)
///     .map(|_| {
///         let balance = balance.clone();
///         tress::spawn(async move {
///             let mut balance = balance.lock().await;
///             let read = *balance;
///             tress::task::yield_now().await; // nobody comes in between
///             *balance = read + 1;
///         })
///     })
///     .collect();
/// for task in tasks {
///     task.await.unwrap();
/// }
/// assert_eq!(*balance.lock().await, 10);
/// # });
/// ```
///
/// Where the lock is not held over an `.await`, `std::sync::Mutex` does as well and costs less to
/// wait for.
///
/// The lock is fair: it goes to those who wait in the order in which they came, and an unlock hands
/// it over to the first of them. It does not poison: if a holder panics, the lock is released, and
/// the next one finds the data as the panic left it.
///
/// Locking and unlocking without contention is one compare-exchange each.
pub struct Mutex<T: ?Sized> {
    permits: Permits,
    data: UnsafeCell<T>,
}

// SAFETY: moving the mutex moves the data.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: the only permit guards the data, so a shared mutex gives one thread at a time access to
// it, which amounts to sending the data there and back.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    ///
    /// ```
    /// let mutex = tress::sync::Mutex::new(5);
    /// assert_eq!(mutex.into_inner(), 5);
    /// ```
    pub fn new(data: T) -> Self {
        Mutex {
            permits: Permits::new(1),
            data: UnsafeCell::new(data),
        }
    }

    const_fn! {
        /// As [`new`](Mutex::new), for statics.
        ///
        /// ```
        /// use tress::sync::Mutex;
        ///
        /// static NAMES: Mutex<Vec<String>> = Mutex::const_new(Vec::new());
        /// NAMES.try_lock().unwrap().push("Ada".into());
        /// ```
        pub fn const_new(data: T) -> Self {
            Mutex {
                permits: Permits::new(1),
                data: UnsafeCell::new(data),
            }
        }
    }

    /// The data.
    ///
    /// ```
    /// let mutex = tress::sync::Mutex::new(String::from("mine"));
    /// assert_eq!(mutex.into_inner(), "mine");
    /// ```
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks the mutex, waiting for it in turn.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mutex = tress::sync::Mutex::new(1);
    /// *mutex.lock().await += 1;
    /// assert_eq!(*mutex.lock().await, 2);
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in line; if it was given the lock already, the lock
    /// goes to the next.
    #[inline]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        self.permits.take(1).then(move |taken| {
            never_closed(taken);
            MutexGuard::new(self)
        })
    }

    /// As [`lock`](Mutex::lock), with a guard that can outlive the borrow.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Mutex;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mutex = Arc::new(Mutex::new(1));
    /// let mut guard = mutex.clone().lock_owned().await;
    /// tress::spawn(async move { *guard += 1 }).await.unwrap();
    /// assert_eq!(*mutex.lock().await, 2);
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// As [`lock`](Mutex::lock).
    pub async fn lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        never_closed(self.permits.take(1).await);
        OwnedMutexGuard::new(self)
    }

    /// Locks the mutex if nobody holds it.
    ///
    /// ```
    /// let mutex = tress::sync::Mutex::new(1);
    /// let guard = mutex.try_lock().unwrap();
    /// assert!(mutex.try_lock().is_err());
    /// # drop(guard);
    /// ```
    ///
    /// # Errors
    /// If it is locked.
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        match self.permits.try_take(1) {
            Ok(()) => Ok(MutexGuard::new(self)),
            Err(_) => Err(TryLockError(())),
        }
    }

    /// As [`try_lock`](Mutex::try_lock), with a guard that can outlive the borrow.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Mutex;
    ///
    /// let mutex = Arc::new(Mutex::new(1));
    /// let guard = mutex.clone().try_lock_owned().unwrap();
    /// assert!(mutex.try_lock_owned().is_err());
    /// # drop(guard);
    /// ```
    ///
    /// # Errors
    /// If it is locked.
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        match self.permits.try_take(1) {
            Ok(()) => Ok(OwnedMutexGuard::new(self)),
            Err(_) => Err(TryLockError(())),
        }
    }

    /// Locks the mutex by blocking the thread, in turn with the tasks that wait.
    ///
    /// For threads that share data with tasks:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Mutex;
    ///
    /// let rt = tress::runtime::Runtime::new().unwrap();
    /// let mutex = Arc::new(Mutex::new(1));
    /// let task = {
    ///     let mutex = mutex.clone();
    ///     rt.spawn(async move { *mutex.lock().await += 1 })
    /// };
    /// *mutex.blocking_lock() += 1;
    /// rt.block_on(task).unwrap();
    /// assert_eq!(*mutex.blocking_lock(), 3);
    /// ```
    ///
    /// # Panics
    /// On a thread that drives tasks: use [`lock`](Mutex::lock) there.
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        block_thread::block_on(cannot_block!("Mutex::blocking_lock"), self.lock())
    }

    /// As [`blocking_lock`](Mutex::blocking_lock), with a guard that can outlive the borrow.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Mutex;
    ///
    /// let mutex = Arc::new(Mutex::new(1));
    /// let mut guard = mutex.clone().blocking_lock_owned();
    /// *guard += 1;
    /// ```
    ///
    /// # Panics
    /// On a thread that drives tasks: use [`lock_owned`](Mutex::lock_owned) there.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        block_thread::block_on(
            cannot_block!("Mutex::blocking_lock_owned"),
            self.lock_owned(),
        )
    }

    /// The data, without locking: the borrow proves that nobody else has it.
    ///
    /// ```
    /// let mut mutex = tress::sync::Mutex::new(1);
    /// *mutex.get_mut() += 1;
    /// assert_eq!(mutex.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// Gives the lock up. For guards.
    #[inline(always)]
    fn unlock(&self) {
        self.permits.give_back_only();
    }
}

/// Locks do not close what they are made of.
#[inline(always)]
pub(super) fn never_closed(taken: Result<(), Closed>) {
    if taken.is_err() {
        unreachable!("a lock was closed");
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(data: T) -> Self {
        Mutex::new(data)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(data) => out.field("data", &&*data),
            Err(_) => out.field("data", &format_args!("<locked>")),
        };
        out.finish()
    }
}

/// A lock is taken, in a way that excludes what a `try_` function wanted.
#[derive(Debug)]
pub struct TryLockError(pub(super) ());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lock is taken; wait for it with the asynchronous variant, or try again")
    }
}

impl Error for TryLockError {}
