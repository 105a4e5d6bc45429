//! One multishot operation between the task that fetches its results and the kernel; and its companion.

use super::MultiOperation;
use crate::sys::Mutex;
use crate::uring::pool::Unread;
use crate::uring::ring::{Arrived, Completion, Next};
use crate::uring::submission::to_result;
use crate::wakers::Wakers;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::task::{Context, Waker};

pub(super) struct MultiCell<M: MultiOperation> {
    pub(super) op: M,
    state: Mutex<State<M::Item>>,
}

struct State<I> {
    phase: Phase,
    waker: Option<Waker>,
    results: Results<io::Result<I>>,
    unwanted: Vec<I>,
    companion: Companion,
}

/// Results in order. The first needs no further memory: usually there is one at a time.
struct Results<R> {
    first: Option<R>,
    others: VecDeque<R>,
}

impl<R> Default for Results<R> {
    fn default() -> Self {
        Results {
            first: None,
            others: VecDeque::new(),
        }
    }
}

impl<R> Results<R> {
    fn push_back(&mut self, result: R) {
        if self.first.is_none() {
            self.first = Some(result);
        } else {
            self.others.push_back(result);
        }
    }

    fn pop_front(&mut self) -> Option<R> {
        let first = self.first.take();
        if !self.others.is_empty() {
            self.first = self.others.pop_front();
        }
        first
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut R> {
        self.first.iter_mut().chain(&mut self.others)
    }

    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The kernel has it, or is about to get it.
    Running,
    /// The kernel has it and was asked to stop.
    Stopping,
    /// It can be started again.
    Stopped,
    /// There will be no more results.
    Ended,
    /// The [`Multishot`](super::Multishot) is gone, but the kernel still has the operation.
    Abandoned,
}

/// The state of the companion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Companion {
    /// There is none, or its report was handled.
    None,
    Running,
    /// It has reported a hang-up, which was not handled yet.
    Told,
    /// The [`Multishot`](super::Multishot) is gone.
    Abandoned,
}

/// What a look for the next result found.
#[derive(Debug)]
#[must_use]
pub(super) enum Found<I> {
    Result(io::Result<I>),
    /// There will be no more.
    End,
    /// The kernel has to be asked (again) for more.
    Stopped,
    /// Nothing yet; the waker is in place.
    Nothing,
    /// As `Nothing`, and the kernel may have missed the end: the caller asks it to stop the operation.
    Missed,
}

/// What the caller has to do so that the operation stops.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Stop {
    /// Nothing: the kernel does not have it.
    Done,
    /// Wait: it was asked before.
    Wait,
    /// Ask the kernel, and wait.
    Ask,
}

/// What the kernel still has of an abandoned operation.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) struct Left {
    pub(super) operation: bool,
    pub(super) companion: bool,
}

impl<I> State<I> {
    /// Keeps an error for the task that fetches the results. Returns false if it only says why the operation was
    /// stopped.
    fn note_error(&mut self, error: io::Error, arrived: &Arrived) -> bool {
        match -arrived.value {
            // What was asked for, or no buffer left.
            libc::ECANCELED if !arrived.closed => false,
            libc::ENOBUFS => false,
            _ => {
                self.results.push_back(Err(error));
                true
            }
        }
    }

    /// What is known without waiting.
    fn known(&mut self) -> Option<Found<I>> {
        if let Some(result) = self.results.pop_front() {
            return Some(Found::Result(result));
        }
        match self.phase {
            Phase::Running | Phase::Stopping | Phase::Abandoned => None,
            Phase::Ended => Some(Found::End),
            Phase::Stopped => Some(Found::Stopped),
        }
    }

    /// Handles a report of the companion while no result is there: the operation is stopped, to be started
    /// again.
    fn wait(&mut self) -> Found<I> {
        if self.companion != Companion::Told || self.phase != Phase::Running {
            return Found::Nothing;
        }
        self.companion = Companion::None;
        self.phase = Phase::Stopping;
        Found::Missed
    }
}

impl<M: MultiOperation> MultiCell<M> {
    pub(super) fn new(op: M) -> MultiCell<M> {
        MultiCell {
            op,
            state: Mutex::new(State {
                phase: Phase::Stopped,
                waker: None,
                results: Results::default(),
                unwanted: Vec::new(),
                companion: Companion::None,
            }),
        }
    }

