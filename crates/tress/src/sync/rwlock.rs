use super::mutex::{TryLockError, never_closed};
use super::permits::Permits;
use crate::runtime::block_thread::{self, cannot_block};
use crate::sight::WaitKind;
use crate::spans::Lock;
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

/// The maximum number of readers at a time, unless a lock is created with a smaller one.
const MAX_READERS: u32 = u32::MAX >> 3;

/// An asynchronous reader-writer lock.
///
/// Any number of tasks may hold the lock for reading at a time, or one task for writing. Tasks wait
/// for it without blocking their threads, and may hold the guards over an `.await`. Use
/// [`Mutex`](super::Mutex) if readers are rare or hold the lock briefly.
///
/// # Fairness
/// Tasks get the lock in the order in which they began to wait for it. A reader that arrives while
/// a writer waits is served after that writer, so a stream of readers does not starve writers.
///
/// **A task that holds a read guard must therefore not wait for a second one.** If a writer begins
/// to wait in between, the writer waits for the first guard and the task for the writer, for ever.
///
/// # Panics of the holder
/// The lock does not poison. If a task panics while it holds a write guard, the lock is released,
/// and the next task sees the data as the panic left it.
///
/// # Examples
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
pub struct RwLock<T: ?Sized> {
    /// The number of permits, all of which a writer needs. A reader needs one.
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
    /// Creates a new, unlocked lock with `data`.
    ///
    /// At most `u32::MAX >> 3` readers can hold it at a time; see
    /// [`with_max_readers`](RwLock::with_max_readers).
    ///
    /// # Examples
    /// ```
    /// let lock = tress::sync::RwLock::new(5);
    /// assert_eq!(lock.into_inner(), 5);
    /// ```
    #[track_caller]
    pub fn new(data: T) -> Self {
        RwLock {
            max_readers: MAX_READERS,
            permits: permits(MAX_READERS).seen_as(Lock::rwlock(MAX_READERS)),
            data: UnsafeCell::new(data),
        }
    }

    /// Creates a new, unlocked lock with `data`, for at most `max_readers` readers at a time.
    ///
    /// Further readers wait until one of the others is done.
    ///
    /// # Panics
    /// Panics if `max_readers` is 0 or exceeds `u32::MAX >> 3`.
    ///
    /// # Examples
    /// ```
    /// let lock = tress::sync::RwLock::with_max_readers(5, 1);
    /// let _reader = lock.try_read().unwrap();
    /// assert!(lock.try_read().is_err());
    /// ```
    #[track_caller]
    pub fn with_max_readers(data: T, max_readers: u32) -> Self {
        check_max_readers(max_readers);
        RwLock {
            max_readers,
            permits: permits(max_readers).seen_as(Lock::rwlock(max_readers)),
            data: UnsafeCell::new(data),
        }
    }

    const_fn! {
        /// Creates a new, unlocked lock with `data`, in a constant context.
        ///
        /// Does the same as [`new`](RwLock::new), and can initialize a `static`.
        ///
        /// # Examples
        /// ```
        /// use tress::sync::RwLock;
        ///
        /// static NAMES: RwLock<Vec<String>> = RwLock::const_new(Vec::new());
        /// assert!(NAMES.try_read().unwrap().is_empty());
        /// ```
        #[track_caller]
        pub fn const_new(data: T) -> Self {
            RwLock {
                max_readers: MAX_READERS,
                permits: permits(MAX_READERS),
                data: UnsafeCell::new(data),
            }
        }
    }

