//! The cheapest clock that all processors agree on.
//!
//! On x86-64 with an invariant time-stamp counter, and on AArch64, that is the processor's counter, read
//! by one instruction without a call (12 ns against 31 ns for the system's clock on the machine this
//! was built on); elsewhere the system's monotonic clock. A counter's rate is found by comparing it with
//! the system's clock over the time between the first use and the export, so nothing has to be calibrated
//! before the first event.

use super::{elapsed, now};
use crate::thread;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[path = "tsc.rs"]
mod counter;
#[cfg(all(target_arch = "aarch64", not(miri)))]
#[path = "cntvct.rs"]
mod counter;
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
#[path = "none.rs"]
mod counter;

/// Shortest time over which a counter is compared with the system's clock: an error of a microsecond
/// in reading the two is then one in two thousand.
const BASE: Duration = Duration::from_millis(2);

/// A moment on both clocks.
struct Anchor {
    count: u64,
    at: Instant,
    counter: bool,
}

/// Returns the nanoseconds of virtual time on a thread of a simulation, where the counter would tell real time.
#[cfg(feature = "sim")]
use crate::sim::nanos as simulated;

#[cfg(not(feature = "sim"))]
#[inline(always)]
fn simulated() -> Option<u64> {
    None
}

#[inline]
fn anchor() -> &'static Anchor {
    static ANCHOR: OnceLock<Anchor> = OnceLock::new();
    ANCHOR.get_or_init(|| {
        let counter = counter::is_steady();
        Anchor {
            count: if counter { counter::read() } else { 0 },
            at: now(),
            counter,
        }
    })
}

/// The writer's end: reads the clock for events.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    counter: bool,
}

impl Clock {
    /// Creates the end of a thread that writes. The first also begins to compare the counter with the system's clock.
    #[inline]
    pub fn new() -> Clock {
        Clock {
            counter: simulated().is_none() && anchor().counter,
        }
    }

    /// Returns the clock's count, of whatever it counts.
    #[inline]
    pub fn now(self) -> u64 {
        if self.counter {
            counter::read()
        } else {
            simulated().unwrap_or_else(|| elapsed(anchor().at).as_nanos() as u64)
        }
    }
}

/// The reader's end: what a count means.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    zero: u64,
    ns_per_count: f64,
}

impl Scale {
    /// Compares the clocks; waits for two milliseconds if they were first read just now.
    pub fn measure() -> Scale {
        const NANOSECONDS: Scale = Scale {
            zero: 0,
            ns_per_count: 1.0,
        };
        if simulated().is_some() {
            return NANOSECONDS;
        }
        let anchor = anchor();
        if !anchor.counter {
            return NANOSECONDS;
        }
        loop {
            let (count, elapsed) = (counter::read(), elapsed(anchor.at));
            if elapsed >= BASE {
                let counts = count.wrapping_sub(anchor.count).max(1);
                return Scale {
                    zero: anchor.count,
                    ns_per_count: elapsed.as_nanos() as f64 / counts as f64,
                };
            }
            thread::sleep(BASE - elapsed);
        }
    }

    /// Returns the nanoseconds from the clock's first use to `count`.
    #[inline]
    pub fn at(&self, count: u64) -> u64 {
        self.length(count.saturating_sub(self.zero))
    }

    /// Returns the count at this time after the clock's first use.
    #[inline]
    pub fn count_at(&self, at: Duration) -> u64 {
        self.zero.saturating_add(self.counts(at))
    }

    /// Returns the nanoseconds that this number of counts takes.
    #[inline]
    pub fn length(&self, counts: u64) -> u64 {
        (counts as f64 * self.ns_per_count) as u64
    }

    /// Returns the number of counts in this time.
    #[inline]
    pub fn counts(&self, time: Duration) -> u64 {
        (time.as_nanos() as f64 / self.ns_per_count) as u64
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_systems_clock() {
        let clock = Clock::new();
        let (from, start) = (clock.now(), now());
        while elapsed(start) < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let (to, elapsed) = (clock.now(), elapsed(start));
        let measured = Scale::measure().length(to - from) as f64;
        let ratio = measured / elapsed.as_nanos() as f64;
        // A thread that was interrupted between two reads makes them differ.
        assert!((0.8..1.25).contains(&ratio), "{ratio}");
    }

    #[test]
    fn times_and_counts_belong_together() {
        let scale = Scale::measure();
        let at = scale.at(Clock::new().now());
        let back = scale.at(scale.count_at(Duration::from_nanos(at)));
        assert!(at.abs_diff(back) <= 1 + at / 1_000_000_000);
        assert_eq!(scale.count_at(Duration::MAX), u64::MAX);
    }

    #[test]
    fn goes_on() {
        let clock = Clock::new();
        let scale = Scale::measure();
        let mut last = 0;
        for _ in 0..1000 {
            let now = scale.at(clock.now());
            assert!(now >= last);
            last = now;
        }
    }
}
