//! What workers count.

use crate::sys::Counter;

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
