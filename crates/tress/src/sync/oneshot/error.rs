//! Why a value could not be received.

use std::error::Error;
use std::fmt;

/// The sender was dropped without sending, or the receiver closed the channel first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecvError(pub(super) ());

/// Why [`try_recv`](super::Receiver::try_recv) returned nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing has been sent yet, and still may be.
    Empty,
    /// Nothing will come: the sender was dropped, the channel was closed, or the value has been
    /// received already.
    Closed,
}

const CLOSED: &str = "the oneshot channel is closed: no value was or will be sent on it";

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CLOSED)
    }
}

impl Error for RecvError {}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryRecvError::Empty => {
                "the oneshot channel is empty: await the receiver to wait for the value"
            }
            TryRecvError::Closed => CLOSED,
        })
    }
}

impl Error for TryRecvError {}
