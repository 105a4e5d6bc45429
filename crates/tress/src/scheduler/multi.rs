//! The multi-thread scheduler's shared part: what every thread can reach.

mod threads;

use self::threads::Threads;
use super::Config;
use super::idle::IdleSet;
use super::inject::Inject;
use super::lifo::LifoSlot;
use super::monitor::Monitor;
use super::outside::Outside;
use super::queue::{self, Steal};
use super::rest::{Io, Rest};
use super::stats::{Counter, WorkerStats};
use super::worker::{Core, Worker};
use crate::runtime::{Shared, context};
use crate::sys::{CachePadded, Mutex, SeedGenerator};
use crate::task::{
    self, AnyOwner, Id, JoinHandle, Origin, Owner, Parent, Ready, Roaming, Source, TaskRef, Woken,
};
use crate::time::{Armed, Timers};
use std::future::Future;
use std::io;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::time::Instant;

pub(crate) struct Multi {
    pub(crate) config: Config,
    pub(crate) remotes: Box<[CachePadded<Remote>]>,
    pub(crate) inject: Inject,
    pub(crate) idle: IdleSet,
    pub(super) monitor: Monitor,
    /// Tasks spawned by threads that are no workers of this runtime.
    pub(super) outside: Outside<Multi>,
    /// Tasks of the blocking pool: shutdown leaves them to the pool.
    blocking: Outside<Multi>,
    /// Completed outside of a worker. Many writers.
    pub(crate) outside_completed: Counter,
    pub(super) monitor_timers_fired: Counter,
    closing: AtomicBool,
    /// Cores not yet put away by shutdown.
    cores_left: AtomicUsize,
    /// Tasks polled by threads that gave their core away.
    pub(super) in_place: AtomicUsize,
    /// Next worker whose timers or I/O a thread from outside uses.
    next_turn: AtomicUsize,
    /// Tasks that may wait in the global queue before a thread that is no worker wakes another worker
    /// for them, although one is awake. None, where there are cores to spare.
    pub(super) patience: AtomicUsize,
    /// Held while a worker lends its driver.
    lending: Mutex<()>,
    threads: Threads,
}

/// What the others see of a worker.
pub(crate) struct Remote {
    pub(super) steal: Steal,
    pub(super) lifo: LifoSlot,
    /// Tasks pinned to this worker that others made ready. Nobody steals from here.
    pub(super) mail: Inject,
    /// How many more of them the worker itself has queued; see `Core::pinned_ready`.
    pub(super) pinned_ready: Counter,
    /// How many tasks are pinned to it, ready or not.
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    pub(super) pinned: Counter,
    pub(super) owner: Owner<Multi>,
    pub(crate) rest: Arc<Rest>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) stats: WorkerStats,
    /// The core, while no thread has it: before the worker first runs, and in `block_in_place`.
    pub(super) core: AtomicPtr<Core>,
    /// A thread runs it, or is about to. See `threads.rs`.
    started: AtomicBool,
    /// The thread that runs it, for metrics.
    pub(crate) thread: Mutex<Option<std::thread::ThreadId>>,
}

impl Remote {
    /// Tasks in the worker's queue.
    pub(crate) fn queue_depth(&self) -> usize {
        self.steal.len() as usize
            + usize::from(!self.lifo.is_empty())
            + self.mail.len()
            + self.pinned_ready.get() as usize
    }
}

impl Remote {
    /// What is where, for people.
    pub(crate) fn queues(&self) -> String {
        let lifo = if self.lifo.is_empty() {
            "empty"
        } else {
            "full"
        };
        format!(
            "{} tasks in the ring, LIFO slot {lifo}, {} bound to this worker",
            self.steal.len(),
            self.mail.len()
        )
    }
}

impl Parent for Multi {
    type Whole = Shared;

