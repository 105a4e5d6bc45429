//! What a subscriber of the crate `tracing` sees of tasks and resources, with the feature of that name.
//!
//! Names, targets and fields are those of Tokio, which `tokio-console` and its like look for. Without the feature the
//! types here have no size or no values, and their functions do nothing, so that callers need no `cfg`.
//!
//! A subscriber is foreign code: it may panic, and it may call back into the very task or lock. No span is made,
//! entered, cloned or dropped under a lock, and no event is sent under one.
//!
//! This module knows nothing of the runtime. Its recorder of events is another thing: [`trace`](crate::trace).

#[cfg(all(feature = "tracing", not(loom)))]
mod lock;
#[cfg(not(all(feature = "tracing", not(loom))))]
mod off;
#[cfg(all(feature = "tracing", not(loom)))]
mod op;
#[cfg(all(feature = "tracing", not(loom)))]
mod resource;
#[cfg(all(feature = "tracing", not(loom)))]
mod task;

#[cfg(not(all(feature = "tracing", not(loom))))]
pub(crate) use off::{Lock, Oneshot, Op, Resource, Tally, TaskSpan, What, in_block_on};
#[cfg(all(feature = "tracing", not(loom)))]
pub(crate) use {
    lock::{Lock, Tally},
    op::Op,
    resource::{Oneshot, Resource},
    task::{TaskSpan, What, in_block_on},
};

/// What is done with a task's waker.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(all(feature = "tracing", not(loom))),
    allow(dead_code, reason = "nothing is told")
)]
pub(crate) enum WakerOp {
    Clone,
    Drop,
    Wake,
    WakeByRef,
}
