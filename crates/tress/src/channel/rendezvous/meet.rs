//! The futures that take part in a rendezvous: they give, take, or wait for a promise.

use super::availability::Availability;
use super::meeting::{Meeting, Shut};
use super::table::{DONE, Party, SHUT, Side, Table, Woken};
use crate::queue::Refusal;
use crate::sight::WaitKind;
use crate::sys::{MutexGuard, UnsafeCell};
use crate::wait::{IDLE, WAITING, Waiter};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

/// Waits to give or to take a message.
#[must_use = "futures do nothing unless awaited"]
pub(in crate::channel) struct Meet<'a, T> {
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
    pub(in crate::channel) fn give(meeting: &'a Meeting<T>, message: T) -> Meet<'a, T> {
        Meet::new(meeting, Side::Gives, Some(message))
    }

    #[inline]
    pub(in crate::channel) fn take(meeting: &'a Meeting<T>) -> Meet<'a, T> {
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

    /// Takes what is in the hand: the message that was not given, or the one that was taken.
    pub(in crate::channel) fn into_hand(self: Pin<&mut Self>) -> Option<T> {
        debug_assert_ne!(self.waiter.phase(), WAITING);
        if self.is_met() {
            self.be_done();
        }
        // SAFETY: not in line, so the hand belongs to the future alone.
        self.hand.with_mut(|hand| unsafe { (*hand).take() })
    }

    /// Called after this future was met while it waited; a message in its hand counts as taken from now on.
    fn be_done(&self) {
        self.waiter.set_phase(IDLE);
        if self.side == Side::Takes && self.meeting.hands.empty() {
            self.meeting.with(|_, _| ());
        }
    }

    /// Returns whether this future was met while it waited.
    pub(in crate::channel) fn is_met(&self) -> bool {
        self.waiter.phase() == DONE
    }

    /// Meets a party that waits. If there is none, this future stays in line if it is in line. The caller, if
    /// it is a select, is busy.
    fn try_meet(&self, table: &mut Table<T>, woken: &mut Woken) -> Poll<Result<(), Shut>> {
        // SAFETY: the lock is held, so no other thread touches the hand, whether the future is in line or not.
        let met = self.hand.with_mut(|hand| unsafe {
            match self.side {
                Side::Gives if table.closed => None,
                Side::Gives => {
                    let message = (*hand).take().expect("polled after it was ready");
                    *hand = table.give_unpromised(message, woken).err();
                    Some((*hand).is_none())
                }
                Side::Takes => {
                    // The receiver's own select is busy now, so none of its clauses counts as waiting.
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

    fn party(&self, select: Option<NonNull<Availability>>) -> Party<T> {
        Party {
            hand: NonNull::from(&self.hand),
            select,
            counts: true,
        }
    }

    /// Leaves the line, if it is in it. Returns its waker.
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

    /// Gets in line, with the availability of its select if it is part of one.
    ///
    /// # Safety
    /// The future is in no list and pinned. `select` stays in place until the future is dropped.
    unsafe fn get_in_line(
        &self,
        table: &mut Table<T>,
        select: Option<NonNull<Availability>>,
        waker: Waker,
        woken: &mut Woken,
    ) {
        let mut party = self.party(select);
        if self.side == Side::Takes {
            party.counts = select.is_none_or(|select| !table.is_in_line(select));
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
            // Senders in line need nothing: each was looked at just now, or is part of a select that looks
            // itself when it has become free.
            table.serve_hopeful(woken);
        }
    }

    fn change_waker(&self, mut table: MutexGuard<'_, Table<T>>, waker: Waker) {
        // SAFETY: in the list, by its phase under the lock; we are its future.
        let old = unsafe { table.line(self.side).replace_waker(&self.waiter, waker) };
        drop(table);
        drop(old);
    }

    /// Meets a party that waits, or gets in line.
    #[inline]
    pub(in crate::channel) fn poll_meet(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Shut>> {
        let this = self.into_ref().get_ref();
        match this.waiter.phase() {
            DONE => {
                this.be_done();
                return Poll::Ready(Ok(()));
            }
            // SAFETY: we are the waiter's future, and WAITING says that it is linked.
            WAITING if unsafe { this.waiter.wakes(cx.waker()) } => {
                this.waits(false);
                return Poll::Pending;
            }
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
                this.waits(false);
                return Poll::Pending;
            }
            _ => this.waiter.set_phase(IDLE),
        }
        let polled = this.try_meet(&mut table, &mut woken);
        if polled.is_pending() {
            // SAFETY: pinned, as `self` shows; there is no select.
            unsafe { this.get_in_line(&mut table, None, waker, &mut woken) };
        }
        this.meeting.conclude(table, woken);
        if polled.is_pending() {
            this.waits(true);
        }
        polled
    }

    /// Meets a party that waits, for a select that is busy.
    pub(in crate::channel) fn poll_now(&self) -> Poll<Result<(), Shut>> {
        self.meeting.with(|table, woken| {
            if self.waiter.phase() == SHUT {
                self.waiter.set_phase(IDLE);
            }
            self.try_meet(table, woken)
        })
    }

    /// Makes sure to be in line, for a select that has become free. Returns true if there is a party to be met,
    /// so that the select has to look around again.
    ///
    /// # Safety
    /// `select` is that of the select to which the future belongs, and stays in place as long as it.
    pub(in crate::channel) unsafe fn stand_by(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        select: NonNull<Availability>,
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
                let own = this.party(Some(select));
                if table.has_company(this.side, own, phase == WAITING) {
                    drop(table);
                    return true;
                }
                if phase == WAITING {
                    // Senders that wait for a promise have left this receiver out while its select was busy.
                    table.serve_hopeful(&mut woken);
                    // SAFETY: in the list, by its phase under the lock; we are its future.
                    woken.dropped =
                        unsafe { table.line(this.side).replace_waker(&this.waiter, waker) };
                    this.meeting.conclude(table, woken);
                    this.waits(false);
                    return false;
                }
            }
        }
        // SAFETY: pinned, as `self` shows; `select` stays in place, by the caller's promise.
        unsafe { this.get_in_line(&mut table, Some(select), waker, &mut woken) };
        this.meeting.conclude(table, woken);
        this.waits(true);
        false
    }

    /// Returns what the future waits for.
    fn kind(&self) -> WaitKind {
        match self.side {
            Side::Gives => WaitKind::ChannelSend,
            Side::Takes => WaitKind::ChannelReceive,
        }
    }

    /// Notes that the running task waits.
    #[inline(always)]
    fn waits(&self, begins: bool) {
        self.meeting.waits(begins, self.kind());
    }

    /// Gives up. Returns the message that was not given; one that was taken goes to another receiver.
    pub(in crate::channel) fn withdraw(&self) -> Option<T> {
        self.meeting.gives_up(self.kind());
        let mut woken = Woken::default();
        let mut table = self.meeting.table.lock();
        woken.dropped = self.leave(&mut table);
        let met = self.is_met();
        self.waiter.set_phase(IDLE);
        // SAFETY: not in line any more, so the hand belongs to the future alone.
        let mut hand = self.hand.with_mut(|hand| unsafe { (*hand).take() });
        if self.side == Side::Takes {
            if let Some(message) = hand.take() {
                if let Err(message) = table.give(message, &mut woken) {
                    table.kept.push_front(message);
                }
            }
            // Counted after it was given away, so that no other thread sees the end in between.
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

/// Waits for a promise, which the caller owns when it is ready.
#[must_use = "futures do nothing unless awaited"]
pub(in crate::channel) struct Hope<'a, T> {
    meeting: &'a Meeting<T>,
    waiter: Waiter<()>,
}

impl<'a, T> Hope<'a, T> {
    pub(in crate::channel) fn new(meeting: &'a Meeting<T>) -> Hope<'a, T> {
        Hope {
            meeting,
            waiter: Waiter::new(),
        }
    }

    pub(in crate::channel) fn poll_promise(
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
                this.meeting.waits(false, WaitKind::ChannelSend);
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
            Err(Refusal::Closed) => return Poll::Ready(Err(Shut)),
            Err(Refusal::Full) => {}
        }
        // SAFETY: in no list, by its phase; pinned, and taken out when dropped.
        unsafe { table.hopeful.push_back(&this.waiter, Some(waker), ()) };
        drop(table);
        this.meeting.waits(true, WaitKind::ChannelSend);
        Poll::Pending
    }

    #[cold]
    fn cancel(&self) {
        self.meeting.gives_up(WaitKind::ChannelSend);
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
