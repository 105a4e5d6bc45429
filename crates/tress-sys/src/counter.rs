use crate::atomic::Ordering;
use crate::plain::AtomicU64;

/// A counter with a single writer, which needs no locked instruction and loses no read.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds, for the writer.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0
            .store(self.0.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    /// Replaces the value, for the writer of a gauge.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Raises a maximum, for its writer.
    #[inline]
    pub fn raise(&self, value: u64) {
        if value > self.get() {
            self.set(value);
        }
    }

    /// Raises a maximum that several threads write.
    #[inline]
    pub fn raise_shared(&self, value: u64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }

    /// Adds one, for the writer.
    #[inline]
    pub fn bump(&self) {
        self.add(1);
    }

    /// Adds to a counter that several threads write.
    #[inline]
    pub fn add_shared(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Counts one more from any thread, and returns its number: the first is 0.
    #[inline]
    pub fn number(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the value.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
