//! The one door to atomics and locks: the standard library's (`real.rs`) or loom's (`model.rs`).

#[cfg(not(loom))]
mod real;
#[cfg(not(loom))]
use real as imp;

#[cfg(loom)]
mod model;
#[cfg(loom)]
use model as imp;

pub(crate) use imp::{Arc, Mutex, atomic};
