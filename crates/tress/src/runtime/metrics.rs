use super::{Scheduler, Shared};
use crate::scheduler::{Io, WorkerStats};
use std::fmt;
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Duration;

/// A view of what a runtime has done, always up to date.
///
/// The counters are written by one thread each and cost next to nothing; reading them disturbs
/// nobody. They are monotonic, and a sum over workers may be a moment old.
///
/// ```
/// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
/// rt.block_on(async {
///     tress::spawn(async {}).await.unwrap();
/// });
/// let metrics = rt.metrics();
/// assert_eq!(metrics.num_workers(), 2);
/// assert_eq!(metrics.spawned_tasks_count(), 1);
/// assert!(metrics.total_polled() >= 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct RuntimeMetrics {
    shared: Arc<Shared>,
}

// Counters have no invariant that a panic could break.
impl std::panic::UnwindSafe for RuntimeMetrics {}
impl std::panic::RefUnwindSafe for RuntimeMetrics {}

/// What one worker has done: the statistics of seed 002 and a few more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Tasks spawned from this worker.
    pub tasks_spawned: u64,
    /// Tasks that finished on this worker.
    pub tasks_completed: u64,
    /// Polls.
    pub tasks_polled: u64,
    /// Tasks taken from other workers.
    pub tasks_stolen: u64,
    /// Operations that took them.
    pub steal_operations: u64,
    /// Times the worker parked.
    pub times_parked: u64,
    /// Tasks taken from the LIFO slot.
    pub lifo_hits: u64,
    /// Batches fetched from the global queue.
    pub global_batch_fetches: u64,
    /// Times the local queue overflowed into the global one.
    pub overflows: u64,
    /// Tasks queued by this worker on itself.
    pub local_schedules: u64,
    /// Times spinning found work and saved a park.
    pub spin_hits: u64,
    /// Timers fired by this worker.
    pub timers_fired: u64,
    /// Looks of the monitor that found the worker stuck in one poll.
    pub slow_polls: u64,
    /// Operations given to io_uring: 0 with another backend. A receive into the pool counts once,
    /// however much it receives.
    pub ring_operations: u64,
    /// Buffers of the pool for [pooled streams](crate::runtime::Builder) that hold something that was
    /// received.
    pub pool_buffers_taken: usize,
    /// Tasks in the local queue now.
    pub queue_depth: usize,
    /// Time spent running tasks.
    pub busy: Duration,
    /// Moving average of the time a poll takes.
    pub mean_poll: Duration,
}

impl WorkerMetrics {
    fn read(stats: &WorkerStats, queue_depth: usize, io: &Io) -> WorkerMetrics {
        WorkerMetrics {
            tasks_spawned: stats.spawned.get(),
            tasks_completed: stats.completed.get(),
            tasks_polled: stats.polled.get(),
            tasks_stolen: stats.stolen.get(),
            steal_operations: stats.steals.get(),
            times_parked: stats.parked.get(),
            lifo_hits: stats.lifo_hits.get(),
            global_batch_fetches: stats.global_batches.get(),
            overflows: stats.overflows.get(),
            local_schedules: stats.local_schedules.get(),
            spin_hits: stats.spin_hits.get(),
            timers_fired: stats.timers_fired.get(),
            slow_polls: stats.slow_polls.get(),
            ring_operations: io.operations(),
            pool_buffers_taken: io.pool_taken(),
            queue_depth,
            busy: Duration::from_nanos(stats.busy_ns.get()),
            mean_poll: Duration::from_nanos(stats.mean_poll_ns.get()),
        }
    }
}

impl RuntimeMetrics {
    pub(super) fn new(shared: Arc<Shared>) -> RuntimeMetrics {
        RuntimeMetrics { shared }
    }

    /// Workers: configured, whether their threads have started or not.
    pub fn num_workers(&self) -> usize {
        match &self.shared.scheduler {
            Scheduler::Multi(multi) => multi.remotes.len(),
            Scheduler::Current(_) => 1,
        }
    }

    /// Everything about one worker.
    ///
    /// # Panics
    /// If there are not that many workers.
    #[track_caller]
    pub fn worker(&self, worker: usize) -> WorkerMetrics {
        let (stats, depth) = self.stats(worker);
        WorkerMetrics::read(stats, depth, self.io_of(worker))
    }

    fn io_of(&self, worker: usize) -> &Io {
        match &self.shared.scheduler {
            Scheduler::Multi(multi) => &multi.rests().nth(worker).expect("checked").io,
            Scheduler::Current(current) => &current.rest().io,
        }
    }

    #[track_caller]
    fn stats(&self, worker: usize) -> (&WorkerStats, usize) {
        let n = self.num_workers();
        assert!(
            worker < n,
            "there is no worker {worker}: the runtime has {n}"
        );
        match &self.shared.scheduler {
            Scheduler::Multi(multi) => {
                let remote = &multi.remotes[worker];
                (&remote.stats, remote.queue_depth())
            }
            Scheduler::Current(current) => (&current.stats, current.queue_depth.get() as usize),
        }
    }

    fn workers(&self) -> impl Iterator<Item = WorkerMetrics> {
        (0..self.num_workers()).map(|i| self.worker(i))
    }

