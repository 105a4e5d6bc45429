mod fields;
mod samples;
mod text;

#[cfg(all(test, not(loom)))]
mod tests;

pub use samples::Samples;

use super::Shared;
use crate::identity::Name;
use crate::scheduler::{Io, WorkerStats};
use std::fmt;
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Duration;

/// A view of what a runtime has done, always up to date.
///
/// Each counter is written by one thread and costs next to nothing; reading them disturbs no thread. They are
/// monotonic, and a sum over workers may be slightly out of date.
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

/// What one worker has done.
///
/// A *tick* is a nanosecond.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Tasks spawned from this worker.
    pub tasks_submitted: u64,
    /// Tasks that finished on this worker.
    pub tasks_completed: u64,
    /// Polls.
    pub tasks_polled: u64,
    /// Tasks taken from other workers.
    pub tasks_stolen: u64,
    /// Looks at the other workers' queues for something to take.
    pub steal_attempts: u64,
    /// How many of those looks took something.
    pub steal_successes: u64,
    /// Moving average of the time a poll takes.
    pub avg_run_ticks: u64,
    /// The longest time of a poll that was noticed. Polls that were timed together count by their mean, which the
    /// longest of them took at least. Where polls are long each is timed by itself, and a worker of a multi-thread
    /// runtime always times the first poll of a tick by itself.
    pub max_run_ticks: u64,
    /// Times the local queue overflowed into the global one.
    pub inject_queue_overflows: u64,
    /// Times the worker went to sleep.
    pub park_events: u64,
    /// Times it woke up.
    pub unpark_events: u64,
    /// Tasks taken from the LIFO slot.
    pub lifo_hits: u64,
    /// Batches fetched from the global queue.
    pub global_batch_fetches: u64,
    /// Tasks queued by this worker on itself.
    pub local_schedules: u64,
    /// Times spinning found work and saved a park.
    pub spin_hits: u64,
    /// Timers fired by this worker.
    pub timers_fired: u64,
    /// How often the monitor found the worker stuck in one poll.
    pub slow_polls: u64,
    /// Operations given to io_uring: 0 with another backend. A receive into the pool counts once, however much it
    /// receives.
    pub ring_operations: u64,
    /// Buffers of the pool for [pooled streams](crate::runtime::Builder) that hold received data.
    pub pool_buffers_taken: usize,
    /// Tasks in the local queue now.
    pub queue_depth: usize,
    /// Time spent running tasks.
    pub busy: Duration,
}

/// What one dispatcher has done; see [`dispatch`](crate::dispatch).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DispatcherMetrics {
    /// `default`, `io`, or the kind of threads that a view uses and the view's number.
    pub name: String,
    /// Maximum number of tasks that it runs at a time.
    pub parallelism: usize,
    /// How many threads or tasks run its tasks now; for `default`, the workers that are awake.
    pub running: usize,
    /// Tasks of it that are ready and wait.
    pub queue_depth: usize,
    /// Tasks spawned there.
    pub tasks_submitted: u64,
    /// Tasks that finished there.
    pub tasks_completed: u64,
    /// Polls.
    pub tasks_polled: u64,
}

/// What the tasks of one name have done.
///
/// 1,024 names are told apart; the tasks of all others are counted together, as `(other)`. Tasks of a
/// [`LocalSet`](crate::task::LocalSet) are not counted by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameMetrics {
    /// The name.
    pub name: String,
    /// Tasks spawned with it.
    pub tasks_submitted: u64,
    /// Those of them that ended, in whatever way.
    pub tasks_completed: u64,
    /// Their polls.
    pub tasks_polled: u64,
    /// Mean time of a poll, in nanoseconds; one poll in sixteen is timed.
    pub avg_run_ticks: u64,
    /// The longest of those that were timed.
    pub max_run_ticks: u64,
}

