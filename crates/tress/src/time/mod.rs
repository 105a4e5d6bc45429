//! Time: sleeping, timeouts, intervals, and a clock that tests can stop.
//!
//! Timers have a resolution of a millisecond. They never fire early.
//!
//! # Testing
//! On a current-thread runtime the clock can be [paused](pause). It then stands still while there
//! is work, and jumps to the next timer when there is none, so that a test that sleeps for an hour
//! takes no time. [`advance`] moves it by hand.
//!
//! ```
//! use tress::time::{self, Duration, Instant};
//!
//! let rt = tress::runtime::Builder::new_current_thread()
//!     .enable_time()
//!     .start_paused(true)
//!     .build()?;
//! rt.block_on(async {
//!     let start = Instant::now();
//!     time::sleep(Duration::from_secs(3600)).await;
//!     assert!(start.elapsed() >= Duration::from_secs(3600));
//! });
//! # Ok::<(), std::io::Error>(())
//! ```

mod clock;
pub mod error;
mod instant;
mod interval;
mod sleep;
mod timeout;
mod timers;
mod wheel;

#[cfg(all(test, loom))]
mod model;

pub use instant::Instant;
pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use sleep::{Sleep, sleep, sleep_until};
#[doc(no_inline)]
pub use std::time::Duration;
pub use timeout::{Timeout, timeout, timeout_at};

pub(crate) use clock::Clock;
pub(crate) use timers::{Armed, Timers};

use crate::runtime;
use std::sync::Arc;

// Returns instead of calling back, because a closure would hide the caller from the panics.
#[track_caller]
fn current_runtime() -> Arc<runtime::Shared> {
    match runtime::context::runtime() {
        Some(shared) => shared,
        None => runtime::no_runtime("changing the clock"),
    }
}

/// Stops the current runtime's clock.
///
/// While it is stopped it moves only by [`advance`], or by itself when the runtime has nothing to
/// do: then to the next timer.
///
/// # Panics
/// Outside of a current-thread runtime, and if the clock is already stopped.
#[track_caller]
pub fn pause() {
    current_runtime().clock.pause();
}

/// Lets the current runtime's clock run again, from where it stands.
///
/// # Panics
/// Outside of a current-thread runtime, and if the clock is not stopped.
#[track_caller]
pub fn resume() {
    current_runtime().clock.resume();
}

/// Moves the current runtime's stopped clock on, and lets the timers that are then due fire.
///
/// The tasks that wait for them are ready when this returns, but have not necessarily run.
///
/// # Panics
/// Outside of a current-thread runtime, if the clock is not stopped, and if it does not go as far as
/// `duration` from where it stands.
///
/// # Cancel safety
/// The clock has been moved even if the future is dropped after its first poll.
pub async fn advance(duration: Duration) {
    runtime::current_clock(|clock| clock.advance(duration));
    runtime::fire_timers();
    crate::task::yield_now().await;
}
