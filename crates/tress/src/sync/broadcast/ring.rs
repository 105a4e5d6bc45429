//! The ring of messages, with the number of receivers that have yet to receive each of them.
//!
//! A small lock guards each message. It is exclusive, so that a message is cloned by one receiver
//! at a time and need not be `Sync`; and it is a bit in the word that counts the receivers, so that
//! receiving costs one read-modify-write and one store. It is held for as long as a clone takes.
//!
//! A slot holds a message exactly while its count is not zero: the last receiver takes the message
//! out. A slot whose count is zero is not locked: the sender has it to itself.
//!
//! The words stand apart from the messages. Receivers on several cores walk along the ring at the
//! same time: the lines with messages, which only the sender writes, are then shared between the
//! cores, and only the lines with words, 16 to a line, have to travel from one core to another.

use super::cloning::{check_before_waiting, is_cloning, while_cloning};
use crate::sys::UnsafeCell;
use crate::sys::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::wait::Backoff;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr;

const LOCKED: u32 = 1;
const ONE: u32 = 2;

/// The maximum number of receivers that a word can count.
pub(super) const MAX_RECEIVERS: usize = (u32::MAX / ONE) as usize;

/// The position of a place that has never held a message.
const NEVER: u64 = u64::MAX;

pub(super) struct Ring<T> {
    /// For each slot, the number of receivers that have yet to receive the message, and the lock. Changed
    /// by the lock's holder only, but for the bit itself.
    words: Box<[AtomicU32]>,
    originals: Box<[Original<T>]>,
}

/// A message, of which every receiver gets a clone.
struct Original<T> {
    /// The position of the message. Written under the lock, or while the count is zero.
    position: AtomicU64,
    message: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Ring<T> {
    /// Creates a ring. `capacity` is a power of two.
    pub(super) fn new(capacity: usize) -> Ring<T> {
        debug_assert!(capacity.is_power_of_two());
        Ring {
            words: (0..capacity).map(|_| AtomicU32::new(0)).collect(),
            originals: (0..capacity)
                .map(|_| Original {
                    position: AtomicU64::new(NEVER),
                    message: UnsafeCell::new(MaybeUninit::uninit()),
                })
                .collect(),
        }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.originals.len() as u64
    }

    #[inline(always)]
    fn at(&self, position: u64) -> (&AtomicU32, &Original<T>) {
        let index = position as usize & (self.originals.len() - 1);
        // SAFETY: there are as many words as originals, a power of two and not zero.
        unsafe {
            (
                self.words.get_unchecked(index),
                self.originals.get_unchecked(index),
            )
        }
    }

    /// Returns `true` if some receiver has not received the message in this position's slot.
    pub(super) fn is_wanted(&self, position: u64) -> bool {
        self.at(position).0.load(Ordering::Relaxed) >= ONE
    }

    /// Puts a message for `receivers` receivers (at least one). Returns the one that was there.
    ///
    /// # Safety
    /// Only one thread at a time is in this function.
    #[inline(always)]
    pub(super) unsafe fn put(&self, position: u64, receivers: u32, message: T) -> Option<T> {
        let (word, original) = self.at(position);
        // Acquire: after the last receiver took the old message out.
        let mut count = word.load(Ordering::Acquire);
        if count != 0 {
            count = lock_to_overwrite(word);
        }
        // SAFETY: this thread has the lock, or no thread can have it: receivers do not lock a place whose
        // count is zero, and no other sender is here. The count says whether there is a message.
        let old = original.message.with_mut(|place| unsafe {
            let old = (count != 0).then(|| (*place).assume_init_read());
            (*place).write(message);
            old
        });
        // In this order: a receiver that locks the word for an older message sees that it is gone.
        original.position.store(position, Ordering::Release);
        word.store(receivers * ONE, Ordering::Release);
        old
    }

    /// Locks the message of this position for a receiver that has yet to receive it. Returns `None` if it
    /// has been overwritten, has not been sent completely, or is locked.
    #[inline(always)]
    pub(super) fn try_read(&self, position: u64) -> Option<Reading<'_, T>> {
        let (word, original) = self.at(position);
        if original.position.load(Ordering::Acquire) != position {
            return None;
        }
        let count = word.load(Ordering::Relaxed);
        if count & LOCKED != 0 || count == 0 || !try_lock(word, count) {
            return None;
        }
        let reading = Reading {
            word,
            original,
            count,
        };
        if original.position.load(Ordering::Relaxed) != position {
            reading.give_back();
            return None;
        }
        Some(reading)
    }

    /// Does the same as `try_read`, but waits for the lock.
    pub(super) fn read(&self, position: u64) -> Option<Reading<'_, T>> {
        let (word, original) = self.at(position);
        let mut backoff = Backoff::new();
        loop {
            let reading = self.try_read(position);
            if reading.is_some()
                || original.position.load(Ordering::Acquire) != position
                || word.load(Ordering::Relaxed) == 0
            {
                return reading;
            }
            check_before_waiting(place_of(word));
            backoff.wait();
        }
    }

    /// Gives up the message at `position`, for a receiver that leaves.
    ///
    /// A message that this thread is cloning cannot be waited for. It stays until it is overwritten, or
    /// the channel goes.
    pub(super) fn renounce(&self, position: u64) {
        let (word, original) = self.at(position);
        let is_there = original.position.load(Ordering::Acquire) == position;
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

/// Locks a slot whose message some receiver has not received, and returns the word without the lock.
/// Returns 0, without locking, if all have received it by now.
#[cold]
fn lock_to_overwrite(word: &AtomicU32) -> u32 {
    let mut backoff = Backoff::new();
    loop {
        let count = word.load(Ordering::Acquire);
        if count == 0 || (count & LOCKED == 0 && try_lock(word, count)) {
            return count;
        }
        check_before_waiting(place_of(word));
        backoff.wait();
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        for (word, original) in self.words.iter().zip(&self.originals) {
            if word.load(Ordering::Relaxed) >= ONE {
                // SAFETY: this is the last owner, and the count says that there is a message.
                drop(
                    original
                        .message
                        .with(|place| unsafe { (*place).assume_init_read() }),
                );
            }
        }
    }
}

/// A locked message. Dropping it unlocks the message, and counts the receiver as served.
pub(super) struct Reading<'a, T> {
    word: &'a AtomicU32,
    original: &'a Original<T>,
    /// The word without the lock.
    count: u32,
}

impl<T> Reading<'_, T> {
    /// Unlocks a message that is not the one that the receiver came for.
    fn give_back(self) {
        let this = ManuallyDrop::new(self);
        this.word.store(this.count, Ordering::Release);
    }
}

impl<T: Clone> Reading<'_, T> {
    #[inline(always)]
    pub(super) fn message(&self) -> T {
        let clone = || {
            // SAFETY: this receiver has the lock, and has not received the message, which is therefore
            // there.
            self.original
                .message
                .with(|place| unsafe { (*place).assume_init_ref().clone() })
        };
        // A type without a destructor contains no handle of the channel, and is usually just copied.
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
            // SAFETY: this receiver has the lock; no receiver is left that has not received the message, and
            // the count says so when the lock is released.
            self.original
                .message
                .with(|place| unsafe { (*place).assume_init_read() })
        });
        self.word.store(left, Ordering::Release);
        drop(message);
    }
}
