//! What every scheduler has, whatever loop runs its tasks.
//!
//! A scheduler is a [`Frame`], a [`Station`] for each worker, and a *loop* that decides which task runs where and
//! when. There are two loops: [`Multi`](super::Multi), whose workers are threads that steal from each other, and
//! [`Current`](super::Current), whose one worker is the thread in `block_on`. A loop implements the trait [`Loop`];
//! whatever can be answered from the frame and the stations is answered there, once for all loops.
//!
//! A loop knows tasks only as [`Ready`](crate::task::Ready). Making one from a future is up to the caller: it asks
//! for a [`Place`] and gives the task to that.

use super::inject::Inject;
use super::monitor::Monitor;
use super::outside::{Door, Outside};
use super::place::Place;
use super::rest::Rest;
use super::stats::WorkerStats;
use super::{Config, Scheduler};
use crate::runtime::Shared;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicBool;
use crate::sys::{Counter, Mutex};
use crate::task::{Owner, Ready, TaskRef};
use crate::timer::Timers;
use std::io;
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Instant;
use std::vec::Drain;

/// See the module documentation.
pub(crate) struct Frame {
    pub(crate) config: Config,
    pub(crate) inject: Inject,
    /// Tasks spawned by threads that run no tasks of this scheduler.
    pub(super) outside: Outside,
    /// Tasks of the blocking pool, to which shutdown leaves them.
    blocking: Outside,
    /// Tasks completed outside of a worker. Many threads write it.
    pub(crate) outside_completed: Counter,
    closing: AtomicBool,
    monitor: Option<Monitor>,
}

impl Frame {
    /// Creates a frame. With `monitored` it has a monitor even if slow polls need not be reported.
    pub(super) fn new(config: Config, monitored: bool) -> io::Result<Frame> {
        let slow_polls = config.slow_polls.as_ref();
        let monitor = (monitored || slow_polls.is_some()).then(|| Monitor::new(slow_polls));
        Ok(Frame {
            monitor: monitor.transpose()?,
            config,
            inject: Inject::new(),
            outside: Outside::new(),
            blocking: Outside::new(),
            outside_completed: Counter::default(),
            closing: AtomicBool::new(false),
        })
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Refuses new tasks from outside, and stops the monitor. Returns false if that was done before.
    pub(super) fn begin_closing(&self) -> bool {
        if self.closing.swap(true, Ordering::AcqRel) {
            return false;
        }
        self.outside.close();
        if let Some(monitor) = &self.monitor {
            monitor.stop();
        }
        true
    }

    /// Ends the ownership of what no worker owns, once all tasks are over. The caller holds the runtime.
    pub(super) fn retire(&self) {
        self.outside.retire();
        self.blocking.retire();
    }

    pub(super) fn is_monitored(&self) -> bool {
        self.monitor.is_some()
    }

    /// Starts the monitor's thread, if there is a monitor.
    pub(crate) fn start_monitor(&self, shared: &Arc<Shared>) {
        if let Some(monitor) = &self.monitor {
            monitor.start(shared);
        }
    }

    /// Notes that a worker is awake.
    #[inline]
    pub(super) fn watch(&self) {
        if let Some(monitor) = &self.monitor {
            monitor.watch();
        }
    }

    /// Returns where a task of the blocking pool is made. If the pool is closed, the pool reports it.
    pub(crate) fn place_blocking(&self) -> Door<'_> {
        self.blocking.enter(1)
    }

    pub(crate) fn outside_spawned(&self) -> u64 {
        self.outside.spawned()
    }
}

/// What all threads may see of a worker, whatever loop it runs.
pub(crate) struct Station {
    pub(super) owner: Owner<Scheduler>,
    pub(crate) rest: Arc<Rest>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) stats: WorkerStats,
    /// The thread that runs it, for metrics.
    pub(crate) thread: Mutex<Option<ThreadId>>,
}

impl Station {
    pub(super) fn new(rest: Arc<Rest>, timers: Timers) -> Station {
        Station {
            owner: Owner::new(),
            rest,
            timers: Arc::new(timers),
            stats: WorkerStats::default(),
            thread: Mutex::new(None),
        }
    }
}

/// The worker whose timers and I/O a thread uses: its own, or another one, which has to be told of additions.
pub(crate) struct Seat<'a> {
    pub(super) station: &'a Station,
    pub(super) is_here: bool,
}

