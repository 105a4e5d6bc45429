//! The loop: the thread in `block_on` runs the tasks, and its own future among them.
//!
//! It goes in *rounds*, in the order of Tokio's current-thread runtime, since tests of programs lean on it:
//!
//! 1. The future of `block_on` is polled, if it was woken.
//! 2. Up to 61 tasks run, first in first out. Each 31st is one from outside, if there is any; they also run when the
//!    local queue is empty.
//! 3. The thread looks at its I/O and its timers, and sleeps there if nothing is left to do.
//! 4. Those that have yielded, or have used up their budget, are woken: the last one first.
//!
//! That counts polls. Where polls take long, time decides as well. A *tick* is a part of a round that aims at 200 µs; after
//! each the thread looks at its I/O, its timers and the tasks from outside. A round ends after the tick in which it has
//! lasted a millisecond: the future of `block_on` waits no longer. While the runtime's clock is paused there is no
//! time, and polls alone are counted.

use super::Current;
use super::deferred::Deferred;
use crate::context;
use crate::runtime::Shared;
use crate::scheduler::Config;
use crate::scheduler::adapt::{Adapt, WAIT};
use crate::scheduler::frame::Loop;
use crate::scheduler::inject::{MIN_BATCH, share};
use crate::scheduler::pressure::Crowd;
use crate::scheduler::recorder::Recorder;
use crate::scheduler::spin::Spin;
use crate::scheduler::turn::{GlobalTurn, LONG_TICK};
use crate::sys::atomic::Ordering;
use crate::sys::{clock, take_next, thread};
use crate::task::coop;
use crate::task::{Ran, Ready, Slab};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Maximum number of polls between two looks at timers and I/O, and in a round.
// D-SCHED-17
const EVENT_INTERVAL: u32 = 61;
/// At most this many polls, and the last of them is a task's from outside.
// D-SCHED-17
const GLOBAL_INTERVAL: u32 = 31;
/// Polls of a tick after which the clock is read, in case they take longer than the last ones: 4 and 16.
const CLOCK_AT: u64 = 1 << 4 | 1 << 16;

/// Looks that have found nothing, one after the other, after which some are left out.
const FUTILE: u32 = 16;
/// Maximum number of looks that are left out between two.
const SKIPPED: u32 = 15;

/// What the driving thread owns.
pub(super) struct Core {
    pub(super) queue: RefCell<VecDeque<Ready>>,
    /// Those to be woken at the end of the round.
    pub(super) deferred: Deferred,
    pub(super) spin: Spin,
    pub(super) crowd: Crowd,
    pub(super) adapt: Adapt,
    /// The turns of the tasks from outside.
    pub(super) global: GlobalTurn,
    /// Maximum number of polls between two of these turns.
    most_local: u32,
    /// How many of them the present turn is for at least.
    pub(super) share: Cell<u32>,
    /// Maximum number of polls in a round.
    round: u32,
    /// Polls before the last look at the I/O.
    looked_at: Cell<u64>,
    /// Looks in a row that have found nothing.
    futile: Cell<u32>,
    /// Looks left out since the last one.
    skipped: Cell<u32>,
    /// When the last tick ended, if the thread has done nothing since that takes time.
    pub(super) ended: Cell<Option<Instant>>,
    /// Time passes for the runtime: its clock is not paused.
    timed: Cell<bool>,
    pub(super) recorder: Recorder,
    /// Polls that have been taken into account.
    pub(super) noted: Cell<u64>,
}

/// A thread that drives the runtime. Reached through the thread-local context.
pub(crate) struct Driving {
    pub(super) shared: *const Shared,
    core: Option<Box<Core>>,
    /// What the thread's context held before.
    previous: Cell<(*const Driving, Option<NonNull<Slab>>)>,
}

impl Core {
    pub(super) fn new(config: &Config) -> Core {
        let most_local = config.global_interval.unwrap_or(GLOBAL_INTERVAL) - 1;
        Core {
            queue: RefCell::new(VecDeque::new()),
            deferred: Deferred::new(),
            spin: Spin::new(config.spin, config.cores),
            crowd: Crowd::new(),
            adapt: Adapt::at_most(
                config.global_interval.map(|every| every - 1),
                config.event_interval,
                GLOBAL_INTERVAL - 1,
                EVENT_INTERVAL,
            ),
            global: GlobalTurn::after(most_local),
            most_local,
            round: config.event_interval.unwrap_or(EVENT_INTERVAL),
            looked_at: Cell::new(0),
            futile: Cell::new(0),
            skipped: Cell::new(0),
            ended: Cell::new(None),
            timed: Cell::new(true),
            share: Cell::new(0),
            recorder: Recorder::new(config.tracer.clone(), 0),
            noted: Cell::new(0),
        }
    }

    /// Ends the turn of the tasks from outside.
    fn end_global_turn(&self) {
        match self.timed.get() {
            true => self.global.end(&self.adapt),
            false => self.global.end_until(self.most_local),
        }
    }
}

