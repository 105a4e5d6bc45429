//! The state word of a oneshot channel: the bits, and the rules by which they change.
//!
//! | bit | set by | meaning |
//! |---|---|---|
//! | `VALUE` | sender | the value is in place and belongs to the receiver |
//! | `TX_DONE` | sender | it has sent or given up; the receiver's waker, if `RX_WAKER`, is its to take |
//! | `TX_GONE` | sender | it will not touch the cell again |
//! | `RX_CLOSED` | receiver | nothing can be sent any more; the sender's waker, if `TX_WAKER`, is the receiver's to take |
//! | `RX_GONE` | receiver | it will not touch the cell again |
//! | `RX_WAKER` | receiver | its slot is filled; cleared by itself only, and never after `TX_DONE` |
//! | `TX_WAKER` | sender | its slot is filled; cleared by itself only, and never after `RX_CLOSED` |
//!
//! - `VALUE` is set together with `TX_DONE` and never after `RX_CLOSED`: the receiver that sees
//!   `TX_DONE` or has set `RX_CLOSED` knows for good whether there is a value.
//! - The side that leaves second frees the cell. A side leaves by setting its `GONE` bit, or without
//!   touching the word if the other one's is set already.
//! - A side takes its own waker with it, so the side that frees the cell finds the slots empty.
//! - If there is no waker to look after, `DONE`/`CLOSED` and `GONE` are set in one step: a value
//!   sent before it is awaited costs one read-modify-write in all.
//!
//! # Memory ordering
//! Every change releases and every look acquires, so each side sees what the other one wrote before
//! it handed a slot, the value or the whole cell over.

use crate::sight::WaitKind;
use crate::sys::atomic::{AtomicU32, Ordering};
use std::fmt;

const VALUE: u32 = 1;
const TX_DONE: u32 = 1 << 1;
const TX_GONE: u32 = 1 << 2;
const RX_CLOSED: u32 = 1 << 3;
const RX_GONE: u32 = 1 << 4;
const RX_WAKER: u32 = 1 << 5;
const TX_WAKER: u32 = 1 << 6;

pub(super) struct State(AtomicU32);

/// The word at some moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Snapshot(u32);

/// The duties of a side that has announced its end, before it may leave.
#[must_use]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Duties {
    /// Take its own waker out.
    pub(super) own_waker: bool,
    /// Take the other side's waker out, to wake it.
    pub(super) other_waker: bool,
    /// The other side is gone: the cell is this side's alone. Nothing else is set then.
    pub(super) alone: bool,
}

impl Duties {
    const ALONE: Duties = Duties {
        own_waker: false,
        other_waker: false,
        alone: true,
    };

    fn none(self) -> bool {
        !self.own_waker && !self.other_waker
    }

    /// Returns `true` if the side has left already.
    #[inline]
    pub(super) fn left(self) -> bool {
        self.none() && !self.alone
    }
}

/// The receiver has closed the channel.
#[derive(Debug)]
pub(super) struct Closed;

impl Snapshot {
    pub(super) fn has_value(self) -> bool {
        self.0 & VALUE != 0
    }

    pub(super) fn is_tx_done(self) -> bool {
        self.0 & TX_DONE != 0
    }

    pub(super) fn is_tx_gone(self) -> bool {
        self.0 & TX_GONE != 0
    }

    pub(super) fn is_rx_closed(self) -> bool {
        self.0 & RX_CLOSED != 0
    }

    /// Has `side` filled its slot?
    #[inline]
    pub(super) fn has_waker(self, side: Side) -> bool {
        self.0 & side.waker_bit() != 0
    }

    /// Has happened what `side` waits for?
    #[inline]
    pub(super) fn ends_wait_of(self, side: Side) -> bool {
        match side {
            Side::Sender => self.is_rx_closed(),
            Side::Receiver => self.is_tx_done() || self.is_rx_closed(),
        }
    }
}

/// An end of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Sender,
    Receiver,
}

impl Side {
    /// Returns what the side waits for.
    pub(super) fn kind(self) -> WaitKind {
        match self {
            Side::Sender => WaitKind::OneshotClosed,
            Side::Receiver => WaitKind::OneshotReceive,
        }
    }

    #[inline]
    fn waker_bit(self) -> u32 {
        match self {
            Side::Sender => TX_WAKER,
            Side::Receiver => RX_WAKER,
        }
    }
}

impl State {
    pub(super) fn new() -> State {
        State(AtomicU32::new(0))
    }

    #[inline]
    pub(super) fn load(&self) -> Snapshot {
        Snapshot(self.0.load(Ordering::Acquire))
    }

