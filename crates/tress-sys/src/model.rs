//! Loom's primitives in the shape of `real.rs`.

use std::time::Duration;

pub use crate::__loom_thread_local as thread_local;
pub use loom::sync::{Arc, MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// The atomics that models explore.
pub mod atomic {
    pub use loom::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// Threads in the shape that `thread.rs` wants.
pub(crate) mod thread {
    pub(crate) use loom::thread::{Builder, JoinHandle, current, yield_now};

    /// Loom does not say.
    pub(crate) fn is_finished<T>(_: &JoinHandle<T>) -> bool {
        false
    }
}

/// Loom's mutex.
#[derive(Debug, Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates a mutex that is not locked.
    pub fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }

    /// Tries once: a model explores all that may come of it.
    pub fn lock_soon(&self) -> Option<MutexGuard<'_, T>> {
        self.try_lock()
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap()
    }
}

/// Loom's condition.
#[derive(Debug, Default)]
pub struct Condvar(loom::sync::Condvar);

impl Condvar {
    /// Creates a condition that no thread waits for.
    pub fn new() -> Self {
        Condvar(loom::sync::Condvar::new())
    }

    /// Unlocks, waits to be notified, and locks again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap()
    }

    /// As [`wait`](Self::wait): time does not pass in a model.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> MutexGuard<'a, T> {
        self.0.wait_timeout(guard, timeout).unwrap().0
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Loom's lock for many readers or one writer.
#[derive(Debug, Default)]
pub struct RwLock<T>(loom::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Creates a lock that is not held.
    pub fn new(value: T) -> Self {
        RwLock(loom::sync::RwLock::new(value))
    }

    /// Waits until no writer holds the lock.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap()
    }

    /// Waits until nobody holds the lock.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap()
    }
}

/// Loom's cell, which finds conflicting accesses.
#[derive(Debug)]
pub struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// Creates a cell.
    pub fn new(value: T) -> Self {
        UnsafeCell(loom::cell::UnsafeCell::new(value))
    }

    /// Calls `f` with a pointer to read by.
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.0.with(f)
    }

    /// Calls `f` with a pointer to read and write by.
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.0.with_mut(f)
    }
}

/// A sequentially consistent fence.
pub fn full_fence() {
    atomic::fence(atomic::Ordering::SeqCst);
}

/// Declares values that each of loom's threads has for itself, in the words of the standard library's macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __loom_thread_local {
    ($($(#[$attribute:meta])* $visible:vis static $NAME:ident: $T:ty = const $value:block;)*) => {
        $crate::loom::thread_local! {
            $($(#[$attribute])* $visible static $NAME: $T = $value;)*
        }
    };
}
