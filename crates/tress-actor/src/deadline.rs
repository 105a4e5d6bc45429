//! Deadlines that may be too far away for the clock.

use std::future::Future;
use std::time::Duration;
use tress::time::Instant;

/// When to stop waiting; never, if the clock cannot reach it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) fn after(duration: Duration) -> Deadline {
        Deadline(Instant::now().checked_add(duration))
    }

    /// Waits for the future; `None` if the deadline passes first.
    pub(crate) async fn limit<F: Future>(self, future: F) -> Option<F::Output> {
        match self.0 {
            Some(until) => tress::time::timeout_at(until, future).await.ok(),
            None => Some(future.await),
        }
    }
}
