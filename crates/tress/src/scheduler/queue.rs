//! A worker's run queue: a ring of 256 slots, first in first out, that others may steal from.
//!
//! The owner pushes at the tail and pops at the head; a thief takes half of what is there from
//! the head. The head is two positions in one word, `{steal: u32, real: u32}`:
//!
//! - `real` is where the owner pops and where the next steal begins;
//! - `steal` lags behind it while a thief copies what it claimed, and marks the slots that must
//!   not be overwritten. `steal == real` means that no theft is under way.
//!
//! A theft has three steps. *Claim*: one compare-exchange moves `real` past half of the tasks; if
//! it fails the thief gives up, having touched nothing. *Copy*: the slots between `steal` and
//! `real` are the thief's. *Release*: `steal` catches up with `real`, retried until it succeeds,
//! since giving up here would block the queue for ever. The owner may pop meanwhile.
//!
//! When the ring is full, half of it and the new task move to the inject queue as one batch under one lock; if a
//! thief is at work, only the new task moves.
//!
//! # Memory ordering
//! The tail is stored with release after the slot is written, and loaded with acquire by thieves.
//! Every change of the head is an acquire-release exchange, so a slot's reader happens before its
//! next writer.

use super::inject::Inject;
use crate::sys::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sys::{Arc, CachePadded, UnsafeCell, prefetch};
use crate::task::{Header, Ready};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Slots in the ring: few under the model, so that it wraps and overflows.
pub(crate) const CAPACITY: usize = if cfg!(loom) { 4 } else { 256 };
const MASK: u32 = CAPACITY as u32 - 1;

/// How many places behind the popped task a task is prefetched.
// D-SCHED-01
const AHEAD: u32 = 2;

struct Ring {
    head: CachePadded<AtomicU64>,
    tail: CachePadded<AtomicU32>,
    slots: Box<[UnsafeCell<MaybeUninit<Ready>>]>,
}

// SAFETY: what the slots hold is `Send`; which thread may touch which slot follows from head and tail.
unsafe impl Sync for Ring {}

/// The owner's half: may push and pop. Not shareable.
pub(crate) struct Local {
    ring: Arc<Ring>,
    _owner: PhantomData<Cell<()>>,
}

/// The other threads' half: may look and steal.
pub(crate) struct Steal(Arc<Ring>);

pub(crate) fn ring() -> (Local, Steal) {
    let ring = Arc::new(Ring {
        head: CachePadded::new(AtomicU64::new(0)),
        tail: CachePadded::new(AtomicU32::new(0)),
        slots: (0..CAPACITY)
            .map(|_| UnsafeCell::new(MaybeUninit::uninit()))
            .collect(),
    });
    let local = Local {
        ring: ring.clone(),
        _owner: PhantomData,
    };
    (local, Steal(ring))
}

fn pack(steal: u32, real: u32) -> u64 {
    u64::from(steal) << 32 | u64::from(real)
}

fn unpack(head: u64) -> (u32, u32) {
    ((head >> 32) as u32, head as u32)
}

impl Ring {
    /// # Safety
    /// The slot is the caller's and holds a task, which moves out.
    unsafe fn read(&self, at: u32) -> Ready {
        // SAFETY: by the caller's promise.
        unsafe { self.slots[(at & MASK) as usize].with(|slot| (*slot).assume_init_read()) }
    }

    /// Returns the address of the task in a slot, which may have been stolen by now.
    ///
    /// # Safety
    /// The slot has been written, and no thread writes to it now.
    unsafe fn address(&self, at: u32) -> NonNull<Header> {
        // SAFETY: by the caller's promise. A `Ready` is nothing but that address.
        unsafe {
            self.slots[(at & MASK) as usize].with(|slot| slot.cast::<NonNull<Header>>().read())
        }
    }

    /// # Safety
    /// The slot is the caller's.
    unsafe fn write(&self, at: u32, task: Ready) {
        // SAFETY: by the caller's promise.
        unsafe { self.slots[(at & MASK) as usize].with_mut(|slot| (*slot).write(task)) };
    }

    fn len(&self) -> u32 {
        // Head first: a stale head with a fresh tail overestimates, which callers can live with;
        // the other way round could go below zero.
        let (_, real) = unpack(self.head.load(Ordering::Acquire));
        let tail = self.tail.load(Ordering::Acquire);
        tail.wrapping_sub(real).min(CAPACITY as u32)
    }
}

impl Local {
    pub(crate) fn len(&self) -> u32 {
        self.ring.len()
    }

    /// Returns how many tasks can be pushed before a push overflows.
    pub(crate) fn room(&self) -> usize {
        let (steal, _) = unpack(self.ring.head.load(Ordering::Acquire));
        let tail = self.ring.tail.load(Ordering::Relaxed);
        CAPACITY - tail.wrapping_sub(steal) as usize
    }

