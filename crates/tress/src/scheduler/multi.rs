//! The multi-thread scheduler's shared part: what every thread can reach.

mod threads;

use self::threads::Threads;
use super::frame::{Frame, Loop, Seat, Station};
use super::idle::IdleSet;
use super::inject::Inject;
use super::lifo::LifoSlot;
use super::monitor;
#[cfg(all(feature = "coroutine", unix, not(loom)))]
use super::pinned::Pinned;
use super::place::Place;
use super::pressure::Restraint;
use super::queue::{self, Steal};
use super::rest::{Io, Rest};
use super::worker::{Core, Worker};
use super::{Config, Scheduler};
use crate::runtime::Shared;
use crate::sys::atomic::Ordering;
use crate::sys::plain::{AtomicBool, AtomicPtr, AtomicUsize};
use crate::sys::{CachePadded, Counter, SeedGenerator, thread};
use crate::task::{Ready, Woken};
use crate::timer::Timers;
use std::io;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;
use std::vec::Drain;

pub(crate) struct Multi {
    frame: Frame,
    pub(crate) remotes: Box<[CachePadded<Remote>]>,
    pub(crate) idle: IdleSet,
    pub(super) monitor_timers_fired: Counter,
    /// Cores not yet put away by shutdown.
    cores_left: AtomicUsize,
    /// Tasks polled by threads that gave their core away.
    pub(super) in_place: AtomicUsize,
    /// The next worker whose timers or I/O a thread from outside uses.
    next_turn: AtomicUsize,
    pub(super) restraint: Restraint,
    threads: Threads,
}

impl Deref for Multi {
    type Target = Frame;

    #[inline(always)]
    fn deref(&self) -> &Frame {
        &self.frame
    }
}

/// What other threads see of a worker: its station, and what they can steal from or wake.
pub(crate) struct Remote {
    station: Station,
    pub(super) steal: Steal,
    pub(super) lifo: LifoSlot,
    /// Tasks pinned to this worker that other threads made ready. No worker steals from here.
    pub(super) mail: Inject,
    /// How many more of them the worker itself has queued; see `Core::pinned_ready`.
    pub(super) pinned_ready: Counter,
    /// How many tasks are pinned to it, ready or not.
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    pub(super) pinned: Counter,
    /// The core, while no thread has it: before the worker first runs, and in `block_in_place`.
    pub(super) core: AtomicPtr<Core>,
    /// A thread runs it, or is about to; see `threads.rs`.
    started: AtomicBool,
}

impl Deref for Remote {
    type Target = Station;

    #[inline(always)]
    fn deref(&self) -> &Station {
        &self.station
    }
}

impl Remote {
    /// Returns whether a thread runs this worker or is about to.
    #[inline]
    fn has_thread(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// Returns how many tasks are in the worker's queues.
    pub(crate) fn queue_depth(&self) -> usize {
        self.local_queue_depth() + usize::from(!self.lifo.is_empty())
    }

    /// Returns how many of them are not in the LIFO slot.
    fn local_queue_depth(&self) -> usize {
        self.steal.len() as usize + self.pinned_depth()
    }

    /// Returns how many of them are pinned to the worker, queued by itself or by others.
    fn pinned_depth(&self) -> usize {
        self.mail.len() + self.pinned_ready.get() as usize
    }

    /// Returns a human-readable summary of the worker's queues.
    pub(crate) fn queues(&self) -> String {
        let lifo = if self.lifo.is_empty() {
            "empty"
        } else {
            "full"
        };
        format!(
            "{} tasks in the ring, LIFO slot {lifo}, {} bound to this worker",
            self.steal.len(),
            self.pinned_depth()
        )
    }
}

/// Queues a task that was woken, on the worker that this thread is, if that may run it.
#[inline]
pub(super) fn schedule_here(worker: &Worker, core: &Core, task: Woken<Scheduler>) {
    let multi = worker.multi();
    let remote = &multi.remotes[core.index()];
    match task.header().pinned() {
        None => core.schedule(multi, remote, task.into_ready()),
        Some(index) if index == core.index() => core.schedule_pinned(remote, task.into_ready()),
        Some(_) => schedule_outside(task),
    }
}

/// Queues a task that was woken, on a thread that may not run it.
pub(super) fn schedule_outside(task: Woken<Scheduler>) {
    // Subtle: as soon as the task is in the queue it can run, finish, and take the runtime's last
    // reference with it, while we still have to wake a worker.
    let shared = task.hold();
    shared.multi().push_outside(task.into_ready());
}

/// Returns the calling thread's worker and core, if they are of this runtime.
#[inline]
pub(super) fn core_here<'a>(shared: *const Shared) -> Option<(&'a Worker, &'a Core)> {
    let worker = current_worker(shared)?;
    Some((worker, worker.core()?))
}

