//! The flight recorder: the last seconds of a runtime, kept all the time.
//!
//! Workers write to their rings as they do for a trace, but less. A thread of the recorder's reads the rings before they
//! are overwritten, and keeps what it has read in a store of bounded size (`trace/store.rs`). It sleeps until a worker has
//! filled a quarter of its ring, and looks ten times a second while something happens, once a second otherwise.
//!
//! Whoever wants the record reads the rings as well, so that it has all up to now. What is collected is behind one lock, which
//! no worker takes; it is not held while a trace is written, since what is kept does not change.

mod collect;
mod files;
mod handle;
mod lanes;
pub(crate) mod sites;
#[cfg(all(test, not(loom)))]
mod tests;

pub use handle::FlightRecorder;
pub use lanes::{Lane, LaneKind, Lanes};
#[cfg(all(feature = "sight", not(loom)))]
pub use sites::Spread;

pub(crate) use files::{Reason, Triggers};
pub(crate) use sites::SiteStats;

use super::Shared;
use crate::identity::Label;
use crate::scheduler;
use crate::sys::atomic::Ordering;
use crate::sys::clock::Scale;
use crate::sys::plain::{AtomicBool, AtomicU64, Mutex};
use crate::sys::{Parker, thread};
use crate::trace::{Spawns, Timeline, Tracer};
use collect::{BUDGET, Collected, Look};
use files::Files;
use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// Time between two looks while something happens.
const BUSY: Duration = Duration::from_millis(100);
/// Time between two looks while nothing does.
const QUIET: Duration = Duration::from_secs(1);

/// A runtime's flight recorder, on or off.
pub(crate) struct Flight {
    /// Spawns are counted.
    counts: AtomicBool,
    control: Mutex<Control>,
    /// `None` until it is first switched on.
    collected: Mutex<Option<Collected>>,
    lost: AtomicU64,
    bell: OnceLock<Arc<Parker>>,
    /// Spawns by threads that are no workers.
    outside: OnceLock<Spawns>,
    files: Files,
}

#[derive(Default)]
struct Control {
    on: bool,
    /// The thread is there, and will look at `on` again.
    is_running: bool,
}

impl Flight {
    pub(super) fn new(triggers: Triggers) -> Flight {
        Flight {
            counts: AtomicBool::new(false),
            control: Mutex::new(Control::default()),
            collected: Mutex::new(None),
            lost: AtomicU64::new(0),
            bell: OnceLock::new(),
            outside: OnceLock::new(),
            files: Files::new(triggers),
        }
    }

    /// Returns whether it is on.
    pub(crate) fn is_on(&self) -> bool {
        self.control.lock().on
    }

    fn ring_bell(&self) {
        if let Some(bell) = self.bell.get() {
            bell.unpark();
        }
    }

    /// Asks for a file, if one is wanted for this reason. The thread writes it.
    pub(crate) fn ask(&self, reason: Reason) {
        if self.counts.load(Ordering::Relaxed) && self.files.ask(reason) {
            self.ring_bell();
        }
    }

    /// Switches it off. What it has stays.
    fn stop(&self, tracer: &Tracer) {
        let mut control = self.control.lock();
        control.on = false;
        self.counts.store(false, Ordering::Relaxed);
        tracer.stop_flight();
        drop(control);
        self.ring_bell();
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        // The thread finds that the runtime is gone.
        self.ring_bell();
    }
}

impl Shared {
    /// Switches the flight recorder on.
    ///
    /// # Errors
    /// Its thread cannot be started, or the runtime is shutting down.
    pub(crate) fn start_flight(self: &Arc<Shared>) -> io::Result<()> {
        let tracer = &self.config().tracer;
        let flight = &self.flight;
        let mut control = flight.control.lock();
        if self.scheduler.frame().is_closing() {
            return Err(io::Error::other("the runtime has shut down"));
        }
        if control.on {
            return Ok(());
        }
        let bell = flight.bell.get_or_init(|| Arc::new(Parker::new()));
        flight.outside.get_or_init(Spawns::new);
        for worker in 0..self.scheduler.workers() {
            let stats = &self.scheduler.station(worker).stats;
            stats.spawns.get_or_init(Spawns::new);
        }
        if !control.is_running {
            let thread = Watch {
                shared: Arc::downgrade(self),
                bell: bell.clone(),
            };
            thread::Builder::new("tress-recorder".into()).spawn(move || thread.run())?;
            control.is_running = true;
        }
        tracer.start_flight(bell);
        match &mut *flight.collected.lock() {
            // What was recorded while it was off belongs to somebody else's trace.
            Some(collected) => collected.skip(tracer),
            none => *none = Some(Collected::new(tracer, BUDGET)),
        }
        flight.counts.store(true, Ordering::Relaxed);
        control.on = true;
        bell.unpark();
        Ok(())
    }

