//! The one door to atomics, cells, locks, threads, clocks and randomness.
//!
//! Everything concurrent in the runtime imports these from here, so that the real
//! implementation (`real.rs`) and loom's model (`model.rs`) are a single switch.
//! The simulation backend will become a third.

#[cfg(not(loom))]
mod real;
#[cfg(not(loom))]
use real as imp;

#[cfg(loom)]
mod model;
#[cfg(loom)]
use model as imp;

pub(crate) use imp::{Arc, Mutex, MutexGuard, UnsafeCell, atomic, full_fence, thread};

mod cache;
mod cpu_clock;
#[cfg(all(unix, any(not(loom), feature = "signal")))]
mod errno;
mod foreign;
#[cfg(all(unix, any(not(loom), feature = "signal")))]
pub(crate) mod handlers;
mod park;
mod rand;
mod ticker;

pub(crate) use cache::{CachePadded, prefetch, prefetch_to_write};
pub(crate) use cpu_clock::{ThreadTimes, preemptions, thread_times};
#[cfg(all(unix, any(not(loom), feature = "signal")))]
pub(crate) use errno::keep_errno;
pub(crate) use foreign::guarded;
pub(crate) use park::Parker;
pub(crate) use rand::{FastRand, SeedGenerator};
pub(crate) use ticker::Ticker;
