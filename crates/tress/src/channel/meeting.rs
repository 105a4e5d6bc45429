//! Rendezvous: a message passes from the sender's hands into the receiver's, with nothing in between.
//!
//! Both sides meet under one lock. Whoever comes second does the work: a sender puts its message into
//! a waiting receiver's future, a receiver takes it out of a waiting sender's. The other one is told
//! by its phase and woken.
//!
//! A receiver whose future is dropped with a message in it keeps nothing back: the message goes to
//! the next receiver in line, or is *kept* for the next one that comes.
//!
//! Until then, and until whoever has a message in its hand takes it, the channel has not come to its
//! end, closed or not: who waits beside it may still get that message. [`Hands`] counts those.
//!
//! # The end
//! It is a state, and once it is reached it stays: closed, with no promise left and no message in a hand.
//! Whoever comes then does not get in line, and those in line are told, all of them, by whoever made
//! the last step and before that one lets go of the lock for good ([`Meeting::conclude`]). Nobody has to
//! pass it on.
//!
//! A permit is a promise to a sender by a receiver that waits. Others leave that receiver alone, and it
//! them; if it goes away nevertheless, the message of the permit is kept for the next one.
//!
//! # Select
//! A [`Token`] stands for a select that waits at several places. Who wants to meet it must get the
//! token first, and only one can. While the select itself looks around, the token is busy, and those
//! who come by leave it alone and get in line; the select looks once more when it has let go of the
//! token, under the lock of each meeting. So of two that pass each other one sees the other.
//!
//! Who brings two together that are both in line needs both tokens, or none. It holds the one at the lower
//! address while it tries the other; those who want a token that is held wait for these few
//! instructions. As everybody goes upwards, no two wait for each other. A select that stands in both lines
//! of one meeting has one token there, and never meets itself.

use super::tail::MAX_RESERVED;
use super::token::Token;
use crate::sync::bell::{Bell, Listener};
use crate::sync::wait_list::{FIRST_OUTCOME, WaitList, WakeBatch};
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::{Arc, Mutex, MutexGuard, UnsafeCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::ptr::NonNull;
use std::task::Waker;

/// Outcome of a wait: the message has passed, or the promise was made.
pub(super) const DONE: u32 = FIRST_OUTCOME;
/// Outcome of a wait: the channel was closed.
pub(super) const SHUT: u32 = FIRST_OUTCOME + 1;

/// Nothing passes any more.
#[derive(Debug)]
pub(super) struct Shut;

pub(super) struct Meeting<T> {
    pub(super) table: Mutex<Table<T>>,
    pub(super) hands: Arc<Hands>,
    closing: Bell,
}

/// How many receivers have a message in their hands that they have not taken yet, and whether the
/// channel is closed. One word, so that whoever takes the last one learns of the end.
#[derive(Debug)]
pub(super) struct Hands(AtomicUsize);

const CLOSED: usize = 1;
const HAND: usize = 2;

impl Hands {
    /// A message was put into a receiver's hand. Under the lock.
    fn fill(&self) {
        self.0.fetch_add(HAND, Ordering::Relaxed);
    }

    /// A receiver has taken the message out of its hand, or gives it away. True if it was the last
    /// one of a closed channel: that may have been the last step, see `Meeting::conclude`.
    #[must_use]
    pub(super) fn empty(&self) -> bool {
        self.0.fetch_sub(HAND, Ordering::AcqRel) == HAND | CLOSED
    }

    /// Under the lock.
    fn close(&self) {
        self.0.fetch_or(CLOSED, Ordering::AcqRel);
    }

    fn are_empty(&self) -> bool {
        self.0.load(Ordering::Acquire) < HAND
    }

    fn are_closed(&self) -> bool {
        self.0.load(Ordering::Acquire) & CLOSED != 0
    }
}

pub(super) struct Table<T> {
    hands: Arc<Hands>,
    senders: WaitList<Party<T>>,
    receivers: WaitList<Party<T>>,
    /// Senders that wait for a receiver's promise.
    pub(super) hopeful: WaitList<()>,
    /// Receivers in line.
    pub(super) waiting: usize,
    /// Permits that have not been used.
    pub(super) promised: usize,
    pub(super) kept: VecDeque<T>,
    pub(super) closed: bool,
    /// There is no receiver any more.
    gone: bool,
}

/// Which side of a meeting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Gives,
    Takes,
}

