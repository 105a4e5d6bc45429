//! Links and monitors: how others learn that a process has ended.
//!
//! Relations are kept with the process that they are about, under a lock of its slot. A process that ends gives
//! up its PID first and then takes its relations: a thread that adds one finds the PID gone, or its relation is
//! found. A link is kept on both sides, whose locks are taken in the order of their slots. A monitor is kept
//! with the process that is watched, and its number with the one that watches, so that it goes with the first
//! of them to end.
//!
//! The side of the process that lives decides whether an end is carried over a link: the end removes the link
//! there and is carried under the same lock. So it has been carried, or never will be, when [`Host::unlink`]
//! has returned. A process that ends takes its monitors one by one, and tells each under the lock with which
//! [`Host::demonitor`] looks for it: they stay with the slot until all are told.

use crate::contain::contain;
use crate::error::NoProcess;
use crate::event::{Event, Message, SystemEvent};
use crate::exit::{Exit, ExitReason};
use crate::few::Few;
use crate::host::{Host, WeakHost};
use crate::pid::Pid;
use crate::remote::Watcher;
use crate::slot::Slot;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tress::sync::oneshot;

/// The number of a monitor, unique in its host; returned by [`Host::monitor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MonitorRef(pub(crate) u64);

impl MonitorRef {
    /// Returns the number, for a [`Relay`](crate::Relay) that writes it to a network.
    pub fn number(self) -> u64 {
        self.0
    }

    /// Creates a monitor from a number that was read from a network.
    pub fn from_number(number: u64) -> MonitorRef {
        MonitorRef(number)
    }
}

/// The relations of a process, and its origin.
#[derive(Debug, Default)]
pub(crate) struct Relations {
    /// Generation of the process that they belong to: the one that is here, or was last.
    generation: u32,
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
    pub(crate) links: Few<Pid, ()>,
    pub(crate) monitors: Few<MonitorKey, Monitor>,
    pub(crate) names: Few<Arc<str>, ()>,
    /// The groups that it is a member or watcher of.
    pub(crate) groups: Few<Arc<str>, ()>,
    /// The processes that it monitors.
    watching: Few<MonitorRef, Pid>,
}

/// The number of a monitor, and the watcher if it is another host's, which numbers its monitors itself.
pub(crate) type MonitorKey = (MonitorRef, Option<Pid>);

/// The receiver of the end of a process.
#[derive(Debug)]
pub(crate) enum Monitor {
    Process(Pid),
    Task(oneshot::Sender<ExitReason>),
}

impl Relations {
    /// Begins the relations of the next process.
    pub(crate) fn begin(&mut self, generation: u32, origin: Origin) {
        self.generation = generation;
        self.origin = Some(origin);
    }

    pub(crate) fn get_mut(&mut self) -> &mut Related {
        self.related.get_or_insert_default()
    }

    pub(crate) fn get(&self) -> Option<&Related> {
        self.related.as_deref()
    }

    /// Takes the relations of a process that has ended. Its monitors stay, to be
    /// [taken](Relations::next_monitor) one by one.
    pub(crate) fn end(&mut self) -> Option<Box<Related>> {
        self.origin = None;
        let mut ended = self.related.take()?;
        if !ended.monitors.is_empty() {
            self.get_mut().monitors = std::mem::take(&mut ended.monitors);
        }
        Some(ended)
    }

    /// Takes the next monitor that is to be told of the end.
    fn next_monitor(&mut self) -> Option<(MonitorKey, Monitor)> {
        let next = self.related.as_mut()?.monitors.pop_first();
        if next.is_none() {
            self.related = None;
        }
        next
    }

    pub(crate) fn add_link(&mut self, pid: Pid) {
        self.get_mut().links.insert(pid, ());
    }

    /// Returns whether there was one.
    pub(crate) fn remove_link(&mut self, pid: Pid) -> bool {
        let related = self.related.as_mut();
        related.is_some_and(|related| related.links.remove(&pid).is_some())
    }

    pub(crate) fn add_monitor(&mut self, key: MonitorKey, monitor: Monitor) {
        self.get_mut().monitors.insert(key, monitor);
    }

    /// Returns the monitor, to be dropped without the lock.
    pub(crate) fn remove_monitor(&mut self, key: MonitorKey) -> Option<Monitor> {
        self.related.as_mut()?.monitors.remove(&key)
    }

    /// Notes that the process does not monitor another one any more.
    pub(crate) fn forget(&mut self, monitor: MonitorRef) {
        if let Some(related) = &mut self.related {
            related.watching.remove(&monitor);
        }
    }
}

