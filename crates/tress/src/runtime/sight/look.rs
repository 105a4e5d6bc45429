//! One look at everything: the live tasks, and what they wait for.

use super::finding::{Link, WaitView, place};
use crate::identity::Id;
use crate::runtime::Shared;
use crate::sight::{self, Holders, Wait, WaitKind, Waits};
use crate::sys::clock::{Clock, Scale};
use crate::task::{Outline, TaskRef};
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::time::Duration;

/// What all tasks wait for, at one moment.
pub(super) struct Look {
    scale: Scale,
    now: u64,
    waits: HashMap<u64, Waits>,
}

/// How a chain of tasks that wait for each other ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// With the task of that index in the chain.
    Cycle(usize),
    /// With a task that waits for something that no task holds, or does not wait.
    Open,
}

/// A task, what it waits for, who holds that, and so on.
pub(super) struct Chain {
    pub(super) links: Vec<(u64, Option<Wait>)>,
    pub(super) end: End,
    /// Each task of it waits for that one thing only, which one task holds.
    pub(super) certain: bool,
}

/// Longest chain that is followed.
const LONGEST: usize = 64;

impl Look {
    pub(super) fn new() -> Look {
        let (waits, _) = sight::each_waiting();
        Look {
            scale: Scale::measure(),
            now: Clock::new().now(),
            waits: waits.into_iter().collect(),
        }
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = (u64, &Waits)> {
        self.waits.iter().map(|(task, waits)| (*task, waits))
    }

    pub(super) fn of(&self, task: u64) -> Option<&Waits> {
        self.waits.get(&task)
    }

    /// Returns the time since then.
    pub(super) fn since(&self, then: u64) -> Duration {
        Duration::from_nanos(self.scale.length(self.now.saturating_sub(then)))
    }

    /// Returns how long the task has been parked, as far as is known.
    pub(super) fn idle(&self, task: u64) -> Option<Duration> {
        self.of(task).map(|waits| self.since(waits.parked))
    }

    /// Follows a task to what it waits for, to the task that holds that, and so on.
    pub(super) fn chain(&self, task: u64) -> Chain {
        let mut chain = Chain {
            links: Vec::new(),
            end: End::Open,
            certain: true,
        };
        let mut task = task;
        loop {
            if let Some(at) = chain.links.iter().position(|(seen, _)| *seen == task) {
                chain.end = End::Cycle(at);
                return chain;
            }
            let (wait, only) = self.foremost(task);
            chain.certain &= only;
            chain.links.push((task, wait));
            let next = wait.and_then(|wait| holder(&wait));
            match next {
                Some((next, only)) if chain.links.len() < LONGEST => {
                    chain.certain &= only;
                    task = next;
                }
                _ => return chain,
            }
        }
    }

    /// Returns what a task waits for: something that a task holds if there is such a thing. Also returns whether it
    /// waits for nothing else.
    fn foremost(&self, task: u64) -> (Option<Wait>, bool) {
        let Some(waits) = self.of(task) else {
            return (None, true);
        };
        let held = waits
            .iter()
            .find(|wait| wait.kind.has_holder() || wait.kind == WaitKind::Join);
        let wait = held.or_else(|| waits.iter().next()).copied();
        (wait, waits.iter().count() == 1 && waits.more == 0)
    }

    pub(super) fn wait_view(&self, wait: &Wait) -> WaitView {
        WaitView {
            kind: wait.kind,
            resource: wait.resource,
            created_at: wait.site,
            waited: self.since(wait.since),
            held_by: holder(wait).and_then(|(task, _)| Id::from_raw(task)),
        }
    }

    pub(super) fn link(&self, task: u64, wait: Option<&Wait>, tasks: &Tasks) -> Option<Link> {
        let known = tasks.get(task);
        Some(Link {
            task: Id::from_raw(task)?,
            name: known.and_then(|known| known.name.clone()),
            spawned_at: known
                .map(|known| known.spawned_at)
                .or_else(|| sight::root(task)),
            wait: wait.map(|wait| self.wait_view(wait)),
        })
    }
}

/// Returns the task that holds what is waited for, or that has to end, and whether it is the only one.
pub(super) fn holder(wait: &Wait) -> Option<(u64, bool)> {
    if wait.kind == WaitKind::Join {
        return Some((wait.resource, true));
    }
    let holders: Holders = sight::holders_of(wait.resource).filter(|_| wait.kind.has_holder())?;
    let first = holders.iter().find(|holder| holder.task != 0)?;
    Some((first.task, holders.iter().count() == 1 && holders.more == 0))
}

/// The live tasks of some runtimes, as far as sentences need them.
#[derive(Default)]
pub(super) struct Tasks {
    known: HashMap<u64, Known>,
}

pub(super) struct Known {
    pub(super) name: Option<String>,
    pub(super) spawned_at: &'static Location<'static>,
    pub(super) outline: Outline,
    /// It is a closure on the blocking pool.
    pub(super) is_blocking: bool,
    runtime: crate::runtime::Id,
}

impl Tasks {
    /// Adds the tasks of a runtime.
    pub(super) fn add(&mut self, shared: &Shared) {
        let mut blocking: Vec<TaskRef> = Vec::new();
        shared.scheduler.try_blocking_tasks(&mut blocking);
        let ids = blocking.drain(..).map(|task| task.header().id().get());
        let blocking: HashSet<u64> = ids.collect();
        let mut tasks: Vec<TaskRef> = Vec::new();
        shared.try_live_tasks(&mut tasks);
        for task in &tasks {
            let header = task.header();
            let is_blocking = blocking.contains(&header.id().get());
            let known = Known {
                name: header.name().map(str::to_owned),
                spawned_at: header.location(),
                outline: task.outline(),
                is_blocking,
                runtime: shared.id,
            };
            self.known.insert(header.id().get(), known);
        }
    }

    pub(super) fn get(&self, task: u64) -> Option<&Known> {
        self.known.get(&task)
    }

    /// Returns the tasks of one runtime.
    pub(super) fn of(&self, shared: &Shared) -> impl Iterator<Item = (u64, &Known)> {
        let id = shared.id;
        self.iter().filter(move |(_, known)| known.runtime == id)
    }

    /// Returns whether a task is one of that runtime. Futures of `block_on` are everyone's.
    pub(super) fn is_of(&self, task: u64, shared: &Shared) -> bool {
        match self.get(task) {
            Some(known) => known.runtime == shared.id,
            None => sight::root(task).is_some(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Known)> {
        self.known.iter().map(|(task, known)| (*task, known))
    }

    /// Says which task it is: by its name, or where it was spawned.
    pub(super) fn say(&self, task: u64) -> String {
        match self.get(task) {
            Some(Known {
                name: Some(name), ..
            }) => format!("`{name}` (task {task})"),
            Some(known) => format!("task {task} (spawned at {})", place(known.spawned_at)),
            None => match sight::root(task) {
                Some(site) => format!("the future of block_on at {}", place(site)),
                None => format!("task {task}"),
            },
        }
    }
}