impl<'a> Seat<'a> {
    pub(super) fn here(station: &'a Station) -> Seat<'a> {
        Seat {
            station,
            is_here: true,
        }
    }

    pub(super) fn elsewhere(station: &'a Station) -> Seat<'a> {
        Seat {
            station,
            is_here: false,
        }
    }
}

/// What a loop has to provide, and what can be derived from that.
pub(crate) trait Loop {
    fn frame(&self) -> &Frame;

    fn workers(&self) -> usize;

    fn station(&self, worker: usize) -> &Station;

    /// Returns how many ready tasks a worker has queued for itself.
    fn queue_depth(&self, worker: usize) -> usize;

    /// Returns how many of them are not in the LIFO slot.
    fn local_queue_depth(&self, worker: usize) -> usize;

    fn is_awake(&self, worker: usize) -> bool;

    /// Returns whether no worker is awake, for the monitor.
    fn all_are_asleep(&self) -> bool;

    /// Returns whether this thread runs tasks of this scheduler.
    fn runs_here(&self, shared: &Shared) -> bool;

    /// Returns where this thread makes that many tasks.
    fn place<'a>(&'a self, shared: &Shared, tasks: usize) -> Place<'a>;

    /// As `place`, but treats this thread as one that runs no tasks of this scheduler.
    fn place_outside(&self, tasks: usize) -> Place<'_>;

    /// As `place`, for a task that must stay with this thread's worker. Returns `None` on a thread that is not a
    /// worker.
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    fn place_bound<'a>(
        &'a self,
        shared: &Shared,
    ) -> Option<(Place<'a>, Option<super::pinned::Pinned>)>;

    /// Queues a task that another thread has made ready.
    fn push_outside(&self, task: Ready);

    /// As `push_outside`, for many tasks.
    fn push_batch_outside(&self, tasks: Drain<'_, Ready>);

    /// Returns the worker whose timers and I/O this thread uses.
    ///
    /// # Errors
    /// There is no worker that could look after them.
    fn seat<'a>(&'a self, shared: &Shared) -> io::Result<Seat<'a>>;

    /// Starts the workers' threads now, as many as can be. Otherwise they start when they are needed.
    ///
    /// # Errors
    /// No thread could be started at all.
    fn start(&self) -> io::Result<()>;

    /// Returns how many times a worker thread could not be started.
    fn start_failures(&self) -> u64;

    /// Fires the timers that a change of the clock has made due.
    fn fire_timers(&self, shared: &Shared);

    /// Helps workers that have been in one poll since the last look. `polled` is what that look saw.
    fn look_after_the_stuck(&self, polled: &mut Vec<Option<u64>>);

    /// Refuses new tasks, drops all that it can, and waits for the worker threads until the deadline. Returns true if
    /// they have finished.
    fn stop(&self, shared: &Arc<Shared>, deadline: Option<Instant>) -> bool;

    /// Waits until threads that have finished are gone.
    fn join_threads(&self);

    /// Returns everything that owns tasks which a worker may run.
    fn owners(&self) -> Vec<&Owner<Scheduler>> {
        let workers = (0..self.workers()).map(|worker| &self.station(worker).owner);
        workers.chain([self.frame().outside.owner()]).collect()
    }

    /// Tells the owners what they are part of.
    fn adopt(&self, shared: &Arc<Shared>) {
        let stamped = shared.tracks_latency();
        for owner in self.owners() {
            owner.set_whole(shared);
            if stamped {
                owner.stamp_tasks();
            }
        }
        self.frame().blocking.owner().set_whole(shared);
    }

    /// Returns how many workers are not asleep.
    fn awake(&self) -> usize {
        let awake = |worker: &usize| self.is_awake(*worker);
        (0..self.workers()).filter(awake).count()
    }

    /// Tasks spawned and not completed.
    fn alive(&self) -> u64 {
        let sum = |count: fn(&WorkerStats) -> u64| {
            let workers = (0..self.workers()).map(|worker| count(&self.station(worker).stats));
            workers.sum::<u64>()
        };
        // Completions first: a task completed between the two sums must not be missing from both.
        let completed = sum(|stats| stats.completed.get()) + self.frame().outside_completed.get();
        let spawned = sum(|stats| stats.spawned.get()) + self.frame().outside_spawned();
        spawned.saturating_sub(completed)
    }

    fn live_tasks(&self) -> Vec<TaskRef> {
        let owners = self.owners().into_iter();
        owners
            .flat_map(|owner| owner.live_tasks())
            .filter(|task| !task.is_complete())
            .collect()
    }

    /// As `live_tasks`, with those of the blocking pool, without waiting for a lock: returns false if some are
    /// missing.
    fn try_live_tasks(&self, tasks: &mut Vec<TaskRef>) -> bool {
        let mut whole = self.try_blocking_tasks(tasks);
        for owner in self.owners() {
            whole &= owner.try_live_tasks(tasks);
        }
        whole
    }

    /// Adds those of the blocking pool alone.
    fn try_blocking_tasks(&self, tasks: &mut Vec<TaskRef>) -> bool {
        self.frame().blocking.owner().try_live_tasks(tasks)
    }
}
