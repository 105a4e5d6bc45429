//! The slot for the task that became ready last: its data are warm, so it runs next.
//!
//! Only the owner puts tasks in; the owner, a late thief and the monitor take them out. That is
//! why the owner may fill an empty slot with a plain store: nobody else can have filled it. Where
//! there is one worker there are no thieves, the monitor leaves the slot alone because nobody else
//! could run its task, and the owner may empty it with a plain store too.

use crate::sys::atomic::{AtomicPtr, Ordering};
use crate::task::{Header, Ready};
use std::ptr::{self, NonNull};

// D-SCHED-03
pub(crate) struct LifoSlot(AtomicPtr<Header>);

impl LifoSlot {
    pub(crate) fn new() -> LifoSlot {
        LifoSlot(AtomicPtr::new(ptr::null_mut()))
    }

    /// Puts the newest task in, returning the one it displaces. The owner's function.
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

    /// Takes the task out. `alone`: there is no other worker, and so nobody else who takes.
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
        // SAFETY: nobody else takes, and it is out.
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
/// The pointer is null, or what `replace` put into the slot and the caller alone has taken out.
#[inline(always)]
unsafe fn taken(task: *mut Header) -> Option<Ready> {
    // SAFETY: by the caller's promise.
    NonNull::new(task).map(|task| unsafe { Ready::from_raw(task) })
}
