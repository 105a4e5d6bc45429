//! A worker's end of its event ring.
//!
//! While nothing is recorded a worker checks once a tick whether that has changed. While something is, the polls to
//! be recorded go through [`Recorder::begin`] and [`Recorder::end`], and the others through nothing. How many are
//! recorded depends on how long polls take: as many as make recording take about a hundredth of the time, and all of
//! them if they take eight microseconds or more. What a recorded poll wakes is recorded too, and while all polls are also
//! what timers and I/O wake; what else happens between polls, such as sleeping, stealing and I/O, always is.

use super::adapt::MAX_TICK;
use super::slow_poll::thread_id;
use super::stats::WorkerStats;
use crate::identity::{Id, Label};
use crate::sys::atomic::Ordering;
use crate::sys::clock;
use crate::task::{Header, Ready};
use crate::trace::{Event, Tracer, What};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time in nanoseconds that justifies one record: two hundred times what a record costs by itself, about 40, since it
/// also slows the polls after it, whose code and data it has displaced.
// D-TRACE-01
const WORTH_A_RECORD: u64 = 8_000;
/// However short polls are, at least one in this many is recorded.
const MOST_SKIPPED: u64 = 512;

/// The same while the flight recorder alone wants records, which is on all the time: it also has to read and keep them.
// D-TRACE-02
const WORTH_A_FLIGHT_RECORD: u64 = 32_000;
const MOST_SKIPPED_IN_FLIGHT: u64 = 4096;
/// Then at most this many tasks are recorded that one poll makes ready: one that spawns thousands would be slow.
const MOST_READY_IN_FLIGHT: u32 = 64;

/// Only ticks that may reach the next poll to be recorded look for it. The others run as if nothing was recorded;
/// what happened before them is noted a tick later.
const LONGEST_TICK: u64 = MAX_TICK as u64;

pub(crate) struct Recorder {
    tracer: Arc<Tracer>,
    track: usize,
    /// The ring is in use, as of this tick.
    on: Cell<bool>,
    /// How many tasks that become ready may yet be recorded: some in a poll that is, and between polls if all are.
    deep: Cell<u32>,
    /// Ticks without a poll to be recorded are skipped; not if the user chose how many are recorded.
    skips: bool,
    /// The number of the worker's next poll to be recorded.
    next: Cell<u64>,
    every: Cell<u32>,
    /// When the tick began, and how many polls there had been by then.
    tick: Cell<Instant>,
    polled: Cell<u64>,
    timers_seen: Cell<u64>,
    io_seen: Cell<u64>,
}

/// A poll that is to be recorded.
pub(crate) struct Begun {
    at: u64,
    id: Id,
    label: Label,
}

impl Recorder {
    pub(crate) fn new(tracer: Arc<Tracer>, track: usize) -> Recorder {
        Recorder {
            skips: tracer.every().is_none() && !tracer.takes_all(),
            tracer,
            track,
            on: Cell::new(false),
            deep: Cell::new(0),
            next: Cell::new(0),
            every: Cell::new(1),
            tick: Cell::new(clock::now()),
            polled: Cell::new(0),
            timers_seen: Cell::new(0),
            io_seen: Cell::new(0),
        }
    }

    /// Begins a tick. Returns which of its polls, counted from 1, is the first that has to go through `begin` and
    /// `end`, or 0 if none has. `io` returns how many I/O events the worker has handled.
    #[inline(always)]
    pub(crate) fn begin_tick(
        &self,
        now: Instant,
        stats: &WorkerStats,
        io: impl FnOnce() -> u64,
    ) -> u32 {
        if !self.tracer.is_active() {
            self.on.set(false);
            self.deep.set(0);
            return 0;
        }
        if self.skips && self.on.get() && self.next.get() > stats.polled.get() + LONGEST_TICK {
            return 0;
        }
        self.begin_active_tick(now, stats, io())
    }

    #[cold]
    fn begin_active_tick(&self, now: Instant, stats: &WorkerStats, io: u64) -> u32 {
        let timers = stats.timers_fired.get();
        let timers = timers - self.timers_seen.replace(timers);
        let io = io.saturating_sub(self.io_seen.replace(io));
        let polled = stats.polled.get();
        let polls = polled - self.polled.replace(polled);
        let elapsed = now.saturating_duration_since(self.tick.replace(now));
        self.every.set(self.interval(polls, elapsed));
        if self.tracer.is_recording() != self.on.replace(self.tracer.is_recording()) {
            self.adopted();
        }
        self.deep.set(self.depth_between());
        if self.on.get() && timers + io > 0 {
            self.note_between(timers, io);
        }
        // It may have been chosen when polls were shorter.
        let next = self
            .next
            .get()
            .min(polled + u64::from(self.every.get()) - 1);
        next.saturating_sub(polled) as u32 + 1
    }

