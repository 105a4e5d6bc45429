//! What the macros expand to. Not for use by hand: it changes without notice.

#![doc(hidden)]

use crate::runtime::context;
use crate::task::coop;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::Context;

pub use std::future::{Future, IntoFuture, poll_fn};
pub use std::task::Poll;

/// A number below `n`, from the generator of the runtime this thread drives.
pub fn thread_rng_n(n: u32) -> u32 {
    context::random_below(n)
}

/// The branch that an unbiased `select!` polls first.
#[inline]
pub fn random_start(branches: u32) -> u32 {
    if branches == 1 {
        0
    } else {
        context::random_below(branches)
    }
}

/// Pending, having asked to be polled again, if the task has used up its budget.
#[inline]
pub fn poll_budget_available(cx: &mut Context<'_>) -> Poll<()> {
    coop::poll_budget_available(cx)
}

pin_project! {
    /// A future and later its output.
    //
    // With a tag of its own, which `repr(C)` gives it: one folded into the future's bytes would be
    // read while references that a self-referential future keeps to them are alive.
    #[derive(Debug)]
    #[repr(C)]
    #[project = MaybeDoneProjection]
    #[project_replace = MaybeDoneReplaced]
    pub enum MaybeDone<F: Future> {
        Running { #[pin] future: F },
        Done { output: F::Output },
        Gone,
    }
}

/// Keeps the output of what `value` turns into.
pub fn maybe_done<T: IntoFuture>(value: T) -> MaybeDone<T::IntoFuture> {
    MaybeDone::Running {
        future: value.into_future(),
    }
}

impl<F: Future> MaybeDone<F> {
    /// Polls the future unless it has finished. True once it has.
    pub fn poll_done(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        let MaybeDoneProjection::Running { future } = self.as_mut().project() else {
            return true;
        };
        match future.poll(cx) {
            Poll::Ready(output) => {
                self.project_replace(MaybeDone::Done { output });
                true
            }
            Poll::Pending => false,
        }
    }

    /// The output, once and not before there is one.
    pub fn take(self: Pin<&mut Self>) -> Option<F::Output> {
        if !matches!(*self, MaybeDone::Done { .. }) {
            return None;
        }
        match self.project_replace(MaybeDone::Gone) {
            MaybeDoneReplaced::Done { output } => Some(output),
            _ => None,
        }
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> MaybeDone<F> {
    /// The output's error, if it is one.
    pub fn take_error(mut self: Pin<&mut Self>) -> Option<E> {
        match self.as_mut().project() {
            MaybeDoneProjection::Done { output: Err(_) } => self.take().and_then(Result::err),
            _ => None,
        }
    }

    /// The output's value, if it is one.
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        self.take().and_then(Result::ok)
    }
}
