//! Places in a bounded queue: counting them, reserving them, and handing them to the senders in line.

use super::acquire::{Request, outcome};
use super::claim::Refusal;
use super::lane::{Lane, Queue};
use super::tail::{MAX_COUNTED, MAX_RESERVED, Tail, distance};
use crate::sys::atomic::Ordering;
use crate::sys::full_fence;
use crate::wait::{Bell, WaitList, WakeBatch};

impl<L: Lane> Queue<L> {
    /// Returns the number of free places of a bounded queue.
    pub(crate) fn free_places(&self) -> usize {
        let mut tail = self.tail();
        loop {
            let head = self.head.position.load(Ordering::Acquire);
            let seen = self.tail();
            // A head is only comparable with a tail that it has not overtaken.
            if seen == tail {
                let used = tail.messages(head) + tail.reserved();
                return self.shared.capacity - used as usize;
            }
            tail = seen;
        }
    }

    /// Returns the number of places that are free at `tail` when the receivers are at `head`.
    #[inline(always)]
    fn places_at(&self, tail: Tail, head: u64) -> u64 {
        let capacity = (self.shared.capacity as u64).min(MAX_COUNTED);
        capacity.saturating_sub(distance(tail.position(), head) + tail.reserved())
    }

    /// Returns the number of places that are free at `tail`, at most `wanted`. Zero may mean that `tail` is
    /// out of date.
    #[inline(always)]
    pub(super) fn places(&self, tail: Tail, wanted: u64) -> u64 {
        let seen = self.tail.head_seen.load(Ordering::Acquire);
        if self.places_at(tail, seen) >= wanted {
            return wanted;
        }
        let head = self.head.position.load(Ordering::Acquire);
        self.tail.head_seen.store(head, Ordering::Release);
        self.places_at(tail, head).min(wanted)
    }

    /// Reserves up to `wanted` places, at least `least`. The caller holds the lock, or has seen that no
    /// sender is in line.
    fn reserve(&self, least: u64, wanted: u64) -> Result<u64, Refusal> {
        let mut tail = self.tail();
        loop {
            if tail.is_closed() {
                return Err(Refusal::Closed);
            }
            let room = MAX_RESERVED - tail.reserved();
            let places = self.places(tail, wanted).min(room);
            if places < least {
                let current = self.tail();
                if current == tail {
                    return Err(Refusal::Full);
                }
                tail = current;
                continue;
            }
            match self.tail.word.replace(tail, tail.reserve(places)) {
                Ok(()) => return Ok(places),
                Err(actual) => tail = actual,
            }
        }
    }

    /// Reserves `count` places if no sender is in line for them.
    #[inline]
    pub(crate) fn try_reserve(&self, count: u64) -> Result<(), Refusal> {
        if count > 0 && self.shared.waiting.load(Ordering::Relaxed) {
            return Err(if self.is_closed() {
                Refusal::Closed
            } else {
                Refusal::Full
            });
        }
        self.reserve(count, count).map(drop)
    }

    /// Reserves the places that are free for a sender that is about to get in line, and makes sure that
    /// places that become free from now on are handed out. The caller holds the lock.
    pub(super) fn reserve_in_line(
        &self,
        line: &WaitList<Request>,
        wanted: u64,
    ) -> Result<u64, Refusal> {
        if self.is_closed() {
            return Err(Refusal::Closed);
        }
        self.shared.waiting.store(true, Ordering::Relaxed);
        L::line_forms(self);
        // Pairs with the fence in `places_freed`: either this thread sees the place, or the thread that frees
        // it sees the line.
        full_fence();
        if !line.is_empty() {
            return Ok(0);
        }
        match self.reserve(1, wanted) {
            Err(Refusal::Full) => Ok(0),
            outcome => outcome,
        }
    }

    /// To be called after senders have left the line, with the lock held.
    pub(super) fn line_changed(&self, line: &WaitList<Request>) {
        if line.is_empty() {
            self.shared.waiting.store(false, Ordering::Relaxed);
            L::line_is_gone(self);
        }
    }

    /// Gives reservations back.
    pub(crate) fn release(&self, count: u64) {
        if count == 0 {
            return;
        }
        let mut tail = self.tail();
        loop {
            let next = tail.unreserve(count);
            if next.needs_end() {
                match L::end(self, tail, next) {
                    Ok(()) => return,
                    Err(actual) => tail = actual,
                }
            } else {
                match self.tail.word.replace(tail, next) {
                    Ok(()) => break,
                    Err(actual) => tail = actual,
                }
            }
        }
        self.places_freed();
    }

    /// Hands free places to the senders in line, if there are any. To be called after the head has moved on
    /// or a reservation was given back.
    #[inline]
    pub(super) fn places_freed(&self) {
        // Pairs with the fence in `reserve_in_line`.
        full_fence();
        if self.shared.waiting.load(Ordering::Relaxed) {
            self.hand_out();
        }
    }

    /// Does what `places_freed` does, for a caller that knows that senders are in line.
    #[cold]
    pub(super) fn hand_out(&self) {
        let mut woken = WakeBatch::new();
        let mut line = self.shared.line.lock();
        while let Some(missing) = line.with_front(|request| request.missing()) {
            let Ok(places) = self.reserve(1, missing) else {
                break;
            };
            line.with_front(|request| request.grant(places));
            if places == missing {
                if let Some((waker, _)) = line.settle_front(outcome::GRANTED) {
                    woken.push(waker);
                }
                if woken.is_full() {
                    drop(line);
                    woken.wake_all();
                    line = self.shared.line.lock();
                }
            }
        }
        self.line_changed(&line);
        drop(line);
        woken.finish();
    }

    /// Closes the queue and wakes all senders in line; `gone` if there is no receiver any more. Returns the
    /// tail before that.
    pub(super) fn close(&self, gone: bool) -> Tail {
        let before = if gone {
            self.tail.word.close_and_go()
        } else {
            self.tail.word.close()
        };
        if !before.is_closed() {
            // Rings even if a waker of a sender in line panics.
            let _ring = RingAtEnd(&self.shared.closing);
            let mut woken = WakeBatch::new();
            let mut line = self.shared.line.lock();
            while let Some(granted) = line.with_front(|request| request.granted()) {
                if let Some((waker, _)) = line.settle_front(outcome::closed(granted)) {
                    woken.push(waker);
                }
                if woken.is_full() {
                    drop(line);
                    woken.wake_all();
                    line = self.shared.line.lock();
                }
            }
            self.line_changed(&line);
            drop(line);
            woken.finish();
        }
        before
    }
}

struct RingAtEnd<'a>(&'a Bell);

impl Drop for RingAtEnd<'_> {
    fn drop(&mut self) {
        self.0.ring();
    }
}