/// One in line: where its message is, or goes, and the select that it belongs to.
pub(super) struct Party<T> {
    pub(super) hand: NonNull<UnsafeCell<Option<T>>>,
    pub(super) token: Option<NonNull<Token>>,
    /// False for a receiver whose select stood in line before: it takes one message, however many clauses
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
    /// Gets hold of the one in line. The caller must meet it then.
    fn pick(&self) -> bool {
        // SAFETY: the token is pinned with the select that its parties are linked by.
        self.token
            .is_none_or(|token| unsafe { token.as_ref() }.pick())
    }

    /// Gets hold of this one and the other, or of none. The caller must let them meet then.
    fn pick_with(&self, other: &Party<T>) -> bool {
        match (self.token, other.token) {
            // SAFETY: as above, for both.
            (Some(own), Some(other)) => unsafe { own.as_ref().get_both(other.as_ref()) },
            (None, _) => other.pick(),
            (_, None) => self.pick(),
        }
    }

    /// Could somebody with this token pick it?
    fn is_free_for(&self, token: Option<NonNull<Token>>) -> bool {
        // SAFETY: as above.
        self.token
            .is_none_or(|own| Some(own) != token && unsafe { own.as_ref() }.is_free())
    }

    /// Can this receiver in line meet the sender, and all promises be kept by others? A select that stands
    /// in both lines leaves both.
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
                    && other.is_free_for(self.token)
                    && other.is_free_for(sender.token);
                left -= usize::from(keeps);
                left == 0
            })
    }

    /// # Safety
    /// The party is linked and the lock is held.
    unsafe fn with_hand<R>(&self, f: impl FnOnce(&mut Option<T>) -> R) -> R {
        // SAFETY: linked futures stay; with the lock their hands are ours.
        unsafe { self.hand.as_ref() }.with_mut(|hand| f(unsafe { &mut *hand }))
    }
}

/// Those whom one step makes ready: at most a sender and a receiver.
#[derive(Default)]
pub(super) struct Woken {
    wakers: [Option<Waker>; 2],
    /// Our own, of no use any more.
    pub(super) dropped: Option<Waker>,
}

impl Woken {
    fn push(&mut self, waker: Option<Waker>) {
        let free = self.wakers.iter_mut().find(|place| place.is_none());
        *free.expect("at most two") = waker;
    }

    /// Must not be called with the lock held.
    #[inline]
    fn finish(self) {
        if self.wakers.iter().any(Option::is_some) {
            self.finish_with(WakeBatch::new());
        }
    }

