//! Who wants to know when a process ends.
//!
//! Relations are kept with the process they are about, under a lock of its place. A process that
//! ends gives up its PID first and then takes its relations: whoever comes to add one finds the PID
//! gone, or is found. A link is kept on both sides, whose locks are taken in the order of their
//! places.

use crate::error::NoProcess;
use crate::event::{Event, Message, SystemEvent};
use crate::exit::{Exit, ExitReason};
use crate::host::Host;
use crate::pid::Pid;
use crate::remote::Watcher;
use crate::slot::Slot;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use tress::sync::oneshot;

/// The number of a monitor, to tell it from others of the same host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MonitorRef(pub(crate) u64);

impl MonitorRef {
    /// The number, for a [`Relay`](crate::Relay) that has to write it down.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The monitor of a number that was written down.
    pub fn from_number(number: u64) -> MonitorRef {
        MonitorRef(number)
    }
}

/// What a process has to do with others, and where it comes from.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    pub(crate) origin: Option<Origin>,
    related: Option<Box<Related>>,
}

/// Where a process comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) parent: Option<Pid>,
    pub(crate) started: Instant,
    pub(crate) kind: &'static str,
}

#[derive(Debug, Default)]
pub(crate) struct Related {
    pub(crate) links: Vec<Pid>,
    pub(crate) monitors: Vec<Monitor>,
    pub(crate) names: Vec<Arc<str>>,
    /// The groups that it is, or was, a member or watcher of.
    groups: Vec<Arc<str>>,
    /// What it monitors on other hosts.
    watching: Vec<(MonitorRef, Pid)>,
}

impl Related {
    pub(crate) fn add_group(&mut self, name: Arc<str>) {
        if !self.groups.contains(&name) {
            self.groups.push(name);
        }
    }
}

/// Somebody who is told about the end of a process.
#[derive(Debug)]
pub(crate) enum Monitor {
    Process(MonitorRef, Pid),
    Task(oneshot::Sender<ExitReason>),
}

impl Relations {
    pub(crate) fn get_mut(&mut self) -> &mut Related {
        self.related.get_or_insert_default()
    }

    pub(crate) fn get(&self) -> Option<&Related> {
        self.related.as_deref()
    }

    /// Empties everything for the next process in this place.
    pub(crate) fn take(&mut self) -> Option<Box<Related>> {
        self.origin = None;
        self.related.take()
    }

    pub(crate) fn add_link(&mut self, pid: Pid) {
        let links = &mut self.get_mut().links;
        if !links.contains(&pid) {
            links.push(pid);
        }
    }

    /// Was there one?
    pub(crate) fn remove_link(&mut self, pid: Pid) -> bool {
        let Some(related) = &mut self.related else {
            return false;
        };
        let found = related.links.iter().position(|other| *other == pid);
        found.map(|at| related.links.remove(at)).is_some()
    }

    /// Was there such a one of `by`?
    pub(crate) fn remove_monitor(&mut self, monitor: MonitorRef, by: Pid) -> bool {
        let Some(related) = &mut self.related else {
            return false;
        };
        let wanted = |other: &Monitor| match other {
            Monitor::Process(same, watcher) => (*same, *watcher) == (monitor, by),
            Monitor::Task(_) => false,
        };
        let found = related.monitors.iter().position(wanted);
        found.map(|at| related.monitors.swap_remove(at)).is_some()
    }

    /// It monitors a process of another host no more.
    pub(crate) fn forget(&mut self, monitor: MonitorRef) {
        if let Some(related) = &mut self.related {
            related.watching.retain(|(other, _)| *other != monitor);
        }
    }
}

/// A future that is ready when a process has ended; from [`Host::watch`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Ended(pub(crate) Option<oneshot::Receiver<ExitReason>>);

impl Future for Ended {
    type Output = ExitReason;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ExitReason> {
        match &mut self.0 {
            Some(receiver) => Pin::new(receiver)
                .poll(cx)
                .map(|reason| reason.unwrap_or(ExitReason::RuntimeGone)),
            None => Poll::Ready(ExitReason::NoProcess),
        }
    }
}

/// A future that is ready when a process that was started with it has ended.
#[must_use = "futures do nothing unless awaited"]
pub struct ExitFuture {
    pub(crate) pid: Pid,
    pub(crate) receiver: oneshot::Receiver<Exit>,
}

