//! How often a worker looks beyond its own queue, from how long its polls take.

use std::cell::Cell;
use std::time::Duration;

/// Maximum number of polls in a tick.
// D-SCHED-08
pub(crate) const MAX_TICK: u32 = 128;
/// A task in the global queue, or the future of a current-thread `block_on`, should not wait longer than this behind
/// the local queue.
pub(super) const WAIT: Duration = Duration::from_millis(1);
/// A tick should not last longer than a fifth of that, 200 µs: timers and I/O wait for its end.
const TICKS_IN_A_WAIT: u64 = 5;
/// Maximum number of polls between two turns of the global queue. The minimum is 1: polls may take a millisecond.
const MAX_INTERVAL: u32 = 255;
/// Average assumed before anything was measured, for an interval of 20.
const INITIAL_NS: u64 = 50_000;

/// How long polls must stay short until long ones are forgotten.
const HORIZON_NS: u64 = 5_000_000;
/// The least time that a tick counts for when the average falls.
const LEAST_NS: u64 = 1_000;
/// The most time that a tick counts for: ten seconds.
const LONGEST_NS: u64 = 10_000_000_000;
/// The number of polls, roughly, that the mean is taken over.
const MEAN_OF: u64 = 256;

pub(crate) struct Adapt {
    /// Moving average of the time a poll takes, which rises sooner than it falls.
    average_ns: Cell<u64>,
    /// The plain mean.
    mean_ns: Cell<u64>,
    /// What follows from the average where nothing is fixed: see the functions of the same names.
    in_a_wait: Cell<u32>,
    tick: Cell<u32>,
    fixed_interval: Option<u32>,
    fixed_tick: Option<u32>,
    most_interval: u32,
    most_tick: u32,
}

impl Adapt {
    pub(crate) fn new(fixed_interval: Option<u32>, fixed_tick: Option<u32>) -> Adapt {
        Adapt::starting_at(
            INITIAL_NS,
            (fixed_interval, fixed_tick),
            (MAX_INTERVAL, MAX_TICK),
        )
    }

    /// As `new`, for a scheduler that keeps values that are not fixed at or below these, and begins with them: it
    /// takes polls for short until it has seen long ones.
    pub(crate) fn at_most(
        fixed_interval: Option<u32>,
        fixed_tick: Option<u32>,
        most_interval: u32,
        most_tick: u32,
    ) -> Adapt {
        Adapt::starting_at(
            WAIT.as_nanos() as u64 / TICKS_IN_A_WAIT / u64::from(most_tick),
            (fixed_interval, fixed_tick),
            (most_interval, most_tick),
        )
    }

    fn starting_at(
        average_ns: u64,
        (fixed_interval, fixed_tick): (Option<u32>, Option<u32>),
        (most_interval, most_tick): (u32, u32),
    ) -> Adapt {
        let adapt = Adapt {
            average_ns: Cell::new(average_ns),
            mean_ns: Cell::new(average_ns),
            in_a_wait: Cell::new(0),
            tick: Cell::new(0),
            fixed_interval,
            fixed_tick,
            most_interval,
            most_tick,
        };
        adapt.follow();
        adapt
    }

    /// Derives interval and tick from the average, which has changed.
    fn follow(&self) {
        let polls = WAIT.as_nanos() as u64 / self.average_ns.get();
        let in_a_wait = polls.clamp(1, u64::from(MAX_INTERVAL));
        self.in_a_wait.set(in_a_wait as u32);
        let tick = (polls / TICKS_IN_A_WAIT).clamp(1, u64::from(self.most_tick));
        self.tick.set(tick as u32);
    }

    /// Records a tick of `polls` polls: `new = 0.1 * sample + 0.9 * old`, but a short tick lowers the average only by
    /// its share of `HORIZON_NS`. Otherwise a burst of forty tiny tasks among others that take a millisecond would
    /// make the next tick forty of those.
    pub(crate) fn record(&self, polls: u32, took: Duration) {
        if polls == 0 {
            return;
        }
        // Caps the time, so that nothing overflows below.
        let took = took.as_nanos().min(u128::from(LONGEST_NS)) as u64;
        let sample = if polls == 1 {
            took
        } else {
            took / u64::from(polls)
        };
        let old = self.average_ns.get();
        let new = if sample >= old {
            // In integers, rounding up, so that the average can rise from 1.
            old + (sample - old).div_ceil(10)
        } else {
            let weight = took.clamp(LEAST_NS, HORIZON_NS / 10);
            old - ((old - sample) * weight).div_ceil(HORIZON_NS)
        };
        if new != old {
            self.average_ns.set(new.max(1));
            self.follow();
        }
        let polls = u64::from(polls).min(MEAN_OF);
        let mean = (self.mean_ns.get() * (MEAN_OF - polls) + sample * polls) / MEAN_OF;
        self.mean_ns.set(mean.max(1));
    }

    /// Polls after which the global queue goes before the local one.
    // D-SCHED-15
    pub(crate) fn global_interval(&self) -> u32 {
        self.fixed_interval
            .unwrap_or_else(|| self.in_a_wait().min(self.most_interval))
    }

    /// Returns whether polls are so short that the number of polls decides alone when the global queue is asked.
    pub(crate) fn counts_polls(&self) -> bool {
        self.in_a_wait() >= self.most_interval
    }

