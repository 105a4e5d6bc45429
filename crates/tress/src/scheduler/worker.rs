//! A worker: a thread, and the core that makes it one.

mod help;
mod in_place;

pub(crate) use in_place::block_in_place;

use super::adapt::Adapt;
use super::idle::Unparked;
use super::inject::MIN_BATCH;
use super::multi::{Multi, Remote};
use super::queue::{Local, Steal};
use super::spin::Spin;
use super::turn::{GlobalTurn, LONG_TICK};
use super::{Config, call};
use crate::runtime::context;
use crate::runtime::{Shared, enter_driving};
use crate::sys::{FastRand, guarded};
use crate::task::{Header, Ran, Ready};
use crate::time::Timers;
use crate::trace::Recorder;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Tasks taken from the LIFO slot in a row before it is flushed to the ring (seed 002).
// D-SCHED-02
pub(crate) const MAX_LIFO_STREAK: u8 = 3;
/// A worker that is busy looks after its I/O so often, at the end of a tick.
const TURN_EVERY: Duration = Duration::from_micros(50);
/// Polls of a tick after which the clock is looked at: 1, 4, 16 and 64.
const CLOCK_AT: u128 = 1 << 1 | 1 << 4 | 1 << 16 | 1 << 64;
/// A spinning thief takes the only task of a ring whose owner has been in one poll this long. Before
/// that the owner is most likely about to run it, and taking it would only make it change cores.
// D-SCHED-04
const LONE_AGE: Duration = Duration::from_micros(2);
/// The same for a task in a LIFO slot.
const LIFO_AGE: Duration = Duration::from_micros(20);
/// Looks of a spinning thief at its own mail and I/O between two looks at the others' queues, which slow
/// down whoever is using them.
const LOOKS_PER_SCAN: u32 = 8;
/// A worker that has nothing ready but pinned tasks tries to steal so often. It is not idle; but what it
/// could take may be coroutines that have not started, and where they start they stay.
const LOOKS_PER_THEFT: u32 = 8;
/// A worker with tiny tasks that has run dry lets so many tasks gather in the global queue before
/// it takes them. It waits for so many pauses of the processor, about half a microsecond, and again if that
/// has brought so many more.
// D-SCHED-12
const GATHERED: usize = 64;
const GATHERING: usize = 4;
const GATHER_PAUSES: u32 = 30;
const GATHER_POLL: Duration = Duration::from_micros(1);

/// What only the thread that runs the worker touches. Owning it is being the worker.
pub(crate) struct Core {
    index: usize,
    ring: Local,
    rng: FastRand,
    adapt: Adapt,
    spin: Spin,
    lifo_limit: u8,
    lifo_streak: Cell<u8>,
    global: GlobalTurn,
    /// When it last looked after its I/O.
    last_turn: Cell<Instant>,
    /// There is no core for another worker, and polls are short: one is woken for a long queue only.
    holds_back: Cell<bool>,
    /// When it last woke another one all the same, and how long it waits before it does so again.
    last_help: Cell<Instant>,
    help_every: Cell<Duration>,
    /// Counted in the idle set's searching number.
    searching: Cell<bool>,
    /// Tasks alive that are pinned to this worker, and with it to its thread.
    pub(super) pinned: Cell<usize>,
    // D-SCHED-16
    /// Those of them that are ready. What others made ready comes by the mail.
    pinned_ready: RefCell<VecDeque<Ready>>,
    /// It is their turn before the other local queues.
    pinned_first: Cell<bool>,
    /// How often it has found nothing else to do.
    pinned_looks: Cell<u32>,
    recorder: Recorder,
    /// Used while it spins: how many polls each of the others had begun, and when that changed.
    seen: RefCell<Vec<(u64, Instant)>>,
}

/// A thread that runs workers. Reached through the thread-local context.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    core: Cell<Option<NonNull<Core>>>,
}

