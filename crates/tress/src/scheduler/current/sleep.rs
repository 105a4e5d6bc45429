//! How the driving thread waits for something to do.

use super::Current;
use super::drive::Core;
use crate::runtime::Shared;
use crate::scheduler::call;
use crate::sys::clock;
use std::time::{Duration, Instant};

/// Looks at its wake-up token, while it spins, between two looks at its I/O.
const LOOKS_PER_TURN: u32 = 8;

impl Current {
    /// Waits for a wake-up or the next timer: nothing is left to run.
    pub(super) fn park(&self, shared: &Shared, core: &Core) {
        self.turn(core);
        if self.has_work(core) {
            return;
        }
        core.ended.set(None);
        call(&self.config.on_park);
        // The hook may have made something ready.
        if !self.has_work(core) {
            self.sleep(shared, core);
        }
        call(&self.config.on_unpark);
    }

    pub(super) fn has_work(&self, core: &Core) -> bool {
        !core.queue.borrow().is_empty()
            || !core.deferred.is_empty()
            || !self.inject.is_empty()
            || self.root.is_woken()
    }

    fn sleep(&self, shared: &Shared, core: &Core) {
        let rest = &self.station.rest;
        let due = self.station.timers.next_due();
        // A paused clock jumps instead of waiting, unless a token says that something has come.
        if due.is_some() {
            let until = |now| self.station.timers.until_next_due(now);
            if shared.clock.jump(until, || rest.is_notified()) {
                return;
            }
        }
        let timeout = match due {
            // While the clock is paused and may not jump, time stands still: wait to be notified.
            Some(_) if shared.clock.is_paused() => None,
            Some(due) => Some(due.saturating_duration_since(shared.clock.now())),
            None => None,
        };
        let start = clock::now();
        core.crowd.look(start);
        self.station.stats.park_unpark.bump();
        let short = timeout.is_some_and(|t| t < Duration::from_millis(1));
        if short || !self.spin(core, start) {
            // SAFETY: driving makes this thread the owner of the slab.
            unsafe { self.station.owner.tidy() };
            self.station.stats.count_park();
            let parked = clock::now();
            self.set_awake(false);
            core.recorder.park(|| rest.park(timeout));
            self.set_awake(true);
            let now = clock::now();
            core.spin.record_park(start, now);
            core.crowd.slept(now - parked);
        } else {
            self.station.stats.spin_hits.bump();
            rest.take_token();
        }
        self.station.stats.park_unpark.bump();
    }

    /// Looks around for a moment before sleeping. Returns true if there is something to do.
    fn spin(&self, core: &Core, start: Instant) -> bool {
        let rest = &self.station.rest;
        let mut looks = 0u32;
        core.crowd.may_spin()
            && core.spin.wait(start, || {
                looks += 1;
                if looks % LOOKS_PER_TURN == 0 && rest.has_io() {
                    rest.turn();
                    if self.has_work(core) {
                        return true;
                    }
                }
                rest.is_notified()
            })
    }
}
