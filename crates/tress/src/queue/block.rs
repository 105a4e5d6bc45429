//! Where messages are kept: slots, in blocks that are linked into a list.
//!
//! A slot goes through these states, each change by exactly one side:
//!
//! | from | to | by | meaning |
//! |---|---|---|---|
//! | `EMPTY` | `WAITED` | receiver | it sleeps until this slot is filled |
//! | `WAITED` | `EMPTY` | receiver | it does not wait any more |
//! | `EMPTY`, `WAITED` | `READY` | the sender that claimed it | the message is in place |
//! | `EMPTY`, `WAITED` | `END` | the sender that claimed it | no message will come |
//! | `EMPTY` | `UNWANTED` | receiver, when dropped | the sender keeps its message |
//!
//! Messages are received in the order of their positions, so the receiver waits for one slot only, and
//! that slot's sender is the only one that has to check for it. Both sides meet in one
//! read-modify-write of one word: there is no flag to set and no fence between a flag and a queue,
//! and a sender wakes the receiver only when the message that it waits for is in place.
//!
//! Filling a slot is the last access of its sender, so a block of which every slot was received belongs to
//! the receiver alone.
//!
//! This is the protocol for one receiver. With many, no receiver waits at a slot: a receiver claims a
//! position, and only then takes what is [put](Slot::put) into its slot. Each receiver counts itself as
//! done with the block, and the block belongs to the last one.

use super::run;
use crate::sys::UnsafeCell;
use crate::sys::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};
use std::mem::{self, MaybeUninit};
use std::ptr::{self, NonNull};

/// The number of slots in a block.
pub(crate) const SLOTS: usize = if cfg!(loom) { 2 } else { 32 };

const EMPTY: u8 = 0;
const WAITED: u8 = 1;
const READY: u8 = 2;
const END: u8 = 3;
const UNWANTED: u8 = 4;

/// Room for one message in a block.
pub(crate) struct Slot<'a, T> {
    state: &'a AtomicU8,
    message: &'a UnsafeCell<MaybeUninit<T>>,
}

/// What the receiver finds in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A message, which belongs to the receiver.
    Ready,
    /// Nothing, and the receiver is not announced as waiting.
    Empty,
    /// Nothing, and the slot's sender will wake the receiver.
    Waited,
    /// The end mark.
    End,
}

/// What a sender that filled a slot has to do.
#[must_use]
#[derive(Debug)]
pub(crate) enum Filled<T> {
    /// Nothing.
    Done,
    /// Wake the receiver, which sleeps.
    Wake,
    /// Take the message back: the receiver is gone.
    Unwanted(T),
}

