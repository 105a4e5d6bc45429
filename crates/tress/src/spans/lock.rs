//! Mutexes, read-write locks and semaphores, each with the counter of permits inside of it.

use super::op::{self, Op, Spans};
use super::task::What;
use crate::sys::guarded;
use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, RefUnwindSafe, UnwindSafe};
use std::panic::{catch_unwind, resume_unwind};
use tracing::{Span, trace, trace_span};

/// A lock, as a subscriber sees it.
pub(crate) struct Lock {
    // Dropped in this order.
    outer: Span,
    /// The counter of permits.
    inner: Span,
}

impl UnwindSafe for Lock {}
impl RefUnwindSafe for Lock {}

/// A number of permits that have become available.
#[derive(Default)]
pub(crate) struct Tally(usize);

impl Tally {
    pub(crate) fn add(&mut self, n: usize) {
        self.0 += n;
    }
}

fn counter(permits: usize) -> Span {
    let span = trace_span!(
        target: "tokio::sync::batch_semaphore",
        parent: None,
        "runtime.resource",
        concrete_type = "Semaphore",
        kind = "Sync",
        is_internal = true,
    );
    span.in_scope(|| {
        trace!(
            target: "runtime::resource::state_update",
            permits = permits,
            permits.op = "override",
        );
    });
    span
}

impl Lock {
    /// One that no subscriber sees.
    pub(crate) const fn unseen() -> Lock {
        Lock {
            outer: Span::none(),
            inner: Span::none(),
        }
    }

    #[track_caller]
    pub(crate) fn mutex() -> Lock {
        let at = Location::caller();
        let outer = trace_span!(
            target: "tokio::sync::mutex",
            parent: None,
            "runtime.resource",
            concrete_type = "Mutex",
            kind = "Sync",
            loc.file = at.file(),
            loc.line = at.line(),
            loc.col = at.column(),
        );
        let inner = outer.in_scope(|| {
            trace!(target: "runtime::resource::state_update", locked = false);
            counter(1)
        });
        Lock { outer, inner }
    }

    #[track_caller]
    pub(crate) fn rwlock(max_readers: u32) -> Lock {
        let at = Location::caller();
        let outer = trace_span!(
            target: "tokio::sync::rwlock",
            parent: None,
            "runtime.resource",
            concrete_type = "RwLock",
            kind = "Sync",
            loc.file = at.file(),
            loc.line = at.line(),
            loc.col = at.column(),
        );
        outer.in_scope(|| {
            trace!(target: "runtime::resource::state_update", max_readers = max_readers);
            trace!(target: "runtime::resource::state_update", write_locked = false);
            trace!(target: "runtime::resource::state_update", current_readers = 0);
        });
        let inner = outer.in_scope(|| counter(max_readers as usize));
        Lock { outer, inner }
    }

    #[track_caller]
    pub(crate) fn semaphore(permits: usize) -> Lock {
        let at = Location::caller();
        let outer = trace_span!(
            target: "tokio::sync::semaphore",
            parent: None,
            "runtime.resource",
            concrete_type = "Semaphore",
            kind = "Sync",
            loc.file = at.file(),
            loc.line = at.line(),
            loc.col = at.column(),
            inherits_child_attrs = true,
        );
        let inner = outer.in_scope(|| counter(permits));
        Lock { outer, inner }
    }

    /// Runs an operation on the lock.
    pub(crate) fn run<F: Future>(
        &self,
        source: &'static str,
        inherits: bool,
        make: impl FnOnce() -> F,
    ) -> impl Future<Output = F::Output> {
        op::run(&self.outer, source, "poll", inherits, make)
    }

    /// Begins to take permits.
    #[inline]
    pub(crate) fn acquire(&self, n: usize) -> Op {
        match self.inner.is_disabled() {
            true => Op::none(),
            false => self.begin(n),
        }
    }

