//! The standard library's primitives, as the runtime uses them.

use std::sync::{PoisonError, TryLockError};

pub(crate) use std::sync::{Arc, MutexGuard};

pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

pub(crate) mod thread {
    pub(crate) use std::thread::{Builder, JoinHandle, yield_now};
}

/// Looks at a lock that somebody else has, before [`Mutex::lock_soon`] gives it up.
const LOOKS: usize = 256;

/// A mutex that does not poison: every critical section in this crate leaves its
/// data consistent before it can run foreign code.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex(std::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For those who must not wait for somebody who may be stuck: tries for a moment.
    pub(crate) fn lock_soon(&self) -> Option<MutexGuard<'_, T>> {
        for _ in 0..LOOKS {
            match self.0.try_lock() {
                Ok(guard) => return Some(guard),
                Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
                Err(TryLockError::WouldBlock) => thread::yield_now(),
            }
        }
        None
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `UnsafeCell` with loom's closure-shaped access, so that the same code can be
/// checked for conflicting accesses under the model.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// A sequentially consistent fence.
///
/// On x86-64 a locked read-modify-write of a private word orders stores before
/// later loads just as `mfence` does and costs a third of it on the machines we measured.
#[inline(always)]
pub(crate) fn full_fence() {
    #[cfg(all(target_arch = "x86_64", not(miri), not(tress_no_slab)))]
    {
        use std::sync::atomic::{AtomicUsize, Ordering, compiler_fence};
        compiler_fence(Ordering::SeqCst);
        let word = AtomicUsize::new(0);
        let _ = std::hint::black_box(&word).swap(1, Ordering::SeqCst);
        compiler_fence(Ordering::SeqCst);
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri), not(tress_no_slab))))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}
