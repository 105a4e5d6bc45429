//! Calls of foreign code: hooks, wakers, relays and the destructors of users' values.
//!
//! Any of them may panic. Where a process ends, or where another one is served meanwhile, no caller could
//! handle the panic. The panic hook has reported it by then.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls it. Returns `None` if it panicked.
#[inline]
pub(crate) fn contain<R>(call: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(call)).map_err(discard).ok()
}

/// Drops the payload of a panic, whose destructor may panic as well.
#[cold]
pub(crate) fn discard(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        // Leaked: dropping it is likely to panic again.
        std::mem::forget(again);
    }
}