impl Core {
    pub(super) fn new(index: usize, ring: Local, seed: u64, config: &Config) -> Core {
        Core {
            index,
            ring,
            rng: FastRand::new(seed),
            adapt: Adapt::new(config.global_interval, config.event_interval),
            spin: Spin::new(config.spin, config.cores),
            lifo_limit: config.lifo_limit,
            lifo_streak: Cell::new(0),
            global: GlobalTurn::after(0),
            last_turn: Cell::new(Instant::now()),
            holds_back: Cell::new(false),
            last_help: Cell::new(Instant::now()),
            help_every: Cell::new(help::FIRST_HELP),
            // Its thread is started by whoever claimed it from the idle set.
            searching: Cell::new(true),
            pinned: Cell::new(0),
            pinned_ready: RefCell::default(),
            pinned_first: Cell::new(false),
            pinned_looks: Cell::new(0),
            recorder: Recorder::new(config.tracer.clone(), index),
            seen: RefCell::new(Vec::new()),
        }
    }

    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// One of so many workers, by chance, and not this one.
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    pub(super) fn another_worker(&self, workers: usize) -> Option<usize> {
        let others = workers.checked_sub(1).filter(|others| *others > 0)?;
        let other = self.rng.below(others as u32) as usize;
        Some(other + usize::from(other >= self.index))
    }

    pub(super) fn ring(&self) -> &Local {
        &self.ring
    }

    /// Queues a task that is pinned to this worker, which `remote` is the other part of.
    #[inline]
    pub(crate) fn schedule_pinned(&self, remote: &Remote, task: Ready) {
        remote.stats.local_schedules.bump();
        self.recorder.ready(&task);
        self.push_pinned(remote, task);
    }

    /// Queues a task that was spawned or woken, and is not pinned, on this worker.
    #[inline]
    pub(crate) fn schedule(&self, worker: &Worker, task: Ready) {
        let multi = worker.multi();
        let remote = &multi.remotes[self.index];
        remote.stats.local_schedules.bump();
        self.recorder.ready(&task);
        // It is the newest, and its data are warm. A push into the empty slot wakes nobody: this worker
        // is about to run it. Waking a thief here is what cost others a quarter of their throughput.
        let pushed = if self.lifo_limit == 0 {
            task
        } else {
            match remote.lifo.replace(task) {
                None => return,
                Some(older) => older,
            }
        };
        if self.ring.push(pushed, &multi.inject) {
            self.has_overflowed(multi, remote);
        } else if multi.config.stealing && !self.holds_back.get() {
            // Where there is no core to spare another worker would only take this one's place: the tick's
            // end notifies.
            multi.notify();
        }
    }

    #[inline(always)]
    fn record(&self, polls: u32, took: Duration) {
        self.spin.record_polls(&self.adapt, polls, took);
    }

    /// Queues a task that ran here and is to run again: behind the others. It adds no work that was not
    /// there before, so nobody is told; the tick's end notifies.
    #[inline(always)]
    fn requeue(&self, multi: &Multi, remote: &Remote, task: Ready) {
        remote.stats.local_schedules.bump();
        if self.has_pinned(task.header()) {
            self.push_pinned(remote, task);
        } else if self.ring.push(task, &multi.inject) {
            self.has_overflowed(multi, remote);
        }
    }

    /// Is a task that ran here pinned here?
    #[inline]
    fn has_pinned(&self, task: &Header) -> bool {
        self.pinned.get() > 0 && task.pinned().is_some()
    }

    /// The next task by the order of work: global now and then, LIFO slot, ring, global.
    #[inline(always)]
    fn next(&self, multi: &Multi, remote: &Remote) -> Option<Ready> {
        if self.global.is_now() {
            if let Some(task) = self.next_global(multi, remote) {
                return Some(task);
            }
            self.global.end(&self.adapt);
        }
        // Each of them is counted from its pin to its future's end.
        let has_pinned = self.pinned.get() > 0;
        if has_pinned && self.pinned_first.replace(!self.pinned_first.get()) {
            if let Some(task) = self.pop_pinned(remote) {
                return Some(task);
            }
        }
        if let Some(task) = remote.lifo.take_own(multi.remotes.len() == 1) {
            let streak = self.lifo_streak.get();
            // At the end of a streak it goes to the tail. Of an empty ring, that is its head.
            let next = if streak < self.lifo_limit {
                Some(streak + 1)
            } else {
                (self.ring.len() == 0).then_some(0)
            };
            if let Some(streak) = next {
                self.lifo_streak.set(streak);
                remote.stats.lifo_hits.bump();
                return Some(task);
            }
            if self.ring.push(task, &multi.inject) {
                remote.stats.overflows.bump();
            }
        }
        self.lifo_streak.set(0);
        if let Some(task) = self.ring.pop() {
            return Some(task);
        }
        if has_pinned {
            let looked = self.pinned_looks.get().wrapping_add(1);
            self.pinned_looks.set(looked);
            let thief = looked % LOOKS_PER_THEFT == 0 && multi.config.stealing;
            let stolen = (thief && multi.remotes.len() > 1).then(|| self.steal(multi, remote, 2));
            if let Some(task) = stolen.flatten().or_else(|| self.pop_pinned(remote)) {
                return Some(task);
            }
        }
        self.let_gather(multi);
        self.next_global(multi, remote)
    }

