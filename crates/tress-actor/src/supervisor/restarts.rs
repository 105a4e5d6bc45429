//! The number of restarts, and the delay before each.

use crate::sys::SeedGenerator;
use std::collections::VecDeque;
use std::time::Duration;
use tress::time::Instant;

/// The delay before a restart: it grows with each failure, up to a limit, and varies at random so that many
/// children do not restart at the same moment.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use tress_actor::Backoff;
///
/// // 100 ms, 200 ms, 400 ms, …, at most 10 s, each up to a tenth shorter or longer.
/// let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10)).factor(2.0).jitter(0.1);
/// # let _ = backoff;
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    initial: Duration,
    most: Duration,
    factor: f64,
    jitter: f64,
}

impl Backoff {
    /// Creates a backoff without any delay.
    pub const fn none() -> Backoff {
        Backoff::new(Duration::ZERO, Duration::ZERO)
    }

    /// Creates a backoff that begins at `initial` and doubles with each failure, up to `most`, with a jitter of
    /// a tenth.
    pub const fn new(initial: Duration, most: Duration) -> Backoff {
        Backoff {
            initial,
            most,
            factor: 2.0,
            jitter: 0.1,
        }
    }

    /// Sets the factor by which the delay grows with each failure, 2 by default.
    ///
    /// # Panics
    /// If `factor` is less than 1, or not a number.
    #[must_use]
    pub fn factor(mut self, factor: f64) -> Backoff {
        assert!(factor >= 1.0, "a delay that shrinks is no backoff");
        self.factor = factor;
        self
    }

    /// Sets the fraction by which the delay is shortened or lengthened at random, 0.1 by default.
    ///
    /// # Panics
    /// If `jitter` is not between 0 and 1.
    #[must_use]
    pub fn jitter(mut self, jitter: f64) -> Backoff {
        assert!((0.0..=1.0).contains(&jitter), "a part is between 0 and 1");
        self.jitter = jitter;
        self
    }

    /// The delay after this number of failures in a row; `random` is between 0 and 1.
    fn delay(&self, failures: u32, random: f64) -> Duration {
        if self.initial.is_zero() {
            return Duration::ZERO;
        }
        let exponent = i32::try_from(failures.saturating_sub(1)).unwrap_or(i32::MAX);
        let grown = self.initial.as_secs_f64() * self.factor.powi(exponent);
        let bounded = grown.min(self.most.as_secs_f64());
        let varied = bounded * (1.0 + self.jitter * (2.0 * random - 1.0));
        Duration::try_from_secs_f64(varied).unwrap_or(Duration::MAX)
    }
}

/// Number of restarts that are remembered if there is no limit: enough for any delay to reach its maximum.
const UNLIMITED: usize = 1024;

/// The recent restarts of a supervisor.
pub(super) struct Restarts {
    most: usize,
    within: Duration,
    backoff: Backoff,
    times: VecDeque<Instant>,
}

impl Restarts {
    pub(super) fn new(most: usize, within: Duration, backoff: Backoff) -> Restarts {
        Restarts {
            most,
            within,
            backoff,
            times: VecDeque::new(),
        }
    }

    /// Counts a restart. Returns the delay before it, or `None` if there are too many.
    pub(super) fn another(&mut self, now: Instant) -> Option<Duration> {
        while let Some(&oldest) = self.times.front() {
            if now.saturating_duration_since(oldest) <= self.within {
                break;
            }
            self.times.pop_front();
        }
        if self.most == usize::MAX && self.times.len() == UNLIMITED {
            self.times.pop_front();
        }
        if self.times.len() == self.most {
            return None;
        }
        self.times.push_back(now);
        let random = SeedGenerator::entropy() as f64 / u64::MAX as f64;
        Some(self.backoff.delay(self.times.len() as u32, random))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_their_bound_and_vary() {
        let ms = Duration::from_millis;
        let backoff = Backoff::new(ms(100), ms(1000)).factor(2.0).jitter(0.5);
        let middle = |failures| backoff.delay(failures, 0.5);
        assert_eq!(
            [1, 2, 3, 4, 5, 99].map(middle),
            [100, 200, 400, 800, 1000, 1000].map(ms)
        );
        assert_eq!(
            (backoff.delay(1, 0.0), backoff.delay(1, 1.0)),
            (ms(50), ms(150))
        );
        assert_eq!(Backoff::none().delay(9, 1.0), Duration::ZERO);
    }

    #[test]
    fn a_delay_is_as_long_as_there_can_be() {
        let forever = Backoff::new(Duration::MAX, Duration::MAX);
        assert_eq!(forever.delay(1, 1.0), Duration::MAX);
        assert_eq!(forever.delay(u32::MAX, 0.5), Duration::MAX);
        let steep = Backoff::new(Duration::from_secs(1), Duration::from_secs(9));
        let steep = steep.factor(f64::INFINITY).jitter(0.0);
        assert_eq!(steep.delay(u32::MAX, 0.0), Duration::from_secs(9));
        let none = Backoff::new(Duration::ZERO, Duration::from_secs(9));
        assert_eq!(none.delay(u32::MAX, 0.0), Duration::ZERO);
    }

    #[test]
    fn no_restart_and_any_number_of_them() {
        let now = Instant::now();
        assert!(
            Restarts::new(0, Duration::MAX, Backoff::none())
                .another(now)
                .is_none()
        );
        let mut any = Restarts::new(usize::MAX, Duration::MAX, Backoff::none());
        for _ in 0..10 * UNLIMITED {
            assert!(any.another(now).is_some());
        }
        assert!(any.times.len() <= UNLIMITED, "they are not all kept");
    }

    #[test]
    fn the_intensity_is_counted_in_a_window() {
        let second = Duration::from_secs(1);
        let start = Instant::now();
        let mut restarts = Restarts::new(2, second, Backoff::none());
        assert!(restarts.another(start).is_some() && restarts.another(start).is_some());
        assert!(
            restarts.another(start + second).is_none(),
            "the third within a second"
        );
        assert!(
            restarts
                .another(start + second + Duration::from_millis(1))
                .is_some()
        );
    }
}
