//! Wakers that are collected under a lock, and woken when it has been released.

use crate::sys::guarded;
use std::any::Any;
use std::fmt;
use std::mem::{self, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

/// The number of wakers in one batch. More are woken in several, with the lock released in between.
pub(super) const BATCH: usize = if cfg!(loom) { 1 } else { 32 };

/// Wakers to be woken once the lock is released, in the order in which they came.
///
/// A waker that panics (a foreign one may) does not keep the others from being woken: the panic
/// continues at [`finish`](WakeBatch::finish), when all have been woken.
pub(crate) struct WakeBatch {
    wakers: [MaybeUninit<Waker>; BATCH],
    /// The filled part is `start..end`.
    start: usize,
    end: usize,
    panic: Option<Box<dyn Any + Send>>,
}

impl WakeBatch {
    #[inline]
    pub(crate) fn new() -> Self {
        WakeBatch {
            wakers: [const { MaybeUninit::uninit() }; BATCH],
            start: 0,
            end: 0,
            panic: None,
        }
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.end == BATCH
    }

    /// Adds a waker, if there is one.
    ///
    /// # Panics
    /// If the batch is full.
    #[inline]
    pub(crate) fn push(&mut self, waker: Option<Waker>) {
        if let Some(waker) = waker {
            self.wakers[self.end].write(waker);
            self.end += 1;
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<Waker> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            return None;
        }
        let at = self.start;
        self.start += 1;
        // SAFETY: `start..end` is filled, and `at` has just left it.
        Some(unsafe { self.wakers[at].assume_init_read() })
    }

    /// Wakes all of them, which empties the batch. Must not be called with the lock held.
    pub(crate) fn wake_all(&mut self) {
        while self.start != self.end {
            let woken = catch_unwind(AssertUnwindSafe(|| {
                while let Some(waker) = self.pop() {
                    waker.wake();
                }
            }));
            match woken {
                Ok(()) => {}
                Err(panic) if self.panic.is_none() => self.panic = Some(panic),
                // Its drop may panic as well, and others are still to be woken.
                Err(panic) => drop(guarded(|| drop(panic))),
            }
        }
        self.start = 0;
        self.end = 0;
    }

    /// Wakes all of them, then continues the first panic of a waker. Must not be called with the lock
    /// held.
    #[inline]
    pub(crate) fn finish(mut self) {
        if self.end - self.start == 1 && self.panic.is_none() {
            // The usual case: no other waker is left that a panic could keep from being woken.
            if let Some(waker) = self.pop() {
                waker.wake();
            }
            return;
        }
        self.wake_all();
        if let Some(panic) = self.panic.take() {
            // On a thread that is unwinding already, a second panic would abort the process, whether it is
            // this one or one in the drop of its payload.
            if std::thread::panicking() {
                mem::forget(panic);
            } else {
                resume_unwind(panic);
            }
        }
    }
}

impl Drop for WakeBatch {
    #[inline]
    fn drop(&mut self) {
        if self.start != self.end {
            self.wake_all();
        }
        // Only on a thread that unwinds: see `finish`.
        mem::forget(self.panic.take());
    }
}

impl fmt::Debug for WakeBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WakeBatch")
            .field("len", &(self.end - self.start))
            .finish()
    }
}