    /// Returns the next result, or what to do about it.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Found<M::Item> {
        let mut state = self.state.lock();
        if let Some(known) = state.known() {
            return known;
        }
        if matches!(&state.waker, Some(old) if old.will_wake(cx.waker())) {
            return state.wait();
        }
        // Cloned without the lock, because it is foreign code. Meanwhile something may arrive.
        drop(state);
        let new = cx.waker().clone();
        let mut state = self.state.lock();
        let (found, unused) = match state.known() {
            None => (state.wait(), state.waker.replace(new)),
            Some(known) => (known, Some(new)),
        };
        drop(state);
        drop(unused);
        found
    }

    /// Returns a result that has arrived, if there is one.
    pub(super) fn try_next(&self) -> Option<io::Result<M::Item>> {
        self.state.lock().results.pop_front()
    }

    /// Number of results that wait to be fetched.
    pub(super) fn pending(&self) -> usize {
        self.state.lock().results.len()
    }

    pub(super) fn phase(&self) -> Phase {
        self.state.lock().phase
    }

    /// Stores the waker, before the operation is started.
    pub(super) fn expect(&self, cx: &mut Context<'_>) {
        let new = cx.waker().clone();
        let old = self.state.lock().waker.replace(new);
        drop(old);
    }

    /// Notes that the kernel is about to get the operation.
    pub(super) fn run(&self) {
        self.state.lock().phase = Phase::Running;
    }

    /// Notes that the kernel is about to get the companion.
    pub(super) fn accompany(&self) {
        self.state.lock().companion = Companion::Running;
    }

    /// Notes that it cannot be started, now or later.
    pub(super) fn end(&self) {
        self.state.lock().phase = Phase::Ended;
    }

    /// Stores the waker for the moment when the operation has stopped.
    pub(super) fn stop(&self, cx: &mut Context<'_>) -> Stop {
        let waker = cx.waker().clone();
        let mut state = self.state.lock();
        let stop = match state.phase {
            Phase::Running => Stop::Ask,
            Phase::Stopping => Stop::Wait,
            Phase::Stopped | Phase::Ended | Phase::Abandoned => return Stop::Done,
        };
        state.phase = Phase::Stopping;
        let old = state.waker.replace(waker);
        drop(state);
        drop(old);
        stop
    }

    /// Gives up the results. Those that wait are undone.
    pub(super) fn abandon(&self) -> Left {
        let mut state = self.state.lock();
        let left = Left {
            operation: matches!(state.phase, Phase::Running | Phase::Stopping),
            companion: state.companion == Companion::Running,
        };
        if left.operation {
            state.phase = Phase::Abandoned;
        }
        state.companion = Companion::Abandoned;
        let unused = (state.waker.take(), std::mem::take(&mut state.results));
        drop(state);
        drop(unused);
        left
    }
}

impl<M: MultiOperation> Completion for MultiCell<M>
where
    M::Item: Send,
{
    fn complete(&self, arrived: Arrived, wakers: &mut Wakers) -> Next {
        let value = to_result(arrived.value, || arrived.closed);
        let is_end = value.as_ref().is_ok_and(|&value| M::is_end(value));
        let mut state = self.state.lock();
        // SAFETY: the ring passes every result on once, to the operation that it is of.
        let item = value.map(|value| unsafe { self.op.item(value, arrived.flags) });
        if is_end || state.phase == Phase::Abandoned {
            // It will not be fetched. It is dropped when the ring has let go of the cell, and not under the
            // locks.
            state.unwanted.extend(item.ok().flatten());
            if state.phase == Phase::Abandoned {
                return if arrived.more {
                    Next::Wait
                } else {
                    Next::FinishOrphan
                };
            }
            state.phase = Phase::Ended;
            wakers.push(state.waker.take());
            return Next::Finish;
        }
        let was_undone = matches!(-arrived.value, libc::EINTR | libc::ECANCELED);
        if was_undone && state.phase == Phase::Running && !arrived.closed {
            // Not what was asked for: it was interrupted, or the thread that submitted it is gone.
            return Next::Again;
        }
        let over = match item {
            Ok(Some(item)) => {
                state.results.push_back(Ok(item));
                false
            }
            Ok(None) => false,
            Err(error) => {
                state.note_error(error, &arrived) && (!M::SURVIVES_ERRORS || arrived.closed)
            }
        };
        // A task waits for this result, so it does not count as waiting to be fetched.
        let is_awaited = state.waker.is_some() && state.results.len() == 1;
        wakers.push(state.waker.take());
        if arrived.more && !over {
            if !is_awaited
                && state.phase == Phase::Running
                && state.results.len() >= self.op.backlog()
            {
                state.phase = Phase::Stopping;
                return Next::Stop;
            }
            return Next::Wait;
        }
        state.phase = if over { Phase::Ended } else { Phase::Stopped };
        Next::Finish
    }

    fn bury(&self) {
        let unwanted = std::mem::take(&mut self.state.lock().unwanted);
        drop(unwanted);
    }

    fn goes_on(&self) -> bool {
        true
    }
}

impl<M: MultiOperation> Unread for MultiCell<M>
where
    M::Item: Send,
{
    fn copy_out(&self) {
        let mut replaced = Vec::new();
        let mut state = self.state.lock();
        for item in state.results.iter_mut().flatten() {
            if let Some(copy) = self.op.copied(item) {
                replaced.push(std::mem::replace(item, copy));
            }
        }
        drop(state);
        // Without the lock: this wakes the receives that wait for buffers.
        drop(replaced);
    }
}

/// A companion as the ring sees it. It keeps the descriptor that it watches open.
pub(super) struct Watch<M: MultiOperation>(pub(super) Arc<MultiCell<M>>)
where
    M::Item: Send;

impl<M: MultiOperation> Completion for Watch<M>
where
    M::Item: Send,
{
    fn complete(&self, arrived: Arrived, wakers: &mut Wakers) -> Next {
        let mut state = self.0.state.lock();
        if state.companion == Companion::Abandoned {
            return Next::FinishOrphan;
        }
        if matches!(-arrived.value, libc::EINTR | libc::ECANCELED) && !arrived.closed {
            return Next::Again;
        }
        state.companion = Companion::Told;
        wakers.push(state.waker.take());
        Next::Finish
    }

    fn bury(&self) {}

    fn goes_on(&self) -> bool {
        true
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn results_come_out_in_the_order_in_which_they_went_in() {
        let mut results = Results::default();
        let mut want = VecDeque::new();
        let mut next = 0;
        for (pushed, popped) in [(1, 1), (3, 1), (2, 4), (1, 2), (5, 3), (0, 2)] {
            for _ in 0..pushed {
                results.push_back(next);
                want.push_back(next);
                next += 1;
            }
            assert_eq!(results.len(), want.len());
            for _ in 0..popped {
                assert_eq!(results.pop_front(), want.pop_front());
            }
            assert_eq!(results.len(), want.len());
        }
        assert_eq!(results.pop_front(), None);
    }
}
