//! Waiting in line for places in a bounded queue.

use super::claim::Refusal;
use super::lane::{Lane, Queue};
use crate::sight::WaitKind;
use crate::wait::{IDLE, WAITING, Waiter};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

/// The places that a sender in line waits for.
pub(crate) struct Request {
    wanted: u64,
    granted: u64,
}

impl Request {
    pub(super) fn missing(&self) -> u64 {
        self.wanted - self.granted
    }

    pub(super) fn granted(&self) -> u64 {
        self.granted
    }

    pub(super) fn grant(&mut self, places: u64) {
        self.granted += places;
    }
}

/// How a wait in line ended.
pub(super) mod outcome {
    use crate::wait::FIRST_OUTCOME;

    /// All places were granted.
    pub(in crate::queue) const GRANTED: u32 = FIRST_OUTCOME;
    const CLOSED: u32 = FIRST_OUTCOME + 1;

    /// Returns the outcome of a wait at whose end, because the queue was closed, `granted` of the places had
    /// been granted. The waiter gives them back.
    pub(in crate::queue) fn closed(granted: u64) -> u32 {
        // At most `MAX_RESERVED`.
        CLOSED + granted as u32
    }

    /// Returns how many places the waiter of an outcome other than `GRANTED` has.
    pub(in crate::queue) fn granted(outcome: u32) -> u64 {
        u64::from(outcome - CLOSED)
    }
}

/// The queue is closed.
#[derive(Debug)]
pub(crate) struct Closed;

/// Waits for `count` places, which are reserved for the caller when it is ready.
#[must_use = "futures do nothing unless awaited"]
pub(crate) struct Acquire<'a, L: Lane> {
    queue: &'a Queue<L>,
    count: u64,
    waiter: Waiter<Request>,
}

impl<'a, L: Lane> Acquire<'a, L> {
    /// Creates the future. `count` is at most `queue.max_reserved()`.
    #[inline(always)]
    pub(crate) fn new(queue: &'a Queue<L>, count: u64) -> Acquire<'a, L> {
        Acquire {
            queue,
            count,
            waiter: Waiter::new(),
        }
    }

    /// Waits for one place and claims its position: in one step if no sender is in line.
    #[inline]
    pub(crate) fn poll_spot(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<L::Spot, Closed>> {
        let this = self.into_ref().get_ref();
        if this.waiter.phase() == IDLE {
            match this.queue.try_claim() {
                Ok(spot) => return Poll::Ready(Ok(spot)),
                Err(Refusal::Closed) => return Poll::Ready(Err(Closed)),
                Err(Refusal::Full) => {}
            }
        }
        let acquired = ready!(this.poll_line(cx));
        Poll::Ready(acquired.and_then(|()| this.queue.claim_reserved().ok_or(Closed)))
    }

    fn poll_line(&self, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        let begins = self.waiter.phase() == IDLE;
        let polled = self.poll_in_line(cx);
        if polled.is_pending() {
            self.queue.waits(begins, WaitKind::ChannelSend);
        }
        polled
    }

    fn poll_in_line(&self, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
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

    /// Replaces the waker. Returns false if the wait is over.
    fn change_waker(&self, waker: &Waker) -> bool {
        let new = waker.clone();
        let mut line = self.queue.line().lock();
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
        let mut line = self.queue.line().lock();
        let granted = match self.queue.reserve_in_line(&line, self.count) {
            Ok(granted) => granted,
            Err(_) => return Poll::Ready(Err(Closed)),
        };
        if granted == self.count {
            self.queue.line_changed(&line);
            return Poll::Ready(Ok(()));
        }
        let request = Request {
            wanted: self.count,
            granted,
        };
        // SAFETY: IDLE, so in no list; we are its future, which is pinned (`poll` is the only way
        // here) and takes it out of the list when dropped. The list is the queue's only one for
        // requests.
        unsafe { line.push_back(&self.waiter, Some(waker), request) };
        Poll::Pending
    }

    fn settled(&self, outcome: u32) -> Result<(), Closed> {
        if outcome != outcome::GRANTED {
            self.queue.release(outcome::granted(outcome));
            return Err(Closed);
        }
        // Granted before the queue was closed, but nothing has been reported to the caller yet.
        if self.queue.is_closed() {
            self.queue.release(self.count);
            return Err(Closed);
        }
        Ok(())
    }

    /// Called when the future is dropped while in line, or before it has seen the outcome.
    #[cold]
    fn cancel(&self) {
        self.queue.gives_up(WaitKind::ChannelSend);
        let mut line = self.queue.line().lock();
        let (places, waker) = match self.waiter.phase() {
            WAITING => {
                // SAFETY: in the list, by its phase under the lock; we are its future.
                let (waker, request) = unsafe { line.remove(&self.waiter) };
                self.queue.line_changed(&line);
                (request.granted, waker)
            }
            outcome::GRANTED => (self.count, None),
            outcome => (outcome::granted(outcome), None),
        };
        drop(line);
        self.queue.release(places);
        drop(waker);
    }
}

impl<L: Lane> Future for Acquire<'_, L> {
    type Output = Result<(), Closed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.into_ref().get_ref();
        match this.waiter.phase() {
            IDLE => match this.queue.try_reserve(this.count) {
                Ok(()) => Poll::Ready(Ok(())),
                Err(Refusal::Closed) => Poll::Ready(Err(Closed)),
                Err(Refusal::Full) => this.poll_line(cx),
            },
            _ => this.poll_line(cx),
        }
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
