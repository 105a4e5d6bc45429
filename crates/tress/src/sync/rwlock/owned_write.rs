use super::{OwnedRwLockReadGuard, RwLock, owned_read};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A lock that is held for writing. Dropping it releases the lock, then drops the `Arc`.
struct Held<T: ?Sized>(Arc<RwLock<T>>);

impl<T: ?Sized> Held<T> {
    /// Turns the write lock into a read lock, and lets other readers in.
    fn downgrade(self) -> owned_read::Held<T> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so the share is moved, not copied.
        let held = owned_read::Held(unsafe { ptr::read(&this.0) });
        let n = held.0.all();
        if n > 1 {
            held.0.permits.give_back(n - 1);
        }
        held.0.permits.seen.write_unlocked();
        held.0.permits.seen.read_locked();
        held
    }
}

impl<T: ?Sized> Drop for Held<T> {
    #[inline]
    fn drop(&mut self) {
        self.0.permits.let_go();
        self.0.permits.give_back(self.0.all());
        self.0.permits.seen.write_unlocked();
    }
}

/// A guard of an [`RwLock`] that is locked for writing, which keeps the lock alive by its `Arc`.
///
/// Returned by [`RwLock::write_owned`] and [`RwLock::try_write_owned`]. It is like a
/// [`RwLockWriteGuard`](super::RwLockWriteGuard), but borrows nothing. Dropping the guard releases
/// the lock.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress::sync::{OwnedRwLockWriteGuard, RwLock};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let lock = Arc::new(RwLock::new(vec![1]));
/// let mut guard: OwnedRwLockWriteGuard<_> = lock.clone().write_owned().await;
/// tress::spawn(async move { guard.push(2) }).await.unwrap();
/// assert_eq!(lock.read().await.len(), 2);
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    held: Held<T>,
    // Shared between threads a guard gives out `&T`.
    _data: PhantomData<Box<T>>,
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// Creates the guard. The caller has all permits of the lock.
    #[inline]
    pub(super) fn new(lock: Arc<RwLock<T>>) -> Self {
        let guard = OwnedRwLockWriteGuard {
            held: Held(lock),
            _data: PhantomData,
        };
        guard.held.0.permits.held_alone();
        guard.held.0.permits.seen.write_locked();
        guard
    }

    /// Makes an [`OwnedRwLockMappedWriteGuard`] for a component of the data.
    ///
    /// The lock stays held until the new guard is dropped. If `f` panics, it is released.
    ///
    /// This is an associated function, called as `OwnedRwLockWriteGuard::map(guard, …)`, so that it
    /// does not shadow a method of the data.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new((1, "one")));
    /// let guard = lock.clone().try_write_owned().unwrap();
    /// *OwnedRwLockWriteGuard::map(guard, |pair| &mut pair.0) = 2;
    /// assert_eq!(lock.try_read().unwrap().0, 2);
    /// ```
    #[inline]
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let data = ptr::from_mut(f(&mut *this));
        OwnedRwLockMappedWriteGuard {
            data,
            held: this.held,
        }
    }

    /// Makes an [`OwnedRwLockMappedWriteGuard`] for a component of the data that may be absent.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`. The lock stays held.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(vec![1]));
    /// let guard = lock.try_write_owned().unwrap();
    /// assert!(OwnedRwLockWriteGuard::try_map(guard, |list| list.get_mut(1)).is_err());
    /// ```
    #[inline]
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut *this).map(ptr::from_mut) {
            Some(data) => Ok(OwnedRwLockMappedWriteGuard {
                data,
                held: this.held,
            }),
            None => Err(this),
        }
    }

    /// Atomically turns the write guard into a read guard for a component of the data.
    ///
    /// No other writer gets the lock in between; see
    /// [`downgrade`](OwnedRwLockWriteGuard::downgrade). If `f` panics, the lock is released.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new((1, "one")));
    /// let guard = lock.clone().try_write_owned().unwrap();
    /// let number = OwnedRwLockWriteGuard::downgrade_map(guard, |pair| &pair.0);
    /// assert_eq!((*number, lock.try_read().unwrap().1), (1, "one"));
    /// ```
    #[inline]
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let part = NonNull::from(f(&*this));
        OwnedRwLockReadGuard::from_parts(this.held.downgrade(), part)
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
    /// use std::sync::Arc;
    /// use tress::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(vec![1]));
    /// let guard = lock.try_write_owned().unwrap();
    /// assert!(OwnedRwLockWriteGuard::try_downgrade_map(guard, |list| list.get(1)).is_err());
    /// ```
    #[inline]
    pub fn try_downgrade_map<F, U: ?Sized>(
        this: Self,
        f: F,
    ) -> Result<OwnedRwLockReadGuard<T, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match f(&*this).map(NonNull::from) {
            Some(part) => Ok(OwnedRwLockReadGuard::from_parts(
                this.held.downgrade(),
                part,
            )),
            None => Err(this),
        }
    }

    /// Converts the guard into an [`OwnedRwLockMappedWriteGuard`] for all of the data.
    ///
    /// Functions that may return a guard for a component as well as for the whole can thus have one
    /// return type.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// let guard: OwnedRwLockMappedWriteGuard<i32> =
    ///     OwnedRwLockWriteGuard::into_mapped(lock.try_write_owned().unwrap());
    /// # drop(guard);
    /// ```
    #[inline]
    pub fn into_mapped(this: Self) -> OwnedRwLockMappedWriteGuard<T> {
        Self::map(this, |data| data)
    }

    /// Atomically turns the write guard into a read guard.
    ///
    /// No other writer gets the lock in between, so the data stays as this guard left it. Waiting
    /// readers get the lock at once, except those behind a waiting writer.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::RwLock;
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// let reader = lock.clone().try_write_owned().unwrap().downgrade();
    /// assert_eq!((*reader, *lock.try_read().unwrap()), (1, 1));
    /// ```
    pub fn downgrade(self) -> OwnedRwLockReadGuard<T> {
        Self::downgrade_map(self, |data| data)
    }

    /// Returns a reference to the `Arc` of the lock that the guard holds.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// let guard = lock.clone().try_write_owned().unwrap();
    /// assert!(Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&guard), &lock));
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.held.0
    }
}

