//! The state word of a task: the bits, and the rules by which they change.
//!
//! ```text
//!  63                  40  39       32  31     24  23       16  15      0
//! +----------------------+-----------+-----------+------------+----------+
//! |    ref_count (24)    | shield(8) | flags (8) | lifecycle  |   pin    |
//! +----------------------+-----------+-----------+------------+----------+
//! ```
//!
//! **lifecycle** says which thread may touch the future:
//!
//! | value | the task is | the future belongs to |
//! |---|---|---|
//! | IDLE | waiting for a wake-up, in no queue | no thread; the one that moves it on |
//! | READY | in exactly one queue (or on its way there), being polled, or being torn down | the queue entry; the thread that took it out |
//! | COMPLETE | finished; the output is in place | the join side |
//!
//! READY is one value where SCHEDULED and RUNNING would be two. Only the thread that takes a task out of its queue
//! acts on the difference, and that thread knows; telling the others would cost a locked instruction per poll.
//! Whether a poll is going on is said in the header, for reports.
//!
//! **flags**
//! - `NOTIFIED`: a wake-up came while the task was READY. It is the only wake signal: set by wakers, and cleared when
//!   a poll begins, which will see whatever the wake-up announced. If it is set when a poll ends, the task is queued
//!   again. It is never set while IDLE nor once COMPLETE.
//! - `CANCELLED`: cancellation was asked for. It takes effect at the next edge of a poll at which
//!   the shield depth is 0, and is never cleared.
//! - `JOIN_INTEREST`: a `JoinHandle` exists. While it is set the output belongs to that handle once
//!   the task is COMPLETE. Never set again after it was cleared.
//! - `DETACHED`: the handle was dropped before the task completed. For diagnostics.
//! - `JOIN_WAKER`: the join waker's slot is filled and belongs to the thread that completes the task. While it is
//!   clear and the task is not COMPLETE the slot belongs to the `JoinHandle`.
//! - `SHUT_DOWN`: the owner goes away. The shield depth is 0 from then on: a poll that is going on can raise no
//!   shield that would keep the task alive after it.
//!
//! **shield**: keeps a cancellation from taking effect. Each of the first [`SHIELDS_APART`] shields of a task counts
//! one; all further ones together count one more, and the task's owner counts them (`owner.rs`).
//!
//! **pin**: 0, or one more than the index of the only worker that may run, drop or tear down the task. Set once, by
//! a poll of the task itself or before it is queued at all, and kept for life. It is in this word so that a thread
//! that moves an idle task on learns in the same step whether it may have it.
//!
//! **ref_count**: one for the task's life (from spawn until it is COMPLETE; a queue entry owns no
//! count of its own, it lives on this one), one for the `JoinHandle`, one for every `Waker` and
//! `AbortHandle`. The cell is freed when it reaches zero. Overflow aborts the process.
//!
//! # Memory ordering
//! Every transition is a read-modify-write with acquire-release ordering, so all of them form one
//! total order per task and each owner sees what the previous owner wrote to the future. Between two
//! polls of a task that stays READY the queue does the same. Only `ref_inc` is relaxed: it starts from a
//! reference that keeps the cell alive anyway.
//!
//! A wake-up of a READY task writes the word even if NOTIFIED is set already. A mere load could be older than the
//! start of a poll that clears the flag, and that poll need not see what was written before the wake-up: the task
//! would wait for ever.

use crate::sys::atomic::{AtomicU64, Ordering};
use std::fmt;

// D-TASK-09
const PIN: u64 = 0xFFFF;

const LIFECYCLE: u64 = 0xFF << 16;
const IDLE: u64 = 0 << 16;
// D-TASK-05
const READY: u64 = 1 << 16;
const COMPLETE: u64 = 3 << 16;

const NOTIFIED: u64 = 1 << 24;
const CANCELLED: u64 = 1 << 25;
const JOIN_INTEREST: u64 = 1 << 26;
const DETACHED: u64 = 1 << 27;
const JOIN_WAKER: u64 = 1 << 28;
const SHUT_DOWN: u64 = 1 << 29;

const SHIELD_ONE: u64 = 1 << 32;
const SHIELD: u64 = 0xFF << 32;