impl WorkerMetrics {
    fn read(stats: &WorkerStats, queue_depth: usize, io: &Io) -> WorkerMetrics {
        let parked = stats.parked.get();
        let asleep = stats.park_unpark.get() & 1;
        WorkerMetrics {
            tasks_submitted: stats.spawned.get(),
            tasks_completed: stats.completed.get(),
            tasks_polled: stats.polled.get(),
            tasks_stolen: stats.stolen.get(),
            steal_attempts: stats.steal_attempts.get(),
            steal_successes: stats.steals.get(),
            avg_run_ticks: stats.mean_poll_ns.get(),
            max_run_ticks: stats.max_poll_ns.get(),
            inject_queue_overflows: stats.overflows.get(),
            park_events: parked,
            unpark_events: parked - asleep.min(parked),
            lifo_hits: stats.lifo_hits.get(),
            global_batch_fetches: stats.global_batches.get(),
            local_schedules: stats.local_schedules.get(),
            spin_hits: stats.spin_hits.get(),
            timers_fired: stats.timers_fired.get(),
            slow_polls: stats.slow_polls.get(),
            ring_operations: io.operations(),
            pool_buffers_taken: io.pool_taken(),
            queue_depth,
            busy: Duration::from_nanos(stats.busy_ns.get()),
        }
    }
}

impl RuntimeMetrics {
    pub(super) fn new(shared: Arc<Shared>) -> RuntimeMetrics {
        RuntimeMetrics { shared }
    }

    /// Returns the number of workers, whether their threads have started or not.
    pub fn num_workers(&self) -> usize {
        self.shared.scheduler.workers()
    }

    /// Returns everything about one worker.
    ///
    /// # Panics
    /// If there are not that many workers.
    #[track_caller]
    pub fn worker(&self, worker: usize) -> WorkerMetrics {
        let (stats, depth) = self.stats(worker);
        WorkerMetrics::read(stats, depth, self.io_of(worker))
    }

    fn io_of(&self, worker: usize) -> &Io {
        &self.shared.scheduler.station(worker).rest.io
    }

    #[track_caller]
    fn stats(&self, worker: usize) -> (&WorkerStats, usize) {
        let n = self.num_workers();
        assert!(
            worker < n,
            "there is no worker {worker}: the runtime has {n}"
        );
        let scheduler = &self.shared.scheduler;
        (
            &scheduler.station(worker).stats,
            scheduler.queue_depth(worker),
        )
    }

    fn workers(&self) -> impl Iterator<Item = WorkerMetrics> {
        (0..self.num_workers()).map(|i| self.worker(i))
    }

    /// Returns what each dispatcher has done: the workers as `default`, and every view that exists.
    ///
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// rt.block_on(async {
    ///     let one = tress::dispatch::default().limited_parallelism(1);
    ///     tress::dispatch::spawn_on(&one, async {}).await.unwrap();
    ///     let all = tress::runtime::Handle::current().metrics().dispatchers();
    ///     assert_eq!(all[0].name, "default");
    ///     assert_eq!((all[1].parallelism, all[1].tasks_submitted), (1, 1));
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn dispatchers(&self) -> Vec<DispatcherMetrics> {
        let awake = self.shared.scheduler.awake();
        let completed = self.shared.scheduler.frame().outside_completed.get();
        #[cfg_attr(loom, allow(unused_mut))]
        let mut all = vec![DispatcherMetrics {
            name: "default".into(),
            parallelism: self.num_workers(),
            running: awake,
            queue_depth: self.global_queue_depth()
                + self.workers().map(|w| w.queue_depth).sum::<usize>(),
            tasks_submitted: self.spawned_tasks_count(),
            tasks_completed: completed + self.workers().map(|w| w.tasks_completed).sum::<u64>(),
            tasks_polled: self.total_polled(),
        }];
        #[cfg(not(loom))]
        all.extend(
            self.shared
                .views
                .stats()
                .unwrap_or_default()
                .into_iter()
                .map(|view| {
                    let (queue_depth, running) = view.now.unwrap_or_default();
                    DispatcherMetrics {
                        name: view.name,
                        parallelism: view.limit,
                        running,
                        queue_depth,
                        tasks_submitted: view.submitted,
                        tasks_completed: view.completed,
                        tasks_polled: view.polled,
                    }
                }),
        );
        all
    }

