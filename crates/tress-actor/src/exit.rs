use crate::contain::{contain, discard};
use crate::payload::Payload;
use crate::pid::Pid;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// What a process fails with.
pub type ProcessError = Box<dyn Error + Send + Sync>;

/// Why a process ended.
///
/// ```
/// use tress_actor::ExitReason;
///
/// assert!(!ExitReason::Normal.is_abnormal());
/// assert!(ExitReason::failed("out of paper").is_abnormal());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum ExitReason {
    /// It was done.
    Normal,
    /// It stopped because it was told to: by a cancel, or by its supervisor.
    Shutdown,
    /// Somebody terminated it.
    Terminated,
    /// `init`, `step` or its future returned an error.
    Failed(Arc<dyn Error + Send + Sync>),
    /// It panicked; the message.
    Panicked(Arc<str>),
    /// A process that it was linked to ended abnormally.
    Linked(Arc<Linked>),
    /// There was no such process: it had ended before it was linked to or monitored.
    NoProcess,
    /// It is on another node, and the way there is gone: it may have ended or not.
    Unreachable,
    /// The runtime was shut down under it.
    RuntimeGone,
}

/// The other end of a link, and why it ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Linked {
    /// The process.
    pub pid: Pid,
    /// Why it ended: because of a link of its own, perhaps. Of a long row of links the last few are
    /// told, and the process that it began with.
    pub reason: ExitReason,
    /// How many links are told in all.
    depth: u32,
}

/// Most links that a reason tells: who prints it, compares it or drops it goes down that deep.
const MAX_LINKS: u32 = 16;

impl ExitReason {
    /// The reason of a process that failed.
    pub fn failed(error: impl Into<ProcessError>) -> ExitReason {
        ExitReason::Failed(Arc::from(error.into()))
    }

    pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> ExitReason {
        let message = match panic.downcast::<String>() {
            Ok(message) => Arc::from(*message),
            Err(panic) => {
                let message = match panic.downcast_ref::<&str>() {
                    Some(message) => *message,
                    None => "a panic without a message",
                };
                let message = Arc::from(message);
                discard(panic);
                message
            }
        };
        ExitReason::Panicked(message)
    }

    /// The reason of a process whose own code ran once more at its end, and may have panicked there.
    pub(crate) fn unless_panicked(self, closed: Result<(), Box<dyn Any + Send>>) -> ExitReason {
        match closed {
            Ok(()) => self,
            Err(panic) => {
                contain(|| drop(self));
                ExitReason::panicked(panic)
            }
        }
    }

    pub(crate) fn linked(pid: Pid, reason: ExitReason) -> ExitReason {
        let reason = match reason {
            ExitReason::Linked(linked) if linked.depth >= MAX_LINKS => {
                ExitReason::Linked(first(linked))
            }
            other => other,
        };
        let depth = match &reason {
            ExitReason::Linked(linked) => linked.depth + 1,
            _ => 1,
        };
        ExitReason::Linked(Arc::new(Linked { pid, reason, depth }))
    }

    /// Did it end otherwise than it was meant to? That is what links carry on.
    pub fn is_abnormal(&self) -> bool {
        !matches!(self, ExitReason::Normal | ExitReason::Shutdown)
    }

    /// Is it a panic?
    pub fn is_panic(&self) -> bool {
        matches!(self, ExitReason::Panicked(_))
    }
}

/// The link that a row of them began with.
fn first(mut linked: Arc<Linked>) -> Arc<Linked> {
    while let ExitReason::Linked(before) = &linked.reason {
        linked = before.clone();
    }
    linked
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExitReason::Normal => f.write_str("done"),
            ExitReason::Shutdown => f.write_str("told to stop"),
            ExitReason::Terminated => f.write_str("terminated"),
            ExitReason::Failed(error) => write!(f, "failed: {error}"),
            ExitReason::Panicked(message) => write!(f, "panicked: {message}"),
            ExitReason::Linked(linked) => {
                write!(f, "linked to {}, which {}", linked.pid, linked.reason)
            }
            ExitReason::NoProcess => f.write_str("no such process"),
            ExitReason::Unreachable => f.write_str("cannot be reached"),
            ExitReason::RuntimeGone => f.write_str("the runtime was shut down"),
        }
    }
}

impl fmt::Debug for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The end of a process, for whoever waited for it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Exit {
    /// The process.
    pub pid: Pid,
    /// Why it ended.
    pub reason: ExitReason,
    /// What it handed over when it was done; empty for a process that did not get that far.
    pub result: Payload,
}

impl Exit {
    /// The result of a process that was done.
    ///
    /// # Errors
    /// The reason, if it ended otherwise.
    pub fn into_result(self) -> Result<Payload, ExitReason> {
        match self.reason {
            ExitReason::Normal => Ok(self.result),
            reason => Err(reason),
        }
    }
}
