//! One operation between its future and the kernel.
//!
//! The phase says which side may touch the operation's own memory (its descriptor, its buffers, and the
//! structures that the kernel reads and writes):
//!
//! | phase | side |
//! |---|---|
//! | not yet submitted | the submitting thread |
//! | under way | the kernel |
//! | complete, wanted | the future, which takes the operation out |
//! | complete, abandoned | the thread that completed it |
//!
//! The cell is shared by the future and the table of operations under way; the table lets go of it only after
//! the kernel's last result. So the memory lives until then, whatever happens to the future.

use crate::sys::UnsafeCell;
use crate::sys::atomic::{AtomicU32, Ordering};
use crate::wakers::Wakers;
use std::fmt;
use std::task::{Context, Poll, Waker};

pub(crate) struct OpCell<O> {
    phase: AtomicU32,
    /// The kernel's last result. Written before the phase says that it is there.
    result: AtomicU32,
    /// Number of times that it was handed over again after the kernel had cancelled it.
    repeats: AtomicU32,
    /// The waker of the future. Belongs to the future in the phase `UNHEARD`; the side that leaves the phase
    /// `AWAITED` takes it.
    waker: UnsafeCell<Option<Waker>>,
    op: UnsafeCell<Option<O>>,
}

/// Under way, or about to be; the future has left no waker.
const UNHEARD: u32 = 0;
/// Under way, or about to be; the future has left a waker.
const AWAITED: u32 = 1;
/// The last result has arrived, and was not fetched yet.
const DONE: u32 = 2;
/// The result was fetched, or undone.
const TAKEN: u32 = 3;
/// The future is gone, and the operation is under way.
const ABANDONED: u32 = 4;
/// The future is gone, and the last result is to be undone.
const UNWANTED: u32 = 5;

// SAFETY: the operation is touched by one thread at a time (see the table above), so sharing the cell
// sends the operation back and forth.
unsafe impl<O: Send> Sync for OpCell<O> {}
// SAFETY: as above.
unsafe impl<O: Send> Send for OpCell<O> {}

/// Which side gets a result.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Told {
    /// The future.
    Future,
    /// Neither: `take_unwanted` returns it.
    Nobody,
}

