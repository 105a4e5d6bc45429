//! Clocks: repeat until enough time has passed, burn CPU, read the process's CPU time.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::case::Plan;

/// Counts operations through a warm-up, which it forgets, and a measured stretch.
pub struct Meter {
    measure: Duration,
    /// What is left of the warm-up; `None` once it is over.
    warm_up: Option<Duration>,
    started: Instant,
    ops: u64,
    total: u64,
    elapsed: Duration,
}

impl Meter {
    pub fn new(plan: &Plan) -> Self {
        Meter {
            measure: plan.measure,
            warm_up: Some(plan.warm_up),
            started: Instant::now(),
            ops: 0,
            total: 0,
            elapsed: Duration::ZERO,
        }
    }

    /// Takes note of `ops` more operations. Says whether to go on.
    pub fn lap(&mut self, ops: u64) -> bool {
        let now = Instant::now();
        self.ops += ops;
        self.total += ops;
        self.elapsed = now - self.started;
        match self.warm_up {
            Some(limit) => {
                if self.elapsed >= limit {
                    self.warm_up = None;
                    self.started = now;
                    self.ops = 0;
                    self.elapsed = Duration::ZERO;
                }
                true
            }
            None => self.elapsed < self.measure,
        }
    }

    /// Takes the time since the last lap out of the measurement.
    pub fn resume(&mut self) {
        self.started = Instant::now() - self.elapsed;
    }

    /// Mean time of an operation of the measured stretch.
    pub fn ns_per_op(&self) -> f64 {
        self.elapsed.as_nanos() as f64 / self.ops as f64
    }

    /// All operations, those of the warm-up included: what the checks are about.
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// Keeps this CPU busy for `duration`.
pub fn burn(duration: Duration) {
    burn_until(Instant::now() + duration);
}

/// Keeps this CPU busy until `end`.
pub fn burn_until(end: Instant) {
    while Instant::now() < end {}
}

/// User and system time of all threads of this process.
pub fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warm_up_counts_for_the_checks_only() {
        let plan = Plan {
            warm_up: Duration::ZERO,
            measure: Duration::ZERO,
            ..Plan::tiny(1)
        };
        let mut meter = Meter::new(&plan);
        assert!(meter.lap(10), "the warm-up is never the end");
        assert!(!meter.lap(3));
        assert_eq!((meter.total(), meter.ops), (13, 3));
        assert!(meter.ns_per_op().is_finite());
    }

    #[test]
    fn what_happens_before_a_resume_is_not_measured() {
        let mut meter = Meter::new(&Plan::tiny(1));
        let started = meter.started;
        burn(Duration::from_millis(2));
        meter.resume();
        assert!(meter.started >= started + Duration::from_millis(2));
    }
}
