//! Helpers that the models of the primitives share.

use crate::sys::UnsafeCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Explores all orders of `f`'s threads with at most `preemptions` preemptions, unless the environment
/// says otherwise.
pub(crate) fn explore(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound.get_or_insert(preemptions);
    model.max_branches = 20_000;
    model.check(f);
}

/// Polls once, with a waker that does nothing.
pub(crate) fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Data that loom guards: two threads in it at once, of which one writes, fail the model.
pub(crate) struct Watched(UnsafeCell<u32>);

// SAFETY: loom reports accesses that conflict.
unsafe impl Send for Watched {}
// SAFETY: as above.
unsafe impl Sync for Watched {}

impl Watched {
    pub(crate) fn new() -> Self {
        Watched(UnsafeCell::new(0))
    }

    pub(crate) fn add_one(&self) {
        // SAFETY: loom reports accesses that conflict.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }

    pub(crate) fn get(&self) -> u32 {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }
}
