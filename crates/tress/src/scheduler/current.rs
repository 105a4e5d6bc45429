//! The current-thread scheduler: tasks run on the thread that calls `block_on`, in the order in
//! which they became ready. `drive.rs` says when the future of `block_on`, the driver and the tasks from outside have
//! their turns.

mod beside;
mod deferred;
mod drive;
mod sleep;

pub(crate) use drive::Driving;

use super::frame::{Frame, Loop, Seat, Station};
#[cfg(all(feature = "coroutine", unix, not(loom)))]
use super::pinned::Pinned;
use super::place::Place;
use super::rest::{Io, Rest};
use super::stats::WorkerStats;
use super::{Config, Scheduler};
use crate::context;
use crate::runtime::Shared;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicBool;
use crate::sys::{Counter, Mutex, thread};
use crate::task::{self, Doomed, Ready, Woken};
use crate::timer::{Clock, Timers};
use beside::CoreSlot;
use drive::Core;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Instant;
use std::vec::Drain;
use std::{io, iter};

pub(crate) struct Current {
    frame: Frame,
    /// The driving thread's station.
    station: Station,
    root: Arc<Root>,
    queue_depth: Counter,
    slot: Mutex<CoreSlot>,
    /// A thread drives the runtime and is not asleep.
    awake: AtomicBool,
}

impl Deref for Current {
    type Target = Frame;

    fn deref(&self) -> &Frame {
        &self.frame
    }
}

/// Wakes the future given to `block_on`, and the thread that drives it.
struct Root {
    woken: AtomicBool,
    /// A task has panicked, and the runtime ends with it.
    panicked: AtomicBool,
    rest: Arc<Rest>,
}

impl Root {
    /// Ends the runtime: the thread that drives it returns from its present poll, or wakes up, and drops all tasks.
    fn end(self: &Arc<Self>) {
        self.panicked.store(true, Ordering::Release);
        self.wake_by_ref();
    }

    fn has_panicked(&self) -> bool {
        self.panicked.load(Ordering::Acquire)
    }

    fn is_woken(&self) -> bool {
        self.woken.load(Ordering::Acquire)
    }

    /// Returns whether it has been woken since the last call.
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

/// Wakes a task once the current-thread runtime that this thread drives has looked at its timers and I/O. Returns
/// false if it drives none.
#[inline]
pub(crate) fn defer(waker: &Waker) -> bool {
    let driving = context::with(|cx| cx.driving.get());
    // SAFETY: as in `driving`.
    match unsafe { driving.as_ref() } {
        Some(driving) => {
            driving.core().deferred.push(waker);
            true
        }
        None => false,
    }
}

/// Returns how this thread drives that runtime, if it does.
fn driving<'a>(shared: *const Shared) -> Option<&'a Driving> {
    let driving = context::with(|cx| cx.driving.get());
    // SAFETY: set by `block_on` of this thread for as long as the value is on its stack, below everything that
    // can call this.
    unsafe { driving.as_ref() }.filter(|driving| ptr::eq(driving.shared, shared))
}

/// Calls `f` with the counters of the worker of that runtime, if this thread drives it.
pub(super) fn with_stats_here(shared: *const Shared, f: impl FnOnce(&WorkerStats)) {
    if driving(shared).is_some() {
        // SAFETY: whoever drives a runtime holds it.
        f(unsafe { &(*shared).current().station.stats });
    }
}

impl Current {
    pub(crate) fn new(
        config: Config,
        start: Instant,
        clock: Arc<Clock>,
        io: Io,
    ) -> io::Result<Current> {
        let rest = Arc::new(Rest::new(io));
        let core = Core::new(&config);
        Ok(Current {
            frame: Frame::new(config, false)?,
            station: Station::new(
                rest.clone(),
                Timers::with_clock(start, rest.clone().into(), clock),
            ),
            root: Arc::new(Root {
                woken: AtomicBool::new(false),
                panicked: AtomicBool::new(false),
                rest,
            }),
            queue_depth: Counter::default(),
            slot: Mutex::new(CoreSlot {
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

    /// Makes a panic of a task the end of the runtime.
    pub(crate) fn end_on_panic(&self) {
        for owner in self.owners() {
            let root = self.root.clone();
            owner.set_on_panic(Arc::new(move || root.end()));
        }
    }

    /// Returns how many tasks are queued, if this thread drives the runtime.
    fn queued_here(&self) -> Option<usize> {
        let driving = context::with(|cx| cx.driving.get());
        // SAFETY: as in `driving`.
        let driving = unsafe { driving.as_ref() }?;
        // SAFETY: whoever drives a runtime holds it.
        let is_this = ptr::eq(unsafe { (*driving.shared).current() }, self);
        let queue = is_this.then(|| driving.core().queue.try_borrow().ok())??;
        Some(queue.len())
    }

    /// Refuses new tasks and drops all existing ones, on this thread.
    fn close(&self) {
        if !self.begin_closing() {
            return;
        }
        // No thread drives it any more: the runtime is being dropped.
        let Some(core) = self.take_core() else { return };
        self.drop_tasks(&core);
    }

    /// Drops all tasks. The caller has begun to close the scheduler, and holds the core for good.
    fn drop_tasks(&self, core: &Core) {
        // Tasks that wake each other while they are dropped must not queue locally.
        while self.alive() > 0 {
            let queued = |doomed: &mut Doomed<Ready>| {
                let local = std::mem::take(&mut *core.queue.borrow_mut());
                for task in local.into_iter().chain(iter::from_fn(|| self.inject.pop())) {
                    doomed.add(task.header().id(), task);
                }
            };
            // SAFETY: no thread drives the runtime, so this one may drop the tasks; those that are not `Send` belong to
            // a runtime that cannot leave its thread.
            let completed =
                unsafe { task::drop_in_order(self.live_tasks(), queued, Ready::refuse) };
            self.outside_completed.add_shared(completed as u64);
            if completed == 0 {
                thread::yield_now();
            }
        }
        self.station.timers.close();
        // SAFETY: no thread drives the runtime, and the caller holds it.
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
        // The count is that of the last look at the driver. The driving thread itself can tell.
        self.queued_here()
            .unwrap_or_else(|| self.queue_depth.get() as usize)
    }

    fn local_queue_depth(&self, worker: usize) -> usize {
        self.queue_depth(worker)
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
                self.station.stats.local_schedules.add(tasks as u64);
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

    #[inline]
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
        let (timers, fired) = (&self.station.timers, &self.station.stats.timers_fired);
        if shared.clock.is_paused() {
            timers.turn_to(shared.clock.now(), fired);
        } else if timers.next_due().is_some() {
            timers.fire(shared.clock.now(), fired);
        }
    }

    fn look_after_the_stuck(&self, _: &mut Vec<Option<u64>>) {
        // No other thread could run what waits.
    }

    fn stop(&self, _: &Arc<Shared>, _: Option<Instant>) -> bool {
        self.close();
        true
    }

    fn join_threads(&self) {}
}
