//! Rendezvous: a message passes from the sender's hands into the receiver's, with nothing in between.
//!
//! Both sides meet under one lock. Whoever comes second does the work: a sender puts its message into
//! a waiting receiver's future, a receiver takes it out of a waiting sender's. The other one is told
//! by its phase and woken.
//!
//! A receiver whose future is dropped with a message in it keeps nothing back: the message goes to
//! the next receiver in line, or is *kept* for the next one that comes.
//!
//! A permit is a promise to a sender by a receiver that waits. Others leave that receiver alone; if
//! it goes away nevertheless, the message of the permit is kept for the next one.
//!
//! # Select
//! A [`Token`] stands for a select that waits at several places. Who wants to meet it must get the
//! token first, and only one can. While the select itself looks around, the token is busy, and those
//! who come by leave it alone and get in line; the select looks once more when it has let go of the
//! token, under the lock of each meeting. So of two that pass each other one sees the other.

use super::tail::MAX_RESERVED;
use crate::sync::bell::{Bell, Listener};
use crate::sync::wait_list::{FIRST_OUTCOME, IDLE, WAITING, WaitList, Waiter, WakeBatch};
use crate::sys::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sys::{Mutex, MutexGuard, UnsafeCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::marker::PhantomPinned;
use std::pin::{Pin, pin};
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

/// Outcome of a wait: the message has passed, or the promise was made.
const DONE: u32 = FIRST_OUTCOME;
/// Outcome of a wait: the channel was closed.
const SHUT: u32 = FIRST_OUTCOME + 1;

/// Nothing passes any more.
#[derive(Debug)]
pub(super) struct Shut;

pub(super) struct Meeting<T> {
    table: Mutex<Table<T>>,
    /// What the table says, for those who only want to know.
    closed: AtomicBool,
    closing: Bell,
}

struct Table<T> {
    senders: WaitList<Party<T>>,
    receivers: WaitList<Party<T>>,
    /// Senders that wait for a receiver's promise.
    hopeful: WaitList<()>,
    /// Receivers in line.
    waiting: usize,
    /// Permits that have not been used.
    promised: usize,
    kept: VecDeque<T>,
    closed: bool,
    /// There is no receiver any more.
    gone: bool,
}

/// Which side of a meeting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Gives,
    Takes,
}

/// One in line: where its message is, or goes, and the select that it belongs to.
struct Party<T> {
    hand: NonNull<UnsafeCell<Option<T>>>,
    token: Option<NonNull<Token>>,
}

// SAFETY: points into a future that stays while it is linked, and is used under the meeting's lock;
// the message may come from another thread.
unsafe impl<T: Send> Send for Party<T> {}

/// See the module documentation.
#[derive(Debug)]
pub struct Token(AtomicU32);

const FREE: u32 = 0;
const BUSY: u32 = 1;
const PICKED: u32 = 2;

impl Token {
    /// A token whose select looks around.
    pub(super) fn busy() -> Token {
        Token(AtomicU32::new(BUSY))
    }

    /// Lets others get it.
    pub(super) fn let_go(&self) {
        self.0.store(FREE, Ordering::Release);
    }

    /// Takes it back. False if somebody got it.
    pub(super) fn take_back(&self) -> bool {
        self.get(BUSY) || self.0.load(Ordering::Acquire) == BUSY
    }

