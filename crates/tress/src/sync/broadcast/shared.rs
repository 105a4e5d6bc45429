//! What the ends of a broadcast channel share: the ring, where it ends, and who waits.

use super::error::TryRecvError;
use super::slot::{Reading, Slot};
use crate::sync::bell::Bell;
use crate::sys::Mutex;
use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};

pub(super) struct Shared<T> {
    /// A power of two of them.
    slots: Box<[Slot<T>]>,
    tail: Mutex<Tail>,
    /// As in the tail, for those who wait.
    receivers: AtomicUsize,
    closed: AtomicBool,
    senders: AtomicUsize,
    weak_senders: AtomicUsize,
    /// Rung when a message was sent or the last sender has gone.
    pub(super) news: Bell,
    /// Rung when the last receiver has gone.
    pub(super) abandoned: Bell,
}

struct Tail {
    /// The position of the next message.
    position: u64,
    receivers: usize,
    closed: bool,
}

// SAFETY: messages pass from thread to thread, and are looked at under their slot's lock by one
// thread at a time; the rest is atomic or behind a lock.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above; that is why `T: Sync` is not needed.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// With one sender.
    ///
    /// # Panics
    /// If the capacity is 0 or too large.
    #[track_caller]
    pub(super) fn new(capacity: usize, receivers: usize) -> Shared<T> {
        assert!(
            capacity > 0,
            "a broadcast channel for no messages would pass none on: use a capacity of at least 1"
        );
        assert!(
            capacity <= usize::MAX >> 1,
            "a broadcast channel keeps room for its whole capacity: {capacity} is too large"
        );
        let capacity = capacity.next_power_of_two();
        Shared {
            slots: (0..capacity).map(|_| Slot::new()).collect(),
            tail: Mutex::new(Tail {
                position: 0,
                receivers,
                closed: false,
            }),
            receivers: AtomicUsize::new(receivers),
            closed: AtomicBool::new(false),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
            news: Bell::new(),
            abandoned: Bell::new(),
        }
    }

    #[inline(always)]
    fn slot(&self, position: u64) -> &Slot<T> {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Returns how many receivers there are, or the message if there is none.
    pub(super) fn send(&self, message: T) -> Result<usize, T> {
        let mut tail = self.tail.lock();
        let receivers = tail.receivers;
        if receivers == 0 {
            return Err(message);
        }
        let position = tail.position;
        tail.position += 1;
        let overwritten = self.slot(position).put(position, receivers as u64, message);
        drop(tail);
        self.news.ring();
        drop(overwritten);
        Ok(receivers)
    }

    /// Is there anything for a receiver that comes to `position`: a message, a lag, the end?
    #[inline(always)]
    pub(super) fn has_news(&self, position: u64) -> bool {
        self.slot(position).has_reached(position) || self.closed.load(Ordering::Acquire)
    }

    /// A receiver comes for the message at `next`, and moves on.
    #[inline(always)]
    pub(super) fn receive(&self, next: &mut u64) -> Result<Reading<'_, T>, TryRecvError> {
        loop {
            if let Some(reading) = self.slot(*next).read(*next) {
                *next += 1;
                return Ok(reading);
            }
            self.find_out(next)?;
        }
    }

    /// Why is there no message at `next`? `Ok` if it has come meanwhile.
    #[cold]
    fn find_out(&self, next: &mut u64) -> Result<(), TryRecvError> {
        let tail = self.tail.lock();
        let behind = tail.position - *next;
        if behind == 0 {
            return Err(if tail.closed {
                TryRecvError::Closed
            } else {
                TryRecvError::Empty
            });
        }
        if behind > self.capacity() {
            let missed = behind - self.capacity();
            *next += missed;
            return Err(TryRecvError::Lagged(missed));
        }
        Ok(())
    }

    /// How many messages some receiver has not had.
    pub(super) fn len(&self) -> usize {
        let tail = self.tail.lock();
        // Receivers have them in order, so the unwanted come before the wanted.
        let mut low = tail.position.saturating_sub(self.capacity());
        let mut high = tail.position;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.slot(middle).is_wanted() {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        (tail.position - low) as usize
    }

    /// How many messages a receiver at `next` has not had, overwritten ones included.
    pub(super) fn len_from(&self, next: u64) -> usize {
        (self.tail.lock().position - next) as usize
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn receivers(&self) -> usize {
        self.receivers.load(Ordering::Acquire)
    }

    /// Adds a receiver, and returns where it begins.
    pub(super) fn add_receiver(&self) -> u64 {
        let mut tail = self.tail.lock();
        tail.receivers += 1;
        self.receivers.store(tail.receivers, Ordering::Release);
        tail.position
    }

    /// Removes a receiver, which will not have the messages from `next` on.
    pub(super) fn remove_receiver(&self, next: u64) {
        let mut tail = self.tail.lock();
        tail.receivers -= 1;
        let receivers = tail.receivers;
        self.receivers.store(receivers, Ordering::Release);
        // From here on messages do not count it.
        let end = tail.position;
        drop(tail);
        // Even if the drop of a message panics.
        let mut leaving = Leaving {
            shared: self,
            next: next.max(end.saturating_sub(self.capacity())),
            end,
            last: receivers == 0,
        };
        leaving.run();
    }

    pub(super) fn senders(&self) -> usize {
        self.senders.load(Ordering::Acquire)
    }

    pub(super) fn weak_senders(&self) -> usize {
        self.weak_senders.load(Ordering::Acquire)
    }

    pub(super) fn add_sender(&self) {
        if self.senders.fetch_add(1, Ordering::Relaxed) > usize::MAX / 2 {
            std::process::abort();
        }
    }

    /// Adds a sender unless there is none.
    pub(super) fn try_add_sender(&self) -> bool {
        let mut senders = self.senders();
        while senders != 0 {
            match self.senders.compare_exchange_weak(
                senders,
                senders + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(actual) => senders = actual,
            }
        }
        false
    }

    pub(super) fn remove_sender(&self) {
        if self.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.tail.lock().closed = true;
            self.closed.store(true, Ordering::Release);
            self.news.ring();
        }
    }

    pub(super) fn add_weak_sender(&self) {
        self.weak_senders.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn remove_weak_sender(&self) {
        self.weak_senders.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A receiver that goes, and gives up the messages that count it.
struct Leaving<'a, T> {
    shared: &'a Shared<T>,
    next: u64,
    end: u64,
    last: bool,
}

impl<T> Leaving<'_, T> {
    fn run(&mut self) {
        while self.next < self.end {
            let position = self.next;
            self.next += 1;
            // One that was overwritten meanwhile counts it no more.
            drop(self.shared.slot(position).read(position));
        }
    }
}

impl<T> Drop for Leaving<'_, T> {
    fn drop(&mut self) {
        self.run();
        if self.last {
            self.shared.abandoned.ring();
        }
    }
}
