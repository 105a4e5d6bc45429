//! The current-thread scheduler: tasks run on the thread that calls `block_on`, in the order in
//! which they became ready.

use super::adapt::{Adapt, WAIT};
use super::frame::{Frame, Loop, Seat, Station};
use super::inject::{MIN_BATCH, share};
#[cfg(all(feature = "coroutine", unix, not(loom)))]
use super::pinned::Pinned;
use super::place::Place;
use super::rest::{Io, Rest};
use super::spin::Spin;
use super::stats::Counter;
use super::turn::{GlobalTurn, LONG_TICK};
use super::{Config, Scheduler};
use crate::runtime::{Shared, context};
use crate::task::coop;
use crate::task::{Ran, Ready, Slab, Woken};
use crate::time::{Clock, Timers};
use crate::trace::Recorder;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::ops::Deref;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use std::vec::Drain;

/// Polls between two looks at timers and I/O, at most.
const EVENT_INTERVAL: u32 = 61;
/// Every so many polls, at the latest, tasks from outside go first.
const GLOBAL_INTERVAL: u32 = 31;
/// Polls of a tick after which the clock is looked at, in case they are longer than the last ones: 4 and 16.
const CLOCK_AT: u64 = 1 << 4 | 1 << 16;
/// Looks at the mail, while it spins, between two at its I/O.
const LOOKS_PER_TURN: u32 = 8;

pub(crate) struct Current {
    frame: Frame,
    /// That of the driving thread.
    station: Station,
    root: Arc<Root>,
    pub(crate) queue_depth: Counter,
    slot: std::sync::Mutex<CoreSlot>,
    /// Somebody drives the runtime and is not asleep.
    awake: AtomicBool,
}

impl Deref for Current {
    type Target = Frame;

    fn deref(&self) -> &Frame {
        &self.frame
    }
}

struct CoreSlot {
    /// The core, while nobody drives the runtime.
    core: Option<Box<Core>>,
    /// Threads to tell when it is back.
    waiting: Vec<std::thread::Thread>,
}

/// What the driving thread owns.
struct Core {
    queue: RefCell<VecDeque<Ready>>,
    spin: Spin,
    adapt: Adapt,
    /// The turns of the tasks from outside.
    global: GlobalTurn,
    /// How many of them the present turn is for, if polls are short.
    share: Cell<u32>,
    recorder: Recorder,
    /// Polls that have been taken into account.
    noted: Cell<u64>,
}

/// A thread that drives the runtime. Reached through the thread-local context.
pub(crate) struct Driving {
    shared: *const Shared,
    core: Option<Box<Core>>,
    /// What the thread's context held before.
    previous: Cell<(*const Driving, Option<NonNull<Slab>>)>,
}

/// Wakes the future given to `block_on`, and the thread that drives it.
struct Root {
    woken: AtomicBool,
    rest: Arc<Rest>,
}

impl Root {
    /// Has it been woken since the last time this was asked?
    fn take_woken(&self) -> bool {
        self.woken.load(Ordering::Relaxed) && self.woken.swap(false, Ordering::AcqRel)
    }
}

impl Wake for Root {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.rest.unpark();
    }
}

/// Queues a task that was woken, at once if this thread drives the runtime.
pub(super) fn schedule(task: Woken<Scheduler>) {
    match driving(task.parent()) {
        Some(driving) => {
            task.parent().current().station.stats.local_schedules.bump();
            let task = task.into_ready();
            driving.core().recorder.ready(&task);
            driving.queue(task);
        }
        None => {
            // Subtle: once queued the task may finish and take the runtime with it.
            let shared = task.hold();
            shared.current().push_outside(task.into_ready());
        }
    }
}

/// How this thread drives that runtime, if it does.
fn driving<'a>(shared: *const Shared) -> Option<&'a Driving> {
    let driving = context::with(|cx| cx.driving.get());
    // SAFETY: set by `block_on` of this thread for as long as the value is on its stack, below everything that
    // can call this.
    unsafe { driving.as_ref() }.filter(|driving| ptr::eq(driving.shared, shared))
}

