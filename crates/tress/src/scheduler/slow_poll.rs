//! Polls that take too long: noticed by the monitor, and reported.

mod backtrace;
#[cfg(all(target_os = "linux", target_env = "gnu", not(loom), not(miri)))]
#[path = "slow_poll/signal.rs"]
mod capture;
#[cfg(not(all(target_os = "linux", target_env = "gnu", not(loom), not(miri))))]
#[path = "slow_poll/no_capture.rs"]
mod capture;

pub use backtrace::Backtrace;

pub(crate) use capture::thread_id;

use crate::identity::Id;
use crate::runtime::Shared;
use crate::runtime::flight::Reason;
use crate::sys::{clock, guarded};
use crate::trace::Tracer;
use std::fmt;
use std::io::Write;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A poll that takes longer than it should, as the monitor found it.
///
/// See [`Builder::slow_poll_threshold`](crate::runtime::Builder::slow_poll_threshold).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SlowPoll {
    /// The worker that is stuck in the poll.
    pub worker: usize,
    /// The task being polled.
    pub task: Id,
    /// The task's name, if it has one.
    pub name: Option<String>,
    /// Where it was spawned; `None` if the task ended, or could not be found soon enough.
    pub spawned_at: Option<&'static Location<'static>>,
    /// How long it has been going on, at least: since the monitor first saw it.
    pub elapsed: Duration,
    /// Where it is, if [asked for](crate::runtime::Builder::slow_poll_backtrace) and available.
    pub backtrace: Option<Backtrace>,
}

impl fmt::Display for SlowPoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.task)?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        write!(f, " has kept worker {} for {:?}", self.worker, self.elapsed)?;
        if let Some(at) = self.spawned_at {
            write!(f, "; spawned at {at}")?;
        }
        if let Some(backtrace) = &self.backtrace {
            write!(f, "\n{backtrace}")?;
        }
        Ok(())
    }
}

/// A user's function, called with what was found.
pub(crate) type Callback = Arc<dyn Fn(&SlowPoll) + Send + Sync>;

/// What the builder was told.
#[derive(Clone)]
pub(crate) struct SlowPolls {
    pub(crate) threshold: Duration,
    /// `None`: a line is written to standard error.
    pub(crate) callback: Option<Callback>,
    pub(crate) backtrace: bool,
}

impl SlowPolls {
    /// Does what takes time before the first slow poll, and not in a signal handler.
    pub(crate) fn prepare(&self) {
        if self.backtrace {
            capture::prepare();
        }
    }

    /// Time between two of the monitor's looks.
    pub(crate) fn period(&self) -> Duration {
        (self.threshold / 2).max(Duration::from_millis(1))
    }
}

/// What the monitor remembers of each worker.
pub(crate) struct Detector {
    config: SlowPolls,
    workers: Vec<Seen>,
}

#[derive(Clone, Copy)]
struct Seen {
    polled: u64,
    since: Instant,
    told: bool,
}

impl Detector {
    pub(crate) fn new(config: SlowPolls) -> Detector {
        Detector {
            config,
            workers: Vec::new(),
        }
    }

    /// Reports the worker's poll if it has been in the same one for too long. `polled` is how many it has begun.
    pub(crate) fn look(&mut self, shared: &Shared, worker: usize, polled: u64) {
        let now = clock::now();
        let fresh = Seen {
            polled,
            since: now,
            told: false,
        };
        if self.workers.len() <= worker {
            self.workers.resize(worker + 1, fresh);
        }
        let seen = &mut self.workers[worker];
        let tracer = &shared.config().tracer;
        let running = tracer.running(worker);
        let (Some(task), true) = (running, seen.polled == polled) else {
            *seen = fresh;
            return;
        };
        let elapsed = now - seen.since;
        if seen.told || elapsed < self.config.threshold {
            return;
        }
        seen.told = true;
        let since = seen.since;
        self.tell(shared, tracer, worker, task, since);
    }

    fn tell(&self, shared: &Shared, tracer: &Tracer, worker: usize, task: Id, since: Instant) {
        let thread = tracer.thread(worker).filter(|_| self.config.backtrace);
        let backtrace = thread.and_then(capture::capture);
        // It went on meanwhile: the backtrace is of something else.
        let backtrace = backtrace.filter(|_| tracer.running(worker) == Some(task));
        let mut tasks = Vec::new();
        shared.try_live_tasks(&mut tasks);
        let found = tasks.iter().find(|other| other.header().id() == task);
        let header = found.map(|task| task.header());
        let label = header.map(|header| (task, header.label()));
        tracer.note_slow_poll(worker, since, label);
        let slow = SlowPoll {
            worker,
            task,
            name: header.and_then(|header| header.name().map(str::to_owned)),
            spawned_at: header.map(|header| header.location()),
            elapsed: clock::elapsed(since),
            backtrace,
        };
        drop(tasks);
        shared.flight.ask(Reason::SlowPoll);
        match &self.config.callback {
            // Its panic must not end the monitor.
            Some(callback) => drop(guarded(|| callback(&slow))),
            // Nor must an output that is closed.
            None => drop(writeln!(std::io::stderr(), "tress: slow poll: {slow}")),
        }
    }
}
