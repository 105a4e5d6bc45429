mod fields;
pub(crate) mod histogram;
mod samples;
mod text;

#[cfg(all(test, not(loom)))]
mod tests;

pub use histogram::{
    HistogramConfiguration, HistogramScale, InvalidHistogramConfiguration, LogHistogram,
    LogHistogramBuilder,
};
pub use samples::Samples;

use super::Shared;
use crate::identity::Name;
use crate::scheduler::{Io, WorkerStats};
use histogram::Histogram;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Duration;

/// A view of what a runtime has done, always up to date.
///
/// Each counter is written by one thread and costs next to nothing; reading them disturbs no thread.
/// Counters are monotonic, and a sum over workers may be slightly out of date.
///
/// # Examples
/// ```
/// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
/// rt.block_on(async {
///     tress::spawn(async {}).await.unwrap();
/// });
/// let metrics = rt.metrics();
/// assert_eq!(metrics.num_workers(), 2);
/// assert_eq!(metrics.spawned_tasks_count(), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct RuntimeMetrics {
    shared: Arc<Shared>,
}

// Counters have no invariant that a panic could break.
impl std::panic::UnwindSafe for RuntimeMetrics {}
impl std::panic::RefUnwindSafe for RuntimeMetrics {}

/// Counters of one worker; returned by [`RuntimeMetrics::worker`].
///
/// A *tick* is a nanosecond.
///
/// # Examples
/// ```
/// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
/// rt.block_on(rt.spawn(async { tress::spawn(async {}).await })).unwrap().unwrap();
/// let worker = rt.metrics().worker(0);
/// assert_eq!(worker.tasks_submitted, 1); // the other was spawned by this thread
/// println!("{} polls took {:?}", worker.tasks_polled, worker.busy);
/// # Ok::<(), std::io::Error>(())
/// ```
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

/// Counters of one dispatcher; returned by [`RuntimeMetrics::dispatchers`].
///
/// See [`dispatch`](crate::dispatch).
///
/// # Examples
/// ```
/// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
/// rt.block_on(rt.spawn(async {})).unwrap();
/// let workers = &rt.metrics().dispatchers()[0];
/// assert_eq!(workers.name, "default");
/// assert_eq!((workers.parallelism, workers.tasks_submitted), (2, 1));
/// # Ok::<(), std::io::Error>(())
/// ```
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

