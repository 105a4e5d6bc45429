//! The messages that are kept, and how many receivers have not had each of them yet.
//!
//! A small lock guards each message. It is exclusive, so that a message is cloned by one receiver at a
//! time and need not be `Sync`; and it is a bit in the word that counts the receivers, so that
//! receiving costs one read-modify-write and one store. It is held for as long as a clone takes.
//!
//! A message is there exactly while its count is not zero: the last receiver takes it out. A slot whose
//! count is zero is locked by nobody: the sender has it to itself.
//!
//! The words stand apart from the messages. Receivers on several cores walk along the ring at the same
//! time: the lines with messages, which only the sender writes, are then shared between the cores, and
//! only the lines with words, 16 to a line, have to travel from one to the other.

use super::cloning::{check_before_waiting, is_cloning, while_cloning};
use crate::channel::chan::Pause;
use crate::sys::UnsafeCell;
use crate::sys::atomic::{AtomicU32, AtomicU64, Ordering};
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr;

const LOCKED: u32 = 1;
const ONE: u32 = 2;

/// How many receivers can be counted.
pub(super) const MAX_RECEIVERS: usize = (u32::MAX / ONE) as usize;

/// The position of a slot that has never held a message.
const NEVER: u64 = u64::MAX;

pub(super) struct Ring<T> {
    /// For each slot: how many receivers are to have the message, and the lock. Changed by the
    /// lock's holder only, but for the bit itself.
    words: Box<[AtomicU32]>,
    slots: Box<[Slot<T>]>,
}

struct Slot<T> {
    /// Which message it is. Written under the lock, or while the count is zero.
    position: AtomicU64,
    message: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Ring<T> {
    /// `capacity` is a power of two.
    pub(super) fn new(capacity: usize) -> Ring<T> {
        debug_assert!(capacity.is_power_of_two());
        Ring {
            words: (0..capacity).map(|_| AtomicU32::new(0)).collect(),
            slots: (0..capacity)
                .map(|_| Slot {
                    position: AtomicU64::new(NEVER),
                    message: UnsafeCell::new(MaybeUninit::uninit()),
                })
                .collect(),
        }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    #[inline(always)]
    fn at(&self, position: u64) -> (&AtomicU32, &Slot<T>) {
        let index = position as usize & (self.slots.len() - 1);
        // SAFETY: there are as many words as slots, a power of two and not none.
        unsafe {
            (
                self.words.get_unchecked(index),
                self.slots.get_unchecked(index),
            )
        }
    }

    /// Is there a receiver that has not had the message in this position's slot?
    pub(super) fn is_wanted(&self, position: u64) -> bool {
        self.at(position).0.load(Ordering::Relaxed) >= ONE
    }

    /// Puts a message that `receivers` (at least one) are to have. Returns the one that was there.
    ///
    /// # Safety
    /// Only one thread at a time is in this function.
    #[inline(always)]
    pub(super) unsafe fn put(&self, position: u64, receivers: u32, message: T) -> Option<T> {
        let (word, slot) = self.at(position);
        // Acquire: after the last receiver took the old message out.
        let mut count = word.load(Ordering::Acquire);
        if count != 0 {
            count = lock_to_overwrite(word);
        }
        // SAFETY: we have the lock, or nobody can have it: receivers lock no slot whose count is
        // zero, and other senders are not here. The count says whether there is a message.
        let old = slot.message.with_mut(|place| unsafe {
            let old = (count != 0).then(|| (*place).assume_init_read());
            (*place).write(message);
            old
        });
        // In this order: who locks the word for an older message finds out that it has gone.
        slot.position.store(position, Ordering::Release);
        word.store(receivers * ONE, Ordering::Release);
        old
    }

    /// Locks the message of this position for a receiver that is to have it. `None` if it has been
    /// overwritten, has not been sent completely, or is locked.
    #[inline(always)]
    pub(super) fn try_read(&self, position: u64) -> Option<Reading<'_, T>> {
        let (word, slot) = self.at(position);
        if slot.position.load(Ordering::Acquire) != position {
            return None;
        }
        let count = word.load(Ordering::Relaxed);
        if count & LOCKED != 0 || count == 0 || !try_lock(word, count) {
            return None;
        }
        let reading = Reading { word, slot, count };
        if slot.position.load(Ordering::Relaxed) != position {
            reading.give_back();
            return None;
        }
        Some(reading)
    }

    /// As `try_read`, but waits for the lock.
    pub(super) fn read(&self, position: u64) -> Option<Reading<'_, T>> {
        let (word, slot) = self.at(position);
        let mut pause = Pause::new();
        loop {
            let reading = self.try_read(position);
            if reading.is_some()
                || slot.position.load(Ordering::Acquire) != position
                || word.load(Ordering::Relaxed) == 0
            {
                return reading;
            }
            check_before_waiting(place_of(word));
            pause.wait();
        }
    }

