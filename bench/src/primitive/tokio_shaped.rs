//! tress and Tokio: the same names, hence the same code.

use std::future::Future;

use super::{Broadcast, Locks, Queue, Signals, TryOneshot, Watch};
use crate::runtime::{Tokio, Tress};

/// Implements the traits with what the module `$sync` has.
macro_rules! tokio_shaped {
    ($peer:ty, $mpsc:ident, $($sync:tt)+) => {
        impl Locks for $peer {
            type Mutex = $($sync)+::Mutex<u64>;
            type MutexGuard<'a> = $($sync)+::MutexGuard<'a, u64>;
            type RwLock = $($sync)+::RwLock<u64>;
            type ReadGuard<'a> = $($sync)+::RwLockReadGuard<'a, u64>;
            type WriteGuard<'a> = $($sync)+::RwLockWriteGuard<'a, u64>;
            type Semaphore = $($sync)+::Semaphore;
            type Permit<'a> = $($sync)+::SemaphorePermit<'a>;
            type OnceCell = $($sync)+::OnceCell<u64>;
            type Barrier = $($sync)+::Barrier;

            fn mutex() -> Self::Mutex {
                Self::Mutex::new(0)
            }

            fn try_lock(mutex: &Self::Mutex) -> Option<Self::MutexGuard<'_>> {
                mutex.try_lock().ok()
            }

            fn lock(mutex: &Self::Mutex) -> impl Future<Output = Self::MutexGuard<'_>> + Send {
                mutex.lock()
            }

            fn rw_lock() -> Self::RwLock {
                Self::RwLock::new(0)
            }

            fn try_read(lock: &Self::RwLock) -> Option<Self::ReadGuard<'_>> {
                lock.try_read().ok()
            }

            fn try_write(lock: &Self::RwLock) -> Option<Self::WriteGuard<'_>> {
                lock.try_write().ok()
            }

            fn read(lock: &Self::RwLock) -> impl Future<Output = Self::ReadGuard<'_>> + Send {
                lock.read()
            }

            fn write(lock: &Self::RwLock) -> impl Future<Output = Self::WriteGuard<'_>> + Send {
                lock.write()
            }

            fn semaphore(permits: usize) -> Self::Semaphore {
                Self::Semaphore::new(permits)
            }

            fn try_acquire(semaphore: &Self::Semaphore) -> Option<Self::Permit<'_>> {
                semaphore.try_acquire().ok()
            }

            async fn acquire(semaphore: &Self::Semaphore) -> Self::Permit<'_> {
                semaphore.acquire().await.expect("nobody closes it")
            }

            fn once_cell() -> Self::OnceCell {
                Self::OnceCell::new()
            }

            fn set(cell: &Self::OnceCell, value: u64) -> bool {
                cell.set(value).is_ok()
            }

            fn get(cell: &Self::OnceCell) -> Option<u64> {
                cell.get().copied()
            }

            fn barrier(parties: usize) -> Self::Barrier {
                Self::Barrier::new(parties)
            }

            async fn wait(barrier: &Self::Barrier) -> bool {
                barrier.wait().await.is_leader()
            }
        }

        impl Signals for $peer {
            type Notify = $($sync)+::Notify;

            fn notify() -> Self::Notify {
                Self::Notify::new()
            }

            fn notify_one(notify: &Self::Notify) {
                notify.notify_one();
            }

            fn notified(notify: &Self::Notify) -> impl Future<Output = ()> + Send {
                notify.notified()
            }
        }

        impl Broadcast for $peer {
            type Broadcaster = $($sync)+::broadcast::Sender<u64>;
            type Listener = $($sync)+::broadcast::Receiver<u64>;

            fn broadcast(
                capacity: usize,
                listeners: usize,
            ) -> (Self::Broadcaster, Vec<Self::Listener>) {
                let sender = Self::Broadcaster::new(capacity);
                let listeners = (0..listeners).map(|_| sender.subscribe()).collect();
                (sender, listeners)
            }

            fn announce(sender: &Self::Broadcaster, value: u64) -> bool {
                sender.send(value).is_ok()
            }

            fn try_hear(listener: &mut Self::Listener) -> Option<u64> {
                listener.try_recv().ok()
            }

            async fn hear(listener: &mut Self::Listener) -> Option<u64> {
                listener.recv().await.ok()
            }
        }

        impl Watch for $peer {
            type Shower = $($sync)+::watch::Sender<u64>;
            type Watcher = $($sync)+::watch::Receiver<u64>;

            fn watch() -> (Self::Shower, Self::Watcher) {
                $($sync)+::watch::channel(0)
            }

            fn show(sender: &Self::Shower, value: u64) {
                sender.send(value).expect("somebody watches");
            }

            fn look(watcher: &Self::Watcher) -> u64 {
                *watcher.borrow()
            }

            async fn changed(watcher: &mut Self::Watcher) -> u64 {
                watcher.changed().await.expect("the sender is there");
                *watcher.borrow_and_update()
            }
        }

        impl TryOneshot for $peer {
            fn pass(value: u64) -> Option<u64> {
                let (sender, mut receiver) = $($sync)+::oneshot::channel();
                sender.send(value).ok()?;
                receiver.try_recv().ok()
            }
        }

        #[doc = concat!("`", stringify!($($sync)+), "::mpsc`.")]
        pub struct $mpsc;

        impl Queue for $mpsc {
            type Sender = $($sync)+::mpsc::Sender<u64>;
            type Receiver = $($sync)+::mpsc::Receiver<u64>;

            fn bounded(capacity: usize) -> (Self::Sender, Self::Receiver) {
                $($sync)+::mpsc::channel(capacity)
            }

            fn try_send(sender: &Self::Sender, value: u64) -> bool {
                sender.try_send(value).is_ok()
            }

            fn try_receive(receiver: &mut Self::Receiver) -> Option<u64> {
                receiver.try_recv().ok()
            }

            async fn send(sender: &Self::Sender, value: u64) -> bool {
                sender.send(value).await.is_ok()
            }

            fn receive(
                receiver: &mut Self::Receiver,
            ) -> impl Future<Output = Option<u64>> + Send {
                receiver.recv()
            }
        }
    };
}

tokio_shaped!(Tress, TressMpsc, ::tress::sync);
tokio_shaped!(Tokio, TokioMpsc, ::tokio::sync);
