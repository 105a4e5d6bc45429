use super::Mutex;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;

/// A locked mutex. Dropping it unlocks, then gives up the share.
struct Held<T: ?Sized>(Arc<Mutex<T>>);

impl<T: ?Sized> Drop for Held<T> {
    #[inline]
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// As [`MutexGuard`](super::MutexGuard), with a share of the mutex instead of a borrow.
///
/// ```
/// use std::sync::Arc;
/// use tress::sync::{Mutex, OwnedMutexGuard};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mutex = Arc::new(Mutex::new(vec![1]));
/// let mut guard: OwnedMutexGuard<_> = mutex.clone().lock_owned().await;
/// tress::spawn(async move { guard.push(2) }).await.unwrap();
/// assert_eq!(mutex.lock().await.len(), 2);
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct OwnedMutexGuard<T: ?Sized> {
    held: Held<T>,
    // Shared between threads a guard gives out `&T`, which an `Arc<Mutex<T>>` does not ask for.
    _data: PhantomData<Box<T>>,
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// The caller has the mutex's permit.
    #[inline]
    pub(super) fn new(mutex: Arc<Mutex<T>>) -> Self {
        OwnedMutexGuard {
            held: Held(mutex),
            _data: PhantomData,
        }
    }

    /// A guard for a part of the data.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{Mutex, OwnedMutexGuard};
    ///
    /// let mutex = Arc::new(Mutex::new((1, "one")));
    /// let guard = mutex.clone().try_lock_owned().unwrap();
    /// *OwnedMutexGuard::map(guard, |pair| &mut pair.0) = 2;
    /// assert_eq!(mutex.try_lock().unwrap().0, 2);
    /// ```
    #[inline]
    pub fn map<U, F>(mut this: Self, f: F) -> OwnedMappedMutexGuard<T, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let part = ptr::from_mut(f(&mut *this));
        OwnedMappedMutexGuard {
            data: part,
            held: this.held,
        }
    }

    /// A guard for a part of the data, if there is such a part; otherwise this guard again.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{Mutex, OwnedMutexGuard};
    ///
    /// let mutex = Arc::new(Mutex::new(vec![1]));
    /// let guard = mutex.try_lock_owned().unwrap();
    /// let guard = OwnedMutexGuard::try_map(guard, |list| list.get_mut(1)).unwrap_err();
    /// assert_eq!(guard.len(), 1);
    /// ```
    #[inline]
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut *this).map(ptr::from_mut) {
            Some(part) => Ok(OwnedMappedMutexGuard {
                data: part,
                held: this.held,
            }),
            None => Err(this),
        }
    }

    /// The mutex that is locked.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{Mutex, OwnedMutexGuard};
    ///
    /// let mutex = Arc::new(Mutex::new(1));
    /// let guard = mutex.clone().try_lock_owned().unwrap();
    /// assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &mutex));
    /// ```
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.held.0
    }
}

impl<T: ?Sized> Deref for OwnedMutexGuard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is ours, and the result borrows the guard.
        unsafe { &*self.held.0.data.get() }
    }
}

impl<T: ?Sized> DerefMut for OwnedMutexGuard<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, exclusively.
        unsafe { &mut *self.held.0.data.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedMutexGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for OwnedMutexGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// As [`MappedMutexGuard`](super::MappedMutexGuard), with a share of the mutex instead of a borrow;
/// made by [`OwnedMutexGuard::map`].
///
/// ```
/// use std::sync::Arc;
/// use tress::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
///
/// let mutex = Arc::new(Mutex::new([1, 2, 3]));
/// let guard = mutex.try_lock_owned().unwrap();
/// let last: OwnedMappedMutexGuard<[i32; 3], i32> = OwnedMutexGuard::map(guard, |a| &mut a[2]);
/// assert_eq!(*last, 3);
/// ```
///
/// What can be written through it must live as long as what is there:
///
/// ```compile_fail
/// fn shorten<'a>(
///     guard: tress::sync::OwnedMappedMutexGuard<(), &'static str>,
/// ) -> tress::sync::OwnedMappedMutexGuard<(), &'a str> {
///     guard
/// }
/// ```
#[clippy::has_significant_drop]
pub struct OwnedMappedMutexGuard<T: ?Sized, U: ?Sized = T> {
    // Not `NonNull`, which is covariant: through it a shorter-lived `U` could be written.
    data: *mut U,
    held: Held<T>,
}

// SAFETY: it stands for a `&mut U`, and may unlock and drop the mutex with its `T` on any thread.
unsafe impl<T: ?Sized + Send, U: ?Sized + Send> Send for OwnedMappedMutexGuard<T, U> {}
// SAFETY: shared it gives out `&U`.
unsafe impl<T, U> Sync for OwnedMappedMutexGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    /// As [`OwnedMutexGuard::map`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
    ///
    /// let mutex = Arc::new(Mutex::new(((1, 2), 3)));
    /// let pair = OwnedMutexGuard::map(mutex.try_lock_owned().unwrap(), |data| &mut data.0);
    /// let two = OwnedMappedMutexGuard::map(pair, |pair| &mut pair.1);
    /// assert_eq!(*two, 2);
    /// ```
    #[inline]
    pub fn map<S, F>(mut this: Self, f: F) -> OwnedMappedMutexGuard<T, S>
    where
        S: ?Sized,
        F: FnOnce(&mut U) -> &mut S,
    {
        let part = ptr::from_mut(f(&mut *this));
        OwnedMappedMutexGuard {
            data: part,
            held: this.held,
        }
    }

    /// As [`OwnedMutexGuard::try_map`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tress::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
    ///
    /// let mutex = Arc::new(Mutex::new((vec![1], 3)));
    /// let list = OwnedMutexGuard::map(mutex.try_lock_owned().unwrap(), |data| &mut data.0);
    /// assert!(OwnedMappedMutexGuard::try_map(list, |list| list.get_mut(5)).is_err());
    /// ```
    #[inline]
    pub fn try_map<S, F>(mut this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, S>, Self>
    where
        S: ?Sized,
        F: FnOnce(&mut U) -> Option<&mut S>,
    {
        match f(&mut *this).map(ptr::from_mut) {
            Some(part) => Ok(OwnedMappedMutexGuard {
                data: part,
                held: this.held,
            }),
            None => Err(this),
        }
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedMappedMutexGuard<T, U> {
    type Target = U;

    #[inline]
    fn deref(&self) -> &U {
        // SAFETY: the lock is ours, the data is in the mutex, and the result borrows the guard.
        unsafe { &*self.data }
    }
}

impl<T: ?Sized, U: ?Sized> DerefMut for OwnedMappedMutexGuard<T, U> {
    #[inline]
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: as above, exclusively.
        unsafe { &mut *self.data }
    }
}

impl<T: ?Sized, U: ?Sized + fmt::Debug> fmt::Debug for OwnedMappedMutexGuard<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized, U: ?Sized + fmt::Display> fmt::Display for OwnedMappedMutexGuard<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
