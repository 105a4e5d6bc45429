//! A host: a set of processes and what they share.

mod builder;
mod section;
mod send;
pub(crate) mod spawn;

pub use builder::Builder;
pub use send::Sending;
pub use spawn::Spawn;

use crate::atom::Atom;
use crate::command::Registry;
use crate::contain::contain;
use crate::error::NoProcess;
use crate::event::{Event, Message, SystemEvent};
use crate::exit::{ExitReason, ProcessError};
use crate::groups::Groups;
use crate::link::MonitorRef;
use crate::names::Names;
use crate::pid::Pid;
use crate::relay::Router;
use crate::remote::Remote;
use crate::slot::{Capacity, Chain, Drained, Left, Slot};
use crate::sys::atomic::Ordering;
use crate::sys::plain::{AtomicBool, AtomicU64, AtomicUsize, fence};
use crate::table::Table;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;
use tress::runtime::Handle;
use tress::sync::Notify;
use tress::trace::SectionGuard;

/// Runs processes, and finds them by their [`Pid`]s. Clones are handles of the same host.
///
/// A host belongs to the runtime in which it was [started](Builder::start), and a program may have several.
/// Processes keep their host alive. To end it in good order, call [`shutdown`](Host::shutdown).
///
/// # Examples
/// ```
/// use tress_actor::{Cx, Done, Host};
///
/// #[tress::main]
/// async fn main() {
///     let host = Host::builder("main").start().unwrap();
///     let (pid, exit) = host
///         .future(|mut cx: Cx<String>| async move { Done(cx.recv().await) })
///         .exec()
///         .unwrap();
///     host.send(pid, "hello".to_string()).unwrap();
///     let result = exit.await.into_result().unwrap();
///     assert_eq!(result.downcast::<Option<String>>().unwrap().as_deref(), Some("hello"));
/// }
/// ```
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

/// A host that may be gone.
#[derive(Clone)]
pub(crate) struct WeakHost(Weak<Inner>);

impl WeakHost {
    pub(crate) fn upgrade(&self) -> Option<Host> {
        self.0.upgrade().map(|inner| Host { inner })
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}

struct Inner {
    node: Atom,
    name: Atom,
    runtime: Handle,
    table: Table,
    commands: Registry,
    capacity: Capacity,
    hooks: Vec<Box<dyn Lifecycle>>,
    limit: Option<Limit>,
    monitors: AtomicU64,
    undelivered: AtomicU64,
    stopping: AtomicBool,
    router: Option<Router>,
    names: Names,
    groups: Groups,
    remote: Remote,
    /// Notified at each end of a process while the host is stopping.
    ended: Notify,
    /// The host's section in the runtime's dump and metrics.
    section: OnceLock<SectionGuard>,
}

/// The maximum number of processes, and the current one.
struct Limit {
    most: usize,
    alive: AtomicUsize,
}

/// Hooks into the lives of a host's processes; registered with [`Builder::lifecycle`].
///
/// They run on the thread where the event happens, so they must not block. A panic in
/// [`on_start`](Lifecycle::on_start) is a veto; in the others it is ignored.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use tress_actor::{Cx, ExitReason, Host, Lifecycle, Pid};
///
/// /// Counts the processes that fail.
/// #[derive(Clone, Default)]
/// struct Failures(Arc<AtomicUsize>);
///
/// impl Lifecycle for Failures {
///     fn on_exit(&self, _: Pid, reason: &ExitReason) {
///         if reason.is_abnormal() {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// # #[tress::main]
/// # async fn main() {
/// let failures = Failures::default();
/// let host = Host::builder("main").lifecycle(failures.clone()).start().unwrap();
/// let (_, exit) = host.future(|_: Cx<()>| async { Err::<(), _>("failed") }).exec().unwrap();
/// exit.await;
/// assert_eq!(failures.0.load(Ordering::Relaxed), 1);
/// # }
/// ```
pub trait Lifecycle: Send + Sync + 'static {
    /// Called before a process starts, with the process that starts it, if it is one. Allows it by default.
    ///
    /// # Errors
    /// An error keeps the process from starting: [`Spawn::spawn`] returns
    /// [`SpawnError::Vetoed`](crate::SpawnError::Vetoed).
    fn on_start(&self, pid: Pid, parent: Option<Pid>) -> Result<(), ProcessError> {
        let _ = (pid, parent);
        Ok(())
    }

    /// Called when a process has ended, before its links and monitors are told. Does nothing by default.
    fn on_exit(&self, pid: Pid, reason: &ExitReason) {
        let _ = (pid, reason);
    }