/// Returns the calling thread's worker, if it is one of this runtime.
#[inline]
pub(super) fn current_worker<'a>(shared: *const Shared) -> Option<&'a Worker> {
    Worker::here().filter(|worker| ptr::eq(worker.shared(), shared))
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
                let timers = Timers::new(start, rest.clone().into());
                CachePadded::new(Remote {
                    station: Station::new(rest, timers),
                    steal,
                    lifo: LifoSlot::new(),
                    mail: Inject::new(),
                    pinned_ready: Counter::default(),
                    #[cfg(all(feature = "coroutine", unix, not(loom)))]
                    pinned: Counter::default(),
                    core: AtomicPtr::new(Box::into_raw(core)),
                    started: AtomicBool::new(false),
                })
            })
            .collect();
        Ok(Multi {
            idle: IdleSet::all_parked(config.workers),
            remotes,
            monitor_timers_fired: Counter::default(),
            cores_left: AtomicUsize::new(config.workers),
            in_place: AtomicUsize::new(0),
            next_turn: AtomicUsize::new(0),
            restraint: Restraint::new(),
            threads: Threads::new(),
            frame: Frame::new(config, true)?,
        })
    }

    /// Has another worker look after this one's I/O, if one can. For the worker itself.
    pub(super) fn lend(&self, index: usize) -> bool {
        let rest_of = |worker: usize| &*self.remotes[worker].rest;
        self.restraint.lend(index, self.remotes.len(), rest_of)
    }

    /// Wakes a worker for work that was just made visible, unless one is already looking.
    #[inline]
    pub(crate) fn notify(&self) {
        if let Some(worker) = self.idle.claim_for_work() {
            self.wake(worker);
        }
    }

    /// As [`notify`](Multi::notify), for a thread that is not a worker and has added to the global queue.
    #[inline]
    pub(super) fn notify_from_outside(&self) {
        let claimed = if self.restraint.may_wake(self.inject.len()) {
            self.idle.claim_for_work()
        } else {
            self.idle.claim_if_none_is_awake()
        };
        if let Some(worker) = claimed {
            self.wake(worker);
        }
    }

    /// Wakes a worker whose mail was just added to, unless it will see that before it sleeps.
    fn notify_worker(&self, worker: usize) {
        if self.idle.claim_for_mail(worker) {
            self.wake(worker);
        }
    }

    /// Refuses new tasks and sends the workers home: steps 1 to 3 of `Runtime::shutdown_timeout`.
    pub(super) fn close(&self) {
        if !self.begin_closing() {
            return;
        }
        self.threads.close();
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

    /// Puts away the core of a worker that has stopped running tasks. The thread that puts away the last core drops
    /// all that is left.
    pub(super) fn put_away(&self, core: Box<Core>) {
        let remote = &self.remotes[core.index()];
        if remote.stats.parked.get() == 0 {
            // It started late or never, or was busy to the end: its end is its first rest.
            remote.stats.parked.bump();
            remote.stats.park_unpark.add(2);
        }
        // SAFETY: holding the core makes us the owner of its slab; no thread will have it again.
        unsafe { remote.owner.retire() };
        drop(core);
        if self.cores_left.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        // Nothing can be added, and nothing runs but what blocks in place: such a thread cleans up after itself. What
        // is left are wake-ups that made a task READY and are about to push it.
        loop {
            self.drop_everything(true);
            if self.alive() <= self.in_place.load(Ordering::Acquire) as u64 {
                break;
            }
            thread::yield_now();
        }
        for remote in &self.remotes {
            remote.timers.close();
        }
        self.retire();
    }

    /// Cancels every task that is not running right now. `settled`: the caller holds a core, or no thread does any
    /// more. Otherwise a lone worker's slot is left to that worker, which takes from it with plain stores.
    pub(super) fn drop_everything(&self, settled: bool) {
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
            // SAFETY: tasks of this scheduler may be dropped on any thread, except for pinned ones, which are left to
            // their worker.
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

impl Loop for Multi {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn workers(&self) -> usize {
        self.remotes.len()
    }

    fn station(&self, worker: usize) -> &Station {
        &self.remotes[worker]
    }

    fn queue_depth(&self, worker: usize) -> usize {
        self.remotes[worker].queue_depth()
    }

    fn local_queue_depth(&self, worker: usize) -> usize {
        self.remotes[worker].local_queue_depth()
    }

    fn is_awake(&self, worker: usize) -> bool {
        !self.idle.is_parked(worker)
    }

    fn all_are_asleep(&self) -> bool {
        self.idle.all_are_parked()
    }

    fn runs_here(&self, shared: &Shared) -> bool {
        current_worker(shared).and_then(Worker::core).is_some()
    }

    #[inline]
    fn place<'a>(&'a self, shared: &Shared, tasks: usize) -> Place<'a> {
        if let Some((_, core)) = core_here(shared) {
            if !self.is_closing() {
                let remote = &self.remotes[core.index()];
                remote.stats.spawned.add(tasks as u64);
                return Place::on_core(self, remote, core);
            }
        }
        self.place_outside(tasks)
    }

    fn place_outside(&self, tasks: usize) -> Place<'_> {
        // Before the task can run: a thread that wakes it later must find one.
        self.need_a_thread();
        Place::outside(self.outside.enter(tasks), self)
    }

    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    fn place_bound<'a>(&'a self, shared: &Shared) -> Option<(Place<'a>, Option<Pinned>)> {
        let (worker, core) = core_here(shared)?;
        let remote = &self.remotes[core.index()];
        remote.stats.spawned.bump();
        let place = Place::bound_to(&remote.owner, worker, core);
        Some((place, Some(Pinned::to(worker, core))))
    }

    fn push_outside(&self, task: Ready) {
        match task.header().pinned() {
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

    fn push_batch_outside(&self, tasks: Drain<'_, Ready>) {
        self.inject.push_batch_outside(tasks);
        self.notify_from_outside();
    }

    #[inline]
    fn seat<'a>(&'a self, shared: &Shared) -> io::Result<Seat<'a>> {
        match current_worker(shared).and_then(Worker::core) {
            Some(core) => Ok(Seat::here(&self.remotes[core.index()])),
            None => Ok(Seat::elsewhere(&self.remotes[self.next_in_turn()?])),
        }
    }

    fn start(&self) -> io::Result<()> {
        self.start_all()
    }

    fn start_failures(&self) -> u64 {
        self.threads.start_failures()
    }

    fn fire_timers(&self, _: &Shared) {
        // The clock of a multi-thread runtime cannot be changed.
    }

    fn look_after_the_stuck(&self, polled: &mut Vec<Option<u64>>) {
        monitor::look(self, polled);
    }

    fn stop(&self, shared: &Arc<Shared>, deadline: Option<Instant>) -> bool {
        self.close();
        if current_worker(Arc::as_ptr(shared)).is_some() {
            // A worker would wait for itself.
            return false;
        }
        let stopped = self.wait_closed(deadline);
        if !stopped {
            // The workers are stuck, but the tasks that wait behind them need not be.
            self.drop_everything(false);
        }
        stopped
    }

    fn join_threads(&self) {
        self.threads.join();
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
