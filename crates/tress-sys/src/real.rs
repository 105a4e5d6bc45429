//! The standard library's primitives.

pub use crate::plain::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::Arc;
pub use std::thread_local;

/// The atomics that models explore.
pub mod atomic {
    pub use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// Threads in the shape that `thread.rs` wants.
pub(crate) mod thread {
    pub(crate) use std::thread::{Builder, JoinHandle, current, yield_now};

    pub(crate) fn is_finished<T>(handle: &JoinHandle<T>) -> bool {
        handle.is_finished()
    }
}

/// `UnsafeCell` with loom's closure-shaped access, so that the same code can be
/// checked for conflicting accesses under the model.
#[derive(Debug)]
#[repr(transparent)]
pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// Creates a cell.
    #[inline(always)]
    pub const fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    /// Calls `f` with a pointer to read by.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Calls `f` with a pointer to read and write by.
    #[inline(always)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// A sequentially consistent fence.
///
/// On x86-64 a locked read-modify-write of a private word orders stores before
/// later loads just as `mfence` does and costs a third of it on the machines we measured.
// D-SYS-01
#[inline(always)]
pub fn full_fence() {
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