impl Current {
    pub(crate) fn new(
        config: Config,
        start: Instant,
        clock: Arc<Clock>,
        io: Io,
    ) -> io::Result<Current> {
        let rest = Arc::new(Rest::new(io));
        let core = Core {
            queue: RefCell::new(VecDeque::new()),
            spin: Spin::new(config.spin, config.cores),
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
        };
        Ok(Current {
            frame: Frame::new(config, false)?,
            station: Station::new(rest.clone(), Timers::with_clock(start, rest.clone(), clock)),
            root: Arc::new(Root {
                woken: AtomicBool::new(false),
                rest,
            }),
            queue_depth: Counter::default(),
            slot: std::sync::Mutex::new(CoreSlot {
                core: Some(Box::new(core)),
                waiting: Vec::new(),
            }),
            awake: AtomicBool::new(false),
        })
    }

    fn set_awake(&self, awake: bool) {
        if self.is_monitored() {
            self.awake.store(awake, Ordering::Release);
            if awake {
                self.watch();
            }
        }
    }

    /// Drives the runtime until `future` is ready; or, while another thread drives it, waits for
    /// that one to make progress for us. The caller has entered the runtime.
    pub(crate) fn block_on<F: Future>(
        &self,
        shared: &Shared,
        mut future: Pin<&mut F>,
    ) -> F::Output {
        loop {
            if let Some(core) = self.take_core() {
                return self.drive(shared, core, future);
            }
            // Somebody else drives. Poll our future as an ordinary thread, until it is ready or
            // the core is free.
            if let Some(output) = self.wait_beside(future.as_mut()) {
                return output;
            }
        }
    }

    fn wait_beside<F: Future>(&self, mut future: Pin<&mut F>) -> Option<F::Output> {
        let beside = Arc::new(Beside {
            woken: AtomicBool::new(true),
            thread: std::thread::current(),
        });
        let waker = Waker::from(beside.clone());
        let mut cx = Context::from_waker(&waker);
        loop {
            if beside.woken.swap(false, Ordering::AcqRel) {
                let polled = coop::with_fresh_budget(|| future.as_mut().poll(&mut cx));
                if let Poll::Ready(output) = polled {
                    return Some(output);
                }
            }
            let mut slot = self.lock_slot();
            if slot.core.is_some() {
                return None;
            }
            if !slot.waiting.iter().any(|t| t.id() == beside.thread.id()) {
                slot.waiting.push(beside.thread.clone());
            }
            drop(slot);
            if !beside.woken.load(Ordering::Acquire) {
                std::thread::park();
            }
        }
    }

