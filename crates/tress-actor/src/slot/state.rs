//! The state word of a process: what it is doing, and what it must still look at.
//!
//! | bits | field | rule |
//! |---|---|---|
//! | 0..3 | state | `COMPLETE`, `READY`, `RUNNING`, `BLOCKED` or `IDLE` |
//! | 3 | `WAKE` | something came while it was `RUNNING`; it may not rest before it has looked |
//! | 4 | `KILL` | it is to end before its next step |
//! | 5 | `TRAP` | the end of a linked process comes as an event |
//! | 32..64 | generation | the how manyeth process in this place; goes up when it is complete |
//!
//! ```text
//!  COMPLETE ─open→ READY ─start→ RUNNING ─rest→ BLOCKED | IDLE ─wake→ READY
//!     ↑                             │ requeue → READY
//!     └──────────complete───────────┘
//! ```
//!
//! `open`, `wake`, `kill` and `complete` are called under the mailbox's lock; `start`, `rest` and
//! `requeue` by the process itself, without it.
//!
//! # Why no wake-up is lost
//! An event is put into the mailbox, then `wake` is called, under one hold of the lock. `rest` and
//! `wake` change one word, so one of them comes first. If `wake` does, `rest` finds `WAKE` and does
//! not rest. If `rest` does, `wake` finds the process at rest and owes it a wake-up. If `wake` finds
//! `READY`, `start` is still to come, and the mailbox is emptied after it.
//!
//! No transition is dropped because a flag moved: each is a loop around a compare-exchange.

use crate::sys::atomic::{AtomicU64, Ordering};
use std::num::NonZeroU32;

const STATE: u64 = 0b111;
const COMPLETE: u64 = 0;
const READY: u64 = 1;
const RUNNING: u64 = 2;
const BLOCKED: u64 = 3;
const IDLE: u64 = 4;
const WAKE: u64 = 1 << 3;
const KILL: u64 = 1 << 4;
const TRAP: u64 = 1 << 5;
const GENERATION_SHIFT: u32 = 32;

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProcessState {
    /// It waits for a worker.
    Ready,
    /// A worker runs it.
    Running,
    /// It waits for a command that it yielded; a message wakes it as well.
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

/// What somebody who brought an event owes.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The process will look by itself.
    Nothing,
    /// It was at rest and is `READY` now: its task must be woken.
    Task,
}

/// What a process that wanted to rest has to do.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing: somebody will wake it.
    Resting,
    /// Look into the mailbox again.
    Awake,
    /// End: it was killed.
    Killed,
}

/// What a process that was given a worker has to do.
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
        Word(AtomicU64::new(1 << GENERATION_SHIFT | COMPLETE))
    }

    #[inline]
    fn change(&self, mut next: impl FnMut(u64) -> u64) -> u64 {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let new = next(word);
            if new == word {
                return word;
            }
            match self
                .0
                .compare_exchange_weak(word, new, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return word,
                Err(now) => word = now,
            }
        }
    }

    /// A new process begins here.
    pub(crate) fn open(&self, trap: bool) -> NonZeroU32 {
        let flags = READY | if trap { TRAP } else { 0 };
        let old = self.change(|word| (word & !0xFFFF_FFFF) | flags);
        debug_assert_eq!(old & STATE, COMPLETE);
        NonZeroU32::new((old >> GENERATION_SHIFT) as u32).expect("generations begin at 1")
    }

    #[inline]
    pub(crate) fn start(&self) -> Start {
        let old = self.change(|word| (word & !(STATE | WAKE)) | RUNNING);
        debug_assert_ne!(old & STATE, COMPLETE);
        if old & KILL == 0 {
            Start::Run
        } else {
            Start::Killed
        }
    }

    #[inline]
    pub(crate) fn rest(&self, pause: Pause) -> Rest {
        let rest = match pause {
            Pause::Blocked => BLOCKED,
            Pause::Idle => IDLE,
        };
        let old = self.change(|word| {
            debug_assert_eq!(word & STATE, RUNNING);
            if word & KILL != 0 {
                word
            } else if word & WAKE != 0 {
                word & !WAKE
            } else {
                (word & !STATE) | rest
            }
        });
        if old & KILL != 0 {
            Rest::Killed
        } else if old & WAKE != 0 {
            Rest::Awake
        } else {
            Rest::Resting
        }
    }

    /// The process goes to the tail of the queue.
    #[inline]
    pub(crate) fn requeue(&self) {
        self.change(|word| (word & !(STATE | WAKE)) | READY);
    }

    #[inline]
    fn woken(word: u64) -> u64 {
        match word & STATE {
            IDLE | BLOCKED => (word & !STATE) | READY,
            RUNNING => word | WAKE,
            _ => word,
        }
    }

    #[inline]
    fn owed(old: u64) -> Wake {
        match old & STATE {
            IDLE | BLOCKED => Wake::Task,
            _ => Wake::Nothing,
        }
    }

    /// There is something in the mailbox.
    #[inline]
    pub(crate) fn wake(&self) -> Wake {
        Word::owed(self.change(Word::woken))
    }

    /// The process is to end before its next step.
    pub(crate) fn kill(&self) -> Wake {
        Word::owed(self.change(|word| Word::woken(word) | KILL))
    }

    /// The process has ended, and its PID with it.
    pub(crate) fn complete(&self) {
        self.change(|word| {
            let generation = ((word >> GENERATION_SHIFT) as u32).wrapping_add(1).max(1);
            u64::from(generation) << GENERATION_SHIFT | COMPLETE
        });
    }

    pub(crate) fn set_trap(&self, trap: bool) {
        self.change(|word| if trap { word | TRAP } else { word & !TRAP });
    }

    #[inline]
    pub(crate) fn is_alive(&self, generation: u32) -> bool {
        let word = self.0.load(Ordering::Acquire);
        (word >> GENERATION_SHIFT) as u32 == generation && word & STATE != COMPLETE
    }

    pub(crate) fn traps(&self) -> bool {
        self.0.load(Ordering::Acquire) & TRAP != 0
    }

    /// The process that is here now, if there is one, and what it is doing.
    pub(crate) fn look(&self) -> Option<(NonZeroU32, ProcessState)> {
        let word = self.0.load(Ordering::Acquire);
        let state = match word & STATE {
            READY => ProcessState::Ready,
            RUNNING => ProcessState::Running,
            BLOCKED => ProcessState::Blocked,
            IDLE => ProcessState::Idle,
            _ => return None,
        };
        NonZeroU32::new((word >> GENERATION_SHIFT) as u32).map(|generation| (generation, state))
    }
}
