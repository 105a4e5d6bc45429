//! Records as a trace of Perfetto's: tracks, slices, instants, flows and counters.

use super::event::EventKind;
use super::perfetto::{Details, Track, Unit, Value, Writer};
use super::record::Record;
use crate::identity::Label;
use crate::sys::clock::Scale;
use std::io;
use std::time::Duration;

const PROCESS: Track = Track(1);

/// What a trace is about, and where it goes.
pub(crate) struct Timeline<W> {
    writer: Writer<W>,
    scale: Scale,
    workers: usize,
    text: String,
}

/// Values of the runtime at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sample {
    /// When it was taken, in counts of the clock.
    pub(crate) at: u64,
    /// Tasks in queues.
    pub(crate) queued: u64,
    pub(crate) alive: u64,
    /// Closures that wait for a thread of the blocking pool.
    pub(crate) blocking: u64,
    /// By worker: what its thread has had of the cores since the sample before.
    pub(crate) cores: Vec<OnCore>,
}

/// What a thread has had of the cores during a time, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OnCore {
    pub(crate) during: u64,
    pub(crate) ran: u64,
    /// Ready to run, but without a core.
    pub(crate) waited: u64,
}

/// The counters of a runtime, in the order of their tracks.
const COUNTERS: [&str; 3] = ["tasks in queues", "tasks alive", "blocking queue"];

impl<W: io::Write> Timeline<W> {
    /// Begins a trace: describes its tracks.
    pub(crate) fn begin(
        out: W,
        name: &str,
        workers: usize,
        scale: Scale,
    ) -> io::Result<Timeline<W>> {
        let mut writer = Writer::new(out);
        let pid = std::process::id();
        writer.process(PROCESS, pid, name)?;
        for index in 0..=workers {
            let name = match index == workers {
                true => "monitor".to_owned(),
                false => format!("worker {index}"),
            };
            writer.thread(track(index), PROCESS, pid, index as u32 + 1, &name)?;
        }
        for (index, name) in COUNTERS.iter().enumerate() {
            writer.counter(counter(workers, index), PROCESS, name, Unit::Count)?;
        }
        for worker in 0..workers {
            let name = format!("worker {worker}: ready without a core, per second");
            let track = counter(workers, COUNTERS.len() + worker);
            writer.counter(track, PROCESS, &name, Unit::Nanoseconds)?;
        }
        Ok(Timeline {
            writer,
            scale,
            workers,
            text: String::new(),
        })
    }

    /// Writes records of one track in the order of time.
    ///
    /// # Safety
    /// The names of the runtime's tasks are alive.
    pub(crate) unsafe fn records(&mut self, index: usize, records: &[Record]) -> io::Result<()> {
        let mut open: Vec<u64> = Vec::new();
        for record in records {
            // Slices that ended before it.
            while open.last().is_some_and(|end| *end <= record.at) {
                self.end(index, open.pop())?;
            }
            // SAFETY: by the caller's promise.
            unsafe { self.record(index, record)? };
            if record.what.is_slice() {
                // A slice inside of another one does not end after it.
                let end = open.last().map_or(u64::MAX, |outer| *outer);
                open.push(record.end().min(end));
            }
        }
        while let Some(end) = open.pop() {
            self.end(index, Some(end))?;
        }
        Ok(())
    }

    fn end(&mut self, index: usize, end: Option<u64>) -> io::Result<()> {
        match end {
            Some(end) => self.writer.end(track(index), self.scale.at(end)),
            None => Ok(()),
        }
    }

