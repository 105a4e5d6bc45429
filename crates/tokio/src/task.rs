//! Asynchronous tasks; see [`tress::task`].

pub use tress::task::coop;
pub use tress::task::{
    AbortHandle, Builder, Id, JoinError, JoinHandle, JoinSet, LocalEnterGuard, LocalKey, LocalSet,
    futures, id, join_set, spawn, spawn_blocking, spawn_local, try_id, yield_now,
};

#[cfg(feature = "rt-multi-thread")]
pub use tress::task::block_in_place;

// The paths that they had before `coop`.
#[doc(hidden)]
pub use coop::{Unconstrained, consume_budget, unconstrained};
