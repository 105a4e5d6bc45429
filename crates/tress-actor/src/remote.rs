//! Links and monitors between processes of different hosts.
//!
//! The host of the watcher keeps what it has asked for, and the host of the watched keeps its watchers. They
//! talk by [`Control`]s, on a topic of the system, over the same routes as messages. A host that learns that a
//! route is gone ([`Router::remove_node`](crate::Router::remove_node)) tells its own processes that those
//! behind it are [unreachable](ExitReason::Unreachable). Each is told once: what arrives for something that is
//! not kept any more is ignored.

use crate::atom::Atom;
use crate::error::{NoProcess, SendFailure};
use crate::exit::ExitReason;
use crate::host::Host;
use crate::link::{Monitor, MonitorRef};
use crate::payload::Payload;
use crate::pid::Pid;
use crate::relay::{Package, Relay};
use crate::sys::Mutex;
use crate::topic::Topic;
use std::collections::{HashMap, HashSet};
use tress::sync::oneshot;

/// What hosts tell each other about links and monitors.
///
/// It is the payload of a message on the topic [`@pid/control`](Topic::CONTROL) in a [`Package`]. A [`Relay`]
/// over a network has to carry it; processes do not see it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Control {
    /// The source monitors the target from now on.
    Monitor(MonitorRef),
    /// The source does not monitor the target any more.
    Demonitor(MonitorRef),
    /// The source has ended; this answers a monitor of the target.
    Down(MonitorRef, ExitReason),
    /// The source is linked to the target from now on.
    Link,
    /// The source is not linked to the target any more.
    Unlink,
    /// The source, which was linked to the target, has ended abnormally.
    LinkDown(ExitReason),
}

/// What the processes of a host have asked other hosts for.
#[derive(Debug, Default)]
pub(crate) struct Remote(Mutex<Asked>);

#[derive(Debug, Default)]
struct Asked {
    monitors: HashMap<MonitorRef, (Pid, Watcher)>,
    /// Pairs of our process and the other host's.
    links: HashSet<(Pid, Pid)>,
    /// Monitors that other hosts have asked for: our process, the number, and the other host's process.
    watched: HashSet<(Pid, MonitorRef, Pid)>,
}

#[derive(Debug)]
pub(crate) enum Watcher {
    Process(Pid),
    Task(oneshot::Sender<ExitReason>),
}

impl Host {
    /// Tells another host something about one of our processes.
    fn control(&self, source: Pid, target: Pid, control: Control) -> Result<(), SendFailure> {
        let Some(router) = self.router() else {
            return Err(SendFailure::NoRoute(target));
        };
        let relayed = router.relay(Package {
            source: Some(source),
            target,
            messages: vec![(Topic::CONTROL, Payload::new(control))],
        });
        relayed.map_err(|undelivered| undelivered.why)
    }

    /// As [`control`](Host::control), to a process that may be gone: if it does not arrive it is not needed, or
    /// the other host learns that we are unreachable.
    fn notify(&self, source: Pid, target: Pid, control: Control) {
        let _ = self.control(source, target, control);
    }

    /// Monitors a process of another host.
    pub(crate) fn monitor_remote(&self, monitor: MonitorRef, pid: Pid, watcher: Watcher) {
        let (source, process) = match &watcher {
            Watcher::Process(watcher) => (*watcher, true),
            Watcher::Task(_) => (self.nobody(pid), false),
        };
        let asked = &self.remote().0;
        asked.lock().monitors.insert(monitor, (pid, watcher));
        if let Err(why) = self.control(source, pid, Control::Monitor(monitor)) {
            self.remote_down(monitor, pid, unreached(why));
        } else if process && self.slot(source).is_err() {
            // If it ended meanwhile, it may have removed its monitors before this one was sent.
            asked.lock().monitors.remove(&monitor);
            self.notify(source, pid, Control::Demonitor(monitor));
        }
    }

    /// The source of a monitor that belongs to a task: the answer finds its way by the monitor's number.
    fn nobody(&self, pid: Pid) -> Pid {
        Pid::new(self.node(), self.name(), pid.id())
    }

    /// Returns `false` if it has told already, or was never there.
    pub(crate) fn demonitor_remote(&self, pid: Pid, monitor: MonitorRef) -> bool {
        let mut asked = self.remote().0.lock();
        let watcher = match asked.monitors.get(&monitor) {
            Some((monitored, Watcher::Process(watcher))) if *monitored == pid => *watcher,
            _ => return false,
        };
        asked.monitors.remove(&monitor);
        drop(asked);
        // A watcher that has ended has nothing to forget.
        let _ = self.with_relations(watcher, |relations| relations.forget(monitor));
        self.notify(watcher, pid, Control::Demonitor(monitor));
        true
    }

    /// Removes the monitor of an `Ended` future, for a process of another host, that was dropped.
    pub(crate) fn unwatch_remote(&self, pid: Pid, monitor: MonitorRef) {
        let asked = self.remote().0.lock().monitors.remove(&monitor);
        if asked.is_some() {
            self.notify(self.nobody(pid), pid, Control::Demonitor(monitor));
        }
    }

    /// Handles the end of a monitored process of another host, or the loss of the route to it.
    fn remote_down(&self, monitor: MonitorRef, pid: Pid, reason: ExitReason) {
        let mut asked = self.remote().0.lock();
        let kept = match asked.monitors.get(&monitor) {
            Some((monitored, _)) if *monitored == pid => asked.monitors.remove(&monitor),
            _ => None,
        };
        drop(asked);
        match kept {
            Some((_, Watcher::Process(watcher))) => {
                // The watcher may end meanwhile, and takes what it keeps with it.
                let _ = self.with_relations(watcher, |relations| relations.forget(monitor));
                self.tell_down(watcher, monitor, pid, reason);
            }
            // It fails if the task does not wait any more.
            Some((_, Watcher::Task(sender))) => drop(sender.send(reason)),
            None => {}
        }
    }

