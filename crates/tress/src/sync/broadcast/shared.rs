//! The state that the ends of a broadcast channel share: the ring, its end, and the waiting tasks.

use super::error::TryRecvError;
use super::ring::{MAX_RECEIVERS, Ring};
use super::tail::Tail;
use crate::queue::Count;
use crate::sight::WaitKind;
use crate::sys::CachePadded;
use crate::wait::Bell;

pub(super) struct Shared<T> {
    ring: Ring<T>,
    /// On cache lines of its own: senders write it with every message, and receivers look at it only
    /// when they find none.
    tail: CachePadded<Tail>,
    senders: Count,
    weak_senders: Count,
    /// Rung when a message was sent or the last sender was dropped.
    pub(super) news: Bell,
    /// Rung when the last receiver was dropped.
    pub(super) abandoned: Bell,
}

// SAFETY: messages pass from thread to thread, and are accessed under the lock of their place by one
// thread at a time; the rest is atomic or behind a lock.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above; that is why `T: Sync` is not needed.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Creates the state of a channel with one sender and `receivers` receivers.
    ///
    /// # Panics
    /// Panics if the capacity is 0 or too large.
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
        Shared {
            ring: Ring::new(capacity.next_power_of_two()),
            tail: CachePadded::new(Tail::new(receivers)),
            senders: Count::new(1),
            weak_senders: Count::new(0),
            news: Bell::new(WaitKind::BroadcastReceive),
            abandoned: Bell::new(WaitKind::ChannelClosed),
        }
    }

    /// Puts the message into the ring. Returns the number of receivers, or the message if there is
    /// none.
    #[inline]
    pub(super) fn send(&self, message: T) -> Result<usize, T> {
        let mut tail = self.tail.lock();
        let receivers = tail.receivers();
        if receivers == 0 {
            return Err(message);
        }
        let position = tail.end().position();
        // At most `MAX_RECEIVERS`.
        let count = receivers as u32;
        // SAFETY: called with the tail's lock held, and nowhere else.
        let overwritten = unsafe { self.ring.put(position, count, message) };
        let listening = tail.advance();
        drop(tail);
        if listening {
            self.news.wake_all();
        }
        drop(overwritten);
        Ok(receivers)
    }

    /// Returns `Some` if there is anything for a receiver at `position`: a message, a lag, or the end.
    /// Otherwise `news` will be rung.
    pub(super) fn listen_at(&self, position: u64) -> Option<()> {
        let mut tail = self.tail.lock();
        let end = tail.end();
        if end.position() != position || end.is_closed() {
            return Some(());
        }
        tail.listen();
        None
    }

    /// Finds out why there is no message at `next`. Returns `Ok` if there is one by now.
    fn find_out(&self, next: &mut u64) -> Result<(), TryRecvError> {
        let end = self.tail.settled();
        let behind = end.position() - *next;
        if behind == 0 {
            return Err(if end.is_closed() {
                TryRecvError::Closed
            } else {
                TryRecvError::Empty
            });
        }
        if behind > self.ring.capacity() {
            let missed = behind - self.ring.capacity();
            *next += missed;
            return Err(TryRecvError::Lagged(missed));
        }
        Ok(())
    }

    /// Returns the number of messages that some receiver has not received.
    pub(super) fn len(&self) -> usize {
        let tail = self.tail.lock();
        let end = tail.end().position();
        // Messages are received in order, so those that all have received come first.
        let mut low = end.saturating_sub(self.ring.capacity());
        let mut high = end;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.ring.is_wanted(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        (end - low) as usize
    }

    /// Returns the number of messages that a receiver at `next` has not received, overwritten ones
    /// included.
    pub(super) fn len_from(&self, next: u64) -> usize {
        (self.tail.settled().position() - next) as usize
    }

    pub(super) fn is_closed(&self) -> bool {
        self.tail.is_closed()
    }

    pub(super) fn receivers(&self) -> usize {
        self.tail.receivers()
    }

    /// Adds a receiver, and returns its first position.
    ///
    /// # Panics
    /// Panics if there are `MAX_RECEIVERS` already.
    #[track_caller]
    pub(super) fn add_receiver(&self) -> u64 {
        let mut tail = self.tail.lock();
        let receivers = tail.receivers();
        assert!(
            receivers < MAX_RECEIVERS,
            "a broadcast channel can have {MAX_RECEIVERS} receivers, and has them"
        );
        tail.set_receivers(receivers + 1);
        tail.end().position()
    }

    /// Removes a receiver, which gives up the messages from `next` on.
    pub(super) fn remove_receiver(&self, next: u64) {
        let mut tail = self.tail.lock();
        let receivers = tail.receivers() - 1;
        tail.set_receivers(receivers);
        // Messages that are sent from here on do not count it.
        let end = tail.end().position();
        drop(tail);
        // All of this happens even if the drop of a message panics.
        let mut leaving = Leaving {
            shared: self,
            next: next.max(end.saturating_sub(self.ring.capacity())),
            end,
            last: receivers == 0,
        };
        leaving.run();
    }

    pub(super) fn senders(&self) -> usize {
        self.senders.get()
    }

    pub(super) fn weak_senders(&self) -> usize {
        self.weak_senders.get()
    }

    pub(super) fn add_sender(&self) {
        self.senders.add();
    }

    /// Adds a sender, or returns `false` if there is none.
    pub(super) fn try_add_sender(&self) -> bool {
        self.senders.try_add()
    }

    pub(super) fn remove_sender(&self) {
        if self.senders.remove() {
            let listening = self.tail.lock().close();
            if listening {
                self.news.wake_all();
            }
        }
    }

    pub(super) fn add_weak_sender(&self) {
        self.weak_senders.add();
    }

    pub(super) fn remove_weak_sender(&self) {
        self.weak_senders.remove();
    }
}

impl<T: Clone> Shared<T> {
    /// Receives the message at `next`, and advances `next`.
    #[inline(always)]
    pub(super) fn receive(&self, next: &mut u64) -> Result<T, TryRecvError> {
        match self.ring.try_read(*next) {
            Some(reading) => {
                *next += 1;
                let message = reading.message();
                // Not at the end of the scope: if the original's destructor panics there, the copy is not
                // dropped.
                drop(reading);
                Ok(message)
            }
            None => self.receive_slowly(next),
        }
    }

    #[cold]
    fn receive_slowly(&self, next: &mut u64) -> Result<T, TryRecvError> {
        loop {
            if let Some(reading) = self.ring.read(*next) {
                *next += 1;
                let message = reading.message();
                // As above.
                drop(reading);
                return Ok(message);
            }
            self.find_out(next)?;
        }
    }
}

/// A receiver that leaves, and gives up the messages that count it.
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
            // A message that has been overwritten since does not count it any more.
            self.shared.ring.renounce(position);
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
