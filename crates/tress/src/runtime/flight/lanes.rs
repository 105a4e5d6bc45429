//! What each worker did lately, for a picture that is drawn as it happens.

use super::Shared;
use crate::identity::Label;
use crate::sys::clock::Scale;
use crate::trace::{EventKind, Record, Sample, name_of};
use std::time::Duration;

/// The maximum number of slices of a worker in one answer: the newest.
const MOST_SLICES: usize = 500;
/// Nanoseconds without a core that are drawn.
const LEAST_WAIT: u64 = 1_000_000;

/// What the workers did during a time; returned by [`Trace::lanes`](crate::trace::Trace::lanes).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Lanes {
    /// From when on, by the clock of [`Event::at`](crate::trace::Event::at).
    pub from: Duration,
    /// Until when: the `from` of the next call.
    pub to: Duration,
    /// The slices of each worker in the order of time, at most 500 of them.
    pub workers: Vec<Vec<Lane>>,
}

/// Something that a worker did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lane {
    /// What it did.
    pub kind: LaneKind,
    /// When it began, by the clock of [`Event::at`](crate::trace::Event::at).
    pub start: Duration,
    /// How long it took; zero for what takes no time.
    pub length: Duration,
    /// The task's name, or where it was spawned; the number of events or tasks.
    pub label: String,
}

/// What a worker did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaneKind {
    /// It polled a task.
    Poll,
    /// It slept.
    Park,
    /// It handled I/O.
    Io,
    /// It took tasks from another worker.
    Steal,
    /// It was ready to run, but had no core, for this long during the tenth of a second from its start.
    OffCpu,
}

impl LaneKind {
    /// Returns the kind as a word: `poll`, `park`, `io`, `steal` or `offcpu`.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(tress::trace::LaneKind::OffCpu.as_str(), "offcpu");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            LaneKind::Poll => "poll",
            LaneKind::Park => "park",
            LaneKind::Io => "io",
            LaneKind::Steal => "steal",
            LaneKind::OffCpu => "offcpu",
        }
    }
}

impl Shared {
    /// Returns what ended after `from`.
    pub(crate) fn lanes(&self, from: Duration) -> Lanes {
        let tracer = &self.config().tracer;
        let scale = Scale::measure();
        let since = scale.count_at(from);
        let snapshot = self.with_collected(|collected| collected.snapshot(since));
        let mut lanes = Lanes {
            from,
            to: Duration::from_nanos(scale.at(tracer.clock.now())),
            workers: vec![Vec::new(); tracer.workers()],
        };
        let Some((_, snapshot)) = snapshot else {
            return lanes;
        };
        let kept = &snapshot.kept;
        for (worker, lane) in lanes.workers.iter_mut().enumerate() {
            let chunks = kept.chunks.iter().rev().filter(|c| c.track == worker);
            let mut found: Vec<Record> = Vec::new();
            for chunk in chunks {
                let records = kept.records(chunk).filter(|r| r.end() >= since);
                found.extend(records.filter(is_drawn));
                if found.len() >= MOST_SLICES {
                    break;
                }
            }
            crate::identity::order::by_key(&mut found, |record| record.at);
            let newest = &found[found.len().saturating_sub(MOST_SLICES)..];
            // SAFETY: the names live in the runtime.
            lane.extend(newest.iter().filter_map(|r| unsafe { draw(r, &scale) }));
            let waits = snapshot.samples.iter();
            lane.extend(waits.filter_map(|sample| draw_wait(sample, worker, &scale)));
            crate::identity::order::by_key(lane, |slice| slice.start.as_nanos() as u64);
            lane.drain(..lane.len().saturating_sub(MOST_SLICES));
        }
        lanes
    }
}

/// Returns how long a worker was ready without a core before a sample, if that is worth a slice.
fn draw_wait(sample: &Sample, worker: usize, scale: &Scale) -> Option<Lane> {
    let core = sample
        .cores
        .get(worker)
        .filter(|c| c.waited >= LEAST_WAIT)?;
    let start = scale.at(sample.at).saturating_sub(core.during);
    Some(Lane {
        kind: LaneKind::OffCpu,
        start: Duration::from_nanos(start),
        length: Duration::from_nanos(core.waited),
        label: "ready without a core".into(),
    })
}

fn is_drawn(record: &Record) -> bool {
    record.what.is_slice() || record.what.is_io() || record.what.is_steal()
}

/// # Safety
/// The names of the runtime's tasks are alive.
unsafe fn draw(record: &Record, scale: &Scale) -> Option<Lane> {
    let mut label = String::new();
    let kind = match record.what.kind(scale)? {
        EventKind::Poll { .. } => {
            // SAFETY: by the caller's promise; the word is a label's or 0.
            let (name, place) = unsafe { Label::read(record.label) };
            name_of(&mut label, name, place);
            LaneKind::Poll
        }
        EventKind::Park { .. } => LaneKind::Park,
        EventKind::Io { events } => {
            label = events.to_string();
            LaneKind::Io
        }
        EventKind::Steal { tasks, .. } => {
            label = tasks.to_string();
            LaneKind::Steal
        }
        _ => return None,
    };
    Some(Lane {
        kind,
        start: Duration::from_nanos(scale.at(record.at)),
        length: Duration::from_nanos(scale.length(record.what.length())),
        label,
    })
}
