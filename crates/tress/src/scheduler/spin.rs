//! Whether to spin for a moment before parking.
//!
//! Waking a parked thread costs tens of microseconds on a virtual machine, so a worker whose waits
//! have been short lately looks around a little longer before it parks (seed 003's spin, made
//! adaptive). It remembers how its last waits ended; unless half of the last four were short it
//! does not spin at all, so that an idle runtime uses no CPU, and one that works in bursts little. At
//! most one thread per two cores spins, over all runtimes of the process.
//!
//! It never yields to the kernel while it spins, as seed 003 does: on a machine with other work that
//! gives the core away for a whole time slice (4 ms measured), where a parked thread would have been
//! woken at once. Nor does it spin on a machine without cores to spare: see `crowd.rs`. A spin that
//! lasted much longer than its window was preempted, and spinning stops until a wait has been short again.

use super::adapt::Adapt;
use super::crowd::Crowd;
use super::turn::LONG_TICK;
use crate::sys::atomic::Ordering;
use crate::sys::clock;
use crate::sys::plain::AtomicUsize;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Looks between two looks at the clock.
const LOOKS: u32 = 16;
/// Processor pauses between two looks, so that what is looked at can also be written.
const PAUSES: u32 = 4;
/// A spin that took this many windows was preempted.
const PREEMPTED: u32 = 4;
/// A parked wait that ended within this would have been worth a spin: the window, and what the
/// wake-up itself took.
// D-SCHED-07
const SHORT_PARK: u32 = 3;

/// Threads spinning right now, in the whole process.
static SPINNERS: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct Spin {
    window: Duration,
    max_spinners: usize,
    /// One bit per wait, newest lowest: 1 = it ended within the window.
    history: Cell<u8>,
    crowd: Crowd,
}

impl Spin {
    pub(crate) fn new(window: Duration, cores: usize) -> Spin {
        Spin {
            window,
            max_spinners: cores / 2,
            history: Cell::new(0b11),
            crowd: Crowd::new(),
        }
    }

    fn pays(&self) -> bool {
        !self.window.is_zero() && (self.history.get() & 0b1111).count_ones() >= 2
    }

    pub(crate) fn record(&self, short: bool) {
        self.history.set(self.history.get() << 1 | u8::from(short));
    }

    /// Looks, now and then, whether others want the core: spinning is off while they do.
    pub(crate) fn look_around(&self, now: Instant) {
        self.crowd.look(now);
    }

    /// One of the others has gone to rest.
    pub(crate) fn was_relieved(&self, now: Instant) {
        self.crowd.forget(now);
    }

    /// Takes in how long polls took, until now. Of what seems long, the time in which others had the core is taken
    /// off: a worker that is kept waiting would wake others, which keep it waiting.
    #[inline(always)]
    pub(super) fn record_polls(&self, adapt: &Adapt, polls: u32, took: Duration) {
        let took = if took >= LONG_TICK {
            self.crowd.on_core(took)
        } else {
            took
        };
        adapt.record(polls, took);
    }

    /// Until when they are believed to.
    pub(crate) fn crowded_until(&self) -> Option<Instant> {
        self.crowd.until()
    }

    /// Do others want the core?
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowd.is_crowded()
    }

    /// Records a wait that began at `start` and ended in a park, from `parked` until `now`.
    pub(crate) fn record_park(&self, start: Instant, parked: Instant, now: Instant) {
        self.record(now - start <= self.window * SHORT_PARK);
        self.crowd.slept(now - parked);
    }

    /// Looks with `ready` until it says yes (true) or the window is over (false). Returns false at
    /// once if spinning does not pay or enough others do.
    pub(crate) fn wait(&self, start: Instant, mut ready: impl FnMut() -> bool) -> bool {
        if !self.pays() || self.crowd.is_crowded() {
            return false;
        }
        let others = SPINNERS.fetch_add(1, Ordering::Relaxed);
        let _leave = Leave;
        if others >= self.max_spinners {
            return false;
        }
        loop {
            for _ in 0..LOOKS {
                if ready() {
                    self.record(true);
                    return true;
                }
                for _ in 0..PAUSES {
                    std::hint::spin_loop();
                }
            }
            let elapsed = clock::elapsed(start);
            if elapsed >= self.window {
                if elapsed >= self.window * PREEMPTED {
                    self.history.set(0);
                }
                return false;
            }
        }
    }
}

struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        SPINNERS.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn spins_while_half_of_the_waits_are_short() {
        let spin = Spin::new(Duration::from_micros(50), 8);
        let (short, long) = (Duration::from_micros(100), Duration::from_millis(1));
        assert!(spin.pays());
        let start = Instant::now();
        for _ in 0..4 {
            spin.record_park(start, start, start + long);
        }
        assert!(!spin.pays());
        spin.record_park(start, start, start + short);
        assert!(!spin.pays());
        spin.record_park(start, start, start + long);
        spin.record_park(start, start, start + short);
        assert!(spin.pays());
    }

    #[test]
    fn a_zero_window_never_spins() {
        let spin = Spin::new(Duration::ZERO, 8);
        assert!(!spin.wait(Instant::now(), || panic!("looked")));
    }

    #[test]
    fn one_core_never_spins() {
        let spin = Spin::new(Duration::from_millis(50), 1);
        assert!(!spin.wait(Instant::now(), || panic!("looked")));
    }
}
