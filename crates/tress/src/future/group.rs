//! Several futures polled by one task, of which only those are polled that have been woken.
//!
//! Each future has a waker of its own, which puts the number of the future on a list and wakes the task.
//! A poll of the group takes the list and polls the futures on it. Driving `n` futures to completion
//! therefore costs as many polls as there are wake-ups, not `n` times as many.
//!
//! # Why no wake-up is lost
//! Before a future is polled it is marked as off the list, so that a wake-up during the poll or after it
//! puts it there again. The waker of the task is stored under the lock of the list before the list is
//! taken: a thread that adds to the list later finds that waker, and if the list was empty takes it and
//! wakes it. If the list was not empty, another thread has done so since the list was taken.
//!
//! # Wake-ups after completion
//! A future that has completed, or panicked, is *over*. It may have woken itself in its last poll, and
//! others may wake it at any time: it is never polled again, and never counted again. From then on its
//! bell says that it is on the list, so that most of these wake-ups do not even take the lock.
//!
//! # Budget
//! A future that is polled without [budget](crate::task::coop) left wakes itself and makes no progress.
//! The group stops when the budget is used up, and continues there next time: otherwise `n` futures that
//! are all ready would be polled `n` times per budget.

use crate::macros::support::{MaybeDone, maybe_done};
use crate::sys::Mutex;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::task::coop;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

pub(super) struct Group<F: Future> {
    members: Pin<Box<[MaybeDone<F>]>>,
    seats: Vec<Seat>,
    woken: Arc<Mutex<Woken>>,
    /// The numbers of the members to be polled next.
    round: VecDeque<usize>,
    /// The number of members that are not over.
    left: usize,
    /// Whether the result was returned.
    cleared: bool,
}

/// The waker of a member, in two forms.
struct Seat {
    bell: Arc<Bell>,
    waker: Waker,
    /// Whether the member has completed or panicked; see the module documentation.
    over: bool,
}

/// What the waker of a member points to.
struct Bell {
    number: usize,
    on_the_list: AtomicBool,
    woken: Arc<Mutex<Woken>>,
}

#[derive(Default)]
struct Woken {
    /// Holds each number at most once, so that the initial capacity suffices.
    list: Vec<usize>,
    /// Taken by the thread that wakes it, and stored again by the next poll: no waker is cloned,
    /// which is foreign code, with the lock held.
    task: Option<Waker>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Release: what the waker of the member did before is seen by the poll that follows.
        if self.on_the_list.swap(true, Ordering::AcqRel) {
            return;
        }
        let task = {
            let mut woken = self.woken.lock();
            woken.list.push(self.number);
            match woken.list.len() {
                1 => woken.task.take(),
                _ => None,
            }
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl<F: Future> Group<F> {
    pub(super) fn new<I>(futures: I) -> Self
    where
        I: IntoIterator,
        I::Item: IntoFuture<IntoFuture = F>,
    {
        let members: Box<[_]> = futures.into_iter().map(maybe_done).collect();
        let count = members.len();
        let woken = Arc::new(Mutex::new(Woken {
            list: Vec::with_capacity(count),
            task: None,
        }));
        let seat = |number| {
            let bell = Arc::new(Bell {
                number,
                // All are on the first round.
                on_the_list: AtomicBool::new(true),
                woken: woken.clone(),
            });
            let waker = Waker::from(bell.clone());
            Seat {
                bell,
                waker,
                over: false,
            }
        };
        Group {
            members: members.into(),
            seats: (0..count).map(seat).collect(),
            woken,
            round: (0..count).collect(),
            left: count,
            cleared: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the number of members that have neither completed nor panicked.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Returns whether the result has been returned.
    pub(super) fn is_cleared(&self) -> bool {
        self.cleared
    }

    /// Drops all members and their outputs: the result is about to be returned.
    pub(super) fn clear(&mut self) {
        self.cleared = true;
        self.left = 0;
        self.round.clear();
        self.members = Box::into_pin(Box::default());
    }

    /// Returns the member with this number.
    pub(super) fn member(&mut self, number: usize) -> Pin<&mut MaybeDone<F>> {
        // SAFETY: the members are pinned as a slice, which is never moved out of; so each of them is.
        unsafe {
            self.members
                .as_mut()
                .map_unchecked_mut(|members| &mut members[number])
        }
    }

    /// Polls the members that have been woken, and calls `finished` for each that has completed, until
    /// that returns a value.
    ///
    /// A panic of a member propagates. The others can be polled afterwards; that one is over.
    // D-SYNC-02
    pub(super) fn poll<R>(
        &mut self,
        cx: &mut Context<'_>,
        mut finished: impl FnMut(Pin<&mut MaybeDone<F>>) -> Option<R>,
    ) -> Poll<R> {
        if coop::poll_budget_available(cx).is_pending() {
            return Poll::Pending;
        }
        self.begin_round(cx.waker());
        while let Some(number) = self.round.pop_front() {
            let Seat { bell, waker, over } = &mut self.seats[number];
            if *over {
                continue;
            }
            // Acquire: see `Bell`. Before the poll, so that a wake-up from within counts.
            bell.on_the_list.swap(false, Ordering::AcqRel);
            let waker = waker.clone();
            // Assumes the end until the poll returns and says otherwise: it may panic.
            *over = true;
            self.left -= 1;
            let mut member = self.member(number);
            if member.as_mut().poll_done(&mut Context::from_waker(&waker)) {
                if let Some(result) = finished(member) {
                    return Poll::Ready(result);
                }
                self.seats[number]
                    .bell
                    .on_the_list
                    .store(true, Ordering::Relaxed);
            } else {
                self.seats[number].over = false;
                self.left += 1;
            }
            if !self.round.is_empty() && !coop::has_budget_remaining() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        Poll::Pending
    }

    /// Registers `task` to be woken for every member that is woken from now on, and adds those that
    /// were woken until now to the round.
    fn begin_round(&mut self, task: &Waker) {
        // Cloned before the lock is taken, and the old one dropped after it is released: see `Woken`.
        let task = task.clone();
        let mut woken = self.woken.lock();
        let old = woken.task.replace(task);
        self.round.extend(woken.list.drain(..));
        drop(woken);
        drop(old);
    }
}

impl<F: Future> fmt::Debug for Group<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("futures", &self.len())
            .finish_non_exhaustive()
    }
}
