//! Places in a bounded channel: counting them, reserving them, and handing them to those in line.

use super::acquire::{Request, outcome};
use super::chan::{Chan, Lane, Refusal};
use super::tail::{MAX_COUNTED, MAX_RESERVED, Tail, distance};
use crate::sync::bell::Bell;
use crate::sync::wait_list::{WaitList, WakeBatch};
use crate::sys::atomic::Ordering;
use crate::sys::full_fence;

impl<L: Lane> Chan<L> {
    /// Free places of a bounded channel.
    pub(crate) fn capacity(&self) -> usize {
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

    /// Places free at `tail` when the receivers are at `head`.
    #[inline(always)]
    fn places_at(&self, tail: Tail, head: u64) -> u64 {
        let capacity = (self.shared.capacity as u64).min(MAX_COUNTED);
        capacity.saturating_sub(distance(tail.position(), head) + tail.reserved())
    }

    /// Places free at `tail`, up to `wanted`. Zero may mean that `tail` is out of date.
    #[inline(always)]
    pub(crate) fn places(&self, tail: Tail, wanted: u64) -> u64 {
        let seen = self.tail.head_seen.load(Ordering::Acquire);
        if self.places_at(tail, seen) >= wanted {
            return wanted;
        }
        let head = self.head.position.load(Ordering::Acquire);
        self.tail.head_seen.store(head, Ordering::Release);
        self.places_at(tail, head).min(wanted)
    }

    /// Reserves up to `wanted` places, at least `least`. For callers that hold the lock, or with
    /// nobody in line.
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

    /// Reserves `count` places if nobody is in line for them.
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

    /// Reserves what can be had for a sender that is about to get in line, and makes sure that
    /// places that become free from now on are handed out. The caller holds the lock.
    pub(crate) fn reserve_in_line(
        &self,
        line: &WaitList<Request>,
        wanted: u64,
    ) -> Result<u64, Refusal> {
        if self.is_closed() {
            return Err(Refusal::Closed);
        }
        self.shared.waiting.store(true, Ordering::Relaxed);
        L::line_forms(self);
        // Pairs with the one in `places_freed`: either we see the place, or they see us.
        full_fence();
        if !line.is_empty() {
            return Ok(0);
        }
        match self.reserve(1, wanted) {
            Err(Refusal::Full) => Ok(0),
            outcome => outcome,
        }
    }

    /// To be called after senders left the line, with the lock held.
    pub(crate) fn line_changed(&self, line: &WaitList<Request>) {
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

    /// Hands free places to senders in line, if there are any. Called after the head moved on or a
    /// reservation was given back.
    #[inline]
    pub(crate) fn places_freed(&self) {
        // Pairs with the one in `reserve_in_line`.
        full_fence();
        if self.shared.waiting.load(Ordering::Relaxed) {
            self.hand_out();
        }
    }

    /// As `places_freed`, for a caller that knows that there is a line.
    #[cold]
    pub(crate) fn hand_out(&self) {
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

    /// No new messages are taken: everybody in line is told.
    pub(crate) fn close(&self, gone: bool) -> Tail {
        let before = if gone {
            self.tail.word.close_and_go()
        } else {
            self.tail.word.close()
        };
        if !before.is_closed() {
            // Even if a waker of those in line panics.
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
