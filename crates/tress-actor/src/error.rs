//! Why a message was not sent, or a process or a host not started.

use crate::atom::AtomError;
use crate::command::DuplicateCommand;
use crate::event::Message;
use crate::exit::ProcessError;
use crate::pid::Pid;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The error of an operation on a process that does not exist: it has ended, or never was.
///
/// Operations that work only on processes of the same host also return it for a PID of another host.
///
/// # Examples
/// ```
/// use tress_actor::{Host, NoProcess, Pid};
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").start().unwrap();
/// let pid: Pid = "{local@main|0.1}".parse().unwrap();
/// assert_eq!(host.terminate(pid), Err(NoProcess(pid)));
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoProcess(pub Pid);

impl fmt::Display for NoProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "there is no process {}: it has ended, or never was; monitor it to hear of its end",
            self.0
        )
    }
}

impl Error for NoProcess {}

/// Why a message was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendFailure {
    /// There is no such process.
    NoProcess(Pid),
    /// The mailbox is full, and its [`Overflow`](crate::Overflow) refuses the message.
    Full(Pid),
    /// The topic is reserved for the system.
    Reserved(crate::topic::Topic),
    /// The process is on another host, and the [`Router`](crate::Router), if there is one, knows no way there.
    NoRoute(Pid),
}

impl fmt::Display for SendFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendFailure::NoProcess(pid) => NoProcess(*pid).fmt(f),
            SendFailure::Full(pid) => write!(
                f,
                "the mailbox of {pid} is full: send less, await the sending, or give it room"
            ),
            SendFailure::Reserved(topic) => write!(
                f,
                "the topic {topic} is the system's: topics for messages do not begin with @"
            ),
            SendFailure::NoRoute(pid) => write!(
                f,
                "there is no way to the host of {pid}: give this one a router that knows it"
            ),
        }
    }
}

/// A message that was not sent, and why.
///
/// # Examples
/// ```
/// use tress_actor::{Host, Pid, SendFailure};
///
/// # #[tress::main]
/// # async fn main() {
/// let host = Host::builder("main").start().unwrap();
/// let pid: Pid = "{local@main|0.1}".parse().unwrap();
/// let error = host.send(pid, 7_u8).unwrap_err();
/// assert_eq!(error.why(), SendFailure::NoProcess(pid));
/// assert_eq!(error.into_message().payload.downcast::<u8>().unwrap(), 7);
/// # }
/// ```
#[derive(Debug)]
pub struct SendError {
    why: SendFailure,
    message: Message,
}

impl SendError {
    pub(crate) fn new(why: SendFailure, message: Message) -> SendError {
        SendError { why, message }
    }

    /// Returns the reason.
    pub fn why(&self) -> SendFailure {
        self.why
    }

    /// Returns the message.
    pub fn into_message(self) -> Message {
        self.message
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl Error for SendError {}

/// Why a process was not started.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SpawnError {
    /// The host is [shutting down](crate::Host::shutdown).
    Stopping,
    /// The host has this many processes, its maximum.
    TooMany(usize),
    /// A [hook](crate::Lifecycle::on_start) has returned this error, or has panicked.
    Vetoed(Arc<dyn Error + Send + Sync>),
    /// Another process, which is named here, has the name.
    NameTaken(Arc<str>, Pid),
    /// The process that it was to be linked to or monitored by has ended.
    NoProcess(Pid),
}

impl SpawnError {
    pub(crate) fn vetoed(why: ProcessError) -> SpawnError {
        SpawnError::Vetoed(Arc::from(why))
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::Stopping => f.write_str("the host is shutting down and starts no process"),
            SpawnError::TooMany(limit) => write!(
                f,
                "the host may have {limit} processes and has them: end some, or raise \
                 `max_processes` in its builder"
            ),
            SpawnError::Vetoed(why) => write!(f, "a lifecycle hook refused the process: {why}"),
            SpawnError::NameTaken(name, pid) => write!(
                f,
                "{pid} is called {name:?} already: choose another name, or wait for its end"
            ),
            SpawnError::NoProcess(pid) => NoProcess(*pid).fmt(f),
        }
    }
}

impl Error for SpawnError {}

/// Why a host was not started.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum StartError {
    /// A command has two handlers.
    DuplicateCommand(DuplicateCommand),
    /// The name of the host or of its node cannot be an [`Atom`](crate::Atom).
    Name(AtomError),
    /// The router knows a host of that name on that node already.
    HostTaken(crate::atom::Atom),
    /// [`start`](crate::Builder::start) was called outside a runtime, and none was given to the builder.
    NoRuntime(tress::runtime::TryCurrentError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::DuplicateCommand(error) => error.fmt(f),
            StartError::Name(error) => error.fmt(f),
            StartError::HostTaken(name) => {
                write!(f, "the router knows a host {name:?}: choose another name")
            }
            StartError::NoRuntime(error) => error.fmt(f),
        }
    }
}

impl Error for StartError {}