impl ExitFuture {
    /// The process.
    pub fn pid(&self) -> Pid {
        self.pid
    }
}

impl Future for ExitFuture {
    type Output = Exit;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Exit> {
        let pid = self.pid;
        Pin::new(&mut self.receiver).poll(cx).map(|exit| {
            exit.unwrap_or(Exit {
                pid,
                reason: ExitReason::RuntimeGone,
                result: crate::Payload::empty(),
            })
        })
    }
}

impl fmt::Debug for ExitFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExitFuture")
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Links two processes: when one ends abnormally, the other is told if it
    /// [traps](Host::trap_exits) exits, and ends as well if it does not. Linking twice is linking
    /// once.
    ///
    /// One of them may be another host's. If that one has ended, or cannot be reached, the other is
    /// told, or ends, as if it had ended just now.
    ///
    /// # Errors
    /// If either has ended.
    pub fn link(&self, a: Pid, b: Pid) -> Result<(), NoProcess> {
        if a == b {
            return self.slot(a).map(|_| ());
        }
        match (self.is_ours(a), self.is_ours(b)) {
            (true, false) => return self.link_remote(a, b),
            (false, true) => return self.link_remote(b, a),
            _ => {}
        }
        let (first, second) = if a < b { (a, b) } else { (b, a) };
        let (first_slot, second_slot) = (self.slot(first)?, self.slot(second)?);
        let mut first_side = first_slot.relations.lock();
        let mut second_side = second_slot.relations.lock();
        let alive = |pid: Pid, slot: &Slot| {
            let alive = slot.is_alive(pid.id().generation());
            if alive { Ok(()) } else { Err(NoProcess(pid)) }
        };
        alive(first, first_slot)?;
        alive(second, second_slot)?;
        let links = &mut first_side.get_mut().links;
        if !links.contains(&second) {
            links.push(second);
            second_side.get_mut().links.push(first);
        }
        Ok(())
    }

    /// Undoes [`link`](Host::link). Nothing happens if there is none.
    pub fn unlink(&self, a: Pid, b: Pid) {
        if a == b {
            return;
        }
        match (self.is_ours(a), self.is_ours(b)) {
            (true, false) => return self.unlink_remote(a, b),
            (false, true) => return self.unlink_remote(b, a),
            _ => {}
        }
        let (first, second) = if a < b { (a, b) } else { (b, a) };
        // One after the other would let an end in between be carried one way only.
        let (Ok(first_slot), Ok(second_slot)) = (self.slot(first), self.slot(second)) else {
            return;
        };
        let mut first_side = first_slot.relations.lock();
        let mut second_side = second_slot.relations.lock();
        if first_slot.is_alive(first.id().generation()) {
            first_side.remove_link(second);
        }
        if second_slot.is_alive(second.id().generation()) {
            second_side.remove_link(first);
        }
    }

    /// Tells `watcher` by a [`Down`](SystemEvent::Down) when `pid` ends, however it does; at once if
    /// it has ended already. `pid` may be another host's; if that cannot be reached, or not any more,
    /// the reason is [`Unreachable`](ExitReason::Unreachable).
    ///
    /// # Errors
    /// If the watcher has ended.
    pub fn monitor(&self, watcher: Pid, pid: Pid) -> Result<MonitorRef, NoProcess> {
        self.slot(watcher)?;
        let monitor = self.next_monitor();
        if !self.is_ours(pid) {
            self.with_relations(watcher, |relations| {
                relations.get_mut().watching.push((monitor, pid));
            })?;
            self.monitor_remote(monitor, pid, Watcher::Process(watcher));
            return Ok(monitor);
        }
        let added = self.with_relations(pid, |relations| {
            let monitors = &mut relations.get_mut().monitors;
            monitors.push(Monitor::Process(monitor, watcher));
        });
        if added.is_err() {
            self.tell_down(watcher, monitor, pid, ExitReason::NoProcess);
        }
        Ok(monitor)
    }

    /// Takes a monitor of a process back. False if it has told already, or was never there.
    pub fn demonitor(&self, pid: Pid, monitor: MonitorRef) -> bool {
        if !self.is_ours(pid) {
            return self.demonitor_remote(pid, monitor);
        }
        let removed = self.with_relations(pid, |relations| {
            let monitors = &mut relations.get_mut().monitors;
            // Another host may have the same numbers.
            let wanted = |other: &Monitor| match other {
                Monitor::Process(same, watcher) => *same == monitor && self.is_ours(*watcher),
                Monitor::Task(_) => false,
            };
            let found = monitors.iter().position(wanted);
            found.map(|at| monitors.swap_remove(at)).is_some()
        });
        removed.unwrap_or(false)
    }

    /// Waits for the end of a process, from anywhere: from this call on, not from the first poll. If it has
    /// ended before, the reason is [`NoProcess`](ExitReason::NoProcess), so call this before what may end it.
    ///
    /// ```
    /// # use tress_actor::{ExitReason, Host};
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let pid = host.spawn(|mut cx: tress_actor::Cx<()>| async move { cx.recv().await; }).unwrap();
    /// let ended = host.watch(pid);
    /// host.terminate(pid).unwrap();
    /// assert!(matches!(ended.await, ExitReason::Terminated));
    /// # }
    /// ```
    pub fn watch(&self, pid: Pid) -> Ended {
        let (sender, receiver) = oneshot::channel();
        if !self.is_ours(pid) {
            self.monitor_remote(self.next_monitor(), pid, Watcher::Task(sender));
            return Ended(Some(receiver));
        }
        let added = self.with_relations(pid, |relations| {
            relations.get_mut().monitors.push(Monitor::Task(sender));
        });
        Ended(added.is_ok().then_some(receiver))
    }

    /// From now on the end of a process that this one is linked to comes as a
    /// [`LinkDown`](SystemEvent::LinkDown), or ends it, if not `trap`.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn trap_exits(&self, pid: Pid, trap: bool) -> Result<(), NoProcess> {
        let slot = self.slot(pid)?;
        let alive = slot.set_trap(pid.id().generation(), trap);
        if alive { Ok(()) } else { Err(NoProcess(pid)) }
    }

    /// Changes the relations of a process that lives.
    pub(crate) fn with_relations<R>(
        &self,
        pid: Pid,
        change: impl FnOnce(&mut Relations) -> R,
    ) -> Result<R, NoProcess> {
        let slot = self.slot(pid)?;
        let mut relations = slot.relations.lock();
        if !slot.is_alive(pid.id().generation()) {
            return Err(NoProcess(pid));
        }
        Ok(change(&mut relations))
    }

    pub(crate) fn tell_down(
        &self,
        watcher: Pid,
        monitor: MonitorRef,
        pid: Pid,
        reason: ExitReason,
    ) {
        let down = SystemEvent::Down {
            monitor,
            pid,
            reason,
        };
        // A watcher that has ended needs no news.
        let _ = self.tell(watcher, Event::Message(Message::system(Some(pid), down)));
    }

    /// Tells everybody who wants to know that a process has ended.
    pub(crate) fn announce_exit(&self, pid: Pid, related: Related, reason: &ExitReason) {
        self.release_names(pid, &related.names);
        self.leave_groups(pid, &related.groups);
        for (monitor, other) in related.watching {
            self.demonitor_remote(other, monitor);
        }
        for other in related.links {
            if !self.is_ours(other) {
                self.carry_exit_remote(pid, other, reason);
                continue;
            }
            let linked = self.with_relations(other, |relations| relations.remove_link(pid));
            if linked.is_ok() && reason.is_abnormal() {
                self.carry_exit(other, pid, reason);
            }
        }
        for monitor in related.monitors {
            match monitor {
                Monitor::Process(monitor, watcher) if !self.is_ours(watcher) => {
                    self.tell_down_remote(watcher, monitor, pid, reason);
                }
                Monitor::Process(monitor, watcher) => {
                    self.tell_down(watcher, monitor, pid, reason.clone());
                }
                // Nobody waits any more if this fails.
                Monitor::Task(sender) => drop(sender.send(reason.clone())),
            }
        }
    }

    pub(crate) fn carry_exit(&self, to: Pid, from: Pid, reason: &ExitReason) {
        let Ok(slot) = self.slot(to) else { return };
        if slot.traps() {
            let down = SystemEvent::LinkDown {
                pid: from,
                reason: reason.clone(),
            };
            let _ = self.tell(to, Event::Message(Message::system(Some(from), down)));
        } else {
            self.end(to, ExitReason::linked(from, reason.clone()));
        }
    }
}