    /// Nobody is told: we look there before we park.
    #[inline]
    fn push_pinned(&self, remote: &Remote, task: Ready) {
        let mut ready = self.pinned_ready.borrow_mut();
        ready.push_back(task);
        remote.pinned_ready.set(ready.len() as u64);
    }

    /// The next ready task that is pinned here. What came by the mail goes to the end first.
    #[inline]
    fn pop_pinned(&self, remote: &Remote) -> Option<Ready> {
        let mut ready = self.pinned_ready.borrow_mut();
        if !remote.mail.is_empty() {
            remote.mail.pop_all(&mut ready);
        }
        let task = ready.pop_front();
        remote.pinned_ready.set(ready.len() as u64);
        task
    }

    /// Waits a moment for the rest of a burst from outside, and again while more of it comes. Its tasks
    /// come one at a time; taking each as it comes would make the queue's cache lines change cores twice
    /// for every one.
    fn let_gather(&self, multi: &Multi) {
        let mut len = multi.inject.len();
        if len == 0 || self.adapt.average() > GATHER_POLL {
            return;
        }
        while len < GATHERED {
            for _ in 0..GATHER_PAUSES {
                std::hint::spin_loop();
            }
            let before = std::mem::replace(&mut len, multi.inject.len());
            if len < before + GATHERING {
                return;
            }
        }
    }

    /// Fetches no more than a tick's worth: behind a long poll in a ring a task may wait while
    /// somebody else could run it. The global queue's turn is one batch's length all the same, and
    /// where polls are long it lasts a time (`turn.rs`).
    fn next_global(&self, multi: &Multi, remote: &Remote) -> Option<Ready> {
        let (task, taken) =
            multi
                .inject
                .pop_batch(&self.ring, multi.remotes.len(), self.adapt.tick())?;
        remote.stats.global_batches.bump();
        self.global.took(taken, MIN_BATCH, &self.adapt);
        Some(task)
    }

    /// Takes half of the ring of somebody who has at least `min` tasks, beginning with a random
    /// victim.
    fn steal(&self, multi: &Multi, remote: &Remote, min: u32) -> Option<Ready> {
        let n = multi.remotes.len();
        let start = self.rng.below(n as u32) as usize;
        remote.stats.steal_attempts.bump();
        (start..n)
            .chain(0..start)
            .filter(|&victim| victim != self.index)
            .map(|victim| (victim, &multi.remotes[victim].steal))
            .filter(|(_, ring)| ring.len() >= min)
            .find_map(|(victim, ring)| self.steal_from(victim, ring, remote))
    }

    fn steal_from(&self, victim: usize, ring: &Steal, remote: &Remote) -> Option<Ready> {
        let (task, taken) = ring.steal_into(&self.ring)?;
        remote.stats.steals.bump();
        remote.stats.stolen.add(u64::from(taken));
        self.recorder.steal(taken, victim);
        Some(task)
    }