    /// Adds a task at the tail. Returns true if tasks had to move to the inject queue.
    #[inline]
    pub(crate) fn push(&self, mut task: Ready, inject: &Inject) -> bool {
        let tail = self.ring.tail.load(Ordering::Relaxed);
        loop {
            let head = self.ring.head.load(Ordering::Acquire);
            let (steal, real) = unpack(head);
            if (tail.wrapping_sub(steal) as usize) < CAPACITY {
                // SAFETY: the slot at the tail is free: everything before `steal` was consumed.
                unsafe { self.ring.write(tail, task) };
                self.ring
                    .tail
                    .store(tail.wrapping_add(1), Ordering::Release);
                return false;
            }
            if steal != real {
                // A thief is making room, but waiting for it could take long.
                inject.push(task);
                return true;
            }
            match self.overflow(task, head, real, inject) {
                Ok(()) => return true,
                // A thief came between: there is room now, or it is at work.
                Err(back) => task = back,
            }
        }
    }

    /// Moves the older half and `task` to the inject queue.
    ///
    /// # Errors
    /// The head has changed: nothing has been moved, and the task comes back.
    #[cold]
    fn overflow(&self, task: Ready, head: u64, real: u32, inject: &Inject) -> Result<(), Ready> {
        const HALF: u32 = CAPACITY as u32 / 2;
        let next = real.wrapping_add(HALF);
        if self
            .ring
            .head
            .compare_exchange(head, pack(next, next), Ordering::AcqRel, Ordering::Relaxed)
            .is_err()
        {
            return Err(task);
        }
        // SAFETY: the exchange took these slots out of every other thread's reach, and each is read once.
        let older = (0..HALF).map(|i| unsafe { self.ring.read(real.wrapping_add(i)) });
        inject.push_batch(older.chain([task]));
        Ok(())
    }

    /// Takes the oldest task.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Ready> {
        let mut head = self.ring.head.load(Ordering::Acquire);
        let tail = self.ring.tail.load(Ordering::Relaxed);
        loop {
            let (steal, real) = unpack(head);
            if real == tail {
                return None;
            }
            let next = real.wrapping_add(1);
            let moved = if steal == real {
                pack(next, next)
            } else {
                pack(steal, next)
            };
            match self.ring.head.compare_exchange_weak(
                head,
                moved,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    if tail.wrapping_sub(real) > AHEAD {
                        // SAFETY: only we write to the slots, and this one has been written. Its
                        // task may be stolen and gone: the address is all that is used.
                        prefetch(unsafe { self.ring.address(real.wrapping_add(AHEAD)) });
                    }
                    // SAFETY: `real` was ours to take and no other thread can take it any more. The slot is not
                    // overwritten before we push again.
                    return Some(unsafe { self.ring.read(real) });
                }
                Err(actual) => head = actual,
            }
        }
    }
}

impl Steal {
    pub(crate) fn len(&self) -> u32 {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves half of the queue to `into`. Returns the oldest of these tasks, which stays out of it, and how many were
    /// taken.
    pub(crate) fn steal_into(&self, into: &Local) -> Option<(Ready, u32)> {
        let to = &into.ring;
        let to_tail = to.tail.load(Ordering::Relaxed);
        let (to_steal, _) = unpack(to.head.load(Ordering::Acquire));
        if to_tail.wrapping_sub(to_steal) as usize > CAPACITY / 2 {
            // Another thief still copies out of ours: half of theirs might not fit.
            return None;
        }

        let from = &self.0;
        let head = from.head.load(Ordering::Acquire);
        let (steal, real) = unpack(head);
        if steal != real {
            return None;
        }
        let available = from.tail.load(Ordering::Acquire).wrapping_sub(real);
        let n = available - available / 2;
        if n == 0 || n > CAPACITY as u32 / 2 {
            // Empty; or the head was stale by the time the tail was read, and the claim would fail.
            return None;
        }
        let claimed = real.wrapping_add(n);
        if from
            .head
            .compare_exchange(
                head,
                pack(steal, claimed),
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .is_err()
        {
            return None;
        }

        // SAFETY: the claim made the slots from `real` to `claimed` ours; the ones at our own
        // tail are free, as checked above, and we are the owner of `into`.
        let first = unsafe {
            for i in 1..n {
                to.write(to_tail.wrapping_add(i - 1), from.read(real.wrapping_add(i)));
            }
            from.read(real)
        };

        let mut head = pack(steal, claimed);
        loop {
            let (_, real) = unpack(head);
            match from.head.compare_exchange_weak(
                head,
                pack(real, real),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => break,
                Err(actual) => head = actual,
            }
        }
        if n > 1 {
            to.tail
                .store(to_tail.wrapping_add(n - 1), Ordering::Release);
        }
        Some((first, n))
    }
}
