//! The dump: a human-readable account of what everything is doing, even when nothing moves any more.
//!
//! It waits for no lock. It reads counters with one writer each, atomics, and lists behind locks that are held only
//! for moments; if one cannot be had in 256 attempts the dump says so and goes on.

use super::Shared;
use super::waiting::Moment;
use crate::identity::order;
use crate::scheduler::{Current, Loop, Multi, Scheduler, Station};
use crate::task::{TaskRef, task_id};
use crate::trace::EventKind;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

/// Maximum numbers of lines about tasks, and about the timers or events of one worker.
const MOST_TASKS: usize = 10_000;
const MOST_TIMERS: usize = 100;
const MOST_EVENTS: usize = 16;

const BUSY: &str = "busy: somebody has had its lock for too long";

impl Shared {
    /// See `Handle::debug_dump`.
    pub(crate) fn dump(&self, out: &mut dyn Write) -> io::Result<()> {
        self.dump_some(MOST_TASKS, out).map(|_| ())
    }

    /// As `dump`, with at most that many tasks. Returns how many it has written.
    fn dump_some(&self, most_tasks: usize, out: &mut dyn Write) -> io::Result<usize> {
        let name = self.name.as_deref().unwrap_or("without a name");
        writeln!(
            out,
            "tress runtime {}, {name}, {:?}",
            self.id,
            self.flavor()
        )?;
        match &self.scheduler {
            Scheduler::Multi(multi) => self.dump_multi(out, multi)?,
            Scheduler::Current(current) => self.dump_current(out, current)?,
        }
        let pool = self.blocking.metrics();
        writeln!(
            out,
            "blocking pool: {} threads, {} of them idle, {} closures waiting",
            pool.threads, pool.idle, pool.queued
        )?;
        #[cfg(all(feature = "extra", not(loom)))]
        self.dump_views(out)?;
        let tasks = self.dump_tasks(most_tasks, out)?;
        self.dump_events(out)?;
        let Some(sections) = self.sections.all() else {
            writeln!(out, "sections: {BUSY}")?;
            return Ok(tasks);
        };
        for section in sections {
            writeln!(out, "{}:", section.name())?;
            section.dump(out)?;
        }
        Ok(tasks)
    }

    fn dump_multi(&self, out: &mut dyn Write, multi: &Multi) -> io::Result<()> {
        let state = if multi.is_closing() {
            ", shutting down"
        } else {
            ""
        };
        writeln!(
            out,
            "{} workers, {} of them awake, {} tasks alive{state}",
            multi.remotes.len(),
            multi.awake(),
            multi.alive()
        )?;
        writeln!(out, "global queue: {} tasks", multi.inject.len())?;
        for (index, remote) in multi.remotes.iter().enumerate() {
            let thread = match remote.thread.lock_soon().as_deref() {
                Some(Some(thread)) => format!("{thread:?}"),
                Some(None) => "no thread yet".into(),
                None => BUSY.into(),
            };
            let doing = match multi.is_awake(index) {
                true => self.doing(index),
                false => "parked".to_owned(),
            };
            writeln!(out, "worker {index}, {thread}: {doing}")?;
            writeln!(out, "  queues: {}", remote.queues())?;
            self.dump_worker(out, remote)?;
        }
        Ok(())
    }

    fn dump_current(&self, out: &mut dyn Write, current: &Current) -> io::Result<()> {
        writeln!(out, "{} tasks alive", current.alive())?;
        writeln!(out, "queue from outside: {} tasks", current.inject.len())?;
        let doing = match current.is_awake(0) {
            true => self.doing(0),
            false => "parked".to_owned(),
        };
        writeln!(out, "worker 0, the thread in block_on: {doing}")?;
        let queued = current.queue_depth(0);
        writeln!(out, "  queue: {queued} tasks at its last tick")?;
        self.dump_worker(out, current.station(0))
    }

    /// Returns what a worker that is awake does.
    fn doing(&self, worker: usize) -> String {
        match self.config().tracer.running(worker) {
            Some(task) => format!("polls task {task}"),
            None => "awake".to_owned(),
        }
    }

