use super::CommandId;
use crate::exit::ProcessError;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why a command came to nothing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CommandError {
    /// Nobody handles it.
    Unknown(CommandId),
    /// It was yielded with a payload that its handler does not take; what it takes.
    Payload(&'static str),
    /// Its handler failed.
    Failed(Arc<dyn Error + Send + Sync>),
    /// Its handler dropped it, or the process took it back.
    Abandoned,
}

impl CommandError {
    /// The error of a handler.
    pub fn failed(error: impl Into<ProcessError>) -> CommandError {
        CommandError::Failed(Arc::from(error.into()))
    }

    /// The handler's own error, if that is what it is, and of this type.
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
