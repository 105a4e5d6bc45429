//! Which of several things that could be next is.

use crate::choices::{Kind, Made};
use crate::draw::Stream;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// How the next of several tasks that are ready is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// The one that has been ready for longest.
    Fifo,
    /// Any, with the same probability.
    Random,
    /// By priorities that change at that many points of a run.
    Priorities(usize),
}

/// The choices of a run.
#[derive(Debug)]
pub(crate) struct Choose {
    policy: Policy,
    schedule: Stream,
    cost: Stream,
    priorities: Priorities,
    made: Rc<Made>,
}

/// Priorities of tasks, as in probabilistic concurrency testing by Burckhardt and others: each task has a random one, the
/// highest that is ready runs, and at a few points of a run the one that would run falls behind all others.
#[derive(Debug, Default)]
struct Priorities {
    /// By the id of the task: the higher is first.
    of: BTreeMap<u64, u64>,
    /// Polls until the next change.
    left: usize,
    changes: usize,
}

/// Polls within which the changes of priorities come.
const CHANGES_WITHIN: usize = 10_000;
/// How long each poll takes whose time is not drawn.
const USUAL_POLL: Duration = Duration::from_nanos(100);
/// Priorities of tasks that have fallen behind are below those that are drawn.
const BEHIND: u64 = 1 << 32;

impl Choose {
    pub(super) fn new(seed: u64, policy: Policy, made: Rc<Made>) -> Choose {
        let mut choose = Choose {
            policy,
            schedule: Stream::new(seed, "schedule"),
            cost: Stream::new(seed, "cost"),
            priorities: Priorities::default(),
            made,
        };
        if let Policy::Priorities(changes) = policy {
            choose.priorities.changes = changes;
            choose.set_next_change();
        }
        choose
    }

    fn set_next_change(&mut self) {
        let within = (CHANGES_WITHIN / self.priorities.changes.max(1)).max(1);
        self.priorities.left = 1 + self.schedule.below(within);
    }

    /// Chooses one of `n` that are in line. `id` tells which task each is, if that is known.
    pub(crate) fn task(&mut self, n: usize, id: &dyn Fn(usize) -> Option<u64>) -> usize {
        let drawn = match self.policy {
            _ if n < 2 => return 0,
            Policy::Fifo => return 0,
            Policy::Random => self.schedule.below(n),
            Policy::Priorities(_) => self.by_priority(n, id),
        };
        match self.made.is_usual(Kind::Schedule) {
            true => 0,
            false => drawn,
        }
    }

    fn by_priority(&mut self, n: usize, task_of: &dyn Fn(usize) -> Option<u64>) -> usize {
        let mut first = (0, None);
        for at in 0..n {
            let Some(id) = task_of(at) else {
                return self.schedule.below(n);
            };
            let schedule = &mut self.schedule;
            let draw = || BEHIND + (schedule.number() >> 1);
            let priority = *self.priorities.of.entry(id).or_insert_with(draw);
            if first.1.is_none_or(|(highest, _)| priority > highest) {
                first = (at, Some((priority, id)));
            }
        }
        self.priorities.left = self.priorities.left.saturating_sub(1);
        match first {
            (_, Some((_, id))) if self.priorities.left == 0 && self.priorities.changes > 0 => {
                self.priorities
                    .of
                    .insert(id, self.priorities.changes as u64);
                self.priorities.changes -= 1;
                self.set_next_change();
                self.by_priority(n, task_of)
            }
            (at, _) => at,
        }
    }

    /// Draws how long a poll takes: mostly a few hundred nanoseconds, at times up to 50 µs.
    pub(crate) fn poll(&mut self) -> Duration {
        let number = self.cost.number();
        // The number of leading zeros doubles the cost each time: half of all polls have none.
        let doublings = number.leading_zeros().min(9);
        let drawn = Duration::from_nanos((50 + (number & 63)) << doublings);
        match self.made.is_usual(Kind::Poll) {
            true => USUAL_POLL,
            false => drawn,
        }
    }
}
