//! Tasks: the unit the scheduler runs.
//!
//! A task is a future that was handed to the runtime with [`spawn`]. It runs concurrently with
//! its spawner, may move between worker threads between polls, and is dropped when it finishes,
//! panics, is [aborted](JoinHandle::abort), or its runtime shuts down.
//!
//! - Blocking code goes to [`spawn_blocking`] (its own thread) or [`block_in_place`].
//! - Futures that are not `Send` go to [`spawn_local`] inside a [`LocalSet`].
//! - Groups of tasks whose results are collected: [`JoinSet`].
//! - Many tasks at once, at less cost each: [`spawn_batch`].
//! - Tasks that end before their parent goes on, fail together or are supervised: [`scope()`].
//! - Values that travel with a task: [`task_local!`](crate::task_local).
//! - Parts that an abort must not interrupt: [`shield`].
//!
//! # Examples
//! ```
//! #[tress::main]
//! async fn main() {
//!     let handle = tress::spawn(async { 6 * 7 });
//!     assert_eq!(handle.await.unwrap(), 42);
//! }
//! ```

mod abort;
pub mod batch;
mod builder;
mod cell;
pub mod coop;
mod counted;
mod describe;
mod doomed;
mod error;
mod header;
mod home;
pub(crate) mod hooks;
mod id;
mod join;
pub mod join_set;
#[cfg(all(feature = "taskdump", not(loom)))]
pub(crate) mod leaf;
#[cfg(not(all(feature = "taskdump", not(loom))))]
#[path = "no_leaf.rs"]
pub(crate) mod leaf;
mod local;
mod local_set;
mod owner;
mod parent;
mod ready;
mod run;
pub(crate) mod shield;
mod slab;
mod spawn;
mod state;
mod waker;
mod yield_now;

#[cfg(all(test, loom))]
pub(crate) mod model;

pub use crate::identity::Id;
pub use abort::AbortHandle;
pub use batch::{Batch, spawn_batch};
pub use builder::Builder;
pub use coop::{consume_budget, unconstrained};
pub use error::JoinError;
pub use id::{id, try_id};
pub use join::JoinHandle;
pub use join_set::JoinSet;
pub use local::{AccessError, LocalKey, futures};
pub use local_set::{LocalEnterGuard, LocalSet, RunUntil, spawn_local};
#[cfg(feature = "extra")]
pub use scope::scope;
pub use shield::{Shield, shield};
pub use spawn::{block_in_place, spawn, spawn_blocking};
pub use yield_now::{YieldNow, yield_now};

pub(crate) use cell::Source;
pub(crate) use counted::Counted;
#[cfg(all(feature = "sight", not(loom)))]
pub(crate) use describe::Outline;
pub(crate) use doomed::{Doomed, drop_in_order};
pub(crate) use header::{Header, Origin};
pub(crate) use home::Home;
pub(crate) use hooks::Hooks;
pub(crate) use local_set::Set as LocalSetShared;
pub(crate) use owner::{AnyOwner, Owner};
pub(crate) use parent::{Parent, Roaming, Woken};
pub(crate) use ready::Ready;
pub(crate) use run::{Ran, TaskRef};
pub(crate) use slab::Slab;
pub(crate) use waker::task_id;

/// Structured scopes: tasks that end before the code that started them goes on.
#[cfg(feature = "extra")]
pub mod scope {
    pub use crate::scope::{Builder, Error, Scope, scope};
}

use state::Wake;
use std::future::Future;
use std::ptr::NonNull;

/// Makes a task of a future.
///
/// # Safety
/// As for [`cell::new`].
#[inline]
pub(crate) unsafe fn new<F: Future>(
    future: F,
    owner: &AnyOwner,
    source: Source,
    id: Id,
    origin: Origin,
) -> (Ready, JoinHandle<F::Output>) {
    // SAFETY: by the caller's promise. The task's own reference goes with it to its queue, the second one is the
    // handle's.
    unsafe {
        let task = cell::new(future, NonNull::from(owner), source, id, origin);
        (Ready::from_raw(task), JoinHandle::from_raw(task))
    }
}

/// A waker for a task, which costs no count.
///
/// # Safety
/// The task outlives the result.
#[cfg(all(feature = "coroutine", unix, not(loom)))]
pub(crate) unsafe fn borrowed_waker(task: NonNull<Header>) -> waker::Borrowed {
    // SAFETY: by the caller's promise.
    unsafe { waker::borrowed(task) }
}

/// Lets the running task be queued again, at the tail, when it suspends next.
#[cfg(all(feature = "coroutine", unix, not(loom)))]
#[inline]
pub(crate) fn requeue_after_poll() {
    crate::context::with(|cx| {
        // SAFETY: the running task outlives its poll.
        let waker = cx.task.get().map(|task| unsafe { waker::borrowed(task) });
        if !waker.is_some_and(|waker| crate::scheduler::defer(&waker)) {
            Header::with_running(|task| task.tell(crate::spans::WakerOp::WakeByRef));
            cx.yielded.set(true);
        }
    });
}

/// Returns whether this thread runs or drops a task.
#[cfg(all(feature = "taskdump", not(loom)))]
fn is_in_task() -> bool {
    crate::context::with(|cx| cx.task.get().is_some())
}

/// # Safety
/// The caller holds a reference.
unsafe fn wake_by_ref(task: NonNull<Header>) {
    // SAFETY: alive by the caller's reference; once submitted, by the task's own.
    unsafe {
        if task.as_ref().state.wake_by_ref() == Wake::Submit {
            AnyOwner::schedule(Ready::from_raw(task));
        }
    }
}

/// # Safety
/// The caller holds a reference and gives it up.
unsafe fn drop_ref(task: NonNull<Header>) {
    // SAFETY: by the caller's promise; the last one frees.
    unsafe {
        if task.as_ref().state.ref_dec() {
            free(task);
        }
    }
}

/// # Safety
/// The count has just reached zero by the caller's doing.
#[inline]
unsafe fn free(task: NonNull<Header>) {
    // SAFETY: nobody else refers to the task. It is COMPLETE, since an unfinished one holds its
    // own reference, and its output was taken or dropped by the side that owned it.
    unsafe { ((*task.as_ptr()).vtable.free)(task) }
}
