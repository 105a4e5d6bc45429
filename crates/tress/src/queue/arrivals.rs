//! Waiting for messages when there are many receivers.
//!
//! Receivers that find nothing get in line. A message calls one of them, the first. While a called
//! receiver has not come yet, further messages call no other one: when it comes it takes what it finds, and
//! calls the next one if there is more. So a burst of messages costs the senders one wake-up, and
//! the receivers wake each other, as many as there is work for.
//!
//! # Why no wake-up is lost
//! The flag `WAITED` is in the word in which senders claim positions. It says that a receiver is in line,
//! and that none has been called. A receiver sets it under the line's lock, by a read-modify-write of
//! that word which also returns the next position. Either a message was claimed before: then the
//! position differs from the head, and the receiver does not sleep but takes it, waiting for its
//! sender to put it in place if necessary. Or a message is claimed later: then the claim saw the flag, and
//! its sender calls a receiver after it has put the message in place.
//!
//! While a receiver is called the flag is not set, and those that get in line do not look. The called
//! receiver does that for them, under the lock, when it comes or when its future is dropped.

use super::lane::{Lane, Queue};
use super::tail::{POSITION_MASK, Tail, distance};
use crate::sight::WaitKind;
use crate::sys::atomic::Ordering;
use crate::sys::{Mutex, MutexGuard};
use crate::wait::{FIRST_OUTCOME, IDLE, WAITING, WaitList, Waiter, WakeBatch};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Outcome of a wait: there may be a message. A receiver with this outcome must look for it, or pass the call
/// on.
const CALLED: u32 = FIRST_OUTCOME;
/// Outcome of a wait: no message will come.
const OVER: u32 = FIRST_OUTCOME + 1;

/// A flag in the word of the receivers' position: senders are in line. A receiver that moves the position
/// on sees it in the word that it replaces, and hands out places.
pub(super) const SENDERS_WAIT: u64 = 1 << 63;

/// A lane with many receivers.
pub(crate) trait Many: Lane {
    fn arrivals(queue: &Queue<Self>) -> &Arrivals;

    /// Takes the first message. Waits for its sender if the message is being put in place.
    fn take(queue: &Queue<Self>) -> Taken<Self::Message>;

    /// Fills a claimed slot.
    fn fill(queue: &Queue<Self>, spot: Self::Spot, message: Self::Message);
}

/// What a receiver that does not wait finds.
pub(crate) enum Taken<T> {
    Message(T),
    /// There is no message at the moment.
    Empty,
    /// There is no message, and none will come.
    Over,
}

/// The receivers in line.
pub(crate) struct Arrivals(Mutex<Line>);

struct Line {
    receivers: WaitList<()>,
    /// True if a receiver was called and has not come yet.
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

impl<L: Many> Queue<L> {
    fn receivers(&self) -> MutexGuard<'_, Line> {
        L::arrivals(self).0.lock()
    }

    /// Returns what a receiver is told that has found no message, and the word to be `tail` after that.
    #[inline]
    pub(super) fn nothing_at(&self, tail: Tail) -> Taken<L::Message> {
        if tail.is_final() {
            Taken::Over
        } else {
            self.is_empty_now();
            Taken::Empty
        }
    }

    /// Returns whether there is a message, or the end, for a receiver to look at.
    fn has_news(&self, tail: Tail) -> bool {
        let head = self.head.position.load(Ordering::Acquire) & POSITION_MASK;
        tail.position() != head || tail.is_final()
    }

    /// Calls a receiver. The caller has put a message in place, and saw `WAITED` when it claimed the
    /// position.
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

    /// Called by a receiver that was called and has come: calls the next one if there is something for it.
    fn pass_on(&self) {
        let mut line = self.receivers();
        line.called = false;
        if !line.receivers.is_empty() && self.has_news(self.tail.word.set_waited()) {
            self.call_next(line);
        }
    }

    /// Wakes all receivers: no message will come, and no receiver gets in line again.
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

    /// Returns the number of messages.
    pub(crate) fn len(&self) -> usize {
        // The head first: the tail is not before it then.
        let head = self.head.position.load(Ordering::Acquire);
        let messages = distance(self.tail().position(), head) as usize;
        messages.min(self.max_capacity())
    }

