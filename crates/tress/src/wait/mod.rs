//! How a task or a thread waits for another one: what channels, locks and pipes are built on.
//!
//! | to wait for … | use |
//! |---|---|
//! | a turn, in the order of arrival | [`WaitList`] of [`Waiter`]s, behind a lock |
//! | a change of some state | [`Bell`] |
//! | another thread that needs a few more instructions | [`Backoff`] |
//!
//! [`WakeBatch`] wakes those whose wait is over, after the lock was released.
//!
//! This module knows nothing but `sys` and `sight`: neither tasks and their budgets, nor runtimes.

mod backoff;
mod batch;
mod bell;
mod list;
#[cfg(all(test, not(loom)))]
pub(crate) mod tests;

pub(crate) use backoff::Backoff;
pub(crate) use batch::WakeBatch;
pub(crate) use bell::{Bell, Listener};
pub(crate) use list::{FIRST_OUTCOME, IDLE, WAITING, WaitList, Waiter};