    #[inline]
    fn schedule(task: Woken<Multi>) {
        let pinned = task.header().pinned();
        match current_worker(task.parent()).and_then(|worker| Some((worker, worker.core()?))) {
            Some((worker, core)) if pinned.is_none() => core.schedule(worker, task.into_ready()),
            Some((worker, core)) if pinned == Some(core.index()) => {
                core.schedule_pinned(&worker.multi().remotes[core.index()], task.into_ready());
            }
            _ => {
                // Subtle: as soon as the task is in the queue it can run, finish, and take the runtime's last
                // reference with it, while we still have to wake a worker.
                let shared = task.hold();
                shared.multi().push_outside(task.into_ready(), pinned);
            }
        }
    }
}

// SAFETY: what `spawn` takes is `Send`, or pinned to a worker, in whose queue alone it then is.
unsafe impl Roaming for Multi {}

/// The worker of this runtime that the calling thread is.
#[inline]
pub(super) fn current_worker<'a>(shared: *const Shared) -> Option<&'a Worker> {
    // The closure stays this small so that it is inlined: a call through the key costs nanoseconds.
    let worker = context::with(|cx| cx.worker.get());
    // SAFETY: set by a worker thread for as long as its `Worker` lives on that thread's stack, below
    // everything that can call this.
    unsafe { worker.as_ref() }.filter(|worker| ptr::eq(worker.shared(), shared))
}

impl Multi {
    pub(crate) fn new(
        config: Config,
        start: Instant,
        seeds: &SeedGenerator,
        io: impl Fn() -> Io,
    ) -> io::Result<Multi> {
        let remotes = (0..config.workers)
            .map(|index| {
                let (local, steal) = queue::ring();
                let core = Box::new(Core::new(index, local, seeds.next_seed(), &config));
                let rest = Arc::new(Rest::new(io()));
                CachePadded::new(Remote {
                    steal,
                    lifo: LifoSlot::new(),
                    mail: Inject::new(),
                    pinned_ready: Counter::default(),
                    #[cfg(all(feature = "coroutine", unix, not(loom)))]
                    pinned: Counter::default(),
                    owner: Owner::new(),
                    timers: Arc::new(Timers::new(start, rest.clone())),
                    rest,
                    stats: WorkerStats::default(),
                    core: AtomicPtr::new(Box::into_raw(core)),
                    started: AtomicBool::new(false),
                    thread: Mutex::new(None),
                })
            })
            .collect();
        Ok(Multi {
            idle: IdleSet::all_parked(config.workers),
            monitor: Monitor::new(config.slow_polls.as_ref())?,
            remotes,
            inject: Inject::new(),
            outside: Outside::new(),
            blocking: Outside::new(),
            outside_completed: Counter::default(),
            monitor_timers_fired: Counter::default(),
            closing: AtomicBool::new(false),
            cores_left: AtomicUsize::new(config.workers),
            in_place: AtomicUsize::new(0),
            next_turn: AtomicUsize::new(0),
            patience: AtomicUsize::new(0),
            lending: Mutex::new(()),
            threads: Threads::new(),
            config,
        })
    }

    /// Tells the owners what they are part of.
    pub(crate) fn adopt(&self, shared: &Arc<Shared>) {
        for remote in &self.remotes {
            remote.owner.set_whole(shared);
        }
        self.outside.owner().set_whole(shared);
        self.blocking.owner().set_whole(shared);
    }