/// Counters of all tasks of one [name](crate::task::Builder::name); returned by [`RuntimeMetrics::names`].
///
/// 1,024 names are told apart; the tasks of all others are counted together, as `(other)`. Tasks of a
/// [`LocalSet`](crate::task::LocalSet) are not counted by name.
///
/// # Examples
/// ```
/// use tress::task::Builder;
///
/// let rt = tress::runtime::Runtime::new()?;
/// for _ in 0..3 {
///     let task = Builder::new().name("worker").spawn_on(async {}, rt.handle())?;
///     rt.block_on(task).unwrap();
/// }
/// let names = rt.metrics().names();
/// assert_eq!((names[0].name.as_str(), names[0].tasks_submitted), ("worker", 3));
/// # Ok::<(), std::io::Error>(())
/// ```
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
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(3).build()?;
    /// assert_eq!(rt.metrics().num_workers(), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn num_workers(&self) -> usize {
        self.shared.scheduler.workers()
    }

    /// Returns the counters of one worker.
    ///
    /// # Panics
    /// Panics if `worker` is not less than [`num_workers`](RuntimeMetrics::num_workers).
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// let metrics = rt.metrics();
    /// for worker in (0..metrics.num_workers()).map(|index| metrics.worker(index)) {
    ///     println!("{} tasks wait", worker.queue_depth);
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn worker(&self, worker: usize) -> WorkerMetrics {
        let stats = self.stats(worker);
        let depth = self.shared.scheduler.queue_depth(worker);
        WorkerMetrics::read(stats, depth, self.io_of(worker))
    }

    fn io_of(&self, worker: usize) -> &Io {
        &self.shared.scheduler.station(worker).rest.io
    }

    #[track_caller]
    fn stats(&self, worker: usize) -> &WorkerStats {
        let n = self.num_workers();
        assert!(
            worker < n,
            "there is no worker {worker}: the runtime has {n}"
        );
        &self.shared.scheduler.station(worker).stats
    }

    fn workers(&self) -> impl Iterator<Item = WorkerMetrics> {
        (0..self.num_workers()).map(|i| self.worker(i))
    }

    /// Returns the counters of each dispatcher: the workers as `default`, and every view that exists.
    ///
    /// # Examples
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
        #[cfg_attr(
            any(loom, not(feature = "extra")),
            allow(unused_mut, reason = "nothing is added")
        )]
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
        #[cfg(all(feature = "extra", not(loom)))]
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

    /// Returns the counters of the tasks of each name, in the order of the names.
    ///
    /// # Examples
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
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// rt.spawn(std::future::pending::<()>());
    /// assert_eq!(rt.metrics().num_alive_tasks(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn num_alive_tasks(&self) -> usize {
        self.shared.scheduler.alive() as usize
    }

    /// Returns the number of tasks spawned since the runtime was built.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// for _ in 0..3 {
    ///     rt.block_on(rt.spawn(async {})).unwrap();
    /// }
    /// assert_eq!(rt.metrics().spawned_tasks_count(), 3);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn spawned_tasks_count(&self) -> u64 {
        let outside = self.shared.scheduler.frame().outside_spawned();
        outside + self.workers().map(|w| w.tasks_submitted).sum::<u64>()
    }

    /// Returns the number of polls by all workers.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// rt.block_on(rt.spawn(tress::task::yield_now())).unwrap();
    /// let metrics = rt.metrics();
    /// drop(rt);
    /// assert_eq!(metrics.total_polled(), 2);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn total_polled(&self) -> u64 {
        self.workers().map(|w| w.tasks_polled).sum()
    }

    /// Returns the number of tasks stolen by all workers.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// assert_eq!(rt.metrics().total_stolen(), 0); // there is no other worker
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn total_stolen(&self) -> u64 {
        self.workers().map(|w| w.tasks_stolen).sum()
    }

    /// Returns the number of times any worker parked.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// println!("workers went to sleep {} times", rt.metrics().total_parked());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn total_parked(&self) -> u64 {
        self.workers().map(|w| w.park_events).sum()
    }

    /// Returns the number of operations that all workers have given to io_uring.
    ///
    /// These are reads and writes with owned buffers, receives into a pool, and those of files that the page
    /// cache did not serve. With another backend there are none.
    ///
    /// # Examples
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

    /// Returns the number of tasks that wait in the global queue.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread().build()?;
    /// // No thread is in `block_on`: the task waits.
    /// let task = rt.spawn(async {});
    /// assert_eq!(rt.metrics().global_queue_depth(), 1);
    /// rt.block_on(task).unwrap();
    /// assert_eq!(rt.metrics().global_queue_depth(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn global_queue_depth(&self) -> usize {
        self.shared.scheduler.frame().inject.len()
    }

    /// Returns the number of tasks queued by threads that are not workers of the runtime.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// assert_eq!(rt.metrics().remote_schedule_count(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn remote_schedule_count(&self) -> u64 {
        self.shared.scheduler.frame().inject.outside_pushes()
    }

    /// Returns the number of times a task was made to yield because its budget was used up.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread().task_budget(10).build()?;
    /// rt.block_on(async {
    ///     for _ in 0..11 {
    ///         tress::task::consume_budget().await;
    ///     }
    /// });
    /// assert_eq!(rt.metrics().budget_forced_yield_count(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn budget_forced_yield_count(&self) -> u64 {
        self.shared.forced_yields.get()
    }

    /// Returns the number of times a worker thread could not be started.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// if rt.metrics().worker_start_failures() > 0 {
    ///     eprintln!("the limit of threads is too low");
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn worker_start_failures(&self) -> u64 {
        self.shared.scheduler.start_failures()
    }

    /// Returns the number of threads of the blocking pool.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_current_thread().build()?;
    /// assert_eq!(rt.metrics().num_blocking_threads(), 0);
    /// rt.block_on(rt.spawn_blocking(|| ())).unwrap();
    /// assert_eq!(rt.metrics().num_blocking_threads(), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn num_blocking_threads(&self) -> usize {
        self.shared.blocking.metrics().threads
    }

    /// Returns the number of threads of the blocking pool that wait for something to do.
    ///
    /// # Examples
    /// ```
    /// use tress::runtime::Handle;
    ///
    /// let rt = tress::runtime::Builder::new_current_thread().build()?;
    /// let inside = rt.spawn_blocking(|| Handle::current().metrics().num_idle_blocking_threads());
    /// assert_eq!(rt.block_on(inside).unwrap(), 0); // its only thread was busy with the question
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn num_idle_blocking_threads(&self) -> usize {
        self.shared.blocking.metrics().idle
    }

    /// Returns the number of closures that wait for a thread of the blocking pool.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let rt = tress::runtime::Builder::new_current_thread().max_blocking_threads(1).build()?;
    /// let (release, released) = mpsc::channel::<()>();
    /// let (tell, told) = mpsc::channel();
    /// rt.spawn_blocking(move || {
    ///     tell.send(()).unwrap();
    ///     released.recv().unwrap();
    /// });
    /// told.recv().unwrap();
    /// rt.spawn_blocking(|| ()); // waits for the first
    /// assert_eq!(rt.metrics().blocking_queue_depth(), 1);
    /// # release.send(()).unwrap();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn blocking_queue_depth(&self) -> usize {
        self.shared.blocking.metrics().queued
    }

    /// Returns the counters of the I/O drivers of all workers together.
    ///
    /// All are zero before the first source has had to wait.
    ///
    /// # Examples
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

    /// Returns the number of times that a worker parked; at least 1 once the runtime has shut down.
    ///
    /// # Panics
    /// Panics if `worker` is not less than [`num_workers`](RuntimeMetrics::num_workers).
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// let metrics = rt.metrics();
    /// drop(rt);
    /// assert!(metrics.worker_park_count(0) >= 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.stats(worker).parked.get()
    }

    /// Returns the number of times that a worker parked or unparked, which is odd while it is parked.
    ///
    /// # Panics
    /// Panics if `worker` is not less than [`num_workers`](RuntimeMetrics::num_workers).
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// let metrics = rt.metrics();
    /// println!("asleep: {}", metrics.worker_park_unpark_count(0) % 2 == 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn worker_park_unpark_count(&self, worker: usize) -> u64 {
        self.stats(worker).park_unpark.get()
    }

    /// Returns the time that a worker has spent running tasks.
    ///
    /// # Panics
    /// Panics if `worker` is not less than [`num_workers`](RuntimeMetrics::num_workers).
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Runtime::new()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// let metrics = rt.metrics();
    /// for worker in 0..metrics.num_workers() {
    ///     println!("worker {worker}: {:?}", metrics.worker_total_busy_duration(worker));
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn worker_total_busy_duration(&self, worker: usize) -> Duration {
        self.worker(worker).busy
    }

    /// Returns the number of polls by a worker.
    ///
    /// # Panics
    /// If there are not that many workers.
    #[track_caller]
    pub fn worker_poll_count(&self, worker: usize) -> u64 {
        self.stats(worker).polled.get()
    }

    /// Returns the moving average of the time that a poll of a worker takes.
    ///
    /// # Panics
    /// If there are not that many workers.
    #[track_caller]
    pub fn worker_mean_poll_time(&self, worker: usize) -> Duration {
        Duration::from_nanos(self.stats(worker).mean_poll_ns.get())
    }

    /// Returns the number of tasks in the queue of a worker now, without the one in its LIFO slot.
    ///
    /// [`WorkerMetrics::queue_depth`] counts that one, too.
    ///
    /// # Panics
    /// If there are not that many workers.
    #[track_caller]
    pub fn worker_local_queue_depth(&self, worker: usize) -> usize {
        let _ = self.stats(worker);
        self.shared.scheduler.local_queue_depth(worker)
    }

    /// Returns the number of tasks that a worker has queued on itself.
    ///
    /// # Panics
    /// If there are not that many workers.
    #[track_caller]
    pub fn worker_local_schedule_count(&self, worker: usize) -> u64 {
        self.stats(worker).local_schedules.get()
    }

    /// Returns the number of times that the queue of a worker overflowed into the global one.
    ///
    /// # Panics
    /// If there are not that many workers.
    #[track_caller]
    pub fn worker_overflow_count(&self, worker: usize) -> u64 {
        self.stats(worker).overflows.get()
    }

    /// Returns the number of tasks that a worker has taken from others.
    ///
    /// # Panics
    /// If there are not that many workers.
    #[track_caller]
    pub fn worker_steal_count(&self, worker: usize) -> u64 {
        self.stats(worker).stolen.get()
    }

    /// Returns the number of times that a worker has taken tasks from another one, one or many at a time.
    ///
    /// # Panics
    /// If there are not that many workers.
    #[track_caller]
    pub fn worker_steal_operations(&self, worker: usize) -> u64 {
        self.stats(worker).steals.get()
    }

    /// Returns the number of times that a worker parked without having polled a task since it parked last, or since it
    /// started.
    ///
    /// # Panics
    /// If there are not that many workers.
    #[track_caller]
    pub fn worker_noop_count(&self, worker: usize) -> u64 {
        self.stats(worker).idle_parks.get()
    }

    /// Returns whether the workers [time every poll](crate::runtime::Builder::enable_metrics_poll_time_histogram).
    pub fn poll_time_histogram_enabled(&self) -> bool {
        self.poll_times(0).is_some()
    }

    /// Returns the number of buckets of each worker's histogram of poll times; 0 if there is none.
    pub fn poll_time_histogram_num_buckets(&self) -> usize {
        self.poll_times(0).map_or(0, Histogram::buckets)
    }

    /// Returns which durations count in a bucket; an empty range if there are no histograms.
    ///
    /// # Panics
    /// If there are not that many buckets.
    #[track_caller]
    pub fn poll_time_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        match self.poll_times(0) {
            Some(histogram) => histogram.range(bucket),
            None => Range::default(),
        }
    }

    /// Returns the number of polls by a worker that count in a bucket; 0 if there are no histograms.
    ///
    /// # Panics
    /// If there are not that many workers or buckets.
    #[track_caller]
    pub fn poll_time_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        match self.poll_times(worker) {
            Some(histogram) => histogram.get(bucket),
            None => 0,
        }
    }

    #[track_caller]
    fn poll_times(&self, worker: usize) -> Option<&Histogram> {
        self.stats(worker).poll_times.get()
    }

    /// Returns whether the workers
    /// [count how long tasks wait](crate::runtime::Builder::enable_metrics_schedule_latency_histogram).
    pub fn schedule_latency_histogram_enabled(&self) -> bool {
        self.latencies(0).is_some()
    }

    /// Returns the number of buckets of each worker's histogram of schedule latencies; 0 if there is none.
    pub fn schedule_latency_histogram_num_buckets(&self) -> usize {
        self.latencies(0).map_or(0, Histogram::buckets)
    }

    /// Returns which durations count in a bucket; an empty range if there are no histograms.
    ///
    /// # Panics
    /// If there are not that many buckets.
    #[track_caller]
    pub fn schedule_latency_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        match self.latencies(0) {
            Some(histogram) => histogram.range(bucket),
            None => Range::default(),
        }
    }

    /// Returns the number of polls by a worker whose tasks had waited for a time in that bucket; 0 if there are no
    /// histograms.
    ///
    /// # Panics
    /// If there are not that many workers or buckets.
    #[track_caller]
    pub fn schedule_latency_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        match self.latencies(worker) {
            Some(histogram) => histogram.get(bucket),
            None => 0,
        }
    }

    #[track_caller]
    fn latencies(&self, worker: usize) -> Option<&Histogram> {
        self.stats(worker).schedule_latencies.get()
    }

    /// An older name.
    #[doc(hidden)]
    #[deprecated = "use `poll_time_histogram_enabled`"]
    pub fn poll_count_histogram_enabled(&self) -> bool {
        self.poll_time_histogram_enabled()
    }

    /// An older name.
    #[doc(hidden)]
    #[deprecated = "use `poll_time_histogram_num_buckets`"]
    pub fn poll_count_histogram_num_buckets(&self) -> usize {
        self.poll_time_histogram_num_buckets()
    }

    /// An older name.
    #[doc(hidden)]
    #[deprecated = "use `poll_time_histogram_bucket_range`"]
    #[track_caller]
    pub fn poll_count_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        self.poll_time_histogram_bucket_range(bucket)
    }

    /// An older name.
    #[doc(hidden)]
    #[deprecated = "use `poll_time_histogram_bucket_count`"]
    #[track_caller]
    pub fn poll_count_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.poll_time_histogram_bucket_count(worker, bucket)
    }

    /// Returns the number of sources, such as sockets, that the I/O drivers have got to know so far.
    ///
    /// A source becomes known when a task first has to wait for it.
    #[cfg(feature = "driver")]
    pub fn io_driver_fd_registered_count(&self) -> u64 {
        let io = self.io();
        io.registered as u64 + io.deregistered
    }

    /// Returns the number of sources that the I/O drivers knew and do not know any more.
    #[cfg(feature = "driver")]
    pub fn io_driver_fd_deregistered_count(&self) -> u64 {
        self.io().deregistered
    }

    /// Returns the number of readiness events and completions that the I/O drivers have handled.
    #[cfg(feature = "driver")]
    pub fn io_driver_ready_count(&self) -> u64 {
        self.io().events
    }

    /// Returns the number of tasks that have not finished.
    #[doc(hidden)]
    #[deprecated = "use `num_alive_tasks`"]
    pub fn active_tasks_count(&self) -> usize {
        self.num_alive_tasks()
    }

    /// Returns the number of tasks in the global queue.
    #[doc(hidden)]
    #[deprecated = "use `global_queue_depth`"]
    pub fn injection_queue_depth(&self) -> usize {
        self.global_queue_depth()
    }

    /// Returns the id of the thread that runs a worker, or `None` if it has not started.
    ///
    /// # Panics
    /// Panics if `worker` is not less than [`num_workers`](RuntimeMetrics::num_workers).
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    /// let thread = rt.block_on(rt.spawn(async { std::thread::current().id() })).unwrap();
    /// assert_eq!(rt.metrics().worker_thread_id(0), Some(thread));
    /// # Ok::<(), std::io::Error>(())
    /// ```
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
