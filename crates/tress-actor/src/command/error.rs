//! Why a command has no result.

use super::CommandId;
use crate::exit::ProcessError;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why a command has no result.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CommandError {
    /// The host has no handler for it.
    Unknown(CommandId),
    /// It was yielded with a payload of another type than its handler takes, which is named here.
    Payload(&'static str),
    /// Its handler has failed with this error.
    Failed(Arc<dyn Error + Send + Sync>),
    /// Its handler has dropped the [`Completer`](super::Completer), or the process has [taken it
    /// back](super::builtin::TakeBack).
    Abandoned,
}

impl CommandError {
    /// Creates the error of a handler that has failed.
    pub fn failed(error: impl Into<ProcessError>) -> CommandError {
        CommandError::Failed(Arc::from(error.into()))
    }

    /// Returns the handler's own error, if it is of type `E`.
    ///
    /// # Examples
    /// ```
    /// use std::io;
    /// use tress_actor::CommandError;
    ///
    /// let error = CommandError::failed(io::Error::from(io::ErrorKind::NotFound));
    /// assert_eq!(error.downcast_ref::<io::Error>().unwrap().kind(), io::ErrorKind::NotFound);
    /// assert!(CommandError::Abandoned.downcast_ref::<io::Error>().is_none());
    /// ```
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            CommandError::Failed(error) => error.downcast_ref(),
            _ => None,
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::Unknown(id) => write!(
                f,
                "nobody handles {id}: register a handler with the host's builder"
            ),
            CommandError::Payload(wanted) => {
                write!(f, "the handler takes a {wanted}, yield that")
            }
            CommandError::Failed(error) => error.fmt(f),
            CommandError::Abandoned => f.write_str(
                "the command was dropped: by the process that took it back, or by a handler that \
                 did not keep its completer",
            ),
        }
    }
}

impl Error for CommandError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CommandError::Failed(error) => Some(&**error),
            _ => None,
        }
    }
}
