//! The tail word of a queue: the bits, and the rules by which they change.
//!
//! ```text
//!  63                              29  28                    5  4     0
//! +----------------------------------+------------------------+-------+
//! |        next position (35)        |     reserved (24)      | flags |
//! +----------------------------------+------------------------+-------+
//! ```
//!
//! **Position**: where the next message goes. A sender claims a position by moving the word on, and
//! then fills the slot that belongs to it; positions wrap, and only their differences count.
//!
//! **Reserved**: places promised to permits, and to senders in line, that have no position yet.
//! Messages in the queue and reserved places together never exceed the capacity: a claim or a
//! reservation checks that against the receiver's head, which only moves on, and against the very
//! word that it replaces.
//!
//! **Flags**
//! - `INSTALLING`: the last position of a block was claimed, and its claimer is linking the next block.
//!   Other claims wait for these few instructions.
//! - `CLOSED`: no new message is taken. Claims and reservations fail; reserved places may still be used.
//! - `GONE`: the last receiver was dropped. No position is claimed any more.
//! - `END`: the last position is the end mark. Nothing comes after it. It is set by the last
//!   sender's drop, or when the last reservation of a closed queue is given back. Only queues with
//!   one receiver have end marks.
//! - `WAITED`: receivers are in line, and none of them has been called. Only in queues with many
//!   receivers; set and cleared under the lock of their line (see `arrivals.rs`).
//!
//! # Memory ordering
//! Claims acquire and release, so that they form one order per queue, and a thread that sees a position
//! also sees the block in which it lies.

use crate::sys::atomic::{AtomicU64, Ordering};

const INSTALLING: u64 = 1;
const CLOSED: u64 = 1 << 1;
const GONE: u64 = 1 << 2;
const END: u64 = 1 << 3;
const WAITED: u64 = 1 << 4;

const RESERVED_ONE: u64 = 1 << 5;
const RESERVED_MASK: u64 = MAX_RESERVED * RESERVED_ONE;
const POSITION_ONE: u64 = 1 << 29;

/// The maximum number of places that can be reserved at the same time, whatever the capacity.
pub(crate) const MAX_RESERVED: u64 = (1 << 24) - 1;
/// The bits of a position. A queue holds at most half as many messages as there are positions.
pub(crate) const POSITION_MASK: u64 = (1 << 35) - 1;
/// The largest capacity that is counted; a queue with a larger one is bounded by this.
pub(crate) const MAX_COUNTED: u64 = POSITION_MASK / 2;

/// Returns `a - b`, for positions.
#[inline(always)]
pub(crate) fn distance(a: u64, b: u64) -> u64 {
    a.wrapping_sub(b) & POSITION_MASK
}

/// Returns the position after `position`.
#[inline(always)]
pub(crate) fn after(position: u64) -> u64 {
    beyond(position, 1)
}

/// Returns the position `count` after `position`.
#[inline(always)]
pub(crate) fn beyond(position: u64, count: u64) -> u64 {
    (position + count) & POSITION_MASK
}

/// A value of the word: one that was read, or one that it is to get.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tail(u64);

impl Tail {
    #[inline(always)]
    pub(crate) fn position(self) -> u64 {
        self.0 / POSITION_ONE
    }

    #[inline(always)]
    pub(crate) fn reserved(self) -> u64 {
        (self.0 & RESERVED_MASK) / RESERVED_ONE
    }

    pub(crate) fn is_installing(self) -> bool {
        self.0 & INSTALLING != 0
    }

    pub(crate) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    pub(crate) fn is_gone(self) -> bool {
        self.0 & GONE != 0
    }

    pub(crate) fn is_ended(self) -> bool {
        self.0 & END != 0
    }

    /// Returns whether there is a receiver to be called.
    #[inline(always)]
    pub(crate) fn is_waited(self) -> bool {
        self.0 & WAITED != 0
    }

    /// Returns whether the queue is closed and no reservation is left: no message comes after those before
    /// this tail.
    pub(crate) fn is_final(self) -> bool {
        self.is_closed() && self.reserved() == 0
    }

    /// Returns whether the word is neither `INSTALLING` nor `CLOSED`: the usual case, in one test.
    #[inline(always)]
    pub(crate) fn is_open(self) -> bool {
        self.0 & (INSTALLING | CLOSED) == 0
    }

    /// Returns the number of messages before this tail when the receiver is at `head`.
    #[inline]
    pub(crate) fn messages(self, head: u64) -> u64 {
        distance(self.position(), head) - u64::from(self.is_ended())
    }

    /// Returns the tail with the next position claimed; `installing` if it is the last of its block.
    #[inline(always)]
    pub(crate) fn claim(self, installing: bool) -> Tail {
        let flag = if installing { INSTALLING } else { 0 };
        Tail(self.0.wrapping_add(POSITION_ONE) | flag)
    }

    /// Returns the tail whose last position is the end mark.
    pub(crate) fn end(self) -> Tail {
        Tail(self.0.wrapping_add(POSITION_ONE) | END)
    }

    #[inline]
    pub(crate) fn reserve(self, count: u64) -> Tail {
        debug_assert!(self.reserved() + count <= MAX_RESERVED);
        Tail(self.0 + count * RESERVED_ONE)
    }

    #[inline]
    pub(crate) fn unreserve(self, count: u64) -> Tail {
        debug_assert!(self.reserved() >= count);
        Tail(self.0 - count * RESERVED_ONE)
    }

    /// Returns whether this tail, with reservations given back, makes the end of a closed queue.
    pub(crate) fn needs_end(self) -> bool {
        self.0 & (CLOSED | GONE | END | RESERVED_MASK) == CLOSED
    }
}

/// The word itself. See the module documentation for the rules.
pub(crate) struct TailWord(AtomicU64);

impl TailWord {
    pub(crate) fn new() -> TailWord {
        TailWord(AtomicU64::new(0))
    }

    #[inline(always)]
    pub(crate) fn load(&self) -> Tail {
        Tail(self.0.load(Ordering::Acquire))
    }

    #[inline(always)]
    pub(crate) fn replace(&self, old: Tail, new: Tail) -> Result<(), Tail> {
        match self
            .0
            .compare_exchange_weak(old.0, new.0, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => Ok(()),
            Err(actual) => Err(Tail(actual)),
        }
    }

    /// Says that the next block has been linked.
    pub(crate) fn installed(&self) {
        self.0.fetch_and(!INSTALLING, Ordering::Release);
    }

    pub(crate) fn close(&self) -> Tail {
        Tail(self.0.fetch_or(CLOSED, Ordering::AcqRel))
    }

    pub(crate) fn close_and_go(&self) -> Tail {
        Tail(self.0.fetch_or(CLOSED | GONE, Ordering::AcqRel))
    }

    /// Asks the sender of the next claim to call a receiver. Returns the word that this made.
    pub(crate) fn set_waited(&self) -> Tail {
        Tail(self.0.fetch_or(WAITED, Ordering::AcqRel) | WAITED)
    }

    pub(crate) fn clear_waited(&self) {
        self.0.fetch_and(!WAITED, Ordering::Relaxed);
    }
}
