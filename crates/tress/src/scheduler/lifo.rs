//! The slot for the task that became ready last: its data is warm, so it runs next.
//!
//! Only the owner puts tasks in; the owner, a late thief and the monitor take them out. So the owner may fill an
//! empty slot with a plain store: no other thread can have filled it. With a single worker there are no thieves, the
//! monitor leaves the slot alone because no other worker could run its task, and the owner may empty it with a plain
//! store too.

use crate::sys::atomic::{AtomicPtr, Ordering};
use crate::task::{Header, Ready};
use std::ptr::{self, NonNull};

// D-SCHED-03
pub(crate) struct LifoSlot(AtomicPtr<Header>);

impl LifoSlot {
    pub(crate) fn new() -> LifoSlot {
        LifoSlot(AtomicPtr::new(ptr::null_mut()))
    }

    /// Puts the newest task in, and returns the one it displaces. Only the owner may call it.
    #[inline]
    pub(crate) fn replace(&self, task: Ready) -> Option<Ready> {
        let task = task.into_raw().as_ptr();
        if self.0.load(Ordering::Relaxed).is_null() {
            self.0.store(task, Ordering::Release);
            return None;
        }
        // SAFETY: the swap took it out.
        unsafe { taken(self.0.swap(task, Ordering::AcqRel)) }
    }

    /// Takes the task out, on the owner's thread. `alone`: there is no other worker, so no other thread takes from
    /// it.
    // D-SCHED-13
    #[inline]
    pub(crate) fn take_own(&self, alone: bool) -> Option<Ready> {
        if !alone {
            return self.take();
        }
        let task = self.0.load(Ordering::Relaxed);
        if !task.is_null() {
            self.0.store(ptr::null_mut(), Ordering::Relaxed);
        }
        // SAFETY: no other thread takes, and it is out.
        unsafe { taken(task) }
    }

    /// Takes the task out, from any thread.
    #[inline]
    pub(crate) fn take(&self) -> Option<Ready> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the swap took it out.
        unsafe { taken(self.0.swap(ptr::null_mut(), Ordering::Acquire)) }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }
}

/// # Safety
/// The pointer is null, or `replace` put it into the slot and only the caller has taken it out.
#[inline(always)]
unsafe fn taken(task: *mut Header) -> Option<Ready> {
    // SAFETY: by the caller's promise.
    NonNull::new(task).map(|task| unsafe { Ready::from_raw(task) })
}
