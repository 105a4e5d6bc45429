//! Errors of broadcast channels.

use crate::words;
use std::error::Error;
use std::fmt;

/// The error of [`Sender::send`](super::Sender::send), with the message: there is no receiver.
///
/// # Examples
/// ```
/// use tress::sync::broadcast;
///
/// let (tx, rx) = broadcast::channel(4);
/// drop(rx);
/// assert_eq!(tx.send("lost").unwrap_err().0, "lost");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// The error of [`Receiver::recv`](super::Receiver::recv) and
/// [`Receiver::blocking_recv`](super::Receiver::blocking_recv).
///
/// # Examples
/// ```
/// use tress::sync::broadcast::{self, error::RecvError};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = broadcast::channel(1);
/// tx.send(1).unwrap();
/// tx.send(2).unwrap();
/// drop(tx);
/// assert_eq!(rx.recv().await, Err(RecvError::Lagged(1)));
/// assert_eq!(rx.recv().await, Ok(2));
/// assert_eq!(rx.recv().await, Err(RecvError::Closed));
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecvError {
    /// All senders have been dropped, and the receiver has received all messages.
    Closed,
    /// The receiver was too slow, and this number of messages were overwritten before it got to
    /// them.
    ///
    /// The next call returns the oldest message that is left.
    Lagged(u64),
}

/// The error of [`Receiver::try_recv`](super::Receiver::try_recv).
///
/// # Examples
/// ```
/// use tress::sync::broadcast::{self, error::TryRecvError};
///
/// let (tx, mut rx) = broadcast::channel::<u32>(1);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
/// drop(tx);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// There is no message at the moment.
    Empty,
    /// All senders have been dropped, and the receiver has received all messages.
    Closed,
    /// The receiver was too slow, and this number of messages were overwritten before it got to
    /// them.
    ///
    /// The next call returns the oldest message that is left.
    Lagged(u64),
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(words::BROADCAST_NO_RECEIVER)
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecvError::Closed => f.write_str(words::BROADCAST_CLOSED),
            RecvError::Lagged(missed) => words::lagged(f, *missed),
        }
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryRecvError::Empty => f.write_str(words::BROADCAST_EMPTY),
            TryRecvError::Closed => f.write_str(words::BROADCAST_CLOSED),
            TryRecvError::Lagged(missed) => words::lagged(f, *missed),
        }
    }
}

impl<T> Error for SendError<T> {}
impl Error for RecvError {}
impl Error for TryRecvError {}