    fn get(&self, state: u32) -> bool {
        self.0
            .compare_exchange(FREE, state, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    fn is_free(&self) -> bool {
        self.0.load(Ordering::Acquire) == FREE
    }
}

impl<T> Party<T> {
    /// Gets hold of the one in line. The caller must meet it then.
    fn pick(&self) -> bool {
        // SAFETY: the token is pinned with the select that its parties are linked by.
        self.token
            .is_none_or(|token| unsafe { token.as_ref() }.get(PICKED))
    }

    /// Could somebody with this token pick it?
    fn is_free_for(&self, token: Option<NonNull<Token>>) -> bool {
        // SAFETY: as above.
        self.token
            .is_none_or(|own| Some(own) != token && unsafe { own.as_ref() }.is_free())
    }

    /// # Safety
    /// The party is linked and the lock is held.
    unsafe fn with_hand<R>(&self, f: impl FnOnce(&mut Option<T>) -> R) -> R {
        // SAFETY: linked futures stay; with the lock their hands are ours.
        unsafe { self.hand.as_ref() }.with_mut(|hand| f(unsafe { &mut *hand }))
    }
}

/// Those whom one step makes ready: at most a sender, a receiver, and one who is told of the end.
#[derive(Default)]
struct Woken {
    wakers: [Option<Waker>; 3],
    /// Our own, of no use any more.
    dropped: Option<Waker>,
}

impl Woken {
    fn push(&mut self, waker: Option<Waker>) {
        let free = self.wakers.iter_mut().find(|place| place.is_none());
        *free.expect("at most three") = waker;
    }

    /// Must not be called with the lock held.
    #[inline]
    fn finish(self) {
        let mut wakers = self.wakers.into_iter().flatten();
        let Some(first) = wakers.next() else { return };
        let mut batch = WakeBatch::new();
        batch.push(Some(first));
        for waker in wakers {
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
    fn give(&mut self, message: T, woken: &mut Woken) -> Result<(), T> {
        let mut message = Some(message);
        let met = self.receivers.settle_first(DONE, |receiver| {
            let picked = receiver.pick();
            if picked {
                // SAFETY: in the list, and we have the lock.
                unsafe { receiver.with_hand(|hand| *hand = message.take()) };
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
    fn give_unpromised(&mut self, message: T, woken: &mut Woken) -> Result<(), T> {
        if self.waiting > self.promised {
            self.give(message, woken)
        } else {
            Err(message)
        }
    }

    /// Takes what was kept, or the message of a sender in line.
    fn take(&mut self, woken: &mut Woken) -> Option<T> {
        if let Some(message) = self.kept.pop_front() {
            return Some(message);
        }
        let mut message = None;
        let (waker, _) = self.senders.settle_first(DONE, |sender| {
            let picked = sender.pick();
            if picked {
                // SAFETY: in the list, and we have the lock.
                message = unsafe { sender.with_hand(Option::take) };
            }
            picked
        })?;
        woken.push(waker);
        message
    }

    /// Another receiver waits, or a promise was taken back: serves a sender that hoped for that.
    fn serve(&mut self, woken: &mut Woken) {
        if self.waiting <= self.promised || self.closed {
            return;
        }
        if let Some((waker, ())) = self.hopeful.settle_front(DONE) {
            self.promised += 1;
            woken.push(waker);
        } else if let Some(message) = self.take(woken) {
            // A sender got in line while all who waited had promised themselves.
            if let Err(message) = self.give(message, woken) {
                self.kept.push_front(message);
            }
        }
    }

    fn line(&mut self, side: Side) -> &mut WaitList<Party<T>> {
        match side {
            Side::Gives => &mut self.senders,
            Side::Takes => &mut self.receivers,
        }
    }
}

impl<T> Meeting<T> {
    pub(super) fn new() -> Meeting<T> {
        Meeting {
            table: Mutex::new(Table {
                senders: WaitList::new(),
                receivers: WaitList::new(),
                hopeful: WaitList::new(),
                waiting: 0,
                promised: 0,
                kept: VecDeque::new(),
                closed: false,
                gone: false,
            }),
            closed: AtomicBool::new(false),
            closing: Bell::new(),
        }
    }

    /// Calls `f` with the table, and wakes whom it says when the lock is released.
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut Table<T>, &mut Woken) -> R) -> R {
        let mut woken = Woken::default();
        let result = f(&mut self.table.lock(), &mut woken);
        woken.finish();
        result
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
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
        self.with(|table, woken| match table.take(woken) {
            None if table.closed && table.promised == 0 => Err(Shut),
            taken => Ok(taken),
        })
    }

    /// Closes the channel; `gone` if there is no receiver any more.
    pub(super) fn shut(&self, gone: bool) {
        let mut batch = WakeBatch::new();
        let mut table = self.table.lock();
        table.closed = true;
        table.gone |= gone;
        self.closed.store(true, Ordering::Release);
        loop {
            let told = if let Some((waker, _)) = table.senders.settle_front(SHUT) {
                waker
            } else if let Some((waker, ())) = table.hopeful.settle_front(SHUT) {
                waker
            } else if let Some((waker, _)) = table.receivers.settle_front(SHUT) {
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
            table.tell_end(woken);
            Ok(())
        })
    }

    /// Takes a promise back.
    pub(super) fn release(&self) {
        self.with(|table, woken| {
            table.promised -= 1;
            table.serve(woken);
            table.tell_end(woken);
        });
    }

    /// A promise, if a receiver waits that has made none. `Err` says whether the channel is closed.
    pub(super) fn try_promise(&self) -> Result<(), bool> {
        let mut table = self.table.lock();
        table.promise()
    }
}

impl<T> Table<T> {
    fn promise(&mut self) -> Result<(), bool> {
        if self.closed {
            return Err(true);
        }
        if self.waiting > self.promised && (self.promised as u64) < MAX_RESERVED {
            self.promised += 1;
            return Ok(());
        }
        Err(false)
    }

    /// The last promise of a closed channel has been used or taken back: a receiver that waited for
    /// it is told, and tells the next one.
    fn tell_end(&mut self, woken: &mut Woken) {
        if self.closed && self.promised == 0 {
            if let Some((waker, _)) = self.receivers.settle_front(SHUT) {
                self.waiting -= 1;
                woken.push(waker);
            }
        }
    }
}

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
        // SAFETY: not in line, so the hand is ours.
        self.hand.with_mut(|hand| unsafe { (*hand).take() })
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
                Side::Gives if table.closed => return None,
                Side::Gives => {
                    let message = (*hand).take().expect("polled after it was ready");
                    *hand = table.give_unpromised(message, woken).err();
                    Some((*hand).is_none())
                }
                Side::Takes => {
                    *hand = table.take(woken);
                    let taken = (*hand).is_some();
                    if !taken && table.closed && table.promised == 0 {
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
        if result.is_err() && self.side == Side::Takes {
            table.tell_end(woken);
        }
        Poll::Ready(result)
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
        let party = Party {
            hand: NonNull::from(&self.hand),
            token,
        };
        // SAFETY: in no list; pinned, and taken out when dropped. Both lists have the same lock, and
        // a future is only ever in that of its side.
        unsafe {
            table
                .line(self.side)
                .push_back(&self.waiter, Some(waker), party);
        }
        if self.side == Side::Takes {
            table.waiting += 1;
            table.serve(woken);
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
                this.waiter.set_phase(IDLE);
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
                this.waiter.set_phase(IDLE);
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
        drop(table);
        woken.finish();
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
                if table.has_company(this.side, token) {
                    drop(table);
                    return true;
                }
                if phase == WAITING {
                    this.change_waker(table, waker);
                    return false;
                }
            }
        }
        // SAFETY: pinned, as `self` shows, and the token lives as long.
        unsafe { this.get_in_line(&mut table, Some(token), waker, &mut woken) };
        drop(table);
        woken.finish();
        false
    }

    /// Gives up. Returns the message that was not given; one that was taken goes to somebody else.
    pub(super) fn withdraw(&self) -> Option<T> {
        let mut woken = Woken::default();
        let mut table = self.meeting.table.lock();
        woken.dropped = self.leave(&mut table);
        self.waiter.set_phase(IDLE);
        // SAFETY: not in line any more, so the hand is ours.
        let mut hand = self.hand.with_mut(|hand| unsafe { (*hand).take() });
        if self.side == Side::Takes {
            if let Some(message) = hand.take() {
                if let Err(message) = table.give(message, &mut woken) {
                    table.kept.push_front(message);
                }
            }
        }
        drop(table);
        woken.finish();
        hand
    }
}

impl<T> Table<T> {
    /// Is somebody there whom one of this side, with this token, could meet?
    fn has_company(&mut self, side: Side, token: NonNull<Token>) -> bool {
        let is_free = |party: &mut Party<T>| party.is_free_for(Some(token));
        match side {
            Side::Gives => {
                self.closed || (self.waiting > self.promised && self.receivers.any(is_free))
            }
            Side::Takes => {
                !self.kept.is_empty()
                    || (self.closed && self.promised == 0)
                    || self.senders.any(is_free)
            }
        }
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