/// Future of the end of a process; returned by [`Host::watch`].
///
/// It resolves to the [`ExitReason`]. Dropping it ends the watch.
#[must_use = "futures do nothing unless awaited"]
pub struct Ended {
    pid: Pid,
    /// `None` if the process had ended before.
    receiver: Option<oneshot::Receiver<ExitReason>>,
    /// The registration, until the end is known.
    registered: Option<(WeakHost, MonitorRef)>,
}

impl Future for Ended {
    type Output = ExitReason;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ExitReason> {
        let Some(receiver) = &mut self.receiver else {
            return Poll::Ready(ExitReason::NoProcess);
        };
        let reason = ready!(Pin::new(receiver).poll(cx));
        self.registered = None;
        Poll::Ready(reason.unwrap_or(ExitReason::RuntimeGone))
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some((host, monitor)) = self.registered.take() {
            if let Some(host) = host.upgrade() {
                host.unwatch(self.pid, monitor);
            }
        }
    }
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ended")
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

/// Future of the end and the result of a process that was started with [`Spawn::exec`](crate::Spawn::exec).
///
/// It resolves to an [`Exit`]. Dropping it does not end the process; its result is dropped when it ends.
///
/// # Examples
/// ```
/// use tress_actor::{Cx, ExitReason, Host};
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").start().unwrap();
/// let (pid, exit) = host.future(|_: Cx<()>| async { panic!("out of paper") as () }).exec().unwrap();
/// assert_eq!(exit.pid(), pid);
/// assert!(matches!(exit.await.reason, ExitReason::Panicked(text) if &*text == "out of paper"));
/// # }
/// ```
#[must_use = "futures do nothing unless awaited"]
pub struct ExitFuture {
    pub(crate) pid: Pid,
    pub(crate) receiver: oneshot::Receiver<Exit>,
}

impl ExitFuture {
    /// Returns the PID of the process.
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
    /// Links two processes, as in Erlang: when one ends abnormally, the other ends too, or is told if it [traps
    /// exits](Host::trap_exits).
    ///
    /// Links work in both directions, and linking twice is linking once. One of the two may be another host's.
    /// If that one has ended, or cannot be reached, the other is told, or ends, as if it had ended just now.
    ///
    /// # Errors
    /// [`NoProcess`] if one of this host's processes has ended, or neither is this host's.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, ExitReason, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let wait = |mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} };
    /// let (a, b) = (host.spawn(wait).unwrap(), host.spawn(wait).unwrap());
    /// host.link(a, b).unwrap();
    /// let ended = host.watch(b);
    /// host.terminate(a).unwrap();
    /// assert!(matches!(ended.await, ExitReason::Linked(link) if link.pid == a));
    /// # }
    /// ```
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
        if first.id().index() == second.id().index() {
            // Of two processes of one slot, only the later one can be alive.
            return Err(NoProcess(first));
        }
        let (first_slot, second_slot) = (self.slot(first)?, self.slot(second)?);
        let mut first_side = first_slot.relations.lock();
        let mut second_side = second_slot.relations.lock();
        let alive = |pid: Pid, slot: &Slot| {
            let alive = slot.is_alive(pid.id().generation());
            if alive { Ok(()) } else { Err(NoProcess(pid)) }
        };
        alive(first, first_slot)?;
        alive(second, second_slot)?;
        first_side.add_link(second);
        second_side.add_link(first);
        Ok(())
    }

