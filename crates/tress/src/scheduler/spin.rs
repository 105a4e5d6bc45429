//! Whether to spin for a moment before parking.
//!
//! Waking a parked thread costs tens of microseconds on a virtual machine, so a worker whose waits
//! have been short lately looks around a little longer before it parks (seed 003's 4 tight rounds,
//! then yields, then block, made adaptive). It remembers how its last eight waits ended; if none of
//! the last four was short it does not spin at all, so that an idle runtime uses no CPU. At most
//! one thread in two cores spins, over all runtimes of the process.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Rounds without a system call.
const TIGHT: u32 = 4;
/// Looks per round.
const LOOKS: u32 = 16;
/// Processor pauses between two looks, so that what is looked at can also be written.
const PAUSES: u32 = 4;
/// A parked wait that ended within this would have been worth a spin: the window, and what the
/// wake-up itself took.
const SHORT_PARK: u32 = 3;

/// Threads spinning right now, in the whole process.
static SPINNERS: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct Spin {
    window: Duration,
    max_spinners: usize,
    /// One bit per wait, newest lowest: 1 = it ended within the window.
    history: Cell<u8>,
}

impl Spin {
    pub(crate) fn new(window: Duration, cores: usize) -> Spin {
        Spin {
            window,
            max_spinners: cores / 2,
            history: Cell::new(0b1),
        }
    }

    fn pays(&self) -> bool {
        !self.window.is_zero() && self.history.get() & 0b1111 != 0
    }

    pub(crate) fn record(&self, short: bool) {
        self.history.set(self.history.get() << 1 | u8::from(short));
    }

    /// Records a wait that ended in a park.
    pub(crate) fn record_park(&self, waited: Duration) {
        self.record(waited <= self.window * SHORT_PARK);
    }

    /// Looks with `ready` until it says yes (true) or the window is over (false). Returns false at
    /// once if spinning does not pay or enough others do.
    pub(crate) fn wait(&self, start: Instant, mut ready: impl FnMut() -> bool) -> bool {
        if !self.pays() {
            return false;
        }
        let others = SPINNERS.fetch_add(1, Ordering::Relaxed);
        let _leave = Leave;
        if others >= self.max_spinners {
            return false;
        }
        let mut round = 0;
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
            round += 1;
            if round > TIGHT {
                // Lets a thread run that has no core because of us.
                std::thread::yield_now();
            }
            if start.elapsed() >= self.window {
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
    fn stops_when_it_has_not_paid_for_four_waits() {
        let spin = Spin::new(Duration::from_micros(50), 8);
        assert!(spin.pays());
        for _ in 0..4 {
            spin.record_park(Duration::from_millis(1));
        }
        assert!(!spin.pays());
        spin.record_park(Duration::from_micros(100));
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
        assert_eq!(SPINNERS.load(Ordering::Relaxed), 0);
    }
}
