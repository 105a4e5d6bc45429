//! Calls of code that is not this crate's: hooks, wakers, relays and the destructors of what users
//! send. Any of them may panic, and where a process ends or somebody else is served meanwhile there is
//! nobody whom the panic belongs to. The panic hook has told of it by then.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls it. `None` if it panicked.
#[inline]
pub(crate) fn contain<R>(call: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(call)).map_err(discard).ok()
}

/// Drops what somebody panicked with, though its destructor may panic as well.
#[cold]
pub(crate) fn discard(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        // It has shown what its kind does when it is dropped.
        std::mem::forget(again);
    }
}
