//! Spans of tasks, closures on the blocking pool and futures in `block_on`; events of wakers.

use super::WakerOp;
use crate::sys::guarded;
use std::any::type_name;
use std::cell::UnsafeCell;
use std::future::Future;
use std::panic::Location;
use tracing::instrument::Instrument;
use tracing::level_filters::LevelFilter;
use tracing::span::Entered;
use tracing::{Id, Span, trace, trace_span};

/// What a span says of the code that becomes a task.
#[derive(Clone, Copy)]
pub(crate) struct What {
    kind: Kind,
    size: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    Future(&'static str),
    /// A closure, by the name of its type.
    Closure(&'static str),
}

impl What {
    /// A future that is spawned on a runtime.
    pub(crate) fn task<F>() -> What {
        What::future::<F>("task")
    }

    /// A future that is spawned into a `LocalSet`.
    pub(crate) fn local<F>() -> What {
        What::future::<F>("local")
    }

    /// A closure for the blocking pool.
    pub(crate) fn blocking<F>() -> What {
        What {
            kind: Kind::Closure(type_name::<F>()),
            size: size_of::<F>(),
        }
    }

    fn future<F>(kind: &'static str) -> What {
        What {
            kind: Kind::Future(kind),
            size: size_of::<F>(),
        }
    }

    /// Returns whether a subscriber might want spans at all.
    #[inline]
    pub(crate) fn may_be_told() -> bool {
        LevelFilter::current() >= LevelFilter::TRACE
    }

    /// Makes the span, if a subscriber wants it. The caller holds no lock.
    #[inline]
    pub(crate) fn span(
        self,
        id: u64,
        name: Option<&str>,
        at: &'static Location<'static>,
    ) -> Option<TaskSpan> {
        What::may_be_told()
            .then(|| TaskSpan::new(self.make(id, name, at)))
            .flatten()
    }

    #[cold]
    fn make(self, id: u64, name: Option<&str>, at: &'static Location<'static>) -> Span {
        // What was boxed before it was spawned has an original size. Futures are not boxed here.
        let original_size = None::<usize>;
        let name = name.unwrap_or_default();
        match self.kind {
            Kind::Future(kind) => trace_span!(
                target: "tokio::task",
                parent: None,
                "runtime.spawn",
                %kind,
                task.name = %name,
                task.id = id,
                original_size.bytes = original_size,
                size.bytes = self.size,
                loc.file = at.file(),
                loc.line = at.line(),
                loc.col = at.column(),
            ),
            Kind::Closure(function) => trace_span!(
                target: "tokio::task::blocking",
                "runtime.spawn",
                kind = %"blocking",
                task.name = %name,
                task.id = id,
                "fn" = %function,
                original_size.bytes = original_size,
                size.bytes = self.size,
                loc.file = at.file(),
                loc.line = at.line(),
                loc.col = at.column(),
            ),
        }
    }
}

/// The span of a task. It is closed when the task's future has been dropped; events of its wakers name it also
/// after that.
pub(crate) struct TaskSpan {
    id: Id,
    /// Of the thread that runs the task, as its future is.
    open: UnsafeCell<Option<Span>>,
}

impl TaskSpan {
    fn new(span: Span) -> Option<TaskSpan> {
        Some(TaskSpan {
            id: span.id()?,
            open: UnsafeCell::new(Some(span)),
        })
    }

    /// Enters the span until the result is dropped.
    ///
    /// # Safety
    /// The caller runs the task, and does not close the span before the result is dropped.
    pub(crate) unsafe fn enter(&self) -> Option<Entered<'_>> {
        // SAFETY: by the caller's promise nobody changes it meanwhile.
        unsafe { &*self.open.get() }.as_ref().map(Span::enter)
    }

    /// Enters the span for code that has to run, whatever the subscriber does.
    ///
    /// # Safety
    /// As for [`enter`](TaskSpan::enter).
    pub(crate) unsafe fn enter_guarded(&self) -> Option<Entered<'_>> {
        // SAFETY: by the caller's promise.
        guarded(|| unsafe { self.enter() }).flatten()
    }

    /// Closes the span.
    ///
    /// # Safety
    /// The caller runs the task, and has not entered the span.
    pub(crate) unsafe fn close(&self) {
        // SAFETY: by the caller's promise nobody else uses it.
        let span = unsafe { &mut *self.open.get() }.take();
        guarded(|| drop(span));
    }

    /// Tells what is done with a waker of the task. A subscriber that panics does not keep the waker from it.
    #[cold]
    pub(crate) fn tell(&self, op: WakerOp) {
        let op = match op {
            WakerOp::Clone => "waker.clone",
            WakerOp::Drop => "waker.drop",
            WakerOp::Wake => "waker.wake",
            WakerOp::WakeByRef => "waker.wake_by_ref",
        };
        let id = self.id.into_u64();
        guarded(|| trace!(target: "tokio::task::waker", op = op, task.id = id));
    }
}

/// Runs a future of `block_on` in a span of its own.
#[inline]
pub(crate) fn in_block_on<F: Future>(
    future: F,
    id: impl FnOnce() -> u64,
    at: &'static Location<'static>,
) -> impl Future<Output = F::Output> {
    let span = match What::may_be_told() {
        true => What::future::<F>("block_on").make(id(), None, at),
        false => Span::none(),
    };
    future.instrument(span)
}
