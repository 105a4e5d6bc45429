//! What the workers' recorders share: the switch, the rings, the clock.

use super::event::{Event, What};
use super::record::{Pairs, Record};
use super::ring::Ring;
use crate::identity::{Id, Label, order};
use crate::sys::atomic::Ordering;
use crate::sys::clock::{self, Clock, Scale};
use crate::sys::plain::{AtomicU32, AtomicU64};
use crate::sys::{CachePadded, Parker};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// What the builder was told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    /// Record from the start.
    pub(crate) on: bool,
    /// Entries of a ring.
    pub(crate) size: usize,
    /// Record one poll in this many; `None`: as many as cost little.
    pub(crate) every: Option<u32>,
    /// The monitor wants to know which task a worker runs.
    pub(crate) watched: bool,
    /// Every poll is timed.
    pub(crate) timed: bool,
}

pub(crate) struct Tracer {
    config: Config,
    pub(crate) clock: Clock,
    /// One for each worker, and the monitor's.
    pub(crate) tracks: Box<[CachePadded<Track>]>,
    /// For whom it records: `TRACE`, `FLIGHT`, both or none.
    wanted: AtomicU32,
    /// Ends the sleep of the flight recorder's thread: set when that is first switched on.
    bell: OnceLock<Arc<Parker>>,
    start: Instant,
}

/// A user reads the rings.
const TRACE: u32 = 1;
/// The flight recorder does.
const FLIGHT: u32 = 2;

#[derive(Default)]
pub(crate) struct Track {
    /// Made when recording is first switched on. Written by the thread that holds the worker's core.
    pub(crate) ring: OnceLock<Ring>,
    /// The id of the task being polled, if the tracer is watched; 0: none.
    pub(crate) running: AtomicU64,
    /// The kernel's id of the worker's thread, if the tracer is watched or records; 0: not known.
    pub(crate) thread: AtomicU64,
}

impl Tracer {
    pub(crate) fn new(config: Config, workers: usize) -> Tracer {
        let tracer = Tracer {
            config,
            clock: Clock::new(),
            tracks: (0..=workers)
                .map(|_| CachePadded::new(Track::default()))
                .collect(),
            wanted: AtomicU32::new(0),
            bell: OnceLock::new(),
            start: clock::now(),
        };
        if config.on {
            tracer.start();
        }
        tracer
    }

    pub(crate) fn start(&self) {
        self.begin(TRACE);
    }

    fn begin(&self, wanted: u32) {
        for track in &self.tracks {
            track.ring.get_or_init(|| Ring::new(self.config.size));
        }
        self.wanted.fetch_or(wanted, Ordering::Release);
    }

    pub(crate) fn stop(&self) {
        self.wanted.fetch_and(!TRACE, Ordering::Release);
    }

    /// Returns whether a user has started it.
    pub(crate) fn is_on(&self) -> bool {
        self.wanted.load(Ordering::Acquire) & TRACE != 0
    }

    /// Begins to record for the flight recorder, which `bell` tells that there is much to read.
    pub(crate) fn start_flight(&self, bell: &Arc<Parker>) {
        self.bell.get_or_init(|| bell.clone());
        self.begin(FLIGHT);
    }

    pub(crate) fn stop_flight(&self) {
        self.wanted.fetch_and(!FLIGHT, Ordering::Release);
    }

    /// Returns whether anything is recorded.
    pub(crate) fn is_recording(&self) -> bool {
        self.wanted.load(Ordering::Acquire) != 0
    }