    /// Tasks that have been spawned and have not finished.
    pub fn num_alive_tasks(&self) -> usize {
        match &self.shared.scheduler {
            Scheduler::Multi(multi) => multi.alive() as usize,
            Scheduler::Current(current) => current.alive() as usize,
        }
    }

    /// Tasks spawned since the runtime was built.
    pub fn spawned_tasks_count(&self) -> u64 {
        let outside = match &self.shared.scheduler {
            Scheduler::Multi(multi) => multi.outside_spawned(),
            Scheduler::Current(current) => current.outside_spawned(),
        };
        outside + self.workers().map(|w| w.tasks_spawned).sum::<u64>()
    }

    /// Polls by all workers.
    pub fn total_polled(&self) -> u64 {
        self.workers().map(|w| w.tasks_polled).sum()
    }

    /// Tasks stolen by all workers.
    pub fn total_stolen(&self) -> u64 {
        self.workers().map(|w| w.tasks_stolen).sum()
    }

    /// Times any worker parked.
    pub fn total_parked(&self) -> u64 {
        self.workers().map(|w| w.times_parked).sum()
    }

    /// Operations that all workers have given to io_uring: reads and writes with owned buffers, receives
    /// into a pool, and those of files that the page cache did not serve. 0 with another backend.
    ///
    /// ```
    /// use tress::runtime::{Builder, IoBackend};
    ///
    /// let rt = Builder::new_current_thread().enable_all().io_backend(IoBackend::Readiness).build()?;
    /// rt.block_on(tress::fs::try_exists("."))?;
    /// assert_eq!(rt.metrics().total_ring_operations(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn total_ring_operations(&self) -> u64 {
        self.workers().map(|w| w.ring_operations).sum()
    }

    /// Tasks in the global queue now.
    pub fn global_queue_depth(&self) -> usize {
        match &self.shared.scheduler {
            Scheduler::Multi(multi) => multi.inject.len(),
            Scheduler::Current(current) => current.inject.len(),
        }
    }

    /// Tasks queued by threads that are no workers of the runtime.
    pub fn remote_schedule_count(&self) -> u64 {
        match &self.shared.scheduler {
            Scheduler::Multi(multi) => multi.inject.outside_pushes(),
            Scheduler::Current(current) => current.inject.outside_pushes(),
        }
    }

    /// Times a task was made to yield because its budget was used up.
    pub fn budget_forced_yield_count(&self) -> u64 {
        self.shared.forced_yields.get()
    }

    /// Times a worker thread could not be started.
    pub fn worker_start_failures(&self) -> u64 {
        match &self.shared.scheduler {
            Scheduler::Multi(multi) => multi.start_failures(),
            Scheduler::Current(_) => 0,
        }
    }

    /// Threads of the blocking pool.
    pub fn num_blocking_threads(&self) -> usize {
        self.shared.blocking.metrics().threads
    }

    /// Threads of the blocking pool that wait for something to do.
    pub fn num_idle_blocking_threads(&self) -> usize {
        self.shared.blocking.metrics().idle
    }

    /// Closures that wait for a thread of the blocking pool.
    pub fn blocking_queue_depth(&self) -> usize {
        self.shared.blocking.metrics().queued
    }

    /// What the I/O drivers of all workers together have done and have in hand; all zero before the
    /// first source has had to wait.
    ///
    /// ```
    /// # #[cfg(feature = "net")] {
    /// # let rt = tress::runtime::Runtime::new()?;
    /// let socket = rt.block_on(tress::net::UdpSocket::bind("127.0.0.1:0"))?;
    /// // Nobody has waited for it yet: the drivers do not know it.
    /// assert_eq!(rt.metrics().io().registered, 0);
    /// # drop(socket);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "driver")]
    pub fn io(&self) -> super::IoMetrics {
        let drivers = self.shared.rests().filter_map(|rest| rest.io.made());
        drivers.map(|driver| driver.metrics()).sum()
    }

    /// Times a worker parked; at least 1 once the runtime has shut down.
    #[track_caller]
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.stats(worker).0.parked.get()
    }

    /// Times a worker parked or unparked: odd while it is parked.
    #[track_caller]
    pub fn worker_park_unpark_count(&self, worker: usize) -> u64 {
        self.stats(worker).0.park_unpark.get()
    }

    /// Time a worker has spent running tasks.
    #[track_caller]
    pub fn worker_total_busy_duration(&self, worker: usize) -> Duration {
        self.worker(worker).busy
    }

    /// The thread that runs a worker, once it has one.
    #[track_caller]
    pub fn worker_thread_id(&self, worker: usize) -> Option<ThreadId> {
        let _ = self.stats(worker);
        match &self.shared.scheduler {
            Scheduler::Multi(multi) => *multi.remotes[worker].thread.lock(),
            Scheduler::Current(current) => *current.thread.lock(),
        }
    }
}

impl fmt::Debug for RuntimeMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeMetrics")
            .field("workers", &self.workers().collect::<Vec<_>>())
            .field("alive_tasks", &self.num_alive_tasks())
            .field("spawned_tasks", &self.spawned_tasks_count())
            .field("global_queue_depth", &self.global_queue_depth())
            .field("blocking_threads", &self.num_blocking_threads())
            .finish()
    }
}
