//! The lines of a rendezvous: its senders and receivers that wait, and the promises between them.

use super::availability::Availability;
use super::hands::Hands;
use crate::queue::{MAX_RESERVED, Refusal};
use crate::sys::{Arc, UnsafeCell};
use crate::wait::{FIRST_OUTCOME, WaitList, WakeBatch};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::task::Waker;

/// Outcome of a wait: the message has passed, or the promise was made.
pub(super) const DONE: u32 = FIRST_OUTCOME;
/// Outcome of a wait: the channel was closed.
pub(super) const SHUT: u32 = FIRST_OUTCOME + 1;

/// Everything that the lock of a meeting guards.
pub(super) struct Table<T> {
    hands: Arc<Hands>,
    pub(super) senders: WaitList<Party<T>>,
    pub(super) receivers: WaitList<Party<T>>,
    /// Senders that wait for a receiver's promise.
    pub(super) hopeful: WaitList<()>,
    /// The number of receivers in line.
    pub(super) waiting: usize,
    /// The number of permits that have not been used.
    pub(super) promised: usize,
    /// Messages of receivers that were dropped with them, and of permits whose receiver went away.
    pub(super) kept: VecDeque<T>,
    pub(super) closed: bool,
    /// True if there is no receiver any more.
    pub(super) gone: bool,
}

/// A side of a meeting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Gives,
    Takes,
}

/// A sender or receiver in line.
pub(super) struct Party<T> {
    /// Where its message is, or is to be put.
    pub(super) hand: NonNull<UnsafeCell<Option<T>>>,
    /// The select to which it belongs, if it does.
    pub(super) select: Option<NonNull<Availability>>,
    /// False for a receiver whose select was in line already: it takes one message, however many clauses
    /// it has, and can keep one promise.
    pub(super) counts: bool,
}

impl<T> Clone for Party<T> {
    fn clone(&self) -> Party<T> {
        *self
    }
}

impl<T> Copy for Party<T> {}

// SAFETY: points into a future that stays while it is linked, and is used under the meeting's lock;
// the message may come from another thread.
unsafe impl<T: Send> Send for Party<T> {}

impl<T> Party<T> {
    /// Picks this party. Returns whether that worked; the caller must meet it then.
    fn pick(&self) -> bool {
        // SAFETY: pinned with the select whose parties are linked.
        self.select
            .is_none_or(|select| unsafe { select.as_ref() }.pick())
    }

    /// Picks this party and the other, or none. Returns whether that worked; the caller must let them meet
    /// then.
    fn pick_with(&self, other: &Party<T>) -> bool {
        match (self.select, other.select) {
            // SAFETY: as above, for both.
            (Some(own), Some(other)) => unsafe { own.as_ref().pick_both(other.as_ref()) },
            (None, _) => other.pick(),
            (_, None) => self.pick(),
        }
    }

    /// Returns whether a party of `select`, or of none, could pick this one.
    fn is_free_for(&self, select: Option<NonNull<Availability>>) -> bool {
        // SAFETY: as above.
        self.select
            .is_none_or(|own| Some(own) != select && unsafe { own.as_ref() }.is_free())
    }

    /// Returns whether, if this receiver in line meets the sender, all promises can be kept by others. A
    /// select that stands in both lines leaves both.
    fn is_spared(
        &self,
        sender: &Party<T>,
        promised: usize,
        receivers: &mut WaitList<Party<T>>,
    ) -> bool {
        let mut left = promised;
        left == 0
            || receivers.any(|other| {
                let keeps = other.counts
                    && other.hand != self.hand
                    && other.is_free_for(self.select)
                    && other.is_free_for(sender.select);
                left -= usize::from(keeps);
                left == 0
            })
    }

    /// Calls `f` with what is in the hand.
    ///
    /// # Safety
    /// The party is linked and the lock is held.
    unsafe fn with_hand<R>(&self, f: impl FnOnce(&mut Option<T>) -> R) -> R {
        // SAFETY: linked futures stay in place; their hands belong to the holder of the lock.
        unsafe { self.hand.as_ref() }.with_mut(|hand| f(unsafe { &mut *hand }))
    }
}