    /// Removes a [link](Host::link). Does nothing if there is none.
    ///
    /// When it has returned, the end of one process does not affect the other any more, even if it is ending at
    /// this moment: the other has been told, or has ended, by then, or never will.
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
        if first.id().index() == second.id().index() {
            return;
        }
        // Both locks at once: an end in between would be carried one way only. A process that has ended has no
        // side any more; one that is ending takes the other's.
        let (first_slot, second_slot) = (self.slot(first).ok(), self.slot(second).ok());
        let first_side = first_slot.map(|slot| (slot, slot.relations.lock()));
        let second_side = second_slot.map(|slot| (slot, slot.relations.lock()));
        for (side, pid, other) in [(first_side, first, second), (second_side, second, first)] {
            if let Some((slot, mut relations)) = side {
                if slot.is_alive(pid.id().generation()) {
                    relations.remove_link(other);
                }
            }
        }
    }

    /// Sends `watcher` a [`Down`](SystemEvent::Down) when `pid` ends, for whatever reason; at once if it has
    /// ended already.
    ///
    /// Unlike a link, a monitor works in one direction and never ends the watcher. `watcher` must be this
    /// host's. `pid` may be another host's; if that cannot be reached, or not any more, the reason is
    /// [`Unreachable`](ExitReason::Unreachable).
    ///
    /// Each call adds another monitor.
    ///
    /// # Errors
    /// [`NoProcess`] if the watcher has ended.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Done, Host, Mail, SystemEvent};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let worker = host.spawn(|mut cx: Cx<()>| async move { cx.recv().await; }).unwrap();
    /// let (_, exit) = host.future(move |mut cx: Cx<()>| async move {
    ///     let monitor = cx.host().monitor(cx.pid(), worker).unwrap();
    ///     cx.send(worker, ()).unwrap();
    ///     loop {
    ///         if let Mail::Event(SystemEvent::Down { monitor: other, reason, .. }) = cx.next().await {
    ///             assert_eq!(other, monitor);
    ///             break Done(reason.is_abnormal());
    ///         }
    ///     }
    /// }).exec().unwrap();
    /// assert!(!exit.await.into_result().unwrap().downcast::<bool>().unwrap());
    /// # }
    /// ```
    pub fn monitor(&self, watcher: Pid, pid: Pid) -> Result<MonitorRef, NoProcess> {
        let monitor = self.next_monitor();
        self.with_relations(watcher, |relations| {
            relations.get_mut().watching.insert(monitor, pid);
        })?;
        if !self.is_ours(pid) {
            self.monitor_remote(monitor, pid, Watcher::Process(watcher));
            return Ok(monitor);
        }
        let added = self.with_relations(pid, |relations| {
            relations.add_monitor((monitor, None), Monitor::Process(watcher));
        });
        if added.is_err() {
            let forget = |relations: &mut Relations| relations.forget(monitor);
            self.with_relations(watcher, forget)?;
            self.tell_down(watcher, monitor, pid, ExitReason::NoProcess);
        } else if self.slot(watcher).is_err() {
            // The watcher may have removed its monitors before this one was there.
            self.demonitor(pid, monitor);
            return Err(NoProcess(watcher));
        }
        Ok(monitor)
    }

    /// Removes a monitor of a process.
    ///
    /// Returns `true` if it was there; then no [`Down`](SystemEvent::Down) comes for it. If it returns `false`,
    /// the `Down` is in the watcher's mailbox already, or the monitor never existed.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let wait = |mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} };
    /// let (watcher, watched) = (host.spawn(wait).unwrap(), host.spawn(wait).unwrap());
    /// let monitor = host.monitor(watcher, watched).unwrap();
    /// assert!(host.demonitor(watched, monitor));
    /// assert!(!host.demonitor(watched, monitor));
    /// # }
    /// ```
    pub fn demonitor(&self, pid: Pid, monitor: MonitorRef) -> bool {
        if !self.is_ours(pid) {
            return self.demonitor_remote(pid, monitor);
        }
        let removed = self.with_last_relations(pid, |relations| {
            let key = (monitor, None);
            let found = relations.get()?.monitors.get(&key);
            // The monitor of an `Ended` future cannot be removed by its number.
            found.filter(|found| matches!(found, Monitor::Process(_)))?;
            relations.remove_monitor(key)
        });
        let Some(Monitor::Process(watcher)) = removed.flatten() else {
            return false;
        };
        // A watcher that has ended has nothing to forget.
        let _ = self.with_relations(watcher, |relations| relations.forget(monitor));
        true
    }

    /// Whether `watcher` has a monitor at a process of this host that has not told yet. If not, it has told by
    /// now, or there was none.
    pub(crate) fn is_monitored_by(&self, pid: Pid, watcher: Pid) -> bool {
        let is = |monitor: &Monitor| matches!(monitor, Monitor::Process(by) if *by == watcher);
        let monitored = self.with_last_relations(pid, |relations| {
            let related = relations.get();
            related.is_some_and(|related| related.monitors.iter().any(|(_, monitor)| is(monitor)))
        });
        monitored.unwrap_or(false)
    }

    /// Removes the monitor of an `Ended` future that was dropped.
    fn unwatch(&self, pid: Pid, monitor: MonitorRef) {
        if !self.is_ours(pid) {
            // The relay to the other host is foreign code.
            contain(|| self.unwatch_remote(pid, monitor));
            return;
        }
        let key = (monitor, None);
        let removed = self.with_last_relations(pid, |relations| relations.remove_monitor(key));
        drop(removed);
    }

    /// Returns a future of the end of a process, for any task.
    ///
    /// The watch begins with this call, not with the first poll. If the process has ended before, the reason is
    /// [`NoProcess`](ExitReason::NoProcess), so call this before anything that may end it. To get the result of
    /// the process too, start it with [`Spawn::exec`](crate::Spawn::exec).
    ///
    /// # Cancel safety
    /// Cancel safe: dropping the future ends the watch and has no effect on the process.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, ExitReason, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let pid = host.spawn(|mut cx: Cx<()>| async move { cx.recv().await; }).unwrap();
    /// let ended = host.watch(pid);
    /// host.terminate(pid).unwrap();
    /// assert!(matches!(ended.await, ExitReason::Terminated));
    /// # }
    /// ```
    pub fn watch(&self, pid: Pid) -> Ended {
        let (sender, receiver) = oneshot::channel();
        let monitor = self.next_monitor();
        let mut ended = Ended {
            pid,
            receiver: Some(receiver),
            registered: None,
        };
        if !self.is_ours(pid) {
            self.monitor_remote(monitor, pid, Watcher::Task(sender));
        } else {
            let added = self.with_relations(pid, |relations| {
                relations.add_monitor((monitor, None), Monitor::Task(sender));
            });
            if added.is_err() {
                ended.receiver = None;
                return ended;
            }
        }
        ended.registered = Some((self.downgrade(), monitor));
        ended
    }

    /// Sets whether a process traps exits: whether the abnormal end of a linked process arrives as a
    /// [`LinkDown`](SystemEvent::LinkDown) event (`true`) or ends the process too (`false`, the default).
    ///
    /// # Errors
    /// [`NoProcess`] if the process has ended, or is another host's.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Done, Host, Mail, SystemEvent};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let (_, exit) = host.future(|mut cx: Cx<()>| async move {
    ///     let host = cx.host().clone();
    ///     host.trap_exits(cx.pid(), true).unwrap();
    ///     let child = host.future(|_: Cx<()>| async { Err::<(), _>("failed") });
    ///     let child = child.linked_to(cx.pid()).spawn().unwrap();
    ///     match cx.next().await {
    ///         Mail::Event(SystemEvent::LinkDown { pid, .. }) => Done(pid == child),
    ///         _ => Done(false),
    ///     }
    /// }).exec().unwrap();
    /// assert!(exit.await.into_result().unwrap().downcast::<bool>().unwrap());
    /// # }
    /// ```
    pub fn trap_exits(&self, pid: Pid, trap: bool) -> Result<(), NoProcess> {
        let slot = self.slot(pid)?;
        let alive = slot.set_trap(pid.id().generation(), trap);
        if alive { Ok(()) } else { Err(NoProcess(pid)) }
    }

    /// Changes the relations of a live process.
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

    /// Changes the relations of a process that is alive, or is ending and has not told all its monitors.
    fn with_last_relations<R>(
        &self,
        pid: Pid,
        change: impl FnOnce(&mut Relations) -> R,
    ) -> Option<R> {
        let slot = self.table().get(pid.id().index())?;
        let mut relations = slot.relations.lock();
        (relations.generation == pid.id().generation()).then(|| change(&mut relations))
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

    /// Tells all links and monitors that a process has ended. `related` is what it had except its monitors,
    /// which are still with its slot.
    pub(crate) fn announce_exit(&self, pid: Pid, related: Related, reason: &ExitReason) {
        self.release_names(pid, &related.names);
        self.leave_groups(pid, related.groups);
        let mut watching = related.watching;
        while let Some((monitor, other)) = watching.pop_first() {
            if self.is_ours(other) {
                // It may have ended and told already.
                let key = (monitor, None);
                self.with_last_relations(other, |relations| relations.remove_monitor(key));
            } else {
                contain(|| self.demonitor_remote(other, monitor));
            }
        }
        let mut links = related.links;
        while let Some((other, ())) = links.pop_first() {
            if !self.is_ours(other) {
                contain(|| self.carry_exit_remote(pid, other, reason));
                continue;
            }
            // A process that has ended meanwhile needs no news.
            let _ = self.with_relations(other, |relations| {
                if relations.remove_link(pid) && reason.is_abnormal() {
                    self.carry_exit(other, pid, reason);
                }
            });
        }
        while self.tell_next_monitor(pid, reason) {}
    }

    /// Tells one monitor of a process that has ended. Returns `false` if all have been told.
    fn tell_next_monitor(&self, pid: Pid, reason: &ExitReason) -> bool {
        let mut relations = self.taken_slot(pid).relations.lock();
        let Some(((monitor, _), next)) = relations.next_monitor() else {
            return false;
        };
        match next {
            Monitor::Process(watcher) if self.is_ours(watcher) => {
                self.tell_down(watcher, monitor, pid, reason.clone());
                drop(relations);
                let _ = self.with_relations(watcher, |relations| relations.forget(monitor));
            }
            Monitor::Process(watcher) => {
                drop(relations);
                contain(|| self.tell_down_remote(watcher, monitor, pid, reason));
            }
            Monitor::Task(sender) => {
                drop(relations);
                // It fails if the task does not wait any more.
                contain(|| drop(sender.send(reason.clone())));
            }
        }
        true
    }

    /// Carries an end over a link, under the lock of the relations of `to`. The reason is kept elsewhere too,
    /// so nothing foreign is dropped here.
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
