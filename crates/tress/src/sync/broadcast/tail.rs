//! The end of the ring: a lock, and in the same word what it guards.
//!
//! ```text
//!  63                                             3  2        1           0
//! +-----------------------------------------------+--------+-----------+--------+
//! |           position of the next message        | CLOSED | LISTENING | LOCKED |
//! +-----------------------------------------------+--------+-----------+--------+
//! ```
//!
//! Only the lock's holder changes the word, so it is released, together with the new position, by a
//! plain store: sending a message costs one read-modify-write in all, if every receiver keeps up. A
//! thread that finds the lock taken spins for a moment and then yields: the lock is held for as long as it
//! takes to move a message.
//!
//! # Why no wake-up is lost
//! A receiver that finds nothing sets `LISTENING` with the lock held. If a sender had the lock before,
//! the receiver sees the new position, and does not sleep. If a sender has it later, it sees the flag,
//! and wakes the waiters.

use crate::sys::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::wait::Backoff;

// D-SYNC-08
const LOCKED: u64 = 1;
const LISTENING: u64 = 1 << 1;
const CLOSED: u64 = 1 << 2;
const ONE: u64 = 1 << 3;

pub(super) struct Tail {
    word: AtomicU64,
    /// Changed by the lock's holder only.
    receivers: AtomicUsize,
}

/// The end of the ring, as the word tells it.
#[derive(Clone, Copy)]
pub(super) struct End(u64);

impl End {
    /// Returns the position of the next message.
    #[inline(always)]
    pub(super) fn position(self) -> u64 {
        self.0 / ONE
    }

    /// Returns `true` if all senders are gone: no message comes at this position.
    pub(super) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }
}

impl Tail {
    pub(super) fn new(receivers: usize) -> Tail {
        Tail {
            word: AtomicU64::new(0),
            receivers: AtomicUsize::new(receivers),
        }
    }

    #[inline(always)]
    pub(super) fn lock(&self) -> Locked<'_> {
        let word = self.word.load(Ordering::Relaxed) & !LOCKED;
        match self.try_lock(word) {
            Ok(()) => Locked { tail: self, word },
            Err(_) => self.lock_contended(),
        }
    }

    #[inline(always)]
    fn try_lock(&self, word: u64) -> Result<(), u64> {
        self.word
            .compare_exchange_weak(word, word | LOCKED, Ordering::Acquire, Ordering::Relaxed)
            .map(drop)
    }

    #[cold]
    fn lock_contended(&self) -> Locked<'_> {
        let mut backoff = Backoff::new();
        loop {
            let word = self.word.load(Ordering::Relaxed);
            if word & LOCKED == 0 && self.try_lock(word).is_ok() {
                return Locked { tail: self, word };
            }
            backoff.wait();
        }
    }

    /// Returns the end, after waiting for a sender that is about to move it.
    pub(super) fn settled(&self) -> End {
        let mut backoff = Backoff::new();
        loop {
            let word = self.word.load(Ordering::Acquire);
            if word & LOCKED == 0 {
                return End(word);
            }
            backoff.wait();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.word.load(Ordering::Acquire) & CLOSED != 0
    }

    pub(super) fn receivers(&self) -> usize {
        self.receivers.load(Ordering::Acquire)
    }
}

/// The lock of the tail, which is released when this is dropped.
pub(super) struct Locked<'a> {
    tail: &'a Tail,
    /// The word that is stored on release, without the lock bit.
    word: u64,
}

impl Locked<'_> {
    #[inline(always)]
    pub(super) fn end(&self) -> End {
        End(self.word)
    }

    #[inline(always)]
    pub(super) fn receivers(&self) -> usize {
        self.tail.receivers.load(Ordering::Relaxed)
    }

    pub(super) fn set_receivers(&mut self, receivers: usize) {
        self.tail.receivers.store(receivers, Ordering::Release);
    }

    /// Moves the end past a message that is in its place. Returns `true` if the caller has to wake the
    /// listeners after it has released the lock.
    #[inline(always)]
    #[must_use]
    pub(super) fn advance(&mut self) -> bool {
        self.word += ONE;
        self.stop_listening()
    }

    /// Closes the channel. Returns `true` if the caller has to wake the listeners after it has released
    /// the lock.
    #[must_use]
    pub(super) fn close(&mut self) -> bool {
        self.word |= CLOSED;
        self.stop_listening()
    }

    #[inline(always)]
    fn stop_listening(&mut self) -> bool {
        let listening = self.word & LISTENING != 0;
        self.word &= !LISTENING;
        listening
    }

    /// Makes the next change of the end wake the listeners.
    pub(super) fn listen(&mut self) {
        self.word |= LISTENING;
    }
}

impl Drop for Locked<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.tail.word.store(self.word, Ordering::Release);
    }
}
