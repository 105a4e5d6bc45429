//! One operation between its future and the kernel.
//!
//! Who may touch the operation's own memory (its descriptor, buffers, and the structures that the kernel
//! reads and writes):
//!
//! | phase | who |
//! |---|---|
//! | not yet submitted | who submits it |
//! | under way | the kernel |
//! | complete, wanted | the future, which takes the operation out |
//! | complete, abandoned | whoever completed it |
//!
//! The cell is shared by the future and the table of what is under way; the table lets go of it only
//! after the kernel's last word. So the memory lives until then, whatever becomes of the future.

use crate::sys::atomic::{AtomicU32, Ordering};
use crate::sys::{Mutex, UnsafeCell};
use crate::wakers::Wakers;
use std::fmt;
use std::task::{Context, Poll, Waker};

pub(crate) struct OpCell<O> {
    phase: Mutex<Phase>,
    /// How often it was handed over again after the kernel had cancelled it.
    repeats: AtomicU32,
    /// What became of the result, as far as a look without the lock can tell: `PENDING`, `TOLD` or `UNWANTED`.
    end: AtomicU32,
    op: UnsafeCell<Option<O>>,
}

/// The kernel may not have answered yet.
const PENDING: u32 = 0;
/// It has, and the future was there to be told.
const TOLD: u32 = 1;
/// It has, and the future was not.
const UNWANTED: u32 = 2;

enum Phase {
    /// Under way, or about to be.
    Waiting(Option<Waker>),
    /// The kernel's last word, not fetched yet.
    Done(i32),
    /// Nobody waits for it. The kernel's last word, until it is undone.
    Abandoned(Option<i32>),
    /// The result was fetched.
    Taken,
}

// SAFETY: the operation is touched by one thread at a time (see the table above), so sharing the cell
// sends the operation back and forth.
unsafe impl<O: Send> Sync for OpCell<O> {}
// SAFETY: as above.
unsafe impl<O: Send> Send for OpCell<O> {}

/// What became of a result.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Told {
    /// Its future has it.
    Future,
    /// Nobody wants it: `take_unwanted` has it.
    Nobody,
}

/// What became of an operation whose future goes.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Abandoned {
    /// Under way: the caller asks the kernel to stop it.
    UnderWay,
    /// Complete, but the result was not fetched: the caller undoes what it may stand for.
    Done(i32),
    /// Complete, and the result was fetched.
    Taken,
}

impl<O> OpCell<O> {
    pub(crate) fn new(op: O) -> OpCell<O> {
        OpCell {
            phase: Mutex::new(Phase::Waiting(None)),
            repeats: AtomicU32::new(0),
            end: AtomicU32::new(PENDING),
            op: UnsafeCell::new(Some(op)),
        }
    }

    /// The operation of a cell that nobody shares.
    pub(crate) fn into_op(self) -> Option<O> {
        // SAFETY: the cell is ours alone.
        self.op.with_mut(|op| unsafe { (*op).take() })
    }

    /// # Safety
    /// The kernel does not have the operation, and by the table above nobody else may touch it.
    pub(crate) unsafe fn with_op<R>(&self, f: impl FnOnce(&mut O) -> R) -> Option<R> {
        // SAFETY: exclusive by the caller's promise.
        self.op.with_mut(|op| unsafe { (*op).as_mut() }.map(f))
    }

    /// Does anybody wait for it?
    pub(crate) fn is_wanted(&self) -> bool {
        matches!(*self.phase.lock(), Phase::Waiting(_))
    }

    /// Counts one more time, if it is no more than so many.
    pub(crate) fn repeat(&self, limit: u32) -> bool {
        // Only whoever takes results counts, one at a time.
        self.repeats.fetch_add(1, Ordering::Relaxed) < limit
    }

    /// The kernel's last word. Called once.
    pub(crate) fn complete(&self, result: i32, wakers: &mut Wakers) -> Told {
        let mut phase = self.phase.lock();
        match &mut *phase {
            Phase::Waiting(waker) => {
                wakers.push(waker.take());
                *phase = Phase::Done(result);
                self.end.store(TOLD, Ordering::Release);
                Told::Future
            }
            Phase::Abandoned(unwanted) => {
                *unwanted = Some(result);
                self.end.store(UNWANTED, Ordering::Release);
                Told::Nobody
            }
            Phase::Done(_) | Phase::Taken => unreachable!("an operation completes once"),
        }
    }

    /// A result that nobody wants, once: the caller undoes what it may stand for.
    pub(crate) fn take_unwanted(&self) -> Option<i32> {
        if self.end.load(Ordering::Acquire) != UNWANTED {
            return None;
        }
        match &mut *self.phase.lock() {
            Phase::Abandoned(unwanted) => unwanted.take(),
            _ => None,
        }
    }

    /// The result, with the operation, once there is one.
    ///
    /// # Panics
    /// If it was fetched already.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<(i32, O)> {
        // Cloned before the lock is taken, being foreign code; and not at all if there is nothing to wait for.
        let is_pending = self.end.load(Ordering::Acquire) == PENDING;
        let new = is_pending.then(|| cx.waker().clone());
        let mut phase = self.phase.lock();
        let result = match &mut *phase {
            Phase::Waiting(waker) => {
                let old = std::mem::replace(waker, new);
                drop(phase);
                drop(old);
                return Poll::Pending;
            }
            Phase::Done(result) => *result,
            Phase::Abandoned(_) | Phase::Taken => panic!("polled after it was complete"),
        };
        *phase = Phase::Taken;
        drop(phase);
        // SAFETY: complete, and only the future, which is our caller, finds the phase `Done`.
        let op = self.op.with_mut(|op| unsafe { (*op).take() });
        Poll::Ready((
            result,
            op.expect("the operation is there until it is taken"),
        ))
    }

    /// The future goes.
    pub(crate) fn abandon(&self) -> Abandoned {
        let mut phase = self.phase.lock();
        match std::mem::replace(&mut *phase, Phase::Abandoned(None)) {
            Phase::Waiting(waker) => {
                drop(phase);
                drop(waker);
                Abandoned::UnderWay
            }
            Phase::Done(result) => Abandoned::Done(result),
            Phase::Taken | Phase::Abandoned(_) => Abandoned::Taken,
        }
    }
}

impl<O> fmt::Debug for OpCell<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = match &*self.phase.lock() {
            Phase::Waiting(_) => "under way",
            Phase::Done(_) => "done",
            Phase::Abandoned(_) => "abandoned",
            Phase::Taken => "taken",
        };
        f.debug_struct("OpCell").field("phase", &phase).finish()
    }
}

#[cfg(all(test, loom))]
mod model;