    /// Polls that a task outside of the local queue may have to wait for: about a [`WAIT`]'s worth.
    fn in_a_wait(&self) -> u32 {
        self.in_a_wait.get()
    }

    /// Polls in a tick.
    pub(crate) fn tick(&self) -> u32 {
        self.fixed_tick.unwrap_or(self.tick.get())
    }

    #[inline]
    pub(crate) fn average_ns(&self) -> u64 {
        self.average_ns.get()
    }

    /// Estimates how long the next poll may take: a few long ones count for more than many short ones.
    pub(crate) fn average(&self) -> Duration {
        Duration::from_nanos(self.average_ns.get())
    }

    /// Estimates how long a poll takes on average, to tell how long many will.
    pub(crate) fn mean(&self) -> Duration {
        Duration::from_nanos(self.mean_ns.get())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Returns one that has recorded polls of this length until they changed nothing.
    fn settled(poll: Duration) -> Adapt {
        settle(Adapt::new(None, None), poll)
    }

    fn settle(adapt: Adapt, poll: Duration) -> Adapt {
        loop {
            let before = adapt.average();
            adapt.record(100, poll * 100);
            if adapt.average() == before {
                return adapt;
            }
        }
    }

    #[test]
    fn the_seeds_table() {
        assert_eq!(Adapt::new(None, None).global_interval(), 20);
        for (us, interval) in [(1, 255), (10, 100), (50, 20), (100, 10), (1000, 1)] {
            let adapt = settled(Duration::from_micros(us));
            let got = adapt.global_interval();
            // The integer average stops a little above its goal.
            assert!(
                got.abs_diff(interval) <= 1,
                "{us} us: {got}, not {interval}"
            );
        }
    }

    #[test]
    fn a_smaller_most_is_kept() {
        let current = || Adapt::at_most(None, None, 31, 61);
        assert_eq!((current().global_interval(), current().tick()), (31, 61));
        let adapt = settle(current(), Duration::from_micros(1));
        assert_eq!((adapt.global_interval(), adapt.tick()), (31, 61));
        assert_eq!(adapt.in_a_wait(), 255);
        let adapt = settle(current(), Duration::from_millis(1));
        assert_eq!((adapt.global_interval(), adapt.tick()), (1, 1));
        assert_eq!(adapt.in_a_wait(), 1);
    }

    #[test]
    fn long_polls_shorten_the_tick() {
        assert_eq!(settled(Duration::from_nanos(100)).tick(), 128);
        assert!(settled(Duration::from_micros(10)).tick() <= 20);
        assert_eq!(settled(Duration::from_millis(1)).tick(), 1);
    }

    #[test]
    fn one_outlier_moves_it_by_a_tenth() {
        let adapt = settled(Duration::from_micros(10));
        adapt.record(1, Duration::from_micros(110));
        assert!(adapt.average() <= Duration::from_micros(21));
    }

    /// Short tasks come in bursts among tasks that take a millisecond: the next tick must not consist of many of the
    /// long ones.
    #[test]
    #[cfg_attr(miri, ignore = "arithmetic only, thirty thousand times")]
    fn a_burst_of_tiny_polls_does_not_make_long_ones_forgotten() {
        let adapt = settled(Duration::from_millis(1));
        for _ in 0..200 {
            adapt.record(1, Duration::from_micros(1));
        }
        assert_eq!(adapt.tick(), 1);
        // They are forgotten once only short ones have come for a while.
        for _ in 0..30_000 {
            adapt.record(1, Duration::from_micros(1));
        }
        assert_eq!(adapt.tick(), 128);
    }

    /// A few long polls do not make many tiny ones seem long on the whole.
    #[test]
    fn the_mean_is_not_moved_by_a_few_long_polls() {
        let adapt = settled(Duration::from_micros(2));
        assert_eq!(adapt.mean(), Duration::from_micros(2));
        for _ in 0..100 {
            adapt.record(1, Duration::from_millis(1));
            adapt.record(128, Duration::from_micros(2) * 128);
        }
        assert!(adapt.average() >= Duration::from_micros(500));
        let mean = adapt.mean().as_micros();
        assert!((5..=15).contains(&mean), "{mean} us");
    }

    #[test]
    fn the_longest_poll_overflows_nothing() {
        let adapt = Adapt::new(None, None);
        for _ in 0..1000 {
            adapt.record(1, Duration::MAX);
            adapt.record(u32::MAX, Duration::MAX);
        }
        assert_eq!((adapt.tick(), adapt.in_a_wait()), (1, 1));
        adapt.record(1, Duration::ZERO);
        assert!(adapt.average() <= Duration::from_secs(10));
    }

    #[test]
    fn an_empty_tick_changes_nothing() {
        let adapt = Adapt::new(None, None);
        adapt.record(0, Duration::from_secs(9));
        assert_eq!(adapt.average(), Duration::from_nanos(INITIAL_NS));
    }

    #[test]
    #[cfg_attr(miri, ignore = "arithmetic only, sixteen thousand times")]
    fn zero_length_polls_do_not_divide_by_zero() {
        let adapt = settled(Duration::ZERO);
        assert_eq!(adapt.global_interval(), 255);
    }
}
