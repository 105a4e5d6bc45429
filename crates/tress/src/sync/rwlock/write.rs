use super::{RwLock, RwLockReadGuard, read};
use crate::sync::permits::Permits;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A write lock that is held, whatever the type of what it guards.
struct Held<'a> {
    permits: &'a Permits,
    /// All of them.
    n: usize,
}

impl<'a> Held<'a> {
    /// Lets readers in, and stays as one.
    fn downgrade(self) -> read::Held<'a> {
        let (permits, n) = (self.permits, self.n);
        mem::forget(self);
        let held = read::Held(permits);
        if n > 1 {
            permits.give_back(n - 1);
        }
        held
    }
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.permits.give_back(self.n);
    }
}

/// The write lock on an [`RwLock`], and the way to its data. Unlocks when dropped.
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let lock = tress::sync::RwLock::new(vec![1]);
/// let mut guard = lock.write().await;
/// guard.push(2);
/// assert_eq!(guard.len(), 2);
/// # });
/// ```
#[must_use = "the lock is released when the guard is dropped"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    held: Held<'a>,
    data: NonNull<T>,
    _data: PhantomData<&'a mut T>,
}

// SAFETY: it stands for a `&mut T`, and may unlock on any thread. `Sync` because it can become a
// read guard, others of which are then in other threads.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockWriteGuard<'_, T> {}
// SAFETY: shared it gives out `&T`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// The caller has all permits of the lock.
    #[inline(always)]
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        RwLockWriteGuard {
            held: Held {
                permits: &lock.permits,
                n: lock.all(),
            },
            // SAFETY: the cell is not at address zero.
            data: unsafe { NonNull::new_unchecked(lock.data.get()) },
            _data: PhantomData,
        }
    }

    /// A guard for a part of the data.
    ///
    /// An associated function, so that it does not hide a method of the data.
    ///
    /// ```
    /// use tress::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new((1, "one"));
    /// *RwLockWriteGuard::map(lock.try_write().unwrap(), |pair| &mut pair.0) = 2;
    /// assert_eq!(lock.into_inner().0, 2);
    /// ```
    #[inline]
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let part = NonNull::from(f(&mut *this));
        RwLockMappedWriteGuard::from_parts(this.held, part)
    }

    /// A guard for a part of the data, if there is such a part; otherwise this guard again.
    ///
    /// ```
    /// use tress::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(vec![1]);
    /// let guard = lock.try_write().unwrap();
    /// let guard = RwLockWriteGuard::try_map(guard, |list| list.get_mut(1)).unwrap_err();
    /// assert_eq!(guard.len(), 1);
    /// ```
    #[inline]
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<RwLockMappedWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut *this).map(NonNull::from) {
            Some(part) => Ok(RwLockMappedWriteGuard::from_parts(this.held, part)),
            None => Err(this),
        }
    }

    /// A read guard for a part of the data, with no other writer in between.
    ///
    /// ```
    /// use tress::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new((1, "one"));
    /// let guard = lock.try_write().unwrap();
    /// let number = RwLockWriteGuard::downgrade_map(guard, |pair| &pair.0);
    /// assert_eq!(*number, 1);
    /// assert!(lock.try_read().is_ok());
    /// ```
    #[inline]
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let part = NonNull::from(f(&*this));
        RwLockReadGuard::from_parts(this.held.downgrade(), part)
    }

    /// A read guard for a part of the data, if there is such a part; otherwise this guard again.
    ///
    /// ```
    /// use tress::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(vec![1]);
    /// let guard = lock.try_write().unwrap();
    /// let guard = RwLockWriteGuard::try_downgrade_map(guard, |list| list.get(1)).unwrap_err();
    /// assert!(lock.try_read().is_err());
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn try_downgrade_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match f(&*this).map(NonNull::from) {
            Some(part) => Ok(RwLockReadGuard::from_parts(this.held.downgrade(), part)),
            None => Err(this),
        }
    }

    /// The same guard with the type of a mapped one.
    ///
    /// ```
    /// use tress::sync::{RwLock, RwLockMappedWriteGuard, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let guard: RwLockMappedWriteGuard<'_, i32> =
    ///     RwLockWriteGuard::into_mapped(lock.try_write().unwrap());
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn into_mapped(this: Self) -> RwLockMappedWriteGuard<'a, T> {
        RwLockMappedWriteGuard::from_parts(this.held, this.data)
    }

    /// A read guard in place of this one, with no other writer in between.
    ///
    /// ```
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let lock = tress::sync::RwLock::new(1);
    /// let mut writer = lock.write().await;
    /// *writer += 1;
    /// let reader = writer.downgrade();
    /// assert_eq!((*reader, *lock.read().await), (2, 2));
    /// # });
    /// ```
    pub fn downgrade(self) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard::from_parts(self.held.downgrade(), self.data)
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the write lock is ours; the data is in the lock, which is borrowed, and the
        // result borrows the guard.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, exclusively.
        unsafe { self.data.as_mut() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The write lock on an [`RwLock`], with the way to a part of its data; made by
/// [`RwLockWriteGuard::map`].
///
/// ```
/// use tress::sync::{RwLock, RwLockMappedWriteGuard, RwLockWriteGuard};
///
/// let lock = RwLock::new([1, 2, 3]);
/// let mut last: RwLockMappedWriteGuard<'_, i32> =
///     RwLockWriteGuard::map(lock.try_write().unwrap(), |array| &mut array[2]);
/// *last = 4;
/// drop(last);
/// assert_eq!(lock.into_inner(), [1, 2, 4]);
/// ```
#[must_use = "the lock is released when the guard is dropped"]
#[clippy::has_significant_drop]
pub struct RwLockMappedWriteGuard<'a, T: ?Sized> {
    held: Held<'a>,
    data: NonNull<T>,
    _data: PhantomData<&'a mut T>,
}