/// The wakers of those that one step makes ready: at most a sender and a receiver.
#[derive(Default)]
pub(super) struct Woken {
    wakers: [Option<Waker>; 2],
    /// A waker of the caller's own that is of no use any more.
    pub(super) dropped: Option<Waker>,
}

impl Woken {
    fn push(&mut self, waker: Option<Waker>) {
        let free = self.wakers.iter_mut().find(|place| place.is_none());
        *free.expect("at most two") = waker;
    }

    /// Wakes them. Must not be called with the lock held.
    #[inline]
    pub(super) fn finish(self) {
        if self.wakers.iter().any(Option::is_some) {
            self.finish_with(WakeBatch::new());
        }
    }

    /// Wakes those in `batch` and then these. Must not be called with the lock held.
    pub(super) fn finish_with(self, mut batch: WakeBatch) {
        for waker in self.wakers.into_iter().flatten() {
            if batch.is_full() {
                batch.wake_all();
            }
            batch.push(Some(waker));
        }
        batch.finish();
    }
}

impl<T> Table<T> {
    pub(super) fn new(hands: Arc<Hands>) -> Table<T> {
        Table {
            hands,
            senders: WaitList::new(),
            receivers: WaitList::new(),
            hopeful: WaitList::new(),
            waiting: 0,
            promised: 0,
            kept: VecDeque::new(),
            closed: false,
            gone: false,
        }
    }

    /// Hands the message to a receiver in line. Returns it as an error if there is none.
    pub(super) fn give(&mut self, message: T, woken: &mut Woken) -> Result<(), T> {
        let mut message = Some(message);
        let hands = &self.hands;
        let met = self.receivers.settle_first(DONE, |receiver| {
            let picked = receiver.pick();
            if picked {
                // SAFETY: in the list, and `&mut self` proves the lock.
                unsafe { receiver.with_hand(|hand| *hand = message.take()) };
                // Counted before the receiver is told and may take it.
                hands.fill();
            }
            picked
        });
        match (met, message) {
            (Some((waker, _)), _) => {
                self.waiting -= 1;
                woken.push(waker);
                Ok(())
            }
            (None, Some(message)) => Err(message),
            (None, None) => unreachable!("given to nobody"),
        }
    }

    /// Does what `give` does, unless only receivers wait that have made a promise.
    pub(super) fn give_unpromised(&mut self, message: T, woken: &mut Woken) -> Result<(), T> {
        if self.more_wait_than(self.promised, None) {
            self.give(message, woken)
        } else {
            Err(message)
        }
    }

    /// Takes a message that was kept, or that of a sender in line. `in_line` is the receiver if it waits; it
    /// leaves senders alone if the promises could not be kept without it.
    pub(super) fn take(&mut self, in_line: Option<Party<T>>, woken: &mut Woken) -> Option<T> {
        if let Some(message) = self.kept.pop_front() {
            return Some(message);
        }
        let (receivers, promised) = (&mut self.receivers, self.promised);
        let mut message = None;
        let (waker, _) = self.senders.settle_first(DONE, |sender| {
            let picked =
                in_line.is_none_or(|it| it.is_spared(sender, promised, receivers)) && sender.pick();
            if picked {
                // SAFETY: in the list, and `&mut self` proves the lock.
                message = unsafe { sender.with_hand(Option::take) };
            }
            picked
        })?;
        woken.push(waker);
        message
    }

    /// Called when one more receiver waits, which has found no sender: makes a promise to a sender that waits
    /// for one. Returns false if there is none.
    pub(super) fn serve_hopeful(&mut self, woken: &mut Woken) -> bool {
        if self.closed || self.hopeful.is_empty() || !self.more_wait_than(self.promised, None) {
            return false;
        }
        let Some((waker, ())) = self.hopeful.settle_front(DONE) else {
            return false;
        };
        self.promised += 1;
        woken.push(waker);
        true
    }

