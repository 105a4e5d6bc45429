//! Which types may be sent, shared, moved and carried over a panic. Checked by compiling.

use std::cell::Cell;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use std::sync::Arc;
use tress::sync::cancellation::{
    DropGuard, DropGuardRef, WaitForCancellationFuture, WaitForCancellationFutureOwned,
};
use tress::sync::futures::{Notified, OwnedNotified};
use tress::sync::*;

type Shareable = u32;
type OnlySend = Cell<u32>;
type Neither = Rc<u32>;

/// True if the type has the property. An inherent constant wins over the trait's if its bound holds.
macro_rules! has {
    ($bound:path, $type:ty) => {{
        #[allow(dead_code, reason = "unused where the bound holds")]
        trait Otherwise {
            const HAS: bool = false;
        }
        impl<T: ?Sized> Otherwise for T {}
        struct Ask<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "unused where it does not")]
        impl<T: ?Sized + $bound> Ask<T> {
            const HAS: bool = true;
        }
        <Ask<$type>>::HAS
    }};
}

macro_rules! bounds {
    ($($type:ty: $send:literal $sync:literal $unpin:literal;)*) => {
        $(
            assert_eq!(
                (has!(Send, $type), has!(Sync, $type), has!(Unpin, $type)),
                ($send, $sync, $unpin),
                "Send, Sync, Unpin of {}",
                stringify!($type)
            );
        )*
    };
}

#[test]
fn send_sync_and_unpin() {
    bounds! {
        Semaphore: true true true;
        SemaphorePermit<'_>: true true true;
        OwnedSemaphorePermit: true true true;
        Notify: true true true;
        Notified<'_>: true true false;
        OwnedNotified: true true false;
        Barrier: true true true;
        BarrierWaitResult: true true true;
        CancellationToken: true true true;
        DropGuard: true true true;
        DropGuardRef<'_>: true true true;
        WaitForCancellationFuture<'_>: true true false;
        WaitForCancellationFutureOwned: true true false;

        Mutex<Shareable>: true true true;
        Mutex<OnlySend>: true true true;
        Mutex<Neither>: false false true;
        MutexGuard<'_, Shareable>: true true true;
        MutexGuard<'_, OnlySend>: true false true;
        MutexGuard<'_, Neither>: false false true;
        MappedMutexGuard<'_, Shareable>: true true true;
        MappedMutexGuard<'_, OnlySend>: true false true;
        MappedMutexGuard<'_, Neither>: false false true;
        OwnedMutexGuard<Shareable>: true true true;
        OwnedMutexGuard<OnlySend>: true false true;
        OwnedMutexGuard<Neither>: false false true;
        OwnedMappedMutexGuard<Shareable, Shareable>: true true true;
        OwnedMappedMutexGuard<Shareable, OnlySend>: true false true;
        OwnedMappedMutexGuard<Shareable, Neither>: false false true;
        OwnedMappedMutexGuard<OnlySend, Shareable>: true false true;
        OwnedMappedMutexGuard<Neither, Shareable>: false false true;

        RwLock<Shareable>: true true true;
        RwLock<OnlySend>: true false true;
        RwLock<Neither>: false false true;
        RwLockReadGuard<'_, Shareable>: true true true;
        RwLockReadGuard<'_, OnlySend>: false false true;
        RwLockReadGuard<'_, Neither>: false false true;
        RwLockWriteGuard<'_, Shareable>: true true true;
        RwLockWriteGuard<'_, OnlySend>: false false true;
        RwLockMappedWriteGuard<'_, Shareable>: true true true;
        RwLockMappedWriteGuard<'_, OnlySend>: false false true;
        OwnedRwLockReadGuard<Shareable>: true true true;
        OwnedRwLockReadGuard<OnlySend>: false false true;
        OwnedRwLockWriteGuard<Shareable>: true true true;
        OwnedRwLockWriteGuard<OnlySend>: false false true;
        OwnedRwLockMappedWriteGuard<Shareable>: true true true;
        OwnedRwLockMappedWriteGuard<OnlySend>: false false true;

        OnceCell<Shareable>: true true true;
        OnceCell<OnlySend>: true false true;
        OnceCell<Neither>: false false true;
        SetOnce<Shareable>: true true true;
        SetOnce<OnlySend>: true false true;
        SetOnce<Neither>: false false true;
    }
}

/// The futures of functions have no names to ask for; these say what holds for them.
#[test]
fn futures_are_send_and_sync_if_the_data_allows_it() {
    fn ask<F: Future + Send + Sync>(_: F) {}
    let mutex = Arc::new(Mutex::new(Cell::new(0)));
    ask(mutex.lock());
    ask(mutex.clone().lock_owned());
    let lock = Arc::new(RwLock::new(0));
    ask(lock.read());
    ask(lock.write());
    ask(lock.clone().read_owned());
    ask(lock.clone().write_owned());
    let semaphore = Arc::new(Semaphore::new(1));
    ask(semaphore.acquire());
    ask(semaphore.acquire_many(1));
    ask(semaphore.clone().acquire_owned());
    ask(semaphore.clone().acquire_many_owned(1));
    ask(Barrier::new(1).wait());
    ask(SetOnce::from(1).wait());
    ask(OnceCell::new().get_or_init(|| std::future::ready(1)));
    ask(CancellationToken::new().run_until_cancelled(std::future::ready(1)));
}

#[test]
fn what_survives_a_panic() {
    fn ask<T: UnwindSafe + RefUnwindSafe>() {}
    ask::<Notify>();
    ask::<Semaphore>();
    ask::<Barrier>();
    ask::<CancellationToken>();
}

#[test]
fn unsized_data_can_be_locked() {
    let mutex: Box<Mutex<[u32]>> = Box::new(Mutex::new([1, 2, 3]));
    assert_eq!(mutex.try_lock().unwrap().len(), 3);
    let lock: Arc<RwLock<dyn std::fmt::Debug + Send + Sync>> = Arc::new(RwLock::new(5));
    assert_eq!(format!("{:?}", lock.try_read_owned().unwrap()), "5");
}

#[test]
fn errors_are_errors() {
    fn ask<E: std::error::Error + Send + Sync + 'static>() {}
    ask::<AcquireError>();
    ask::<TryAcquireError>();
    ask::<TryLockError>();
    ask::<SetError<u32>>();
    ask::<SetOnceError<u32>>();
}
