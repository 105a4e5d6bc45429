//! Asynchronous tasks; see [`tress::task`].

pub use tress::task::coop;
pub use tress::task::{
    AbortHandle, Builder, Id, JoinError, JoinHandle, JoinSet, LocalEnterGuard, LocalKey, LocalSet,
    futures, id, join_set, spawn, spawn_blocking, spawn_local, try_id,
};

#[cfg(feature = "rt-multi-thread")]
pub use tress::task::block_in_place;

// The paths that they had before `coop`.
#[doc(hidden)]
pub use coop::{Unconstrained, consume_budget, unconstrained};

/// Yields to the scheduler, and lets the other ready tasks run first; see [`tress::task::yield_now`].
///
/// It has a frame of its own, so that dumps of tasks name what the program has called.
///
/// # Cancel safety
/// This function is cancel safe. Dropping the future loses nothing.
///
/// # Examples
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// tokio::task::yield_now().await;
/// # });
/// ```
pub async fn yield_now() {
    tress::task::yield_now().await;
}
