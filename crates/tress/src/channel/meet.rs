//! Those who take part in a rendezvous: futures that give, take, or wait for a promise.

use super::meeting::{DONE, Meeting, Party, SHUT, Shut, Side, Table, Woken};
use super::token::Token;
use crate::sync::wait_list::{IDLE, WAITING, Waiter};
use crate::sys::{MutexGuard, UnsafeCell};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

/// Waits to give or to take a message.
#[must_use = "futures do nothing unless awaited"]
pub(super) struct Meet<'a, T> {
    meeting: &'a Meeting<T>,
    side: Side,
    hand: UnsafeCell<Option<T>>,
    waiter: Waiter<Party<T>>,
    _pinned: PhantomPinned,
}

// SAFETY: the hand is touched by the future alone, or under the meeting's lock; messages pass between
// threads.
unsafe impl<T: Send> Send for Meet<'_, T> {}
// SAFETY: as above; a shared reference leads to nothing but the phase.
unsafe impl<T: Send> Sync for Meet<'_, T> {}

impl<'a, T> Meet<'a, T> {
    #[inline]
    pub(super) fn give(meeting: &'a Meeting<T>, message: T) -> Meet<'a, T> {
        Meet::new(meeting, Side::Gives, Some(message))
    }

    #[inline]
    pub(super) fn take(meeting: &'a Meeting<T>) -> Meet<'a, T> {
        Meet::new(meeting, Side::Takes, None)
    }

    fn new(meeting: &'a Meeting<T>, side: Side, hand: Option<T>) -> Meet<'a, T> {
        Meet {
            meeting,
            side,
            hand: UnsafeCell::new(hand),
            waiter: Waiter::new(),
            _pinned: PhantomPinned,
        }
    }

    /// What is in the hand: the message that was not given, or the one that was taken.
    pub(super) fn into_hand(self: Pin<&mut Self>) -> Option<T> {
        debug_assert_ne!(self.waiter.phase(), WAITING);
        if self.is_met() {
            self.be_done();
        }
        // SAFETY: not in line, so the hand is ours.
        self.hand.with_mut(|hand| unsafe { (*hand).take() })
    }

    /// Somebody has met us while we waited; a message in our hand counts as taken from now on.
    fn be_done(&self) {
        self.waiter.set_phase(IDLE);
        if self.side == Side::Takes && self.meeting.hands.empty() {
            self.meeting.with(|_, _| ());
        }
    }

    /// Has somebody met us while we waited?
    pub(super) fn is_met(&self) -> bool {
        self.waiter.phase() == DONE
    }

    /// Meets somebody who waits. Whoever waits in line does not stop doing so if that fails. The
    /// caller, if it is a select, holds its token.
    fn try_meet(&self, table: &mut Table<T>, woken: &mut Woken) -> Poll<Result<(), Shut>> {
        // SAFETY: we have the lock, so the hand is ours whether we are in line or not.
        let met = self.hand.with_mut(|hand| unsafe {
            match self.side {
                Side::Gives if table.closed => None,
                Side::Gives => {
                    let message = (*hand).take().expect("polled after it was ready");
                    *hand = table.give_unpromised(message, woken).err();
                    Some((*hand).is_none())
                }
                Side::Takes => {
                    // A select's own token is busy now, so none of its clauses counts as waiting.
                    let in_line = (self.waiter.phase() == WAITING).then(|| self.party(None));
                    *hand = table.take(in_line, woken);
                    let taken = (*hand).is_some();
                    if !taken && table.is_at_end() {
                        return None;
                    }
                    Some(taken)
                }
            }
        });
        let result = match met {
            Some(true) => Ok(()),
            Some(false) => return Poll::Pending,
            None => Err(Shut),
        };
        woken.dropped = self.leave(table);
        Poll::Ready(result)
    }

    fn party(&self, token: Option<NonNull<Token>>) -> Party<T> {
        Party {
            hand: NonNull::from(&self.hand),
            token,
            counts: true,
        }
    }

    /// Leaves the line, if in it.
    fn leave(&self, table: &mut Table<T>) -> Option<Waker> {
        if self.waiter.phase() != WAITING {
            return None;
        }
        if self.side == Side::Takes {
            table.waiting -= 1;
        }
        // SAFETY: in the list, by its phase under the lock; we are its future.
        unsafe { table.line(self.side).remove(&self.waiter) }.0
    }

    /// # Safety
    /// The future is pinned, and so is the token, with the lock of this meeting held until this is
    /// dropped.
    unsafe fn get_in_line(
        &self,
        table: &mut Table<T>,
        token: Option<NonNull<Token>>,
        waker: Waker,
        woken: &mut Woken,
    ) {
        let mut party = self.party(token);
        if self.side == Side::Takes {
            party.counts = token.is_none_or(|token| !table.is_in_line(token));
        }
        // SAFETY: in no list; pinned, and taken out when dropped. Both lists have the same lock, and
        // a future is only ever in that of its side.
        unsafe {
            table
                .line(self.side)
                .push_back(&self.waiter, Some(waker), party);
        }
        if self.side == Side::Takes {
            table.waiting += 1;
            // Senders in line need nothing: each was looked at just now, or looks itself when it has
            // let go of its token.
            table.serve_hopeful(woken);
        }
    }

    fn change_waker(&self, mut table: MutexGuard<'_, Table<T>>, waker: Waker) {
        // SAFETY: in the list, by its phase under the lock; we are its future.
        let old = unsafe { table.line(self.side).replace_waker(&self.waiter, waker) };
        drop(table);
        drop(old);
    }

    /// Meets somebody or gets in line.
    #[inline]
    pub(super) fn poll_meet(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Shut>> {
        let this = self.into_ref().get_ref();
        match this.waiter.phase() {
            DONE => {
                this.be_done();
                return Poll::Ready(Ok(()));
            }
            // SAFETY: we are the waiter's future, and WAITING says that it is linked.
            WAITING if unsafe { this.waiter.wakes(cx.waker()) } => return Poll::Pending,
            _ => {}
        }
        let waker = cx.waker().clone();
        let mut woken = Woken::default();
        let mut table = this.meeting.table.lock();
        match this.waiter.phase() {
            DONE => {
                drop(table);
                this.be_done();
                return Poll::Ready(Ok(()));
            }
            WAITING => {
                this.change_waker(table, waker);
                return Poll::Pending;
            }
            _ => this.waiter.set_phase(IDLE),
        }
        let polled = this.try_meet(&mut table, &mut woken);
        if polled.is_pending() {
            // SAFETY: pinned, as `self` shows; there is no token.
            unsafe { this.get_in_line(&mut table, None, waker, &mut woken) };
        }
        this.meeting.conclude(table, woken);
        polled
    }

    /// For a select that holds its token: meets somebody who waits.
    pub(super) fn poll_now(&self) -> Poll<Result<(), Shut>> {
        self.meeting.with(|table, woken| {
            if self.waiter.phase() == SHUT {
                self.waiter.set_phase(IDLE);
            }
            self.try_meet(table, woken)
        })
    }

    /// For a select that has let go of its token: makes sure to be in line. True if somebody is there
    /// to be met, so that the select has to look around again.
    ///
    /// # Safety
    /// `token` is that of the select which the future is part of, and lives as long.
    pub(super) unsafe fn stand_by(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        token: NonNull<Token>,
    ) -> bool {
        let this = self.into_ref().get_ref();
        let waker = cx.waker().clone();
        let mut woken = Woken::default();
        let mut table = this.meeting.table.lock();
        match this.waiter.phase() {
            DONE | SHUT => {
                drop(table);
                return true;
            }
            phase => {
                let own = this.party(Some(token));
                if table.has_company(this.side, own, phase == WAITING) {
                    drop(table);
                    return true;
                }
                if phase == WAITING {
                    // Who hoped for a receiver has left us out while we looked around.
                    table.serve_hopeful(&mut woken);
                    // SAFETY: in the list, by its phase under the lock; we are its future.
                    woken.dropped =
                        unsafe { table.line(this.side).replace_waker(&this.waiter, waker) };
                    this.meeting.conclude(table, woken);
                    return false;
                }
            }
        }
        // SAFETY: pinned, as `self` shows, and the token lives as long.
        unsafe { this.get_in_line(&mut table, Some(token), waker, &mut woken) };
        this.meeting.conclude(table, woken);
        false
    }

    /// Gives up. Returns the message that was not given; one that was taken goes to somebody else.
    pub(super) fn withdraw(&self) -> Option<T> {
        let mut woken = Woken::default();
        let mut table = self.meeting.table.lock();
        woken.dropped = self.leave(&mut table);
        let met = self.is_met();
        self.waiter.set_phase(IDLE);
        // SAFETY: not in line any more, so the hand is ours.
        let mut hand = self.hand.with_mut(|hand| unsafe { (*hand).take() });
        if self.side == Side::Takes {
            if let Some(message) = hand.take() {
                if let Err(message) = table.give(message, &mut woken) {
                    table.kept.push_front(message);
                }
            }
            // After it was given away, so that nobody sees the end in between.
            if met {
                let _last = self.meeting.hands.empty();
            }
        }
        self.meeting.conclude(table, woken);
        hand
    }
}

impl<T> Drop for Meet<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.waiter.phase() != IDLE {
            drop(self.withdraw());
        }
    }
}

/// Waits for a promise. The caller owns it when it is ready.
#[must_use = "futures do nothing unless awaited"]
pub(super) struct Hope<'a, T> {
    meeting: &'a Meeting<T>,
    waiter: Waiter<()>,
}

impl<'a, T> Hope<'a, T> {
    pub(super) fn new(meeting: &'a Meeting<T>) -> Hope<'a, T> {
        Hope {
            meeting,
            waiter: Waiter::new(),
        }
    }

    pub(super) fn poll_promise(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Shut>> {
        let this = self.into_ref().get_ref();
        let waker = cx.waker().clone();
        let mut table = this.meeting.table.lock();
        match this.waiter.phase() {
            WAITING => {
                // SAFETY: in the list, by its phase under the lock; we are its future.
                let old = unsafe { table.hopeful.replace_waker(&this.waiter, waker) };
                drop(table);
                drop(old);
                return Poll::Pending;
            }
            outcome @ (DONE | SHUT) => {
                drop(table);
                this.waiter.set_phase(IDLE);
                return Poll::Ready(if outcome == DONE { Ok(()) } else { Err(Shut) });
            }
            _ => {}
        }
        match table.promise() {
            Ok(()) => return Poll::Ready(Ok(())),
            Err(true) => return Poll::Ready(Err(Shut)),
            Err(false) => {}
        }
        // SAFETY: in no list, by its phase; pinned, and taken out when dropped.
        unsafe { table.hopeful.push_back(&this.waiter, Some(waker), ()) };
        Poll::Pending
    }

    #[cold]
    fn cancel(&self) {
        let mut table = self.meeting.table.lock();
        if self.waiter.phase() == WAITING {
            // SAFETY: in the list, by its phase under the lock; we are its future.
            let (waker, ()) = unsafe { table.hopeful.remove(&self.waiter) };
            drop(table);
            drop(waker);
        } else if self.waiter.phase() == DONE {
            drop(table);
            self.meeting.release();
        }
    }
}

impl<T> Drop for Hope<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.waiter.phase() != IDLE {
            self.cancel();
        }
    }
}