    /// Returns how many tasks that become ready are recorded in a poll that is.
    fn depth(&self) -> u32 {
        match (self.on.get(), self.tracer.is_for_flight_only()) {
            (false, _) => 0,
            (true, true) => MOST_READY_IN_FLIGHT,
            (true, false) => u32::MAX,
        }
    }

    /// The same between two polls: none unless every poll is recorded.
    fn depth_between(&self) -> u32 {
        match self.every.get() {
            1 => self.depth(),
            _ => 0,
        }
    }

    fn note_between(&self, timers: u64, io: u64) {
        if timers > 0 {
            self.note(What::timers(timers));
        }
        if io > 0 {
            self.note(What::io(io));
        }
    }

    /// Returns n, where one poll in n goes through `begin`, after `polls` polls since the last look. Zero polls tell
    /// nothing.
    fn interval(&self, polls: u64, elapsed: Duration) -> u32 {
        if self.tracer.takes_all() {
            return 1;
        }
        let adapted = || {
            if polls == 0 {
                return self.every.get();
            }
            let ns = (elapsed.as_nanos() as u64).max(1);
            let (worth, most) = match self.tracer.is_for_flight_only() {
                true => (WORTH_A_FLIGHT_RECORD, MOST_SKIPPED_IN_FLIGHT),
                false => (WORTH_A_RECORD, MOST_SKIPPED),
            };
            (polls * worth / ns).clamp(1, most) as u32
        };
        self.tracer.every().unwrap_or_else(adapted)
    }

    /// Returns the number of polls from one that is recorded to the next, in this tick.
    #[inline]
    pub(crate) fn every(&self) -> u32 {
        self.every.get()
    }

    /// Begins a poll of the task that has to be recorded. `polled` is how many came before it.
    pub(crate) fn begin(&self, task: &Ready, polled: u64) -> Option<Begun> {
        let header = task.header();
        let every = self.every.get();
        self.next.set(polled + u64::from(every));
        header.note_polls(every, self.tracer.ms_at(self.tick.get()));
        if self.tracer.is_watched() {
            let track = &self.tracer.tracks[self.track];
            track.running.store(header.id().get(), Ordering::Release);
        }
        self.deep.set(self.depth());
        self.on.get().then(|| Begun {
            at: self.tracer.clock.now(),
            id: header.id(),
            label: header.label(),
        })
    }

    /// Ends the record of a poll. The caller is still the worker.
    pub(crate) fn end(&self, begun: Option<Begun>) {
        if self.tracer.is_watched() {
            let track = &self.tracer.tracks[self.track];
            track.running.store(0, Ordering::Release);
        }
        if let Some(begun) = begun {
            self.deep.set(self.depth_between());
            let took = self.tracer.clock.now().saturating_sub(begun.at);
            let what = What::poll(took, self.every.get());
            self.push(begun.at, what, Some((begun.id, begun.label)));
        }
    }

    /// Notes that this thread is the worker now.
    pub(crate) fn adopted(&self) {
        if self.tracer.is_watched() || self.tracer.is_recording() {
            let track = &self.tracer.tracks[self.track];
            track.thread.store(thread_id(), Ordering::Release);
        }
    }

    /// Notes that the thread gives the worker away in the middle of a poll.
    pub(crate) fn leave_poll(&self) {
        self.deep.set(0);
        let track = &self.tracer.tracks[self.track];
        track.running.store(0, Ordering::Release);
    }

    /// Notes that the present poll, or what the worker does between polls, is about to queue a task.
    #[inline]
    pub(crate) fn ready(&self, task: &Ready) {
        if self.deep.get() != 0 {
            self.note_ready(task.header());
        }
    }

    #[cold]
    fn note_ready(&self, header: &Header) {
        self.deep.set(self.deep.get() - 1);
        let task = Some((header.id(), header.label()));
        self.push(self.tracer.clock.now(), What::ready(), task);
    }

    /// Notes that tasks were taken from another worker.
    pub(crate) fn steal(&self, tasks: u32, from: usize) {
        if self.on.get() {
            self.note(What::steal(tasks, from));
        }
    }

    /// Calls `wait`, which sleeps, and records it.
    pub(crate) fn park(&self, wait: impl FnOnce()) {
        if !self.on.get() {
            return wait();
        }
        // What woke the worker is to be noted before the next poll.
        self.next.set(0);
        let at = self.tracer.clock.now();
        wait();
        let took = self.tracer.clock.now().saturating_sub(at);
        self.push(at, What::park(took), None);
    }

    fn note(&self, what: What) {
        self.push(self.tracer.clock.now(), what, None);
    }

    fn push(&self, at: u64, what: What, task: Option<(Id, Label)>) {
        if let Some(ring) = self.tracer.tracks[self.track].ring.get() {
            if ring.push(Event::words(at, what, task)) {
                self.tracer.ring_bell();
            }
        }
    }
}
