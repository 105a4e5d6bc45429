use super::RwLock;
use crate::sync::permits::Permits;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;

/// A held read lock, whatever the type of the data.
pub(super) struct Held<'a>(pub(super) &'a Permits);

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.let_go();
        self.0.give_back(1);
        self.0.seen.read_unlocked();
    }
}

/// A guard of an [`RwLock`] that is locked for reading, through which the data can be read.
///
/// Returned by [`RwLock::read`], [`RwLock::try_read`] and [`RwLock::blocking_read`], and by
/// [`RwLockWriteGuard::downgrade`](super::RwLockWriteGuard::downgrade). Dropping the guard releases
/// the lock.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let lock = tress::sync::RwLock::new(vec![1]);
/// let guard = lock.read().await;
/// assert_eq!(guard.len(), 1);
/// # });
/// ```
#[must_use = "the lock is released when the guard is dropped"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    held: Held<'a>,
    data: NonNull<T>,
    _data: PhantomData<&'a T>,
}

// SAFETY: it stands for a `&T`, and may unlock on any thread.
unsafe impl<T: ?Sized + Sync> Send for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockReadGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// Creates the guard. The caller has one permit of the lock.
    #[inline(always)]
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        // SAFETY: the cell is not at address zero.
        let data = unsafe { NonNull::new_unchecked(lock.data.get()) };
        let guard = Self::from_parts(Held(&lock.permits), data);
        lock.permits.held();
        lock.permits.seen.read_locked();
        guard
    }

    #[inline(always)]
    pub(super) fn from_parts(held: Held<'a>, data: NonNull<T>) -> Self {
        RwLockReadGuard {
            held,
            data,
            _data: PhantomData,
        }
    }

    /// Makes a guard for a component of the data.
    ///
    /// The lock stays held until the new guard is dropped. If `f` panics, it is released.
    ///
    /// This is an associated function, called as `RwLockReadGuard::map(guard, …)`, so that it does
    /// not shadow a method of the data.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::{RwLock, RwLockReadGuard};
    ///
    /// let lock = RwLock::new((1, "one"));
    /// let name = RwLockReadGuard::map(lock.try_read().unwrap(), |pair| pair.1);
    /// assert_eq!(&*name, "one");
    /// ```
    #[inline]
    pub fn map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let part = NonNull::from(f(&*this));
        RwLockReadGuard::from_parts(this.held, part)
    }

    /// Makes a guard for a component of the data that may be absent.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`. The lock stays held.
    ///
    /// # Examples
    /// ```
    /// use tress::sync::{RwLock, RwLockReadGuard};
    ///
    /// let lock = RwLock::new(vec![1]);
    /// let guard = lock.try_read().unwrap();
    /// let guard = RwLockReadGuard::try_map(guard, |list| list.get(1)).unwrap_err();
    /// let first = RwLockReadGuard::try_map(guard, |list| list.first()).unwrap();
    /// assert_eq!(*first, 1);
    /// ```
    #[inline]
    pub fn try_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match f(&*this).map(NonNull::from) {
            Some(part) => Ok(RwLockReadGuard::from_parts(this.held, part)),
            None => Err(this),
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: a read lock is ours, so there is no writer; the data is in the lock, which is
        // borrowed, and the result borrows the guard.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
