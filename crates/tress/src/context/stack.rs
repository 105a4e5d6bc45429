//! What code other than the coroutine itself must know of the stack that a thread runs on.

#![cfg_attr(
    not(all(feature = "coroutine", unix, not(loom))),
    allow(dead_code, reason = "nothing has a stack of its own then")
)]

use super::with;
use std::cell::Cell;
use std::ptr;

/// The part of a coroutine that code unaware of coroutines reads or writes.
#[repr(C)]
pub(crate) struct Stack {
    /// The innermost value that was put into a place of the thread for as long as a function on this stack runs; or
    /// null. A coroutine that suspends takes them out.
    pub(crate) frames: Cell<*const Frame>,
    /// Why the coroutine may not suspend.
    pub(crate) held: Cell<Held>,
    /// It has to unwind, and may no longer suspend.
    pub(crate) cancelled: Cell<bool>,
    /// The innermost guard of its thread when it last resumed: not the coroutine's to drop.
    pub(crate) base: Cell<u64>,
}

impl Stack {
    #[cfg(all(feature = "coroutine", unix, not(loom)))]
    pub(crate) const fn new() -> Stack {
        Stack {
            frames: Cell::new(ptr::null()),
            held: Cell::new(Held::No),
            cancelled: Cell::new(false),
            base: Cell::new(0),
        }
    }

    /// Keeps the coroutine from suspending until the result is dropped.
    #[inline(always)]
    pub(crate) fn hold(&self, why: Held) -> Hold<'_> {
        Hold {
            before: self.held.replace(why),
            stack: self,
        }
    }
}

/// Why a coroutine cannot suspend here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Held {
    No,
    /// It polls a future, which keeps things in the thread's context meanwhile.
    Polling,
    /// Its worker may have been handed over to another thread.
    InPlace,
    /// The thread's place of a task-local value is borrowed.
    Borrowing,
}

/// See [`Stack::hold`].
pub(crate) struct Hold<'a> {
    stack: &'a Stack,
    before: Held,
}

impl Drop for Hold<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.stack.held.set(self.before);
    }
}

/// Keeps the coroutine that runs on this thread, if one does, from suspending while `f` runs.
#[inline]
pub(crate) fn hold<R>(why: Held, f: impl FnOnce() -> R) -> R {
    in_use(|stack| {
        let _hold = stack.map(|stack| stack.hold(why));
        f()
    })
}

/// Calls `f` with the stack in use, if it is a coroutine's.
#[inline(always)]
pub(super) fn in_use<R>(f: impl FnOnce(Option<&Stack>) -> R) -> R {
    // SAFETY: set while that stack is the one in use, and `f` runs on it.
    f(unsafe { with(|cx| cx.stack.get()).as_ref() })
}

/// A value on a coroutine's stack that has been swapped with one of the thread's.
pub(crate) struct Frame {
    /// Swaps them again. Returns false if the thread's place is not available.
    swap: unsafe fn(*const Frame) -> bool,
    outer: Cell<*const Frame>,
    /// The value is in the thread's place.
    pub(crate) inside: Cell<bool>,
}

impl Frame {
    pub(crate) const fn new(swap: unsafe fn(*const Frame) -> bool) -> Frame {
        Frame {
            swap,
            outer: Cell::new(ptr::null()),
            inside: Cell::new(true),
        }
    }

    /// Runs `f` while the frame is in the list of the stack in use, if that is a coroutine's.
    ///
    /// # Safety
    /// Until this is over the frame stays where it is, and its `swap` may be called with `this`.
    #[inline]
    pub(crate) unsafe fn enter<R>(this: *const Frame, f: impl FnOnce() -> R) -> R {
        struct Leave<'a>(&'a Stack, *const Frame);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.frames.set(self.1);
            }
        }
        in_use(|stack| {
            let _leave = stack.map(|stack| {
                let outer = stack.frames.replace(this);
                // SAFETY: by the caller's promise.
                unsafe { (*this).outer.set(outer) };
                Leave(stack, outer)
            });
            f()
        })
    }
}

#[cfg(all(feature = "coroutine", unix, not(loom)))]
impl Stack {
    /// Takes the values of a coroutine that is about to suspend out of the thread's places, innermost first.
    #[cold]
    pub(crate) fn take_out(&self) {
        let swapped = self.swap_all(true);
        debug_assert!(swapped, "nothing borrows them: the coroutine would be held");
    }

    /// Puts the values of a coroutine that resumes back, outermost first. Returns false if a place was not available;
    /// the frames say which are not inside.
    #[cold]
    pub(crate) fn put_back(&self) -> bool {
        self.swap_all(false)
    }

    /// Swaps from the head of the list, and reverses it.
    fn swap_all(&self, out: bool) -> bool {
        let mut all = true;
        let mut turned = ptr::null();
        let mut next = self.frames.get();
        // SAFETY: each is on this stack, in a function that has not returned, and unlinks itself when it does.
        while let Some(frame) = unsafe { next.as_ref() } {
            if frame.inside.get() == out {
                // SAFETY: as above; `enter`'s caller allows it.
                let swapped = unsafe { (frame.swap)(next) };
                frame.inside.set(out ^ swapped);
                all &= swapped;
            }
            let outer = frame.outer.replace(turned);
            turned = next;
            next = outer;
        }
        self.frames.set(turned);
        all
    }
}
