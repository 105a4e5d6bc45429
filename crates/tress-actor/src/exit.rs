//! How and why processes end.

use crate::contain::{contain, discard};
use crate::payload::Payload;
use crate::pid::Pid;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The error that a process fails with: any error type, or a text.
pub type ProcessError = Box<dyn Error + Send + Sync>;

/// Why a process has ended.
///
/// Links carry on [abnormal](ExitReason::is_abnormal) reasons only, and supervisors restart
/// [`OnFailure`](crate::Restart::OnFailure) children only after those.
///
/// # Examples
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
    /// It stopped because it was asked to, by a cancel or by its supervisor.
    Shutdown,
    /// It was [terminated](crate::Host::terminate).
    Terminated,
    /// Its future, or `init` or `step` of its [`Process`](crate::Process), has returned this error.
    Failed(Arc<dyn Error + Send + Sync>),
    /// It has panicked with this message.
    Panicked(Arc<str>),
    /// A process that it was linked to has ended abnormally.
    Linked(Arc<Linked>),
    /// There was no such process: it had ended before it was linked to or monitored, or never was.
    NoProcess,
    /// It is on another node, which cannot be reached any more. The process may or may not have ended.
    Unreachable,
    /// The runtime was shut down while it ran.
    RuntimeGone,
}

/// The process at the other end of a link, and why it has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Linked {
    /// The process.
    pub pid: Pid,
    /// Why it has ended, perhaps because of a link of its own.
    ///
    /// Of a long chain of links only the last few are kept, and the process that it began with.
    pub reason: ExitReason,
    /// Number of links that are kept in all.
    depth: u32,
}

/// Maximum number of links that a reason keeps: printing and dropping it recurses that deep.
const MAX_LINKS: u32 = 16;

impl ExitReason {
    /// Creates the reason of a process that has failed with `error`.
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

    /// Returns `true` unless the reason is [`Normal`](ExitReason::Normal) or
    /// [`Shutdown`](ExitReason::Shutdown).
    pub fn is_abnormal(&self) -> bool {
        !matches!(self, ExitReason::Normal | ExitReason::Shutdown)
    }

    /// Returns `true` if the process has panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self, ExitReason::Panicked(_))
    }
}

/// The link that a chain of links began with.
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

/// The end of a process, as an [`ExitFuture`](crate::ExitFuture) returns it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Exit {
    /// The process.
    pub pid: Pid,
    /// Why it has ended.
    pub reason: ExitReason,
    /// The value that it has returned; empty if it did not end normally.
    pub result: Payload,
}

impl Exit {
    /// Returns the result of a process that has ended normally.
    ///
    /// # Errors
    /// The reason, if it has ended otherwise.
    ///
    /// # Examples
    /// ```
    /// use tress_actor::{Cx, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let (_, exit) = host.future(|_: Cx<()>| async { Err::<(), _>("no paper") }).exec().unwrap();
    /// let reason = exit.await.into_result().unwrap_err();
    /// assert_eq!(reason.to_string(), "failed: no paper");
    /// # }
    /// ```
    pub fn into_result(self) -> Result<Payload, ExitReason> {
        match self.reason {
            ExitReason::Normal => Ok(self.result),
            reason => Err(reason),
        }
    }
}
