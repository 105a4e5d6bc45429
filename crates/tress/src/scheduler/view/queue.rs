//! A view's queue, and its count of drains: the protocol by which a queued task always has a drain that will run it,
//! and no more tasks run at a time than the limit allows.
//!
//! - A task that is queued while fewer drains than the limit are under way owes one more
//!   ([`Queued::SendDrain`]), which is counted in the same step.
//! - A drain that finds nothing is counted out in the same step ([`Queue::next`]): whoever queues after
//!   that owes a new one, and whoever queued before it was seen.
//! - A task that yields goes to the end of the queue of the drain that ran it, which looks there again.
//! - [`close`](Queue::close) gives back what is queued and refuses everything that comes later.

use crate::sys::Mutex;
use std::collections::VecDeque;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    limit: usize,
}

struct State<T> {
    queue: VecDeque<T>,
    drains: usize,
    /// The runtime is shutting down.
    closed: bool,
}

/// What queueing owes.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Queued<T> {
    /// A drain that is under way will get to it.
    Nothing,
    /// One more drain, which is counted already.
    SendDrain,
    /// The queue is closed: the task must be refused.
    Refused(T),
}

impl<T> Queue<T> {
    pub(super) fn new(limit: usize) -> Queue<T> {
        Queue {
            state: Mutex::new(State {
                queue: VecDeque::new(),
                drains: 0,
                closed: false,
            }),
            limit,
        }
    }

    /// Most drains at a time.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Returns how many tasks are queued and how many drains there are, or `None` if the lock cannot be had soon.
    #[cfg(not(loom))]
    pub(super) fn look(&self) -> Option<(usize, usize)> {
        let state = self.state.lock_soon()?;
        Some((state.queue.len(), state.drains))
    }

    /// Adds what became ready.
    pub(super) fn push(&self, task: T) -> Queued<T> {
        let mut state = self.state.lock();
        if state.closed {
            return Queued::Refused(task);
        }
        state.queue.push_back(task);
        if state.drains == self.limit {
            return Queued::Nothing;
        }
        state.drains += 1;
        Queued::SendDrain
    }

    /// The next one, for a drain. None: the drain has been counted out and must end.
    pub(super) fn next(&self) -> Option<T> {
        let mut state = self.state.lock();
        let next = state.queue.pop_front();
        if next.is_none() {
            state.drains -= 1;
        }
        next
    }

    /// Adds what yielded, on behalf of the drain that ran it.
    ///
    /// # Errors
    /// It came too late, and must be refused.
    pub(super) fn requeue(&self, task: T) -> Result<(), T> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(task);
        }
        state.queue.push_back(task);
        Ok(())
    }

    /// Counts out a drain that never ran, or was cut short.
    pub(super) fn lose_drain(&self) {
        self.state.lock().drains -= 1;
    }

    /// Lets nothing in any more, and returns what is there.
    pub(super) fn close(&self) -> VecDeque<T> {
        let mut state = self.state.lock();
        state.closed = true;
        std::mem::take(&mut state.queue)
    }
}
