//! Where messages are kept: slots, in blocks that are linked into a queue.
//!
//! A slot goes through these states, each change by exactly one side:
//!
//! | from | to | by | meaning |
//! |---|---|---|---|
//! | `EMPTY` | `WAITED` | receiver | it sleeps until this very slot is filled |
//! | `WAITED` | `EMPTY` | receiver | it changed its mind |
//! | `EMPTY`, `WAITED` | `READY` | the sender that claimed it | the message is in place |
//! | `EMPTY`, `WAITED` | `END` | the sender that claimed it | nothing comes any more |
//! | `EMPTY` | `UNWANTED` | receiver, when dropped | the sender keeps its message |
//!
//! Messages are received in the order of their positions, so the receiver only ever waits for one
//! slot, and that slot's sender is the only one that has to look for it. Both sides meet in one
//! read-modify-write on one word: there is no flag to set and no fence between a flag and a queue,
//! and a sender wakes the receiver only when the message it waits for is there.
//!
//! A sender touches a slot last when it fills it, so a block of which every slot was received is the
//! receiver's alone.
//!
//! That is how it goes with one receiver. With many, nobody waits at a slot: a receiver claims a
//! position, and only then comes for what is [put](Slot::put) into its slot. Each counts itself as
//! done with the block, and the block is the last one's.

use super::run;
use crate::sys::UnsafeCell;
use crate::sys::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};
use std::mem::{self, MaybeUninit};
use std::ptr::{self, NonNull};

/// Slots in a block.
pub(crate) const SLOTS: usize = if cfg!(loom) { 2 } else { 32 };

const EMPTY: u8 = 0;
const WAITED: u8 = 1;
const READY: u8 = 2;
const END: u8 = 3;
const UNWANTED: u8 = 4;

/// Room for one message, somewhere in a block.
pub(crate) struct Slot<'a, T> {
    state: &'a AtomicU8,
    message: &'a UnsafeCell<MaybeUninit<T>>,
}

/// What the receiver finds in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The message, which is the receiver's to take.
    Ready,
    /// Nothing, and the receiver has not said that it waits.
    Empty,
    /// Nothing, and the slot's sender will wake the receiver.
    Waited,
    /// The end mark.
    End,
}

/// What a sender that filled a slot owes.
#[must_use]
#[derive(Debug)]
pub(crate) enum Filled<T> {
    Done,
    /// The receiver sleeps: wake it.
    Wake,
    /// The receiver is gone: this comes back.
    Unwanted(T),
}

impl<T> Slot<'_, T> {
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
            // SAFETY: the receiver will not look here, and nobody else may.
            _ => Filled::Unwanted(
                self.message
                    .with(|place| unsafe { (*place).assume_init_read() }),
            ),
        }
    }

    /// Fills a slot at which nobody waits.
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

    /// Puts the end mark. True if the receiver sleeps and must be woken.
    ///
    /// # Safety
    /// The caller claimed this slot and has not filled it.
    pub(crate) unsafe fn end(&self) -> bool {
        self.state.swap(END, Ordering::AcqRel) == WAITED
    }

    #[inline(always)]
    pub(crate) fn look(&self) -> Found {
        match self.state.load(Ordering::Acquire) {
            READY => Found::Ready,
            EMPTY => Found::Empty,
            WAITED => Found::Waited,
            _ => Found::End,
        }
    }

    /// # Safety
    /// The caller is the receiver, has seen `Ready`, and takes the message for the only time.
    #[inline(always)]
    pub(crate) unsafe fn take(&self) -> T {
        // SAFETY: READY gave the message to the receiver.
        self.message
            .with(|place| unsafe { (*place).assume_init_read() })
    }

    /// The receiver sleeps from now on; the waker is in place. False if the slot has been filled.
    #[must_use]
    pub(crate) fn wait(&self) -> bool {
        self.state
            .compare_exchange(EMPTY, WAITED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// The receiver takes `wait` back. False if the slot has been filled: its sender has, or will
    /// have, taken the waker.
    #[must_use]
    pub(crate) fn unwait(&self) -> bool {
        self.state
            .compare_exchange(WAITED, EMPTY, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// The receiver will not come back for this one. False if the slot has been filled.
    #[must_use]
    pub(crate) fn refuse(&self) -> bool {
        self.state
            .compare_exchange(EMPTY, UNWANTED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// Some slots, and the way to the next ones.
///
/// The states stand together, so that they take a byte each, whatever the alignment of messages: a
/// channel that is filled for the first time spends more time on getting memory than on anything else.
pub(crate) struct Block<T> {
    states: [AtomicU8; SLOTS],
    messages: [UnsafeCell<MaybeUninit<T>>; SLOTS],
    /// Set by whoever claims the last slot, before it fills it.
    next: AtomicPtr<Block<T>>,
    /// Receivers that are done with the block, if there are many.
    taken: AtomicU32,
    /// Which one of its run it is, counted from one. Zero if it was allocated by itself.
    place: u16,
    /// Before it is used: those of its run that have not been used either.
    behind: u16,
}

impl<T> Block<T> {
    /// A block by itself.
    pub(crate) fn allocate() -> NonNull<Block<T>> {
        let block = Box::into_raw(Box::<Block<T>>::new_uninit()).cast::<Block<T>>();
        // SAFETY: not null, and fresh memory of the right layout.
        unsafe {
            let block = NonNull::new_unchecked(block);
            Block::initialise(block, 0, 0);
            block
        }
    }

    /// # Safety
    /// It is memory for a block, and the caller's.
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

    /// With what is behind it, if it has not been used.
    ///
    /// # Safety
    /// Nobody else can reach the block, and its messages have been taken.
    pub(crate) unsafe fn free(this: NonNull<Block<T>>) {
        // SAFETY: made by `allocate`, or one of a run; the caller has it to itself.
        unsafe {
            let Block { place, behind, .. } = *this.as_ref();
            if place == 0 {
                drop(Box::from_raw(this.as_ptr()));
            } else {
                run::give_back(this, place, behind);
            }
        }
    }

    /// The block is going to be used, without those behind it. Returns its place, and how many they are.
    ///
    /// # Safety
    /// Nobody else can reach the block.
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

    /// Makes the block as good as new.
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

    /// True for the last position of a block.
    #[inline(always)]
    pub(crate) fn is_last(position: u64) -> bool {
        position as usize % SLOTS == SLOTS - 1
    }

    /// One of many receivers has taken its message and will not come back. True for the last one:
    /// the block is its.
    #[inline(always)]
    #[must_use]
    pub(crate) fn is_done(&self) -> bool {
        // Acquire and release: the last one comes after everything that the others have read.
        self.taken.fetch_add(1, Ordering::AcqRel) as usize == SLOTS - 1
    }

    pub(crate) fn set_next(&self, next: NonNull<Block<T>>) {
        self.next.store(next.as_ptr(), Ordering::Release);
    }

    /// Null if nobody has claimed the last slot yet.
    pub(crate) fn next(&self) -> *mut Block<T> {
        self.next.load(Ordering::Acquire)
    }
}
