//! What the flight recorder's thread does each time it wakes up: reads the rings, samples the counters, counts by site.

use super::sites::{Counted, Live, Sites};
use crate::runtime::Shared;
use crate::sys::clock::{self, Scale};
use crate::sys::thread_times_of;
use crate::trace::{Kept, Limits, OnCore, Pairs, Record, Sample, Store, Tracer};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The maximum number of bytes of the records that are kept.
pub(crate) const BUDGET: usize = 16 << 20;
/// How far back they reach.
pub(crate) const SPAN: Duration = Duration::from_secs(30);
const CHUNK_SPAN: Duration = Duration::from_secs(1);
/// Entries of a ring that are taken over in one go.
const BATCH: u64 = 4096;
/// Samples of the counters are at least this far apart.
const SAMPLE_EVERY: Duration = Duration::from_millis(90);
/// Looks at all tasks are at least this far apart, and take at most a hundredth of the time.
const LOOK_EVERY: Duration = Duration::from_millis(900);
const LOOKS_SHARE: u32 = 100;

/// What was collected, and what is needed to go on.
pub(super) struct Collected {
    store: Store,
    /// By track: the number of the entry to be read next.
    next: Vec<u64>,
    pairs: Pairs,
    samples: VecDeque<Sample>,
    /// By worker: its thread, and what that had had of the cores at the last sample.
    threads: Vec<Option<(u64, Duration, Duration)>>,
    sampled: Option<Instant>,
    sites: Sites,
    /// When tasks are looked at next.
    look_at: Option<Instant>,
    batch: Vec<(usize, Record)>,
    /// When it was switched off, in counts of the clock.
    ended: Option<u64>,
}

/// What there is for a trace.
pub(super) struct Snapshot {
    pub(super) kept: Kept,
    pub(super) samples: Vec<Sample>,
}

impl Collected {
    pub(super) fn new(tracer: &Tracer, budget: usize) -> Collected {
        let scale = Scale::measure();
        let limits = Limits {
            bytes: budget,
            span: scale.counts(SPAN),
            chunk_span: scale.counts(CHUNK_SPAN),
        };
        let now = tracer.clock.now();
        let tracks = tracer.tracks.len();
        let mut collected = Collected {
            store: Store::new(limits, tracks, now),
            next: Vec::new(),
            pairs: Pairs::default(),
            samples: VecDeque::new(),
            threads: vec![None; tracer.workers()],
            sampled: None,
            sites: Sites::new(scale.at(now)),
            look_at: None,
            batch: Vec::new(),
            ended: None,
        };
        collected.skip(tracer);
        collected
    }

    /// Leaves out what is in the rings by now.
    pub(super) fn skip(&mut self, tracer: &Tracer) {
        let written = |track: &crate::trace::Track| track.ring.get().map_or(0, |r| r.written());
        self.next = tracer.tracks.iter().map(|track| written(track)).collect();
        self.pairs.forget();
        self.store.begin_again(tracer.clock.now());
        self.ended = None;
    }

    /// Notes that nothing more is read.
    pub(super) fn end(&mut self, tracer: &Tracer) {
        self.ended = Some(tracer.clock.now());
    }

    /// Reads the rings. Returns the number of entries read, and of those that had been overwritten.
    pub(super) fn drain(&mut self, tracer: &Tracer) -> (u64, u64) {
        let scale = Scale::measure();
        let (mut read, mut lost) = (0, 0);
        loop {
            let more = self.fill_batch(tracer, &mut lost);
            read += self.batch.len() as u64;
            self.take_batch(&scale);
            if !more {
                return (read, lost);
            }
        }
    }

    /// Returns whether there is more.
    fn fill_batch(&mut self, tracer: &Tracer, lost: &mut u64) -> bool {
        let mut more = false;
        self.batch.clear();
        for (index, track) in tracer.tracks.iter().enumerate() {
            let Some(ring) = track.ring.get() else {
                continue;
            };
            let written = ring.written();
            let first = self.next[index].max(written.saturating_sub(ring.len() as u64));
            let end = written.min(first + BATCH);
            let mut missing = first - self.next[index];
            for number in first..end {
                match ring.get(number) {
                    Some(words) => {
                        let record = Record::new(words);
                        if missing > 0 {
                            let gap = Record::lost(record.at, missing);
                            self.batch.push((index, gap));
                            *lost += std::mem::take(&mut missing);
                        }
                        self.batch.push((index, record));
                    }
                    None => missing += 1,
                }
            }
            if missing > 0 {
                let gap = Record::lost(tracer.clock.now(), missing);
                self.batch.push((index, gap));
                *lost += missing;
            }
            self.next[index] = end;
            more |= end < written;
        }
        more
    }

    fn take_batch(&mut self, scale: &Scale) {
        crate::identity::order::by_key(&mut self.batch, |(_, record)| record.at);
        for (track, record) in &mut self.batch {
            if record.what.is_lost() {
                self.pairs.forget();
            }
            self.pairs.note(*track, record);
            if let Some((took, every)) = record.what.as_poll() {
                let wait = (record.wait != 0).then(|| scale.length(record.wait));
                let took = scale.length(took);
                self.sites.poll(record.label, took, every.max(1), wait);
            }
            self.store.push(*track, record);
        }
    }