impl<T> Slot<'_, T> {
    /// Fills the slot of a queue with one receiver.
    ///
    /// # Safety
    /// The caller claimed this slot and has not filled it.
    #[inline(always)]
    pub(crate) unsafe fn fill(&self, message: T) -> Filled<T> {
        // SAFETY: until the state says READY the place belongs to the slot's claimer.
        self.message.with_mut(|place| unsafe {
            (*place).write(message);
        });
        match self.state.swap(READY, Ordering::AcqRel) {
            EMPTY => Filled::Done,
            WAITED => Filled::Wake,
            // SAFETY: the receiver will not look here, and no other thread may.
            _ => Filled::Unwanted(
                self.message
                    .with(|place| unsafe { (*place).assume_init_read() }),
            ),
        }
    }

    /// Fills the slot of a queue with many receivers, none of which waits at a slot.
    ///
    /// # Safety
    /// The caller claimed this slot and has not filled it.
    #[inline(always)]
    pub(crate) unsafe fn put(&self, message: T) {
        // SAFETY: as in `fill`.
        self.message.with_mut(|place| unsafe {
            (*place).write(message);
        });
        self.state.store(READY, Ordering::Release);
    }

    /// Puts the end mark. Returns true if the receiver sleeps and must be woken.
    ///
    /// # Safety
    /// The caller claimed this slot and has not filled it.
    pub(crate) unsafe fn end(&self) -> bool {
        self.state.swap(END, Ordering::AcqRel) == WAITED
    }

    /// Returns what is in the slot.
    #[inline(always)]
    pub(crate) fn look(&self) -> Found {
        match self.state.load(Ordering::Acquire) {
            READY => Found::Ready,
            EMPTY => Found::Empty,
            WAITED => Found::Waited,
            _ => Found::End,
        }
    }

    /// Takes the message out.
    ///
    /// # Safety
    /// The caller is the receiver, has seen `Ready`, and takes the message for the only time.
    #[inline(always)]
    pub(crate) unsafe fn take(&self) -> T {
        // SAFETY: READY gave the message to the receiver.
        self.message
            .with(|place| unsafe { (*place).assume_init_read() })
    }

    /// Announces that the receiver, whose waker is in place, sleeps from now on. Returns false if the slot
    /// has been filled.
    #[must_use]
    pub(crate) fn wait(&self) -> bool {
        self.state
            .compare_exchange(EMPTY, WAITED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Takes `wait` back. Returns false if the slot has been filled: its sender has taken the waker, or
    /// will take it.
    #[must_use]
    pub(crate) fn unwait(&self) -> bool {
        self.state
            .compare_exchange(WAITED, EMPTY, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Says that the receiver will not take this message. Returns false if the slot has been filled.
    #[must_use]
    pub(crate) fn refuse(&self) -> bool {
        self.state
            .compare_exchange(EMPTY, UNWANTED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// A number of slots, and the link to the next block.
///
/// The states stand together, so that they take a byte each, whatever the alignment of messages: a
/// queue that is filled for the first time spends most of its time on getting memory.
pub(crate) struct Block<T> {
    states: [AtomicU8; SLOTS],
    messages: [UnsafeCell<MaybeUninit<T>>; SLOTS],
    /// Set by the sender that claims the last slot, before it fills it.
    next: AtomicPtr<Block<T>>,
    /// The number of receivers that are done with the block. Used if there are many receivers.
    taken: AtomicU32,
    /// Its number in its run, counted from one. Zero if it was allocated by itself.
    place: u16,
    /// Before it is used: the number of blocks behind it, in the same run, that are not in use either.
    behind: u16,
}

impl<T> Block<T> {
    /// Allocates a block by itself.
    pub(crate) fn allocate() -> NonNull<Block<T>> {
        let block = Box::into_raw(Box::<Block<T>>::new_uninit()).cast::<Block<T>>();
        // SAFETY: not null, and fresh memory of the right layout.
        unsafe {
            let block = NonNull::new_unchecked(block);
            Block::initialise(block, 0, 0);
            block
        }
    }

    /// Initialises memory as an empty block.
    ///
    /// # Safety
    /// It is memory for a block, and belongs to the caller.
    pub(super) unsafe fn initialise(this: NonNull<Block<T>>, place: u16, behind: u16) {
        let block = this.as_ptr();
        // SAFETY: by the caller's promise. Every field is initialised here, in place, so that no large
        // block passes over the stack.
        unsafe {
            for i in 0..SLOTS {
                (&raw mut (*block).states[i]).write(AtomicU8::new(EMPTY));
                (&raw mut (*block).messages[i]).write(UnsafeCell::new(MaybeUninit::uninit()));
            }
            (&raw mut (*block).next).write(AtomicPtr::new(ptr::null_mut()));
            (&raw mut (*block).taken).write(AtomicU32::new(0));
            (&raw mut (*block).place).write(place);
            (&raw mut (*block).behind).write(behind);
        }
    }

    /// Frees a block; one that has not been used, with the blocks of its run behind it.
    ///
    /// # Safety
    /// No other thread can reach the block, and its messages have been taken.
    pub(crate) unsafe fn free(this: NonNull<Block<T>>) {
        // SAFETY: made by `allocate`, or one of a run; no other thread can reach it.
        unsafe {
            let Block { place, behind, .. } = *this.as_ref();
            if place == 0 {
                drop(Box::from_raw(this.as_ptr()));
            } else {
                run::give_back(this, place, behind);
            }
        }
    }

    /// Separates a block that is going to be used from those behind it. Returns its place, and how many they
    /// are.
    ///
    /// # Safety
    /// No other thread can reach the block.
    pub(super) unsafe fn part_from_rest(mut this: NonNull<Block<T>>) -> (u16, u16) {
        // SAFETY: by the caller's promise.
        let block = unsafe { this.as_mut() };
        (block.place, mem::take(&mut block.behind))
    }

    pub(super) fn place(&self) -> u16 {
        self.place
    }

    pub(crate) fn is_in_run(&self) -> bool {
        self.place != 0
    }

    /// Makes a block empty again.
    ///
    /// # Safety
    /// As for `free`.
    pub(crate) unsafe fn reset(mut this: NonNull<Block<T>>) {
        // SAFETY: by the caller's promise.
        let block = unsafe { this.as_mut() };
        // Written as a whole: single bytes would be stored one by one.
        block.states = std::array::from_fn(|_| AtomicU8::new(EMPTY));
        block.next.store(ptr::null_mut(), Ordering::Relaxed);
        block.taken.store(0, Ordering::Relaxed);
    }

    #[inline(always)]
    pub(crate) fn slot(&self, position: u64) -> Slot<'_, T> {
        let index = position as usize % SLOTS;
        Slot {
            state: &self.states[index],
            message: &self.messages[index],
        }
    }

    /// Returns whether this is the last position of a block.
    #[inline(always)]
    pub(crate) fn is_last(position: u64) -> bool {
        position as usize % SLOTS == SLOTS - 1
    }

    /// Counts a receiver, one of many, that has taken its message and will not come back. Returns true for
    /// the last one, to which the block belongs.
    #[inline(always)]
    #[must_use]
    pub(crate) fn is_done(&self) -> bool {
        // Acquire and release: the last one comes after all reads of the others.
        self.taken.fetch_add(1, Ordering::AcqRel) as usize == SLOTS - 1
    }

    pub(crate) fn set_next(&self, next: NonNull<Block<T>>) {
        self.next.store(next.as_ptr(), Ordering::Release);
    }

    /// Returns the next block; null if the last slot has not been claimed yet.
    pub(crate) fn next(&self) -> *mut Block<T> {
        self.next.load(Ordering::Acquire)
    }
}
