//! The mechanism of timers: wheels, the entries in them, and clocks that can be stopped.
//!
//! It knows wakers only. What futures wait with is `time`; which wheel they wait in, the scheduler decides.

mod clock;
mod timers;
mod wheel;

#[cfg(all(test, loom))]
mod model;

pub(crate) use clock::{Clock, may_differ};
pub(crate) use timers::{Armed, Entry, Timers};
