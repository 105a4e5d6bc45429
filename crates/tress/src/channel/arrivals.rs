//! Waiting for messages when there are many receivers.
//!
//! Receivers that find nothing get in line. A message calls one of them, the first; while a called
//! receiver has not come yet, further messages call nobody: when it comes it takes what it finds, and
//! calls the next one if there is more. So a burst of messages costs the senders one wake-up, and
//! the receivers wake each other, as many as there is work for.
//!
//! # Why no wake-up is lost
//! The flag `WAITED` is in the word by which senders claim positions. It says: somebody is in line,
//! and nobody has been called. A receiver sets it under the line's lock, by a read-modify-write of
//! that word which also tells it the next position. Either a message was claimed before: then the
//! position differs from the head, and the receiver does not sleep but takes it, waiting for its
//! sender to put it in place if need be. Or it is claimed later: then the claim saw the flag, and its
//! sender calls somebody after it put the message in place.
//!
//! While somebody is called the flag is not set, and those who get in line do not look. The called
//! receiver does that for them, under the lock, when it comes, or when its future is dropped.

use super::chan::{Chan, Lane};
use super::tail::{POSITION_MASK, Tail};
use crate::sync::wait_list::{FIRST_OUTCOME, IDLE, WAITING, WaitList, Waiter, WakeBatch};
use crate::sys::atomic::Ordering;
use crate::sys::{Mutex, MutexGuard};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Outcome of a wait: there may be a message. Whoever has it must come, or pass it on.
const CALLED: u32 = FIRST_OUTCOME;
/// Outcome of a wait: the channel was closed.
const OVER: u32 = FIRST_OUTCOME + 1;

/// In the word of the receivers' position: senders are in line. A receiver that moves the position on
/// sees it in the word that it replaces, and hands out places.
pub(super) const SENDERS_WAIT: u64 = 1 << 63;

/// A lane with many receivers.
pub(crate) trait Many: Lane {
    fn arrivals(chan: &Chan<Self>) -> &Arrivals;

    /// Takes the first message. Waits for its sender if it is just being put in place.
    fn take(chan: &Chan<Self>) -> Taken<Self::Message>;

    /// Fills a claimed slot.
    fn fill(chan: &Chan<Self>, spot: Self::Spot, message: Self::Message);
}

/// What a receiver finds.
pub(crate) enum Taken<T> {
    Message(T),
    Empty,
    /// Empty, and nothing comes any more.
    Over,
}

/// Receivers in line.
pub(crate) struct Arrivals(Mutex<Line>);

struct Line {
    receivers: WaitList<()>,
    /// Somebody was called and has not come yet.
    called: bool,
}

impl Arrivals {
    pub(super) fn new() -> Arrivals {
        Arrivals(Mutex::new(Line {
            receivers: WaitList::new(),
            called: false,
        }))
    }
}

impl<L: Many> Chan<L> {
    fn receivers(&self) -> MutexGuard<'_, Line> {
        L::arrivals(self).0.lock()
    }

    /// What a receiver is told that finds no message at `head`.
    #[inline]
    pub(super) fn nothing_at(&self, tail: Tail) -> Taken<L::Message> {
        if tail.is_final() {
            Taken::Over
        } else {
            Taken::Empty
        }
    }

    /// Is there anything that a receiver would come for?
    fn has_news(&self, tail: Tail) -> bool {
        let head = self.head.position.load(Ordering::Acquire) & POSITION_MASK;
        tail.position() != head || tail.is_final()
    }

    /// Calls a receiver: the caller has put a message in place, and had seen `WAITED` when it claimed
    /// the position.
    #[cold]
    pub(super) fn call(&self) {
        self.call_next(self.receivers());
    }

    fn call_next(&self, mut line: MutexGuard<'_, Line>) {
        if line.called {
            return;
        }
        if let Some((waker, ())) = line.receivers.settle_front(CALLED) {
            line.called = true;
            self.tail.word.clear_waited();
            drop(line);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// A called receiver has come: calls the next one if there is something for it.
    fn pass_on(&self) {
        let mut line = self.receivers();
        line.called = false;
        if !line.receivers.is_empty() && self.has_news(self.tail.word.set_waited()) {
            self.call_next(line);
        }
    }

    /// Wakes all receivers: nothing comes any more, and nobody gets in line again.
    pub(super) fn call_all(&self) {
        let mut woken = WakeBatch::new();
        let mut line = self.receivers();
        while let Some((waker, ())) = line.receivers.settle_front(OVER) {
            woken.push(waker);
            if woken.is_full() {
                drop(line);
                woken.wake_all();
                line = self.receivers();
            }
        }
        self.tail.word.clear_waited();
        drop(line);
        woken.finish();
    }

    /// Closes the channel; `gone` if there is no receiver any more.
    pub(super) fn shut(&self, gone: bool) {
        struct Tell<'a, L: Many>(&'a Chan<L>);
        impl<L: Many> Drop for Tell<'_, L> {
            fn drop(&mut self) {
                // If something was promised, whoever keeps the last promise, or takes it back, calls.
                if self.0.tail().is_final() {
                    self.0.call_all();
                }
            }
        }
        // Even if a waker of the senders panics.
        let _tell = Tell(self);
        self.close(gone);
    }
}

