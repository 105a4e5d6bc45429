//! Looking at a host's processes.

use crate::host::Host;
use crate::link::Relations;
use crate::pid::{Pid, ProcessId};
use crate::slot::{MailboxCounters, ProcessState, Slot};
use crate::sys::clock;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

/// A snapshot of a process, from [`Host::process_info`] and [`Host::inspect`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProcessInfo {
    /// The process.
    pub pid: Pid,
    /// Name of the type that it runs: of the [`Process`](crate::Process), or of the closure.
    pub kind: &'static str,
    /// What it is doing.
    pub state: ProcessState,
    /// The process that has started it, if one has.
    pub parent: Option<Pid>,
    /// When it was started.
    pub started: Instant,
    /// Number of times that it was stepped or polled.
    pub steps: u64,
    /// Number of messages in its mailbox.
    pub mailbox: usize,
    /// Number of messages that wait for room in the mailbox, or have room and are about to be put in by their
    /// senders.
    pub waiting: usize,
    /// Counters of its mailbox.
    pub counters: MailboxCounters,
    /// Its names.
    pub names: Vec<Arc<str>>,
    /// The processes that it is linked to.
    pub links: Vec<Pid>,
    /// Number of monitors that will be told of its end.
    pub monitors: usize,
}

/// Counters of a host, from [`Host::metrics`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostMetrics {
    /// Number of processes that are alive.
    pub processes: usize,
    /// Number of messages that were accepted but not received.
    pub undelivered: u64,
}

impl Host {
    /// Returns a snapshot of a process; `None` if it has ended, or is another host's.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let wait = |mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} };
    /// let pid = host.future(wait).name("waiter").spawn().unwrap();
    /// let info = host.process_info(pid).unwrap();
    /// assert_eq!((info.pid, &*info.names[0]), (pid, "waiter"));
    /// # }
    /// ```
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

    /// Returns snapshots of all live processes, one after the other, in the order of their numbers.
    ///
    /// It never waits for a process, whatever that is doing: a process whose links, monitors, names or groups
    /// are being changed at the moment it is looked at is left out.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Host};
    ///
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

    /// Returns the PIDs of all live processes, in the order of their numbers. Others may have started or ended
    /// by the time it returns.
    pub fn processes(&self) -> Vec<Pid> {
        let alive = self.table().iter().filter_map(|(index, slot)| {
            let (generation, _) = slot.look()?;
            let id = ProcessId::new(index, generation);
            Some(Pid::new(self.node(), self.name(), id))
        });
        alive.collect()
    }

    /// Returns the host's counters. Those of the workers are in the runtime's own
    /// [metrics](tress::runtime::Handle::metrics).
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let pid = host.spawn(|mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} }).unwrap();
    /// assert_eq!(host.metrics().processes, 1);
    /// assert_eq!(host.processes(), [pid]);
    /// # }
    /// ```
    pub fn metrics(&self) -> HostMetrics {
        HostMetrics {
            processes: self.table().alive(),
            undelivered: self.undelivered_count(),
        }
    }

    /// Returns a readable description of the host, with one line for each process. The format may change.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Host};
    ///
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
