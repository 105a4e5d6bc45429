//! Reads that may be dropped.

use super::held::Lent;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tress_driver::Submission;
use tress_driver::op::Operation;

/// A read. If it is dropped, what it receives all the same is kept for the next one.
pub(crate) struct Reading<O: Operation> {
    lent: Arc<Lent>,
    submission: Submission<O>,
}

impl<O: Operation> Reading<O> {
    /// The operation keeps what nobody waits for with `lent`.
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
        // Before the submission itself is dropped: nobody reads from the source until this is over.
        if let Some(driver) = self.submission.driver() {
            self.lent.leftover().expect(driver);
        }
    }
}
