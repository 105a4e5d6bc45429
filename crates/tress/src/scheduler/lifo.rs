//! The slot for the task that became ready last: its data are warm, so it runs next.
//!
//! Only the owner puts tasks in; the owner, a late thief and the monitor take them out. That is
//! why the owner may fill an empty slot with a plain store: nobody else can have filled it. Where
//! there is one worker there are no thieves, the monitor leaves the slot alone because nobody else
//! could run its task, and the owner may empty it with a plain store too.

use crate::sys::atomic::{AtomicPtr, Ordering};
use crate::task::Header;
use std::ptr::{self, NonNull};

// D-SCHED-03
pub(crate) struct LifoSlot(AtomicPtr<Header>);

impl LifoSlot {
    pub(crate) fn new() -> LifoSlot {
        LifoSlot(AtomicPtr::new(ptr::null_mut()))
    }

    /// Puts the newest task in, returning the one it displaces. The owner's function.
    #[inline]
    pub(crate) fn replace(&self, task: NonNull<Header>) -> Option<NonNull<Header>> {
        if self.0.load(Ordering::Relaxed).is_null() {
            self.0.store(task.as_ptr(), Ordering::Release);
            return None;
        }
        NonNull::new(self.0.swap(task.as_ptr(), Ordering::AcqRel))
    }

    /// Takes the task out. `alone`: there is no other worker, and so nobody else who takes.
    // D-SCHED-13
    #[inline]
    pub(crate) fn take_own(&self, alone: bool) -> Option<NonNull<Header>> {
        if !alone {
            return self.take();
        }
        let task = NonNull::new(self.0.load(Ordering::Relaxed))?;
        self.0.store(ptr::null_mut(), Ordering::Relaxed);
        Some(task)
    }

    /// Takes the task out, from any thread.
    #[inline]
    pub(crate) fn take(&self) -> Option<NonNull<Header>> {
        if self.is_empty() {
            return None;
        }
        NonNull::new(self.0.swap(ptr::null_mut(), Ordering::Acquire))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }
}
