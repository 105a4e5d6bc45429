//! Whose turn it is: the local queue's or the global one's. And when a tick has lasted long enough. The same for
//! both schedulers.

use super::adapt::Adapt;
use crate::sys::clock;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// A tick that took this long is followed by a look at the global queue.
pub(super) const LONG_TICK: Duration = Duration::from_micros(200);
/// Where polls are long, the global queue's turn lasts so long: a batch would be over in no time, and what
/// came in a burst would wait for several long polls.
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
    /// When that began; kept where polls are long.
    began: Cell<Instant>,
}

impl GlobalTurn {
    /// The first one comes after so many polls.
    pub(super) fn after(polls: u32) -> GlobalTurn {
        GlobalTurn {
            until: Cell::new(polls),
            taken: Cell::new(0),
            began: Cell::new(clock::now()),
        }
    }

    /// Is it the global queue's turn at the next poll? Otherwise that is counted.
    #[inline(always)]
    pub(super) fn is_now(&self) -> bool {
        let until = self.until.get();
        if until == 0 {
            return true;
        }
        self.until.set(until - 1);
        false
    }

    /// Has the present turn not begun yet?
    pub(super) fn begins(&self) -> bool {
        self.taken.get() == 0
    }

    /// So many tasks were fetched. The turn ends when they are `least` altogether, and where polls are long with
    /// its time.
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

    /// The turn is over.
    pub(super) fn end(&self, adapt: &Adapt) {
        self.taken.set(0);
        self.until.set(adapt.global_interval());
    }

    /// The global queue has waited long enough, whatever the number of polls.
    pub(super) fn hurry(&self) {
        self.until.set(0);
    }
}
