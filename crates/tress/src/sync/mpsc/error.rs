//! Errors of sending and receiving. A message that could not be sent is in the error.

use crate::words;
use std::error::Error;
use std::fmt;

/// Error of sending: the receiver was dropped or has closed the channel. It contains the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// Error of [`try_send`](super::Sender::try_send). It contains the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// There is no free place, or other senders are in line for it.
    Full(T),
    /// The receiver was dropped or has closed the channel.
    Closed(T),
}

/// Error of [`send_timeout`](super::Sender::send_timeout). It contains the message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// No place became free in time.
    Timeout(T),
    /// The receiver was dropped or has closed the channel.
    Closed(T),
}

/// Error of [`try_recv`](super::Receiver::try_recv).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// There is no message at the moment.
    Empty,
    /// No message will come: the channel is closed, or all senders were dropped.
    Disconnected,
}

/// Error that no function returns: [`recv`](super::Receiver::recv) returns an `Option`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
#[deprecated = "no function returns it: `recv` returns an `Option`"]
pub struct RecvError(());

impl<T> TrySendError<T> {
    /// Returns the message.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc;
    ///
    /// let (tx, _rx) = mpsc::channel(1);
    /// tx.try_send(1).unwrap();
    /// assert_eq!(tx.try_send(2).unwrap_err().into_inner(), 2);
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            TrySendError::Full(message) | TrySendError::Closed(message) => message,
        }
    }
}

impl<T> SendTimeoutError<T> {
    /// Returns the message.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::sync::mpsc::error::SendTimeoutError;
    ///
    /// assert_eq!(SendTimeoutError::Timeout(2).into_inner(), 2);
    /// ```
    pub fn into_inner(self) -> T {
        match self {
            SendTimeoutError::Timeout(message) | SendTimeoutError::Closed(message) => message,
        }
    }
}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(error: SendError<T>) -> TrySendError<T> {
        TrySendError::Closed(error.0)
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            TrySendError::Full(_) => "Full(..)",
            TrySendError::Closed(_) => "Closed(..)",
        };
        words::variant(f, name)
    }
}

impl<T> fmt::Debug for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            SendTimeoutError::Timeout(_) => "Timeout(..)",
            SendTimeoutError::Closed(_) => "Closed(..)",
        };
        words::variant(f, name)
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(words::QUEUE_CLOSED)
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrySendError::Full(_) => words::QUEUE_FULL,
            TrySendError::Closed(_) => words::QUEUE_CLOSED,
        })
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SendTimeoutError::Timeout(_) => words::QUEUE_TIMEOUT,
            SendTimeoutError::Closed(_) => words::QUEUE_CLOSED,
        })
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryRecvError::Empty => words::QUEUE_EMPTY,
            TryRecvError::Disconnected => words::QUEUE_ENDED,
        })
    }
}

impl<T> Error for SendError<T> {}
impl<T> Error for TrySendError<T> {}
impl<T> Error for SendTimeoutError<T> {}
impl Error for TryRecvError {}

#[allow(deprecated)]
impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(words::QUEUE_CLOSED)
    }
}

#[allow(deprecated)]
impl Error for RecvError {}