    /// Returns what the tasks of each name have done, in the order of the names.
    ///
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// rt.block_on(async {
    ///     tress::task::Builder::new().name("adder").spawn(async { 1 + 1 })?.await.unwrap();
    ///     let names = tress::runtime::Handle::current().metrics().names();
    ///     assert_eq!((names[0].name.as_str(), names[0].tasks_submitted), ("adder", 1));
    ///     # Ok::<(), std::io::Error>(())
    /// })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn names(&self) -> Vec<NameMetrics> {
        let all = self.shared.names.all().unwrap_or_default();
        let one = |name: &Arc<Name>| NameMetrics {
            name: name.text().to_owned(),
            tasks_submitted: name.submitted.get(),
            tasks_completed: name.completed.get(),
            tasks_polled: name.polled.get(),
            avg_run_ticks: name.mean_ns(),
            max_run_ticks: name.max_ns(),
        };
        all.iter().map(one).collect()
    }

    /// Adds the metrics of all sections.
    fn add_sections(&self, samples: &mut Samples) {
        for section in self.shared.sections.all().unwrap_or_default() {
            section.metrics(samples);
        }
    }

    /// Returns the number of tasks that have been spawned and have not finished.
    pub fn num_alive_tasks(&self) -> usize {
        self.shared.scheduler.alive() as usize
    }

    /// Returns the number of tasks spawned since the runtime was built.
    pub fn spawned_tasks_count(&self) -> u64 {
        let outside = self.shared.scheduler.frame().outside_spawned();
        outside + self.workers().map(|w| w.tasks_submitted).sum::<u64>()
    }

    /// Returns the number of polls by all workers.
    pub fn total_polled(&self) -> u64 {
        self.workers().map(|w| w.tasks_polled).sum()
    }

    /// Returns the number of tasks stolen by all workers.
    pub fn total_stolen(&self) -> u64 {
        self.workers().map(|w| w.tasks_stolen).sum()
    }

    /// Returns the number of times any worker parked.
    pub fn total_parked(&self) -> u64 {
        self.workers().map(|w| w.park_events).sum()
    }

    /// Returns the number of operations that all workers have given to io_uring: reads and writes with owned buffers,
    /// receives into a pool, and those of files that the page cache did not serve. 0 with another backend.
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

    /// Returns the number of tasks in the global queue now.
    pub fn global_queue_depth(&self) -> usize {
        self.shared.scheduler.frame().inject.len()
    }

    /// Returns the number of tasks queued by threads that are not workers of the runtime.
    pub fn remote_schedule_count(&self) -> u64 {
        self.shared.scheduler.frame().inject.outside_pushes()
    }

    /// Returns the number of times a task was made to yield because its budget was used up.
    pub fn budget_forced_yield_count(&self) -> u64 {
        self.shared.forced_yields.get()
    }

    /// Returns the number of times a worker thread could not be started.
    pub fn worker_start_failures(&self) -> u64 {
        self.shared.scheduler.start_failures()
    }

    /// Returns the number of threads of the blocking pool.
    pub fn num_blocking_threads(&self) -> usize {
        self.shared.blocking.metrics().threads
    }

    /// Returns the number of threads of the blocking pool that wait for something to do.
    pub fn num_idle_blocking_threads(&self) -> usize {
        self.shared.blocking.metrics().idle
    }

    /// Returns the number of closures that wait for a thread of the blocking pool.
    pub fn blocking_queue_depth(&self) -> usize {
        self.shared.blocking.metrics().queued
    }

    /// Returns what the I/O drivers of all workers together have done and have under way; all zero before the first
    /// source has had to wait.
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
        self.shared.rests().map(|rest| rest.io.metrics()).sum()
    }

    /// Returns the number of times a worker parked; at least 1 once the runtime has shut down.
    #[track_caller]
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.stats(worker).0.parked.get()
    }

    /// Returns the number of times a worker parked or unparked: odd while it is parked.
    #[track_caller]
    pub fn worker_park_unpark_count(&self, worker: usize) -> u64 {
        self.stats(worker).0.park_unpark.get()
    }

    /// Returns the time that a worker has spent running tasks.
    #[track_caller]
    pub fn worker_total_busy_duration(&self, worker: usize) -> Duration {
        self.worker(worker).busy
    }

    /// Returns the thread that runs a worker, once it has one.
    #[track_caller]
    pub fn worker_thread_id(&self, worker: usize) -> Option<ThreadId> {
        let _ = self.stats(worker);
        *self.shared.scheduler.station(worker).thread.lock()
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
