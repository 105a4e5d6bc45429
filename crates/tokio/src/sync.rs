//! Channels, locks and notifications for asynchronous tasks; see [`tress::sync`].

pub use tress::sync::{
    AcquireError, Barrier, BarrierWaitResult, MappedMutexGuard, Mutex, MutexGuard, Notify,
    OnceCell, OwnedMappedMutexGuard, OwnedMutexGuard, OwnedRwLockMappedWriteGuard,
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit,
    SetError, SetOnce, SetOnceError, TryAcquireError, TryLockError, broadcast, futures, mpsc,
    oneshot, watch,
};