    /// Called for a message that was accepted but that the process did not receive. Does nothing by default.
    ///
    /// The process has ended first, or the message made room for newer ones
    /// ([`Overflow::DropOldest`](crate::Overflow::DropOldest)), or it was of a type that the process does not
    /// take.
    fn on_undeliverable(&self, target: Pid, message: &Message) {
        let _ = (target, message);
    }
}

impl Host {
    /// Begins to describe a host of this name.
    pub fn builder(name: &str) -> Builder {
        Builder::new(name)
    }

    /// Returns the name of the host.
    pub fn name(&self) -> Atom {
        self.inner.name
    }

    /// Returns the name of its node.
    pub fn node(&self) -> Atom {
        self.inner.node
    }

    /// Returns the runtime that it runs on.
    pub fn runtime(&self) -> &Handle {
        &self.inner.runtime
    }

    pub(crate) fn commands(&self) -> &Registry {
        &self.inner.commands
    }

    /// Whether it is one of this host's processes.
    #[inline]
    pub(crate) fn is_ours(&self, pid: Pid) -> bool {
        pid.node() == self.inner.node && pid.host() == self.inner.name
    }

    /// Returns the slot of a process, if that is alive.
    #[inline]
    pub(crate) fn slot(&self, pid: Pid) -> Result<&Slot, NoProcess> {
        if !self.is_ours(pid) {
            return Err(NoProcess(pid));
        }
        let slot = self.inner.table.get(pid.id().index());
        slot.filter(|slot| slot.is_alive(pid.id().generation()))
            .ok_or(NoProcess(pid))
    }

    /// Returns the slot of a process that has not given it back.
    #[inline]
    pub(crate) fn taken_slot(&self, pid: Pid) -> &Slot {
        self.inner.table.slot(pid.id().index())
    }

    pub(crate) fn downgrade(&self) -> WeakHost {
        WeakHost(Arc::downgrade(&self.inner))
    }

    pub(crate) fn router(&self) -> Option<&Router> {
        self.inner.router.as_ref()
    }

    pub(crate) fn remote(&self) -> &Remote {
        &self.inner.remote
    }

    pub(crate) fn names(&self) -> &Names {
        &self.inner.names
    }

    pub(crate) fn all_groups(&self) -> &Groups {
        &self.inner.groups
    }

    pub(crate) fn table(&self) -> &Table {
        &self.inner.table
    }

    pub(crate) fn undelivered_count(&self) -> u64 {
        self.inner.undelivered.load(Ordering::Relaxed)
    }

    /// Refuses new processes from now on. A thread that is starting one has done so, or sees this.
    pub(crate) fn begin_stopping(&self) {
        self.inner.stopping.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Returns a future that is ready at the next end of a process after this call, once the host is stopping.
    pub(crate) fn next_end(&self) -> impl Future<Output = ()> + '_ {
        self.inner.ended.notified()
    }

