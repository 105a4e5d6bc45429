//! Talking between tasks: channels, locks, and ways to wait for each other.
//!
//! Everything here works with any [`Waker`](std::task::Waker) and needs no runtime.
//!
//! | to … | use |
//! |---|---|
//! | change shared data, over an `.await` if need be | [`Mutex`], [`RwLock`] |
//! | limit how many do something at once | [`Semaphore`] |
//! | tell somebody that something happened | [`Notify`] |
//! | wait until all have come | [`Barrier`] |
//! | make a value once, when it is first needed | [`OnceCell`] |
//! | wait for a value that somebody will set | [`SetOnce`] |
//! | tell a tree of tasks to stop | [`CancellationToken`] |
//! | answer one request | [`oneshot`] |
//! | hand work or messages to one receiver | [`mpsc`] |
//! | show the latest value to many | [`watch`] |
//! | send every message to every receiver | [`broadcast`] |
//!
//! Who has to wait does so in turn (first come, first served), and waiting allocates nothing: the
//! place in line is part of the future.

/// A function that is `const`, except under the model, whose atomics and locks cannot be made in
/// constants.
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
    //! The futures of this module that have a name.

    pub use super::notify::futures::{Notified, OwnedNotified};
}
