//! The waker of a receiver that waits, and the side to which it belongs.

use crate::sys::UnsafeCell;
use crate::sys::atomic::{AtomicBool, Ordering};
use std::mem::MaybeUninit;
use std::task::Waker;

/// The waker of a receiver that waits at a slot.
///
/// While nothing is lent the cell belongs to the receiver. The receiver lends the waker before it announces
/// at a slot that it waits. If it can take that back it has the waker back; otherwise the sender of that slot
/// takes the waker, and says when it has.
pub(super) struct ReceiverWaker {
    lent: AtomicBool,
    waker: UnsafeCell<MaybeUninit<Waker>>,
}

impl ReceiverWaker {
    pub(super) fn new() -> ReceiverWaker {
        ReceiverWaker {
            lent: AtomicBool::new(false),
            waker: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Returns true from `lend` until the waker has been taken, by either side.
    pub(super) fn is_lent(&self) -> bool {
        self.lent.load(Ordering::Acquire)
    }

    /// Lends a waker to the senders.
    ///
    /// # Safety
    /// The caller is the receiver, and nothing is lent.
    pub(super) unsafe fn lend(&self, waker: Waker) {
        // SAFETY: the cell is the receiver's while nothing is lent.
        self.waker.with_mut(|cell| unsafe {
            (*cell).write(waker);
        });
        self.lent.store(true, Ordering::Relaxed);
    }

    /// Takes the waker, which is not lent any more.
    ///
    /// # Safety
    /// The waker is lent, and the caller is the sender that found the receiver waiting, or the
    /// receiver that has stopped waiting.
    pub(super) unsafe fn take(&self) -> Waker {
        // SAFETY: only one side gets here for each `lend`. The cell is only read, so that the
        // receiver can still compare.
        let waker = self
            .waker
            .with(|cell| unsafe { (*cell).assume_init_read() });
        self.lent.store(false, Ordering::Release);
        waker
    }

    /// Returns whether the waker that was lent last wakes the same task.
    ///
    /// # Safety
    /// The caller is the receiver, and has lent a waker at least once.
    pub(super) unsafe fn is_for(&self, waker: &Waker) -> bool {
        // SAFETY: the cell was filled and only the caller writes it. If the waker has been taken,
        // its two pointers, which are all that is compared, are still in place.
        self.waker
            .with(|cell| unsafe { (*cell).assume_init_ref().will_wake(waker) })
    }
}
