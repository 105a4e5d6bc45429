//! The loop: the thread in `block_on` runs the tasks, and its own future among them.

use super::Current;
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
use crate::sys::{clock, thread};
use crate::task::coop;
use crate::task::{Ran, Ready, Slab};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// Maximum number of polls between two looks at timers and I/O.
const EVENT_INTERVAL: u32 = 61;
/// Maximum number of polls after which tasks from outside go first.
const GLOBAL_INTERVAL: u32 = 31;
/// Polls of a tick after which the clock is read, in case they take longer than the last ones: 4 and 16.
const CLOCK_AT: u64 = 1 << 4 | 1 << 16;

/// What the driving thread owns.
pub(super) struct Core {
    pub(super) queue: RefCell<VecDeque<Ready>>,
    pub(super) spin: Spin,
    pub(super) crowd: Crowd,
    pub(super) adapt: Adapt,
    /// The turns of the tasks from outside.
    pub(super) global: GlobalTurn,
    /// How many of them the present turn is for, where polls are short.
    pub(super) share: Cell<u32>,
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
        Core {
            queue: RefCell::new(VecDeque::new()),
            spin: Spin::new(config.spin, config.cores),
            crowd: Crowd::new(),
            adapt: Adapt::at_most(
                config.global_interval,
                config.event_interval,
                GLOBAL_INTERVAL,
                EVENT_INTERVAL,
            ),
            global: GlobalTurn::after(config.global_interval.unwrap_or(GLOBAL_INTERVAL)),
            share: Cell::new(0),
            recorder: Recorder::new(config.tracer.clone(), 0),
            noted: Cell::new(0),
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
        // Tasks that were queued when the future last had its turn, and run before its next one, unless it has waited
        // long enough.
        // D-SCHED-14
        let mut ahead = 0;
        let mut waits_since = None;
        loop {
            let mut tick = core.adapt.tick();
            let mut polls = 0;
            // When the tick's first task was run, and the first one since the future's last turn.
            let (mut began, mut start) = (None, None);
            let mut record_at = 0;
            let mut is_dry = false;
            while polls < tick {
                if ahead == 0 {
                    if self.root.take_woken() {
                        if self.root.has_panicked() {
                            return None;
                        }
                        if let Some(start) = start.take() {
                            self.note_busy(core, start);
                        }
                        let polled = coop::with_fresh_budget(|| future.as_mut().poll(&mut cx));
                        if let Poll::Ready(output) = polled {
                            return Some(output);
                        }
                        // It may have taken as long as any task.
                        tick -= 1;
                    }
                    ahead = core.queue.borrow().len();
                    waits_since = None;
                }
                let Some(task) = self.next(core) else {
                    ahead = 0;
                    is_dry = true;
                    break;
                };
                if start.is_none() {
                    let now = clock::now();
                    start = Some(now);
                    waits_since.get_or_insert(now);
                    if polls == 0 {
                        began = start;
                        record_at = self.begin_recording(core, now);
                    }
                }
                polls += 1;
                ahead = ahead.saturating_sub(1);
                let going_on = if polls == record_at {
                    record_at += core.recorder.every();
                    self.run_recorded(core, task)
                } else {
                    self.run_task(core, task)
                };
                if !going_on {
                    return None;
                }
                if CLOCK_AT >> (polls & 63) & 1 == 1 && has_lasted(began) {
                    break;
                }
            }
            self.queue_depth.set(core.queue.borrow().len() as u64);
            if let Some(start) = start {
                let now = self.note_busy(core, start);
                if began.is_some_and(|began| now - began >= LONG_TICK) {
                    core.global.hurry();
                }
                if waits_since.is_some_and(|since| now - since >= WAIT) {
                    ahead = 0;
                }
            }
            if is_dry {
                self.park(shared, core);
            } else {
                self.station.rest.turn();
            }
            self.fire_timers(shared);
        }
    }

    /// Records that tasks have run since then. Returns the present time.
    fn note_busy(&self, core: &Core, since: Instant) -> Instant {
        let now = clock::now();
        let took = now - since;
        let ns = took.as_nanos() as u64;
        self.station.stats.busy_ns.add(ns);
        let polled = self.station.stats.polled.get();
        let polls = polled - core.noted.replace(polled);
        core.adapt.record(polls as u32, core.crowd.on_core(took));
        self.station.stats.mean_poll_ns.set(core.adapt.average_ns());
        // The time of one poll, or the mean of several, which the longest of them took at least.
        let mean = if polls > 1 { ns / polls } else { ns };
        self.station.stats.max_poll_ns.raise(mean);
        now
    }

    fn next(&self, core: &Core) -> Option<Ready> {
        if core.global.is_now() {
            if let Some(task) = self.next_from_outside(core) {
                return Some(task);
            }
            core.global.end(&core.adapt);
        }
        let local = core.queue.borrow_mut().pop_front();
        local.or_else(|| self.inject.pop())
    }

    /// Returns the next task from outside while it is their turn: a batch of them, and where polls are long as many
    /// as there is time for.
    fn next_from_outside(&self, core: &Core) -> Option<Ready> {
        if self.inject.is_empty() {
            return None;
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
        current.station.rest.depart();
        context::with(|cx| {
            let (driving, slab) = self.previous.get();
            cx.driving.set(driving);
            cx.slab.set(slab);
        });
        if let Some(core) = self.core.take() {
            current.set_awake(false);
            current.put_core(core);
        }
    }
}
