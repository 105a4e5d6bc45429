use super::CommandError;
use crate::event::{Completion, Event};
use crate::exit::ExitReason;
use crate::host::Host;
use crate::payload::Payload;
use crate::pid::Pid;
use crate::sys::atomic::Ordering;
use crate::sys::plain::AtomicBool;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use tress::task::AbortHandle;

/// What a handler says.
#[derive(Debug)]
#[must_use]
pub enum Answer {
    /// The command is complete.
    Now(Result<Payload, CommandError>),
    /// It will be: through a [`Completer`], or when the future that was
    /// [spawned](Call::spawn) ends.
    Later,
}

impl Answer {
    /// The command is complete, with this.
    pub fn now<T: Send + 'static>(value: T) -> Answer {
        Answer::Now(Ok(Payload::new(value)))
    }

    /// The command came to nothing.
    pub fn failed(error: impl Into<crate::exit::ProcessError>) -> Answer {
        Answer::Now(Err(CommandError::failed(error)))
    }
}

/// A command that a process asks for, from its handler's side.
#[derive(Debug)]
pub struct Call<'a> {
    pub(crate) host: &'a Host,
    pub(crate) pid: Pid,
    pub(crate) tag: u64,
    pub(crate) operations: &'a mut Operations,
}

impl<'a> Call<'a> {
    /// The host of the process.
    pub fn host(&self) -> &'a Host {
        self.host
    }

    /// The process that asks.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// The tag that it asks with.
    pub fn tag(&self) -> u64 {
        self.tag
    }

    /// Something to complete the command with later, from anywhere. To be kept only by handlers that
    /// answer [`Later`](Answer::Later).
    pub fn completer(&self) -> Completer {
        Completer {
            host: self.host.clone(),
            pid: self.pid,
            tag: self.tag,
            done: false,
        }
    }

    /// Completes the command with what comes of a future, which runs as a task of its own and is
    /// dropped when the process ends. If it panics, so does the process.
    pub fn spawn<T, F>(self, future: F) -> Answer
    where
        T: Send + 'static,
        F: Future<Output = Result<T, CommandError>> + Send + 'static,
    {
        let completer = self.completer();
        self.spawn_with(async move {
            let result = future.await;
            completer.complete(result.map(Payload::new));
        })
    }

    /// Runs what completes the command as a task that ends with the process.
    pub(crate) fn spawn_with(self, future: impl Future<Output = ()> + Send + 'static) -> Answer {
        let (host, pid) = (self.host.clone(), self.pid);
        let task = self.host.runtime().spawn(async move {
            if let Err(panic) = crate::run::caught(future).await {
                host.end(pid, ExitReason::panicked(panic));
            }
        });
        self.operations.add(self.tag, task.abort_handle());
        Answer::Later
    }

    /// What this command is to ask before it tells the process something with more to come.
    pub(crate) fn pace(&mut self) -> Arc<Pace> {
        let pace = Arc::new(Pace::default());
        self.operations.paced.push((self.tag, pace.clone()));
        pace
    }

    /// Takes back a command of the same process: drops its future, if it runs as one. True if so.
    pub fn cancel(&mut self, tag: u64) -> bool {
        self.operations.cancel(tag)
    }
}

/// Completes a command of a process, from anywhere and at any time. If the process has ended
/// meanwhile, nothing happens; if the completer is dropped, the command ends with
/// [`CommandError::Abandoned`].
pub struct Completer {
    host: Host,
    pid: Pid,
    tag: u64,
    done: bool,
}

impl Completer {
    fn tell(&self, result: Result<Payload, CommandError>, more: bool) -> bool {
        let tag = self.tag;
        let event = Event::Completion(Completion { tag, result, more });
        self.host.tell(self.pid, event).is_ok()
    }

    /// Completes the command.
    pub fn complete(mut self, result: Result<Payload, CommandError>) {
        self.done = true;
        self.tell(result, false);
    }

    /// Tells the process something, with more to come. False if it has ended. It finds room in every
    /// mailbox: who can be faster than the process has to hold back.
    pub fn emit(&self, value: Payload) -> bool {
        self.tell(Ok(value), true)
    }

    /// The process whose command it is.
    pub fn pid(&self) -> Pid {
        self.pid
    }
}

impl Drop for Completer {
    fn drop(&mut self) {
        if !self.done {
            self.tell(Err(CommandError::Abandoned), false);
        }
    }
}

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completer")
            .field("pid", &self.pid)
            .field("tag", &self.tag)
            .finish_non_exhaustive()
    }
}

/// The commands of a process that run as tasks. They end with it.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    tasks: Vec<(u64, AbortHandle)>,
    /// What holds some of them back.
    paced: Vec<(u64, Arc<Pace>)>,
}

/// Holds a command back that has told the process something which it has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicBool);

impl Pace {
    /// May it tell something? If so, not again before the process has taken that.
    pub(crate) fn begin(&self) -> bool {
        // What is told is handed over by the mailbox.
        !self.0.swap(true, Ordering::Relaxed)
    }

    fn taken(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Operations {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.paced.is_empty()
    }

    fn add(&mut self, tag: u64, task: AbortHandle) {
        self.tasks.push((tag, task));
    }

    /// The process takes what a command tells it.
    #[inline]
    pub(crate) fn take(&mut self, tag: u64, more: bool) {
        if !more {
            self.complete(tag);
            return;
        }
        for (other, pace) in &self.paced {
            if *other == tag {
                pace.taken();
            }
        }
    }

    /// A command is complete.
    fn complete(&mut self, tag: u64) {
        if let Some(at) = self.tasks.iter().position(|(other, _)| *other == tag) {
            self.tasks.swap_remove(at);
        }
        // Others may have the same tag: those stay that somebody still asks.
        self.paced.retain(|(_, pace)| Arc::strong_count(pace) > 1);
    }

    fn cancel(&mut self, tag: u64) -> bool {
        let found = self.tasks.iter().position(|(other, _)| *other == tag);
        found.is_some_and(|at| {
            self.tasks[at].1.abort();
            true
        })
    }
}

impl Drop for Operations {
    fn drop(&mut self) {
        for (_, task) in &self.tasks {
            task.abort();
        }
        // One that is not among them, since another had its tag, learns that the process has ended.
        for (_, pace) in &self.paced {
            pace.taken();
        }
    }
}
