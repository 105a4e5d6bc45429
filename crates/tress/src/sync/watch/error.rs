//! Errors of watch channels.

use crate::words;
use std::error::Error;
use std::fmt;

/// The error of [`Sender::send`](super::Sender::send), with the value: there is no receiver.
///
/// # Examples
/// ```
/// use tress::sync::watch;
///
/// let (tx, rx) = watch::channel(1);
/// drop(rx);
/// assert_eq!(tx.send(2).unwrap_err().0, 2);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// The error of waiting for a change: all senders have been dropped, and the value does not change
/// any more.
///
/// # Examples
/// ```
/// use tress::sync::watch;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = watch::channel(1);
/// drop(tx);
/// assert!(rx.changed().await.is_err());
/// assert_eq!(*rx.borrow(), 1);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct RecvError(pub(super) ());

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(words::WATCH_NO_RECEIVER)
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(words::WATCH_NO_SENDER)
    }
}

impl<T> Error for SendError<T> {}
impl Error for RecvError {}
