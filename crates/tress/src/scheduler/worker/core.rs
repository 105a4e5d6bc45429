//! The core: what makes a thread a worker, and the order in which it takes tasks out of its queues.

use crate::scheduler::Config;
use crate::scheduler::adapt::Adapt;
use crate::scheduler::inject::MIN_BATCH;
use crate::scheduler::multi::{Multi, Remote};
use crate::scheduler::pressure::Pressure;
use crate::scheduler::queue::{Local, Steal};
use crate::scheduler::recorder::Recorder;
use crate::scheduler::spin::Spin;
use crate::scheduler::turn::{GlobalTurn, LONG_TICK};
use crate::sys::{FastRand, clock};
use crate::task::{Header, Ready};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A spinning thief takes the only task of a ring whose owner has been in one poll this long. Before that the owner
/// is most likely about to run it, and stealing it would only move it to another core.
// D-SCHED-04
const LONE_AGE: Duration = Duration::from_micros(2);
/// As `LONE_AGE`, for a task in a LIFO slot.
const LIFO_AGE: Duration = Duration::from_micros(20);
/// A worker whose only ready tasks are pinned tries to steal every this many looks. It is not idle; but what it could
/// take may be coroutines that have not started, and they stay where they start.
const LOOKS_PER_THEFT: u32 = 8;
/// A worker with tiny tasks that has run dry lets up to 64 tasks gather in the global queue before it takes them. It
/// waits for 30 pauses of the processor, about half a microsecond, and again as long as that brings at least 4 more.
// D-SCHED-12
const GATHERED: usize = 64;
const GATHERING: usize = 4;
const GATHER_PAUSES: u32 = 30;
const GATHER_POLL: Duration = Duration::from_micros(1);

/// What only the worker's thread touches. Owning the core is being the worker.
pub(crate) struct Core {
    pub(super) index: usize,
    pub(super) ring: Local,
    rng: FastRand,
    pub(super) adapt: Adapt,
    pub(super) spin: Spin,
    lifo_limit: u8,
    lifo_streak: Cell<u8>,
    pub(super) global: GlobalTurn,
    /// When the worker last looked after its I/O.
    pub(super) last_turn: Cell<Instant>,
    pub(super) pressure: Pressure,
    /// Counted in the idle set's searching number.
    pub(super) searching: Cell<bool>,
    /// Tasks alive that are pinned to this worker, and with it to its thread.
    pub(in crate::scheduler) pinned: Cell<usize>,
    /// Those of them that are ready. Tasks that others made ready come by mail.
    // D-SCHED-16
    pinned_ready: RefCell<VecDeque<Ready>>,
    /// They go before the other local queues at the next look.
    pinned_first: Cell<bool>,
    /// How often the worker has found nothing else to do.
    pinned_looks: Cell<u32>,
    pub(super) recorder: Recorder,
    /// Used while it spins: how many polls each of the other workers had begun, and when that changed.
    pub(super) seen: RefCell<Vec<(u64, Instant)>>,
}