impl<T: ?Sized> Deref for OwnedRwLockWriteGuard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the write lock is ours, and the result borrows the guard.
        unsafe { &*self.held.0.data.get() }
    }
}

impl<T: ?Sized> DerefMut for OwnedRwLockWriteGuard<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, exclusively.
        unsafe { &mut *self.held.0.data.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedRwLockWriteGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for OwnedRwLockWriteGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A guard of an [`RwLock`] that is locked for writing, for a component of its data, which keeps
/// the lock alive by its `Arc`.
///
/// Returned by [`OwnedRwLockWriteGuard::map`], [`OwnedRwLockWriteGuard::try_map`] and
/// [`OwnedRwLockWriteGuard::into_mapped`]. It is like a
/// [`RwLockMappedWriteGuard`](super::RwLockMappedWriteGuard), but borrows nothing. Dropping the
/// guard releases the lock.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tress::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
///
/// let lock = Arc::new(RwLock::new([1, 2, 3]));
/// let guard = lock.try_write_owned().unwrap();
/// let last: OwnedRwLockMappedWriteGuard<[i32; 3], i32> =
///     OwnedRwLockWriteGuard::map(guard, |array| &mut array[2]);
/// assert_eq!(*last, 3);
/// ```
///
/// The guard is invariant in the type of the component: a value that is written through it lives as
/// long as the one it replaces.
///
/// ```compile_fail
/// fn shorten<'a>(
///     guard: tress::sync::OwnedRwLockMappedWriteGuard<(), &'static str>,
/// ) -> tress::sync::OwnedRwLockMappedWriteGuard<(), &'a str> {
///     guard
/// }
/// ```
#[clippy::has_significant_drop]
pub struct OwnedRwLockMappedWriteGuard<T: ?Sized, U: ?Sized = T> {
    // Not `NonNull`, which is covariant: through it a shorter-lived `U` could be written.
    data: *mut U,
    held: Held<T>,
}

// SAFETY: it stands for a `&mut U`, and may unlock and drop the lock with its `T` on any thread.
unsafe impl<T, U> Send for OwnedRwLockMappedWriteGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}
// SAFETY: shared it gives out `&U`.
unsafe impl<T, U> Sync for OwnedRwLockMappedWriteGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockMappedWriteGuard<T, U> {
    /// Makes an [`OwnedRwLockMappedWriteGuard`] for a component of the component.
    ///
    /// The lock stays held until the new guard is dropped. If `f` panics, it is released.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(((1, 2), 3)));
    /// let pair = OwnedRwLockWriteGuard::map(lock.try_write_owned().unwrap(), |d| &mut d.0);
    /// let two = OwnedRwLockMappedWriteGuard::map(pair, |pair| &mut pair.1);
    /// assert_eq!(*two, 2);
    /// ```
    #[inline]
    pub fn map<F, V: ?Sized>(mut this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, V>
    where
        F: FnOnce(&mut U) -> &mut V,
    {
        let data = ptr::from_mut(f(&mut *this));
        OwnedRwLockMappedWriteGuard {
            data,
            held: this.held,
        }
    }

    /// Makes an [`OwnedRwLockMappedWriteGuard`] for a component of the component that may be
    /// absent.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`. The lock stays held.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new((vec![1], 3)));
    /// let list = OwnedRwLockWriteGuard::map(lock.try_write_owned().unwrap(), |d| &mut d.0);
    /// assert!(OwnedRwLockMappedWriteGuard::try_map(list, |list| list.get_mut(5)).is_err());
    /// ```
    #[inline]
    pub fn try_map<F, V: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, V>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut V>,
    {
        match f(&mut *this).map(ptr::from_mut) {
            Some(data) => Ok(OwnedRwLockMappedWriteGuard {
                data,
                held: this.held,
            }),
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
    /// use tress::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new((1, 2)));
    /// let guard = lock.clone().try_write_owned().unwrap();
    /// let one = OwnedRwLockWriteGuard::map(guard, |pair| &mut pair.0);
    /// assert!(Arc::ptr_eq(OwnedRwLockMappedWriteGuard::rwlock(&one), &lock));
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.held.0
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedRwLockMappedWriteGuard<T, U> {
    type Target = U;

    #[inline]
    fn deref(&self) -> &U {
        // SAFETY: the write lock is ours; the data is in the lock, which we keep alive, and the
        // result borrows the guard.
        unsafe { &*self.data }
    }
}

impl<T: ?Sized, U: ?Sized> DerefMut for OwnedRwLockMappedWriteGuard<T, U> {
    #[inline]
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: as above, exclusively.
        unsafe { &mut *self.data }
    }
}

impl<T: ?Sized, U: ?Sized + fmt::Debug> fmt::Debug for OwnedRwLockMappedWriteGuard<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized, U: ?Sized + fmt::Display> fmt::Display for OwnedRwLockMappedWriteGuard<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
