//! A task in words, for dumps.

use super::header::Header;
use super::run::TaskRef;
use super::state::{SHIELDS_APART, Snapshot};
use crate::identity::Id;
use std::fmt;
use std::time::Duration;

/// What can be said of a task from outside.
pub(crate) struct Description<'a> {
    header: &'a Header,
    state: Snapshot,
    running: bool,
    /// Time since the last poll began, given when that was, by the tracer's clock.
    ms_since: &'a dyn Fn(u32) -> u32,
}

impl TaskRef {
    pub(crate) fn describe<'a>(&'a self, ms_since: &'a dyn Fn(u32) -> u32) -> Description<'a> {
        Description {
            header: self.header(),
            state: self.header().state.load(),
            running: self.is_running(),
            ms_since,
        }
    }
}

impl Description<'_> {
    pub(crate) fn is_complete(&self) -> bool {
        self.state.is_complete()
    }

    pub(crate) fn id(&self) -> Id {
        self.header.id()
    }

    /// Polls and the time since the last one; none if they are not recorded.
    fn polls(&self) -> Option<(u64, Duration)> {
        let named = self.header.origin.polls();
        named.or_else(|| {
            let (polls, last) = self.header.polls()?;
            let since = Duration::from_millis((self.ms_since)(last).into());
            Some((polls.into(), since))
        })
    }
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state;
        write!(f, "task {}", self.header.id())?;
        if let Some(name) = self.header.name() {
            write!(f, " {name:?}")?;
        }
        let doing = match self.running {
            true => "running",
            false => state.lifecycle_name(),
        };
        write!(f, ": {doing}")?;
        if state.is_notified() {
            f.write_str(", woken meanwhile")?;
        }
        if state.is_cancelled() {
            f.write_str(", cancelled")?;
        }
        match state.shield_depth() {
            0 => {}
            depth if depth > SHIELDS_APART => write!(f, ", shielded {depth} deep or more")?,
            depth => write!(f, ", shielded {depth} deep")?,
        }
        if state.is_detached() {
            f.write_str(", detached")?;
        }
        if state.has_join_waker() {
            f.write_str(", awaited")?;
        }
        if let Some(worker) = state.pinned() {
            write!(f, ", bound to worker {worker}")?;
        }
        match self.polls() {
            Some((polls, since)) => {
                // Each poll but the first follows a wake-up, and so will that of a task that is ready.
                let queued = state.is_ready() && !self.running;
                let woken = polls - 1 + u64::from(queued);
                write!(f, ", woken {woken} times, last polled {since:.3?} ago")?;
            }
            None => f.write_str(", no poll recorded")?,
        }
        write!(f, "; spawned at {}", self.header.location())?;
        write!(f, "; {}", self.header.type_name())
    }
}

/// What a finding needs to know of a task.
#[cfg(all(feature = "sight", not(loom)))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) state: &'static str,
    pub(crate) is_running: bool,
    is_lost: bool,
}

#[cfg(all(feature = "sight", not(loom)))]
impl Outline {
    /// Returns whether the task waits, and nothing is left that could wake it or end it.
    pub(crate) fn is_lost(self) -> bool {
        self.is_lost
    }
}

#[cfg(all(feature = "sight", not(loom)))]
impl TaskRef {
    /// Returns what a finding needs to know. The caller has this reference to the task, and no other.
    pub(crate) fn outline(&self) -> Outline {
        let state = self.header().state.load();
        // The task's own, its handle's, and ours. All others are those of wakers and of handles that may cancel it.
        let known = 2 + u64::from(state.has_join_interest());
        let is_idle = state.lifecycle_name() == "idle" && !self.is_running();
        // A handle that nobody awaits may still be used to cancel it.
        let is_given_up = state.is_detached() || state.has_join_waker();
        Outline {
            state: match self.is_running() {
                true => "running",
                false => state.lifecycle_name(),
            },
            is_running: self.is_running(),
            is_lost: is_idle && is_given_up && state.ref_count() <= known,
        }
    }
}
