//! The slot for the task that became ready last: its data are warm, so it runs next.
//!
//! Only the owner puts tasks in; the owner, a late thief and the monitor take them out. That is
//! why the owner may fill an empty slot with a plain store: nobody else can have filled it.

use crate::sys::atomic::{AtomicPtr, Ordering};
use crate::task::Header;
use std::ptr::{self, NonNull};

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

    /// Takes the task out.
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
