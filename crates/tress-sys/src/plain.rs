//! The standard library's atomics and locks also under loom: for statics, and for counters and data that no protocol
//! relies on.
//!
//! Loom's types cannot be made in a static, and a model explores every access to them. An order is named by
//! [`atomic::Ordering`](crate::atomic::Ordering) for both kinds.

pub use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
    fence,
};
pub use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

use std::fmt;
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

/// Looks at a lock that another thread has, before [`Mutex::lock_soon`] gives it up.
const LOOKS: usize = 256;

/// A mutex that does not poison: every critical section in tress leaves its data consistent before it can run
/// foreign code.
#[derive(Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates a mutex that is not locked.
    #[inline]
    pub const fn new(value: T) -> Self {
        Mutex(std::sync::Mutex::new(value))
    }

    /// Waits for the lock.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Tries for a moment, for threads that must not wait for one that may be stuck.
    pub fn lock_soon(&self) -> Option<MutexGuard<'_, T>> {
        for _ in 0..LOOKS {
            if let Some(guard) = self.try_lock() {
                return Some(guard);
            }
            crate::thread::yield_now();
        }
        None
    }

    /// Returns the value.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A condition to wait for with a [`Mutex`], which does not poison.
#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

impl Condvar {
    /// Creates a condition that no thread waits for.
    #[inline]
    pub const fn new() -> Self {
        Condvar(std::sync::Condvar::new())
    }

    /// Unlocks, waits to be notified, and locks again. May return early.
    #[inline]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`wait`](Self::wait), for at most `timeout`.
    #[inline]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> MutexGuard<'a, T> {
        let result = self.0.wait_timeout(guard, timeout);
        result.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes one thread that waits.
    #[inline]
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads that wait.
    #[inline]
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A lock for many readers or one writer that does not poison.
#[derive(Default)]
pub struct RwLock<T>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Creates a lock that is not held.
    #[inline]
    pub const fn new(value: T) -> Self {
        RwLock(std::sync::RwLock::new(value))
    }

    /// Waits until no writer holds the lock.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nobody holds the lock.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::guarded;

    #[test]
    fn a_panic_under_a_lock_does_not_poison_it() {
        let (mutex, rwlock) = (Mutex::new(1), RwLock::new(1));
        let panicked = guarded(|| {
            let (mut one, mut other) = (mutex.lock(), rwlock.write());
            (*one, *other) = (2, 2);
            panic!("under both locks");
        });
        assert!(panicked.is_none());
        assert_eq!((*mutex.lock(), *rwlock.read()), (2, 2));
        assert_eq!(mutex.try_lock().as_deref(), Some(&2));
        assert_eq!(mutex.lock_soon().as_deref(), Some(&2));
        let condition = Condvar::new();
        let guard = condition.wait_timeout(mutex.lock(), Duration::ZERO);
        assert_eq!(*guard, 2);
        drop(guard);
        assert_eq!(mutex.into_inner(), 2);
    }

    #[test]
    fn a_lock_that_stays_taken_is_given_up() {
        let mutex = Mutex::new(());
        let guard = mutex.lock();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(mutex.try_lock().is_none());
                assert!(mutex.lock_soon().is_none());
            });
        });
        drop(guard);
        assert!(mutex.lock_soon().is_some());
    }
}
