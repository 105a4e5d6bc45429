//! Who runs which task, where and when. `README.md` beside this file tells the protocol.

mod adapt;
mod batch;
mod crowd;
mod current;
mod idle;
mod inject;
mod lifo;
mod monitor;
mod multi;
mod outside;
#[cfg(all(feature = "coroutine", unix, not(loom)))]
mod pinned;
mod queue;
mod rest;
mod spin;
mod stats;
mod turn;
mod worker;

#[cfg(all(test, loom))]
mod model;

pub(crate) use adapt::MAX_TICK;
pub(crate) use batch::New;
pub(crate) use current::{Current, Driving};
pub(crate) use multi::Multi;
#[cfg(all(feature = "coroutine", unix, not(loom)))]
pub(crate) use pinned::{Pinned, Spread, spread};
pub(crate) use rest::{Io, Rest};
pub(crate) use spin::Spin;
pub(crate) use stats::{Counter, WorkerStats};
pub(crate) use worker::{MAX_LIFO_STREAK, Worker, block_in_place};

use crate::sys::guarded;
use crate::trace::{SlowPolls, Tracer};
use std::sync::Arc;
use std::time::Duration;

/// A user's function, called by worker threads.
pub(crate) type Hook = Arc<dyn Fn() + Send + Sync>;

/// What the scheduler was told by the builder.
pub(crate) struct Config {
    pub(crate) workers: usize,
    pub(crate) stealing: bool,
    pub(crate) lifo_limit: u8,
    pub(crate) global_interval: Option<u32>,
    pub(crate) event_interval: Option<u32>,
    pub(crate) spin: Duration,
    pub(crate) cores: usize,
    pub(crate) thread_name: Arc<dyn Fn() -> String + Send + Sync>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) on_start: Option<Hook>,
    pub(crate) on_stop: Option<Hook>,
    pub(crate) on_park: Option<Hook>,
    pub(crate) on_unpark: Option<Hook>,
    pub(crate) tracer: Arc<Tracer>,
    pub(crate) slow_polls: Option<SlowPolls>,
}

/// Calls a user's hook. If it panics, the panic hook has reported that, and the thread goes on.
fn call(hook: &Option<Hook>) {
    if let Some(hook) = hook {
        guarded(|| hook());
    }
}
