use super::mutex::{TryLockError, never_closed};
use super::permits::Permits;
use crate::runtime::block_thread::{self, cannot_block};
use crate::words;
use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

#[cfg(all(test, loom))]
mod model;
mod owned_read;
mod owned_write;
mod read;
mod write;

pub use owned_read::OwnedRwLockReadGuard;
pub use owned_write::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard};
pub use read::RwLockReadGuard;
pub use write::{RwLockMappedWriteGuard, RwLockWriteGuard};

/// The most readers at once, of a lock that was not told otherwise.
const MAX_READERS: u32 = u32::MAX >> 3;

/// A lock that many may hold to read, or one to write, over an `.await` if need be.
///
/// ```
/// use tress::sync::RwLock;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let settings = RwLock::new(vec!["dark"]);
/// {
///     let one = settings.read().await;
///     let two = settings.read().await; // both at once
///     assert_eq!(one.len() + two.len(), 2);
/// }
/// settings.write().await.push("large");
/// assert_eq!(settings.read().await.len(), 2);
/// # });
/// ```
///
/// It is fair: whoever comes first is served first. A reader that comes while a writer waits is
/// served after that writer, so writers are not starved by a stream of readers. **A task that holds
/// a read lock must therefore not wait for a second one**: if a writer came in between, each waits
/// for the other.
///
/// It does not poison. Reading without contention is one atomic operation to lock and one to
/// unlock.
pub struct RwLock<T: ?Sized> {
    /// Permits that a writer needs: all of them. A reader needs one.
    max_readers: u32,
    permits: Permits,
    data: UnsafeCell<T>,
}

// SAFETY: moving the lock moves the data.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: a shared lock gives one thread exclusive access at a time, which amounts to sending the
// data, and several threads shared access.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// An unlocked lock.
    ///
    /// ```
    /// let lock = tress::sync::RwLock::new(5);
    /// assert_eq!(lock.into_inner(), 5);
    /// ```
    pub fn new(data: T) -> Self {
        RwLock {
            max_readers: MAX_READERS,
            permits: Permits::new(MAX_READERS as usize),
            data: UnsafeCell::new(data),
        }
    }

    /// An unlocked lock for at most `max_readers` readers at once.
    ///
    /// ```
    /// let lock = tress::sync::RwLock::with_max_readers(5, 1);
    /// let _reader = lock.try_read().unwrap();
    /// assert!(lock.try_read().is_err());
    /// ```
    ///
    /// # Panics
    /// If `max_readers` is zero or above `u32::MAX >> 3`.
    #[track_caller]
    pub fn with_max_readers(data: T, max_readers: u32) -> Self {
        check_max_readers(max_readers);
        RwLock {
            max_readers,
            permits: Permits::new(max_readers as usize),
            data: UnsafeCell::new(data),
        }
    }

    const_fn! {
        /// As [`new`](RwLock::new), for statics.
        ///
        /// ```
        /// use tress::sync::RwLock;
        ///
        /// static NAMES: RwLock<Vec<String>> = RwLock::const_new(Vec::new());
        /// assert!(NAMES.try_read().unwrap().is_empty());
        /// ```
        pub fn const_new(data: T) -> Self {
            RwLock {
                max_readers: MAX_READERS,
                permits: Permits::new(MAX_READERS as usize),
                data: UnsafeCell::new(data),
            }
        }
    }

    const_fn! {
        /// As [`with_max_readers`](RwLock::with_max_readers), for statics.
        ///
        /// ```
        /// use tress::sync::RwLock;
        ///
        /// static LOCK: RwLock<u32> = RwLock::const_with_max_readers(5, 1024);
        /// assert_eq!(*LOCK.try_read().unwrap(), 5);
        /// ```
        ///
        /// # Panics
        /// If `max_readers` is zero or above `u32::MAX >> 3`.
        #[track_caller]
        pub fn const_with_max_readers(data: T, max_readers: u32) -> Self {
            check_max_readers(max_readers);
            RwLock {
                max_readers,
                permits: Permits::new(max_readers as usize),
                data: UnsafeCell::new(data),
            }
        }
    }

    /// The data.
    ///
    /// ```
    /// let lock = tress::sync::RwLock::new(String::from("mine"));
    /// assert_eq!(lock.into_inner(), "mine");
    /// ```
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

#[track_caller]
const fn check_max_readers(max_readers: u32) {
    assert!(max_readers > 0, "{}", words::NO_READERS);
    assert!(
        max_readers <= MAX_READERS,
        "a RwLock may not be created with more than `u32::MAX >> 3` readers"
    );
}

