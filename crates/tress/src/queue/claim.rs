//! Claiming positions, with a reservation or without.

use super::lane::{Lane, Queue};
use super::tail::Tail;
use crate::sys::atomic::Ordering;
use crate::wait::Backoff;

/// The pauses of a thread that lost an exchange, some tens of nanoseconds each.
///
/// Two cores that write one word in turns do a few operations in a time in which one of them alone, with the
/// word in its cache, does a hundred: so the pause is long.
// D-SYNC-07
const LOST_EXCHANGE_PAUSES: u32 = 64;

/// Why a sender got no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No place is free, or other senders are in line.
    Full,
    /// The queue is closed.
    Closed,
}

/// Gives way to another core that has just changed the same word.
#[cold]
pub(super) fn give_way() {
    Backoff::give_way(LOST_EXCHANGE_PAUSES);
}

impl<L: Lane> Queue<L> {
    /// Claims a position for a message that has no reservation.
    #[inline(always)]
    pub(crate) fn try_claim(&self) -> Result<L::Spot, Refusal> {
        match self.claim_quickly() {
            Some(spot) => Ok(spot),
            None => self.claim_slowly(),
        }
    }

    /// Does what `try_claim` does if nothing is in the way; `None` if something is.
    #[inline(always)]
    pub(crate) fn claim_quickly(&self) -> Option<L::Spot> {
        let tail = self.tail();
        let free = !self.is_bounded()
            || (!self.shared.waiting.load(Ordering::Relaxed) && self.places(tail, 1) > 0);
        if tail.is_open() && free {
            L::claim_plainly(self, tail)
        } else {
            None
        }
    }

    /// Claims the position of `tail`, for a message that is not the last of its block. Returns false if the
    /// word has changed, after having given way to the core that changed it.
    #[inline(always)]
    #[must_use]
    pub(super) fn move_on_from(&self, tail: Tail) -> bool {
        match self.tail.word.replace(tail, tail.claim(false)) {
            Ok(()) => true,
            Err(actual) => {
                if actual != tail {
                    give_way();
                }
                false
            }
        }
    }

    /// Claims the position of `tail`, which is open and has a free place. Returns `None` if the word has
    /// changed.
    fn claim_at(&self, tail: Tail) -> Option<L::Spot> {
        let mut fresh = L::Fresh::default();
        let claimed = L::claim(self, tail, tail, &mut fresh);
        L::put_back(self, fresh);
        if claimed.as_ref().is_err_and(|actual| *actual != tail) {
            give_way();
        }
        claimed.ok()
    }

    /// Does what `try_claim` does, whatever the state of the queue.
    #[cold]
    fn claim_slowly(&self) -> Result<L::Spot, Refusal> {
        if self.is_bounded() && self.shared.waiting.load(Ordering::Relaxed) {
            return Err(if self.is_closed() {
                Refusal::Closed
            } else {
                Refusal::Full
            });
        }
        let mut tail = self.tail();
        loop {
            if !tail.is_open() {
                if tail.is_closed() {
                    return Err(Refusal::Closed);
                }
                tail = self.wait_for_block();
                continue;
            }
            if self.is_bounded() && self.places(tail, 1) == 0 {
                let current = self.tail();
                if current == tail {
                    return Err(Refusal::Full);
                }
                tail = current;
                continue;
            }
            if let Some(spot) = self.claim_at(tail) {
                return Ok(spot);
            }
            tail = self.tail();
        }
    }

    /// Turns a reservation into a position. Returns `None` if no receiver is left; the reservation is used
    /// up in either case.
    #[inline]
    pub(crate) fn claim_reserved(&self) -> Option<L::Spot> {
        let mut fresh = L::Fresh::default();
        let mut tail = self.tail();
        loop {
            if tail.is_installing() {
                tail = self.wait_for_block();
                continue;
            }
            let claimed = if tail.is_gone() {
                self.tail
                    .word
                    .replace(tail, tail.unreserve(1))
                    .map(|()| None)
            } else {
                L::claim(self, tail, tail.unreserve(1), &mut fresh).map(Some)
            };
            match claimed {
                Ok(spot) => {
                    L::put_back(self, fresh);
                    return spot;
                }
                Err(actual) => tail = actual,
            }
        }
    }

    /// Waits while another sender links the next block, and returns the tail after that.
    #[cold]
    pub(super) fn wait_for_block(&self) -> Tail {
        let mut backoff = Backoff::new();
        loop {
            let tail = self.tail();
            if !tail.is_installing() {
                return tail;
            }
            backoff.wait();
        }
    }
}
