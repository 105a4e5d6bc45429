//! Links and monitors between processes of different hosts.
//!
//! The host of the watcher keeps what it has asked for, the host of the watched keeps who asked; they
//! talk by [`Control`]s, on a topic of the system's, over the same way as messages. Whoever hears that
//! the way is gone ([`Router::remove_node`](crate::Router::remove_node)) tells its own processes that
//! those behind it are [unreachable](ExitReason::Unreachable). Each is told once: what comes for
//! something that is not kept any more is passed over.

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

/// What hosts tell each other about their processes, as the payload of a message on the topic
/// [`@pid/control`](Topic::CONTROL) in a [`Package`]. A [`Relay`] over a network has to carry it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Control {
    /// The source wants to know when the target ends.
    Monitor(MonitorRef),
    /// It does not any more.
    Demonitor(MonitorRef),
    /// The source has ended, for this monitor of the target's.
    Down(MonitorRef, ExitReason),
    /// The source is linked to the target from now on.
    Link,
    /// It is not any more.
    Unlink,
    /// The source has ended abnormally, and was linked to the target.
    LinkDown(ExitReason),
}

/// What the processes of a host have asked other hosts for.
#[derive(Debug, Default)]
pub(crate) struct Remote(Mutex<Asked>);

#[derive(Debug, Default)]
struct Asked {
    monitors: HashMap<MonitorRef, (Pid, Watcher)>,
    /// Ours, and the other's.
    links: HashSet<(Pid, Pid)>,
    /// Monitors of ours that others have asked for: ours, and the other's.
    watched: HashSet<(Pid, MonitorRef, Pid)>,
}

#[derive(Debug)]
pub(crate) enum Watcher {
    Process(Pid),
    Task(oneshot::Sender<ExitReason>),
}

impl Host {
    /// Tells another host something about one of ours.
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

    /// As [`control`](Host::control), to somebody who may be gone: who does not hear it has no need
    /// to, or hears that we are unreachable.
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
            // If it ended meanwhile, it may have taken this back before it was asked for.
            asked.lock().monitors.remove(&monitor);
            self.notify(source, pid, Control::Demonitor(monitor));
        }
    }

    /// In whose name a task watches a process of another host: the answer finds its way by the
    /// monitor's number.
    fn nobody(&self, pid: Pid) -> Pid {
        Pid::new(self.node(), self.name(), pid.id())
    }

    /// False if it has told already, or was never there.
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

    /// The future that watches a process of another host was dropped.
    pub(crate) fn unwatch_remote(&self, pid: Pid, monitor: MonitorRef) {
        let asked = self.remote().0.lock().monitors.remove(&monitor);
        if asked.is_some() {
            self.notify(self.nobody(pid), pid, Control::Demonitor(monitor));
        }
    }

    /// A process of another host that was monitored has ended, or cannot be reached.
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
            // Nobody waits any more if this fails.
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
            // If it ended meanwhile, perhaps by this very link, it may have told so before the other knew of the link.
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

    /// Was there such a link? If so, `then` is done under the same lock.
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

    /// One of our processes that was linked to another host's has ended.
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

    /// Another host tells about one of its processes.
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

    /// One of ours is not watched by another host's any more.
    fn forget_watcher(&self, ours: Pid, monitor: MonitorRef, watcher: Pid) {
        // It may have ended, and told.
        let _ = self.with_relations(ours, |relations| {
            let asked = &self.remote().0;
            asked.lock().watched.remove(&(ours, monitor, watcher));
            relations.remove_monitor((monitor, Some(watcher)));
        });
    }

    /// The way to a node is gone.
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

/// Why somebody whom we could not tell something counts as ended.
fn unreached(why: SendFailure) -> ExitReason {
    match why {
        SendFailure::NoProcess(_) => ExitReason::NoProcess,
        _ => ExitReason::Unreachable,
    }
}
