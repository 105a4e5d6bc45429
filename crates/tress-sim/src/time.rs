//! Virtual time.

use std::fmt;
use std::ops::{Add, AddAssign};
use std::time::Duration;

/// A moment of the simulation: nanoseconds since its start.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Time(pub(crate) u64);

impl Time {
    pub(crate) const START: Time = Time(0);
    #[cfg(test)]
    pub(crate) const MAX: Time = Time(u64::MAX);

    #[inline]
    pub(crate) fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Returns the time from the start of the simulation until then.
    #[inline]
    pub(crate) fn elapsed(self) -> Duration {
        self.since(Time::START)
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    /// Adds, up to the end of time.
    #[inline]
    fn add(self, duration: Duration) -> Time {
        let seconds = duration.as_secs().saturating_mul(1_000_000_000);
        let ns = seconds.saturating_add(duration.subsec_nanos().into());
        Time(self.0.saturating_add(ns))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.elapsed().fmt(f)
    }
}