/// Shields of a task that are counted one by one. One less than the field holds; one in a model, so that it gets past
/// them.
pub(super) const SHIELDS_APART: u8 = if cfg!(loom) { 1 } else { 254 };

const REF_ONE: u64 = 1 << 40;
/// Half of the 24-bit range: far from real use, and far enough from the wrap that no number of
/// threads racing past the check can reach it before one of them aborts.
const REF_LIMIT: u64 = 1 << 63;

/// The word itself. See the module documentation for the rules.
pub(crate) struct State(AtomicU64);

/// A value read from the word at some moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot(u64);

/// What the caller of a wake-up has to do.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The task moved to READY: the caller must put it into a queue.
    Submit,
    /// Nothing to do: the task has been notified, or is complete.
    Nothing,
    /// As `Nothing`, and the consumed reference was the last: free the cell.
    Free,
}

/// What the thread that took the task out of a queue has to do.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Poll,
    /// Cancelled and unshielded: drop the future and complete.
    Cancel,
}

/// What follows a poll that returned `Pending`.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Park {
    /// The task is IDLE. The caller may not touch it any more.
    Idle,
    /// A wake-up came during the poll, or the task yielded: still READY, put it at the tail.
    Requeue,
    /// Cancelled and unshielded: still READY, drop the future and complete.
    Cancel,
}

/// How an attempt to raise the shield ended.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shielding {
    Raised,
    /// All shields that are counted one by one are raised already.
    Full,
    /// The task is being shut down, regardless of its shields.
    TooLate,
}

/// What shutting a task down leaves to the caller.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ShutDown {
    /// It was IDLE and is now READY and the caller's, which must drop the future and complete it.
    Mine,
    /// It was IDLE and pinned, and is now READY: the caller must put it into its worker's queue.
    Submit,
    /// The thread that runs it or the queue that holds it will see the cancellation; or it was complete.
    Nothing,
}

/// What completing the task leaves to the caller. The task's own reference is given up in the same step, except where
/// noted.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Complete {
    /// Other references exist; nothing more to do.
    Done,
    /// That was the last reference: free the cell.
    Free,
    /// There is a join waker: take it, wake it, then call `ref_dec` for the task's own reference, which has been
    /// kept.
    WakeJoiner,
    /// Nothing changed: the handle is gone, so the output is the caller's to drop. Call again
    /// after that.
    DropOutput,
}

/// What dropping a `JoinHandle` leaves to the caller. Its reference is given up in the same step except where noted.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DropJoin {
    Done,
    Free,
    /// The task is COMPLETE: drop the output if it was not taken, then call `ref_dec` for the
    /// handle's reference, which has been kept.
    DropOutput,
    /// The task is not complete and the waker's slot is the handle's again: drop the waker, then
    /// call `ref_dec` for the handle's reference, which has been kept.
    DropWaker,
}

impl Snapshot {
    fn lifecycle(self) -> u64 {
        self.0 & LIFECYCLE
    }

    pub(crate) fn is_complete(self) -> bool {
        self.lifecycle() == COMPLETE
    }

    pub(crate) fn is_cancelled(self) -> bool {
        self.0 & CANCELLED != 0
    }

    pub(crate) fn is_ready(self) -> bool {
        self.lifecycle() == READY
    }

    pub(crate) fn is_notified(self) -> bool {
        self.0 & NOTIFIED != 0
    }

    pub(crate) fn is_detached(self) -> bool {
        self.0 & DETACHED != 0
    }

