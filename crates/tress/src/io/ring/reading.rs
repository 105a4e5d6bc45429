//! Reads that may be dropped.

use super::held::Lent;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tress_driver::Submission;
use tress_driver::op::Operation;

/// A read. If it is dropped, bytes that it still receives are kept for the next read.
pub(crate) struct Reading<O: Operation> {
    lent: Arc<Lent>,
    submission: Submission<O>,
}

impl<O: Operation> Reading<O> {
    /// Wraps an operation that keeps bytes that no task waits for with `lent`.
    pub(super) fn new(lent: Arc<Lent>, submission: Submission<O>) -> Reading<O> {
        Reading { lent, submission }
    }
}

impl<O: Operation> Future for Reading<O> {
    type Output = O::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<O::Output> {
        Pin::new(&mut self.submission).poll(cx)
    }
}

impl<O: Operation> Drop for Reading<O> {
    fn drop(&mut self) {
        // This comes before the submission is dropped: no read of the source starts until the operation is
        // over.
        if let Some(driver) = self.submission.driver() {
            self.lent.leftover().expect(driver);
        }
    }
}
