//! The work that is pending in a scope, and its guards.
//!
//! # The rules
//! - Work starts and ends, and the scope closes, under the lock of the scope. No work starts after it is
//!   closed, so once it is closed and nothing is pending it stays so: the scope is *drained*.
//! - The thread that makes the second of these two true announces it, after releasing the lock: that is
//!   the last guard to be dropped after the closing, or the closing that finds nothing pending.
//! - A scope with pending work has a piece of work pending in its parent. It is taken under the lock of
//!   the scope before the first piece of work starts, and given back after the last has ended: locks are
//!   taken from child to parent only. A parent that is closed refuses, and then so does the child.
//! - A scope whose token is cancelled, by its parent or directly, refuses work as a closed one does.

use super::PendingWork;
use crate::sync::CancellationToken;
use crate::sync::cancellation::WaitForCancellationFuture;
use crate::sys::Mutex;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

pub(super) struct Scope {
    /// Cancelled to tell tasks to stop.
    token: CancellationToken,
    /// Cancelled once the scope is drained.
    drained: CancellationToken,
    /// The parent of this scope, and the piece of work that this scope is there.
    parent: Option<(Arc<Scope>, PendingWork)>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    closed: bool,
    pending: usize,
    /// The pieces of work, by the numbers that their guards have.
    work: Vec<Option<PendingWork>>,
    free: Vec<usize>,
    /// The piece of work that this scope is in its parent, while it has pending work itself.
    in_parent: Option<WorkGuard>,
}

impl State {
    fn is_drained(&self) -> bool {
        self.closed && self.pending == 0
    }

    fn insert(&mut self, work: PendingWork) -> usize {
        self.pending += 1;
        match self.free.pop() {
            Some(number) => {
                self.work[number] = Some(work);
                number
            }
            None => {
                self.work.push(Some(work));
                self.work.len() - 1
            }
        }
    }
}

impl Scope {
    pub(super) fn new(
        token: CancellationToken,
        parent: Option<(Arc<Scope>, PendingWork)>,
    ) -> Scope {
        Scope {
            token,
            drained: CancellationToken::new(),
            parent,
            state: Mutex::new(State::default()),
        }
    }

    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    pub(super) fn drained(&self) -> WaitForCancellationFuture<'_> {
        self.drained.cancelled()
    }

    pub(super) fn pending_count(&self) -> usize {
        self.state.lock().pending
    }

    pub(super) fn pending(&self) -> Vec<PendingWork> {
        self.state.lock().work.iter().flatten().cloned().collect()
    }

    /// Refuses work from now on, and tells tasks to stop.
    pub(super) fn close(&self) {
        let drained = {
            let mut state = self.state.lock();
            state.closed = true;
            state.is_drained()
        };
        // Wakers are foreign code, which must not run under the lock.
        self.token.cancel();
        if drained {
            self.drained.cancel();
        }
    }

    /// Adds a piece of work and returns its number, or `None` if it is refused.
    fn begin(&self, work: PendingWork) -> Option<usize> {
        let mut state = self.state.lock();
        if state.closed || self.token.is_cancelled() {
            return None;
        }
        if state.pending == 0 {
            if let Some((parent, this)) = &self.parent {
                state.in_parent = Some(WorkGuard::start(parent, this.clone())?);
            }
        }
        Some(state.insert(work))
    }

    fn end(&self, number: usize) {
        let (drained, in_parent, work) = {
            let mut state = self.state.lock();
            let work = state.work[number].take();
            state.free.push(number);
            state.pending -= 1;
            let in_parent = match state.pending {
                0 => state.in_parent.take(),
                _ => None,
            };
            (state.is_drained(), in_parent, work)
        };
        drop(work);
        if !drained && in_parent.is_none() {
            return;
        }
        // Both may call wakers, which are foreign code: a panic of one must not prevent the other, nor
        // meet a second panic while it unwinds.
        let told = catch_unwind(AssertUnwindSafe(|| {
            if drained {
                self.drained.cancel();
            }
        }));
        let above = catch_unwind(AssertUnwindSafe(|| drop(in_parent)));
        if let Err(payload) = told.and(above) {
            resume_unwind(payload);
        }
    }
}

/// A guard for a piece of work, which ends when the guard is dropped.
///
/// Returned by [`Shutdown::start_work`](super::Shutdown::start_work).
///
/// # Examples
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let shutdown = tress::shutdown::Shutdown::new();
/// let guard = shutdown.start_work().unwrap();
/// shutdown.trigger();
/// // Work that has started may continue.
/// assert_eq!(shutdown.pending_count(), 1);
/// drop(guard);
/// shutdown.drained().await;
/// # });
/// ```
#[must_use = "the work ends when the guard is dropped"]
pub struct WorkGuard {
    scope: Arc<Scope>,
    number: usize,
}

impl WorkGuard {
    pub(super) fn start(scope: &Arc<Scope>, work: PendingWork) -> Option<WorkGuard> {
        let number = scope.begin(work)?;
        Some(WorkGuard {
            scope: scope.clone(),
            number,
        })
    }
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.scope.end(self.number);
    }
}

impl fmt::Debug for WorkGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = self.scope.state.lock().work[self.number].clone();
        f.debug_tuple("WorkGuard").field(&work).finish()
    }
}