    /// Queues a task that a thread which is no worker, or not the right one, has made ready.
    fn push_outside(&self, task: Ready, pinned: Option<usize>) {
        match pinned {
            None => {
                self.inject.push_outside(task);
                self.notify_from_outside();
            }
            Some(worker) => {
                self.remotes[worker].mail.push_outside(task);
                self.notify_worker(worker);
            }
        }
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    /// Spawns a task, on the current worker if this thread is one.
    ///
    /// # Safety
    /// `future` is `Send + 'static`, or the caller answers for what that would have ensured.
    #[inline]
    pub(crate) unsafe fn spawn<F: Future>(
        &self,
        shared: &Shared,
        future: F,
        id: Id,
        origin: Origin,
    ) -> JoinHandle<F::Output> {
        if let Some(worker) = current_worker(shared) {
            if let Some(core) = worker.core() {
                if !self.is_closing() {
                    let remote = &self.remotes[core.index()];
                    remote.stats.spawned.bump();
                    // SAFETY: the core makes this thread the owner of its slab.
                    let (task, handle) =
                        unsafe { task::new(future, &remote.owner, Source::Page, id, origin) };
                    core.schedule(worker, task);
                    return handle;
                }
            }
        }
        // SAFETY: by the caller's promise.
        unsafe { self.spawn_outside(future, id, origin) }
    }

    /// # Safety
    /// As for `spawn`.
    unsafe fn spawn_outside<F: Future>(
        &self,
        future: F,
        id: Id,
        origin: Origin,
    ) -> JoinHandle<F::Output> {
        self.need_a_thread();
        // SAFETY: by the caller's promise.
        let (task, handle, accepted) = unsafe { self.outside.make(future, id, origin) };
        if accepted {
            self.push_outside(task, None);
        } else {
            // Its future may be dropped here, where it came from.
            task.refuse();
        }
        handle
    }

    /// Spawns a task and runs it on this thread, whichever that is, up to its first suspension.
    ///
    /// # Safety
    /// As for `spawn`.
    #[cfg(not(loom))]
    pub(crate) unsafe fn spawn_and_run<F: Future>(
        &self,
        future: F,
        id: Id,
        origin: Origin,
    ) -> JoinHandle<F::Output> {
        // Before it runs: whoever wakes it later must find one.
        self.need_a_thread();
        // SAFETY: by the caller's promise.
        let (task, handle, accepted) = unsafe { self.outside.make(future, id, origin) };
        if !accepted {
            task.refuse();
            return handle;
        }
        match task.run() {
            task::Ran::Idle => {}
            task::Ran::Complete => self.outside_completed.add_shared(1),
            task::Ran::Requeue(task) => self.push_outside(task, None),
        }
        handle
    }

    /// Sees to it that another worker looks after this one's I/O, if one can. For the worker itself.
    pub(super) fn lends(&self, index: usize) -> bool {
        let rest = &self.remotes[index].rest;
        if rest.is_lent() {
            return true;
        }
        if !rest.had_io() {
            return false;
        }
        let _one_at_a_time = self.lending.lock();
        // A keeper does not lend, so that somebody is left who sleeps in a driver.
        !rest.keeps_others()
            && (1..self.remotes.len())
                .map(|further| (index + further) % self.remotes.len())
                .map(|other| (other, &self.remotes[other].rest))
                .find(|(_, other)| other.has_io() && !other.is_lent())
                .is_some_and(|(number, keeper)| rest.lend(keeper, number))
    }

    #[cfg(not(loom))]
    pub(crate) fn runs_here(&self, shared: &Shared) -> bool {
        current_worker(shared).and_then(Worker::core).is_some()
    }

    /// Makes a task that the blocking pool will run.
    ///
    /// # Safety
    /// As for `spawn`; the caller must run or refuse the task.
    pub(crate) unsafe fn new_blocking<F: Future>(
        &self,
        future: F,
        id: Id,
        origin: Origin,
    ) -> (Ready, JoinHandle<F::Output>) {
        // SAFETY: by the caller's promise. If the pool is closed too it says so itself.
        let (task, handle, _) = unsafe { self.blocking.make(future, id, origin) };
        (task, handle)
    }

    /// Wakes a worker for work that was just made visible, unless one is already looking.
    #[inline]
    pub(crate) fn notify(&self) {
        if let Some(worker) = self.idle.claim_for_work() {
            self.wake(worker);
        }
    }

    /// As [`notify`](Multi::notify), for a thread that is no worker and has added to the global queue.
    #[inline]
    pub(super) fn notify_from_outside(&self) {
        let held_back = self.inject.len() < self.patience.load(Ordering::Relaxed);
        let claimed = if held_back {
            self.idle.claim_if_none_is_awake()
        } else {
            self.idle.claim_for_work()
        };
        if let Some(worker) = claimed {
            self.wake(worker);
        }
    }

    /// Wakes the worker whose mail was just added to, unless it will see that before it sleeps.
    fn notify_worker(&self, worker: usize) {
        if self.idle.claim_for_mail(worker) {
            self.wake(worker);
        }
    }

    /// Calls `f` with the timers this thread should use: its own worker's, or another's in turn.
    pub(crate) fn with_timers(
        &self,
        shared: &Shared,
        f: impl FnOnce(&Arc<Timers>) -> Armed,
    ) -> Armed {
        let here = current_worker(shared)
            .and_then(Worker::core)
            .map(Core::index);
        match here {
            // It looks at its timers before it parks.
            Some(index) => f(&self.remotes[index].timers),
            None => {
                let index = self.next_in_turn().unwrap_or_else(|e| panic!("{e}"));
                let armed = f(&self.remotes[index].timers);
                if armed == Armed::First {
                    self.remotes[index].rest.unpark();
                }
                armed
            }
        }
    }

    pub(crate) fn rests(&self) -> impl Iterator<Item = &Rest> {
        self.remotes.iter().map(|remote| &*remote.rest)
    }

    /// Calls `f` with the I/O that this thread should use: its own worker's, or another's in turn.
    ///
    /// # Errors
    /// There is no worker with a thread, and none can be started; or as `f`.
    #[cfg(feature = "driver")]
    pub(crate) fn with_io<R>(
        &self,
        shared: &Shared,
        f: impl FnOnce(&Io) -> io::Result<R>,
    ) -> io::Result<R> {
        self.with_io_for(shared, |index| index, f)
    }

    /// As `with_io`, but if that worker has lent its driver it is the keeper's.
    #[cfg(feature = "net")]
    pub(crate) fn with_kept_io<R>(
        &self,
        shared: &Shared,
        f: impl FnOnce(&Io) -> io::Result<R>,
    ) -> io::Result<R> {
        let keeper = |index: usize| self.remotes[index].rest.keeper().unwrap_or(index);
        self.with_io_for(shared, keeper, f)
    }

    /// `instead` says whose I/O stands in for that of a worker.
    #[cfg(feature = "driver")]
    fn with_io_for<R>(
        &self,
        shared: &Shared,
        instead: impl FnOnce(usize) -> usize,
        f: impl FnOnce(&Io) -> io::Result<R>,
    ) -> io::Result<R> {
        let here = current_worker(shared)
            .and_then(Worker::core)
            .map(Core::index);
        match here {
            Some(index) => f(&self.remotes[instead(index)].rest.io),
            None => {
                let index = instead(self.next_in_turn()?);
                let result = f(&self.remotes[index].rest.io);
                // It may have to move to its driver.
                self.remotes[index].rest.unpark();
                result
            }
        }
    }

    pub(crate) fn worker_is_parked(&self, worker: usize) -> bool {
        self.idle.is_parked(worker)
    }

    /// Workers that are not parked.
    pub(crate) fn awake(&self) -> usize {
        let awake = |index: &usize| !self.idle.is_parked(*index);
        (0..self.remotes.len()).filter(awake).count()
    }

    pub(crate) fn outside_spawned(&self) -> u64 {
        self.outside.spawned()
    }

    /// Tasks spawned and not completed.
    pub(crate) fn alive(&self) -> u64 {
        // Completions first: a task completed between the two sums must not be missing from both.
        let completed: u64 = self
            .remotes
            .iter()
            .map(|r| r.stats.completed.get())
            .sum::<u64>()
            + self.outside_completed.get();
        let spawned: u64 = self
            .remotes
            .iter()
            .map(|r| r.stats.spawned.get())
            .sum::<u64>()
            + self.outside.spawned();
        spawned.saturating_sub(completed)
    }

    pub(crate) fn live_tasks(&self) -> Vec<TaskRef> {
        let owners = self.remotes.iter().map(|r| &r.owner);
        owners
            .chain([self.outside.owner()])
            .flat_map(|owner| owner.live_tasks())
            .filter(|task| !task.is_complete())
            .collect()
    }

    /// Everything that owns tasks, blocking closures included.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &AnyOwner> {
        let workers = self.remotes.iter().map(|r| &r.owner);
        let others = [self.outside.owner(), self.blocking.owner()];
        workers.chain(others).map(|owner| &**owner)
    }