    /// A spinning thief's look at the others: something worth stealing, or something that its owner
    /// has not got round to for too long. `seen` is how many polls each had begun, and when.
    fn scan(
        &self,
        multi: &Multi,
        remote: &Remote,
        now: Instant,
        seen: &mut [(u64, Instant)],
    ) -> Option<Ready> {
        remote.stats.steal_attempts.bump();
        for (index, (polled, since)) in seen.iter_mut().enumerate() {
            let victim = &multi.remotes[index];
            if index == self.index {
                continue;
            }
            let begun = victim.stats.polled.get();
            if begun != *polled {
                (*polled, *since) = (begun, now);
            }
            let age = now - *since;
            let len = victim.steal.len();
            if len >= 2 || (len == 1 && age >= LONE_AGE) {
                if let Some(task) = self.steal_from(index, &victim.steal, remote) {
                    return Some(task);
                }
            }
            if age >= LIFO_AGE {
                if let Some(task) = victim.lifo.take() {
                    remote.stats.steals.bump();
                    remote.stats.stolen.bump();
                    self.recorder.steal(1, index);
                    return Some(task);
                }
            }
        }
        None
    }

    /// A tick begins. Which of its polls, counted from 1, is the first to be recorded? 0: none is.
    #[inline]
    fn begin_recording(&self, remote: &Remote, now: Instant) -> u32 {
        let io = || remote.rest.io.events();
        self.recorder.begin_tick(now, &remote.stats, io)
    }

    /// Is there anything a worker could take?
    fn work_in_sight(&self, multi: &Multi) -> bool {
        if !multi.inject.is_empty() {
            return true;
        }
        if multi.config.stealing {
            multi.remotes.iter().any(|r| !r.steal.is_empty())
        } else {
            self.ring.len() > 0
        }
    }
}

impl Worker {
    pub(crate) fn shared(&self) -> *const Shared {
        Arc::as_ptr(&self.shared)
    }

    /// The core, unless this thread gave it away to block.
    #[inline]
    pub(crate) fn core(&self) -> Option<&Core> {
        // SAFETY: set while this thread owns the box; only this thread unsets it, and never while
        // a borrow from here is in use (`give_up` is called between them).
        self.core.get().map(|core| unsafe { core.as_ref() })
    }

    /// The timers of the worker that this thread is.
    pub(crate) fn timers(&self) -> Option<&Arc<Timers>> {
        let core = self.core()?;
        Some(&self.multi().remotes[core.index].timers)
    }

    #[inline]
    pub(super) fn multi(&self) -> &Multi {
        self.shared.multi()
    }

    fn adopt(&self, core: Box<Core>) {
        let remote = &self.multi().remotes[core.index];
        *remote.thread.lock() = Some(std::thread::current().id());
        core.recorder.adopted();
        self.core.set(NonNull::new(Box::into_raw(core)));
        context::with(|cx| cx.slab.set(Some(remote.owner.slab())));
    }

    fn give_up(&self) -> Option<Box<Core>> {
        let core = self.core.take()?;
        // SAFETY: ours until it is given away below.
        unsafe { core.as_ref() }.recorder.leave_poll();
        context::with(|cx| cx.slab.set(None));
        // SAFETY: from `Box::into_raw` in `adopt`, and taken out of the cell just now.
        Some(unsafe { Box::from_raw(core.as_ptr()) })
    }

    /// Runs tasks until the core is gone or the runtime closes.
    fn run(&self) {
        let multi = self.multi();
        let mut now = Instant::now();
        while let Some(core) = self.core() {
            let remote = &multi.remotes[core.index];
            if multi.is_closing() {
                return;
            }
            remote.timers.fire(now, &remote.stats.timers_fired);
            let start = now;
            let Some(polls) = self.run_tick(core, multi, remote, start) else {
                return;
            };
            if polls == 0 {
                let (found, at) = self.find_work_or_park(core, multi, remote, start);
                now = at;
                if let Some(task) = found {
                    let going_on = if core.begin_recording(remote, at) == 1 {
                        self.run_recorded(core, multi, remote, task)
                    } else {
                        self.run_task::<false>(core, multi, remote, task)
                    };
                    if !going_on {
                        return;
                    }
                    now = Instant::now();
                    core.record(1, now - at);
                    remote.stats.busy_ns.add((now - at).as_nanos() as u64);
                    remote.stats.max_poll_ns.raise((now - at).as_nanos() as u64);
                }
                continue;
            }
            now = Instant::now();
            let took = now - start;
            core.record(polls, took);
            remote.stats.busy_ns.add(took.as_nanos() as u64);
            remote
                .stats
                .mean_poll_ns
                .set(core.adapt.average().as_nanos() as u64);
            // Of one poll, or else no more than the longest of them.
            let mean = took.as_nanos() as u64 / u64::from(polls);
            remote.stats.max_poll_ns.raise(mean);
            if took >= LONG_TICK {
                // The global queue has waited long enough, whatever the number of polls.
                core.global.hurry();
            }
            // A worker that has run dry looks there anyway, unless work keeps coming from outside.
            let ran_dry = remote.queue_depth() == 0 && multi.inject.is_empty();
            let turn_every = if ran_dry { LONG_TICK } else { TURN_EVERY };
            if remote.rest.has_io() && now - core.last_turn.get() >= turn_every {
                remote.rest.turn();
                now = Instant::now();
                core.last_turn.set(now);
            }
            // Yielding tasks notify nobody when they are queued again.
            // D-SCHED-05
            let queued = core.ring.len();
            if queued > 0 && multi.config.stealing && !core.copes_alone(multi, queued) {
                core.call_for_help(multi, now);
            }
        }
    }

