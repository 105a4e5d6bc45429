//! A value that comes once and then stays: what `OnceCell` and `SetOnce` have in common.
//!
//! Beside the value stands what tells whether it is there, and makes others wait for it: permits that
//! are closed, or a latch that is set.

use std::cell::UnsafeCell;
use std::mem::{self, MaybeUninit};

/// Tells whether a value is there.
pub(super) trait Mark {
    /// Acquire: who is told so sees what was written before that was said.
    fn is_there(&self) -> bool;

    /// Takes that back, when nobody else can see it.
    fn forget(&mut self);
}

pub(super) struct Kept<M: Mark, T> {
    pub(super) mark: M,
    /// Initialised while the mark says so, and not written as long as that can be seen by others.
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: moving it moves the value.
unsafe impl<M: Mark + Send, T: Send> Send for Kept<M, T> {}
// SAFETY: shared it gives out `&T`, and takes in a `T` from another thread, which may be the one that
// drops it.
unsafe impl<M: Mark + Sync, T: Send + Sync> Sync for Kept<M, T> {}

impl<M: Mark, T> Kept<M, T> {
    /// With a mark that says that there is no value.
    pub(super) const fn empty(mark: M) -> Self {
        Kept {
            mark,
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// With a mark that says that there is one.
    pub(super) const fn full(mark: M, value: T) -> Self {
        Kept {
            mark,
            value: UnsafeCell::new(MaybeUninit::new(value)),
        }
    }

    #[inline]
    pub(super) fn get(&self) -> Option<&T> {
        if self.mark.is_there() {
            // SAFETY: the mark says that it was written, and sees to it that this is visible here.
            Some(unsafe { (*self.value.get()).assume_init_ref() })
        } else {
            none()
        }
    }

    pub(super) fn get_mut(&mut self) -> Option<&mut T> {
        if self.mark.is_there() {
            // SAFETY: as in `get`, and exclusive.
            Some(unsafe { self.value.get_mut().assume_init_mut() })
        } else {
            None
        }
    }

    /// Writes the value. The mark has to say so next.
    ///
    /// # Safety
    /// The mark does not say that there is a value, and nobody else writes it.
    #[inline]
    pub(super) unsafe fn put(&self, value: T) -> &T {
        // SAFETY: empty, so nobody reads it, and by the caller's promise nobody else writes it.
        unsafe { (*self.value.get()).write(value) }
    }

    pub(super) fn take(&mut self) -> Option<T> {
        if !self.mark.is_there() {
            return None;
        }
        self.mark.forget();
        // SAFETY: it was initialised, and does not count as such any more.
        Some(unsafe { self.value.get_mut().assume_init_read() })
    }
}

/// Tells the compiler that there usually is a value. In line it would become part of what is done with that.
#[cold]
#[inline(never)]
fn none<T>() -> Option<T> {
    None
}

impl<M: Mark, T> Drop for Kept<M, T> {
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            drop(self.take());
        }
    }
}

/// What follows from `new`, `new_with`, `const_new_with` and `get`.
macro_rules! kept_traits {
    ($name:ident) => {
        impl<T> Default for $name<T> {
            #[track_caller]
            fn default() -> Self {
                $name::new()
            }
        }

        impl<T> From<T> for $name<T> {
            #[track_caller]
            fn from(value: T) -> Self {
                $name::const_new_with(value)
            }
        }

        impl<T: Clone> Clone for $name<T> {
            #[track_caller]
            fn clone(&self) -> Self {
                $name::new_with(self.get().cloned())
            }
        }

        impl<T: PartialEq> PartialEq for $name<T> {
            fn eq(&self, other: &Self) -> bool {
                self.get() == other.get()
            }
        }

        impl<T: Eq> Eq for $name<T> {}

        impl<T: std::fmt::Debug> std::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("value", &self.get())
                    .finish()
            }
        }
    };
}
pub(super) use kept_traits;