    #[inline]
    fn replace(&self, old: Snapshot, new: u32) -> Result<(), Snapshot> {
        match self
            .0
            .compare_exchange(old.0, new, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => Ok(()),
            Err(actual) => Err(Snapshot(actual)),
        }
    }

    /// Announces the value that the sender has put in place. Nothing has changed if it returns `Err`.
    #[inline]
    pub(super) fn send(&self) -> Result<Duties, Closed> {
        let mut state = self.load();
        loop {
            if state.is_rx_closed() {
                return Err(Closed);
            }
            let duties = Duties {
                own_waker: state.has_waker(Side::Sender),
                other_waker: state.has_waker(Side::Receiver),
                alone: false,
            };
            let mut next = (state.0 | VALUE | TX_DONE) & !TX_WAKER;
            if duties.none() {
                next |= TX_GONE;
            }
            match self.replace(state, next) {
                Ok(()) => return Ok(duties),
                Err(actual) => state = actual,
            }
        }
    }

    /// Announces that the sender gives up.
    pub(super) fn drop_sender(&self) -> Duties {
        let mut state = self.load();
        loop {
            if state.0 & RX_GONE != 0 {
                return Duties::ALONE;
            }
            let closed = state.is_rx_closed();
            let duties = Duties {
                own_waker: state.has_waker(Side::Sender) && !closed,
                other_waker: state.has_waker(Side::Receiver),
                alone: false,
            };
            let mut next = state.0 | TX_DONE;
            if duties.own_waker {
                next &= !TX_WAKER;
            }
            if duties.none() {
                next |= TX_GONE;
            }
            match self.replace(state, next) {
                Ok(()) => return duties,
                Err(actual) => state = actual,
            }
        }
    }

    /// Announces that the receiver takes no value that has not been sent yet. Returns `true` if the
    /// sender's waker is now the receiver's to take.
    #[must_use]
    pub(super) fn close(&self) -> bool {
        let mut state = self.load();
        loop {
            if state.is_tx_done() || state.is_rx_closed() {
                return false;
            }
            match self.replace(state, state.0 | RX_CLOSED) {
                Ok(()) => return state.has_waker(Side::Sender),
                Err(actual) => state = actual,
            }
        }
    }

    /// Announces that the receiver gives up before the sender is done. Returns `Err` if the sender is done
    /// by now: the value, if there is one, is the receiver's.
    pub(super) fn drop_receiver(&self) -> Result<Duties, Snapshot> {
        let mut state = self.load();
        loop {
            if state.is_tx_done() {
                return Err(state);
            }
            let duties = Duties {
                own_waker: state.has_waker(Side::Receiver),
                other_waker: state.has_waker(Side::Sender) && !state.is_rx_closed(),
                alone: false,
            };
            let mut next = (state.0 | RX_CLOSED) & !RX_WAKER;
            if duties.none() {
                next |= RX_GONE;
            }
            match self.replace(state, next) {
                Ok(()) => return Ok(duties),
                Err(actual) => state = actual,
            }
        }
    }

    /// Makes the sender leave. Returns `true` if the receiver has left before: the caller frees the cell.
    #[must_use]
    pub(super) fn leave_sender(&self) -> bool {
        self.0.fetch_or(TX_GONE, Ordering::AcqRel) & RX_GONE != 0
    }

    /// Makes the receiver leave. Returns `true` if the sender has left before: the caller frees the cell.
    #[must_use]
    pub(super) fn leave_receiver(&self) -> bool {
        self.0.fetch_or(RX_GONE, Ordering::AcqRel) & TX_GONE != 0
    }

    /// Announces that `side` has filled its slot. Returns `Err` if the word is not `seen` any more.
    #[inline]
    pub(super) fn set_waker(&self, side: Side, seen: Snapshot) -> Result<(), Snapshot> {
        debug_assert!(!seen.ends_wait_of(side));
        self.replace(seen, seen.0 | side.waker_bit())
    }

    /// Takes the slot of `side` back. Returns the new word, or `Err` if it is not `seen` any more.
    #[inline]
    pub(super) fn unset_waker(&self, side: Side, seen: Snapshot) -> Result<Snapshot, Snapshot> {
        debug_assert!(!seen.ends_wait_of(side));
        let next = seen.0 & !side.waker_bit();
        self.replace(seen, next).map(|()| Snapshot(next))
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.load();
        f.debug_struct("State")
            .field("value", &state.has_value())
            .field("sender_done", &state.is_tx_done())
            .field("receiver_closed", &state.is_rx_closed())
            .finish_non_exhaustive()
    }
}
