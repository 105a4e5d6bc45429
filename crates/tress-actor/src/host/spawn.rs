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

/// What a process runs; made by [`Host::process`] and [`Host::future`].
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

/// The body of a [`Process`].
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

/// A process that is about to start.
///
/// Neither `init` nor the future's first poll runs here, but on the scheduler.
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
    /// A process that is a state machine; its method is `main` and its input empty, if they are not
    /// given.
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
        // Whoever shuts the host down says so first and looks for processes then.
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

/// A process that has a place and does not run yet. If that comes to nothing, its start is undone.
struct Starting<'a> {
    host: &'a Host,
    pid: Pid,
    /// How many hooks have seen it start.
    hooks: usize,
    /// Why it does not run; `None` if its start panicked.
    why: Option<String>,
}

impl Starting<'_> {
    fn fail(mut self, error: SpawnError) -> SpawnError {
        // What a hook says is written by foreign code.
        self.why = contain(|| error.to_string());
        error
    }

    /// It runs from now on.
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
    /// The room of its mailbox.
    pub fn mailbox(mut self, capacity: Capacity) -> Spawn<'a, B> {
        self.options.capacity = Some(capacity);
        self
    }

    /// The end of linked processes comes as an event. See [`Host::trap_exits`].
    pub fn trap_exits(mut self) -> Spawn<'a, B> {
        self.options.trap = true;
        self
    }

    /// What it is called, from before it runs. See [`Host::register`].
    pub fn name(mut self, name: &str) -> Spawn<'a, B> {
        self.options.name = Some(name.into());
        self
    }

    /// The process on whose behalf it starts.
    pub fn parent(mut self, pid: Pid) -> Spawn<'a, B> {
        self.options.parent = Some(pid);
        self
    }

    /// Linked to `pid` from the start. See [`Host::link`].
    pub fn linked_to(mut self, pid: Pid) -> Spawn<'a, B> {
        self.options.link = Some(pid);
        self
    }

    /// Monitored by `pid` from the start. See [`Host::monitor`].
    pub fn monitored_by(mut self, pid: Pid) -> Spawn<'a, B> {
        self.options.monitor = Some(pid);
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// If the host has no room, is shutting down, or a hook refuses; if its name is taken, or the process
    /// that it is to be linked to or monitored by has ended.
    pub fn spawn(self) -> Result<Pid, SpawnError> {
        let (pid, _) = self.host.start(self.body, self.options, None)?;
        Ok(pid)
    }

    /// Starts it, to wait for its end and its result.
    ///
    /// # Errors
    /// As [`spawn`](Spawn::spawn).
    pub fn exec(self) -> Result<(Pid, ExitFuture), SpawnError> {
        let (sender, receiver) = oneshot::channel();
        let (pid, _) = self.host.start(self.body, self.options, Some(sender))?;
        Ok((pid, ExitFuture { pid, receiver }))
    }
}

impl<'a> Spawn<'a, Steps> {
    /// Which of its methods it runs.
    pub fn method(mut self, method: &str) -> Spawn<'a, Steps> {
        self.body.method = method.into();
        self
    }

    /// What it is given.
    pub fn input<T: Send + 'static>(self, input: T) -> Spawn<'a, Steps> {
        self.input_payload(Payload::new(input))
    }

    pub(crate) fn input_payload(mut self, input: Payload) -> Spawn<'a, Steps> {
        self.body.input = input;
        self
    }
}