impl Current {
    /// Runs tasks until `future` is ready. Returns `None` if a task has panicked, and the runtime has ended with it.
    pub(super) fn drive<F: Future>(
        &self,
        shared: &Shared,
        core: Box<Core>,
        future: Pin<&mut F>,
    ) -> Option<F::Output> {
        let mut driving = Driving {
            shared,
            core: Some(core),
            previous: Cell::new((ptr::null(), None)),
        };
        driving.begin(self);
        let output = self.run(shared, driving.core(), future);
        if output.is_none() {
            driving.core().deferred.wake_all();
            let core = driving.core.take().expect("there until dropped");
            self.set_awake(false);
            drop(driving);
            self.end(core);
        }
        output
    }

    /// Runs tasks until `future` is ready, or, with `None`, until a task has panicked that ends the runtime.
    #[inline(always)]
    fn run<F: Future>(
        &self,
        shared: &Shared,
        core: &Core,
        mut future: Pin<&mut F>,
    ) -> Option<F::Output> {
        core.recorder.adopted();
        self.set_awake(true);
        *self.station.thread.lock() = Some(thread::current().id());
        self.root.woken.store(true, Ordering::Release);
        let waker = Waker::from(self.root.clone());
        let mut cx = Context::from_waker(&waker);
        loop {
            let is_polled = self.root.take_woken();
            if is_polled {
                if self.root.has_panicked() {
                    return None;
                }
                core.ended.set(None);
                let polled = coop::with_fresh_budget(|| future.as_mut().poll(&mut cx));
                if let Poll::Ready(output) = polled {
                    return Some(output);
                }
            }
            core.timed.set(!shared.clock.is_paused());
            match self.run_round(shared, core)? {
                // Nothing is left but those that gave way. How long a poll of the future takes is not known.
                true if !is_polled && self.has_work(core) => self.turn_sometimes(core),
                true => self.park(shared, core),
                false => self.turn(core),
            }
            self.fire_timers(shared);
            core.deferred.wake_all();
        }
    }

    /// Runs the tasks of a round. Returns whether none is left, or `None` if one has panicked that ends the runtime.
    fn run_round(&self, shared: &Shared, core: &Core) -> Option<bool> {
        let mut left = core.round;
        let mut since = None;
        loop {
            let polls = match core.timed.get() {
                // No look comes later because others were left out.
                true => {
                    let until_look = core.round.saturating_sub(self.since_look(core)).max(1);
                    core.adapt.tick().min(left).min(until_look)
                }
                false => left,
            };
            let tick = self.run_tick(core, polls)?;
            if let Some(span) = tick.lasted.filter(|_| core.timed.get()) {
                if span.took >= LONG_TICK {
                    core.global.hurry();
                }
                let round = match since {
                    Some(since) => span.end - since,
                    None => span.took,
                };
                if round >= WAIT {
                    return Some(tick.is_dry);
                }
                since.get_or_insert(span.began);
            }
            left -= tick.polls;
            if tick.is_dry || left == 0 {
                return Some(tick.is_dry);
            }
            self.turn(core);
            self.fire_timers(shared);
        }
    }

    /// Looks at the I/O.
    pub(super) fn turn(&self, core: &Core) {
        core.skipped.set(0);
        core.looked_at.set(self.station.stats.polled.get());
        if self.station.rest.has_io() {
            core.ended.set(None);
            let before = core.queue.borrow().len();
            self.station.rest.turn();
            let futile = core.queue.borrow().len() == before && !self.root.is_woken();
            core.futile.set(if futile {
                core.futile.get().saturating_add(1)
            } else {
                0
            });
        }
    }

    /// As `turn` after a short round, which is often one of many: where looks have found nothing for a while, some are
    /// left out.
    // D-SCHED-18
    fn turn_sometimes(&self, core: &Core) {
        let may_skip = core.timed.get()
            && core.adapt.counts_polls()
            && core.futile.get() >= FUTILE
            && core.skipped.get() < SKIPPED
            && self.since_look(core) < core.round;
        if may_skip {
            core.skipped.set(core.skipped.get() + 1);
        } else {
            self.turn(core);
        }
    }

    /// Returns how many tasks have been polled since the last look at the I/O.
    fn since_look(&self, core: &Core) -> u32 {
        let polls = self.station.stats.polled.get() - core.looked_at.get();
        polls.try_into().unwrap_or(u32::MAX)
    }

    /// Runs at most `most` tasks, fewer if they take long. `None` as in `run_round`.
    fn run_tick(&self, core: &Core, most: u32) -> Option<Tick> {
        let mut polls = 0;
        let mut began = None;
        let mut record_at = 0;
        let mut is_dry = false;
        while polls < most {
            let Some(task) = self.next(core) else {
                is_dry = true;
                break;
            };
            if polls == 0 {
                let now = core.ended.take().unwrap_or_else(clock::now);
                began = Some(now);
                record_at = self.begin_recording(core, now);
            }
            polls += 1;
            let going_on = if polls == record_at {
                record_at += core.recorder.every();
                self.run_recorded(core, task)
            } else {
                self.run_task(core, task)
            };
            if !going_on {
                return None;
            }
            if CLOCK_AT >> (polls & 63) & 1 == 1 && core.timed.get() && has_lasted(began) {
                break;
            }
        }
        self.queue_depth.set(core.queue.borrow().len() as u64);
        Some(Tick {
            polls,
            is_dry,
            lasted: began.map(|began| self.note_busy(core, began)),
        })
    }