    pub(crate) fn next_monitor(&self) -> MonitorRef {
        MonitorRef(self.inner.monitors.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns `true` if a process of this host is alive. It may have ended by the time this returns.
    ///
    /// Always `false` for processes of other hosts; [`watch`](Host::watch) or [`monitor`](Host::monitor) those.
    pub fn is_alive(&self, pid: Pid) -> bool {
        self.slot(pid).is_ok()
    }

    pub(crate) fn parent(&self, pid: Pid) -> Option<Pid> {
        let origin = self.slot(pid).ok()?.relations.lock().origin;
        origin?.parent
    }

    /// Ends a process before its next step or poll, whatever it is waiting for, with
    /// [`ExitReason::Terminated`].
    ///
    /// Returns at once; [`watch`](Host::watch) tells when it has ended. A process in a step or a poll that does
    /// not return cannot be ended. To let it clean up, [`cancel`](Host::cancel) it instead.
    ///
    /// # Errors
    /// [`NoProcess`] if the process has ended, or is another host's.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, ExitReason, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let (pid, exit) = host.future(|_: Cx<()>| std::future::pending::<()>()).exec().unwrap();
    /// host.terminate(pid).unwrap();
    /// assert!(matches!(exit.await.reason, ExitReason::Terminated));
    /// # }
    /// ```
    pub fn terminate(&self, pid: Pid) -> Result<(), NoProcess> {
        if self.end(pid, ExitReason::Terminated) {
            Ok(())
        } else {
            Err(NoProcess(pid))
        }
    }

    /// Kills a process. Returns `false` if it has ended.
    pub(crate) fn end(&self, pid: Pid, reason: ExitReason) -> bool {
        let slot = self.slot(pid);
        slot.is_ok_and(|slot| slot.kill(pid.id().generation(), reason))
    }

    /// Asks a process to stop, by a [`Cancel`](SystemEvent::Cancel) event in its mailbox.
    ///
    /// An [`Actor`](crate::Actor) stops by default, and [`Cx::recv`](crate::Cx::recv) returns `None`. To make a
    /// process end that does not react, [`terminate`](Host::terminate) it.
    ///
    /// # Errors
    /// [`NoProcess`] if the process has ended, or is another host's.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Done, ExitReason, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let (pid, exit) = host.future(|mut cx: Cx<()>| async move { Done(cx.recv().await) }).exec().unwrap();
    /// host.cancel(pid, ExitReason::Shutdown).unwrap();
    /// assert_eq!(exit.await.into_result().unwrap().downcast::<Option<()>>().unwrap(), None);
    /// # }
    /// ```
    pub fn cancel(&self, pid: Pid, reason: ExitReason) -> Result<(), NoProcess> {
        self.cancel_from(None, pid, reason)
    }

    pub(crate) fn cancel_from(
        &self,
        from: Option<Pid>,
        pid: Pid,
        reason: ExitReason,
    ) -> Result<(), NoProcess> {
        let cancel = SystemEvent::Cancel { from, reason };
        let told = self.tell(pid, Event::Message(Message::system(from, cancel)));
        told.map_err(|_| NoProcess(pid))
    }

    /// Puts an event that always finds room into a mailbox. Returns it if the process has ended.
    pub(crate) fn tell(&self, pid: Pid, event: Event) -> Result<(), Event> {
        match self.slot(pid) {
            Ok(slot) => slot.tell(pid.id().generation(), event),
            Err(_) => Err(event),
        }
    }

    /// Reports a message that its process will not receive.
    pub(crate) fn undelivered(&self, target: Pid, event: Event) {
        if !event.counts() {
            return;
        }
        self.inner.undelivered.fetch_add(1, Ordering::Relaxed);
        if let Event::Message(message) = event {
            for hook in &self.inner.hooks {
                contain(|| hook.on_undeliverable(target, &message));
            }
            contain(|| drop(message));
        }
    }

    /// Ends a process: removes its relations, and tells everything that watches it.
    pub(crate) fn complete(&self, pid: Pid, reason: &ExitReason) {
        self.undo(pid, self.inner.hooks.len(), reason, reason);
    }

    /// As [`complete`](Host::complete), for a process whose start the first `hooks` hooks have seen: they see
    /// it end with `reason`, and its links and monitors with `told`.
    ///
    /// A panic in here belongs to foreign code and not to the process: all others are told all the same, and
    /// the slot is given back.
    fn undo(&self, pid: Pid, hooks: usize, reason: &ExitReason, told: &ExitReason) {
        let slot = self.taken_slot(pid);
        let mut left = slot.complete();
        let related = slot.relations.lock().end();
        for hook in &self.inner.hooks[..hooks] {
            contain(|| hook.on_exit(pid, reason));
        }
        while let Some((generation, event)) = left.next_event() {
            self.undelivered(pid.with_generation(generation), event);
        }
        left.settle();
        if let Some(related) = related {
            self.announce_exit(pid, *related, told);
        }
        self.give_back(pid);
    }

    /// Takes events from the mailbox, for the process.
    #[inline]
    pub(crate) fn drain(&self, pid: Pid, into: &mut Chain, most: usize) -> Left {
        let Drained { left, late } = self.taken_slot(pid).drain(into, most);
        self.report_late(pid, late);
        left
    }

    /// As [`drain`](Host::drain); if there is nothing, `waker` is woken when something comes.
    #[inline]
    pub(crate) fn drain_or_wait(&self, pid: Pid, into: &mut Chain, most: usize, waker: &Waker) {
        let drained = self.taken_slot(pid).receive(into, most, waker);
        self.report_late(pid, drained.late);
    }

    /// Reports events that arrived at a slot after their process had ended.
    #[inline]
    fn report_late(&self, pid: Pid, late: Vec<(u32, Event)>) {
        for (generation, event) in late {
            self.undelivered(pid.with_generation(generation), event);
        }
    }

    /// Frees the slot for the next process.
    fn give_back(&self, pid: Pid) {
        self.inner.table.give_back(pid.id().index());
        if let Some(limit) = &self.inner.limit {
            limit.alive.fetch_sub(1, Ordering::AcqRel);
        }
        if self.inner.stopping.load(Ordering::Acquire) {
            contain(|| self.inner.ended.notify_waiters());
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("node", &self.inner.node)
            .field("name", &self.inner.name)
            .field("processes", &self.inner.table.alive())
            .finish_non_exhaustive()
    }
}
