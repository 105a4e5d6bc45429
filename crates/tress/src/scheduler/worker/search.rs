//! What a worker that has run dry does: it looks for work elsewhere, spins, and parks.

use super::{Core, Worker};
use crate::scheduler::call;
use crate::scheduler::idle::Unparked;
use crate::scheduler::multi::{Multi, Remote};
use crate::sys::clock;
use crate::task::Ready;
use std::time::Instant;

/// Looks of a spinning thief at its own mail and I/O between two looks at the others' queues, which slow down the
/// threads that use those.
const LOOKS_PER_SCAN: u32 = 8;

/// What a spin ended with.
enum Spun {
    Nothing,
    /// There is something to do; the worker's next round will find it.
    Something,
    Task(Ready),
}

impl Worker {
    /// Searches, spins and parks: nothing is left locally. Returns the task that was found, if any, and the time at
    /// which the next tick begins.
    #[cold]
    pub(super) fn find_work_or_park(
        &self,
        core: &Core,
        multi: &Multi,
        remote: &Remote,
        awake_since: Instant,
    ) -> (Option<Ready>, Instant) {
        let start = clock::now();
        let awake = start - awake_since;
        remote.stats.busy_ns.add(awake.as_nanos() as u64);
        core.pressure
            .look(start, &remote.rest, &core.adapt, &multi.restraint);
        if remote.rest.has_io() {
            // Its own I/O goes before others' tasks.
            remote.rest.turn();
            core.last_turn.set(start);
            if remote.queue_depth() > 0 {
                return (None, start);
            }
        }
        if !core.searching.get() && multi.idle.try_search() {
            core.searching.set(true);
        }
        if core.searching.get() {
            let stealing = multi.config.stealing;
            if let Some(task) = stealing.then(|| core.steal(multi, remote, 2)).flatten() {
                return (Some(task), start);
            }
            match self.spin(core, multi, remote, start) {
                Spun::Nothing => {}
                Spun::Something => return (None, clock::now()),
                Spun::Task(task) => return (Some(task), clock::now()),
            }
            if let Some(task) = stealing.then(|| core.steal(multi, remote, 1)).flatten() {
                return (Some(task), clock::now());
            }
        }
        (None, self.park(core, multi, remote, start))
    }

    /// Looks around for a moment before parking. Only a searcher does: others wake no worker because of it.
    fn spin(&self, core: &Core, multi: &Multi, remote: &Remote, start: Instant) -> Spun {
        let mut seen = core.seen.borrow_mut();
        seen.clear();
        if multi.config.stealing {
            seen.extend(multi.remotes.iter().map(|r| (r.stats.polled.get(), start)));
        }
        let due = remote.timers.next_due();
        let mut looks = 0;
        let mut task = None;
        let found = core.pressure.crowd.may_spin()
            && core.spin.wait(start, || {
                let mail = !multi.inject.is_empty() || !remote.mail.is_empty();
                if mail || remote.rest.is_notified() || multi.is_closing() {
                    return true;
                }
                // Its own I/O each time: there is nobody whom that slows down.
                if remote.rest.has_io() {
                    remote.rest.turn();
                    if remote.queue_depth() > 0 {
                        return true;
                    }
                }
                looks += 1;
                if looks % LOOKS_PER_SCAN != 0 {
                    return false;
                }
                let now = clock::now();
                task = core.scan(multi, remote, now, &mut seen);
                task.is_some() || due.is_some_and(|due| now >= due)
            });
        match (found, task) {
            (_, Some(task)) => {
                remote.stats.spin_hits.bump();
                Spun::Task(task)
            }
            (true, None) => {
                // Subtle: a token that stayed would end every later spin at once, and the worker
                // would never get to the park that takes it.
                remote.rest.take_token();
                remote.stats.spin_hits.bump();
                Spun::Something
            }
            (false, None) => Spun::Nothing,
        }
    }

    fn park(&self, core: &Core, multi: &Multi, remote: &Remote, start: Instant) -> Instant {
        // SAFETY: the core makes this thread the owner of its slab.
        unsafe { remote.owner.tidy() };
        multi.idle.park(core.index, core.searching.take());
        // From here on a thread that queues work sees us parked, or we see the work.
        if core.work_in_sight(multi) || !remote.mail.is_empty() || multi.is_closing() {
            // Subtle: it comes out as a searcher, whichever thread took it out. Producers that saw it searching woke
            // no worker; when it takes one of their tasks it must look after the others.
            multi.idle.claim_worker(core.index);
            core.searching.set(true);
            multi.watch();
            return clock::now();
        }
        call(&multi.config.on_park);
        let parked = clock::now();
        // The hook may have made something ready. In our own slot no other worker would see it.
        if remote.queue_depth() == 0 {
            let mut due = remote.timers.next_due();
            if let Some(until) = core.pressure.crowd.rest_until() {
                if multi.lend(core.index) {
                    // Then it is time to look again.
                    due = Some(due.map_or(until, |due| due.min(until)));
                }
            }
            let timeout = due.map(|due| due.saturating_duration_since(parked));
            remote.stats.count_park();
            remote.stats.park_unpark.bump();
            core.recorder.park(|| remote.rest.park(timeout));
            remote.stats.park_unpark.bump();
        }
        call(&multi.config.on_unpark);
        if multi.idle.unpark(core.index) == Unparked::Claimed {
            core.searching.set(true);
        }
        multi.watch();
        let now = clock::now();
        core.spin.record_park(start, now);
        core.pressure.crowd.slept(now - parked);
        now
    }
}
