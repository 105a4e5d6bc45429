//! When a worker wakes another one for what it has queued.

use super::{Core, Worker};
use crate::scheduler::multi::{Multi, Remote};
use crate::scheduler::turn::LONG_POLL;
use crate::sys::atomic::Ordering;
use crate::sys::clock;
use std::time::{Duration, Instant};

/// Where no core is to spare, another worker is woken only for a queue that will take this long,
const LONG_QUEUE: Duration = Duration::from_millis(1);
/// and not before so long after the last time: it takes the core of this one, or of whoever the tasks wait for.
// D-PRES-03
pub(super) const FIRST_HELP: Duration = Duration::from_millis(5);
/// Each time twice as long, and at most so long.
pub(super) const LONGEST_HELP: Duration = Duration::from_millis(80);

impl Core {
    /// Half of the ring has moved to the global queue.
    #[cold]
    pub(super) fn has_overflowed(&self, multi: &Multi, remote: &Remote) {
        remote.stats.overflows.bump();
        self.call_for_help(multi, clock::now());
    }

    /// Wakes another worker for a long queue, unless it holds back and has done so not long ago.
    pub(super) fn call_for_help(&self, multi: &Multi, now: Instant) {
        if self.holds_back.get() {
            let every = self.help_every.get();
            if now - self.last_help.get() < every {
                return;
            }
            self.last_help.set(now);
            self.help_every.set((every * 2).min(LONGEST_HELP));
        }
        multi.notify();
    }

    /// Sets whether others are woken for long queues only, by this worker and by those who are none.
    // D-PRES-04
    pub(super) fn hold_back(&self, multi: &Multi, hold: bool) {
        if !hold && !self.holds_back.get() {
            return;
        }
        self.holds_back.set(hold);
        if !hold {
            self.help_every.set(FIRST_HELP);
        }
        let poll = self.adapt.mean().as_nanos().max(1);
        let patience = LONG_QUEUE.as_nanos() / poll;
        let patience = if hold { patience as usize } else { 0 };
        multi.patience.store(patience, Ordering::Relaxed);
    }

    /// Is there no core for another worker, and so little in the ring that none is needed?
    #[inline]
    pub(super) fn copes_alone(&self, multi: &Multi, queued: u32) -> bool {
        if !self.holds_back.get() {
            return false;
        }
        let poll = self.adapt.mean();
        if poll >= LONG_POLL {
            self.hold_back(multi, false);
        }
        poll < LONG_POLL && poll * queued < LONG_QUEUE
    }
}

impl Worker {
    /// Is there a core to spare?
    // D-PRES-05
    pub(super) fn look_around(&self, core: &Core, remote: &Remote, now: Instant) {
        core.spin.look_around(now);
        if remote.rest.was_relieved() {
            core.spin.was_relieved(now);
        }
        let crowded = core.spin.is_crowded();
        let short = core.adapt.mean() < LONG_POLL;
        // Tasks that do I/O mostly wait for others, who want the cores; those that compute want them.
        let crowded_by_others = crowded && remote.rest.had_io();
        core.hold_back(
            self.multi(),
            short && (crowded_by_others || remote.rest.keeps_others()),
        );
        if !crowded && remote.rest.is_lent() {
            remote.rest.take_back();
        }
    }
}
