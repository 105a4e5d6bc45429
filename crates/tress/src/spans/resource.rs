//! Barriers, oneshot channels and timers.

use super::op::{self, Op, Spans};
use crate::sys::guarded;
use std::future::Future;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::time::Duration;
use tracing::span::Entered;
use tracing::{Span, trace, trace_span};

/// A resource, as a subscriber sees it.
#[derive(Clone)]
pub(crate) struct Resource(Span);

impl UnwindSafe for Resource {}
impl RefUnwindSafe for Resource {}

/// What has happened to a oneshot channel.
#[derive(Clone, Copy)]
pub(crate) enum Oneshot {
    SenderDropped,
    ReceiverDropped,
    Sent,
    Received,
}

impl Resource {
    #[track_caller]
    pub(crate) fn barrier(n: usize) -> Resource {
        let at = Location::caller();
        let span = trace_span!(
            target: "tokio::sync::barrier",
            parent: None,
            "runtime.resource",
            concrete_type = "Barrier",
            kind = "Sync",
            loc.file = at.file(),
            loc.line = at.line(),
            loc.col = at.column(),
        );
        span.in_scope(|| {
            trace!(target: "runtime::resource::state_update", size = n);
            trace!(target: "runtime::resource::state_update", arrived = 0);
        });
        Resource(span)
    }

    #[track_caller]
    pub(crate) fn interval() -> Resource {
        let at = Location::caller();
        Resource(trace_span!(
            target: "tokio::time::interval",
            parent: None,
            "runtime.resource",
            concrete_type = "Interval",
            kind = "timer",
            loc.file = at.file(),
            loc.line = at.line(),
            loc.col = at.column(),
        ))
    }

    /// Makes that of a oneshot channel, and the operation that its receiver is.
    #[track_caller]
    pub(crate) fn oneshot() -> (Resource, Op) {
        let at = Location::caller();
        let span = trace_span!(
            target: "tokio::sync::oneshot",
            parent: None,
            "runtime.resource",
            concrete_type = "Sender|Receiver",
            kind = "Sync",
            loc.file = at.file(),
            loc.line = at.line(),
            loc.col = at.column(),
        );
        let resource = Resource(span);
        if resource.0.is_disabled() {
            return (resource, Op::none());
        }
        resource.tell_oneshot(Oneshot::SenderDropped, false);
        resource.tell_oneshot(Oneshot::ReceiverDropped, false);
        resource.tell_oneshot(Oneshot::Sent, false);
        resource.tell_oneshot(Oneshot::Received, false);
        let op = resource.0.in_scope(|| {
            trace_span!(
                target: "tokio::sync::oneshot",
                "runtime.resource.async_op",
                source = "Receiver::await",
            )
        });
        let poll = op.in_scope(
            || trace_span!(target: "tokio::sync::oneshot", "runtime.resource.async_op.poll"),
        );
        let spans = Spans {
            op,
            poll,
            // The receiver enters its resource by itself, and drops it first.
            resource: Span::none(),
        };
        (resource, Op::new(spans))
    }

    #[inline]
    pub(crate) fn enter(&self) -> Entered<'_> {
        self.0.enter()
    }

    /// Takes the resource out, which is closed once the result is dropped.
    pub(crate) fn take(&mut self) -> Resource {
        std::mem::replace(self, Resource(Span::none()))
    }

    /// Runs an operation on the resource.
    pub(crate) fn run<F: Future>(
        &self,
        source: &'static str,
        poll_name: &'static str,
        make: impl FnOnce() -> F,
    ) -> impl Future<Output = F::Output> {
        op::run(&self.0, source, poll_name, false, make)
    }

    /// Tells what has happened to a oneshot channel. A subscriber's panic ends here: destructors come here.
    #[inline]
    pub(crate) fn happened(&self, what: Oneshot) {
        if !self.0.is_disabled() {
            guarded(|| self.tell_oneshot(what, true));
        }
    }

    #[cold]
    fn tell_oneshot(&self, what: Oneshot, is: bool) {
        self.0.in_scope(|| match what {
            Oneshot::SenderDropped => trace!(
                target: "runtime::resource::state_update",
                tx_dropped = is,
                tx_dropped.op = "override",
            ),
            Oneshot::ReceiverDropped => trace!(
                target: "runtime::resource::state_update",
                rx_dropped = is,
                rx_dropped.op = "override",
            ),
            Oneshot::Sent => trace!(
                target: "runtime::resource::state_update",
                value_sent = is,
                value_sent.op = "override",
            ),
            Oneshot::Received => trace!(
                target: "runtime::resource::state_update",
                value_received = is,
                value_received.op = "override",
            ),
        });
    }

    /// Tells that a task has come to a barrier. The caller is in its operation.
    #[inline]
    pub(crate) fn arrived(&self, is_leader: bool) {
        if self.0.is_disabled() {
            return;
        }
        trace!(
            target: "runtime::resource::state_update",
            arrived = 1,
            arrived.op = "add",
        );
        trace!(target: "runtime::resource::async_op::state_update", arrived = true);
        if is_leader {
            trace!(target: "runtime::resource::async_op::state_update", is_leader = true);
        }
    }
}

/// Tells how long a timer has to wait.
fn tell_duration(left: Duration) {
    let ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    trace!(
        target: "runtime::resource::state_update",
        duration = ms,
        duration.unit = "ms",
        duration.op = "override",
    );
}

impl Op {
    /// Makes the operation that a `Sleep` is.
    #[track_caller]
    #[inline]
    pub(crate) fn sleep() -> Op {
        match super::What::may_be_told() {
            true => Op::make_sleep(Location::caller()),
            false => Op::none(),
        }
    }

    #[cold]
    fn make_sleep(at: &'static Location<'static>) -> Op {
        let resource = trace_span!(
            target: "tokio::time::sleep",
            parent: None,
            "runtime.resource",
            concrete_type = "Sleep",
            kind = "timer",
            loc.file = at.file(),
            loc.line = at.line(),
            loc.col = at.column(),
        );
        let op = trace_span!(
            target: "tokio::time::sleep",
            parent: &resource,
            "runtime.resource.async_op",
            source = "Sleep::new_timeout",
        );
        let poll = trace_span!(
            target: "tokio::time::sleep",
            parent: &op,
            "runtime.resource.async_op.poll",
        );
        Op::new(Spans { op, poll, resource })
    }

    /// Tells that a `Sleep` is armed. The caller is in the operation.
    #[inline]
    pub(crate) fn armed(&self, left: impl FnOnce() -> Duration) {
        if self.spans().is_some() {
            tell_duration(left());
        }
    }

    /// Tells that a `Sleep` was given another deadline, by its user.
    #[inline]
    pub(crate) fn reset(&mut self, left: impl FnOnce() -> Duration) {
        self.restart(|| {
            let op = trace_span!(
                target: "tokio::time::sleep",
                "runtime.resource.async_op",
                source = "Sleep::reset",
            );
            let poll = op.in_scope(|| {
                let poll = trace_span!(
                    target: "tokio::time::sleep",
                    "runtime.resource.async_op.poll",
                );
                tell_duration(left());
                poll
            });
            (op, poll)
        });
    }
}
