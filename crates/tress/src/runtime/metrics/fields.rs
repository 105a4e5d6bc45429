//! What is counted, defined once: name, meaning, and where it is read. Both text formats come from here.

use super::samples::Kind::{self, Counter, Gauge};
use super::{DispatcherMetrics, NameMetrics, RuntimeMetrics, WorkerMetrics};

/// One number of a `T`.
pub(super) struct Field<T> {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: Kind,
    pub(super) read: fn(&T) -> f64,
}

impl<T> Field<T> {
    const fn new(kind: Kind, name: &'static str, help: &'static str, read: fn(&T) -> f64) -> Self {
        Field {
            name,
            help,
            kind,
            read,
        }
    }

    /// Returns its name as a metric: `tress_`, what it is about, its name, and `_total` at the end if it only grows.
    pub(super) fn metric(&self, about: &str) -> String {
        let suffix = match self.kind {
            Counter => "_total",
            Gauge => "",
        };
        let name = self.name.trim_start_matches("total_");
        format!("tress_{about}{name}{suffix}")
    }
}

pub(super) const WORKER: &[Field<WorkerMetrics>] = &[
    Field::new(
        Counter,
        "tasks_submitted",
        "Tasks spawned from the worker.",
        |w| w.tasks_submitted as f64,
    ),
    Field::new(
        Counter,
        "tasks_completed",
        "Tasks that finished on the worker.",
        |w| w.tasks_completed as f64,
    ),
    Field::new(Counter, "tasks_polled", "Polls.", |w| w.tasks_polled as f64),
    Field::new(
        Counter,
        "tasks_stolen",
        "Tasks taken from other workers.",
        |w| w.tasks_stolen as f64,
    ),
    Field::new(
        Counter,
        "steal_attempts",
        "Looks at the other workers' queues for something to take.",
        |w| w.steal_attempts as f64,
    ),
    Field::new(
        Counter,
        "steal_successes",
        "Those that took something.",
        |w| w.steal_successes as f64,
    ),
    Field::new(
        Gauge,
        "avg_run_ticks",
        "Moving average of the time a poll takes, in nanoseconds.",
        |w| w.avg_run_ticks as f64,
    ),
    Field::new(
        Gauge,
        "max_run_ticks",
        "The longest of the polls that were timed, in nanoseconds.",
        |w| w.max_run_ticks as f64,
    ),
    Field::new(
        Counter,
        "inject_queue_overflows",
        "Times the worker's queue overflowed into the global one.",
        |w| w.inject_queue_overflows as f64,
    ),
    Field::new(
        Counter,
        "park_events",
        "Times the worker went to sleep.",
        |w| w.park_events as f64,
    ),
    Field::new(Counter, "unpark_events", "Times it woke up.", |w| {
        w.unpark_events as f64
    }),
    Field::new(
        Counter,
        "lifo_hits",
        "Tasks taken from the LIFO slot.",
        |w| w.lifo_hits as f64,
    ),
    Field::new(
        Counter,
        "global_batch_fetches",
        "Batches fetched from the global queue.",
        |w| w.global_batch_fetches as f64,
    ),
    Field::new(
        Counter,
        "local_schedules",
        "Tasks that the worker queued on itself.",
        |w| w.local_schedules as f64,
    ),
    Field::new(Counter, "spin_hits", "Times spinning saved a park.", |w| {
        w.spin_hits as f64
    }),
    Field::new(
        Counter,
        "timers_fired",
        "Timers that the worker fired.",
        |w| w.timers_fired as f64,
    ),
    Field::new(
        Counter,
        "slow_polls",
        "Looks of the monitor that found the worker stuck in one poll.",
        |w| w.slow_polls as f64,
    ),
    Field::new(
        Counter,
        "ring_operations",
        "Operations given to io_uring.",
        |w| w.ring_operations as f64,
    ),
    Field::new(
        Gauge,
        "pool_buffers_taken",
        "Buffers of the worker's pool that are in use.",
        |w| w.pool_buffers_taken as f64,
    ),
    Field::new(Counter, "busy_seconds", "Time spent running tasks.", |w| {
        w.busy.as_secs_f64()
    }),
    Field::new(Gauge, "queue_depth", "Tasks in the worker's queue.", |w| {
        w.queue_depth as f64
    }),
];

