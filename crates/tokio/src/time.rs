//! Sleeping, timeouts and intervals; see [`tress::time`].

pub use tress::time::{
    Duration, Instant, Interval, MissedTickBehavior, Sleep, Timeout, error, interval, interval_at,
    sleep, sleep_until, timeout, timeout_at,
};

#[cfg(feature = "test-util")]
pub use tress::time::{advance, pause, resume};
