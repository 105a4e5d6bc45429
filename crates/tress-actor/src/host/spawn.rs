//! Starting processes.

use super::Host;
use crate::contain::contain;
use crate::error::SpawnError;
use crate::exit::{Exit, ExitReason};
use crate::link::{ExitFuture, MonitorRef, Origin};
use crate::names::NameError;
use crate::payload::Payload;
use crate::pid::{Pid, ProcessId};
use crate::process::Process;
use crate::run::{Life, Stepper};
use crate::slot::Capacity;
use crate::sys::atomic::Ordering;
use crate::sys::clock;
use crate::sys::plain::fence;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tress::sync::oneshot;

/// What a process runs. Implemented by the types that [`Host::process`], [`Host::future`] and [`Host::actor`]
/// return inside a [`Spawn`].
pub trait Body: Send + 'static + sealed::Sealed {}

pub(crate) mod sealed {
    use crate::run::Life;

    pub trait Sealed {
        #[doc(hidden)]
        fn kind(&self) -> &'static str;

        #[doc(hidden)]
        #[allow(private_interfaces, reason = "nobody outside can implement or call it")]
        fn run(self, life: Life);
    }
}

/// The body of a [`Process`]; the type parameter of the [`Spawn`] that [`Host::process`] returns.
pub struct Steps {
    process: Box<dyn Process>,
    kind: &'static str,
    method: Box<str>,
    input: Payload,
}

impl Body for Steps {}

impl sealed::Sealed for Steps {
    fn kind(&self) -> &'static str {
        self.kind
    }

    #[allow(private_interfaces, reason = "as in the trait")]
    fn run(self, life: Life) {
        let runtime = life.host().runtime().clone();
        runtime.spawn(Stepper::new(life, self.process, self.method, self.input));
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steps")
            .field("kind", &self.kind)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// Options for a process that is about to start; returned by [`Host::process`], [`Host::future`] and
/// [`Host::actor`].
///
/// Nothing of the process runs on the calling thread: `init` and the first poll happen on the scheduler.
///
/// # Examples
/// ```
/// use tress_actor::{Capacity, Cx, Host, Overflow};
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").start().unwrap();
/// let serve = |mut cx: Cx<u8>| async move { while cx.recv().await.is_some() {} };
/// let pid = host
///     .future(serve)
///     .name("server")
///     .mailbox(Capacity::new(64, Overflow::Reject))
///     .spawn()
///     .unwrap();
/// assert_eq!(host.lookup("server"), Some(pid));
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a process starts with `spawn` or `exec`"]
pub struct Spawn<'a, B> {
    pub(crate) host: &'a Host,
    pub(crate) body: B,
    pub(crate) options: Options,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) capacity: Option<Capacity>,
    pub(crate) trap: bool,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) parent: Option<Pid>,
    pub(crate) link: Option<Pid>,
    pub(crate) monitor: Option<Pid>,
}

impl Host {
    /// Prepares to start a process that is a state machine. Its method is `main` and its input empty unless
    /// they are set.
    pub fn process<P: Process>(&self, process: P) -> Spawn<'_, Steps> {
        self.boxed_process(Box::new(process), std::any::type_name::<P>())
    }

    pub(crate) fn boxed_process(
        &self,
        process: Box<dyn Process>,
        kind: &'static str,
    ) -> Spawn<'_, Steps> {
        Spawn {
            host: self,
            body: Steps {
                process,
                kind,
                method: "main".into(),
                input: Payload::empty(),
            },
            options: Options::default(),
        }
    }

    pub(crate) fn start<B: Body>(
        &self,
        body: B,
        options: Options,
        waiter: Option<oneshot::Sender<Exit>>,
    ) -> Result<(Pid, Option<MonitorRef>), SpawnError> {
        let kind = body.kind();
        let mut starting = Starting {
            host: self,
            pid: self.take_place(&options, kind)?,
            hooks: 0,
            why: None,
        };
        let pid = starting.pid;
        // A shutdown sets the flag first and looks for processes afterwards.
        fence(Ordering::SeqCst);
        if self.inner.stopping.load(Ordering::Relaxed) {
            return Err(starting.fail(SpawnError::Stopping));
        }
        for hook in &self.inner.hooks {
            let started = catch_unwind(AssertUnwindSafe(|| hook.on_start(pid, options.parent)));
            let started =
                started.unwrap_or_else(|panic| Err(ExitReason::panicked(panic).to_string().into()));
            if let Err(why) = started {
                return Err(starting.fail(SpawnError::vetoed(why)));
            }
            starting.hooks += 1;
        }
        let monitor = match self.relate(pid, &options) {
            Ok(monitor) => monitor,
            Err(error) => return Err(starting.fail(error)),
        };
        starting.done();
        body.run(Life::new(self.clone(), pid, waiter));
        Ok((pid, monitor))
    }

    fn take_place(&self, options: &Options, kind: &'static str) -> Result<Pid, SpawnError> {
        if let Some(limit) = &self.inner.limit {
            let room = |alive: usize| (alive < limit.most).then_some(alive + 1);
            limit
                .alive
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, room)
                .map_err(|_| SpawnError::TooMany(limit.most))?;
        }
        let Some(index) = self.inner.table.take() else {
            if let Some(limit) = &self.inner.limit {
                limit.alive.fetch_sub(1, Ordering::AcqRel);
            }
            return Err(SpawnError::TooMany(crate::table::MAX_PROCESSES));
        };
        let slot = self.inner.table.slot(index);
        let origin = Origin {
            parent: options.parent,
            started: clock::now(),
            kind,
        };
        slot.relations.lock().begin(slot.generation(), origin);
        let capacity = options.capacity.unwrap_or(self.inner.capacity);
        let generation = slot.open(capacity, options.trap);
        let id = ProcessId::new(index, generation);
        Ok(Pid::new(self.inner.node, self.inner.name, id))
    }

    fn relate(&self, pid: Pid, options: &Options) -> Result<Option<MonitorRef>, SpawnError> {
        if let Some(name) = &options.name {
            self.register(name, pid).map_err(|error| match error {
                NameError::Taken(by) => SpawnError::NameTaken(name.clone(), by),
                NameError::NoProcess(pid) => SpawnError::NoProcess(pid),
            })?;
        }
        if let Some(to) = options.link {
            self.link(pid, to).map_err(|_| SpawnError::NoProcess(to))?;
        }
        let monitor = |by| self.monitor(by, pid).map_err(|_| SpawnError::NoProcess(by));
        options.monitor.map(monitor).transpose()
    }
}

