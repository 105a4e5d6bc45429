use super::{OwnedRwLockReadGuard, RwLock, owned_read};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A lock that is held to write. Dropping it unlocks, then gives up the share.
struct Held<T: ?Sized>(Arc<RwLock<T>>);

impl<T: ?Sized> Held<T> {
    /// Lets readers in, and stays as one.
    fn downgrade(self) -> owned_read::Held<T> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so the share is moved, not copied.
        let held = owned_read::Held(unsafe { ptr::read(&this.0) });
        let n = held.0.all();
        if n > 1 {
            held.0.permits.give_back(n - 1);
        }
        held
    }
}

impl<T: ?Sized> Drop for Held<T> {
    #[inline]
    fn drop(&mut self) {
        self.0.permits.give_back(self.0.all());
    }
}

/// As [`RwLockWriteGuard`](super::RwLockWriteGuard), with a share of the lock instead of a borrow.
///
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
#[must_use = "the lock is released when the guard is dropped"]
#[clippy::has_significant_drop]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    held: Held<T>,
    // Shared between threads a guard gives out `&T`.
    _data: PhantomData<Box<T>>,
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// The caller has all permits of the lock.
    #[inline]
    pub(super) fn new(lock: Arc<RwLock<T>>) -> Self {
        OwnedRwLockWriteGuard {
            held: Held(lock),
            _data: PhantomData,
        }
    }

    /// A guard for a part of the data.
    ///
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

    /// A guard for a part of the data, if there is such a part; otherwise this guard again.
    ///
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

    /// A read guard for a part of the data, with no other writer in between.
    ///
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

    /// A read guard for a part of the data, if there is such a part; otherwise this guard again.
    ///
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

    /// The same guard with the type of a mapped one.
    ///
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

    /// A read guard in place of this one, with no other writer in between.
    ///
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

    /// The lock that is held.
    ///
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

/// As [`RwLockMappedWriteGuard`](super::RwLockMappedWriteGuard), with a share of the lock instead of
/// a borrow; made by [`OwnedRwLockWriteGuard::map`].
///
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
/// What can be written through it must live as long as what is there:
///
/// ```compile_fail
/// fn shorten<'a>(
///     guard: tress::sync::OwnedRwLockMappedWriteGuard<(), &'static str>,
/// ) -> tress::sync::OwnedRwLockMappedWriteGuard<(), &'a str> {
///     guard
/// }
/// ```
#[must_use = "the lock is released when the guard is dropped"]
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
    /// As [`OwnedRwLockWriteGuard::map`].
    ///
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

    /// As [`OwnedRwLockWriteGuard::try_map`].
    ///
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

    /// The lock that is held.
    ///
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
