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

    /// Wakes all, the one that was added last first, as Tokio does. One that panics keeps no other from it. What a
    /// foreign waker adds meanwhile waits for the next call: it may do so each time that it is woken.
    pub(super) fn wake_all(&self) {
        let mut all = self.0.take();
        while let Some(first) = all.pop() {
            guarded(|| {
                first.wake();
                while let Some(next) = all.pop() {
                    next.wake();
                }
            });
        }
        let mut present = self.0.borrow_mut();
        if present.is_empty() {
            // Its memory is used again.
            *present = all;
        }
    }
}
