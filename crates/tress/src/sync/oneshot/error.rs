//! Errors of oneshot channels.

use crate::words;
use std::error::Error;
use std::fmt;

/// The error of awaiting a [`Receiver`](super::Receiver): no value will come.
///
/// The sender was dropped without sending, or the receiver closed the channel first.
///
/// # Examples
/// ```
/// use tress::sync::oneshot;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = oneshot::channel::<u32>();
/// drop(tx);
/// assert!(rx.await.unwrap_err().to_string().contains("closed"));
/// # });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecvError(pub(super) ());

/// The error of [`Receiver::try_recv`](super::Receiver::try_recv).
///
/// # Examples
/// ```
/// use tress::sync::oneshot::{self, error::TryRecvError};
///
/// let (tx, mut rx) = oneshot::channel::<u32>();
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
/// drop(tx);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TryRecvError {
    /// No value has been sent yet, but the sender still exists.
    Empty,
    /// No value will come: the sender was dropped, the channel was closed, or the value has been
    /// received already.
    Closed,
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(words::ONESHOT_CLOSED)
    }
}

impl Error for RecvError {}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryRecvError::Empty => words::ONESHOT_EMPTY,
            TryRecvError::Closed => words::ONESHOT_CLOSED,
        })
    }
}

impl Error for TryRecvError {}
