use super::Mutex;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;

/// A locked mutex. Dropping it unlocks the mutex, then drops the `Arc`.
struct Held<T: ?Sized>(Arc<Mutex<T>>);

impl<T: ?Sized> Drop for Held<T> {
    #[inline]
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// A guard of a locked [`Mutex`] that keeps the mutex alive by its `Arc`.
///
/// Returned by [`Mutex::lock_owned`], [`Mutex::try_lock_owned`] and [`Mutex::blocking_lock_owned`].
/// It is like a [`MutexGuard`](super::MutexGuard), but borrows nothing. Dropping the guard unlocks
/// the mutex.
///
/// # Examples
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
    /// Creates the guard. The caller has the mutex's permit.
    #[inline]
    pub(super) fn new(mutex: Arc<Mutex<T>>) -> Self {
        let guard = OwnedMutexGuard {
            held: Held(mutex),
            _data: PhantomData,
        };
        guard.held.0.permits.held_alone();
        guard.held.0.permits.seen.locked();
        guard
    }

    /// Makes an [`OwnedMappedMutexGuard`] for a component of the data.
    ///
    /// The mutex stays locked until the new guard is dropped. If `f` panics, it is unlocked.
    ///
    /// This is an associated function, called as `OwnedMutexGuard::map(guard, …)`, so that it does
    /// not shadow a method of the data.
    ///
    /// # Examples
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

    /// Makes an [`OwnedMappedMutexGuard`] for a component of the data that may be absent.
    ///
    /// This is an associated function, called as `OwnedMutexGuard::try_map(guard, …)`, so that it
    /// does not shadow a method of the data.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`. The mutex stays locked.
    ///
    /// # Examples
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

    /// Returns a reference to the `Arc` of the mutex that the guard locks.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Examples
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

/// A guard of a locked [`Mutex`] for a component of its data that keeps the mutex alive by its
/// `Arc`.
///
/// Returned by [`OwnedMutexGuard::map`] and [`OwnedMutexGuard::try_map`]. It is like a
/// [`MappedMutexGuard`](super::MappedMutexGuard), but borrows nothing. Dropping the guard unlocks
/// the mutex.
///
/// # Examples
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
/// The guard is invariant in the type of the component: a value that is written through it lives as
/// long as the one it replaces.
///
/// ```compile_fail
/// fn shorten<'a>(
///     guard: tress::sync::OwnedMappedMutexGuard<(), &'static str>,
/// ) -> tress::sync::OwnedMappedMutexGuard<(), &'a str> {
///     guard
/// }
/// ```
#[must_use = "the mutex is unlocked when the guard is dropped"]
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
    /// Makes an [`OwnedMappedMutexGuard`] for a component of the component.
    ///
    /// The mutex stays locked until the new guard is dropped. If `f` panics, it is unlocked.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Examples
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

    /// Makes an [`OwnedMappedMutexGuard`] for a component of the component that may be absent.
    ///
    /// This is an associated function, so that it does not shadow a method of the data.
    ///
    /// # Errors
    /// Returns the original guard if `f` returns `None`. The mutex stays locked.
    ///
    /// # Examples
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