/// A process that has a slot and does not run yet. Dropping it undoes the start.
struct Starting<'a> {
    host: &'a Host,
    pid: Pid,
    /// Number of hooks that have seen it start.
    hooks: usize,
    /// Why it does not run; `None` if its start panicked.
    why: Option<String>,
}

impl Starting<'_> {
    fn fail(mut self, error: SpawnError) -> SpawnError {
        // The text of a hook's error is written by foreign code.
        self.why = contain(|| error.to_string());
        error
    }

    /// Ends the guard: the process runs from now on.
    fn done(self) {
        // Nothing is left to undo, and nothing in it to drop.
        std::mem::forget(self);
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        let why = self.why.take();
        let reason = ExitReason::failed(why.unwrap_or_else(|| "its start panicked".into()));
        self.host
            .undo(self.pid, self.hooks, &reason, &ExitReason::NoProcess);
    }
}

impl<'a, B: Body> Spawn<'a, B> {
    /// Sets the capacity of its mailbox. The default is the [host's](crate::Builder::mailbox).
    pub fn mailbox(mut self, capacity: Capacity) -> Spawn<'a, B> {
        self.options.capacity = Some(capacity);
        self
    }

    /// Makes it trap exits from the start; see [`Host::trap_exits`].
    pub fn trap_exits(mut self) -> Spawn<'a, B> {
        self.options.trap = true;
        self
    }

    /// Gives it a name before it runs; see [`Host::register`].
    pub fn name(mut self, name: &str) -> Spawn<'a, B> {
        self.options.name = Some(name.into());
        self
    }

    /// Sets the process on whose behalf it starts, as [`ProcessInfo`](crate::ProcessInfo) and hooks report it.
    pub fn parent(mut self, pid: Pid) -> Spawn<'a, B> {
        self.options.parent = Some(pid);
        self
    }

    /// Links it to `pid` before it runs; see [`Host::link`].
    pub fn linked_to(mut self, pid: Pid) -> Spawn<'a, B> {
        self.options.link = Some(pid);
        self
    }

    /// Monitors it by `pid` before it runs; see [`Host::monitor`].
    pub fn monitored_by(mut self, pid: Pid) -> Spawn<'a, B> {
        self.options.monitor = Some(pid);
        self
    }

    /// Starts the process and returns its PID.
    ///
    /// # Errors
    /// - [`SpawnError::Stopping`] if the host is shutting down.
    /// - [`SpawnError::TooMany`] if the host has its maximum of processes.
    /// - [`SpawnError::Vetoed`] if a hook refuses it.
    /// - [`SpawnError::NameTaken`] if another process has the name.
    /// - [`SpawnError::NoProcess`] if the process that it is to be linked to or monitored by has ended.
    pub fn spawn(self) -> Result<Pid, SpawnError> {
        let (pid, _) = self.host.start(self.body, self.options, None)?;
        Ok(pid)
    }

    /// Starts the process and returns its PID, and a future of its end and result.
    ///
    /// # Errors
    /// As for [`spawn`](Spawn::spawn).
    pub fn exec(self) -> Result<(Pid, ExitFuture), SpawnError> {
        let (sender, receiver) = oneshot::channel();
        let (pid, _) = self.host.start(self.body, self.options, Some(sender))?;
        Ok((pid, ExitFuture { pid, receiver }))
    }
}

impl<'a> Spawn<'a, Steps> {
    /// Sets the method that it runs, the second argument of [`Process::init`].
    pub fn method(mut self, method: &str) -> Spawn<'a, Steps> {
        self.body.method = method.into();
        self
    }

    /// Sets the input, the third argument of [`Process::init`].
    pub fn input<T: Send + 'static>(self, input: T) -> Spawn<'a, Steps> {
        self.input_payload(Payload::new(input))
    }

    pub(crate) fn input_payload(mut self, input: Payload) -> Spawn<'a, Steps> {
        self.body.input = input;
        self
    }
}
