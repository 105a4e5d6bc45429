use super::{RwLock, RwLockReadGuard, read};
use crate::sync::permits::Permits;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A held write lock, whatever the type of the data.
struct Held<'a> {
    permits: &'a Permits,
    /// The number of all permits.
    n: usize,
}

impl<'a> Held<'a> {
    /// Turns the write lock into a read lock, and lets other readers in.
    fn downgrade(self) -> read::Held<'a> {
        let (permits, n) = (self.permits, self.n);
        mem::forget(self);
        let held = read::Held(permits);
        if n > 1 {
            permits.give_back(n - 1);
        }
        permits.seen.write_unlocked();
        permits.seen.read_locked();
        held
    }
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.permits.let_go();
        self.permits.give_back(self.n);
        self.permits.seen.write_unlocked();
    }
}

/// A guard of an [`RwLock`] that is locked for writing, through which the data can be read and
/// changed.
///
/// Returned by [`RwLock::write`], [`RwLock::try_write`] and [`RwLock::blocking_write`]. Dropping
/// the guard releases the lock.
///
/// # Examples
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
    /// Creates the guard. The caller has all permits of the lock.
    #[inline(always)]
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        let guard = RwLockWriteGuard {
            held: Held {
                permits: &lock.permits,
                n: lock.all(),
            },
            // SAFETY: the cell is not at address zero.
            data: unsafe { NonNull::new_unchecked(lock.data.get()) },
            _data: PhantomData,
        };
        lock.permits.held_alone();
        lock.permits.seen.write_locked();
        guard
    }

    /// Makes a [`RwLockMappedWriteGuard`] for a component of the data.
    ///
    /// The lock stays held until the new guard is dropped. If `f` panics, it is released.
    ///
    /// This is an associated function, called as `RwLockWriteGuard::map(guard, …)`, so that it does
    /// not shadow a method of the data.
    ///
    /// # Examples
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

    /// Makes a [`RwLockMappedWriteGuard`] for a component of the data that may be absent.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`. The lock stays held.
    ///
    /// # Examples
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

    /// Atomically turns the write guard into a read guard for a component of the data.
    ///
    /// No other writer gets the lock in between; see [`downgrade`](RwLockWriteGuard::downgrade). If
    /// `f` panics, the lock is released.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Examples
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

    /// Atomically turns the write guard into a read guard for a component of the data that may be
    /// absent.
    ///
    /// No other writer gets the lock in between.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`. The lock stays held for writing.
    ///
    /// # Examples
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

    /// Converts the guard into a [`RwLockMappedWriteGuard`] for all of the data.
    ///
    /// Functions that may return a guard for a component as well as for the whole can thus have one
    /// return type.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Examples
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

    /// Atomically turns the write guard into a read guard.
    ///
    /// No other writer gets the lock in between, so the data stays as this guard left it. Waiting
    /// readers get the lock at once, except those behind a waiting writer.
    ///
    /// # Examples
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

/// A guard of an [`RwLock`] that is locked for writing, for a component of its data.
///
/// Returned by [`RwLockWriteGuard::map`], [`RwLockWriteGuard::try_map`] and
/// [`RwLockWriteGuard::into_mapped`]. Dropping the guard releases the lock.
///
/// # Examples
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

    /// Makes a [`RwLockMappedWriteGuard`] for a component of the component.
    ///
    /// The lock stays held until the new guard is dropped. If `f` panics, it is released.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Examples
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

    /// Makes a [`RwLockMappedWriteGuard`] for a component of the component that may be absent.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`. The lock stays held.
    ///
    /// # Examples
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
