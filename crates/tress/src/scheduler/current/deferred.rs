//! The wake-ups of tasks that gave way: they wait until the driving thread has looked at its timers and I/O.

use crate::sys::guarded;
use std::cell::RefCell;
use std::task::Waker;

/// What is to be woken at the end of the round.
pub(super) struct Deferred(RefCell<Vec<Waker>>);

impl Deferred {
    pub(super) fn new() -> Deferred {
        Deferred(RefCell::new(Vec::new()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Adds a waker, unless it is the one that was added last.
    pub(super) fn push(&self, waker: &Waker) {
        let is_last = self
            .0
            .borrow()
            .last()
            .is_some_and(|last| last.will_wake(waker));
        if !is_last {
            // A foreign waker may do anything when it is cloned, also defer another one.
            let waker = waker.clone();
            self.0.borrow_mut().push(waker);
        }
    }

    /// Wakes all, the one that was added last first, as Tokio does. One that panics keeps no other from it.
    pub(super) fn wake_all(&self) {
        let pop = || self.0.borrow_mut().pop();
        while let Some(first) = pop() {
            guarded(|| {
                first.wake();
                while let Some(next) = pop() {
                    next.wake();
                }
            });
        }
    }
}