/// The state of an operation whose future is dropped.
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
            phase: AtomicU32::new(UNHEARD),
            result: AtomicU32::new(0),
            repeats: AtomicU32::new(0),
            waker: UnsafeCell::new(None),
            op: UnsafeCell::new(Some(op)),
        }
    }

    /// Puts another operation into a cell that is not shared.
    pub(crate) fn renew(&mut self, op: O) {
        *self = OpCell::new(op);
    }

    /// Takes the operation out of a cell that is not shared.
    pub(crate) fn into_op(self) -> Option<O> {
        // SAFETY: the cell is ours alone.
        self.op.with_mut(|op| unsafe { (*op).take() })
    }

    /// # Safety
    /// The kernel does not have the operation, and by the table above no other side may touch it.
    pub(crate) unsafe fn with_op<R>(&self, f: impl FnOnce(&mut O) -> R) -> Option<R> {
        // SAFETY: exclusive by the caller's promise.
        self.op.with_mut(|op| unsafe { (*op).as_mut() }.map(f))
    }

    /// Whether the future still exists.
    pub(crate) fn is_wanted(&self) -> bool {
        matches!(self.phase.load(Ordering::Acquire), UNHEARD | AWAITED)
    }

    /// Counts a repetition. Returns `false` once there were `limit` of them.
    pub(crate) fn repeat(&self, limit: u32) -> bool {
        // Only the thread that takes results counts, one at a time.
        self.repeats.fetch_add(1, Ordering::Relaxed) < limit
    }

    /// Stores the kernel's last result. Called once.
    pub(crate) fn complete(&self, result: i32, wakers: &mut Wakers) -> Told {
        self.result.store(result as u32, Ordering::Relaxed);
        // Acquires the waker, or the fact that the future is gone; releases the result and what the kernel has
        // written.
        match self.phase.swap(DONE, Ordering::AcqRel) {
            UNHEARD => Told::Future,
            AWAITED => {
                wakers.push(self.take_waker());
                Told::Future
            }
            ABANDONED => {
                // No other thread looks at the phase of an abandoned cell.
                self.phase.store(UNWANTED, Ordering::Release);
                Told::Nobody
            }
            _ => unreachable!("an operation completes once"),
        }
    }

    /// Changes the phase from `from` to `to`, or returns what it is instead.
    fn advance(&self, from: u32, to: u32) -> Result<(), u32> {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let advanced = self.phase.compare_exchange(from, to, success, failure);
        advanced.map(|_| ())
    }

    /// Takes the waker. Only for the caller that has just left the phase `AWAITED`.
    fn take_waker(&self) -> Option<Waker> {
        // SAFETY: only our caller may touch it now, until the future leaves the next one.
        self.waker.with_mut(|waker| unsafe { (*waker).take() })
    }

    /// Returns a result that the future did not fetch, once: the caller undoes what it stands for.
    pub(crate) fn take_unwanted(&self) -> Option<i32> {
        if self.phase.load(Ordering::Acquire) != UNWANTED {
            return None;
        }
        let taken = self.phase.swap(TAKEN, Ordering::AcqRel) == UNWANTED;
        taken.then(|| self.result())
    }

    fn result(&self) -> i32 {
        self.result.load(Ordering::Relaxed) as i32
    }

    /// Returns the result and the operation, once it has arrived.
    ///
    /// # Panics
    /// If it was fetched already.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<(i32, O)> {
        let mut phase = self.phase.load(Ordering::Acquire);
        let mut old = None;
        if phase == AWAITED {
            match self.advance(AWAITED, UNHEARD) {
                Ok(()) => {
                    old = self.take_waker();
                    phase = UNHEARD;
                }
                Err(changed) => phase = changed,
            }
        }
        if phase == UNHEARD {
            let new = match old {
                Some(old) if old.will_wake(cx.waker()) => old,
                _ => cx.waker().clone(),
            };
            // SAFETY: in this phase the waker is the future's, which is our caller.
            self.waker.with_mut(|waker| unsafe { *waker = Some(new) });
            match self.advance(UNHEARD, AWAITED) {
                Ok(()) => return Poll::Pending,
                Err(changed) => phase = changed,
            }
            // The completing thread found no waker.
            drop(self.take_waker());
        }
        assert_eq!(phase, DONE, "polled after it was complete");
        // Only the future, which is our caller, changes it from `DONE`.
        self.phase.store(TAKEN, Ordering::Relaxed);
        // SAFETY: complete, and only the future finds the phase `DONE`.
        let op = self.op.with_mut(|op| unsafe { (*op).take() });
        Poll::Ready((
            self.result(),
            op.expect("the operation is there until it is taken"),
        ))
    }

    /// Gives up the future's half.
    pub(crate) fn abandon(&self) -> Abandoned {
        match self.phase.load(Ordering::Acquire) {
            phase @ (UNHEARD | AWAITED) => {
                if self.advance(phase, ABANDONED).is_err() {
                    // It has completed since the look: no other thread changes those two phases.
                    return Abandoned::Done(self.result());
                }
                if phase == AWAITED {
                    drop(self.take_waker());
                }
                Abandoned::UnderWay
            }
            DONE => Abandoned::Done(self.result()),
            _ => Abandoned::Taken,
        }
    }
}

impl<O> fmt::Debug for OpCell<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = match self.phase.load(Ordering::Relaxed) {
            UNHEARD | AWAITED => "under way",
            DONE => "done",
            ABANDONED | UNWANTED => "abandoned",
            _ => "taken",
        };
        f.debug_struct("OpCell").field("phase", &phase).finish()
    }
}

#[cfg(all(test, loom))]
mod model;