    fn dump_worker(&self, out: &mut dyn Write, station: &Station) -> io::Result<()> {
        let stats = &station.stats;
        writeln!(
            out,
            "  {} polls, {} parks, {} stolen, {} timers fired, mean poll {:?}, longest timed {:?}, seen stuck {} times",
            stats.polled.get(),
            stats.parked.get(),
            stats.stolen.get(),
            stats.timers_fired.get(),
            Duration::from_nanos(stats.mean_poll_ns.get()),
            Duration::from_nanos(stats.max_poll_ns.get()),
            stats.slow_polls.get(),
        )?;
        if let Some(io) = station.rest.io.describe() {
            writeln!(out, "  I/O: {io}")?;
        }
        let Some((waiting, len)) = station.timers.look(MOST_TIMERS, task_id) else {
            return writeln!(out, "  timers: {BUSY}");
        };
        writeln!(out, "  timers: {len}")?;
        for timer in &waiting {
            let wakes = match timer.woken.flatten() {
                Some(task) => format!("task {task}"),
                None => "something that is no task".to_owned(),
            };
            let due = Duration::from_millis(timer.in_ms);
            writeln!(out, "    in {due:?}: wakes {wakes}")?;
        }
        more(out, "    ", len, waiting.len())
    }

    #[cfg(all(feature = "extra", not(loom)))]
    fn dump_views(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(views) = self.views.stats() else {
            return writeln!(out, "dispatchers: {BUSY}");
        };
        for view in views {
            let now = match view.now {
                Some((ready, drains)) => format!("{ready} ready, {drains} running"),
                None => BUSY.to_owned(),
            };
            writeln!(
                out,
                "dispatcher {}, {} at a time: {now}, {} of {} tasks done",
                view.name, view.limit, view.completed, view.submitted
            )?;
        }
        Ok(())
    }

    fn dump_tasks(&self, most: usize, out: &mut dyn Write) -> io::Result<usize> {
        let mut tasks = Vec::new();
        let whole = self.try_live_tasks(&mut tasks);
        let tracer = &self.config().tracer;
        let ms_since = |then| tracer.ms_since(then);
        let described = tasks.iter().map(|task| task.describe(&ms_since));
        let mut alive: Vec<_> = described.filter(|task| !task.is_complete()).collect();
        order::by_key(&mut alive, |task| task.id().get());
        writeln!(out, "tasks: {}", alive.len())?;
        let moment = Moment::if_on();
        let shown = alive.len().min(most);
        for task in &alive[..shown] {
            writeln!(out, "  {task}")?;
            if let Some(moment) = &moment {
                moment.write_waits(out, task.id().get())?;
            }
        }
        more(out, "  ", alive.len(), shown)?;
        if !whole {
            writeln!(out, "  some are missing; {BUSY}")?;
        }
        if let Some(moment) = moment {
            moment.write_roots(out)?;
            moment.write_queues(out)?;
        }
        Ok(shown)
    }

    /// Adds all tasks of the runtime, blocking closures included. Returns false if some are missing.
    pub(crate) fn try_live_tasks(&self, tasks: &mut Vec<TaskRef>) -> bool {
        #[cfg_attr(
            any(loom, not(feature = "extra")),
            allow(unused_mut, reason = "nothing is added")
        )]
        let mut whole = self.scheduler.try_live_tasks(tasks);
        #[cfg(all(feature = "extra", not(loom)))]
        {
            whole &= self.views.try_live_tasks(tasks);
        }
        whole
    }

    /// Writes the last events of each track, if any were recorded.
    fn dump_events(&self, out: &mut dyn Write) -> io::Result<()> {
        // SAFETY: the names live in the runtime.
        let events = unsafe { self.config().tracer.events() };
        let Some(now) = events.iter().map(|event| event.at).max() else {
            return Ok(());
        };
        for track in events.chunk_by(|a, b| a.track == b.track) {
            writeln!(out, "last events of track {}:", track[0].track)?;
            for event in &track[track.len().saturating_sub(MOST_EVENTS)..] {
                let mut line = format!("  {:.3?} before the last: ", now - event.at);
                // Writing to a string does not fail.
                let _ = match event.kind {
                    EventKind::Poll { took, .. } => write!(line, "poll of {took:.3?}"),
                    other => write!(line, "{other:?}"),
                };
                if let Some(task) = event.task {
                    let _ = write!(line, ", task {task}");
                }
                match (&event.name, event.spawned_at) {
                    (Some(name), _) => writeln!(out, "{line} {name:?}")?,
                    (None, Some(at)) => writeln!(out, "{line} spawned at {at}")?,
                    (None, None) => writeln!(out, "{line}")?,
                }
            }
        }
        Ok(())
    }
}

#[cfg(feature = "sim")]
impl crate::sys::sim::Runtime for Shared {
    fn dump(&self, most_tasks: usize, out: &mut dyn Write) -> io::Result<usize> {
        self.dump_some(most_tasks, out)
    }
}

fn more(out: &mut dyn Write, indent: &str, all: usize, shown: usize) -> io::Result<()> {
    match all - shown {
        0 => Ok(()),
        more => writeln!(out, "{indent}and {more} more"),
    }
}