impl Core {
    pub(in crate::scheduler) fn new(index: usize, ring: Local, seed: u64, config: &Config) -> Core {
        Core {
            index,
            ring,
            rng: FastRand::new(seed),
            adapt: Adapt::new(config.global_interval, config.event_interval),
            spin: Spin::new(config.spin, config.cores),
            lifo_limit: config.lifo_limit,
            lifo_streak: Cell::new(0),
            global: GlobalTurn::after(0),
            last_turn: Cell::new(clock::now()),
            pressure: Pressure::new(),
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

    /// Returns a random one of `workers` workers, but not this one.
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    pub(in crate::scheduler) fn another_worker(&self, workers: usize) -> Option<usize> {
        let others = workers.checked_sub(1).filter(|others| *others > 0)?;
        let other = self.rng.below(others as u32) as usize;
        Some(other + usize::from(other >= self.index))
    }

    pub(in crate::scheduler) fn ring(&self) -> &Local {
        &self.ring
    }

    /// Queues a task that is pinned to this worker, whose shared part is `remote`.
    #[inline(never)]
    pub(crate) fn schedule_pinned(&self, remote: &Remote, task: Ready) {
        remote.stats.local_schedules.bump();
        self.recorder.ready(&task);
        self.push_pinned(remote, task);
    }

    /// Queues a task that was spawned or woken, and is not pinned, on this worker, whose shared part is `remote`.
    #[inline(always)]
    pub(crate) fn schedule(&self, multi: &Multi, remote: &Remote, task: Ready) {
        remote.stats.local_schedules.bump();
        self.recorder.ready(&task);
        // It is the newest, and its data is warm. A push into the empty slot wakes no worker: this one is about to
        // run it. Waking a thief here has cost other schedulers a quarter of their throughput.
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
        } else if multi.config.stealing && self.pressure.may_wake_for_push() {
            // Where there is no core to spare another worker would only take this one's place: the tick's
            // end notifies.
            multi.notify();
        }
    }

    /// As `schedule`, out of line: each type of future has its own copy of what spawns it.
    #[inline(never)]
    pub(crate) fn schedule_new(&self, multi: &Multi, remote: &Remote, task: Ready) {
        self.schedule(multi, remote, task);
    }

    /// Half of the ring has moved to the global queue.
    #[cold]
    fn has_overflowed(&self, multi: &Multi, remote: &Remote) {
        remote.stats.overflows.bump();
        self.call_for_help(multi, clock::now());
    }

    /// Wakes another worker for a long queue, unless the pressure forbids it.
    pub(super) fn call_for_help(&self, multi: &Multi, now: Instant) {
        if self.pressure.may_wake_for_queue(now) {
            multi.notify();
        }
    }

    #[inline(always)]
    pub(super) fn record(&self, polls: u32, took: Duration) {
        self.adapt.record(polls, self.pressure.crowd.on_core(took));
    }

    /// Queues a task that ran here and is to run again, behind the others. It adds no work that was not there before,
    /// so no worker is woken; the end of the tick notifies.
    #[inline(always)]
    pub(super) fn requeue(&self, multi: &Multi, remote: &Remote, task: Ready) {
        remote.stats.local_schedules.bump();
        if self.has_pinned(task.header()) {
            self.push_pinned(remote, task);
        } else if self.ring.push(task, &multi.inject) {
            self.has_overflowed(multi, remote);
        }
    }

    /// Returns whether a task that ran here is pinned here.
    #[inline]
    fn has_pinned(&self, task: &Header) -> bool {
        self.pinned.get() > 0 && task.pinned().is_some()
    }

    /// Returns the next task: now and then from the global queue, else from the LIFO slot, the ring, or the global
    /// queue. Pinned tasks come before the slot every other time, else after the ring.
    #[inline(always)]
    pub(super) fn next(&self, multi: &Multi, remote: &Remote) -> Option<Ready> {
        #[cfg(feature = "sim")]
        if crate::sys::sim::is_decided() {
            self.choose(multi, remote);
        }
        if self.global.is_now() {
            if let Some(task) = self.next_global(multi, remote) {
                return Some(task);
            }
            self.global.end(&self.adapt);
        }
        // Each of them is counted from its pinning to the end of its future.
        let has_pinned = self.pinned.get() > 0;
        if has_pinned && self.pinned_first.replace(!self.pinned_first.get()) {
            if let Some(task) = self.pop_pinned(remote) {
                return Some(task);
            }
        }
        if let Some(task) = remote.lifo.take_own(multi.remotes.len() == 1) {
            let streak = self.lifo_streak.get();
            // At the end of a streak it goes to the tail, which is the head if the ring is empty.
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

    /// Has the simulation that this runs in choose which of the tasks in the slot and the ring is next, and brings that
    /// one to the front.
    #[cfg(feature = "sim")]
    #[inline(never)]
    fn choose(&self, multi: &Multi, remote: &Remote) {
        let ready = usize::from(!remote.lifo.is_empty()) + self.ring.len() as usize;
        if ready < 2 {
            if ready == 1 {
                crate::sys::sim::choose(1, &|_| None);
            }
            return;
        }
        // Taken out to see which they are, and put back: no other thread runs meanwhile.
        let displaced = remote.lifo.take_own(multi.remotes.len() == 1);
        let mut ring: VecDeque<Ready> = std::iter::from_fn(|| self.ring.pop()).collect();
        let slot = displaced.as_ref().map(|task| task.header().id().get());
        let ids = slot
            .into_iter()
            .chain(ring.iter().map(|task| task.header().id().get()));
        let ids: Vec<u64> = ids.collect();
        let chosen = crate::sys::sim::choose(ready, &|at| ids.get(at).copied());
        // The one in the slot is first. It goes behind the others if one of them is chosen, and so do those before that.
        let (stays, goes) = match chosen {
            0 => (displaced, None),
            _ => (None, displaced),
        };
        let passed = chosen.saturating_sub(usize::from(slot.is_some()));
        ring.rotate_left(passed);
        let behind = ring.split_off(ring.len() - passed);
        for task in ring.into_iter().chain(goes).chain(behind) {
            self.ring.push(task, &multi.inject);
        }
        if let Some(task) = stays {
            let none = remote.lifo.replace(task);
            debug_assert!(none.is_none(), "it was taken out");
        }
    }

    /// Wakes no worker: we look there before we park.
    #[inline]
    fn push_pinned(&self, remote: &Remote, task: Ready) {
        let mut ready = self.pinned_ready.borrow_mut();
        ready.push_back(task);
        remote.pinned_ready.set(ready.len() as u64);
    }

    /// Takes the next ready task that is pinned here. What came by mail goes to the end first.
    #[inline]
    pub(super) fn pop_pinned(&self, remote: &Remote) -> Option<Ready> {
        let mut ready = self.pinned_ready.borrow_mut();
        if !remote.mail.is_empty() {
            remote.mail.pop_all(&mut ready);
        }
        let task = ready.pop_front();
        remote.pinned_ready.set(ready.len() as u64);
        task
    }

    /// Waits a moment for the rest of a burst from outside, and again while more of it comes. Its tasks come one at a
    /// time; taking each as it comes would move the queue's cache lines between cores twice per task.
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

    /// Fetches at most a tick's worth of tasks: behind a long poll in the ring a task may wait while another worker
    /// could run it. The global queue's turn still has the length of one batch, and where polls are long it lasts a
    /// fixed time (`turn.rs`).
    fn next_global(&self, multi: &Multi, remote: &Remote) -> Option<Ready> {
        if multi.inject.is_empty() {
            return None;
        }
        // All but the first go behind what is in the ring, and wait for it.
        let most = match self.adapt.average() * self.ring.len() <= LONG_TICK {
            true => self.adapt.tick(),
            false => 1,
        };
        let (task, taken) = multi
            .inject
            .pop_batch(&self.ring, multi.remotes.len(), most)?;
        remote.stats.global_batches.bump();
        self.global.took(taken, MIN_BATCH, &self.adapt);
        Some(task)
    }

    /// Takes half of the ring of a worker that has at least `min` tasks, beginning with a random victim.
    pub(super) fn steal(&self, multi: &Multi, remote: &Remote, min: u32) -> Option<Ready> {
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

    /// Looks at the other workers, as a spinning thief: takes something worth stealing, or something that its owner
    /// has not got round to for too long. `seen` is how many polls each had begun, and when.
    pub(super) fn scan(
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

    /// Begins a tick. Returns which of its polls, counted from 1, is the first to be recorded, or 0 if none is.
    #[inline]
    pub(super) fn begin_recording(&self, remote: &Remote, now: Instant) -> u32 {
        let io = || remote.rest.io.events();
        self.recorder.begin_tick(now, &remote.stats, io)
    }

    /// Returns whether there is anything that a worker could take.
    pub(super) fn work_in_sight(&self, multi: &Multi) -> bool {
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