    /// Refuses new tasks and sends the workers home. Steps 1 to 3 of `runtime/shutdown.rs`.
    pub(crate) fn close(&self) {
        if self.closing.swap(true, Ordering::AcqRel) {
            return;
        }
        self.outside.close();
        self.threads.close();
        self.monitor.stop();
        for remote in &self.remotes {
            if remote.has_thread() {
                remote.rest.unpark();
            }
        }
        // Cores without a thread: their workers never started, or their threads block and no
        // other thread has taken over yet.
        for index in 0..self.remotes.len() {
            if let Some(core) = self.take_core(index) {
                self.put_away(core);
            }
        }
    }

    /// A worker has stopped running tasks. Whoever puts the last core away drops all that is left.
    pub(super) fn put_away(&self, core: Box<Core>) {
        let remote = &self.remotes[core.index()];
        if remote.stats.parked.get() == 0 {
            // Started late, never, or busy to the last: its end is its first rest.
            remote.stats.parked.bump();
            remote.stats.park_unpark.add(2);
        }
        // SAFETY: holding the core makes us the owner of its slab; nobody will have it again.
        unsafe { remote.owner.retire() };
        drop(core);
        if self.cores_left.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        // Nothing can be added, and nothing runs but what blocks in place: such a thread cleans up
        // after itself. What is left are wake-ups that made a task READY and are about to
        // push it.
        loop {
            self.drop_everything(true);
            if self.alive() <= self.in_place.load(Ordering::Acquire) as u64 {
                break;
            }
            std::thread::yield_now();
        }
        for remote in &self.remotes {
            remote.timers.close();
        }
        self.outside.retire();
        self.blocking.retire();
    }