    /// Runs tasks for a tick. Returns how many polls that were, or none if the worker has to stop.
    #[inline(always)]
    fn run_tick(&self, core: &Core, multi: &Multi, remote: &Remote, start: Instant) -> Option<u32> {
        let tick = core.adapt.tick();
        let mut recorded = core.begin_recording(remote, start);
        let mut polls = 0;
        loop {
            // What is between two recorded polls does not ask whether anything is recorded.
            let until = match recorded {
                0 => tick,
                recorded => tick.min(recorded - 1),
            };
            while polls < until {
                let Some(task) = core.next(multi, remote) else {
                    return Some(polls);
                };
                polls += 1;
                if !self.run_task::<false>(core, multi, remote, task) || multi.is_closing() {
                    return None;
                }
                if polls < tick && Self::takes_long(remote, start, polls) {
                    return Some(polls);
                }
            }
            if polls >= tick {
                return Some(polls);
            }
            match self.run_next_recorded(core, multi, remote) {
                None => return Some(polls),
                Some(false) => return None,
                Some(true) => polls += 1,
            }
            recorded += core.recorder.every();
            if multi.is_closing() {
                return None;
            }
            if polls < tick && Self::takes_long(remote, start, polls) {
                return Some(polls);
            }
        }
    }

    /// Looks at the clock now and then: polls may have become longer since the tick's length was chosen.
    #[inline(always)]
    fn takes_long(remote: &Remote, start: Instant, polls: u32) -> bool {
        if CLOCK_AT & 1 << (polls & 127) == 0 {
            return false;
        }
        let took = start.elapsed();
        if polls == 1 {
            remote.stats.max_poll_ns.raise(took.as_nanos() as u64);
        }
        took >= LONG_TICK
    }

    /// Runs the next task, with a record of it. As `run_task`; none if there is no task.
    // Apart, with a copy of all that it calls: what is called from here too would not be inlined there.
    #[cold]
    #[inline(never)]
    fn run_next_recorded(&self, core: &Core, multi: &Multi, remote: &Remote) -> Option<bool> {
        let task = core.next(multi, remote)?;
        Some(self.run_recorded(core, multi, remote, task))
    }

    /// Runs one task. False if the core went away meanwhile: the task blocked in place.
    #[inline(always)]
    fn run_task<const RECORDED: bool>(
        &self,
        core: &Core,
        multi: &Multi,
        remote: &Remote,
        task: Ready,
    ) -> bool {
        if core.searching.get() {
            self.stop_searching(core);
        }
        remote.stats.polled.bump();
        let ran = task.run();
        match self.core() {
            Some(core) => {
                match ran {
                    Ran::Idle => {}
                    Ran::Complete => remote.stats.completed.bump(),
                    Ran::Requeue(task) => {
                        if RECORDED {
                            core.recorder.ready(&task);
                        }
                        core.requeue(multi, remote, task);
                    }
                }
                true
            }
            None => {
                // Before the task is counted or queued: see `Multi::put_away`.
                multi.in_place.fetch_sub(1, Ordering::AcqRel);
                match ran {
                    Ran::Idle => {}
                    Ran::Complete => multi.outside_completed.add_shared(1),
                    Ran::Requeue(task) => {
                        multi.inject.push(task);
                        multi.notify();
                    }
                }
                false
            }
        }
    }

