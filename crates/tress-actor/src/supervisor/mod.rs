//! Processes that keep others running.
//!
//! A supervisor starts its children in order, starts those again that end, by its [`Strategy`] and
//! their [`Restart`], and stops them in the reverse order. Children that keep failing are not started
//! for ever: past the [intensity](Supervisor::intensity) the supervisor stops them all and fails,
//! for its own supervisor to see.
//!
//! ```
//! use tress_actor::{Cx, Host, Supervisor, Strategy};
//!
//! #[tress::main]
//! async fn main() {
//!     let host = Host::builder("main").start().unwrap();
//!     let (supervisor, exit) = Supervisor::new(Strategy::OneForOne)
//!         .child("worker", |start| {
//!             start.future(|mut cx: Cx<u8>| async move {
//!                 while let Some(n) = cx.recv().await {
//!                     assert!(n < 100, "too much");
//!                 }
//!             }).name("worker").spawn()
//!         })
//!         .exec(&host)
//!         .unwrap();
//!
//!     // It starts a moment later, and again after it has failed.
//!     let worker = || async {
//!         loop {
//!             if let Some(pid) = host.lookup("worker") { break pid }
//!             tress::task::yield_now().await;
//!         }
//!     };
//!     let first = worker().await;
//!     let ended = host.watch(first);
//!     host.send(first, 200_u8).unwrap();
//!     assert!(ended.await.is_abnormal());
//!     assert_ne!(worker().await, first);
//!
//!     host.cancel(supervisor, tress_actor::ExitReason::Shutdown).unwrap();
//!     exit.await.into_result().unwrap();
//!     assert_eq!(host.lookup("worker"), None);
//! }
//! ```

mod restarts;
mod run;

use crate::actor::Actor;
use crate::cx::{Cx, Outcome};
use crate::error::SpawnError;
use crate::host::spawn::{Body, Steps};
use crate::host::{Host, Spawn};
use crate::link::ExitFuture;
use crate::pid::Pid;
use crate::process::Process;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use restarts::Backoff;

/// Who else is started again when a child is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Nobody.
    OneForOne,
    /// All children.
    OneForAll,
    /// Those that were started after it.
    RestForOne,
}

/// When a child is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Restart {
    /// However it ended.
    #[default]
    Always,
    /// When it ended abnormally.
    OnFailure,
    /// Never.
    Never,
}

