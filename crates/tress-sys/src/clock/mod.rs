//! The system's monotonic clock, and a [`Clock`] for events, which are many, and are read later.

mod events;

pub use events::{Clock, Scale};

use std::time::{Duration, Instant};

/// Returns the time of the system's monotonic clock.
#[inline]
pub fn now() -> Instant {
    Instant::now()
}

/// Returns how long ago `then` was, zero if it is to come.
#[inline]
pub fn elapsed(then: Instant) -> Duration {
    now().saturating_duration_since(then)
}
