//! Decides whose turn it is, the local queue's or the global one's, and when a tick has lasted long enough; for both
//! schedulers.

use super::adapt::Adapt;
use crate::sys::clock;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// A tick that took this long is followed by a look at the global queue.
pub(super) const LONG_TICK: Duration = Duration::from_micros(200);
/// How long the global queue's turn lasts where polls are long: a batch would soon be over, and tasks that came in a
/// burst would wait for several long polls.
// D-SCHED-10
const GLOBAL_TURN: Duration = LONG_TICK;
/// Polls that take this long on average are long.
pub(super) const LONG_POLL: Duration = Duration::from_micros(100);

/// The global queue's turns of one worker.
pub(super) struct GlobalTurn {
    /// Polls until the next one.
    until: Cell<u32>,
    /// Tasks fetched in the present one.
    taken: Cell<u32>,
    /// When the present turn began; kept where polls are long.
    began: Cell<Instant>,
}

impl GlobalTurn {
    /// Creates one whose first turn comes after `polls` polls.
    pub(super) fn after(polls: u32) -> GlobalTurn {
        GlobalTurn {
            until: Cell::new(polls),
            taken: Cell::new(0),
            began: Cell::new(clock::now()),
        }
    }

    /// Returns whether the next poll is the global queue's turn. If not, counts that poll.
    #[inline(always)]
    pub(super) fn is_now(&self) -> bool {
        let until = self.until.get();
        if until == 0 {
            return true;
        }
        self.until.set(until - 1);
        false
    }

    /// Returns whether the present turn has yet to begin.
    pub(super) fn begins(&self) -> bool {
        self.taken.get() == 0
    }

    /// Notes that `taken` tasks were fetched. The turn ends once it has had `least` of them and, where polls are
    /// long, its time is over.
    pub(super) fn took(&self, taken: u32, least: u32, adapt: &Adapt) {
        let now = (adapt.average() >= LONG_POLL).then(clock::now);
        let before = self.taken.get();
        if let (0, Some(now)) = (before, now) {
            self.began.set(now);
        }
        let had_its_time = now.is_none_or(|now| now - self.began.get() >= GLOBAL_TURN);
        if before + taken >= least && had_its_time {
            self.end(adapt);
        } else {
            self.taken.set(before + taken);
        }
    }

    /// Ends the turn.
    pub(super) fn end(&self, adapt: &Adapt) {
        self.end_until(adapt.global_interval());
    }

    /// Ends the turn. The next one comes after `polls` polls.
    pub(super) fn end_until(&self, polls: u32) {
        self.taken.set(0);
        self.until.set(polls);
    }

    /// Makes it the global queue's turn at once: it has waited long enough, whatever the number of polls.
    pub(super) fn hurry(&self) {
        self.until.set(0);
    }
}
