use crate::atom::AtomError;
use crate::command::DuplicateCommand;
use crate::event::Message;
use crate::exit::ProcessError;
use crate::pid::Pid;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// There is no such process: it has ended, or never was.
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
    /// Its mailbox is full.
    Full(Pid),
    /// The topic is the system's.
    Reserved(crate::topic::Topic),
    /// Nobody knows the way to its host.
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
#[derive(Debug)]
pub struct SendError {
    why: SendFailure,
    message: Message,
}

impl SendError {
    pub(crate) fn new(why: SendFailure, message: Message) -> SendError {
        SendError { why, message }
    }

    /// Why.
    pub fn why(&self) -> SendFailure {
        self.why
    }

    /// The message.
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
    /// The host is shutting down.
    Stopping,
    /// The host has as many processes as it may have.
    TooMany(usize),
    /// A [hook](crate::Lifecycle::on_start) did not want it.
    Vetoed(Arc<dyn Error + Send + Sync>),
    /// Another process has the name.
    NameTaken(Arc<str>, Pid),
    /// The process that it was to be linked to, or monitored by, has ended.
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
    /// Two handlers for one command.
    DuplicateCommand(DuplicateCommand),
    /// Its name, or its node's, cannot be one.
    Name(AtomError),
    /// The router knows a host of that name, on that node.
    HostTaken(crate::atom::Atom),
    /// This thread is in no runtime.
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