    /// As `finish`, with more of them.
    fn finish_with(self, mut batch: WakeBatch) {
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
    /// Hands the message to a receiver in line.
    pub(super) fn give(&mut self, message: T, woken: &mut Woken) -> Result<(), T> {
        let mut message = Some(message);
        let hands = &self.hands;
        let met = self.receivers.settle_first(DONE, |receiver| {
            let picked = receiver.pick();
            if picked {
                // SAFETY: in the list, and we have the lock.
                unsafe { receiver.with_hand(|hand| *hand = message.take()) };
                // Before it is told, and may empty it.
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

    /// As `give`, leaving receivers alone that have promised themselves.
    pub(super) fn give_unpromised(&mut self, message: T, woken: &mut Woken) -> Result<(), T> {
        if self.more_wait_than(self.promised, None) {
            self.give(message, woken)
        } else {
            Err(message)
        }
    }

    /// Takes what was kept, or the message of a sender in line. `in_line` is a receiver that waits; it
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
                // SAFETY: in the list, and we have the lock.
                message = unsafe { sender.with_hand(Option::take) };
            }
            picked
        })?;
        woken.push(waker);
        message
    }

    /// Another receiver waits, which has found no sender: serves somebody who hoped for that. False if
    /// there is nobody.
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

    /// A promise was taken back: serves somebody who hoped for that, or a sender that got in line
    /// because all who waited had promised themselves.
    fn serve(&mut self, woken: &mut Woken) {
        if !self.serve_hopeful(woken) && !self.closed && !self.senders.is_empty() {
            self.introduce(woken);
        }
    }

    fn receiver(&mut self, nth: usize) -> Option<Party<T>> {
        let (mut left, mut found) = (nth, None);
        self.receivers.any(|party| {
            found = (left == 0).then_some(*party);
            left = left.saturating_sub(1);
            found.is_some()
        });
        found
    }

    /// Lets the first two in line meet who can.
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
                    // SAFETY: in the list, and we have the lock.
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

    /// Does a receiver of this select stand in line?
    pub(super) fn is_in_line(&mut self, token: NonNull<Token>) -> bool {
        self.receivers.any(|party| party.token == Some(token))
    }

    pub(super) fn line(&mut self, side: Side) -> &mut WaitList<Party<T>> {
        match side {
            Side::Gives => &mut self.senders,
            Side::Takes => &mut self.receivers,
        }
    }
}

impl<T> Meeting<T> {
    pub(super) fn new() -> Meeting<T> {
        let hands = Arc::new(Hands(AtomicUsize::new(0)));
        Meeting {
            table: Mutex::new(Table {
                hands: hands.clone(),
                senders: WaitList::new(),
                receivers: WaitList::new(),
                hopeful: WaitList::new(),
                waiting: 0,
                promised: 0,
                kept: VecDeque::new(),
                closed: false,
                gone: false,
            }),
            hands,
            closing: Bell::new(),
        }
    }

    /// Calls `f` with the table, and wakes whom it says when the lock is released.
    #[inline]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Table<T>, &mut Woken) -> R) -> R {
        let mut woken = Woken::default();
        let mut table = self.table.lock();
        let result = f(&mut table, &mut woken);
        self.conclude(table, woken);
        result
    }