    /// Closes the queue; `gone` if there is no receiver any more.
    pub(crate) fn shut(&self, gone: bool) {
        struct Tell<'a, L: Many>(&'a Queue<L>);
        impl<L: Many> Drop for Tell<'_, L> {
            fn drop(&mut self) {
                // If places are reserved, the thread that uses or gives back the last one calls.
                if self.0.tail().is_final() {
                    self.0.call_all();
                }
            }
        }
        // Tells the receivers even if a waker of a sender panics.
        let _tell = Tell(self);
        if gone {
            self.is_empty_now();
        }
        self.close(gone);
    }
}

/// Waits for a message.
#[must_use = "futures do nothing unless awaited"]
pub(crate) struct Arrive<'a, L: Many> {
    queue: &'a Queue<L>,
    waiter: Waiter<()>,
}

/// No message will come.
#[derive(Debug)]
pub(crate) struct Over;

impl<'a, L: Many> Arrive<'a, L> {
    #[inline(always)]
    pub(crate) fn new(queue: &'a Queue<L>) -> Arrive<'a, L> {
        Arrive {
            queue,
            waiter: Waiter::new(),
        }
    }

    /// Takes a message or gets in line.
    #[inline]
    pub(crate) fn poll_take(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<L::Message, Over>> {
        let this = self.into_ref().get_ref();
        if this.waiter.phase() == IDLE {
            match L::take(this.queue) {
                Taken::Message(message) => return Poll::Ready(Ok(message)),
                Taken::Over => return Poll::Ready(Err(Over)),
                Taken::Empty => {}
            }
        }
        this.poll_line(cx)
    }

    fn poll_line(&self, cx: &mut Context<'_>) -> Poll<Result<L::Message, Over>> {
        let mut called = false;
        let begins = self.waiter.phase() == IDLE;
        loop {
            match self.waiter.phase() {
                IDLE | WAITING => {}
                outcome => {
                    called |= outcome == CALLED;
                    self.waiter.set_phase(IDLE);
                }
            }
            // Also when in line: it may be polled for another reason, while a called receiver has not come.
            let taken = match L::take(self.queue) {
                Taken::Message(message) => Ok(message),
                Taken::Over => Err(Over),
                Taken::Empty => {
                    if self.get_in_line(cx.waker(), called) {
                        self.queue.waits(begins, WaitKind::ChannelReceive);
                        return Poll::Pending;
                    }
                    called = false;
                    continue;
                }
            };
            if called {
                self.queue.pass_on();
            } else if self.waiter.phase() != IDLE {
                self.leave();
            }
            return Poll::Ready(taken);
        }
    }

    /// Gets in line, or stays there with this waker. Returns false if there is something to look at.
    fn get_in_line(&self, waker: &Waker, called: bool) -> bool {
        // SAFETY: we are the waiter's future, and WAITING says that it is linked.
        if self.waiter.phase() == WAITING && unsafe { self.waiter.wakes(waker) } {
            return true;
        }
        let waker = waker.clone();
        let mut line = self.queue.receivers();
        match self.waiter.phase() {
            IDLE => {}
            WAITING => {
                // SAFETY: in the list, by its phase under the lock; we are its future.
                let old = unsafe { line.receivers.replace_waker(&self.waiter, waker) };
                drop(line);
                drop(old);
                return true;
            }
            // Settled since the phase was read.
            _ => {
                drop(line);
                return false;
            }
        }
        if called {
            line.called = false;
        }
        let news = if line.called {
            self.queue.tail().is_final()
        } else {
            self.queue.has_news(self.queue.tail.word.set_waited())
        };
        if news {
            if line.receivers.is_empty() {
                self.queue.tail.word.clear_waited();
                drop(line);
            } else {
                // The message may have been claimed before the flag was set: this receiver has to call
                // those in line.
                self.queue.call_next(line);
            }
            return false;
        }
        // SAFETY: IDLE, so in no list; we are its future, which is pinned (`poll_take` is the only
        // way here) and takes it out of the list when dropped. The queue has one list of receivers.
        unsafe { line.receivers.push_back(&self.waiter, Some(waker), ()) };
        true
    }

    /// Called when the future is done, or dropped, while it is in line or called.
    #[cold]
    fn leave(&self) {
        self.queue.gives_up(WaitKind::ChannelReceive);
        let mut line = self.queue.receivers();
        match self.waiter.phase() {
            WAITING => {
                // SAFETY: in the list, by its phase under the lock; we are its future.
                let (waker, ()) = unsafe { line.receivers.remove(&self.waiter) };
                if line.receivers.is_empty() {
                    self.queue.tail.word.clear_waited();
                }
                drop(line);
                drop(waker);
            }
            CALLED => {
                drop(line);
                self.waiter.set_phase(IDLE);
                self.queue.pass_on();
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