    fn lock_slot(&self) -> std::sync::MutexGuard<'_, CoreSlot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_core(&self) -> Option<Box<Core>> {
        self.lock_slot().core.take()
    }

    fn put_core(&self, core: Box<Core>) {
        let waiting = {
            let mut slot = self.lock_slot();
            slot.core = Some(core);
            std::mem::take(&mut slot.waiting)
        };
        for thread in waiting {
            thread.unpark();
        }
    }

    fn drive<F: Future>(
        &self,
        shared: &Shared,
        core: Box<Core>,
        mut future: Pin<&mut F>,
    ) -> F::Output {
        let driving = Driving {
            shared,
            core: Some(core),
            previous: Cell::new((ptr::null(), None)),
        };
        driving.begin(self);
        let core = driving.core();
        core.recorder.adopted();
        self.set_awake(true);
        *self.station.thread.lock() = Some(std::thread::current().id());
        self.root.woken.store(true, Ordering::Release);
        let waker = Waker::from(self.root.clone());
        let mut cx = Context::from_waker(&waker);
        // Tasks that were queued when the future last had its turn, and go before the next one, unless it has
        // waited long enough.
        // D-SCHED-14
        let mut ahead = 0;
        let mut waits_since = None;
        loop {
            let mut tick = core.adapt.tick();
            let mut polls = 0;
            // When the tick's first task was run, and the first since the future's last turn.
            let (mut began, mut start) = (None, None);
            let mut record_at = 0;
            let mut is_dry = false;
            while polls < tick {
                if ahead == 0 {
                    if self.root.take_woken() {
                        if let Some(start) = start.take() {
                            self.note_busy(core, start);
                        }
                        let polled = coop::with_fresh_budget(|| future.as_mut().poll(&mut cx));
                        if let Poll::Ready(output) = polled {
                            return output;
                        }
                        // It may have taken as long as any.
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
                    let now = Instant::now();
                    start = Some(now);
                    waits_since.get_or_insert(now);
                    if polls == 0 {
                        began = start;
                        record_at = self.begin_recording(core, now);
                    }
                }
                polls += 1;
                ahead = ahead.saturating_sub(1);
                if polls == record_at {
                    record_at += core.recorder.every();
                    self.run_recorded(core, task);
                } else {
                    self.run_task(core, task);
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

    /// Tasks have been run since then. Returns the time.
    fn note_busy(&self, core: &Core, since: Instant) -> Instant {
        let now = Instant::now();
        let took = now - since;
        let ns = took.as_nanos() as u64;
        self.station.stats.busy_ns.add(ns);
        let polled = self.station.stats.polled.get();
        let polls = polled - core.noted.replace(polled);
        core.spin.record_polls(&core.adapt, polls as u32, took);
        self.station.stats.mean_poll_ns.set(core.adapt.average_ns());
        // Of one poll, or else no more than the longest of them.
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

    /// It is the turn of the tasks from outside: of a batch of them, and where polls are long of as many as
    /// there is time for.
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

    fn run_task(&self, core: &Core, task: Ready) {
        self.station.stats.polled.bump();
        match task.run() {
            Ran::Idle => {}
            Ran::Complete => self.station.stats.completed.bump(),
            Ran::Requeue(task) => core.queue.borrow_mut().push_back(task),
        }
    }

    /// A tick begins with a poll. Which of its polls, counted from 1, is the first to be recorded? 0:
    /// none is.
    fn begin_recording(&self, core: &Core, now: Instant) -> u32 {
        let io = || self.station.rest.io.events();
        core.recorder.begin_tick(now, &self.station.stats, io)
    }

    /// The same, with a record of it.
    #[cold]
    fn run_recorded(&self, core: &Core, task: Ready) {
        let begun = core.recorder.begin(&task, self.station.stats.polled.get());
        self.run_task(core, task);
        core.recorder.end(begun);
    }

    /// Nothing is left to run: waits for a wake-up or the next timer.
    fn park(&self, shared: &Shared, core: &Core) {
        self.station.rest.turn();
        if self.has_work(core) {
            return;
        }
        super::call(&self.config.on_park);
        // The hook may have made something ready.
        if !self.has_work(core) {
            self.sleep(shared, core);
        }
        super::call(&self.config.on_unpark);
    }

    fn has_work(&self, core: &Core) -> bool {
        !core.queue.borrow().is_empty()
            || !self.inject.is_empty()
            || self.root.woken.load(Ordering::Acquire)
    }

    fn sleep(&self, shared: &Shared, core: &Core) {
        let rest = &self.station.rest;
        let due = self.station.timers.next_due();
        if let Some(due) = due {
            // A paused clock jumps instead of waiting, unless a token says that something came.
            if shared.clock.jump_to(due, || rest.is_notified()) {
                return;
            }
        }
        let timeout = match due {
            // While it is paused and may not jump, time does not pass: wait to be told.
            Some(_) if shared.clock.is_paused() => None,
            Some(due) => Some(due.saturating_duration_since(shared.clock.now())),
            None => None,
        };
        let start = Instant::now();
        core.spin.look_around(start);
        self.station.stats.park_unpark.bump();
        let short = timeout.is_some_and(|t| t < Duration::from_millis(1));
        if short || !self.spin(core, start) {
            // SAFETY: driving makes this thread the owner of the slab.
            unsafe { self.station.owner.tidy() };
            self.station.stats.parked.bump();
            let parked = Instant::now();
            self.set_awake(false);
            core.recorder.park(|| rest.park(timeout));
            self.set_awake(true);
            core.spin.record_park(start, parked, Instant::now());
        } else {
            self.station.stats.spin_hits.bump();
            rest.take_token();
        }
        self.station.stats.park_unpark.bump();
    }

    /// Looks around for a moment before sleeping. True if there is something to do.
    fn spin(&self, core: &Core, start: Instant) -> bool {
        let rest = &self.station.rest;
        let mut looks = 0u32;
        core.spin.wait(start, || {
            looks += 1;
            if looks % LOOKS_PER_TURN == 0 && rest.has_io() {
                rest.turn();
                if self.has_work(core) {
                    return true;
                }
            }
            rest.is_notified()
        })
    }

    /// Refuses new tasks and drops all there are, on this thread.
    fn close(&self) {
        if !self.begin_closing() {
            return;
        }
        // Nobody drives any more: the runtime is being dropped.
        let Some(core) = self.take_core() else { return };
        // Tasks that wake each other while they are dropped must not queue locally.
        while self.alive() > 0 {
            for task in self.live_tasks() {
                // SAFETY: nobody drives, so this thread may drop the tasks; those that are not
                // `Send` belong to a runtime that cannot leave its thread.
                if unsafe { task.shut_down() } {
                    self.outside_completed.add_shared(1);
                }
            }
            loop {
                let local = core.queue.borrow_mut().pop_front();
                let Some(task) = local.or_else(|| self.inject.pop()) else {
                    break;
                };
                task.refuse();
                self.outside_completed.add_shared(1);
            }
            std::thread::yield_now();
        }
        self.station.timers.close();
        // SAFETY: nobody drives, and the caller holds the runtime.
        unsafe { self.station.owner.retire() };
        self.retire();
    }
}

impl Loop for Current {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn workers(&self) -> usize {
        1
    }

    fn station(&self, _: usize) -> &Station {
        &self.station
    }

    fn queue_depth(&self, _: usize) -> usize {
        self.queue_depth.get() as usize
    }

    fn is_awake(&self, _: usize) -> bool {
        self.station.stats.park_unpark.get() & 1 == 0
    }

    fn all_are_asleep(&self) -> bool {
        !self.awake.load(Ordering::Acquire)
    }

    fn runs_here(&self, shared: &Shared) -> bool {
        driving(shared).is_some()
    }

    fn place<'a>(&'a self, shared: &Shared, tasks: usize) -> Place<'a> {
        match driving(shared) {
            Some(driving) => {
                self.station.stats.spawned.add(tasks as u64);
                Place::driving(&self.station.owner, driving)
            }
            None => self.place_outside(tasks),
        }
    }

    fn place_outside(&self, tasks: usize) -> Place<'_> {
        Place::outside(self.outside.enter(tasks), self)
    }

    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    fn place_bound<'a>(&'a self, shared: &Shared) -> Option<(Place<'a>, Option<Pinned>)> {
        Some((self.place(shared, 1), None))
    }

    fn push_outside(&self, task: Ready) {
        self.inject.push_outside(task);
        self.station.rest.unpark();
    }

    fn push_batch_outside(&self, tasks: Drain<'_, Ready>) {
        self.inject.push_batch_outside(tasks);
        self.station.rest.unpark();
    }

    fn seat<'a>(&'a self, shared: &Shared) -> io::Result<Seat<'a>> {
        match driving(shared) {
            Some(_) => Ok(Seat::here(&self.station)),
            None => Ok(Seat::elsewhere(&self.station)),
        }
    }

    fn start(&self) -> io::Result<()> {
        Ok(())
    }

    fn start_failures(&self) -> u64 {
        0
    }

    fn fire_timers(&self, shared: &Shared) {
        if self.station.timers.next_due().is_some() {
            self.station
                .timers
                .fire(shared.clock.now(), &self.station.stats.timers_fired);
        }
    }

    fn look_after_the_stuck(&self, _: &mut Vec<Option<u64>>) {
        // Nobody else could run what waits.
    }

    fn stop(&self, _: &Arc<Shared>, _: Option<Instant>) -> bool {
        self.close();
        true
    }

    fn join_threads(&self) {}
}

/// Has a tick that began then lasted long enough?
fn has_lasted(began: Option<Instant>) -> bool {
    began.is_some_and(|began| began.elapsed() >= LONG_TICK)
}

/// A thread that waits in `block_on` while another one drives.
struct Beside {
    woken: AtomicBool,
    thread: std::thread::Thread,
}

impl Wake for Beside {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

impl Driving {
    fn core(&self) -> &Core {
        self.core.as_ref().expect("there until dropped")
    }

    /// Queues a task that is ready, at the tail.
    pub(super) fn queue(&self, task: Ready) {
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
        // SAFETY: `drive` borrows the runtime for longer than this.
        unsafe { (*self.shared).current() }.station.rest.depart();
        context::with(|cx| {
            let (driving, slab) = self.previous.get();
            cx.driving.set(driving);
            cx.slab.set(slab);
        });
        if let Some(core) = self.core.take() {
            // SAFETY: `drive` borrows the runtime for longer than this.
            let current = unsafe { (*self.shared).current() };
            current.set_awake(false);
            current.put_core(core);
        }
    }
}
