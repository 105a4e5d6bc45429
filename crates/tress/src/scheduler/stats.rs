//! Counters that one thread writes and everybody may read.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter with a single writer: no locked instruction, no lost read.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// The writer's function.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0
            .store(self.0.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    /// The writer's function, for a gauge.
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The writer's function, for a maximum.
    pub(crate) fn raise(&self, value: u64) {
        if value > self.get() {
            self.set(value);
        }
    }

    /// For a maximum that several threads write.
    pub(crate) fn raise_shared(&self, value: u64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn bump(&self) {
        self.add(1);
    }

    /// For counters that several threads write.
    pub(crate) fn add_shared(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Counts one more, from any thread; the first gets 0.
    pub(crate) fn number(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What one worker has done (seed 002's per-worker statistics and a few more). Written by the
/// worker only.
#[derive(Debug, Default)]
pub(crate) struct WorkerStats {
    pub(crate) spawned: Counter,
    pub(crate) completed: Counter,
    pub(crate) polled: Counter,
    /// Tasks taken from others, and the operations that took them.
    pub(crate) stolen: Counter,
    pub(crate) steals: Counter,
    /// Looks at others' queues for something to take.
    pub(crate) steal_attempts: Counter,
    pub(crate) parked: Counter,
    /// Parks and unparks: odd while parked.
    pub(crate) park_unpark: Counter,
    pub(crate) lifo_hits: Counter,
    pub(crate) global_batches: Counter,
    pub(crate) overflows: Counter,
    pub(crate) local_schedules: Counter,
    pub(crate) spin_hits: Counter,
    pub(crate) busy_ns: Counter,
    pub(crate) mean_poll_ns: Counter,
    /// The longest of the polls that were timed.
    pub(crate) max_poll_ns: Counter,
    pub(crate) timers_fired: Counter,
    /// Written by the monitor.
    pub(crate) slow_polls: Counter,
}
