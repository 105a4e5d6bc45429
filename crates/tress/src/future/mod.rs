//! Combinators for futures.
//!
//! The functions here run several futures concurrently in the current task, on one thread. They work in
//! any runtime. To run futures in parallel, [`spawn`](crate::spawn) them.
//!
//! | To wait for | a fixed number of futures | any number of futures |
//! |---|---|---|
//! | all | [`join!`](crate::join) | [`join_all`] |
//! | all, or the first error | [`try_join!`](crate::try_join) | [`try_join_all`] |
//! | the first, and drop the others | [`select!`](crate::select) | [`race`] |
//! | the first, and continue with the others | [`select`] | [`JoinSet`](crate::task::JoinSet) |
//! | one, for a limited time | [`time::timeout`](crate::time::timeout()) | |
//!
//! [`poll_once`] polls a future without waiting. The basic futures of the standard library are re-exported:
//! [`poll_fn`], [`ready`] and [`pending`].
//!
//! # Examples
//!
//! ```
//! use tress::future::{join_all, race};
//!
//! # tress::runtime::Runtime::new().unwrap().block_on(async {
//! let double = |n: u32| async move { 2 * n };
//! assert_eq!(join_all([1, 2, 3].map(double)).await, [2, 4, 6]);
//! assert_eq!(race([1].map(double)).await, 2);
//! # });
//! ```

mod group;
mod join_all;
mod poll_once;
mod race;
mod select;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;

pub use join_all::{JoinAll, TryJoinAll, join_all, try_join_all};
pub use poll_once::{PollOnce, poll_once};
pub use race::{Race, race};
pub use select::{Either, Select, select};
#[doc(no_inline)]
pub use std::future::{pending, poll_fn, ready};
