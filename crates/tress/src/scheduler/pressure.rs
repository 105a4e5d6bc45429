//! What a worker does less of where threads wait for CPUs.
//!
//! Spinning takes a CPU from a thread that could run on it, and so does a worker that is woken for what another one
//! could have done. Both pay where there are CPUs to spare, and cost where there are none. [`Crowd`] measures which
//! it is, and everything that follows from it is decided here:
//!
//! - whether a thread may spin before it sleeps: [`Crowd::may_spin`];
//! - whether a worker may wake another one: [`Pressure::may_wake_for_push`], [`Pressure::may_wake_for_queue`] and
//!   [`Pressure::copes_alone`]; and a thread that is no worker: [`Restraint::may_wake`];
//! - whether a worker that goes to sleep leaves its driver to another one, and until when: [`Restraint::lend`],
//!   [`Crowd::rest_until`].
//!
//! All but the first hold only where the runtime has I/O: tasks that do I/O mostly wait for other threads, which want
//! the CPUs; tasks that compute want the CPUs themselves.

mod crowd;

pub(crate) use crowd::Crowd;

use super::adapt::Adapt;
use super::rest::Rest;
use super::turn::LONG_POLL;
use crate::sys::Mutex;
use crate::sys::atomic::Ordering;
use crate::sys::clock;
use crate::sys::plain::AtomicUsize;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// A worker that holds back wakes another one only for a queue that will take this long.
const LONG_QUEUE: Duration = Duration::from_millis(1);
/// The least time between two such wake-ups: the worker that is woken takes the CPU of the one that wakes it, or of
/// a thread that its tasks wait for.
// D-PRES-03
const FIRST_INTERVAL: Duration = Duration::from_millis(5);
/// The interval doubles with each such wake-up, up to this.
const LONGEST_INTERVAL: Duration = Duration::from_millis(80);

const _: () = assert!(LONG_POLL.as_nanos() < LONG_QUEUE.as_nanos());
const _: () = assert!(LONG_QUEUE.as_nanos() < FIRST_INTERVAL.as_nanos());
const _: () = assert!(FIRST_INTERVAL.as_nanos() < LONGEST_INTERVAL.as_nanos());

/// The pressure that one worker is under.
// D-PRES-05
pub(super) struct Pressure {
    pub(super) crowd: Crowd,
    /// There is no CPU for another worker, and polls are short.
    holds_back: Cell<bool>,
    /// When it last woke another worker all the same, and how long it waits before it does so again.
    last_wake: Cell<Instant>,
    interval: Cell<Duration>,
}

impl Pressure {
    pub(super) fn new() -> Pressure {
        Pressure {
            crowd: Crowd::new(),
            holds_back: Cell::new(false),
            last_wake: Cell::new(clock::now()),
            interval: Cell::new(FIRST_INTERVAL),
        }
    }

    /// Measures, now and then, and decides what follows. Takes the worker's driver back if that was lent and there
    /// are CPUs to spare again.
    pub(super) fn look(&self, now: Instant, rest: &Rest, adapt: &Adapt, restraint: &Restraint) {
        self.crowd.look(now);
        if rest.was_relieved() {
            self.crowd.forget(now);
        }
        let crowded = !self.crowd.may_spin();
        let by_others = crowded && rest.had_io();
        let short = adapt.mean() < LONG_POLL;
        self.hold_back(
            short && (by_others || rest.keeps_others()),
            adapt,
            restraint,
        );
        if !crowded && rest.is_lent() {
            rest.take_back();
        }
    }

    /// May the worker wake another one for each task that it queues?
    #[inline]
    pub(super) fn may_wake_for_push(&self) -> bool {
        !self.holds_back.get()
    }

    /// May the worker wake another one for a long queue? If it holds back, this counts as a wake-up.
    pub(super) fn may_wake_for_queue(&self, now: Instant) -> bool {
        if self.holds_back.get() {
            let interval = self.interval.get();
            if now - self.last_wake.get() < interval {
                return false;
            }
            self.last_wake.set(now);
            self.interval.set((interval * 2).min(LONGEST_INTERVAL));
        }
        true
    }

    /// Is there no CPU for another worker, and so little in the ring that none is needed?
    #[inline]
    pub(super) fn copes_alone(&self, queued: u32, adapt: &Adapt, restraint: &Restraint) -> bool {
        if !self.holds_back.get() {
            return false;
        }
        let poll = adapt.mean();
        if poll >= LONG_POLL {
            self.hold_back(false, adapt, restraint);
        }
        poll < LONG_POLL && poll * queued < LONG_QUEUE
    }