    /// A receiver that leaves has no use for the message at `position`.
    ///
    /// One that this thread is just cloning cannot be waited for. It stays until it is overwritten, or
    /// the channel goes.
    pub(super) fn renounce(&self, position: u64) {
        let (word, slot) = self.at(position);
        let is_there = slot.position.load(Ordering::Acquire) == position;
        let is_locked = word.load(Ordering::Relaxed) & LOCKED != 0;
        if !(is_there && is_locked && is_cloning(place_of(word))) {
            drop(self.read(position));
        }
    }
}

fn place_of(word: &AtomicU32) -> *const () {
    ptr::from_ref(word).cast()
}

#[inline(always)]
fn try_lock(word: &AtomicU32, count: u32) -> bool {
    word.compare_exchange_weak(count, count | LOCKED, Ordering::Acquire, Ordering::Relaxed)
        .is_ok()
}

/// Locks a slot that some receiver has not had the message of, unless they have it meanwhile. Returns
/// the word without the lock.
#[cold]
fn lock_to_overwrite(word: &AtomicU32) -> u32 {
    let mut pause = Pause::new();
    loop {
        let count = word.load(Ordering::Acquire);
        if count == 0 || (count & LOCKED == 0 && try_lock(word, count)) {
            return count;
        }
        check_before_waiting(place_of(word));
        pause.wait();
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        for (word, slot) in self.words.iter().zip(&self.slots) {
            if word.load(Ordering::Relaxed) >= ONE {
                // SAFETY: nobody else is left, and the count says that there is a message.
                drop(
                    slot.message
                        .with(|place| unsafe { (*place).assume_init_read() }),
                );
            }
        }
    }
}

/// A receiver's turn at a message. When dropped, it has had it.
pub(super) struct Reading<'a, T> {
    word: &'a AtomicU32,
    slot: &'a Slot<T>,
    /// The word without the lock.
    count: u32,
}

impl<T> Reading<'_, T> {
    /// Unlocks a message that this receiver is not to have.
    fn give_back(self) {
        let this = ManuallyDrop::new(self);
        this.word.store(this.count, Ordering::Release);
    }
}

impl<T: Clone> Reading<'_, T> {
    #[inline(always)]
    pub(super) fn message(&self) -> T {
        let clone = || {
            // SAFETY: we have the lock, and this receiver has not had the message, which is therefore
            // there.
            self.slot
                .message
                .with(|place| unsafe { (*place).assume_init_ref().clone() })
        };
        // What has nothing to drop has no handle of the channel in it, and is as a rule just copied.
        if mem::needs_drop::<T>() {
            while_cloning(place_of(self.word), clone)
        } else {
            clone()
        }
    }
}

impl<T> Drop for Reading<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let left = self.count - ONE;
        let message = (left == 0).then(|| {
            // SAFETY: we have the lock; nobody is to have the message any more, and the count says
            // so when the lock is released.
            self.slot
                .message
                .with(|place| unsafe { (*place).assume_init_read() })
        });
        self.word.store(left, Ordering::Release);
        drop(message);
    }
}
