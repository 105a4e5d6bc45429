//! The event ring: one thread writes, any thread reads, none waits.
//!
//! A fixed number of entries; the newest overwrites the oldest. Every entry carries a sequence number: odd while it
//! is being written, and after that twice the number of the event plus two. A reader takes an entry if the sequence
//! number is the expected one before and after it has read the rest; otherwise the writer has lapped it, and the
//! event is lost to that reader.
//!
//! # Memory ordering
//! The writer makes the number odd, then, after a release fence, stores the fields, then stores the new number with
//! release. The reader loads the number with acquire, the fields, and, after an acquire fence, the number again. If
//! it has seen any field of a later write, the two fences order that write's odd number before its second load. All
//! fields are atomics, so even a torn entry is no data race.

use crate::sys::atomic::{AtomicU64, Ordering, fence};

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

/// What an entry holds. The ring does not interpret it.
pub(crate) type Words = [u64; 4];

struct Entry {
    sequence: AtomicU64,
    words: [AtomicU64; 4],
}

pub(crate) struct Ring {
    entries: Box<[Entry]>,
    /// Events written so far.
    written: AtomicU64,
}

impl Ring {
    /// Creates a ring of at least `size` entries, rounded up to a power of two.
    pub(crate) fn new(size: usize) -> Ring {
        let entry = || Entry {
            sequence: AtomicU64::new(0),
            words: std::array::from_fn(|_| AtomicU64::new(0)),
        };
        Ring {
            entries: (0..size.next_power_of_two()).map(|_| entry()).collect(),
            written: AtomicU64::new(0),
        }
    }

    fn entry(&self, number: u64) -> &Entry {
        // The length is a power of two, so this is a mask.
        &self.entries[number as usize & (self.entries.len() - 1)]
    }

    /// Adds an event. Returns whether it is the last of a quarter of the ring: time for a reader that wants them all.
    ///
    /// Only one thread at a time may call it: two writers would make entries that readers cannot tell from whole
    /// ones.
    #[inline]
    pub(crate) fn push(&self, words: Words) -> bool {
        let number = self.written.load(Ordering::Relaxed);
        let entry = self.entry(number);
        entry.sequence.store(2 * number + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        for (slot, word) in entry.words.iter().zip(words) {
            slot.store(word, Ordering::Relaxed);
        }
        entry.sequence.store(2 * number + 2, Ordering::Release);
        self.written.store(number + 1, Ordering::Release);
        let quarter = (self.entries.len() as u64 / 4).max(1);
        (number + 1) & (quarter - 1) == 0
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns one event, unless it has been overwritten or is not there yet.
    pub(crate) fn get(&self, number: u64) -> Option<Words> {
        let entry = self.entry(number);
        let whole = 2 * number + 2;
        if entry.sequence.load(Ordering::Acquire) != whole {
            return None;
        }
        let words = std::array::from_fn(|n| entry.words[n].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        (entry.sequence.load(Ordering::Relaxed) == whole).then_some(words)
    }

    /// Returns the number of events written so far, which is the number of the next one.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Returns what is in the ring, oldest first. Entries that are overwritten meanwhile are left out.
    pub(crate) fn snapshot(&self) -> impl Iterator<Item = Words> {
        let end = self.written();
        let start = end.saturating_sub(self.entries.len() as u64);
        (start..end).filter_map(|number| self.get(number))
    }
}
