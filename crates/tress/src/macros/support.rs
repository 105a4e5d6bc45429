//! The items that the expansions of the macros use. They are not public API and change without notice.

#![doc(hidden)]

use crate::context;
use crate::task::coop;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::Context;

pub use std::future::{Future, IntoFuture, poll_fn};
pub use std::task::Poll;

/// Returns a random number below `n`, from the generator of the runtime that this thread drives.
pub fn thread_rng_n(n: u32) -> u32 {
    context::random_below(n)
}

/// Returns the branch that an unbiased `select!` polls first.
#[inline]
pub fn random_start(branches: u32) -> u32 {
    if branches == 1 {
        0
    } else {
        context::random_below(branches)
    }
}

/// Returns `Pending`, and wakes the task, if the task has used up its budget.
#[inline]
pub fn poll_budget_available(cx: &mut Context<'_>) -> Poll<()> {
    coop::poll_budget_available(cx)
}

pin_project! {
    /// A future, and later its output.
    //
    // `repr(C)` gives it a tag of its own: one in a niche of the future's bytes would be read while
    // references that a self-referential future keeps to these bytes are alive.
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

/// Wraps the future of `value`, to keep its output.
pub fn maybe_done<T: IntoFuture>(value: T) -> MaybeDone<T::IntoFuture> {
    MaybeDone::Running {
        future: value.into_future(),
    }
}

impl<F: Future> MaybeDone<F> {
    /// Polls the future unless it has completed. Returns whether it has.
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

    /// Takes the output, if there is one.
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
    /// Takes the output if it is an error.
    pub fn take_error(mut self: Pin<&mut Self>) -> Option<E> {
        match self.as_mut().project() {
            MaybeDoneProjection::Done { output: Err(_) } => self.take().and_then(Result::err),
            _ => None,
        }
    }

    /// Takes the output, and returns its value if it is one.
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        self.take().and_then(Result::ok)
    }
}