/// Waits for a message.
#[must_use = "futures do nothing unless awaited"]
pub(super) struct Arrive<'a, L: Many> {
    chan: &'a Chan<L>,
    waiter: Waiter<()>,
}

/// Nothing comes any more.
#[derive(Debug)]
pub(super) struct Over;

impl<'a, L: Many> Arrive<'a, L> {
    #[inline(always)]
    pub(super) fn new(chan: &'a Chan<L>) -> Arrive<'a, L> {
        Arrive {
            chan,
            waiter: Waiter::new(),
        }
    }

    /// Takes a message or gets in line. Does not look at the task's budget.
    #[inline]
    pub(super) fn poll_take(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<L::Message, Over>> {
        let this = self.into_ref().get_ref();
        if this.waiter.phase() == IDLE {
            match L::take(this.chan) {
                Taken::Message(message) => return Poll::Ready(Ok(message)),
                Taken::Over => return Poll::Ready(Err(Over)),
                Taken::Empty => {}
            }
        }
        this.poll_line(cx)
    }

    fn poll_line(&self, cx: &mut Context<'_>) -> Poll<Result<L::Message, Over>> {
        let mut called = false;
        loop {
            match self.waiter.phase() {
                IDLE | WAITING => {}
                outcome => {
                    called |= outcome == CALLED;
                    self.waiter.set_phase(IDLE);
                }
            }
            // Also when in line: it may be polled for another reason, and the called one be late.
            let taken = match L::take(self.chan) {
                Taken::Message(message) => Ok(message),
                Taken::Over => Err(Over),
                Taken::Empty => {
                    if self.get_in_line(cx.waker(), called) {
                        return Poll::Pending;
                    }
                    called = false;
                    continue;
                }
            };
            if called {
                self.chan.pass_on();
            } else if self.waiter.phase() != IDLE {
                self.leave();
            }
            return Poll::Ready(taken);
        }
    }

    /// False if there is something to be looked at.
    fn get_in_line(&self, waker: &Waker, called: bool) -> bool {
        // SAFETY: we are the waiter's future, and WAITING says that it is linked.
        if self.waiter.phase() == WAITING && unsafe { self.waiter.wakes(waker) } {
            return true;
        }
        let waker = waker.clone();
        let mut line = self.chan.receivers();
        match self.waiter.phase() {
            IDLE => {}
            WAITING => {
                // SAFETY: in the list, by its phase under the lock; we are its future.
                let old = unsafe { line.receivers.replace_waker(&self.waiter, waker) };
                drop(line);
                drop(old);
                return true;
            }
            // Settled since we looked.
            _ => {
                drop(line);
                return false;
            }
        }
        if called {
            line.called = false;
        }
        let news = if line.called {
            self.chan.tail().is_final()
        } else {
            self.chan.has_news(self.chan.tail.word.set_waited())
        };
        if news {
            if line.receivers.is_empty() {
                self.chan.tail.word.clear_waited();
                drop(line);
            } else {
                // What is there was claimed before the flag was set, perhaps: those in line have
                // to be told by us.
                self.chan.call_next(line);
            }
            return false;
        }
        // SAFETY: IDLE, so in no list; we are its future, which is pinned (`poll_take` is the only
        // way here) and takes it out of the list when dropped. The channel has one list of receivers.
        unsafe { line.receivers.push_back(&self.waiter, Some(waker), ()) };
        true
    }

    /// The future is done, or dropped, while in line or called.
    #[cold]
    fn leave(&self) {
        let mut line = self.chan.receivers();
        match self.waiter.phase() {
            WAITING => {
                // SAFETY: in the list, by its phase under the lock; we are its future.
                let (waker, ()) = unsafe { line.receivers.remove(&self.waiter) };
                if line.receivers.is_empty() {
                    self.chan.tail.word.clear_waited();
                }
                drop(line);
                drop(waker);
            }
            CALLED => {
                drop(line);
                self.waiter.set_phase(IDLE);
                self.chan.pass_on();
            }
            _ => self.waiter.set_phase(IDLE),
        }
    }
}

impl<L: Many> Drop for Arrive<'_, L> {
    #[inline]
    fn drop(&mut self) {
        if self.waiter.phase() != IDLE {
            self.leave();
        }
    }
}
