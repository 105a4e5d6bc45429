use super::Mutex;
use crate::sync::permits::Permits;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A guard of a locked [`Mutex`], through which the data can be read and changed.
///
/// Returned by [`Mutex::lock`], [`Mutex::try_lock`] and [`Mutex::blocking_lock`]. Dropping the
/// guard unlocks the mutex. The guard may be held over an `.await`, and can be sent to another
/// thread if the data can.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mutex = tress::sync::Mutex::new(vec![1]);
/// let mut guard = mutex.lock().await;
/// guard.push(2);
/// assert_eq!(guard.len(), 2);
/// # });
/// ```
#[must_use = "the mutex is unlocked when the guard is dropped"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    // Shared between threads a guard gives out `&T`, which a `&Mutex<T>` alone does not ask for.
    _data: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Creates the guard. The caller has the mutex's permit.
    #[inline(always)]
    pub(super) fn new(mutex: &'a Mutex<T>) -> Self {
        let guard = MutexGuard {
            mutex,
            _data: PhantomData,
        };
        mutex.permits.held_alone();
        mutex.permits.seen.locked();
        guard
    }

    /// Makes a [`MappedMutexGuard`] for a component of the data.
    ///
    /// The mutex stays locked until the new guard is dropped. If `f` panics, it is unlocked.
    ///
    /// This is an associated function, called as `MutexGuard::map(guard, …)`, so that it does not
    /// shadow a method of the data.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::{Mutex, MutexGuard};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mutex = Mutex::new((1, "one"));
    /// let mut number = MutexGuard::map(mutex.lock().await, |pair| &mut pair.0);
    /// *number = 2;
    /// drop(number);
    /// assert_eq!(mutex.lock().await.0, 2);
    /// # });
    /// ```
    #[inline]
    pub fn map<U, F>(this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        // SAFETY: the lock is ours, and `this`, which unlocks if `f` panics, is not used to get at
        // the data any more.
        let part = NonNull::from(f(unsafe { &mut *this.mutex.data.get() }));
        MappedMutexGuard::new(this.into_held(), part)
    }

    /// Makes a [`MappedMutexGuard`] for a component of the data that may be absent.
    ///
    /// This is an associated function, called as `MutexGuard::try_map(guard, …)`, so that it does
    /// not shadow a method of the data.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`. The mutex stays locked.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::{Mutex, MutexGuard};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mutex = Mutex::new(vec![1]);
    /// let guard = mutex.lock().await;
    /// let guard = MutexGuard::try_map(guard, |list| list.get_mut(1)).unwrap_err();
    /// let first = MutexGuard::try_map(guard, |list| list.get_mut(0)).unwrap();
    /// assert_eq!(*first, 1);
    /// # });
    /// ```
    #[inline]
    pub fn try_map<U, F>(this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        // SAFETY: as in `map`. If nothing came of it the borrow is over.
        match f(unsafe { &mut *this.mutex.data.get() }).map(NonNull::from) {
            Some(part) => Ok(MappedMutexGuard::new(this.into_held(), part)),
            None => Err(this),
        }
    }

    /// Returns a reference to the mutex that the guard locks.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::{Mutex, MutexGuard};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// async fn unlocked_and_relocked(guard: MutexGuard<'_, u32>) {
    ///     let mutex = MutexGuard::mutex(&guard);
    ///     drop(guard);
    ///     *mutex.lock().await += 1;
    /// }
    /// let mutex = Mutex::new(1);
    /// unlocked_and_relocked(mutex.lock().await).await;
    /// assert_eq!(mutex.into_inner(), 2);
    /// # });
    /// ```
    #[inline]
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.mutex
    }

    fn into_held(self) -> Held<'a> {
        Held(&ManuallyDrop::new(self).mutex.permits)
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.mutex.unlock();
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is ours, and the result borrows the guard.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, exclusively.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A held lock, whatever the type of the data.
struct Held<'a>(&'a Permits);

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.let_go();
        self.0.give_back_only();
        self.0.seen.unlocked();
    }
}

/// A guard of a locked [`Mutex`] for a component of its data.
///
/// Returned by [`MutexGuard::map`] and [`MutexGuard::try_map`]. Dropping the guard unlocks the
/// mutex.
///
/// # Examples
/// ```
/// use tress::sync::{MappedMutexGuard, Mutex, MutexGuard};
///
/// struct Account {
///     owner: String,
///     balance: i64,
/// }
///
/// async fn balance(account: &Mutex<Account>) -> MappedMutexGuard<'_, i64> {
///     MutexGuard::map(account.lock().await, |account| &mut account.balance)
/// }
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let account = Mutex::new(Account { owner: "Ada".into(), balance: 0 });
/// *balance(&account).await += 100;
/// assert_eq!(account.lock().await.balance, 100);
/// # assert_eq!(account.lock().await.owner, "Ada");
/// # });
/// ```
#[must_use = "the mutex is unlocked when the guard is dropped"]
#[clippy::has_significant_drop]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    held: Held<'a>,
    data: NonNull<T>,
    _data: PhantomData<&'a mut T>,
}

// SAFETY: it stands for a `&mut T`, and may unlock on any thread.
unsafe impl<T: ?Sized + Send> Send for MappedMutexGuard<'_, T> {}
// SAFETY: shared it gives out `&T`.
unsafe impl<T: ?Sized + Sync> Sync for MappedMutexGuard<'_, T> {}

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    fn new(held: Held<'a>, data: NonNull<T>) -> Self {
        MappedMutexGuard {
            held,
            data,
            _data: PhantomData,
        }
    }

    /// Makes a [`MappedMutexGuard`] for a component of the component.
    ///
    /// The mutex stays locked until the new guard is dropped. If `f` panics, it is unlocked.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new(((1, 2), 3));
    /// let pair = MutexGuard::map(mutex.try_lock().unwrap(), |data| &mut data.0);
    /// let two = MappedMutexGuard::map(pair, |pair| &mut pair.1);
    /// assert_eq!(*two, 2);
    /// ```
    #[inline]
    pub fn map<U, F>(mut this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        // SAFETY: as in `MutexGuard::map`.
        let part = NonNull::from(f(unsafe { this.data.as_mut() }));
        MappedMutexGuard::new(this.held, part)
    }

    /// Makes a [`MappedMutexGuard`] for a component of the component that may be absent.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`. The mutex stays locked.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new((vec![1], 3));
    /// let list = MutexGuard::map(mutex.try_lock().unwrap(), |data| &mut data.0);
    /// assert!(MappedMutexGuard::try_map(list, |list| list.get_mut(5)).is_err());
    /// ```
    #[inline]
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        // SAFETY: as in `MutexGuard::map`.
        match f(unsafe { this.data.as_mut() }).map(NonNull::from) {
            Some(part) => Ok(MappedMutexGuard::new(this.held, part)),
            None => Err(this),
        }
    }
}

impl<T: ?Sized> Deref for MappedMutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is ours, the data is in the mutex, and the result borrows the guard.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for MappedMutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, exclusively.
        unsafe { self.data.as_mut() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MappedMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MappedMutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
