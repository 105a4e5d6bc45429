//! What a host's processes are doing.

use crate::host::Host;
use crate::link::Relations;
use crate::pid::{Pid, ProcessId};
use crate::slot::{MailboxCounters, ProcessState, Slot};
use crate::sys::clock;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

/// What is known of a process.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProcessInfo {
    /// The process.
    pub pid: Pid,
    /// The type of what it runs.
    pub kind: &'static str,
    /// What it is doing.
    pub state: ProcessState,
    /// The process that started it, if one did.
    pub parent: Option<Pid>,
    /// When it was started.
    pub started: Instant,
    /// How often it was stepped, or polled.
    pub steps: u64,
    /// Messages in its mailbox.
    pub mailbox: usize,
    /// Messages that wait for room there, or have it and are about to be put in by their senders.
    pub waiting: usize,
    /// What has happened at its mailbox.
    pub counters: MailboxCounters,
    /// What it is called.
    pub names: Vec<Arc<str>>,
    /// Processes that it is linked to.
    pub links: Vec<Pid>,
    /// How many are told of its end.
    pub monitors: usize,
}

/// What a host has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostMetrics {
    /// Processes that live.
    pub processes: usize,
    /// Messages that were taken in but not received.
    pub undelivered: u64,
}

impl Host {
    /// What is known of a process; `None` if it has ended.
    pub fn process_info(&self, pid: Pid) -> Option<ProcessInfo> {
        let slot = self.slot(pid).ok()?;
        self.info(pid, slot, &slot.relations.lock())
    }

    fn info(&self, pid: Pid, slot: &Slot, relations: &Relations) -> Option<ProcessInfo> {
        let (generation, state) = slot.look()?;
        if generation.get() != pid.id().generation() {
            return None;
        }
        let origin = relations.origin?;
        let ((mailbox, waiting), counters) = slot.depth();
        let related = relations.get();
        Some(ProcessInfo {
            pid,
            kind: origin.kind,
            state,
            parent: origin.parent,
            started: origin.started,
            steps: slot.steps(),
            mailbox,
            waiting,
            counters,
            names: related.map_or_else(Vec::new, |related| related.names.keys().cloned().collect()),
            links: related.map_or_else(Vec::new, |related| related.links.keys().copied().collect()),
            monitors: related.map_or(0, |related| related.monitors.len()),
        })
    }

    /// What is known of all processes that live, in the order of their numbers, one after the other.
    /// Never waits for any of them, whatever they do: one whose relations are being changed at the
    /// moment it is looked at is left out.
    ///
    /// ```
    /// # use tress_actor::{Cx, Host};
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let pid = host.spawn(|mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} }).unwrap();
    /// assert!(host.inspect().any(|info| info.pid == pid && info.mailbox == 0));
    /// # }
    /// ```
    pub fn inspect(&self) -> impl Iterator<Item = ProcessInfo> + '_ {
        self.table().iter().filter_map(|(index, slot)| {
            let (generation, _) = slot.look()?;
            let id = ProcessId::new(index, generation);
            let relations = slot.relations.try_lock()?;
            self.info(Pid::new(self.node(), self.name(), id), slot, &relations)
        })
    }

    /// The processes that live, in the order of their numbers. Others may have started or ended by
    /// the time it is there.
    pub fn processes(&self) -> Vec<Pid> {
        let alive = self.table().iter().filter_map(|(index, slot)| {
            let (generation, _) = slot.look()?;
            let id = ProcessId::new(index, generation);
            Some(Pid::new(self.node(), self.name(), id))
        });
        alive.collect()
    }

    /// What the host has done. What its workers do is in the runtime's own
    /// [metrics](tress::runtime::Handle::metrics).
    pub fn metrics(&self) -> HostMetrics {
        HostMetrics {
            processes: self.table().alive(),
            undelivered: self.undelivered_count(),
        }
    }

    /// Everything that is known, for people: a line for each process.
    ///
    /// ```
    /// # use tress_actor::{Cx, Host};
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let wait = |mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} };
    /// let pid = host.future(wait).name("waiter").spawn().unwrap();
    /// assert!(host.debug_dump().contains("waiter"));
    /// # let _ = pid;
    /// # }
    /// ```
    pub fn debug_dump(&self) -> String {
        let metrics = self.metrics();
        let mut text = format!(
            "host {}@{}: {} processes, {} messages undelivered\n",
            self.node(),
            self.name(),
            metrics.processes,
            metrics.undelivered
        );
        for info in self.inspect() {
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "  {} {:?} {} steps, mailbox {}",
                info.pid, info.state, info.steps, info.mailbox
            );
            if info.waiting > 0 {
                let _ = write!(text, " and {} waiting", info.waiting);
            }
            for name in &info.names {
                let _ = write!(text, " {name:?}");
            }
            if let Some(parent) = info.parent {
                let _ = write!(text, " of {parent}");
            }
            let age = clock::elapsed(info.started);
            let _ = writeln!(
                text,
                ", {} links, {age:.1?} old: {}",
                info.links.len(),
                info.kind
            );
        }
        text
    }
}
