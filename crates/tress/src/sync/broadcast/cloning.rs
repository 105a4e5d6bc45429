//! The messages that this thread is cloning.
//!
//! A message is cloned with its place locked. A `Clone` that uses the channel may come upon that
//! very place, and would wait for itself. A thread therefore checks here before it waits.

use std::cell::Cell;
use std::ptr;

thread_local! {
    /// The innermost one.
    static CLONING: Cell<*const Cloning> = const { Cell::new(ptr::null()) };
}

/// A place that is being cloned from, on the stack of the thread that does so.
struct Cloning {
    place: *const (),
    outer: *const Cloning,
}

impl Drop for Cloning {
    #[inline(always)]
    fn drop(&mut self) {
        CLONING.set(self.outer);
    }
}

/// Calls `clone`, which clones the message at `place`.
#[inline(always)]
pub(super) fn while_cloning<R>(place: *const (), clone: impl FnOnce() -> R) -> R {
    // Models run all their threads on one thread of the system.
    if cfg!(loom) {
        return clone();
    }
    let cloning = Cloning {
        place,
        outer: CLONING.get(),
    };
    CLONING.set(&raw const cloning);
    clone()
}

/// Returns `true` if this thread is cloning the message at `place`.
#[cold]
pub(super) fn is_cloning(place: *const ()) -> bool {
    let mut next = CLONING.get();
    // SAFETY: an entry of the list is on the stack of this thread. It leaves the list in its drop, and is
    // neither moved nor forgotten.
    while let Some(cloning) = unsafe { next.as_ref() } {
        if ptr::eq(cloning.place, place) {
            return true;
        }
        next = cloning.outer;
    }
    false
}

/// Checks that waiting for the message at `place` can end.
///
/// # Panics
/// Panics if this thread is cloning that message.
pub(super) fn check_before_waiting(place: *const ()) {
    assert!(
        !is_cloning(place),
        "the `Clone` of a broadcast message uses the place in the channel that it is cloned from: let it \
         not use the channel, or send an `Arc` of the message"
    );
}