    #[cold]
    fn begin(&self, n: usize) -> Op {
        let _resource = self.inner.enter();
        let op = trace_span!(
            target: "tokio::sync::batch_semaphore",
            "runtime.resource.async_op",
            source = "Acquire::new",
        );
        let poll = op.in_scope(|| {
            trace!(
                target: "runtime::resource::async_op::state_update",
                permits_requested = n,
                permits.op = "override",
            );
            trace!(
                target: "runtime::resource::async_op::state_update",
                permits_obtained = 0_usize,
                permits.op = "override",
            );
            trace_span!(target: "tokio::sync::batch_semaphore", "runtime.resource.async_op.poll")
        });
        let resource = self.inner.clone();
        Op::new(Spans { op, poll, resource })
    }

    /// Tells that permits have left the counter.
    pub(crate) fn left(&self, n: usize) {
        self.inner.in_scope(|| {
            trace!(
                target: "runtime::resource::state_update",
                permits = n,
                permits.op = "sub",
            );
        });
    }

    /// Tells that permits have come to the counter.
    #[inline]
    pub(crate) fn came(&self, n: usize) {
        if n > 0 && !self.inner.is_disabled() {
            guarded(|| {
                self.inner.in_scope(|| {
                    trace!(
                        target: "runtime::resource::state_update",
                        permits = n,
                        permits.op = "add",
                    );
                });
            });
        }
    }

    pub(crate) fn came_in_all(&self, tally: Tally) {
        self.came(tally.0);
    }

    /// Tells that a mutex was locked. The caller's guard unlocks it if that panics.
    pub(crate) fn locked(&self) {
        self.outer
            .in_scope(|| trace!(target: "runtime::resource::state_update", locked = true));
    }

    pub(crate) fn unlocked(&self) {
        self.release(|| trace!(target: "runtime::resource::state_update", locked = false));
    }

    /// Tells that a read-write lock has one more reader, whose guard unlocks it if that panics.
    pub(crate) fn read_locked(&self) {
        self.outer.in_scope(|| {
            trace!(
                target: "runtime::resource::state_update",
                current_readers = 1,
                current_readers.op = "add",
            );
        });
    }

    pub(crate) fn read_unlocked(&self) {
        self.release(|| {
            trace!(
                target: "runtime::resource::state_update",
                current_readers = 1,
                current_readers.op = "sub",
            );
        });
    }

    /// Tells that a read-write lock has a writer, whose guard unlocks it if that panics.
    pub(crate) fn write_locked(&self) {
        self.outer.in_scope(|| {
            trace!(
                target: "runtime::resource::state_update",
                write_locked = true,
                write_locked.op = "override",
            );
        });
    }

    pub(crate) fn write_unlocked(&self) {
        self.release(|| {
            trace!(
                target: "runtime::resource::state_update",
                write_locked = false,
                write_locked.op = "override",
            );
        });
    }

    /// Tells something from a destructor: a subscriber's panic ends here.
    fn release(&self, tell: impl FnOnce()) {
        if !self.outer.is_disabled() {
            guarded(|| self.outer.in_scope(tell));
        }
    }
}

const POLL: &str = "poll_acquire";

impl Op {
    /// Tells that the operation has got its permits, also those of a lock that is older than the subscriber. If a subscriber panics, `undo` gives them back.
    #[inline]
    pub(crate) fn obtained(&self, n: usize, tell_more: impl FnOnce(), undo: impl FnOnce()) {
        if What::may_be_told() {
            or_undo(undo, || {
                tell_more();
                let Some(spans) = self.spans() else { return };
                spans.op.in_scope(|| {
                    trace!(
                        target: "runtime::resource::async_op::state_update",
                        permits_obtained = n,
                        permits.op = "add",
                    );
                });
            });
        }
    }

    /// Tells that the operation has ended. If a subscriber panics, `undo` gives the permits back.
    #[inline]
    pub(crate) fn acquired(&self, undo: impl FnOnce()) {
        if self.spans().is_some() {
            or_undo(undo, || {
                // Once for the task's budget, once for the permits.
                self.tell_poll(POLL, true);
                self.tell_poll(POLL, true);
            });
        }
    }

    /// Tells that the operation has to wait.
    #[inline]
    pub(crate) fn waits(&self) {
        self.tell_poll(POLL, false);
    }
}

#[cold]
fn or_undo(undo: impl FnOnce(), tell: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(tell)) {
        undo();
        resume_unwind(payload);
    }
}
