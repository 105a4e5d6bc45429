//! Processes that restart others.
//!
//! A supervisor starts its children in order, restarts those that end, by its [`Strategy`] and their
//! [`Restart`], and stops them in the reverse order. Children that keep failing are not restarted for ever:
//! past the [intensity](Supervisor::intensity) the supervisor stops them all and fails, for its own supervisor
//! to see. The terms are Erlang's.
//!
//! - [`Supervisor`]: describes a supervisor and starts it.
//! - [`Strategy`]: which children are restarted together.
//! - [`Restart`]: when a child is restarted.
//! - [`Backoff`]: the delay before a restart.
//! - [`ChildHost`]: starts the process of a child.
//!
//! # Examples
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

/// Which children are restarted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Only the child that has ended.
    OneForOne,
    /// All children.
    OneForAll,
    /// The child that has ended, and those that were started after it.
    RestForOne,
}

/// When a child is restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Restart {
    /// Whenever it ends.
    #[default]
    Always,
    /// When it ends [abnormally](crate::ExitReason::is_abnormal).
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

/// Describes a supervisor; started by [`spawn`](Supervisor::spawn), [`exec`](Supervisor::exec) or
/// [`on`](Supervisor::on). See the [module](self) for an example.
///
/// It runs until it is [cancelled](Host::cancel), which stops its children, or until it gives up.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use tress_actor::{Backoff, Cx, Host, Restart, Strategy, Supervisor};
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").start().unwrap();
/// let (_, exit) = Supervisor::new(Strategy::RestForOne)
///     .intensity(2, Duration::from_secs(10))
///     .backoff(Backoff::new(Duration::from_millis(1), Duration::from_millis(10)))
///     .grace(Duration::from_secs(1))
///     .child_with("failing", Restart::OnFailure, |start| {
///         start.future(|_: Cx<()>| async { Err::<(), _>("failed") }).spawn()
///     })
///     .exec(&host)
///     .unwrap();
/// // It gives up after two restarts.
/// assert!(exit.await.reason.is_abnormal());
/// # }
/// ```
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
    /// Creates a supervisor without children, with at most 3 restarts within 5 seconds, no delay before a
    /// restart, and 5 seconds for a child to stop.
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

    /// Sets the maximum number of restarts `within` a time, 3 within 5 seconds by default.
    ///
    /// With one more the supervisor gives up: it stops its children and fails. With 0 it does so at the first
    /// restart, with [`usize::MAX`] never.
    pub fn intensity(mut self, most: usize, within: Duration) -> Supervisor {
        self.most = most;
        self.within = within;
        self
    }

    /// Sets the delay before a restart. The default is [`Backoff::none`].
    pub fn backoff(mut self, backoff: Backoff) -> Supervisor {
        self.backoff = backoff;
        self
    }

    /// Sets the time that children which are added from now on have to stop when they are asked to, 5 seconds
    /// by default. After it they are terminated.
    ///
    /// With a time that the clock cannot reach, such as [`Duration::MAX`], they are never terminated.
    pub fn grace(mut self, grace: Duration) -> Supervisor {
        self.grace = grace;
        self
    }

    /// Adds a child that is [always](Restart::Always) restarted.
    ///
    /// `start` is called for every start, and gets a [`ChildHost`] to start the process with. It should return
    /// the PID of that process. It runs on the supervisor's task, so it must not block.
    ///
    /// A process that was started in another way is monitored when `start` returns it. If it has ended by then,
    /// it counts as failed, because its reason is not known ([`NoProcess`](crate::ExitReason::NoProcess)). It
    /// must belong to the supervisor's host and must not be the supervisor: otherwise the supervisor stops its
    /// children and fails.
    pub fn child(
        self,
        name: &str,
        start: impl Fn(ChildHost<'_>) -> Result<Pid, SpawnError> + Send + 'static,
    ) -> Supervisor {
        self.child_with(name, Restart::Always, start)
    }

    /// Adds a child with a [`Restart`] of its own; see [`child`](Supervisor::child).
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

    /// Prepares to start the supervisor, with options such as a name or a link.
    pub fn on(self, host: &Host) -> Spawn<'_, impl Body + use<>> {
        host.future(move |cx| run::supervise(self, cx)).trap_exits()
    }

    /// Starts the supervisor and returns its PID.
    ///
    /// # Errors
    /// As for [`Spawn::spawn`].
    pub fn spawn(self, host: &Host) -> Result<Pid, SpawnError> {
        self.on(host).spawn()
    }

    /// Starts the supervisor and returns its PID, and a future of its end.
    ///
    /// # Errors
    /// As for [`Spawn::exec`].
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

/// Starts the process of a child, linked to its supervisor and monitored by it.
#[derive(Debug, Clone, Copy)]
pub struct ChildHost<'a> {
    host: &'a Host,
    supervisor: Pid,
}

impl<'a> ChildHost<'a> {
    /// Returns the host.
    pub fn host(&self) -> &'a Host {
        self.host
    }

    /// Returns the PID of the supervisor.
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

    /// Prepares to start a process that is a state machine; see [`Host::process`].
    pub fn process<P: Process>(&self, process: P) -> Spawn<'a, Steps> {
        self.ours(self.host.process(process))
    }

    /// Prepares to start a process that is a future; see [`Host::future`].
    pub fn future<M, F, Fut>(&self, make: F) -> Spawn<'a, crate::cx::Polls<M, F, Fut>>
    where
        M: Send + 'static,
        F: FnOnce(Cx<M>) -> Fut + Send + 'static,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        self.ours(self.host.future(make))
    }

    /// Prepares to start an actor; see [`Host::actor`].
    pub fn actor<A: Actor>(&self, actor: A) -> Spawn<'a, impl Body + use<A>> {
        self.ours(self.host.actor(actor))
    }

    /// Prepares to start a supervisor below this one.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, ExitReason, Host, Restart, Strategy, Supervisor};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let serve = |mut cx: Cx<u8>| async move { while cx.recv().await.is_some() {} };
    /// // If the store fails, everything is restarted; if a member of the pool fails, only that one.
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