// SAFETY: as for `RwLockWriteGuard`.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockMappedWriteGuard<'_, T> {}
// SAFETY: as for `RwLockWriteGuard`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockMappedWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockMappedWriteGuard<'a, T> {
    fn from_parts(held: Held<'a>, data: NonNull<T>) -> Self {
        RwLockMappedWriteGuard {
            held,
            data,
            _data: PhantomData,
        }
    }

    /// As [`RwLockWriteGuard::map`].
    ///
    /// ```
    /// use tress::sync::{RwLock, RwLockMappedWriteGuard, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(((1, 2), 3));
    /// let pair = RwLockWriteGuard::map(lock.try_write().unwrap(), |data| &mut data.0);
    /// let two = RwLockMappedWriteGuard::map(pair, |pair| &mut pair.1);
    /// assert_eq!(*two, 2);
    /// ```
    #[inline]
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let part = NonNull::from(f(&mut *this));
        RwLockMappedWriteGuard::from_parts(this.held, part)
    }

    /// As [`RwLockWriteGuard::try_map`].
    ///
    /// ```
    /// use tress::sync::{RwLock, RwLockMappedWriteGuard, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new((vec![1], 3));
    /// let list = RwLockWriteGuard::map(lock.try_write().unwrap(), |data| &mut data.0);
    /// assert!(RwLockMappedWriteGuard::try_map(list, |list| list.get_mut(5)).is_err());
    /// ```
    #[inline]
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<RwLockMappedWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut *this).map(NonNull::from) {
            Some(part) => Ok(RwLockMappedWriteGuard::from_parts(this.held, part)),
            None => Err(this),
        }
    }
}

impl<T: ?Sized> Deref for RwLockMappedWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: as for `RwLockWriteGuard`.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for RwLockMappedWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `RwLockWriteGuard`.
        unsafe { self.data.as_mut() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockMappedWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockMappedWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
