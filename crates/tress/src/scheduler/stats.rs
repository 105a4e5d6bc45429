//! What workers count.

use crate::runtime::metrics::histogram::Histogram;
use crate::sys::{Counter, clock};
use crate::trace::Spawns;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What one worker has done. Written only by the worker, except where noted.
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
    /// Parks before which no task was polled since the last one or the start, and the polls by the last park.
    pub(crate) idle_parks: Counter,
    polled_at_park: Counter,
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
    /// How long polls took, if they are timed: set when the runtime is built.
    pub(crate) poll_times: OnceLock<Histogram>,
    /// How long tasks waited for their polls, if that is counted: set when the runtime is built.
    pub(crate) schedule_latencies: OnceLock<Histogram>,
    /// Where tasks were spawned, while the flight recorder is on: made when it is first switched on.
    pub(crate) spawns: OnceLock<Spawns>,
    /// Written by the monitor.
    pub(crate) slow_polls: Counter,
}

impl WorkerStats {
    /// Begins to time a poll, if polls are timed.
    pub(crate) fn begin_poll(&self) -> Option<Instant> {
        self.poll_times.get().map(|_| clock::now())
    }

    /// Ends a poll that was begun then.
    pub(crate) fn end_poll(&self, begun: Option<Instant>) {
        if let (Some(histogram), Some(begun)) = (self.poll_times.get(), begun) {
            histogram.count(clock::elapsed(begun));
        }
    }

    /// Counts how long a task has waited for its poll, for the worker.
    pub(crate) fn count_latency(&self, latency: Duration) {
        if let Some(histogram) = self.schedule_latencies.get() {
            histogram.count(latency);
        }
    }

    /// Counts a park, for the worker.
    pub(crate) fn count_park(&self) {
        let polled = self.polled.get();
        if polled == self.polled_at_park.get() {
            self.idle_parks.bump();
        }
        self.polled_at_park.set(polled);
        self.parked.bump();
    }
}