impl<T: ?Sized> RwLock<T> {
    /// Locks to read, waiting in turn: for a writer that holds the lock, or came before.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let lock = tress::sync::RwLock::new(1);
    /// assert_eq!(*lock.read().await, 1);
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in line.
    #[inline]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> {
        self.permits.take(1).then(move |taken| {
            never_closed(taken);
            RwLockReadGuard::new(self)
        })
    }

    /// As [`read`](RwLock::read), with a guard that can outlive the borrow.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::RwLock;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let lock = Arc::new(RwLock::new(1));
    /// let guard = lock.clone().read_owned().await;
    /// assert_eq!(tress::spawn(async move { *guard }).await.unwrap(), 1);
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// As [`read`](RwLock::read).
    pub async fn read_owned(self: Arc<Self>) -> OwnedRwLockReadGuard<T> {
        never_closed(self.permits.take(1).await);
        OwnedRwLockReadGuard::new(self)
    }

    /// Locks to read if that is possible without waiting.
    ///
    /// ```
    /// let lock = tress::sync::RwLock::new(1);
    /// let writer = lock.try_write().unwrap();
    /// assert!(lock.try_read().is_err());
    /// drop(writer);
    /// assert!(lock.try_read().is_ok());
    /// ```
    ///
    /// # Errors
    /// If a writer has the lock or waits for it, or there are too many readers.
    #[inline]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.try_acquire(1)?;
        Ok(RwLockReadGuard::new(self))
    }

    /// As [`try_read`](RwLock::try_read), with a guard that can outlive the borrow.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::RwLock;
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// assert_eq!(*lock.try_read_owned().unwrap(), 1);
    /// ```
    ///
    /// # Errors
    /// As for [`try_read`](RwLock::try_read).
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        self.try_acquire(1)?;
        Ok(OwnedRwLockReadGuard::new(self))
    }

    /// Locks to read by blocking the thread, in turn with the tasks that wait.
    ///
    /// ```
    /// let lock = tress::sync::RwLock::new(1);
    /// assert_eq!(*lock.blocking_read(), 1);
    /// ```
    ///
    /// # Panics
    /// On a thread that drives tasks: use [`read`](RwLock::read) there.
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        block_thread::block_on(cannot_block!("RwLock::blocking_read"), self.read())
    }

    /// Locks to write, waiting in turn until nobody else has the lock.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let lock = tress::sync::RwLock::new(1);
    /// *lock.write().await += 1;
    /// assert_eq!(*lock.read().await, 2);
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in line: readers behind it may go ahead.
    #[inline]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> {
        self.permits.take(self.all()).then(move |taken| {
            never_closed(taken);
            RwLockWriteGuard::new(self)
        })
    }

    /// As [`write`](RwLock::write), with a guard that can outlive the borrow.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::RwLock;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let lock = Arc::new(RwLock::new(1));
    /// let mut guard = lock.clone().write_owned().await;
    /// tress::spawn(async move { *guard += 1 }).await.unwrap();
    /// assert_eq!(*lock.read().await, 2);
    /// # });
    /// ```
    ///
    /// # Cancel safety
    /// As [`write`](RwLock::write).
    pub async fn write_owned(self: Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        never_closed(self.permits.take(self.all()).await);
        OwnedRwLockWriteGuard::new(self)
    }

    /// Locks to write if nobody has the lock.
    ///
    /// ```
    /// let lock = tress::sync::RwLock::new(1);
    /// let reader = lock.try_read().unwrap();
    /// assert!(lock.try_write().is_err());
    /// drop(reader);
    /// *lock.try_write().unwrap() += 1;
    /// ```
    ///
    /// # Errors
    /// If somebody has it.
    #[inline]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.try_acquire(self.all())?;
        Ok(RwLockWriteGuard::new(self))
    }

    /// As [`try_write`](RwLock::try_write), with a guard that can outlive the borrow.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::RwLock;
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// *lock.clone().try_write_owned().unwrap() += 1;
    /// assert_eq!(*lock.try_read().unwrap(), 2);
    /// ```
    ///
    /// # Errors
    /// As for [`try_write`](RwLock::try_write).
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        self.try_acquire(self.all())?;
        Ok(OwnedRwLockWriteGuard::new(self))
    }

    /// Locks to write by blocking the thread, in turn with the tasks that wait.
    ///
    /// ```
    /// let lock = tress::sync::RwLock::new(1);
    /// *lock.blocking_write() += 1;
    /// assert_eq!(*lock.blocking_read(), 2);
    /// ```
    ///
    /// # Panics
    /// On a thread that drives tasks: use [`write`](RwLock::write) there.
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        block_thread::block_on(cannot_block!("RwLock::blocking_write"), self.write())
    }

    /// The data, without locking: the borrow proves that nobody else has it.
    ///
    /// ```
    /// let mut lock = tress::sync::RwLock::new(1);
    /// *lock.get_mut() += 1;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// What a writer needs.
    #[inline(always)]
    fn all(&self) -> usize {
        self.max_readers as usize
    }

    #[inline(always)]
    fn try_acquire(&self, n: usize) -> Result<(), TryLockError> {
        self.permits.try_take(n).map_err(|_| TryLockError(()))
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(data: T) -> Self {
        RwLock::new(data)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(data) => out.field("data", &&*data),
            Err(_) => out.field("data", &format_args!("<locked>")),
        };
        out.finish()
    }
}
