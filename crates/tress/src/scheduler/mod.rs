//! Decides which thread runs which task, and when. `README.md` beside this file describes the protocol.

mod adapt;
mod batch;
mod config;
mod current;
mod frame;
mod idle;
mod inject;
mod lifo;
mod monitor;
mod multi;
mod outside;
#[cfg(all(feature = "coroutine", unix, not(loom)))]
mod pinned;
mod place;
mod pressure;
mod queue;
mod recorder;
mod rest;
pub(crate) mod slow_poll;
mod spin;
mod stats;
mod turn;
#[cfg(all(feature = "extra", not(loom)))]
mod view;
// The part of it that has models.
#[cfg(all(test, loom))]
mod view {
    mod queue;
}
mod worker;

#[cfg(all(test, loom))]
mod model;

pub(crate) use config::{Config, Hook, Options};
pub(crate) use current::{Current, Driving, defer};
pub(crate) use frame::{Loop, Seat, Station};
pub(crate) use multi::Multi;
#[cfg(all(feature = "coroutine", unix, not(loom)))]
pub(crate) use pinned::{Pinned, Spread, spread};
pub(crate) use place::Place;
pub(crate) use pressure::Crowd;
pub(crate) use rest::{Io, Rest};
pub(crate) use spin::Spin;
pub(crate) use stats::WorkerStats;
#[cfg(all(feature = "extra", not(loom)))]
pub(crate) use view::{Base, View, Views, none_is_current};
pub(crate) use worker::{Worker, block_in_place};

use crate::runtime::Shared;
use crate::task::{Parent, Roaming, Woken};
use crate::timer::{Armed, Timers};
use config::call;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

/// Calls `f` with the counters of the worker that this thread is, if it is one of that runtime.
pub(crate) fn with_stats_here(shared: *const Shared, f: impl FnOnce(&WorkerStats)) {
    let worker = Worker::here().filter(|worker| std::ptr::eq(worker.shared(), shared));
    match worker.and_then(|worker| Some((worker, worker.core()?))) {
        Some((worker, core)) => f(&worker.multi().remotes[core.index()].stats),
        None => current::with_stats_here(shared, f),
    }
}

/// A scheduler, by its loop. What all of them can answer is in the [`Loop`] that this derefs to.
#[allow(clippy::large_enum_variant, reason = "there is one for each runtime")]
pub(crate) enum Scheduler {
    Multi(Multi),
    Current(Current),
}

impl Deref for Scheduler {
    type Target = dyn Loop;

    fn deref(&self) -> &(dyn Loop + 'static) {
        match self {
            Scheduler::Multi(multi) => multi,
            Scheduler::Current(current) => current,
        }
    }
}

impl Parent for Scheduler {
    type Whole = Shared;

    #[inline]
    fn schedule(task: Woken<Scheduler>) {
        // Asked first: whoever has a core here knows that the scheduler is a `Multi`.
        match multi::core_here(task.parent()) {
            Some((worker, core)) => multi::schedule_here(worker, core, task),
            None => schedule_elsewhere(task),
        }
    }
}

/// Queues a task that was woken, on a thread that has no core of its runtime.
#[inline(never)]
fn schedule_elsewhere(task: Woken<Scheduler>) {
    match task.parent().scheduler {
        Scheduler::Multi(_) => multi::schedule_outside(task),
        Scheduler::Current(_) => current::schedule(task),
    }
}

// SAFETY: what is spawned on a runtime is `Send`; or it is bound to a worker and is then only in that worker's own
// queue; or the runtime is a `LocalRuntime`, which takes tasks out of its queues on its own thread only.
unsafe impl Roaming for Scheduler {}

impl Scheduler {
    /// As [`Loop::place`], without a call through a table.
    #[inline]
    pub(crate) fn place<'a>(&'a self, shared: &Shared, tasks: usize) -> Place<'a> {
        match self {
            Scheduler::Multi(multi) => multi.place(shared, tasks),
            Scheduler::Current(current) => current.place(shared, tasks),
        }
    }

    /// As [`Loop::seat`], without a call through a table.
    #[cfg(feature = "driver")]
    #[inline]
    fn seat<'a>(&'a self, shared: &Shared) -> io::Result<Seat<'a>> {
        match self {
            Scheduler::Multi(multi) => multi.seat(shared),
            Scheduler::Current(current) => current.seat(shared),
        }
    }

    /// Calls `f` with the timers that this thread should use: its own worker's, or those of another one.
    #[inline]
    pub(crate) fn with_timers(
        &self,
        shared: &Shared,
        f: impl FnOnce(&Arc<Timers>) -> Armed,
    ) -> Armed {
        let station = match self {
            Scheduler::Multi(multi) => {
                let seat = multi.seat(shared).unwrap_or_else(|e| panic!("{e}"));
                if seat.is_here {
                    // A worker looks at its timers before it parks.
                    return f(&seat.station.timers);
                }
                seat.station
            }
            Scheduler::Current(current) => current.station(0),
        };
        let armed = f(&station.timers);
        if armed == Armed::First && !self.runs_here(shared) {
            station.rest.unpark();
        }
        armed
    }

    /// Calls `f` with the I/O that this thread should use: its own worker's, or that of another one.
    ///
    /// # Errors
    /// No worker has a thread, and none can be started; or any error of `f`.
    #[cfg(feature = "driver")]
    pub(crate) fn with_io<R>(
        &self,
        shared: &Shared,
        f: impl FnOnce(&Io) -> io::Result<R>,
    ) -> io::Result<R> {
        let seat = self.seat(shared)?;
        use_io(&seat, seat.station, f)
    }

    /// As `with_io`, but uses the keeper's if that worker has lent its driver.
    #[cfg(feature = "pooled")]
    pub(crate) fn with_kept_io<R>(
        &self,
        shared: &Shared,
        f: impl FnOnce(&Io) -> io::Result<R>,
    ) -> io::Result<R> {
        let seat = self.seat(shared)?;
        let keeper = seat.station.rest.keeper();
        use_io(
            &seat,
            keeper.map_or(seat.station, |keeper| self.station(keeper)),
            f,
        )
    }
}

#[cfg(feature = "driver")]
fn use_io<R>(
    seat: &Seat<'_>,
    station: &Station,
    f: impl FnOnce(&Io) -> io::Result<R>,
) -> io::Result<R> {
    let result = f(&station.rest.io);
    if !seat.is_here {
        // The worker may have to go to sleep in its driver instead.
        station.rest.unpark();
    }
    result
}
