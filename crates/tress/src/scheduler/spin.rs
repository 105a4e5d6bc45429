//! Decides whether to spin for a moment before parking.
//!
//! Waking a parked thread costs tens of microseconds on a virtual machine, so a worker whose waits have been short
//! lately looks around a little longer before it parks. It remembers how its last waits ended; unless half of the
//! last four were short it does not spin at all, so that an idle runtime uses no CPU, and one that works in bursts
//! little. At most one thread per two cores spins, over all runtimes of the process.
//!
//! It never yields to the kernel while it spins: on a machine with other work that gives the core away for a whole
//! time slice (4 ms measured), where a parked thread would have been woken at once. Nor does it spin on a machine
//! without cores to spare: see `pressure.rs`. A spin that lasted much longer than its window was preempted, and spinning
//! stops until two waits have been short again.

use crate::sys::atomic::Ordering;
use crate::sys::clock;
use crate::sys::plain::AtomicUsize;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Looks at the work between two looks at the clock.
const LOOKS: u32 = 16;
/// Processor pauses between two looks, so that other threads can write what is looked at.
const PAUSES: u32 = 4;
/// A spin that took this many windows was preempted.
const PREEMPTED: u32 = 4;
/// A parked wait that ended within this many windows would have been worth a spin: the window, and the time that the
/// wake-up itself took.
// D-SCHED-07
const SHORT_PARK: u32 = 3;

/// Threads spinning right now, in the whole process.
static SPINNERS: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct Spin {
    window: Duration,
    max_spinners: usize,
    /// One bit per wait, newest lowest: 1 if it was short.
    history: Cell<u8>,
}

impl Spin {
    pub(crate) fn new(window: Duration, cores: usize) -> Spin {
        Spin {
            window,
            max_spinners: cores / 2,
            history: Cell::new(0b11),
        }
    }

    fn pays(&self) -> bool {
        #[cfg(feature = "sim")]
        if crate::sys::sim::is_decided() {
            return false;
        }
        !self.window.is_zero() && (self.history.get() & 0b1111).count_ones() >= 2
    }

    pub(crate) fn record(&self, short: bool) {
        self.history.set(self.history.get() << 1 | u8::from(short));
    }

    /// Records a wait from `start` until `now` that ended in a park.
    pub(crate) fn record_park(&self, start: Instant, now: Instant) {
        self.record(now - start <= self.window * SHORT_PARK);
    }

    /// Calls `ready` until it returns true, and then returns true, or until the window is over, and then returns
    /// false. Returns false at once if spinning does not pay or enough other threads spin.
    pub(crate) fn wait(&self, start: Instant, mut ready: impl FnMut() -> bool) -> bool {
        if !self.pays() {
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
            spin.record_park(start, start + long);
        }
        assert!(!spin.pays());
        spin.record_park(start, start + short);
        assert!(!spin.pays());
        spin.record_park(start, start + long);
        spin.record_park(start, start + short);
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