    /// Sets whether other workers are woken for long queues only, by this worker and by threads that are none.
    // D-PRES-04
    pub(super) fn hold_back(&self, hold: bool, adapt: &Adapt, restraint: &Restraint) {
        if !hold && !self.holds_back.get() {
            return;
        }
        self.holds_back.set(hold);
        if !hold {
            self.interval.set(FIRST_INTERVAL);
        }
        let poll = adapt.mean().as_nanos().max(1);
        let tolerated = if hold {
            LONG_QUEUE.as_nanos() / poll
        } else {
            0
        };
        restraint.tolerate(tolerated as usize);
    }
}

/// What the workers of a runtime under pressure ask of each other, and of threads that are no workers.
pub(super) struct Restraint {
    /// Tasks that may wait in the global queue while one worker is awake. None, where there are CPUs to spare.
    tolerated: AtomicUsize,
    /// Held while a worker lends its driver.
    lending: Mutex<()>,
}

impl Restraint {
    pub(super) fn new() -> Restraint {
        Restraint {
            tolerated: AtomicUsize::new(0),
            lending: Mutex::new(()),
        }
    }

    pub(super) fn tolerate(&self, tasks: usize) {
        self.tolerated.store(tasks, Ordering::Relaxed);
    }

    /// May a thread that is no worker wake a second worker for this many tasks in the global queue?
    #[inline]
    pub(super) fn may_wake(&self, queued: usize) -> bool {
        queued >= self.tolerated.load(Ordering::Relaxed)
    }

    /// Has another worker look after the driver of the worker `index`, if one can. Returns whether one does. For the
    /// worker itself.
    pub(super) fn lend<'a>(
        &self,
        index: usize,
        workers: usize,
        rest_of: impl Fn(usize) -> &'a Rest,
    ) -> bool {
        let rest = rest_of(index);
        if rest.is_lent() {
            return true;
        }
        if !rest.had_io() {
            return false;
        }
        let _one_at_a_time = self.lending.lock();
        // A keeper does not lend, so that at least one worker sleeps in a driver.
        !rest.keeps_others()
            && (1..workers)
                .map(|further| (index + further) % workers)
                .map(|other| (other, rest_of(other)))
                .find(|(_, other)| other.has_io() && !other.is_lent())
                .is_some_and(|(number, keeper)| rest.lend(keeper, number))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn pressed() -> (Pressure, Adapt, Restraint) {
        let (pressure, adapt, restraint) =
            (Pressure::new(), Adapt::new(None, None), Restraint::new());
        pressure.hold_back(true, &adapt, &restraint);
        (pressure, adapt, restraint)
    }

    #[test]
    fn without_pressure_all_may_be_woken() {
        let (pressure, adapt, restraint) =
            (Pressure::new(), Adapt::new(None, None), Restraint::new());
        let now = Instant::now();
        assert!(pressure.may_wake_for_push() && restraint.may_wake(0));
        assert!((0..3).all(|_| pressure.may_wake_for_queue(now)));
        assert!(!pressure.copes_alone(1, &adapt, &restraint));
    }

    #[test]
    fn a_worker_that_holds_back_wakes_others_for_long_queues_at_growing_intervals() {
        let (pressure, adapt, restraint) = pressed();
        assert!(!pressure.may_wake_for_push());
        let mut last = pressure.last_wake.get();
        let mut wakes_after = |ms: u64| {
            let wait = Duration::from_millis(ms);
            assert!(!pressure.may_wake_for_queue(last + wait - Duration::from_nanos(1)));
            last += wait;
            assert!(pressure.may_wake_for_queue(last));
        };
        for ms in [5, 10, 20, 40, 80, 80] {
            wakes_after(ms);
        }
        pressure.hold_back(false, &adapt, &restraint);
        pressure.hold_back(true, &adapt, &restraint);
        wakes_after(5);
    }

    #[test]
    fn threads_that_are_no_workers_hold_back_as_well_and_no_longer() {
        let (pressure, adapt, restraint) = pressed();
        let tolerated = (LONG_QUEUE.as_nanos() / adapt.mean().as_nanos().max(1)) as usize;
        assert!(!restraint.may_wake(tolerated - 1) && restraint.may_wake(tolerated));
        pressure.hold_back(false, &adapt, &restraint);
        assert!(restraint.may_wake(0));
    }

    #[test]
    fn a_queue_of_a_millisecond_is_too_long_for_one() {
        let (pressure, adapt, restraint) = pressed();
        let short = (LONG_QUEUE.as_nanos() / adapt.mean().as_nanos().max(1)) as u32 - 1;
        assert!(pressure.copes_alone(short, &adapt, &restraint));
        assert!(!pressure.copes_alone(short + 2, &adapt, &restraint));
    }

    #[test]
    fn a_worker_whose_polls_have_become_long_holds_back_no_longer() {
        let (pressure, adapt, restraint) = pressed();
        while adapt.mean() < LONG_POLL {
            adapt.record(1, LONG_POLL * 4);
        }
        assert!(!pressure.copes_alone(1, &adapt, &restraint));
        assert!(pressure.may_wake_for_push() && restraint.may_wake(0));
    }
}
