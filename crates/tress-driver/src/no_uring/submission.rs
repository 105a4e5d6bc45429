//! The future of an operation that is refused.

use super::op::Operation;
use super::unsupported;
use crate::driver::Driver;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Future of an operation, which is refused; created by [`Driver::submit`].
///
/// It resolves to the operation's [`Output`](Operation::Output): an error, with whatever was to be lent to the
/// kernel.
///
/// # Panics
/// Polling it after it has returned its result panics.
#[must_use = "dropping a submission cancels it"]
pub struct Submission<O: Operation>(Option<O>);

impl<O: Operation> Unpin for Submission<O> {}

impl<O: Operation> Submission<O> {
    /// Returns `false`: the operation was refused.
    pub fn is_under_way(&self) -> bool {
        false
    }

    /// Returns `None`: no driver has the operation.
    pub fn driver(&self) -> Option<&Arc<Driver>> {
        None
    }
}

impl<O: Operation> Future for Submission<O> {
    type Output = O::Output;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<O::Output> {
        let refused = self.0.take().expect("polled after it was complete");
        Poll::Ready(refused.refuse(unsupported()))
    }
}

impl<O: Operation> fmt::Debug for Submission<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "Submission(refused)",
            None => "Submission(over)",
        })
    }
}

impl Driver {
    /// Refuses an operation: the future resolves to an error of the kind
    /// [`Unsupported`](std::io::ErrorKind::Unsupported).
    pub fn submit<O: Operation>(self: &Arc<Self>, op: O) -> Submission<O> {
        Submission(Some(op))
    }

    /// Returns `false`: there is no ring.
    pub fn supports<O: Operation>(&self) -> bool {
        false
    }
}