    /// # Safety
    /// The names of the runtime's tasks are alive.
    unsafe fn record(&mut self, index: usize, record: &Record) -> io::Result<()> {
        let Some(kind) = record.what.kind(&self.scale) else {
            return Ok(());
        };
        // SAFETY: by the caller's promise; the word is a label's or 0.
        let (name, place) = unsafe { Label::read(record.label) };
        let at = self.scale.at(record.at);
        let track = track(index);
        let mut task = std::mem::take(&mut self.text);
        name_of(&mut task, name, place);
        let id = Value::Number(record.task);
        let source = place.map(|place| (place.file(), place.line()));
        let writer = &mut self.writer;
        let written = match kind {
            EventKind::Poll { every, .. } => {
                let ends = [Record::flow(
                    record.task,
                    record.at.wrapping_sub(record.wait),
                )];
                let wait = Value::Number(self.scale.length(record.wait));
                let notes = [
                    ("task", id),
                    ("stands_for_polls", Value::Number(every.into())),
                    ("wait_ns", wait),
                ];
                let knows_wait = record.wait != 0;
                let details = Details {
                    source,
                    ends: if knows_wait { &ends } else { &[] },
                    notes: if knows_wait { &notes } else { &notes[..2] },
                    ..Details::new("poll", &task)
                };
                writer.begin(track, at, &details)
            }
            EventKind::Park { .. } => writer.begin(track, at, &Details::new("park", "park")),
            EventKind::Ready => {
                task.insert_str(0, "ready: ");
                let details = Details {
                    source,
                    flows: &[Record::flow(record.task, record.at)],
                    notes: &[("task", id)],
                    ..Details::new("ready", &task)
                };
                writer.instant(track, at, &details)
            }
            EventKind::Steal { tasks, from } => {
                let notes = [
                    ("tasks", Value::Number(tasks.into())),
                    ("from", Value::Number(from as u64)),
                ];
                let details = Details {
                    notes: &notes,
                    ..Details::new("steal", "steal")
                };
                writer.instant(track, at, &details)
            }
            EventKind::Io { events } => {
                let details = Details {
                    notes: &[("events", Value::Number(events.into()))],
                    ..Details::new("io", "I/O")
                };
                writer.instant(track, at, &details)
            }
            EventKind::Timers { fired } => {
                let details = Details {
                    notes: &[("fired", Value::Number(fired.into()))],
                    ..Details::new("timer", "timers")
                };
                writer.instant(track, at, &details)
            }
            EventKind::SlowPoll { so_far, worker } => {
                task.insert_str(0, "slow poll: ");
                let notes = [
                    ("task", id),
                    ("worker", Value::Number(worker as u64)),
                    ("so_far_ns", Value::Number(so_far.as_nanos() as u64)),
                ];
                let details = Details {
                    source,
                    notes: &notes,
                    ..Details::new("slow", &task)
                };
                writer.instant(track, at, &details)
            }
            EventKind::Lost { events } => {
                let details = Details {
                    notes: &[("events", Value::Number(events))],
                    ..Details::new("lost", "lost events")
                };
                writer.instant(track, at, &details)
            }
        };
        self.text = task;
        written
    }

    /// Writes the values of the counters.
    pub(crate) fn sample(&mut self, sample: &Sample) -> io::Result<()> {
        let at = self.scale.at(sample.at);
        let values = [sample.queued, sample.alive, sample.blocking];
        let waited = sample.cores.iter().map(OnCore::waited_per_second);
        for (index, value) in values.into_iter().chain(waited).enumerate() {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            self.writer.value(counter(self.workers, index), at, value)?;
        }
        Ok(())
    }
}

impl OnCore {
    /// Returns the nanoseconds of each second in which it was ready, but without a core.
    pub(crate) fn waited_per_second(&self) -> u64 {
        let second = Duration::from_secs(1).as_nanos();
        let waited = u128::from(self.waited) * second;
        let waited = waited.checked_div(self.during.into()).unwrap_or(0);
        u64::try_from(waited).unwrap_or(u64::MAX)
    }

    /// Returns how much of the time in which it was ready to run it had a core; `None` if it never was.
    pub(crate) fn share(&self) -> Option<f64> {
        let ready = self.ran.saturating_add(self.waited);
        (ready > 0).then(|| self.ran as f64 / ready as f64)
    }
}

fn track(index: usize) -> Track {
    Track(PROCESS.0 + 1 + index as u64)
}

fn counter(workers: usize, index: usize) -> Track {
    track(workers + 1 + index)
}

/// Puts the task's name into `text`, or the last part of where it was spawned.
pub(crate) fn name_of(
    text: &mut String,
    name: Option<&str>,
    place: Option<&std::panic::Location<'_>>,
) {
    use std::fmt::Write;
    text.clear();
    match (name, place) {
        (Some(name), _) => text.push_str(name),
        (None, Some(place)) => {
            let file = place.file().rsplit(['/', '\\']).next();
            // Writing to a string does not fail.
            let _ = write!(text, "{}:{}", file.unwrap_or(place.file()), place.line());
        }
        (None, None) => text.push_str("a task"),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_core_are_right_at_the_edges() {
        let second = 1_000_000_000;
        let core = |during, ran, waited| OnCore {
            during,
            ran,
            waited,
        };
        let half = core(second / 10, second / 40, second / 40);
        assert_eq!(half.share(), Some(0.5));
        assert_eq!(half.waited_per_second(), second / 4);
        // A thread that slept, and one of which nothing is known.
        assert_eq!(core(second, 0, 0).share(), None);
        assert_eq!(OnCore::default().waited_per_second(), 0);
        let long = core(1, 0, u64::MAX);
        assert_eq!(long.share(), Some(0.0));
        assert!(long.waited_per_second() > 0);
    }
}
