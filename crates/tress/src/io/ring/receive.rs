//! Receives that go on, into the pool of a driver.

use super::{Descriptor, Lent};
use crate::buffers::RingPool;
use crate::io::source::Source;
use crate::sight::{self, WaitKind};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use tress_driver::{Multishot, PoolBuffer, RecvMulti};

impl RingPool {
    /// Begins to receive. To be called by the thread that has the driver, or that will wake the one that
    /// has it.
    pub(crate) fn begin<T: Descriptor>(
        &self,
        source: &Source<T>,
        cx: &mut Context<'_>,
    ) -> (Receive, Next) {
        let receive = RecvMulti::new(source.lend(), &self.pool);
        let mut receive = Receive(self.driver.submit_multi(receive));
        let polled = receive.0.poll_next(cx);
        (receive, polled)
    }

    /// Goes on with a receive that has stopped. `None` if it belongs to another pool.
    pub(crate) fn resume(&self, receive: &mut Receive, cx: &mut Context<'_>) -> Option<Next> {
        Arc::ptr_eq(receive.0.driver(), &self.driver).then(|| receive.0.poll_next(cx))
    }
}

/// What was received next; `None` at the end.
pub(crate) type Next = Poll<Option<io::Result<PoolBuffer>>>;

/// A receive that goes on until it is stopped.
#[derive(Debug)]
pub(crate) struct Receive(Multishot<RecvMulti<Arc<Lent>>>);

impl Receive {
    /// Polls for the next buffer. `None` if the receive has to be begun again.
    ///
    /// The kernel wakes the thread that submitted a receive for everything that arrives. If that thread
    /// rests and has lent its driver, the receive is stopped, to be begun again elsewhere.
    // D-DRV-09
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Option<Next> {
        let polled = self.0.poll_started(cx);
        if matches!(polled, Some(Poll::Pending))
            && self.0.driver().is_lent()
            && self.0.poll_stop(cx).is_ready()
        {
            return self.0.poll_started(cx);
        }
        let resource = sight::address(self);
        match polled {
            Some(Poll::Pending) => sight::waits_longer(WaitKind::Read, resource, None),
            _ => sight::served(resource),
        }
        polled
    }

    /// Stops receiving, and returns what was received.
    pub(crate) async fn stop(&mut self) -> Vec<io::Result<PoolBuffer>> {
        self.0.stop().await;
        std::iter::from_fn(|| self.0.try_next()).collect()
    }
}
