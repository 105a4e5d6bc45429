use super::RwLock;
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// A lock that is held for reading. Dropping it releases the lock, then drops the `Arc`.
pub(super) struct Held<T: ?Sized>(pub(super) Arc<RwLock<T>>);

impl<T: ?Sized> Drop for Held<T> {
    #[inline]
    fn drop(&mut self) {
        self.0.permits.let_go();
        self.0.permits.give_back(1);
        self.0.permits.seen.read_unlocked();
    }
}

/// A guard of an [`RwLock`] that is locked for reading, which keeps the lock alive by its `Arc`.
///
/// Returned by [`RwLock::read_owned`] and [`RwLock::try_read_owned`], and by
/// [`OwnedRwLockWriteGuard::downgrade`](super::OwnedRwLockWriteGuard::downgrade). It is like a
/// [`RwLockReadGuard`](super::RwLockReadGuard), but borrows nothing. `U` is the type of the
/// component that the guard gives access to. Dropping the guard releases the lock.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress::sync::{OwnedRwLockReadGuard, RwLock};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let lock = Arc::new(RwLock::new(vec![1]));
/// let guard: OwnedRwLockReadGuard<_> = lock.read_owned().await;
/// assert_eq!(tress::spawn(async move { guard.len() }).await.unwrap(), 1);
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct OwnedRwLockReadGuard<T: ?Sized, U: ?Sized = T> {
    data: NonNull<U>,
    held: Held<T>,
}

// SAFETY: it stands for a `&U`, and may unlock and drop the lock with its `T` on any thread.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Sync> Send for OwnedRwLockReadGuard<T, U> {}
// SAFETY: as above.
unsafe impl<T, U> Sync for OwnedRwLockReadGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    /// Creates the guard. The caller has one permit of the lock.
    #[inline]
    pub(super) fn new(lock: Arc<RwLock<T>>) -> Self {
        // SAFETY: the cell is not at address zero.
        let data = unsafe { NonNull::new_unchecked(lock.data.get()) };
        let guard = Self::from_parts(Held(lock), data);
        guard.held.0.permits.held();
        guard.held.0.permits.seen.read_locked();
        guard
    }
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockReadGuard<T, U> {
    pub(super) fn from_parts(held: Held<T>, data: NonNull<U>) -> Self {
        OwnedRwLockReadGuard { data, held }
    }

    /// Makes a guard for a component of the data.
    ///
    /// The lock stays held until the new guard is dropped. If `f` panics, it is released.
    ///
    /// This is an associated function, called as `OwnedRwLockReadGuard::map(guard, …)`, so that it
    /// does not shadow a method of the data.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{OwnedRwLockReadGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new((1, "one")));
    /// let guard = lock.try_read_owned().unwrap();
    /// let number = OwnedRwLockReadGuard::map(guard, |pair| &pair.0);
    /// assert_eq!(*number, 1);
    /// ```
    #[inline]
    pub fn map<F, V: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, V>
    where
        F: FnOnce(&U) -> &V,
    {
        let part = NonNull::from(f(&*this));
        OwnedRwLockReadGuard::from_parts(this.held, part)
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
    /// use std::sync::Arc;
    /// use tress::sync::{OwnedRwLockReadGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(vec![1]));
    /// let guard = lock.try_read_owned().unwrap();
    /// assert!(OwnedRwLockReadGuard::try_map(guard, |list| list.get(1)).is_err());
    /// ```
    #[inline]
    pub fn try_map<F, V: ?Sized>(this: Self, f: F) -> Result<OwnedRwLockReadGuard<T, V>, Self>
    where
        F: FnOnce(&U) -> Option<&V>,
    {
        match f(&*this).map(NonNull::from) {
            Some(part) => Ok(OwnedRwLockReadGuard::from_parts(this.held, part)),
            None => Err(this),
        }
    }

    /// Returns a reference to the `Arc` of the lock that the guard holds.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{OwnedRwLockReadGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// let guard = lock.clone().try_read_owned().unwrap();
    /// assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&guard), &lock));
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.held.0
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedRwLockReadGuard<T, U> {
    type Target = U;

    #[inline]
    fn deref(&self) -> &U {
        // SAFETY: a read lock is ours, so there is no writer; the data is in the lock, which we keep
        // alive, and the result borrows the guard.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized, U: ?Sized + fmt::Debug> fmt::Debug for OwnedRwLockReadGuard<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized, U: ?Sized + fmt::Display> fmt::Display for OwnedRwLockReadGuard<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
