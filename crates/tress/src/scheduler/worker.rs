//! A worker: a thread, and the core that makes it one.

mod core;
mod in_place;
mod search;
mod thread;

pub(crate) use self::core::Core;
pub(crate) use in_place::block_in_place;
pub(super) use thread::thread_main;

use super::multi::{Multi, Remote};
use super::turn::LONG_TICK;
use crate::context;
use crate::runtime::Shared;
use crate::sys::atomic::Ordering;
use crate::sys::{self, clock};
use crate::task::{Ran, Ready};
use crate::timer::Timers;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tasks taken from the LIFO slot in a row before it is flushed to the ring.
// D-SCHED-02
pub(crate) const MAX_LIFO_STREAK: u8 = 3;
/// A busy worker looks after its I/O at this interval, at the end of a tick.
const TURN_EVERY: Duration = Duration::from_micros(50);
/// Polls of a tick after which the clock is read: 1, 4, 16 and 64.
const CLOCK_AT: u128 = 1 << 1 | 1 << 4 | 1 << 16 | 1 << 64;

/// A thread that runs workers. Reached through the thread-local context.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    core: Cell<Option<NonNull<Core>>>,
}

impl Worker {
    /// Returns the calling thread's worker, of whichever runtime.
    #[inline]
    pub(crate) fn here<'a>() -> Option<&'a Worker> {
        // The closure stays this small so that it is inlined: a call through the key costs nanoseconds.
        let worker = context::with(|cx| cx.worker.get());
        // SAFETY: set by a worker thread for as long as its `Worker` lives on that thread's stack, below
        // everything that can call this.
        unsafe { worker.as_ref() }
    }

    pub(crate) fn shared(&self) -> *const Shared {
        Arc::as_ptr(&self.shared)
    }

    /// Returns the core, unless this thread gave it away to block.
    #[inline]
    pub(crate) fn core(&self) -> Option<&Core> {
        // SAFETY: set while this thread owns the box; only this thread unsets it, and never while
        // a borrow from here is in use (`give_up` is called between them).
        self.core.get().map(|core| unsafe { core.as_ref() })
    }

    /// Returns the timers of this worker, unless its core was given away.
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
        *remote.thread.lock() = Some(sys::thread::current().id());
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
        let mut now = clock::now();
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
                    if !self.run_found(core, multi, remote, task, at) {
                        return;
                    }
                    now = clock::now();
                    Self::note_busy(core, remote, 1, now - at);
                }
                continue;
            }
            now = clock::now();
            let took = now - start;
            Self::note_busy(core, remote, polls, took);
            remote
                .stats
                .mean_poll_ns
                .set(core.adapt.average().as_nanos() as u64);
            if took >= LONG_TICK {
                // The global queue has waited long enough, whatever the number of polls.
                core.global.hurry();
            }
            now = Self::turn_if_due(core, multi, remote, now);
            // Yielding tasks wake no worker when they are queued again.
            // D-SCHED-05
            let queued = core.ring.len();
            if queued > 0
                && multi.config.stealing
                && !core
                    .pressure
                    .copes_alone(queued, &core.adapt, &multi.restraint)
            {
                core.call_for_help(multi, now);
            }
        }
    }

    /// Records that tasks have run for that long.
    #[inline(always)]
    fn note_busy(core: &Core, remote: &Remote, polls: u32, took: Duration) {
        core.record(polls, took);
        let ns = took.as_nanos() as u64;
        remote.stats.busy_ns.add(ns);
        // The time of one poll, or the mean of several, which the longest of them took at least.
        remote.stats.max_poll_ns.raise(ns / u64::from(polls));
    }

    /// Looks at the worker's I/O if it is time for that. Returns the present time.
    #[inline(always)]
    fn turn_if_due(core: &Core, multi: &Multi, remote: &Remote, now: Instant) -> Instant {
        // A worker that has run dry looks there anyway, unless work keeps coming from outside.
        let ran_dry = remote.queue_depth() == 0 && multi.inject.is_empty();
        let turn_every = if ran_dry { LONG_TICK } else { TURN_EVERY };
        if !remote.rest.has_io() || now - core.last_turn.get() < turn_every {
            return now;
        }
        remote.rest.turn();
        let now = clock::now();
        core.last_turn.set(now);
        now
    }

    /// Runs a task that a search has found, apart from any tick. As `run_task`.
    #[inline(always)]
    fn run_found(
        &self,
        core: &Core,
        multi: &Multi,
        remote: &Remote,
        task: Ready,
        now: Instant,
    ) -> bool {
        if core.begin_recording(remote, now) == 1 {
            self.run_recorded(core, multi, remote, task)
        } else {
            self.run_task::<false>(core, multi, remote, task)
        }
    }

    /// Runs tasks for a tick. Returns the number of polls, or `None` if the worker has to stop.
    #[inline(always)]
    fn run_tick(&self, core: &Core, multi: &Multi, remote: &Remote, start: Instant) -> Option<u32> {
        let tick = core.adapt.tick();
        let mut recorded = core.begin_recording(remote, start);
        let mut polls = 0;
        loop {
            // Between two recorded polls nothing checks whether anything is recorded.
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

    /// Returns whether the tick has lasted too long, which it checks now and then: polls may have become longer since
    /// the tick's length was chosen.
    #[inline(always)]
    fn takes_long(remote: &Remote, start: Instant, polls: u32) -> bool {
        if CLOCK_AT & 1 << (polls & 127) == 0 {
            return false;
        }
        let took = clock::elapsed(start);
        if polls == 1 {
            remote.stats.max_poll_ns.raise(took.as_nanos() as u64);
        }
        took >= LONG_TICK
    }

    /// Runs the next task and records it. As `run_task`; `None` if there is no task.
    // Apart, with a copy of all that it calls: otherwise that would not be inlined in `run_tick`.
    #[cold]
    #[inline(never)]
    fn run_next_recorded(&self, core: &Core, multi: &Multi, remote: &Remote) -> Option<bool> {
        let task = core.next(multi, remote)?;
        Some(self.run_recorded(core, multi, remote, task))
    }

    /// Runs one task. Returns false if the core was given away meanwhile: the task blocked in place.
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

    /// As `run_task`, and records the poll.
    #[cold]
    fn run_recorded(&self, core: &Core, multi: &Multi, remote: &Remote, task: Ready) -> bool {
        let begun = core.recorder.begin(&task, remote.stats.polled.get());
        let timed = remote.stats.begin_poll();
        let going_on = self.run_task::<true>(core, multi, remote, task);
        remote.stats.end_poll(timed);
        if going_on {
            core.recorder.end(begun);
        }
        going_on
    }

    /// Stops searching, because work was found. If this was the last searcher, a worker that was not woken because of
    /// it must be woken now, if there is still something to do.
    // D-SCHED-06
    #[cold]
    fn stop_searching(&self, core: &Core) {
        core.searching.set(false);
        let multi = self.multi();
        if multi.idle.stop_searching() && core.work_in_sight(multi) {
            core.call_for_help(multi, clock::now());
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests;
