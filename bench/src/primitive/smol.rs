//! smol: async-lock and async-broadcast. Its channel is in [`super::queues`].

use std::future::Future;

use async_lock::{
    Barrier, Mutex, MutexGuard, OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore,
    SemaphoreGuard,
};

use super::{Broadcast, Locks};
use crate::runtime::smol::Smol;

impl Locks for Smol {
    type Mutex = Mutex<u64>;
    type MutexGuard<'a> = MutexGuard<'a, u64>;
    type RwLock = RwLock<u64>;
    type ReadGuard<'a> = RwLockReadGuard<'a, u64>;
    type WriteGuard<'a> = RwLockWriteGuard<'a, u64>;
    type Semaphore = Semaphore;
    type Permit<'a> = SemaphoreGuard<'a>;
    type OnceCell = OnceCell<u64>;
    type Barrier = Barrier;

    fn mutex() -> Mutex<u64> {
        Mutex::new(0)
    }

    fn try_lock(mutex: &Mutex<u64>) -> Option<MutexGuard<'_, u64>> {
        mutex.try_lock()
    }

    fn lock(mutex: &Mutex<u64>) -> impl Future<Output = MutexGuard<'_, u64>> + Send {
        mutex.lock()
    }

    fn rw_lock() -> RwLock<u64> {
        RwLock::new(0)
    }

    fn try_read(lock: &RwLock<u64>) -> Option<RwLockReadGuard<'_, u64>> {
        lock.try_read()
    }

    fn try_write(lock: &RwLock<u64>) -> Option<RwLockWriteGuard<'_, u64>> {
        lock.try_write()
    }

    fn read(lock: &RwLock<u64>) -> impl Future<Output = RwLockReadGuard<'_, u64>> + Send {
        lock.read()
    }

    fn write(lock: &RwLock<u64>) -> impl Future<Output = RwLockWriteGuard<'_, u64>> + Send {
        lock.write()
    }

    fn semaphore(permits: usize) -> Semaphore {
        Semaphore::new(permits)
    }

    fn try_acquire(semaphore: &Semaphore) -> Option<SemaphoreGuard<'_>> {
        semaphore.try_acquire()
    }

    fn acquire(semaphore: &Semaphore) -> impl Future<Output = SemaphoreGuard<'_>> + Send {
        semaphore.acquire()
    }

    fn once_cell() -> OnceCell<u64> {
        OnceCell::new()
    }

    fn set(cell: &OnceCell<u64>, value: u64) -> bool {
        // `set` would wait for somebody else who initialises; `set_blocking` is the same for a thread.
        cell.set_blocking(value).is_ok()
    }

    fn get(cell: &OnceCell<u64>) -> Option<u64> {
        cell.get().copied()
    }

    fn barrier(parties: usize) -> Barrier {
        Barrier::new(parties)
    }

    async fn wait(barrier: &Barrier) -> bool {
        barrier.wait().await.is_leader()
    }
}

impl Broadcast for Smol {
    type Broadcaster = async_broadcast::Sender<u64>;
    type Listener = async_broadcast::Receiver<u64>;

    fn broadcast(capacity: usize, listeners: usize) -> (Self::Broadcaster, Vec<Self::Listener>) {
        let (sender, first) = async_broadcast::broadcast(capacity);
        let more = (1..listeners).map(|_| first.clone()).collect::<Vec<_>>();
        (sender, [first].into_iter().chain(more).collect())
    }

    fn announce(sender: &Self::Broadcaster, value: u64) -> bool {
        sender.try_broadcast(value).is_ok()
    }

    fn try_hear(listener: &mut Self::Listener) -> Option<u64> {
        listener.try_recv().ok()
    }

    async fn hear(listener: &mut Self::Listener) -> Option<u64> {
        listener.recv_direct().await.ok()
    }
}
