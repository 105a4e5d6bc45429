//! The state word of a slot: which process is here, and what is wanted of it. And what a process does, for
//! observers.
//!
//! | bits | field | rule |
//! |---|---|---|
//! | 0 | `ALIVE` | a process is here |
//! | 1 | `KILL` | it is to end before its next step |
//! | 2 | `TRAP` | the end of a linked process arrives as an event |
//! | 32..64 | generation | number of the process in this slot, from 1; incremented when it is complete; 0 after the last |
//!
//! The word changes only under the mailbox's lock, and is read without it.

use crate::sys::atomic::{AtomicU64, Ordering};
use std::num::NonZeroU32;

const ALIVE: u64 = 1;
const KILL: u64 = 1 << 1;
const TRAP: u64 = 1 << 2;
const GENERATION_SHIFT: u32 = 32;

/// What a process is doing, in a [`ProcessInfo`](crate::ProcessInfo).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProcessState {
    /// It waits for a worker.
    Ready,
    /// A worker runs it.
    Running,
    /// It waits for a command that it has yielded. A message wakes it as well.
    Blocked,
    /// It waits for messages.
    Idle,
    /// It has ended.
    Complete,
}

/// How a process rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    Blocked,
    Idle,
}

/// What a process has to do that wanted to rest.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing: it will be woken.
    Resting,
    /// Look into the mailbox again.
    Awake,
    /// End: it was killed.
    Killed,
}

/// What a process has to do at the begin of a turn.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Run,
    /// End: it was killed.
    Killed,
}

#[derive(Debug)]
pub(crate) struct Word(AtomicU64);

impl Word {
    pub(crate) fn new() -> Word {
        Word(AtomicU64::new(1 << GENERATION_SHIFT))
    }

    #[inline]
    fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Changes the word, under the lock, so that no other thread does.
    fn change(&self, next: impl FnOnce(u64) -> u64) -> u64 {
        let word = self.load();
        self.0.store(next(word), Ordering::Release);
        word
    }

    /// Begins a new process. Returns its generation.
    pub(crate) fn open(&self, trap: bool) -> NonZeroU32 {
        let flags = ALIVE | if trap { TRAP } else { 0 };
        let old = self.change(|word| word | flags);
        debug_assert_eq!(old & ALIVE, 0);
        NonZeroU32::new((old >> GENERATION_SHIFT) as u32).expect("generations begin at 1")
    }

    /// Makes the process end before its next step.
    pub(crate) fn kill(&self) {
        self.change(|word| word | KILL);
    }

    #[inline]
    pub(crate) fn is_killed(&self) -> bool {
        self.load() & KILL != 0
    }

    /// Ends the process, and its PID with it. After the last generation the slot is [used
    /// up](Word::is_used_up), so that no PID is used twice.
    pub(crate) fn complete(&self) {
        self.change(|word| {
            let generation = (word >> GENERATION_SHIFT) as u32;
            u64::from(generation.wrapping_add(1)) << GENERATION_SHIFT
        });
    }

    /// Whether the slot has had as many processes as there are generations.
    pub(crate) fn is_used_up(&self) -> bool {
        self.generation() == 0
    }

    /// Acts as if the slot had had all earlier processes.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn skip_to(&self, generation: u32) {
        self.change(|word| word & u64::from(u32::MAX) | u64::from(generation) << GENERATION_SHIFT);
    }

    pub(crate) fn set_trap(&self, trap: bool) {
        self.change(|word| if trap { word | TRAP } else { word & !TRAP });
    }

    #[inline]
    pub(crate) fn is_alive(&self, generation: u32) -> bool {
        let word = self.load();
        (word >> GENERATION_SHIFT) as u32 == generation && word & ALIVE != 0
    }

    pub(crate) fn traps(&self) -> bool {
        self.load() & TRAP != 0
    }

    /// The generation of the process that is here, or comes next.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        (self.load() >> GENERATION_SHIFT) as u32
    }

    /// Returns the generation of the process that is here now, if there is one.
    pub(crate) fn look(&self) -> Option<NonZeroU32> {
        let word = self.load();
        NonZeroU32::new((word >> GENERATION_SHIFT) as u32).filter(|_| word & ALIVE != 0)
    }
}