    /// Returns the lifecycle as a word for reports.
    pub(crate) fn lifecycle_name(self) -> &'static str {
        match self.lifecycle() {
            IDLE => "idle",
            READY => "ready",
            _ => "complete",
        }
    }

    pub(crate) fn has_join_interest(self) -> bool {
        self.0 & JOIN_INTEREST != 0
    }

    pub(crate) fn has_join_waker(self) -> bool {
        self.0 & JOIN_WAKER != 0
    }

    pub(crate) fn shield_depth(self) -> u8 {
        ((self.0 & SHIELD) / SHIELD_ONE) as u8
    }

    pub(crate) fn ref_count(self) -> u64 {
        self.0 / REF_ONE
    }

    /// The index of the worker it is pinned to.
    pub(crate) fn pinned(self) -> Option<usize> {
        ((self.0 & PIN) as usize).checked_sub(1)
    }

    fn cancel_is_effective(self) -> bool {
        self.0 & (CANCELLED | SHIELD) == CANCELLED
    }

    fn with_lifecycle(self, lifecycle: u64) -> u64 {
        (self.0 & !LIFECYCLE) | lifecycle
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("lifecycle", &self.lifecycle_name())
            .field("notified", &self.is_notified())
            .field("cancelled", &self.is_cancelled())
            .field("join_interest", &self.has_join_interest())
            .field("detached", &self.is_detached())
            .field("join_waker", &self.has_join_waker())
            .field("pinned", &self.pinned())
            .field("shield", &self.shield_depth())
            .field("refs", &self.ref_count())
            .finish()
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

// Macros, not constants: what formats its message would cost the functions below a frame on the stack.

/// Asserts that the state allows the transition that was asked for.
macro_rules! in_turn {
    ($allowed:expr) => {
        assert!(
            $allowed,
            "a bug in tress: a task's state was changed out of turn"
        )
    };
}

/// Asserts that the caller's reference is counted.
macro_rules! counted {
    ($counted:expr) => {
        assert!(
            $counted,
            "a bug in tress: a task's references are miscounted"
        )
    };
}

impl State {
    /// A task on its way into its first queue: READY, with the task's own reference and the
    /// handle's.
    pub(crate) const NEW: u64 = READY | JOIN_INTEREST | (2 * REF_ONE);

    #[cfg(all(test, not(loom)))]
    pub(crate) fn new() -> Self {
        State(AtomicU64::new(Self::NEW))
    }

    /// Returns the word, to be initialised in place.
    pub(crate) fn word(&self) -> &AtomicU64 {
        &self.0
    }

    #[inline]
    pub(crate) fn load(&self) -> Snapshot {
        Snapshot(self.0.load(Ordering::Acquire))
    }

    /// Applies `step` until its result could be stored over the value it was computed from. `step` returns the action
    /// and the new value, or no new value to leave the word alone.
    #[inline(always)]
    fn update<A>(&self, mut step: impl FnMut(Snapshot) -> (A, Option<u64>)) -> A {
        let mut current = self.load();
        loop {
            let (action, next) = step(current);
            let Some(next) = next else { return action };
            match self
                .0
                .compare_exchange_weak(current.0, next, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return action,
                Err(actual) => current = Snapshot(actual),
            }
        }
    }

    /// Begins a poll, on the thread that took the task out of its queue. The task stays READY; wake-ups so far are
    /// covered by this poll.
    #[inline]
    pub(crate) fn start(&self) -> Start {
        let mut s = self.load();
        in_turn!(s.lifecycle() == READY);
        if s.0 & NOTIFIED != 0 {
            s = Snapshot(self.0.fetch_and(!NOTIFIED, Ordering::AcqRel));
        }
        if s.cancel_is_effective() {
            Start::Cancel
        } else {
            Start::Poll
        }
    }

    /// READY → IDLE after a poll that returned `Pending`, unless the task was woken meanwhile, or `requeue` says that
    /// it yielded.
    #[inline]
    pub(crate) fn park(&self, requeue: bool) -> Park {
        self.update(|s| {
            in_turn!(s.lifecycle() == READY);
            if s.cancel_is_effective() {
                (Park::Cancel, None)
            } else if s.0 & NOTIFIED != 0 || requeue {
                (Park::Requeue, None)
            } else {
                (Park::Idle, Some(s.with_lifecycle(IDLE)))
            }
        })
    }

    /// Wakes the task through a reference that the caller keeps.
    // D-TASK-06
    #[inline]
    pub(crate) fn wake_by_ref(&self) -> Wake {
        self.update(|s| match s.lifecycle() {
            IDLE => (Wake::Submit, Some(s.with_lifecycle(READY))),
            READY => (Wake::Nothing, Some(s.0 | NOTIFIED)),
            _ => (Wake::Nothing, None),
        })
    }

    /// Wakes the task and consumes the caller's reference in the same step.
    #[inline]
    pub(crate) fn wake_by_val(&self) -> Wake {
        self.update(|s| {
            let next = match s.lifecycle() {
                IDLE => {
                    // Not COMPLETE, so the task's own reference is still there.
                    counted!(s.ref_count() >= 2);
                    return (Wake::Submit, Some(s.with_lifecycle(READY) - REF_ONE));
                }
                READY => s.0 | NOTIFIED,
                _ => s.0,
            } - REF_ONE;
            let action = if Snapshot(next).ref_count() == 0 {
                Wake::Free
            } else {
                Wake::Nothing
            };
            (action, Some(next))
        })
    }

    /// Asks for cancellation. An idle, unshielded task must be queued by the caller: only a
    /// worker may drop its future.
    pub(crate) fn cancel(&self) -> Wake {
        self.update(|s| {
            if s.is_complete() || s.is_cancelled() {
                return (Wake::Nothing, None);
            }
            let next = s.0 | CANCELLED;
            if s.lifecycle() == IDLE && s.shield_depth() == 0 {
                (Wake::Submit, Some(Snapshot(next).with_lifecycle(READY)))
            } else {
                (Wake::Nothing, Some(next))
            }
        })
    }

    /// Shuts the task down with its owner: cancels it regardless of its shield.
    pub(crate) fn shut_down(&self) -> ShutDown {
        self.update(|s| {
            if s.is_complete() {
                return (ShutDown::Nothing, None);
            }
            let next = Snapshot((s.0 | CANCELLED | SHUT_DOWN) & !SHIELD);
            match (s.lifecycle(), s.pinned()) {
                (IDLE, None) => (ShutDown::Mine, Some(next.with_lifecycle(READY))),
                (IDLE, Some(_)) => (ShutDown::Submit, Some(next.with_lifecycle(READY))),
                _ => (ShutDown::Nothing, Some(next.0)),
            }
        })
    }

    /// Binds the task to a worker for the rest of its life. The caller runs it, or has just made it and not queued it
    /// yet.
    ///
    /// # Panics
    /// If there are more workers than the word has room for.
    #[cfg(any(test, all(feature = "coroutine", unix, not(loom))))]
    pub(crate) fn pin(&self, worker: usize) {
        let pin = worker as u64 + 1;
        assert!(
            pin <= PIN,
            "a runtime with coroutines can have {} workers",
            PIN
        );
        let prev = Snapshot(self.0.fetch_add(pin, Ordering::AcqRel));
        assert!(prev.pinned().is_none(), "a task is pinned once");
    }

    /// READY → COMPLETE.
    // D-TASK-04
    #[inline]
    pub(crate) fn complete(&self, output_dropped: bool) -> Complete {
        self.update(|s| {
            in_turn!(s.lifecycle() == READY);
            if !s.has_join_interest() && !output_dropped {
                return (Complete::DropOutput, None);
            }
            let next = s.with_lifecycle(COMPLETE) & !NOTIFIED;
            if s.has_join_waker() {
                return (Complete::WakeJoiner, Some(next));
            }
            let next = next - REF_ONE;
            let action = if Snapshot(next).ref_count() == 0 {
                Complete::Free
            } else {
                Complete::Done
            };
            (action, Some(next))
        })
    }

    /// Hands the filled join waker's slot to the completer. Returns false if the task is COMPLETE: the slot is still
    /// the caller's.
    pub(crate) fn set_join_waker(&self) -> bool {
        self.update(|s| {
            in_turn!(s.has_join_interest() && !s.has_join_waker());
            if s.is_complete() {
                (false, None)
            } else {
                (true, Some(s.0 | JOIN_WAKER))
            }
        })
    }

    /// Takes the join waker's slot back. Returns false if the task is COMPLETE: the completer has it.
    pub(crate) fn unset_join_waker(&self) -> bool {
        self.update(|s| {
            in_turn!(s.has_join_interest() && s.has_join_waker());
            if s.is_complete() {
                (false, None)
            } else {
                (true, Some(s.0 & !JOIN_WAKER))
            }
        })
    }

    /// Gives up the `JoinHandle`.
    #[inline]
    pub(crate) fn drop_join(&self) -> DropJoin {
        self.update(|s| {
            in_turn!(s.has_join_interest());
            if s.is_complete() {
                return (DropJoin::DropOutput, None);
            }
            let next = (s.0 & !(JOIN_INTEREST | JOIN_WAKER)) | DETACHED;
            if s.has_join_waker() {
                return (DropJoin::DropWaker, Some(next));
            }
            let next = next - REF_ONE;
            let action = if Snapshot(next).ref_count() == 0 {
                DropJoin::Free
            } else {
                DropJoin::Done
            };
            (action, Some(next))
        })
    }

    #[inline]
    pub(crate) fn ref_inc(&self) {
        let prev = self.0.fetch_add(REF_ONE, Ordering::Relaxed);
        if prev >= REF_LIMIT {
            // More than eight million wakers of one task: something leaks them, and a wrapped
            // count would free memory in use.
            std::process::abort();
        }
    }

    /// Takes a reference to a cell that may be free, unless its count is zero.
    pub(crate) fn try_ref_inc(&self) -> bool {
        self.update(|s| {
            if s.ref_count() == 0 {
                (false, None)
            } else {
                if s.0 >= REF_LIMIT {
                    std::process::abort();
                }
                (true, Some(s.0 + REF_ONE))
            }
        })
    }

    /// Gives up a reference. Returns true if it was the last one.
    #[inline]
    #[must_use]
    pub(crate) fn ref_dec(&self) -> bool {
        let prev = Snapshot(self.0.fetch_sub(REF_ONE, Ordering::AcqRel));
        counted!(prev.ref_count() >= 1);
        prev.ref_count() == 1
    }

    /// Raises the shield by one, up to `most`. Only the running task does this to itself.
    pub(crate) fn shield(&self, most: u8) -> Shielding {
        self.update(|s| {
            if s.0 & SHUT_DOWN != 0 {
                (Shielding::TooLate, None)
            } else if s.shield_depth() >= most {
                (Shielding::Full, None)
            } else {
                (Shielding::Raised, Some(s.0 + SHIELD_ONE))
            }
        })
    }

    /// Lowers the shield by one. If that uncovers a cancelled task that is IDLE, the caller must queue it. A shutdown
    /// may have set the depth to zero before, for good.
    pub(crate) fn unshield(&self) -> Wake {
        self.update(|s| {
            if s.shield_depth() == 0 {
                return (Wake::Nothing, None);
            }
            let next = Snapshot(s.0 - SHIELD_ONE);
            if next.cancel_is_effective() && s.lifecycle() == IDLE {
                (Wake::Submit, Some(next.with_lifecycle(READY)))
            } else {
                (Wake::Nothing, Some(next.0))
            }
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn layout_is_the_seeds() {
        assert_eq!(REF_ONE, 1 << 40);
        assert_eq!(SHIELD, 0xFF << 32);
        let flags = NOTIFIED | CANCELLED | JOIN_INTEREST | DETACHED | JOIN_WAKER | SHUT_DOWN;
        assert_eq!(flags & !(0xFF << 24), 0);
        assert_eq!(LIFECYCLE, 0xFF << 16);
    }

    #[test]
    fn a_life() {
        let s = State::new();
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.park(false), Park::Idle);
        assert_eq!(s.wake_by_ref(), Wake::Submit);
        assert_eq!(s.wake_by_ref(), Wake::Nothing, "already queued");
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.complete(false), Complete::Done);
        assert_eq!(s.wake_by_ref(), Wake::Nothing);
        assert_eq!(s.drop_join(), DropJoin::DropOutput);
        assert!(s.ref_dec());
    }

    #[test]
    fn wake_during_poll_requeues_once() {
        let s = State::new();
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.wake_by_ref(), Wake::Nothing);
        assert_eq!(s.wake_by_ref(), Wake::Nothing);
        assert_eq!(s.park(false), Park::Requeue);
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.park(false), Park::Idle);
    }

    #[test]
    fn wake_while_queued_adds_no_poll() {
        let s = State::new();
        assert_eq!(s.wake_by_ref(), Wake::Nothing);
        assert_eq!(s.wake_by_ref(), Wake::Nothing);
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.park(false), Park::Idle);
    }

    #[test]
    fn yielding_leaves_the_word_alone() {
        let s = State::new();
        let before = s.load();
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.park(true), Park::Requeue);
        assert!(s.load() == before);
        assert_eq!(s.cancel(), Wake::Nothing);
        assert_eq!(s.start(), Start::Cancel);
    }

    #[test]
    fn cancel_of_an_idle_task_schedules_it() {
        let s = State::new();
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.park(false), Park::Idle);
        assert_eq!(s.cancel(), Wake::Submit);
        assert_eq!(s.cancel(), Wake::Nothing);
        assert_eq!(s.start(), Start::Cancel);
        assert_eq!(s.complete(false), Complete::Done);
    }

    #[test]
    fn shield_defers_until_zero() {
        let s = State::new();
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.shield(2), Shielding::Raised);
        assert_eq!(s.shield(2), Shielding::Raised);
        assert_eq!(s.shield(2), Shielding::Full);
        assert_eq!(s.cancel(), Wake::Nothing);
        assert_eq!(s.park(false), Park::Idle);
        assert_eq!(s.wake_by_ref(), Wake::Submit);
        assert_eq!(s.start(), Start::Poll, "shielded");
        assert_eq!(s.unshield(), Wake::Nothing);
        assert_eq!(s.park(false), Park::Idle);
        assert_eq!(s.unshield(), Wake::Submit, "uncovered while idle");
        assert_eq!(s.start(), Start::Cancel);
    }

    #[test]
    fn detached_output_is_dropped_by_the_completer() {
        let s = State::new();
        assert_eq!(s.drop_join(), DropJoin::Done);
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.complete(false), Complete::DropOutput);
        assert_eq!(s.complete(true), Complete::Free);
    }

    #[test]
    fn join_waker_changes_hands() {
        let s = State::new();
        assert!(s.set_join_waker());
        assert!(s.unset_join_waker());
        assert!(s.set_join_waker());
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.complete(false), Complete::WakeJoiner);
        assert!(!s.ref_dec());
        assert_eq!(s.drop_join(), DropJoin::DropOutput);
        assert!(s.ref_dec());
    }

    #[test]
    fn dropping_a_waiting_handle_returns_the_waker() {
        let s = State::new();
        assert!(s.set_join_waker());
        assert_eq!(s.drop_join(), DropJoin::DropWaker);
        assert!(!s.ref_dec());
    }

    #[test]
    fn consuming_wake_of_a_finished_task_frees_it() {
        let s = State::new();
        s.ref_inc();
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.complete(false), Complete::Done);
        assert_eq!(s.drop_join(), DropJoin::DropOutput);
        assert!(!s.ref_dec());
        assert_eq!(s.wake_by_val(), Wake::Free);
        assert!(!s.try_ref_inc());
    }

    #[test]
    fn shutdown_ignores_the_shield() {
        let s = State::new();
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.shield(9), Shielding::Raised);
        assert_eq!(s.park(false), Park::Idle);
        assert_eq!(s.shut_down(), ShutDown::Mine);
        assert_eq!(s.unshield(), Wake::Nothing);
        assert_eq!(s.shut_down(), ShutDown::Nothing);
    }

    #[test]
    fn a_shield_raised_after_a_shutdown_does_not_defer_it() {
        let s = State::new();
        assert_eq!(s.start(), Start::Poll);
        assert_eq!(s.shut_down(), ShutDown::Nothing, "the poll's end sees it");
        assert_eq!(s.shield(9), Shielding::TooLate);
        assert_eq!(s.park(false), Park::Cancel);
    }

    #[test]
    fn a_pinned_task_is_never_the_one_who_shuts_it_down() {
        for worker in [0, 1, 0xFFFE] {
            let s = State::new();
            assert_eq!(s.start(), Start::Poll);
            assert_eq!(s.load().pinned(), None);
            s.pin(worker);
            assert_eq!(s.load().pinned(), Some(worker));
            assert_eq!(s.park(false), Park::Idle);
            assert_eq!(s.shut_down(), ShutDown::Submit);
            assert_eq!(s.shut_down(), ShutDown::Nothing);
            assert_eq!(s.start(), Start::Cancel);
            assert_eq!(s.load().pinned(), Some(worker));
        }
    }

    #[test]
    #[should_panic = "can have 65535 workers"]
    fn a_pin_has_room_for_so_many_workers() {
        State::new().pin(0xFFFF);
    }
}