    const_fn! {
        /// Creates a new, unlocked lock with `data`, for at most `max_readers` readers at a time,
        /// in a constant context.
        ///
        /// Does the same as [`with_max_readers`](RwLock::with_max_readers), and can initialize a
        /// `static`.
        ///
        /// # Panics
        /// Panics if `max_readers` is 0 or exceeds `u32::MAX >> 3`.
        ///
        /// # Examples
        /// ```
        /// use tress::sync::RwLock;
        ///
        /// static LOCK: RwLock<u32> = RwLock::const_with_max_readers(5, 1024);
        /// assert_eq!(*LOCK.try_read().unwrap(), 5);
        /// ```
        #[track_caller]
        pub fn const_with_max_readers(data: T, max_readers: u32) -> Self {
            check_max_readers(max_readers);
            RwLock {
                max_readers,
                permits: permits(max_readers),
                data: UnsafeCell::new(data),
            }
        }
    }

    /// Consumes the lock and returns the data.
    ///
    /// # Examples
    /// ```
    /// let lock = tress::sync::RwLock::new(String::from("mine"));
    /// assert_eq!(lock.into_inner(), "mine");
    /// ```
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

const_fn! {
    /// Creates the counter of a lock.
    #[track_caller]
    fn permits(max_readers: u32) -> Permits {
        // With a single reader both locks take the one permit there is.
        Permits::new(max_readers as usize).known_as(match max_readers {
            1 => WaitKind::RwLockWrite,
            _ => WaitKind::RwLockRead,
        })
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
    /// Locks for reading, waiting until no writer holds the lock or waits ahead of this call.
    ///
    /// Calls of [`read`](RwLock::read) and [`write`](RwLock::write) are served in the order in
    /// which their futures were first polled. The lock is released when the returned guard is
    /// dropped.
    ///
    /// A task that already holds a read guard must not call this method: see
    /// [Fairness](RwLock#fairness).
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before it is ready, it loses its place
    /// in the queue.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let lock = tress::sync::RwLock::new(1);
    /// assert_eq!(*lock.read().await, 1);
    /// # });
    /// ```
    #[inline]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> {
        self.permits.seen.run("RwLock::read", false, move || {
            self.permits.take(1).then(move |taken| {
                never_closed(taken);
                RwLockReadGuard::new(self)
            })
        })
    }

    /// Locks for reading, and returns a guard that keeps the lock alive by its `Arc`.
    ///
    /// Does the same as [`read`](RwLock::read), but the guard borrows nothing: it can be moved into
    /// a spawned task or stored.
    ///
    /// # Cancel safety
    /// This method is cancel safe, as [`read`](RwLock::read) is.
    ///
    /// # Examples
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
    pub async fn read_owned(self: Arc<Self>) -> OwnedRwLockReadGuard<T> {
        let seen = &self.permits.seen;
        let take = seen.run("RwLock::read_owned", false, || self.permits.take(1));
        never_closed(take.await);
        OwnedRwLockReadGuard::new(self)
    }

    /// Locks for reading if that is possible without waiting.
    ///
    /// # Errors
    /// Returns [`TryLockError`] if a writer holds the lock or other tasks wait for it, or if the
    /// maximum number of readers hold it.
    ///
    /// # Examples
    /// ```
    /// let lock = tress::sync::RwLock::new(1);
    /// let writer = lock.try_write().unwrap();
    /// assert!(lock.try_read().is_err());
    /// drop(writer);
    /// assert!(lock.try_read().is_ok());
    /// ```
    #[inline]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.try_acquire(1)?;
        Ok(RwLockReadGuard::new(self))
    }

