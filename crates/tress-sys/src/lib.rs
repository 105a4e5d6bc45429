//! The one door to atomics, cells, locks, threads, clocks, randomness, the number of processors and the environment.
//!
//! This crate is internal to tress: `tress`, `tress-driver` and `tress-actor` import it as `sys`, and its interface
//! changes with them. Outside of it, none of them reads a clock, starts a thread, sleeps, draws a random number, counts
//! processors, looks at the environment or names an atomic or a lock of the standard library. Each of these has one
//! function or type here, which decides who answers:
//!
//! | build | atomics, cells and locks | threads | clocks, randomness, processors, environment |
//! |---|---|---|---|
//! | ordinary | the standard library's | the standard library's | the system's |
//! | `--cfg loom` | loom's; the standard library's in [`plain`] | loom's | the system's |
//!
//! What a model must explore comes from the root of this crate and from [`atomic`]. What cannot be in a model, or need not
//! be, comes from [`plain`], so that the choice can be seen where it is made.

#![warn(missing_docs, missing_debug_implementations)]
#![allow(
    clippy::new_without_default,
    reason = "nothing here is made by default"
)]

#[cfg(not(loom))]
mod real;
#[cfg(not(loom))]
use real as imp;

#[cfg(loom)]
mod model;
#[cfg(loom)]
use model as imp;

pub use imp::{
    Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, UnsafeCell, atomic,
    full_fence, thread_local,
};

/// For the macro, which runs in crates that may not know it.
#[cfg(loom)]
#[doc(hidden)]
pub use loom;

mod cache;
pub mod clock;
mod counter;
mod cpu_clock;
mod cpus;
pub mod env;
#[cfg(unix)]
mod errno;
mod foreign;
#[cfg(unix)]
pub mod handlers;
mod line;
mod park;
pub mod plain;
mod program;
mod rand;
#[cfg(feature = "sim")]
pub mod sim;
pub mod thread;
mod ticker;

pub use cache::{CachePadded, prefetch, prefetch_to_write};
pub use counter::Counter;
pub use cpu_clock::{ThreadTimes, preemptions, thread_times, thread_times_of};
pub use cpus::cpus;
#[cfg(unix)]
pub use errno::keep_errno;
pub use foreign::guarded;
pub use line::take_next;
pub use park::{Asleep, Begin, Parker};
pub use program::PerProgram;
pub use rand::{FastRand, SeedGenerator};
pub use ticker::Ticker;