    /// Switches the flight recorder off, and ends its thread. What it has stays.
    pub(crate) fn end_flight(&self) {
        let tracer = &self.config().tracer;
        if self.flight.is_on() {
            self.with_collected(|collected| collected.end(tracer));
            self.flight.stop(tracer);
        }
    }

    /// Reads the rings, and does what is to be done from time to time. Returns the number of events read.
    fn collect(&self) -> u64 {
        self.with_collected(|_| ()).map_or(0, |(read, ())| read)
    }

    /// Calls `f` with what was collected up to now, if it was ever on. Returns the number of events that were new.
    fn with_collected<R>(&self, f: impl FnOnce(&mut Collected) -> R) -> Option<(u64, R)> {
        let mut guard = self.flight.collected.lock();
        let mut collected = guard.as_mut()?;
        let mut read = 0;
        if self.flight.counts.load(Ordering::Relaxed) {
            let (new, lost) = collected.drain(&self.config().tracer);
            self.flight.lost.fetch_add(lost, Ordering::Relaxed);
            read = new;
            if collected.keep_up(self) {
                drop(guard);
                self.look();
                guard = self.flight.collected.lock();
                collected = guard.as_mut()?;
            }
        }
        Some((read, f(collected)))
    }

    /// Looks at all tasks, for what is known of spawn sites.
    fn look(&self) {
        let look = Look::at(self);
        if let Some(collected) = &mut *self.flight.collected.lock() {
            collected.take_look(&self.config().tracer, &look);
        }
    }

    /// Counts spawns of unnamed tasks, while the recorder is on.
    #[inline(always)]
    pub(crate) fn count_spawns(&self, label: impl FnOnce() -> Option<Label>, tasks: usize) {
        if self.flight.counts.load(Ordering::Relaxed) {
            if let Some(label) = label() {
                self.count_spawns_on(label, tasks as u64);
            }
        }
    }

    #[inline(never)]
    fn count_spawns_on(&self, label: Label, tasks: u64) {
        let mut is_counted = false;
        scheduler::with_stats_here(self, |stats| {
            if let Some(spawns) = stats.spawns.get() {
                spawns.add_own(label, tasks);
                is_counted = true;
            }
        });
        if let (false, Some(spawns)) = (is_counted, self.flight.outside.get()) {
            spawns.add_shared(label, tasks);
        }
    }

    /// Returns what is known of each spawn site; nothing if the flight recorder was never on.
    pub(crate) fn site_stats(&self) -> Vec<SiteStats> {
        let tracer = &self.config().tracer;
        if self.flight.is_on() {
            self.look();
        }
        let stats = self.with_collected(|collected| {
            let now = Scale::measure().at(tracer.clock.now());
            // SAFETY: the names live in the runtime.
            unsafe { collected.sites().snapshot(now) }
        });
        stats.map_or_else(Vec::new, |(_, stats)| stats)
    }

    /// Returns how much of the time in which the worker's thread was ready to run it had a core, in the last tenth of
    /// a second or so; `None` if that is not known, or it was never ready.
    pub(crate) fn on_core(&self, worker: usize) -> Option<f64> {
        let share = self.with_collected(|collected| collected.on_core(worker));
        share.and_then(|(_, share)| share)
    }

    /// Writes what was recorded and ended after `from`, in counts of the clock. Calls `between` from time to time.
    fn write_flight(
        &self,
        out: &mut dyn io::Write,
        from: u64,
        between: &mut dyn FnMut(),
    ) -> io::Result<()> {
        let tracer = &self.config().tracer;
        let name = self.name.as_deref().unwrap_or("tress");
        let snapshot = self.with_collected(|collected| collected.snapshot(from));
        let mut timeline = Timeline::begin(out, name, tracer.workers(), Scale::measure())?;
        let Some((_, snapshot)) = snapshot else {
            return Ok(());
        };
        let kept = &snapshot.kept;
        let mut records = Vec::new();
        for chunk in &kept.chunks {
            records.clear();
            records.extend(kept.records(chunk));
            crate::identity::order::by_key(&mut records, |record| record.at);
            // SAFETY: the names live in the runtime.
            unsafe { timeline.records(chunk.track, &records)? };
            between();
        }
        for sample in &snapshot.samples {
            timeline.sample(sample)?;
        }
        Ok(())
    }
}

/// The recorder's thread.
struct Watch {
    /// Weak: a runtime that is dropped must not wait for its recorder.
    shared: Weak<Shared>,
    bell: Arc<Parker>,
}

impl Watch {
    fn run(self) {
        let mut rest = BUSY;
        loop {
            self.bell.park(Some(rest));
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            {
                let mut control = shared.flight.control.lock();
                if !control.on {
                    control.is_running = false;
                    return;
                }
            }
            let read = shared.collect();
            shared.write_asked_files();
            let is_idle = read == 0 && shared.scheduler.all_are_asleep();
            rest = if is_idle { QUIET } else { BUSY };
        }
    }
}
