//! Futures made of other futures.
//!
//! Everything here works in any task of any runtime, and runs its futures concurrently in the task
//! that awaits, on one thread; [spawn](crate::spawn) tasks to use several.
//!
//! | to wait for … | of futures known in the program | of any number of futures |
//! |---|---|---|
//! | all | [`join!`](crate::join) | [`join_all`] |
//! | all, or the first error | [`try_join!`](crate::try_join) | [`try_join_all`] |
//! | the first; the others are dropped | [`select!`](crate::select) | [`race`] |
//! | the first; the other goes on | [`select`] | [`JoinSet`](crate::task::JoinSet) |
//! | one, but not for ever | [`time::timeout`](crate::time::timeout) | |
//!
//! The standard library has the smallest ones: [`poll_fn`], [`ready`] and [`pending`].
//!
//! # For those who know blitz-io
//! | there | here |
//! |---|---|
//! | `Timeout` with `remaining`, `extend`, `reset`, `intoInner` | [`time::Timeout`](crate::time::Timeout) with `remaining`, `extend`, `reset`, `into_inner` |
//! | `SelectWithTimeout` | [`time::timeout`](crate::time::timeout) around any of these |
//! | `Select2` | [`select`] |
//! | `Select3`, `SelectN` | [`select!`](crate::select) |
//! | `Join2`, `Join3`, `JoinN` | [`join!`](crate::join), [`try_join!`](crate::try_join) |
//! | `All` | [`join_all`], [`try_join_all`] |
//! | `Race` | [`race`] |
//! | `Ready`, `Pending`, `FnFuture` | [`ready`], [`pending`], [`poll_fn`] |
//! | `Lazy`, `Compose`, `MapFuture`, `AndThenFuture` | an `async` block |

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