    /// Cancels every task that is not running right now. `settled`: the caller holds a core, or
    /// nobody does any more. Otherwise a lone worker's slot is left to that worker, which takes from
    /// it without asking.
    pub(crate) fn drop_everything(&self, settled: bool) {
        self.drop_shared();
        if settled || self.remotes.len() > 1 {
            for task in self.remotes.iter().filter_map(|r| r.lifo.take()) {
                self.drop_queued(task);
            }
        }
        let (local, _) = queue::ring();
        for remote in &self.remotes {
            while let Some((task, _)) = remote.steal.steal_into(&local) {
                self.drop_queued(task);
                while let Some(task) = local.pop() {
                    self.drop_queued(task);
                }
            }
        }
    }

    /// Cancels every task that waits for a wake-up or in the global queue.
    pub(super) fn drop_shared(&self) {
        for task in self.live_tasks() {
            // SAFETY: tasks of this scheduler may be dropped on any thread, except for pinned ones,
            // which this leaves to theirs.
            if unsafe { task.shut_down() } {
                self.outside_completed.add_shared(1);
            }
        }
        while let Some(task) = self.inject.pop() {
            self.drop_queued(task);
        }
    }

    /// Cancels a task taken out of a queue.
    pub(super) fn drop_queued(&self, task: Ready) {
        // A shielded one was uncovered by `shut_down`; one spawned after that walk is cancelled here.
        task.refuse();
        self.outside_completed.add_shared(1);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