pub(super) const DISPATCHER: &[Field<DispatcherMetrics>] = &[
    Field::new(Gauge, "parallelism", "Most tasks it runs at a time.", |d| {
        d.parallelism as f64
    }),
    Field::new(
        Gauge,
        "running",
        "Threads and tasks that run its tasks now.",
        |d| d.running as f64,
    ),
    Field::new(
        Gauge,
        "queue_depth",
        "Its tasks that are ready and wait.",
        |d| d.queue_depth as f64,
    ),
    Field::new(Counter, "tasks_submitted", "Tasks spawned there.", |d| {
        d.tasks_submitted as f64
    }),
    Field::new(
        Counter,
        "tasks_completed",
        "Tasks that finished there.",
        |d| d.tasks_completed as f64,
    ),
    Field::new(Counter, "tasks_polled", "Polls.", |d| d.tasks_polled as f64),
];

pub(super) const NAME: &[Field<NameMetrics>] = &[
    Field::new(
        Counter,
        "tasks_submitted",
        "Tasks spawned with the name.",
        |n| n.tasks_submitted as f64,
    ),
    Field::new(
        Counter,
        "tasks_completed",
        "Those of them that ended.",
        |n| n.tasks_completed as f64,
    ),
    Field::new(Counter, "tasks_polled", "Their polls.", |n| {
        n.tasks_polled as f64
    }),
    Field::new(
        Gauge,
        "avg_run_ticks",
        "Mean time of their polls, one of sixteen timed, in nanoseconds.",
        |n| n.avg_run_ticks as f64,
    ),
    Field::new(
        Gauge,
        "max_run_ticks",
        "The longest of those, in nanoseconds.",
        |n| n.max_run_ticks as f64,
    ),
];

pub(super) const RUNTIME: &[Field<RuntimeMetrics>] = &[
    Field::new(Gauge, "num_workers", "Workers.", |m| m.num_workers() as f64),
    Field::new(Counter, "total_spawned", "Tasks spawned, wherever.", |m| {
        m.spawned_tasks_count() as f64
    }),
    Field::new(
        Gauge,
        "alive_tasks",
        "Tasks spawned and not finished.",
        |m| m.num_alive_tasks() as f64,
    ),
    Field::new(Counter, "total_polled", "Polls by all workers.", |m| {
        m.total_polled() as f64
    }),
    Field::new(
        Counter,
        "total_stolen",
        "Tasks stolen by all workers.",
        |m| m.total_stolen() as f64,
    ),
    Field::new(Counter, "total_parked", "Times any worker parked.", |m| {
        m.total_parked() as f64
    }),
    Field::new(
        Gauge,
        "global_queue_depth",
        "Tasks in the global queue.",
        |m| m.global_queue_depth() as f64,
    ),
    Field::new(
        Counter,
        "remote_schedules",
        "Tasks queued by threads that are no workers.",
        |m| m.remote_schedule_count() as f64,
    ),
    Field::new(
        Counter,
        "budget_forced_yields",
        "Times a task had used up its budget and was made to yield.",
        |m| m.budget_forced_yield_count() as f64,
    ),
    Field::new(
        Counter,
        "worker_start_failures",
        "Times a worker's thread could not be started.",
        |m| m.worker_start_failures() as f64,
    ),
    Field::new(
        Gauge,
        "blocking_threads",
        "Threads of the blocking pool.",
        |m| m.num_blocking_threads() as f64,
    ),
    Field::new(
        Gauge,
        "blocking_idle_threads",
        "Those that have nothing to do.",
        |m| m.num_idle_blocking_threads() as f64,
    ),
    Field::new(
        Gauge,
        "blocking_queue_depth",
        "Closures that wait for one of them.",
        |m| m.blocking_queue_depth() as f64,
    ),
];