type StartChild = Box<dyn Fn(ChildHost<'_>) -> Result<Pid, SpawnError> + Send>;

/// A child, as its supervisor knows it.
struct Child {
    name: Arc<str>,
    start: StartChild,
    restart: Restart,
    grace: Duration,
}

/// Describes a supervisor. See the [module](self).
#[must_use = "a supervisor works once it is started"]
pub struct Supervisor {
    strategy: Strategy,
    children: Vec<Child>,
    most: usize,
    within: Duration,
    backoff: Backoff,
    grace: Duration,
}

impl Supervisor {
    /// No children yet; at most 3 restarts within 5 seconds, without a delay; 5 seconds for a child
    /// to stop.
    pub fn new(strategy: Strategy) -> Supervisor {
        Supervisor {
            strategy,
            children: Vec::new(),
            most: 3,
            within: Duration::from_secs(5),
            backoff: Backoff::none(),
            grace: Duration::from_secs(5),
        }
    }

    /// How many restarts there may be `within` that time. With one more than `most` the supervisor gives
    /// up: it stops its children and fails. With 0 it does so when the first child would have to be
    /// started again, with [`usize::MAX`] never.
    pub fn intensity(mut self, most: usize, within: Duration) -> Supervisor {
        self.most = most;
        self.within = within;
        self
    }

    /// How long to wait before a child is started again.
    pub fn backoff(mut self, backoff: Backoff) -> Supervisor {
        self.backoff = backoff;
        self
    }

    /// How long children that are added from now on have to stop when they are asked to, before they
    /// are terminated: never, with a time that the clock cannot reach, such as [`Duration::MAX`].
    pub fn grace(mut self, grace: Duration) -> Supervisor {
        self.grace = grace;
        self
    }

    /// Adds a child that is [always](Restart::Always) started again. It is started by what `start`
    /// is given, so that the supervisor knows of its end.
    ///
    /// A process that was started otherwise is monitored when `start` returns it. If it has ended by
    /// then, it counts as one that failed, since nobody knows why it did
    /// ([`NoProcess`](crate::ExitReason::NoProcess)). It has to be of the supervisor's host, and not
    /// the supervisor: a supervisor that is given another stops its children and fails.
    pub fn child(
        self,
        name: &str,
        start: impl Fn(ChildHost<'_>) -> Result<Pid, SpawnError> + Send + 'static,
    ) -> Supervisor {
        self.child_with(name, Restart::Always, start)
    }

    /// Adds a child. See [`child`](Supervisor::child).
    pub fn child_with(
        mut self,
        name: &str,
        restart: Restart,
        start: impl Fn(ChildHost<'_>) -> Result<Pid, SpawnError> + Send + 'static,
    ) -> Supervisor {
        self.children.push(Child {
            name: name.into(),
            start: Box::new(start),
            restart,
            grace: self.grace,
        });
        self
    }

    /// The supervisor as a process that can be given a name, linked, or be the child of another.
    pub fn on(self, host: &Host) -> Spawn<'_, impl Body + use<>> {
        host.future(move |cx| run::supervise(self, cx)).trap_exits()
    }

    /// Starts it.
    ///
    /// # Errors
    /// As [`Spawn::spawn`].
    pub fn spawn(self, host: &Host) -> Result<Pid, SpawnError> {
        self.on(host).spawn()
    }

    /// Starts it, to wait for its end.
    ///
    /// # Errors
    /// As [`Spawn::exec`].
    pub fn exec(self, host: &Host) -> Result<(Pid, ExitFuture), SpawnError> {
        self.on(host).exec()
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.children.iter().map(|child| &child.name).collect();
        f.debug_struct("Supervisor")
            .field("strategy", &self.strategy)
            .field("children", &names)
            .finish_non_exhaustive()
    }
}

/// What a child is started by: its processes are linked to the supervisor and monitored by it.
#[derive(Debug, Clone, Copy)]
pub struct ChildHost<'a> {
    host: &'a Host,
    supervisor: Pid,
}

impl<'a> ChildHost<'a> {
    /// The host.
    pub fn host(&self) -> &'a Host {
        self.host
    }

    /// The supervisor.
    pub fn supervisor(&self) -> Pid {
        self.supervisor
    }

    fn ours<B: Body>(&self, spawn: Spawn<'a, B>) -> Spawn<'a, B> {
        let supervisor = self.supervisor;
        spawn
            .parent(supervisor)
            .linked_to(supervisor)
            .monitored_by(supervisor)
    }

    /// As [`Host::process`].
    pub fn process<P: Process>(&self, process: P) -> Spawn<'a, Steps> {
        self.ours(self.host.process(process))
    }

    /// As [`Host::future`].
    pub fn future<M, F, Fut>(&self, make: F) -> Spawn<'a, crate::cx::Polls<M, F, Fut>>
    where
        M: Send + 'static,
        F: FnOnce(Cx<M>) -> Fut + Send + 'static,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        self.ours(self.host.future(make))
    }

    /// As [`Host::actor`].
    pub fn actor<A: Actor>(&self, actor: A) -> Spawn<'a, impl Body + use<A>> {
        self.ours(self.host.actor(actor))
    }

    /// A supervisor below this one.
    ///
    /// ```
    /// use tress_actor::{Cx, ExitReason, Host, Restart, Strategy, Supervisor};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let serve = |mut cx: Cx<u8>| async move { while cx.recv().await.is_some() {} };
    /// // If the store fails, everything starts again; if one of the pool does, nothing else.
    /// let (root, exit) = Supervisor::new(Strategy::OneForAll)
    ///     .child("store", move |start| start.future(serve).name("store").spawn())
    ///     .child("pool", move |start| {
    ///         let pool = Supervisor::new(Strategy::OneForOne)
    ///             .child_with("a", Restart::OnFailure, move |start| start.future(serve).spawn())
    ///             .child_with("b", Restart::OnFailure, move |start| start.future(serve).spawn());
    ///         start.supervisor_process(pool).name("pool").spawn()
    ///     })
    ///     .exec(&host)
    ///     .unwrap();
    ///
    /// host.cancel(root, ExitReason::Shutdown).unwrap();
    /// exit.await.into_result().unwrap();
    /// # }
    /// ```
    pub fn supervisor_process(&self, supervisor: Supervisor) -> Spawn<'a, impl Body + use<>> {
        self.ours(supervisor.on(self.host))
    }
}
