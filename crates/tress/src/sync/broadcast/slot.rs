//! A place in the ring: a message, and how many receivers have not had it yet.
//!
//! A small lock guards the message. It is exclusive, so that a message is cloned by one receiver at a
//! time and need not be `Sync`; and it is a bit in the word that counts the receivers, so that
//! receiving costs one read-modify-write and one store. Who finds it taken spins for a moment and then
//! yields its thread: it is held for as long as a clone takes.
//!
//! The message is there exactly while the count is not zero: the last receiver takes it out.

use crate::sys::UnsafeCell;
use crate::sys::atomic::{AtomicU64, Ordering};
use crate::sys::thread;
use std::mem::MaybeUninit;

const LOCKED: u64 = 1;
const ONE: u64 = 2;

/// The position of a slot that has never held a message.
const NEVER: u64 = u64::MAX;

/// Looks at a taken lock before the thread is yielded.
const LOOKS: u32 = if cfg!(loom) { 0 } else { 64 };

pub(super) struct Slot<T> {
    /// How many receivers are to have the message, and the lock. Changed by the lock's holder only,
    /// but for the bit itself.
    word: AtomicU64,
    /// Which message it is. Written under the lock.
    position: AtomicU64,
    message: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    pub(super) fn new() -> Slot<T> {
        Slot {
            word: AtomicU64::new(0),
            position: AtomicU64::new(NEVER),
            message: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Has the message of this position, or a later one, been sent?
    #[inline(always)]
    pub(super) fn has_reached(&self, position: u64) -> bool {
        let own = self.position.load(Ordering::Acquire);
        own >= position && own != NEVER
    }

    /// Is there a receiver that has not had the message?
    pub(super) fn is_wanted(&self) -> bool {
        self.word.load(Ordering::Relaxed) >= ONE
    }

    /// Locks the slot if `go_on` says so each time before it is tried.
    #[inline(always)]
    fn lock(&self, go_on: impl Fn() -> bool) -> Option<u64> {
        let mut looks = 0;
        while go_on() {
            let word = self.word.load(Ordering::Relaxed);
            if word & LOCKED == 0
                && self
                    .word
                    .compare_exchange_weak(
                        word,
                        word | LOCKED,
                        Ordering::Acquire,
                        Ordering::Relaxed,
                    )
                    .is_ok()
            {
                return Some(word);
            }
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        None
    }

    /// Puts a message that `receivers` (at least one) are to have. Returns the one that was there.
    pub(super) fn put(&self, position: u64, receivers: u64, message: T) -> Option<T> {
        let word = self.lock(|| true)?;
        // SAFETY: we have the lock, and the count says whether there is a message.
        let old = self.message.with_mut(|place| unsafe {
            let old = (word != 0).then(|| (*place).assume_init_read());
            (*place).write(message);
            old
        });
        self.position.store(position, Ordering::Release);
        self.word.store(receivers * ONE, Ordering::Release);
        old
    }

    /// Locks the message of this position for a receiver that is to have it. `None` if it has been
    /// overwritten or not been sent.
    #[inline(always)]
    pub(super) fn read(&self, position: u64) -> Option<Reading<'_, T>> {
        let word = self.lock(|| self.position.load(Ordering::Acquire) == position)?;
        if self.position.load(Ordering::Relaxed) == position {
            return Some(Reading { slot: self, word });
        }
        self.word.store(word, Ordering::Release);
        None
    }
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        if self.is_wanted() {
            // SAFETY: nobody else is left, and the count says that there is a message.
            drop(
                self.message
                    .with(|place| unsafe { (*place).assume_init_read() }),
            );
        }
    }
}

/// A receiver's turn at a message. When dropped, it has had it.
pub(super) struct Reading<'a, T> {
    slot: &'a Slot<T>,
    /// The word, unlocked.
    word: u64,
}

impl<T: Clone> Reading<'_, T> {
    #[inline(always)]
    pub(super) fn message(&self) -> T {
        // SAFETY: we have the lock, and this receiver has not had the message, which is therefore
        // there.
        self.slot
            .message
            .with(|place| unsafe { (*place).assume_init_ref().clone() })
    }
}

impl<T> Drop for Reading<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let left = self.word - ONE;
        let message = (left == 0).then(|| {
            // SAFETY: we have the lock; nobody is to have the message any more, and the count says
            // so when the lock is released.
            self.slot
                .message
                .with(|place| unsafe { (*place).assume_init_read() })
        });
        self.slot.word.store(left, Ordering::Release);
        drop(message);
    }
}
