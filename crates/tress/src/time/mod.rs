//! Time: delays, timeouts, intervals, and a clock that tests can control.
//!
//! - [`sleep`] and [`sleep_until`] wait until a duration has elapsed or a deadline is reached.
//! - [`timeout`](timeout()) and [`timeout_at`] give a future a limited time to complete.
//! - [`interval`](interval()) and [`interval_at`] yield at a fixed period. Use an [`Interval`] rather
//!   than a [`sleep`] in a loop if the time that the loop body takes must not add to the period.
//! - [`Instant`] is a point in the time of the runtime.
//! - [`pause`], [`resume`] and [`advance`] control the clock in tests.
//!
//! Timers have a resolution of one millisecond. They never fire early; how late they fire depends on how
//! busy the runtime is.
//!
//! Timers need a runtime that was built with [`enable_time`](crate::runtime::Builder::enable_time) or
//! [`enable_all`](crate::runtime::Builder::enable_all), and panic otherwise.
//!
//! # Testing
//!
//! On a current-thread runtime the clock can be paused, with [`pause`] or
//! [`Builder::start_paused`](crate::runtime::Builder::start_paused). It then stands still while there is
//! work, and jumps to the next timer when there is none: a test that sleeps for an hour takes no time.
//! [`advance`] moves it explicitly.
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

pub mod error;
mod instant;
mod interval;
mod sleep;
mod timeout;

pub use instant::Instant;
pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use sleep::{Sleep, sleep, sleep_until};
#[doc(no_inline)]
pub use std::time::Duration;
pub use timeout::{Timeout, timeout, timeout_at};

use crate::runtime;
use std::sync::Arc;

// Returns the runtime rather than taking a closure, which would hide the caller's location from
// panics.
#[track_caller]
fn current_runtime() -> Arc<runtime::Shared> {
    match crate::context::runtime() {
        Some(shared) => shared,
        None => runtime::no_runtime("changing the clock"),
    }
}

/// Pauses the clock of the current runtime.
///
/// A paused clock moves only by [`advance`], or on its own when the runtime has nothing to do: it then
/// jumps to the next timer. It does not jump while a blocking closure or an operation on a file is in
/// progress. [`resume`] lets it run again.
///
/// Only the time of tress is paused: [`Instant::now`] and timers. [`std::time::Instant`] is not.
///
/// # Panics
///
/// If called outside of a current-thread runtime, or if the clock is paused already.
///
/// # Examples
///
/// ```
/// use tress::time::{self, Duration, Instant};
///
/// # let rt = tress::runtime::Builder::new_current_thread().enable_time().build().unwrap();
/// # rt.block_on(async {
/// time::pause();
/// let start = Instant::now();
/// time::sleep(Duration::from_secs(60)).await; // returns immediately
/// assert!(start.elapsed() >= Duration::from_secs(60));
/// # });
/// ```
#[track_caller]
pub fn pause() {
    current_runtime().clock.pause();
}

/// Resumes the clock of the current runtime, from the time that it shows.
///
/// # Panics
///
/// If called outside of a current-thread runtime, or if the clock is not paused.
///
/// # Examples
///
/// ```
/// use tress::time::{self, Duration, Instant};
///
/// # let rt = tress::runtime::Builder::new_current_thread().enable_time().build().unwrap();
/// # rt.block_on(async {
/// time::pause();
/// time::advance(Duration::from_secs(60)).await;
/// time::resume();
/// let start = Instant::now();
/// time::sleep(Duration::from_millis(1)).await; // takes a millisecond
/// assert!(start.elapsed() < Duration::from_secs(60));
/// # });
/// ```
#[track_caller]
pub fn resume() {
    current_runtime().clock.resume();
}

/// Advances the paused clock of the current runtime, and fires the timers that are due then.
///
/// The tasks that wait for these timers are ready when this returns, but have not necessarily run.
///
/// # Panics
///
/// If called outside of a current-thread runtime, if the clock is not paused, or if the new time cannot
/// be represented.
///
/// # Cancel safety
///
/// The first poll moves the clock. Dropping the future later does not move it back.
///
/// # Examples
///
/// ```
/// use tress::time::{self, Duration, Instant};
///
/// # let rt = tress::runtime::Builder::new_current_thread().enable_time().build().unwrap();
/// # rt.block_on(async {
/// time::pause();
/// let start = Instant::now();
/// time::advance(Duration::from_secs(5)).await;
/// assert_eq!(start.elapsed(), Duration::from_secs(5));
/// # });
/// ```
pub async fn advance(duration: Duration) {
    runtime::current_clock(|clock| clock.advance(duration));
    runtime::clock_was_moved();
    crate::task::yield_now().await;
}
