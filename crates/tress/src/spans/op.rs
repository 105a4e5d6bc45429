//! Operations on resources that may have to wait.

use std::future::{Future, poll_fn};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::pin;
use tracing::span::Entered;
use tracing::{Span, trace, trace_span};

/// The spans of one operation, if a subscriber wants them.
pub(crate) struct Op(Option<Box<Spans>>);

// Dropped in this order.
pub(super) struct Spans {
    pub(super) op: Span,
    pub(super) poll: Span,
    pub(super) resource: Span,
}

/// All three have been entered, and are left in this order.
pub(crate) struct InOp<'a> {
    _poll: Entered<'a>,
    _op: Entered<'a>,
    _resource: Entered<'a>,
}

// A subscriber answers for its own state.
impl UnwindSafe for Op {}
impl RefUnwindSafe for Op {}

impl Op {
    pub(super) const fn none() -> Op {
        Op(None)
    }

    pub(super) fn new(spans: Spans) -> Op {
        match spans.op.is_disabled() {
            true => Op(None),
            false => Op(Some(Box::new(spans))),
        }
    }

    pub(super) fn spans(&self) -> Option<&Spans> {
        self.0.as_deref()
    }

    /// Starts another operation of the same resource.
    pub(super) fn restart(&mut self, start: impl FnOnce() -> (Span, Span)) {
        if let Some(spans) = self.0.as_deref_mut() {
            let _resource = spans.resource.enter();
            (spans.op, spans.poll) = start();
        }
    }

    /// Enters the operation for a poll of it.
    #[inline]
    pub(crate) fn enter(&self) -> Option<InOp<'_>> {
        let spans = self.0.as_deref()?;
        let resource = spans.resource.enter();
        let op = spans.op.enter();
        Some(InOp {
            _poll: spans.poll.enter(),
            _op: op,
            _resource: resource,
        })
    }

    /// Tells how a poll ended. The caller has entered the operation.
    #[inline]
    pub(crate) fn tell_poll(&self, name: &'static str, is_ready: bool) {
        if self.0.is_some() {
            tell_poll(name, is_ready);
        }
    }
}

fn tell_poll(name: &'static str, is_ready: bool) {
    trace!(target: "runtime::resource::poll_op", op_name = name, is_ready = is_ready);
}

/// Runs an operation on a resource, which begins when it is first polled.
pub(super) async fn run<F: Future>(
    resource: &Span,
    source: &'static str,
    poll_name: &'static str,
    inherits: bool,
    make: impl FnOnce() -> F,
) -> F::Output {
    if resource.is_disabled() {
        return make().await;
    }
    let (op, inner) = begin(resource, source, inherits, make);
    let mut inner = pin!(inner);
    poll_fn(|cx| {
        let _entered = op.enter();
        let polled = inner.as_mut().poll(cx);
        op.tell_poll(poll_name, polled.is_ready());
        polled
    })
    .await
}

fn begin<F>(
    resource: &Span,
    source: &'static str,
    inherits: bool,
    make: impl FnOnce() -> F,
) -> (Op, F) {
    let _resource = resource.enter();
    let op = trace_span!(
        target: "tokio::util::trace",
        "runtime.resource.async_op",
        source = source,
        inherits_child_attrs = inherits,
    );
    let (poll, inner) = op.in_scope(|| {
        let poll = trace_span!(target: "tokio::util::trace", "runtime.resource.async_op.poll");
        (poll, make())
    });
    let resource = resource.clone();
    (Op::new(Spans { op, poll, resource }), inner)
}