    /// Lets go of the lock after a step that may have been the last one, and wakes whom that made ready.
    #[inline]
    pub(super) fn conclude<'a>(&'a self, table: MutexGuard<'a, Table<T>>, woken: Woken) {
        if table.is_at_end() {
            self.tell_end(table, woken);
        } else {
            drop(table);
            woken.finish();
        }
    }

    /// Tells all receivers in line that nothing comes any more. Nobody gets in line again.
    #[cold]
    fn tell_end<'a>(&'a self, mut table: MutexGuard<'a, Table<T>>, woken: Woken) {
        let mut batch = WakeBatch::new();
        while let Some((waker, _)) = table.receivers.settle_front(SHUT) {
            table.waiting -= 1;
            batch.push(waker);
            if batch.is_full() {
                drop(table);
                batch.wake_all();
                table = self.table.lock();
            }
        }
        drop(table);
        woken.finish_with(batch);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.hands.are_closed()
    }

    /// Messages that are kept for the next receiver.
    pub(super) fn len(&self) -> usize {
        self.table.lock().kept.len()
    }

    pub(super) async fn closed(&self) {
        let mut listener = pin!(Listener::new(&self.closing));
        poll_fn(|cx| {
            listener
                .as_mut()
                .poll_until(cx, || self.is_closed().then_some(()))
        })
        .await
    }

    /// Hands the message to a receiver that waits. `Err` says whether the channel is closed.
    pub(super) fn try_give(&self, message: T) -> Result<(), (T, bool)> {
        self.with(|table, woken| {
            if table.closed {
                return Err((message, true));
            }
            table
                .give_unpromised(message, woken)
                .map_err(|message| (message, false))
        })
    }

    /// Takes the message of a sender that waits.
    pub(super) fn try_take(&self) -> Result<Option<T>, Shut> {
        self.with(|table, woken| match table.take(None, woken) {
            None if table.is_at_end() => Err(Shut),
            taken => Ok(taken),
        })
    }

    /// Closes the channel; `gone` if there is no receiver any more.
    pub(super) fn shut(&self, gone: bool) {
        let mut batch = WakeBatch::new();
        let mut table = self.table.lock();
        table.closed = true;
        table.gone |= gone;
        self.hands.close();
        // Receivers may wait on, for what was promised or is in another one's hand.
        let at_end = table.is_at_end();
        loop {
            let told = if let Some((waker, _)) = table.senders.settle_front(SHUT) {
                waker
            } else if let Some((waker, ())) = table.hopeful.settle_front(SHUT) {
                waker
            } else if let Some((waker, _)) =
                at_end.then(|| table.receivers.settle_front(SHUT)).flatten()
            {
                table.waiting -= 1;
                waker
            } else {
                break;
            };
            batch.push(told);
            if batch.is_full() {
                drop(table);
                batch.wake_all();
                table = self.table.lock();
            }
        }
        drop(table);
        self.closing.ring();
        batch.finish();
    }

    /// Uses a promise up. The message comes back if there is no receiver any more.
    pub(super) fn give_promised(&self, message: T) -> Result<(), T> {
        self.with(|table, woken| {
            table.promised -= 1;
            if table.gone {
                return Err(message);
            }
            if let Err(message) = table.give(message, woken) {
                table.kept.push_back(message);
            }
            Ok(())
        })
    }

    /// Takes a promise back.
    pub(super) fn release(&self) {
        self.with(|table, woken| {
            table.promised -= 1;
            table.serve(woken);
        });
    }

    /// A promise, if a receiver waits that has made none. `Err` says whether the channel is closed.
    pub(super) fn try_promise(&self) -> Result<(), bool> {
        let mut table = self.table.lock();
        table.promise()
    }
}

impl<T> Table<T> {
    pub(super) fn promise(&mut self) -> Result<(), bool> {
        if self.closed {
            return Err(true);
        }
        if self.more_wait_than(self.promised, None) && (self.promised as u64) < MAX_RESERVED {
            self.promised += 1;
            return Ok(());
        }
        Err(false)
    }

    /// Nothing will come any more; what is kept is not looked at.
    #[inline]
    pub(super) fn is_at_end(&self) -> bool {
        self.closed && self.promised == 0 && self.hands.are_empty()
    }
}

impl<T> Table<T> {
    /// Do more than `count` receivers wait who can be met? Those of a select that looks around, or meets
    /// somebody else, do not count, nor do those with this token.
    #[inline]
    fn more_wait_than(&mut self, count: usize, token: Option<NonNull<Token>>) -> bool {
        let mut left = count;
        self.waiting > count
            && self.receivers.any(|party| {
                let free = party.counts && party.is_free_for(token);
                let more = free && left == 0;
                left -= usize::from(free && !more);
                more
            })
    }

    /// Is somebody there whom this one, about to get in line at its side or `in_line` already, could meet?
    pub(super) fn has_company(&mut self, side: Side, own: Party<T>, in_line: bool) -> bool {
        if side == Side::Gives {
            return self.closed || self.more_wait_than(self.promised, own.token);
        }
        if !self.kept.is_empty() || self.is_at_end() {
            return true;
        }
        let (receivers, promised) = (&mut self.receivers, self.promised);
        self.senders.any(|sender| {
            let spared = !in_line || own.is_spared(sender, promised, receivers);
            spared && sender.is_free_for(own.token)
        })
    }
}
