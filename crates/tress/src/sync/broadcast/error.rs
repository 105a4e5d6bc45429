//! Why a message could not be sent or received.

use std::error::Error;
use std::fmt;

/// There is no receiver; the message comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// Why [`recv`](super::Receiver::recv) returned no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecvError {
    /// All senders are gone, and this receiver has received everything.
    Closed,
    /// The receiver was too slow: so many messages were overwritten before it came for them. The next
    /// call returns the oldest one that is left.
    Lagged(u64),
}

/// Why [`try_recv`](super::Receiver::try_recv) returned no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// There is none at the moment.
    Empty,
    /// All senders are gone, and this receiver has received everything.
    Closed,
    /// The receiver was too slow: so many messages were overwritten before it came for them. The next
    /// call returns the oldest one that is left.
    Lagged(u64),
}

const CLOSED: &str = "the broadcast channel is closed: all its senders are gone";

fn lagged(f: &mut fmt::Formatter<'_>, missed: u64) -> fmt::Result {
    write!(
        f,
        "the receiver lagged behind and missed {missed} messages: receive faster, or give the \
         channel a larger capacity"
    )
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the broadcast channel has no receiver: call `subscribe` before sending")
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecvError::Closed => f.write_str(CLOSED),
            RecvError::Lagged(missed) => lagged(f, *missed),
        }
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryRecvError::Empty => {
                f.write_str("the broadcast channel is empty: use `recv` to wait for a message")
            }
            TryRecvError::Closed => f.write_str(CLOSED),
            TryRecvError::Lagged(missed) => lagged(f, *missed),
        }
    }
}

impl<T> Error for SendError<T> {}
impl Error for RecvError {}
impl Error for TryRecvError {}