    /// Returns whether the flight recorder alone reads what is recorded.
    pub(crate) fn is_for_flight_only(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) == FLIGHT
    }

    /// Tells the flight recorder that there is much to read.
    #[cold]
    pub(crate) fn ring_bell(&self) {
        if let Some(bell) = self.bell.get() {
            if self.wanted.load(Ordering::Relaxed) & FLIGHT != 0 {
                bell.unpark();
            }
        }
    }

    /// Returns whether the monitor wants to know which task a worker runs.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.config.watched
    }

    /// Returns whether every poll goes through the recorder: the tracer is watched, or polls are timed.
    #[inline]
    pub(crate) fn takes_all(&self) -> bool {
        self.config.watched | self.config.timed
    }

    /// Returns whether a poll has something to do: the tracer is on, watched, or polls are timed.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) != 0 || self.takes_all()
    }

    /// Returns the number of polls of which one is recorded, if the user chose it.
    #[inline]
    pub(crate) fn every(&self) -> Option<u32> {
        self.config.every
    }

    pub(crate) fn ms_at(&self, now: Instant) -> u32 {
        let since = now.saturating_duration_since(self.start);
        (since.as_secs() as u32)
            .wrapping_mul(1000)
            .wrapping_add(since.subsec_millis())
    }

    /// Returns the milliseconds from then to now; 0 if a worker has noted a later moment than that of its look at the
    /// clock.
    pub(crate) fn ms_since(&self, then: u32) -> u32 {
        let since = self.ms_at(clock::now()).wrapping_sub(then);
        match since > u32::MAX / 2 {
            true => 0,
            false => since,
        }
    }

    /// Returns the task that a worker is polling, if that is recorded.
    pub(crate) fn running(&self, worker: usize) -> Option<Id> {
        Id::from_raw(self.tracks[worker].running.load(Ordering::Acquire))
    }

    /// Returns the kernel's id of the worker's thread.
    pub(crate) fn thread(&self, worker: usize) -> Option<u64> {
        let thread = self.tracks[worker].thread.load(Ordering::Acquire);
        (thread != 0).then_some(thread)
    }

    /// Records that the monitor found a worker stuck.
    pub(crate) fn note_slow_poll(&self, worker: usize, since: Instant, task: Option<(Id, Label)>) {
        let Some(track) = self.tracks.last().filter(|_| self.is_recording()) else {
            return;
        };
        if let Some(ring) = track.ring.get() {
            // That time in counts of the clock: the scale is measured anew, since the event is rare.
            let scale = Scale::measure();
            let so_far = scale.counts(clock::elapsed(since));
            let what = What::slow_poll(so_far, worker);
            ring.push(Event::words(self.clock.now(), what, task));
        }
    }

    /// Returns the number of workers: the track after theirs is the monitor's.
    pub(crate) fn workers(&self) -> usize {
        self.tracks.len() - 1
    }

    /// Returns what is in the rings: by track, each in the order of time.
    pub(crate) fn records(&self) -> Vec<Vec<Record>> {
        let mut all = Vec::new();
        for (index, track) in self.tracks.iter().enumerate() {
            let ring = track.ring.get().into_iter();
            all.extend(
                ring.flat_map(Ring::snapshot)
                    .map(|words| (index, Record::new(words))),
            );
        }
        order::by_key(&mut all, |(_, record)| record.at);
        let mut pairs = Pairs::default();
        let mut tracks = vec![Vec::new(); self.tracks.len()];
        for (track, mut record) in all {
            pairs.note(track, &mut record);
            tracks[track].push(record);
        }
        tracks
    }

    /// Returns the events of each track, oldest first.
    ///
    /// # Safety
    /// The names of the runtime's tasks are alive.
    pub(crate) unsafe fn events(&self) -> Vec<Event> {
        let scale = Scale::measure();
        let mut all = Vec::new();
        for (index, track) in self.tracks.iter().enumerate() {
            let ring = track.ring.get().into_iter();
            // SAFETY: from a ring of this runtime; the rest is the caller's promise.
            let event = |words| unsafe { Event::read(index, words, &scale) };
            let mut events: Vec<Event> = ring.flat_map(Ring::snapshot).filter_map(event).collect();
            // Slices are written when they end.
            order::by_key(&mut events, |event| event.at.as_nanos() as u64);
            all.extend(events);
        }
        all
    }
}