    /// Does what is to be done from time to time: samples the counters, drops what is old. Returns whether the tasks should
    /// be looked at.
    pub(super) fn keep_up(&mut self, shared: &Shared) -> bool {
        let now = clock::now();
        let tracer = &shared.config().tracer;
        if self.sampled.is_none_or(|then| now - then >= SAMPLE_EVERY) {
            self.sample(shared, now);
        }
        self.store.tidy(tracer.clock.now());
        let oldest = self.store.since();
        while self.samples.front().is_some_and(|s| s.at < oldest) {
            self.samples.pop_front();
        }
        self.look_at.is_none_or(|then| now >= then)
    }

    fn sample(&mut self, shared: &Shared, now: Instant) {
        let during = self.sampled.replace(now).map(|then| now - then);
        let mut sample = shared.sample();
        let tracer = &shared.config().tracer;
        for (worker, before) in self.threads.iter_mut().enumerate() {
            let times = tracer.thread(worker).and_then(|thread| {
                let times = thread_times_of(thread)?;
                Some((thread, times.cpu, times.waited?))
            });
            let before = std::mem::replace(before, times);
            // Another thread may be the worker now.
            let same = times.zip(before).filter(|(now, then)| now.0 == then.0);
            let core = same.zip(during).map(|((now, then), during)| OnCore {
                during: during.as_nanos() as u64,
                ran: now.1.saturating_sub(then.1).as_nanos() as u64,
                waited: now.2.saturating_sub(then.2).as_nanos() as u64,
            });
            sample.cores.push(core.unwrap_or_default());
        }
        self.samples.push_back(sample);
    }

    /// Takes over what a look at the tasks has found.
    pub(super) fn take_look(&mut self, tracer: &Tracer, look: &Look) {
        let at = Scale::measure().at(tracer.clock.now());
        self.sites.look(at, &look.live, &look.counted);
        self.sites.turn(at);
        let took = clock::elapsed(look.begun);
        let rest = LOOK_EVERY.max(took.saturating_mul(LOOKS_SHARE));
        self.look_at = look.begun.checked_add(rest);
    }

    /// Returns the sites.
    pub(super) fn sites(&self) -> &Sites {
        &self.sites
    }

    /// Returns how much of the time in which a worker's thread was ready to run it had a core, lately.
    pub(super) fn on_core(&self, worker: usize) -> Option<f64> {
        self.samples.back()?.cores.get(worker)?.share()
    }

    /// Returns the counts of the clock for which it has everything, up to `now` or until it was switched off.
    pub(super) fn covered(&self, now: u64) -> u64 {
        let end = self.ended.unwrap_or(now);
        end.saturating_sub(self.store.since())
    }

    pub(super) fn bytes(&self) -> usize {
        self.store.bytes()
    }

    pub(super) fn snapshot(&mut self, from: u64) -> Snapshot {
        let recent = self.samples.iter().filter(|sample| sample.at >= from);
        Snapshot {
            samples: recent.cloned().collect(),
            kept: self.store.keep(from),
        }
    }
}

/// What a look at all tasks has found.
pub(super) struct Look {
    begun: Instant,
    live: Vec<Live>,
    counted: Vec<Counted>,
}

impl Look {
    /// Looks at all tasks, and at what was counted of them. The caller holds no lock: the last reference to a task may go.
    pub(super) fn at(shared: &Shared) -> Look {
        let begun = clock::now();
        let tracer = &shared.config().tracer;
        let now = tracer.ms_at(begun);
        // Before the tasks: one that is spawned meanwhile does not seem to have ended.
        let counted = counted(shared);
        let mut tasks = Vec::new();
        shared.try_live_tasks(&mut tasks);
        let alive = tasks.iter().filter(|task| !task.is_complete());
        let live = alive.map(|task| {
            let header = task.header();
            let idle = header.polls().map(|(_, last)| now.wrapping_sub(last));
            Live {
                label: header.label().word(),
                task: header.id().get(),
                location: header.location(),
                idle: idle.map(|ms| u64::from(ms) * 1_000_000),
            }
        });
        Look {
            begun,
            live: live.collect(),
            counted,
        }
    }
}

/// Returns what was counted of the runtime's tasks.
fn counted(shared: &Shared) -> Vec<Counted> {
    let mut counted = Vec::new();
    let mut add = |label, spawned| {
        counted.push(Counted {
            label,
            spawned,
            completed: None,
        });
    };
    let scheduler = &shared.scheduler;
    for worker in 0..scheduler.workers() {
        if let Some(spawns) = scheduler.station(worker).stats.spawns.get() {
            spawns.each(&mut add);
        }
    }
    if let Some(spawns) = shared.flight.outside.get() {
        spawns.each(&mut add);
    }
    for name in shared.names.all().unwrap_or_default() {
        counted.push(Counted {
            label: crate::identity::Label::named(&name).word(),
            spawned: name.submitted.get(),
            completed: Some(name.completed.get()),
        });
    }
    counted
}
