//! What is recorded, as the ring stores it and as a reader gets it.

use super::ring::Words;
use crate::identity::{Id, Label};
use crate::sys::clock::Scale;
use std::panic::Location;
use std::time::Duration;

/// Something that happened on a worker; see [`Trace::events`](super::Trace::events).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The worker's index, or the number of workers for what the monitor thread saw.
    pub track: usize,
    /// When it happened, or began, counted from an arbitrary moment that is the same for all events.
    pub at: Duration,
    /// What happened.
    pub kind: EventKind,
    /// The task it is about, if it is about one.
    pub task: Option<Id>,
    /// That task's name, if it has one.
    pub name: Option<String>,
    /// Where that task was spawned, if it has no name.
    pub spawned_at: Option<&'static Location<'static>>,
}

/// What happened.
///
/// An event is stored in few bits: times of more than five minutes and numbers above 65,535 may be cut off there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// A task was polled.
    Poll {
        /// How long the poll took.
        took: Duration,
        /// How many polls it stands for: one of them was recorded.
        every: u32,
    },
    /// A task was spawned or woken, during a poll that was recorded.
    Ready,
    /// Tasks were taken from another worker's queue.
    Steal {
        /// How many tasks were taken.
        tasks: u32,
        /// The index of the other worker.
        from: usize,
    },
    /// The worker slept.
    Park {
        /// How long it slept.
        took: Duration,
    },
    /// I/O events and completions were handled.
    Io {
        /// How many events and completions.
        events: u32,
    },
    /// Timers fired.
    Timers {
        /// How many timers.
        fired: u32,
    },
    /// The monitor found a worker in a poll that takes too long.
    SlowPoll {
        /// How long the poll has taken so far.
        so_far: Duration,
        /// The index of the worker.
        worker: usize,
    },
    /// Events of the track were overwritten before the flight recorder read them.
    Lost {
        /// How many events.
        events: u64,
    },
}

const KIND_BITS: u32 = 56;
const HIGH_BITS: u32 = 40;
const LOW: u64 = (1 << HIGH_BITS) - 1;
const HIGH: u64 = (1 << (KIND_BITS - HIGH_BITS)) - 1;

/// The kind as a number, a small value (16 bits) and a large one (40), mostly counts of the clock. Values that do not
/// fit become the greatest that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct What {
    pub(super) kind: u8,
    pub(super) high: u64,
    pub(super) low: u64,
}

const POLL: u8 = 1;
const READY: u8 = 2;
const STEAL: u8 = 3;
const PARK: u8 = 4;
const IO: u8 = 5;
const TIMERS: u8 = 6;
const SLOW_POLL: u8 = 7;
const LOST: u8 = 8;

impl What {
    const fn new(kind: u8, high: u64, low: u64) -> What {
        What { kind, high, low }
    }

    pub(crate) fn poll(took: u64, every: u32) -> What {
        What::new(POLL, u64::from(every), took)
    }

    pub(crate) fn ready() -> What {
        What::new(READY, 0, 0)
    }

    pub(crate) fn steal(tasks: u32, from: usize) -> What {
        What::new(STEAL, from as u64, u64::from(tasks))
    }

    pub(crate) fn park(took: u64) -> What {
        What::new(PARK, 0, took)
    }

    pub(crate) fn io(events: u64) -> What {
        What::new(IO, 0, events)
    }

    pub(crate) fn timers(fired: u64) -> What {
        What::new(TIMERS, 0, fired)
    }

    pub(crate) fn slow_poll(so_far: u64, worker: usize) -> What {
        What::new(SLOW_POLL, worker as u64, so_far)
    }

    pub(crate) fn lost(events: u64) -> What {
        What::new(LOST, 0, events)
    }

    pub(crate) fn is_ready(self) -> bool {
        self.kind == READY
    }

    /// Returns the counts of the clock that a poll took, and how many polls it stands for; `None` of other events.
    pub(crate) fn as_poll(self) -> Option<(u64, u32)> {
        (self.kind == POLL).then_some((self.low, self.high as u32))
    }

    pub(crate) fn is_io(self) -> bool {
        self.kind == IO
    }

    pub(crate) fn is_steal(self) -> bool {
        self.kind == STEAL
    }

    pub(crate) fn is_lost(self) -> bool {
        self.kind == LOST
    }

    /// Returns whether it takes time.
    pub(crate) fn is_slice(self) -> bool {
        matches!(self.kind, POLL | PARK)
    }

    /// Returns the counts of the clock from its beginning to its end.
    pub(crate) fn length(self) -> u64 {
        if self.is_slice() { self.low } else { 0 }
    }

    #[inline]
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.kind) << KIND_BITS | self.high.min(HIGH) << HIGH_BITS | self.low.min(LOW)
    }

    pub(crate) fn unpack(word: u64) -> What {
        What {
            kind: (word >> KIND_BITS) as u8,
            high: word >> HIGH_BITS & HIGH,
            low: word & LOW,
        }
    }

    pub(crate) fn kind(self, scale: &Scale) -> Option<EventKind> {
        let time = || Duration::from_nanos(scale.length(self.low));
        Some(match self.kind {
            POLL => EventKind::Poll {
                took: time(),
                every: self.high as u32,
            },
            READY => EventKind::Ready,
            STEAL => EventKind::Steal {
                tasks: self.low as u32,
                from: self.high as usize,
            },
            PARK => EventKind::Park { took: time() },
            IO => EventKind::Io {
                events: self.low as u32,
            },
            TIMERS => EventKind::Timers {
                fired: self.low as u32,
            },
            SLOW_POLL => EventKind::SlowPoll {
                so_far: time(),
                worker: self.high as usize,
            },
            LOST => EventKind::Lost { events: self.low },
            _ => return None,
        })
    }
}

impl Event {
    /// Returns the ring's entry for an event.
    #[inline]
    pub(crate) fn words(at: u64, what: What, task: Option<(Id, Label)>) -> Words {
        let (id, label) = match task {
            Some((id, label)) => (id.get(), label.word()),
            None => (0, 0),
        };
        [at, what.pack(), id, label]
    }

    /// Returns the event of a ring's entry.
    ///
    /// # Safety
    /// The words came out of a ring whole, and the names of the tasks of that ring's runtime are alive.
    pub(crate) unsafe fn read(track: usize, words: Words, scale: &Scale) -> Option<Event> {
        let [at, what, id, label] = words;
        // SAFETY: by the caller's promise it is the word of a label.
        let (name, spawned_at) = unsafe { Label::read(label) };
        Some(Event {
            track,
            at: Duration::from_nanos(scale.at(at)),
            kind: What::unpack(what).kind(scale)?,
            task: Id::from_raw(id),
            name: name.map(str::to_owned),
            spawned_at,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn values_too_large_are_cut_off_and_leave_the_others_alone() {
        for (high, low) in [(0, 0), (7, 9), (HIGH, LOW)] {
            let what = What::new(POLL, high, low);
            assert_eq!(What::unpack(what.pack()), what);
        }
        let cut = What::unpack(What::new(PARK, u64::MAX, u64::MAX).pack());
        assert_eq!(cut, What::new(PARK, HIGH, LOW));
    }
}
