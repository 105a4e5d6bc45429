//! What peers synchronise and talk with, behind small traits, as [`crate::runtime`] has them for
//! runtimes.
//!
//! Each function hands out the peer's own future, or unwraps its result. Everything guards or
//! carries a `u64`, so that every case can sum up what arrived.

mod queues;
mod smol;
mod tokio_shaped;

pub use queues::{AsyncChannel, Crossfire, Flume, Kanal, TressChannel};
pub use tokio_shaped::{TokioMpsc, TressMpsc};

use std::future::Future;
use std::ops::{Deref, DerefMut};

use crate::runtime::Rt;

/// Locks, semaphores, cells and barriers.
pub trait Locks: Rt {
    type Mutex: Send + Sync + 'static;
    type MutexGuard<'a>: DerefMut<Target = u64> + Send;
    type RwLock: Send + Sync + 'static;
    type ReadGuard<'a>: Deref<Target = u64> + Send;
    type WriteGuard<'a>: DerefMut<Target = u64> + Send;
    type Semaphore: Send + Sync + 'static;
    type Permit<'a>: Send;
    type OnceCell: Send + Sync + 'static;
    type Barrier: Send + Sync + 'static;

    /// A mutex around zero.
    fn mutex() -> Self::Mutex;
    fn try_lock(mutex: &Self::Mutex) -> Option<Self::MutexGuard<'_>>;
    fn lock(mutex: &Self::Mutex) -> impl Future<Output = Self::MutexGuard<'_>> + Send;

    /// A lock around zero.
    fn rw_lock() -> Self::RwLock;
    fn try_read(lock: &Self::RwLock) -> Option<Self::ReadGuard<'_>>;
    fn try_write(lock: &Self::RwLock) -> Option<Self::WriteGuard<'_>>;
    fn read(lock: &Self::RwLock) -> impl Future<Output = Self::ReadGuard<'_>> + Send;
    fn write(lock: &Self::RwLock) -> impl Future<Output = Self::WriteGuard<'_>> + Send;

    fn semaphore(permits: usize) -> Self::Semaphore;
    fn try_acquire(semaphore: &Self::Semaphore) -> Option<Self::Permit<'_>>;
    fn acquire(semaphore: &Self::Semaphore) -> impl Future<Output = Self::Permit<'_>> + Send;

    /// An empty cell.
    fn once_cell() -> Self::OnceCell;
    /// Whether the value was set by this call.
    fn set(cell: &Self::OnceCell, value: u64) -> bool;
    fn get(cell: &Self::OnceCell) -> Option<u64>;

    fn barrier(parties: usize) -> Self::Barrier;
    /// Whether this one leads.
    fn wait(barrier: &Self::Barrier) -> impl Future<Output = bool> + Send;
}

/// A signal that is kept for the next one who waits. Not everybody has it.
pub trait Signals: Rt {
    type Notify: Send + Sync + 'static;

    fn notify() -> Self::Notify;
    fn notify_one(notify: &Self::Notify);
    fn notified(notify: &Self::Notify) -> impl Future<Output = ()> + Send;
}

/// A channel with a capacity, for any number of senders.
pub trait Queue: 'static {
    type Sender: Clone + Send + Sync + 'static;
    type Receiver: Send + 'static;

    fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver);
    /// Whether the value went in.
    fn try_send(sender: &Self::Sender, value: u64) -> bool;
    fn try_receive(receiver: &mut Self::Receiver) -> Option<u64>;
    /// Whether there is still somebody to receive.
    fn send(sender: &Self::Sender, value: u64) -> impl Future<Output = bool> + Send;
    /// `None` if there is nobody left to send.
    fn receive(receiver: &mut Self::Receiver) -> impl Future<Output = Option<u64>> + Send;
}

/// A channel whose receivers share the messages.
pub trait Shared: Queue {
    fn another(receiver: &Self::Receiver) -> Self::Receiver;
}

/// A channel that shows every message to every receiver.
pub trait Broadcast: Rt {
    type Broadcaster: Send + Sync + 'static;
    type Listener: Send + 'static;

    fn broadcast(capacity: usize, listeners: usize) -> (Self::Broadcaster, Vec<Self::Listener>);
    /// Whether there was room, or none was needed.
    fn announce(sender: &Self::Broadcaster, value: u64) -> bool;
    fn try_hear(listener: &mut Self::Listener) -> Option<u64>;
    /// `None` if messages were missed, or the sender is gone.
    fn hear(listener: &mut Self::Listener) -> impl Future<Output = Option<u64>> + Send;
}

/// A value whose latest state many can see.
pub trait Watch: Rt {
    type Shower: Send + Sync + 'static;
    type Watcher: Clone + Send + 'static;

    /// Shows zero at first.
    fn watch() -> (Self::Shower, Self::Watcher);
    fn show(sender: &Self::Shower, value: u64);
    /// The latest value, without marking it as seen.
    fn look(watcher: &Self::Watcher) -> u64;
    /// The latest value, once it is one that this watcher has not seen.
    fn changed(watcher: &mut Self::Watcher) -> impl Future<Output = u64> + Send;
}

/// A channel for one value that can be asked without waiting.
pub trait TryOneshot: Rt {
    /// Makes the channel, sends `value` through it and takes it out.
    fn pass(value: u64) -> Option<u64>;
}
