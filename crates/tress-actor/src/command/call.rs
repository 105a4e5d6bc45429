//! A command from the side of its handler.

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

/// What a handler returns.
///
/// # Examples
/// ```
/// use tress_actor::Answer;
///
/// let done = Answer::now(42);
/// let failed = Answer::failed("no paper");
/// # let _ = (done, failed);
/// ```
#[derive(Debug)]
#[must_use]
pub enum Answer {
    /// The command is complete.
    Now(Result<Payload, CommandError>),
    /// The command will be completed through a [`Completer`], or by a future that was [spawned](Call::spawn).
    Later,
}

impl Answer {
    /// Completes the command with a value.
    pub fn now<T: Send + 'static>(value: T) -> Answer {
        Answer::Now(Ok(Payload::new(value)))
    }

    /// Completes the command with an error.
    pub fn failed(error: impl Into<crate::exit::ProcessError>) -> Answer {
        Answer::Now(Err(CommandError::failed(error)))
    }
}

/// A command that a process has yielded, as its handler sees it.
///
/// # Examples
/// ```
/// use tress_actor::{Answer, Call, Command, CommandId, Host};
///
/// struct Print(String);
///
/// impl Command for Print {
///     const ID: CommandId = CommandId::user(256);
/// }
///
/// fn print(call: Call<'_>, Print(text): Print) -> Answer {
///     let pid = call.pid();
///     call.spawn(async move {
///         println!("{pid}: {text}");
///         Ok(())
///     })
/// }
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").command(print).start().unwrap();
/// # let _ = host;
/// # }
/// ```
#[derive(Debug)]
pub struct Call<'a> {
    pub(crate) host: &'a Host,
    pub(crate) pid: Pid,
    pub(crate) tag: u64,
    pub(crate) operations: &'a mut Operations,
}

impl<'a> Call<'a> {
    /// Returns the host of the process.
    pub fn host(&self) -> &'a Host {
        self.host
    }

    /// Returns the PID of the process that has yielded the command.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns the tag that it was yielded with.
    pub fn tag(&self) -> u64 {
        self.tag
    }

    /// Returns a handle that completes the command later, from any thread.
    ///
    /// Only for handlers that answer [`Later`](Answer::Later): a completer that is dropped completes the
    /// command with [`CommandError::Abandoned`].
    pub fn completer(&self) -> Completer {
        Completer {
            host: self.host.clone(),
            pid: self.pid,
            tag: self.tag,
            done: false,
        }
    }

    /// Runs a future as a task of its own, and completes the command with its result.
    ///
    /// The task is aborted when the process ends. If it panics, the process ends with [`ExitReason::Panicked`].
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

    /// Runs a future that completes the command, as a task that ends with the process.
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

    /// Returns a brake for a command that reports several times, to be asked before each report.
    pub(crate) fn pace(&mut self) -> Arc<Pace> {
        let pace = Arc::new(Pace::default());
        self.operations.paced.push((self.tag, pace.clone()));
        pace
    }

    /// Takes back another command of the same process: aborts its future, if it was [spawned](Call::spawn).
    /// Returns whether it was.
    pub fn cancel(&mut self, tag: u64) -> bool {
        self.operations.cancel(tag)
    }
}

/// Completes a command of a process, from any thread and at any time.
///
/// Nothing happens if the process has ended meanwhile. If the completer is dropped unused, the command
/// completes with [`CommandError::Abandoned`].
///
/// # Examples
/// ```
/// use tress_actor::{Answer, Call, Command, CommandId, Host, Payload};
///
/// struct Work;
///
/// impl Command for Work {
///     const ID: CommandId = CommandId::user(256);
/// }
///
/// fn work(call: Call<'_>, _: Work) -> Answer {
///     let completer = call.completer();
///     std::thread::spawn(move || completer.complete(Ok(Payload::new("done"))));
///     Answer::Later
/// }
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").command(work).start().unwrap();
/// # let _ = host;
/// # }
/// ```
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

    /// Reports a value to the process, as a [`Completion`] with [`more`](Completion::more) set. Returns `false`
    /// if the process has ended.
    ///
    /// Reports do not count against the mailbox's capacity: a handler that can be faster than the process must
    /// limit itself.
    pub fn emit(&self, value: Payload) -> bool {
        self.tell(Ok(value), true)
    }

    /// Returns the PID of the process whose command it is.
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
    /// The brakes of those that report several times.
    paced: Vec<(u64, Arc<Pace>)>,
}

/// Holds a command back while the process has not taken its last report.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicBool);

impl Pace {
    /// Whether it may report now. If so, not again before the process has taken that report.
    pub(crate) fn begin(&self) -> bool {
        // Relaxed: the mailbox hands the report over.
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

    /// Notes that the process has taken a completion.
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

    /// Removes a command that is complete.
    fn complete(&mut self, tag: u64) {
        if let Some(at) = self.tasks.iter().position(|(other, _)| *other == tag) {
            self.tasks.swap_remove(at);
        }
        // Others may have the same tag, so those that are still in use stay.
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
        // One that is not among the tasks, because another had its tag, learns that the process has ended.
        for (_, pace) in &self.paced {
            pace.taken();
        }
    }
}
