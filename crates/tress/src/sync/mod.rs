//! Synchronization primitives and channels for asynchronous tasks.
//!
//! Everything in this module works with any [`Waker`](std::task::Waker): no runtime is needed, and
//! tasks, coroutines and plain threads can share one primitive. Types with blocking variants
//! (`blocking_lock`, `blocking_recv`, …) offer them to threads that run no tasks.
//!
//! # Channels
//! Channels pass messages from one task to another. Prefer them to shared state where one task can
//! own the data and the others ask it.
//!
//! - [`oneshot`]: one value from one sender to one receiver; the usual way to answer a request.
//! - [`mpsc`]: many values from many senders to one receiver, in a bounded or an unbounded queue.
//! - [`broadcast`]: many values from many senders, each of which every receiver gets.
//! - [`watch`]: one value that senders replace; receivers see the latest and can wait for a change.
//!
//! The [`channel`](crate::channel) module has further channels, with several receivers and with
//! `select`.
//!
//! # Shared state
//! - [`Mutex`]: data that one task at a time reads or changes, also over an `.await`.
//! - [`RwLock`]: data that many tasks read at a time, or one changes.
//! - [`Semaphore`]: a limit on the number of tasks that do something at a time.
//! - [`OnceCell`]: a value that the first task to need it makes, with an asynchronous function.
//! - [`SetOnce`]: a value that one task sets and the others wait for.
//!
//! A [`std::sync::Mutex`] is the better choice where the lock is never held over an `.await`.
//!
//! # Signals
//! - [`Notify`]: wakes one waiting task, or all of them, without a message.
//! - [`Barrier`]: holds tasks until a given number of them have arrived.
//! - [`CancellationToken`]: tells a tree of tasks to stop.
//!
//! # Fairness and cost
//! Waiters are served in the order in which they began to wait, except where a method says
//! otherwise. Waiting allocates nothing: the place in the queue is part of the future. Operations
//! count against the [budget](crate::runtime::Builder::task_budget) of the task that polls them, so
//! a task whose operations are always ready still yields.
//!
//! # Cancel safety
//! Every asynchronous operation has a section of that name, which says what dropping its future
//! before it is ready does. The future of a lock, a semaphore or a [`Notify`] gives up its place in
//! the queue; a lock, permit or notification that it had already been given goes to the next
//! waiter.

/// Defines a function that is `const`, except under loom, whose atomics and locks cannot be created
/// in constants.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $($rest)*

        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}

mod barrier;
#[cfg(feature = "extra")]
pub mod cancellation;
mod contention;
mod kept;
mod latch;
mod mutex;
mod notify;
mod once_cell;
mod permits;
mod rwlock;
mod semaphore;
mod set_once;

// Channels.
pub mod broadcast;
pub mod mpsc;
pub mod oneshot;
pub mod watch;

pub use barrier::{Barrier, BarrierWaitResult};
#[cfg(feature = "extra")]
pub use cancellation::CancellationToken;
pub use mutex::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard, TryLockError,
};
pub use notify::Notify;
pub use once_cell::{OnceCell, SetError};
pub use rwlock::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use semaphore::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
pub use set_once::{SetOnce, SetOnceError};

pub mod futures {
    //! Named futures of the types in [`sync`](super).

    pub use super::notify::futures::{Notified, OwnedNotified};
}