    /// Locks for reading if that is possible without waiting, and returns a guard that keeps the
    /// lock alive by its `Arc`.
    ///
    /// # Errors
    /// Returns [`TryLockError`] under the conditions of [`try_read`](RwLock::try_read).
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::RwLock;
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// assert_eq!(*lock.try_read_owned().unwrap(), 1);
    /// ```
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        self.try_acquire(1)?;
        Ok(OwnedRwLockReadGuard::new(self))
    }

    /// Locks for reading, blocking the current thread until that is possible.
    ///
    /// The thread waits in the same queue as the tasks that call [`read`](RwLock::read) and
    /// [`write`](RwLock::write).
    ///
    /// # Panics
    /// Panics if called on a thread that is driving tasks; use [`read`](RwLock::read) there.
    ///
    /// # Examples
    /// ```
    /// let lock = tress::sync::RwLock::new(1);
    /// assert_eq!(*lock.blocking_read(), 1);
    /// ```
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        block_thread::block_on(cannot_block!("RwLock::blocking_read"), self.read())
    }

    /// Locks for writing, waiting until no other task holds the lock.
    ///
    /// Calls of [`read`](RwLock::read) and [`write`](RwLock::write) are served in the order in
    /// which their futures were first polled. The lock is released when the returned guard is
    /// dropped.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before it is ready, it loses its place
    /// in the queue, and readers behind it can go ahead.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let lock = tress::sync::RwLock::new(1);
    /// *lock.write().await += 1;
    /// assert_eq!(*lock.read().await, 2);
    /// # });
    /// ```
    #[inline]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> {
        self.permits.seen.run("RwLock::write", false, move || {
            self.permits.take(self.all()).then(move |taken| {
                never_closed(taken);
                RwLockWriteGuard::new(self)
            })
        })
    }

    /// Locks for writing, and returns a guard that keeps the lock alive by its `Arc`.
    ///
    /// Does the same as [`write`](RwLock::write), but the guard borrows nothing: it can be moved
    /// into a spawned task or stored.
    ///
    /// # Cancel safety
    /// This method is cancel safe, as [`write`](RwLock::write) is.
    ///
    /// # Examples
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
    pub async fn write_owned(self: Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        let (seen, all) = (&self.permits.seen, self.all());
        let take = seen.run("RwLock::write_owned", false, || self.permits.take(all));
        never_closed(take.await);
        OwnedRwLockWriteGuard::new(self)
    }

    /// Locks for writing if that is possible without waiting.
    ///
    /// # Errors
    /// Returns [`TryLockError`] if the lock is held, for reading or for writing, or other tasks
    /// wait for it.
    ///
    /// # Examples
    /// ```
    /// let lock = tress::sync::RwLock::new(1);
    /// let reader = lock.try_read().unwrap();
    /// assert!(lock.try_write().is_err());
    /// drop(reader);
    /// *lock.try_write().unwrap() += 1;
    /// ```
    #[inline]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.try_acquire(self.all())?;
        Ok(RwLockWriteGuard::new(self))
    }

    /// Locks for writing if that is possible without waiting, and returns a guard that keeps the
    /// lock alive by its `Arc`.
    ///
    /// # Errors
    /// Returns [`TryLockError`] under the conditions of [`try_write`](RwLock::try_write).
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::RwLock;
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// *lock.clone().try_write_owned().unwrap() += 1;
    /// assert_eq!(*lock.try_read().unwrap(), 2);
    /// ```
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        self.try_acquire(self.all())?;
        Ok(OwnedRwLockWriteGuard::new(self))
    }

    /// Locks for writing, blocking the current thread until no other task holds the lock.
    ///
    /// The thread waits in the same queue as the tasks that call [`read`](RwLock::read) and
    /// [`write`](RwLock::write).
    ///
    /// # Panics
    /// Panics if called on a thread that is driving tasks; use [`write`](RwLock::write) there.
    ///
    /// # Examples
    /// ```
    /// let lock = tress::sync::RwLock::new(1);
    /// *lock.blocking_write() += 1;
    /// assert_eq!(*lock.blocking_read(), 2);
    /// ```
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        block_thread::block_on(cannot_block!("RwLock::blocking_write"), self.write())
    }

    /// Returns a mutable reference to the data.
    ///
    /// No locking takes place: the exclusive borrow proves that no guard exists.
    ///
    /// # Examples
    /// ```
    /// let mut lock = tress::sync::RwLock::new(1);
    /// *lock.get_mut() += 1;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// The number of permits that a writer needs.
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
    #[track_caller]
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
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
