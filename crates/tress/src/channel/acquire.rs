//! Waiting in line for places in a bounded channel.

use super::chan::{Chan, Lane, Refusal};
use crate::sync::wait_list::{IDLE, WAITING, Waiter};
use crate::task::coop;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

/// What a sender in line wants.
pub(crate) struct Request {
    wanted: u64,
    granted: u64,
}

impl Request {
    pub(crate) fn missing(&self) -> u64 {
        self.wanted - self.granted
    }

    pub(crate) fn granted(&self) -> u64 {
        self.granted
    }

    pub(crate) fn grant(&mut self, places: u64) {
        self.granted += places;
    }
}

/// How a wait in line ended.
pub(crate) mod outcome {
    use crate::sync::wait_list::FIRST_OUTCOME;

    /// All places were granted.
    pub(crate) const GRANTED: u32 = FIRST_OUTCOME;
    const CLOSED: u32 = FIRST_OUTCOME + 1;

    /// The channel was closed when `granted` of the places were there. The waiter gives them back.
    pub(crate) fn closed(granted: u64) -> u32 {
        // No more than `MAX_RESERVED`.
        CLOSED + granted as u32
    }

    /// How many places the waiter of an outcome other than `GRANTED` has.
    pub(crate) fn granted(outcome: u32) -> u64 {
        u64::from(outcome - CLOSED)
    }
}

/// The channel was closed.
#[derive(Debug)]
pub(crate) struct Closed;

/// Waits for `count` places. The caller owns them when it is ready.
#[must_use = "futures do nothing unless awaited"]
pub(crate) struct Acquire<'a, L: Lane> {
    chan: &'a Chan<L>,
    count: u64,
    waiter: Waiter<Request>,
}

impl<'a, L: Lane> Acquire<'a, L> {
    /// `count` is at most `chan.max_reserved()`.
    #[inline(always)]
    pub(crate) fn new(chan: &'a Chan<L>, count: u64) -> Acquire<'a, L> {
        Acquire {
            chan,
            count,
            waiter: Waiter::new(),
        }
    }

    /// Waits for one place and claims its position: in one step if nobody is in line.
    #[inline]
    pub(crate) fn poll_spot(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<L::Spot, Closed>> {
        let proceed = ready!(coop::poll_proceed(cx));
        let this = self.into_ref().get_ref();
        if this.waiter.phase() == IDLE {
            match this.chan.try_claim() {
                Ok(spot) => {
                    proceed.made_progress();
                    return Poll::Ready(Ok(spot));
                }
                Err(Refusal::Closed) => {
                    proceed.made_progress();
                    return Poll::Ready(Err(Closed));
                }
                Err(Refusal::Full) => {}
            }
        }
        let acquired = ready!(this.poll_line(cx));
        proceed.made_progress();
        Poll::Ready(acquired.and_then(|()| this.chan.claim_reserved().ok_or(Closed)))
    }

    fn poll_line(&self, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        loop {
            match self.waiter.phase() {
                IDLE => return self.get_in_line(cx.waker()),
                WAITING => {
                    // SAFETY: we are the waiter's future, and it is linked.
                    if unsafe { self.waiter.wakes(cx.waker()) } || self.change_waker(cx.waker()) {
                        return Poll::Pending;
                    }
                }
                outcome => {
                    self.waiter.set_phase(IDLE);
                    return Poll::Ready(self.settled(outcome));
                }
            }
        }
    }

    /// False if the wait is over.
    fn change_waker(&self, waker: &Waker) -> bool {
        let new = waker.clone();
        let mut line = self.chan.line().lock();
        if self.waiter.phase() != WAITING {
            return false;
        }
        // SAFETY: in the list, by its phase under the lock; we are its future.
        let old = unsafe { line.replace_waker(&self.waiter, new) };
        drop(line);
        drop(old);
        true
    }

    fn get_in_line(&self, waker: &Waker) -> Poll<Result<(), Closed>> {
        let waker = waker.clone();
        let mut line = self.chan.line().lock();
        let granted = match self.chan.reserve_in_line(&line, self.count) {
            Ok(granted) => granted,
            Err(_) => return Poll::Ready(Err(Closed)),
        };
        if granted == self.count {
            self.chan.line_changed(&line);
            return Poll::Ready(Ok(()));
        }
        let request = Request {
            wanted: self.count,
            granted,
        };
        // SAFETY: IDLE, so in no list; we are its future, which is pinned (`poll` is the only way
        // here) and takes it out of the list when dropped. The list is the channel's only one for
        // requests.
        unsafe { line.push_back(&self.waiter, Some(waker), request) };
        Poll::Pending
    }

    fn settled(&self, outcome: u32) -> Result<(), Closed> {
        if outcome != outcome::GRANTED {
            self.chan.release(outcome::granted(outcome));
            return Err(Closed);
        }
        // Granted before the channel was closed, but nothing has been promised to anybody yet.
        if self.chan.is_closed() {
            self.chan.release(self.count);
            return Err(Closed);
        }
        Ok(())
    }

    /// The future is dropped while in line or before it learnt the outcome.
    #[cold]
    fn cancel(&self) {
        let mut line = self.chan.line().lock();
        let (places, waker) = match self.waiter.phase() {
            WAITING => {
                // SAFETY: in the list, by its phase under the lock; we are its future.
                let (waker, request) = unsafe { line.remove(&self.waiter) };
                self.chan.line_changed(&line);
                (request.granted, waker)
            }
            outcome::GRANTED => (self.count, None),
            outcome => (outcome::granted(outcome), None),
        };
        drop(line);
        self.chan.release(places);
        drop(waker);
    }
}

impl<L: Lane> Future for Acquire<'_, L> {
    type Output = Result<(), Closed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let proceed = ready!(coop::poll_proceed(cx));
        let this = self.into_ref().get_ref();
        let acquired = match this.waiter.phase() {
            IDLE => match this.chan.try_reserve(this.count) {
                Ok(()) => Ok(()),
                Err(Refusal::Closed) => Err(Closed),
                Err(Refusal::Full) => ready!(this.poll_line(cx)),
            },
            _ => ready!(this.poll_line(cx)),
        };
        proceed.made_progress();
        Poll::Ready(acquired)
    }
}

impl<L: Lane> Drop for Acquire<'_, L> {
    #[inline]
    fn drop(&mut self) {
        if self.waiter.phase() != IDLE {
            self.cancel();
        }
    }
}