    /// The same, with a record of it.
    #[cold]
    fn run_recorded(&self, core: &Core, multi: &Multi, remote: &Remote, task: Ready) -> bool {
        let begun = core.recorder.begin(&task, remote.stats.polled.get());
        let going_on = self.run_task::<true>(core, multi, remote, task);
        if going_on {
            core.recorder.end(begun);
        }
        going_on
    }

    /// Work was found. If this was the last searcher, whoever was not woken because of it must be
    /// woken now, if there is still something to do.
    // D-SCHED-06
    #[cold]
    fn stop_searching(&self, core: &Core) {
        core.searching.set(false);
        let multi = self.multi();
        if multi.idle.stop_searching() && core.work_in_sight(multi) {
            core.call_for_help(multi, Instant::now());
        }
    }

    /// Nothing is left locally: search, spin, park. Returns what was found, if that is a task, and
    /// the time, to begin the next tick with.
    #[cold]
    fn find_work_or_park(
        &self,
        core: &Core,
        multi: &Multi,
        remote: &Remote,
        awake_since: Instant,
    ) -> (Option<Ready>, Instant) {
        let start = Instant::now();
        let awake = start - awake_since;
        remote.stats.busy_ns.add(awake.as_nanos() as u64);
        self.look_around(core, remote, start);
        if remote.rest.has_io() {
            // Its own I/O before others' tasks.
            remote.rest.turn();
            core.last_turn.set(start);
            if remote.queue_depth() > 0 {
                return (None, start);
            }
        }
        if !core.searching.get() && multi.idle.try_search() {
            core.searching.set(true);
        }
        if core.searching.get() {
            let stealing = multi.config.stealing;
            if let Some(task) = stealing.then(|| core.steal(multi, remote, 2)).flatten() {
                return (Some(task), start);
            }
            match self.spin(core, multi, remote, start) {
                Spun::Nothing => {}
                Spun::Something => return (None, Instant::now()),
                Spun::Task(task) => return (Some(task), Instant::now()),
            }
            if let Some(task) = stealing.then(|| core.steal(multi, remote, 1)).flatten() {
                return (Some(task), Instant::now());
            }
        }
        (None, self.park(core, multi, remote, start))
    }

    /// Looks around for a moment before parking. Only a searcher does: it is what makes others
    /// not wake anybody.
    fn spin(&self, core: &Core, multi: &Multi, remote: &Remote, start: Instant) -> Spun {
        let mut seen = core.seen.borrow_mut();
        seen.clear();
        if multi.config.stealing {
            seen.extend(multi.remotes.iter().map(|r| (r.stats.polled.get(), start)));
        }
        let due = remote.timers.next_due();
        let mut looks = 0;
        let mut task = None;
        let found = core.spin.wait(start, || {
            let mail = !multi.inject.is_empty() || !remote.mail.is_empty();
            if mail || remote.rest.is_notified() || multi.is_closing() {
                return true;
            }
            // Its own I/O each time: there is nobody whom that slows down.
            if remote.rest.has_io() {
                remote.rest.turn();
                if remote.queue_depth() > 0 {
                    return true;
                }
            }
            looks += 1;
            if looks % LOOKS_PER_SCAN != 0 {
                return false;
            }
            let now = Instant::now();
            task = core.scan(multi, remote, now, &mut seen);
            task.is_some() || due.is_some_and(|due| now >= due)
        });
        match (found, task) {
            (_, Some(task)) => {
                remote.stats.spin_hits.bump();
                Spun::Task(task)
            }
            (true, None) => {
                // Subtle: a token that stayed would end every later spin at once, and the worker
                // would never get to the park that takes it.
                remote.rest.take_token();
                remote.stats.spin_hits.bump();
                Spun::Something
            }
            (false, None) => Spun::Nothing,
        }
    }