    /// Links one of our processes to another host's.
    pub(crate) fn link_remote(&self, ours: Pid, other: Pid) -> Result<(), NoProcess> {
        self.with_relations(ours, |relations| {
            self.remote().0.lock().links.insert((ours, other));
            relations.add_link(other);
        })?;
        if let Err(why) = self.control(ours, other, Control::Link) {
            self.remote_link_down(ours, other, &unreached(why));
        } else if self.slot(ours).is_err() {
            // If it ended meanwhile, it may have told so before the other host knew of the link.
            let down = Control::LinkDown(ExitReason::NoProcess);
            self.notify(ours, other, down);
        }
        Ok(())
    }

    pub(crate) fn unlink_remote(&self, ours: Pid, other: Pid) {
        if self.forget_link(ours, other, || {}) {
            self.notify(ours, other, Control::Unlink);
        }
    }

    /// Removes a link. Returns whether there was one; if so, `then` is called under the same lock.
    fn forget_link(&self, ours: Pid, other: Pid, then: impl FnOnce()) -> bool {
        let removed = self.with_relations(ours, |relations| {
            let removed = relations.remove_link(other);
            if removed {
                self.remote().0.lock().links.remove(&(ours, other));
                then();
            }
            removed
        });
        removed.unwrap_or(false)
    }

    fn remote_link_down(&self, ours: Pid, other: Pid, reason: &ExitReason) {
        self.forget_link(ours, other, || {
            if reason.is_abnormal() {
                self.carry_exit(ours, other, reason);
            }
        });
    }

    /// Carries the end of one of our processes over a link to another host.
    pub(crate) fn carry_exit_remote(&self, ours: Pid, other: Pid, reason: &ExitReason) {
        self.remote().0.lock().links.remove(&(ours, other));
        let control = if reason.is_abnormal() {
            Control::LinkDown(reason.clone())
        } else {
            Control::Unlink
        };
        self.notify(ours, other, control);
    }

    pub(crate) fn tell_down_remote(
        &self,
        watcher: Pid,
        monitor: MonitorRef,
        pid: Pid,
        reason: &ExitReason,
    ) {
        let asked = &self.remote().0;
        asked.lock().watched.remove(&(pid, monitor, watcher));
        self.notify(pid, watcher, Control::Down(monitor, reason.clone()));
    }

    /// Handles what another host tells about one of its processes.
    pub(crate) fn controlled(&self, source: Pid, target: Pid, control: Control) {
        match control {
            Control::Monitor(monitor) => {
                let added = self.with_relations(target, |relations| {
                    let asked = &self.remote().0;
                    asked.lock().watched.insert((target, monitor, source));
                    relations.add_monitor((monitor, Some(source)), Monitor::Process(source));
                });
                if added.is_err() {
                    self.tell_down_remote(source, monitor, target, &ExitReason::NoProcess);
                }
            }
            Control::Demonitor(monitor) => self.forget_watcher(target, monitor, source),
            Control::Down(monitor, reason) => self.remote_down(monitor, source, reason),
            Control::Link => {
                let linked = self.with_relations(target, |relations| {
                    self.remote().0.lock().links.insert((target, source));
                    relations.add_link(source);
                });
                if linked.is_err() {
                    let down = Control::LinkDown(ExitReason::NoProcess);
                    self.notify(target, source, down);
                }
            }
            Control::Unlink => {
                self.forget_link(target, source, || {});
            }
            Control::LinkDown(reason) => self.remote_link_down(target, source, &reason),
        }
    }

    /// Removes a monitor that another host had asked for.
    fn forget_watcher(&self, ours: Pid, monitor: MonitorRef, watcher: Pid) {
        // It may have ended, and told.
        let _ = self.with_relations(ours, |relations| {
            let asked = &self.remote().0;
            asked.lock().watched.remove(&(ours, monitor, watcher));
            relations.remove_monitor((monitor, Some(watcher)));
        });
    }

    /// Handles the loss of the route to a node.
    pub(crate) fn lose_node(&self, node: Atom) {
        let asked = self.remote().0.lock();
        let monitors = asked.monitors.iter();
        let monitors = monitors.map(|(monitor, (pid, _))| (*monitor, *pid));
        let monitors: Vec<_> = monitors.filter(|(_, pid)| pid.node() == node).collect();
        let links = asked.links.iter().copied();
        let links: Vec<_> = links.filter(|(_, other)| other.node() == node).collect();
        let watched = asked.watched.iter().copied();
        let watched: Vec<_> = watched.filter(|(.., by)| by.node() == node).collect();
        drop(asked);
        for (ours, monitor, watcher) in watched {
            self.forget_watcher(ours, monitor, watcher);
        }
        for (monitor, pid) in monitors {
            self.remote_down(monitor, pid, ExitReason::Unreachable);
        }
        for (ours, other) in links {
            self.remote_link_down(ours, other, &ExitReason::Unreachable);
        }
    }
}

/// The reason with which a process counts as ended that could not be told something.
fn unreached(why: SendFailure) -> ExitReason {
    match why {
        SendFailure::NoProcess(_) => ExitReason::NoProcess,
        _ => ExitReason::Unreachable,
    }
}
