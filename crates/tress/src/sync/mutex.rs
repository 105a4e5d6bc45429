use super::permits::{Closed, Permits};
use crate::runtime::block_thread::{self, cannot_block};
use crate::sight::WaitKind;
use crate::spans::Lock;
use crate::words;
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

/// An asynchronous mutual exclusion lock.
///
/// A task waits for the lock without blocking its thread, and may hold the guard over an `.await`.
///
/// # Which kind of mutex to use
/// Use [`std::sync::Mutex`] if the lock is never held over an `.await`: it costs less to wait for,
/// and the compiler rejects most attempts to hold its guard over one. This mutex is for operations
/// that must not be interleaved although they wait in between, such as a request and its reply on a
/// shared connection.
///
/// # Fairness
/// Tasks get the lock in the order in which they began to wait for it. Unlocking hands the lock to
/// the first of them directly. Without contention, locking and unlocking take one atomic operation
/// each.
///
/// # Panics of the holder
/// The mutex does not poison. If a task panics while it holds the guard, the lock is released, and
/// the next task sees the data as the panic left it.
///
/// # Examples
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
///             tress::task::yield_now().await; // no other task gets in between
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
    /// Creates a new, unlocked mutex with `data`.
    ///
    /// # Examples
    /// ```
    /// let mutex = tress::sync::Mutex::new(5);
    /// assert_eq!(mutex.into_inner(), 5);
    /// ```
    #[track_caller]
    pub fn new(data: T) -> Self {
        Mutex {
            permits: Permits::new(1)
                .known_as(WaitKind::Mutex)
                .seen_as(Lock::mutex()),
            data: UnsafeCell::new(data),
        }
    }

    const_fn! {
        /// Creates a new, unlocked mutex with `data`, in a constant context.
        ///
        /// Does the same as [`new`](Mutex::new), and can initialize a `static`.
        ///
        /// # Examples
        /// ```
        /// use tress::sync::Mutex;
        ///
        /// static NAMES: Mutex<Vec<String>> = Mutex::const_new(Vec::new());
        /// NAMES.try_lock().unwrap().push("Ada".into());
        /// ```
        #[track_caller]
        pub fn const_new(data: T) -> Self {
            Mutex {
                permits: Permits::new(1).known_as(WaitKind::Mutex),
                data: UnsafeCell::new(data),
            }
        }
    }

    /// Consumes the mutex and returns the data.
    ///
    /// # Examples
    /// ```
    /// let mutex = tress::sync::Mutex::new(String::from("mine"));
    /// assert_eq!(mutex.into_inner(), "mine");
    /// ```
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks the mutex, waiting until it is unlocked.
    ///
    /// Calls are served in the order in which their futures were first polled. The lock is released
    /// when the returned guard is dropped.
    ///
    /// A task that waits for a lock that it holds itself waits for ever.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped before it is ready, it loses its place
    /// in the queue, and a lock that it had already been handed goes to the next waiter.
    ///
    /// # Examples
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mutex = tress::sync::Mutex::new(1);
    /// *mutex.lock().await += 1;
    /// assert_eq!(*mutex.lock().await, 2);
    /// # });
    /// ```
    #[inline]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        self.permits.seen.run("Mutex::lock", false, move || {
            self.permits.take(1).then(move |taken| {
                never_closed(taken);
                MutexGuard::new(self)
            })
        })
    }

    /// Locks the mutex, and returns a guard that keeps the mutex alive by its `Arc`.
    ///
    /// Does the same as [`lock`](Mutex::lock), but the guard borrows nothing: it can be moved into
    /// a spawned task or stored.
    ///
    /// # Cancel safety
    /// This method is cancel safe, as [`lock`](Mutex::lock) is.
    ///
    /// # Examples
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
    pub async fn lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        let seen = &self.permits.seen;
        let take = seen.run("Mutex::lock_owned", false, || self.permits.take(1));
        never_closed(take.await);
        OwnedMutexGuard::new(self)
    }

    /// Locks the mutex if that is possible without waiting.
    ///
    /// # Errors
    /// Returns [`TryLockError`] if the mutex is locked, or other tasks wait for it.
    ///
    /// # Examples
    /// ```
    /// let mutex = tress::sync::Mutex::new(1);
    /// let guard = mutex.try_lock().unwrap();
    /// assert!(mutex.try_lock().is_err());
    /// # drop(guard);
    /// ```
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        match self.permits.try_take(1) {
            Ok(()) => Ok(MutexGuard::new(self)),
            Err(_) => Err(TryLockError(())),
        }
    }

    /// Locks the mutex if that is possible without waiting, and returns a guard that keeps the
    /// mutex alive by its `Arc`.
    ///
    /// # Errors
    /// Returns [`TryLockError`] if the mutex is locked, or other tasks wait for it.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Mutex;
    ///
    /// let mutex = Arc::new(Mutex::new(1));
    /// let guard = mutex.clone().try_lock_owned().unwrap();
    /// assert!(mutex.try_lock_owned().is_err());
    /// # drop(guard);
    /// ```
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        match self.permits.try_take(1) {
            Ok(()) => Ok(OwnedMutexGuard::new(self)),
            Err(_) => Err(TryLockError(())),
        }
    }

    /// Locks the mutex, blocking the current thread until it is unlocked.
    ///
    /// The thread waits in the same queue as the tasks that call [`lock`](Mutex::lock). Use this
    /// method on threads that run no tasks, for instance in
    /// [`spawn_blocking`](crate::task::spawn_blocking).
    ///
    /// # Panics
    /// Panics if called on a thread that is driving tasks; use [`lock`](Mutex::lock) there.
    ///
    /// # Examples
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
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        block_thread::block_on(cannot_block!("Mutex::blocking_lock"), self.lock())
    }

    /// Locks the mutex, blocking the current thread, and returns a guard that keeps the mutex alive
    /// by its `Arc`.
    ///
    /// Does the same as [`blocking_lock`](Mutex::blocking_lock), but the guard borrows nothing.
    ///
    /// # Panics
    /// Panics if called on a thread that is driving tasks; use [`lock_owned`](Mutex::lock_owned)
    /// there.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::Mutex;
    ///
    /// let mutex = Arc::new(Mutex::new(1));
    /// let mut guard = mutex.clone().blocking_lock_owned();
    /// *guard += 1;
    /// ```
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        block_thread::block_on(
            cannot_block!("Mutex::blocking_lock_owned"),
            self.lock_owned(),
        )
    }

    /// Returns a mutable reference to the data.
    ///
    /// No locking takes place: the exclusive borrow proves that no guard exists.
    ///
    /// # Examples
    /// ```
    /// let mut mutex = tress::sync::Mutex::new(1);
    /// *mutex.get_mut() += 1;
    /// assert_eq!(mutex.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// Releases the lock for a guard that is being dropped.
    #[inline(always)]
    fn unlock(&self) {
        self.permits.let_go();
        self.permits.give_back_only();
        self.permits.seen.unlocked();
    }
}

/// Checks the outcome of taking the permits of a lock, which are never closed.
#[inline(always)]
pub(super) fn never_closed(taken: Result<(), Closed>) {
    if taken.is_err() {
        unreachable!("a lock was closed");
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
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

/// The error of the `try_` methods of [`Mutex`] and [`RwLock`](super::RwLock): the lock is not
/// available at the moment.
///
/// # Examples
/// ```
/// use tress::sync::Mutex;
///
/// let mutex = Mutex::new(());
/// let _guard = mutex.try_lock().unwrap();
/// let error = mutex.try_lock().unwrap_err();
/// println!("{error}");
/// ```
#[derive(Debug)]
pub struct TryLockError(pub(super) ());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(words::LOCKED)
    }
}

impl Error for TryLockError {}