    fn park(&self, core: &Core, multi: &Multi, remote: &Remote, start: Instant) -> Instant {
        // SAFETY: the core makes this thread the owner of its slab.
        unsafe { remote.owner.tidy() };
        multi.idle.park(core.index, core.searching.take());
        // From here on whoever queues work sees us parked, or we see the work.
        if core.work_in_sight(multi) || !remote.mail.is_empty() || multi.is_closing() {
            // Subtle: it comes out as a searcher, whoever took it out. Producers that saw it search
            // woke nobody; when it takes one of their tasks it must look after the others.
            multi.idle.claim_worker(core.index);
            core.searching.set(true);
            multi.watch();
            return Instant::now();
        }
        call(&multi.config.on_park);
        let parked = Instant::now();
        // The hook may have made something ready. In our own slot nobody else would see it.
        if remote.queue_depth() == 0 {
            let mut due = remote.timers.next_due();
            if let Some(until) = core.spin.crowded_until() {
                if multi.lends(core.index) {
                    // Then it is time to look again.
                    due = Some(due.map_or(until, |due| due.min(until)));
                }
            }
            let timeout = due.map(|due| due.saturating_duration_since(parked));
            remote.stats.parked.bump();
            remote.stats.park_unpark.bump();
            core.recorder.park(|| remote.rest.park(timeout));
            remote.stats.park_unpark.bump();
        }
        call(&multi.config.on_unpark);
        if multi.idle.unpark(core.index) == Unparked::Claimed {
            core.searching.set(true);
        }
        multi.watch();
        let now = Instant::now();
        core.spin.record_park(start, parked, now);
        now
    }
}

/// What a spin ended with.
enum Spun {
    Nothing,
    /// There is something to do; the worker's next round will find it.
    Something,
    Task(Ready),
}

/// The life of a worker thread.
pub(super) fn thread_main(shared: Arc<Shared>, index: usize) {
    let multi = shared.multi();
    multi.thread_begins(index);
    let _ends = ThreadEnds(multi);
    let worker = Worker {
        shared: shared.clone(),
        core: Cell::new(None),
    };
    // The hooks are in the runtime, but may block. If one of them ends the runtime it must not wait for itself.
    let entered = context::enter_runtime(shared.clone());
    let _worker = set_worker(&worker);
    call(&multi.config.on_start);
    let driving = enter_driving(&shared, true);
    let mut core = multi.take_core(index);
    while let Some(held) = core.or_else(|| multi.wait_for_core()) {
        worker.adopt(held);
        multi.start_monitor(&shared);
        if guarded(|| worker.run()).is_none() {
            // Foreign code is guarded where it is called, so this is ours: I/O cannot be waited for any more, or
            // a bug. Without this worker tasks would wait for ever; so they are told that it is over.
            multi.close();
        }
        // Closing, or the core was given away in `block_in_place`.
        if let Some(core) = worker.core() {
            multi.drop_everything(true);
            // What is pinned here nobody else may drop. Wake-ups in flight are waited for.
            while core.pinned.get() > 0 {
                multi.drop_shared();
                while let Some(task) = core.pop_pinned(&multi.remotes[core.index]) {
                    multi.drop_queued(task);
                }
                std::thread::yield_now();
            }
            if let Some(core) = worker.give_up() {
                multi.put_away(core);
            }
        } else if multi.is_closing() {
            // The last core may have been put away while our task blocked in place. It can have
            // woken others, but without a core it filled no slot and no ring.
            multi.drop_shared();
        }
        core = None;
    }
    leave(driving);
    call(&multi.config.on_stop);
    leave(entered);
}

/// Leaves what the thread has entered. A task may have forgotten a guard of its own, which this one then misses.
fn leave<T>(guard: T) {
    guarded(|| drop(guard));
}

/// Tells whoever waits for the threads, whatever this one ends by.
struct ThreadEnds<'a>(&'a Multi);

impl Drop for ThreadEnds<'_> {
    fn drop(&mut self) {
        self.0.thread_ends();
    }
}

struct SetWorker;

fn set_worker(worker: &Worker) -> SetWorker {
    context::with(|cx| cx.worker.set(ptr::from_ref(worker)));
    SetWorker
}

impl Drop for SetWorker {
    fn drop(&mut self) {
        context::with(|cx| cx.worker.set(ptr::null()));
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests;