    /// Called when a promise was given back: makes it to another sender that waits for one, or serves a sender
    /// that got in line because all receivers had made a promise.
    pub(super) fn serve(&mut self, woken: &mut Woken) {
        if !self.serve_hopeful(woken) && !self.closed && !self.senders.is_empty() {
            self.introduce(woken);
        }
    }

    /// Returns the receiver in line that has `nth` others before it.
    fn receiver(&mut self, nth: usize) -> Option<Party<T>> {
        let (mut left, mut found) = (nth, None);
        self.receivers.any(|party| {
            found = (left == 0).then_some(*party);
            left = left.saturating_sub(1);
            found.is_some()
        });
        found
    }

    /// Lets the first receiver and the first sender in line meet that can.
    fn introduce(&mut self, woken: &mut Woken) {
        for nth in 0.. {
            let Some(receiver) = self.receiver(nth) else {
                return;
            };
            let (receivers, promised) = (&mut self.receivers, self.promised);
            let mut message = None;
            let met = self.senders.settle_first(DONE, |sender| {
                let picked =
                    receiver.is_spared(sender, promised, receivers) && receiver.pick_with(sender);
                if picked {
                    // SAFETY: in the list, and `&mut self` proves the lock.
                    message = unsafe { sender.with_hand(Option::take) };
                }
                picked
            });
            let Some((sender, _)) = met else { continue };
            // SAFETY: as above.
            unsafe { receiver.with_hand(|hand| *hand = message) };
            self.hands.fill();
            self.waiting -= 1;
            woken.push(sender);
            let receiver = self
                .receivers
                .settle_first(DONE, |it| it.hand == receiver.hand);
            woken.push(receiver.and_then(|(waker, _)| waker));
            return;
        }
    }

    /// Returns whether a receiver of this select is in line.
    pub(super) fn is_in_line(&mut self, select: NonNull<Availability>) -> bool {
        self.receivers.any(|party| party.select == Some(select))
    }

    /// Returns the line of this side.
    pub(super) fn line(&mut self, side: Side) -> &mut WaitList<Party<T>> {
        match side {
            Side::Gives => &mut self.senders,
            Side::Takes => &mut self.receivers,
        }
    }

    /// Makes a promise, if a receiver waits that has made none.
    pub(super) fn promise(&mut self) -> Result<(), Refusal> {
        if self.closed {
            return Err(Refusal::Closed);
        }
        if self.more_wait_than(self.promised, None) && (self.promised as u64) < MAX_RESERVED {
            self.promised += 1;
            return Ok(());
        }
        Err(Refusal::Full)
    }

    /// Returns whether no message will come; what is kept is not looked at.
    #[inline]
    pub(super) fn is_at_end(&self) -> bool {
        self.closed && self.promised == 0 && self.hands.are_empty()
    }

    /// Returns whether more than `count` receivers wait that can be met. Those of a select that is busy or
    /// picked do not count, nor do those of `select`.
    #[inline]
    fn more_wait_than(&mut self, count: usize, select: Option<NonNull<Availability>>) -> bool {
        let mut left = count;
        self.waiting > count
            && self.receivers.any(|party| {
                let free = party.counts && party.is_free_for(select);
                let more = free && left == 0;
                left -= usize::from(free && !more);
                more
            })
    }

    /// Returns whether there is a party that `own`, which is about to get in line at `side` or is `in_line`
    /// already, could meet.
    pub(super) fn has_company(&mut self, side: Side, own: Party<T>, in_line: bool) -> bool {
        if side == Side::Gives {
            return self.closed || self.more_wait_than(self.promised, own.select);
        }
        if !self.kept.is_empty() || self.is_at_end() {
            return true;
        }
        let (receivers, promised) = (&mut self.receivers, self.promised);
        self.senders.any(|sender| {
            let spared = !in_line || own.is_spared(sender, promised, receivers);
            spared && sender.is_free_for(own.select)
        })
    }
}