    /// Records that tasks have run since then.
    fn note_busy(&self, core: &Core, began: Instant) -> Span {
        let end = clock::now();
        core.ended.set(Some(end));
        let took = end - began;
        let ns = took.as_nanos() as u64;
        self.station.stats.busy_ns.add(ns);
        let polled = self.station.stats.polled.get();
        let polls = polled - core.noted.replace(polled);
        core.adapt.record(polls as u32, core.crowd.on_core(took));
        self.station.stats.mean_poll_ns.set(core.adapt.average_ns());
        // The time of one poll, or the mean of several, which the longest of them took at least.
        let mean = if polls > 1 { ns / polls } else { ns };
        self.station.stats.max_poll_ns.raise(mean);
        Span { began, end, took }
    }

    fn next(&self, core: &Core) -> Option<Ready> {
        if core.global.is_now() {
            if let Some(task) = self.next_from_outside(core) {
                return Some(task);
            }
            core.end_global_turn();
        }
        let local = take_next(&mut core.queue.borrow_mut(), |task| {
            task.header().id().get()
        });
        local.or_else(|| self.inject.pop())
    }

    /// Returns the next task from outside while it is their turn: one of them; where polls are not short a batch, and
    /// where they are long as many as there is time for.
    fn next_from_outside(&self, core: &Core) -> Option<Ready> {
        if self.inject.is_empty() {
            return None;
        }
        if !core.timed.get() || core.adapt.counts_polls() {
            let task = self.inject.pop()?;
            core.end_global_turn();
            return Some(task);
        }
        if core.global.begins() {
            let most = core.adapt.tick().max(MIN_BATCH);
            core.share.set(share(self.inject.len(), 1).min(most));
        }
        let task = self.inject.pop()?;
        core.global.took(1, core.share.get(), &core.adapt);
        Some(task)
    }

    /// Runs one task. Returns false if it has panicked and the runtime ends with it.
    fn run_task(&self, core: &Core, task: Ready) -> bool {
        self.station.stats.polled.bump();
        match task.run() {
            Ran::Idle => {}
            Ran::Complete => {
                self.station.stats.completed.bump();
                return !self.root.has_panicked();
            }
            Ran::Requeue(task) => core.queue.borrow_mut().push_back(task),
        }
        true
    }

    /// Begins a tick with a poll. Returns which of its polls, counted from 1, is the first to be recorded, or 0 if
    /// none is.
    fn begin_recording(&self, core: &Core, now: Instant) -> u32 {
        let io = || self.station.rest.io.events();
        core.recorder.begin_tick(now, &self.station.stats, io)
    }

    /// As `run_task`, and records the poll.
    #[cold]
    fn run_recorded(&self, core: &Core, task: Ready) -> bool {
        let begun = core.recorder.begin(&task, self.station.stats.polled.get());
        let timed = self.station.stats.begin_poll();
        let going_on = self.run_task(core, task);
        self.station.stats.end_poll(timed);
        core.recorder.end(begun);
        going_on
    }
}

/// What a tick has done.
struct Tick {
    polls: u32,
    /// No task was left.
    is_dry: bool,
    /// If any task has run.
    lasted: Option<Span>,
}

/// A time in which tasks ran.
struct Span {
    began: Instant,
    end: Instant,
    took: Duration,
}

/// Returns whether a tick that began then has lasted long enough.
fn has_lasted(began: Option<Instant>) -> bool {
    began.is_some_and(|began| clock::elapsed(began) >= LONG_TICK)
}

impl Driving {
    pub(super) fn core(&self) -> &Core {
        self.core.as_ref().expect("there until dropped")
    }

    fn current<'a>(&self) -> &'a Current {
        // SAFETY: `drive` borrows the runtime for longer than this value exists.
        unsafe { (*self.shared).current() }
    }

    /// Queues a task that was spawned.
    pub(in crate::scheduler) fn queue_new(&self, task: Ready) {
        self.core().recorder.ready(&task);
        self.queue(task);
    }

    /// Queues a task that is ready, at the tail.
    pub(in crate::scheduler) fn queue(&self, task: Ready) {
        self.core().queue.borrow_mut().push_back(task);
    }

    fn begin(&self, current: &Current) {
        context::with(|cx| {
            let slab = current.station.owner.slab();
            self.previous.set((
                cx.driving.replace(ptr::from_ref(self)),
                cx.slab.replace(Some(slab)),
            ));
        });
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        let current = self.current();
        if let Some(core) = &self.core {
            // Those that gave way in the last poll of the future: the thread may not come back.
            core.deferred.wake_all();
        }
        current.station.rest.depart();
        context::with(|cx| {
            let (driving, slab) = self.previous.get();
            cx.driving.set(driving);
            cx.slab.set(slab);
        });
        if let Some(core) = self.core.take() {
            // What was added by these: from here on nothing is.
            core.deferred.wake_all();
            current.set_awake(false);
            current.put_core(core);
        }
    }
}
