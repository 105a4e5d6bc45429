//! Why a value could not be sent, or no new one will come.

use std::error::Error;
use std::fmt;

/// There is no receiver; the value comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// All senders are gone: the value will not change any more.
#[derive(Clone, Debug)]
pub struct RecvError(pub(super) ());

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the watch channel has no receiver: use `send_replace` to change the value all the same",
        )
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("all senders of the watch channel are gone: its value will not change any more")
    }
}

impl<T> Error for SendError<T> {}
impl Error for RecvError {}
