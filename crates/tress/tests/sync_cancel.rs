//! Futures that are dropped: nothing that was promised to them is lost.

mod sync_support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use sync_support::{Task, drop_at_every_point, task};
use tress::sync::{
    Barrier, CancellationToken, Mutex, Notify, OnceCell, OwnedMutexGuard, OwnedRwLockReadGuard,
    OwnedSemaphorePermit, RwLock, Semaphore, SetOnce,
};
use tress::task::yield_now;

type Boxed<T> = std::pin::Pin<Box<dyn Future<Output = T>>>;

/// Something that the step lets go of.
type Slot<T> = std::sync::Mutex<Option<T>>;

fn slot<T>(value: T) -> Slot<T> {
    std::sync::Mutex::new(Some(value))
}

fn release<T>(slot: &Slot<T>) {
    drop(slot.lock().unwrap().take());
}

#[test]
fn mutex_lock() {
    struct World {
        mutex: Arc<Mutex<u32>>,
        held: Slot<OwnedMutexGuard<u32>>,
    }
    drop_at_every_point(
        || {
            let mutex = Arc::new(Mutex::new(0));
            let held = slot(mutex.clone().try_lock_owned().unwrap());
            World { mutex, held }
        },
        |world| {
            let mutex = world.mutex.clone();
            async move {
                let mut guard = mutex.lock().await;
                *guard += 1;
                yield_now().await;
                *guard += 1;
            }
        },
        |world, _| release(&world.held),
        |world, done| {
            release(&world.held);
            let value = *world.mutex.try_lock().expect("the lock was lost");
            assert!(done.is_none() || value == 2);
        },
    );
}

/// The lock goes to the next in line, whenever the first one is dropped.
#[test]
fn mutex_lock_with_another_in_line() {
    struct World {
        mutex: Arc<Mutex<u32>>,
        held: Slot<OwnedMutexGuard<u32>>,
        next: std::sync::Mutex<Task<Boxed<()>>>,
    }
    drop_at_every_point(
        || {
            let mutex = Arc::new(Mutex::new(0));
            let held = slot(mutex.clone().try_lock_owned().unwrap());
            let other = mutex.clone();
            let next: Boxed<()> = Box::pin(async move { *other.lock().await += 10 });
            World {
                mutex,
                held,
                next: std::sync::Mutex::new(task(next)),
            }
        },
        |world| {
            let mutex = world.mutex.clone();
            async move { *mutex.lock_owned().await += 1 }
        },
        |world, step| match step {
            0 => world.next.lock().unwrap().pending(),
            _ => release(&world.held),
        },
        |world, _| {
            release(&world.held);
            world.next.lock().unwrap().ready();
            assert!(*world.mutex.try_lock().unwrap() >= 10);
        },
    );
}

#[test]
fn semaphore_acquire_many() {
    struct World {
        semaphore: Arc<Semaphore>,
        held: std::sync::Mutex<Vec<OwnedSemaphorePermit>>,
    }
    drop_at_every_point(
        || {
            let semaphore = Arc::new(Semaphore::new(5));
            let held = (0..4)
                .map(|_| semaphore.clone().try_acquire_owned().unwrap())
                .collect();
            World {
                semaphore,
                held: std::sync::Mutex::new(held),
            }
        },
        |world| {
            let semaphore = world.semaphore.clone();
            async move {
                let permit = semaphore.acquire_many(4).await.unwrap();
                yield_now().await;
                let more = semaphore.clone().acquire_owned().await.unwrap();
                drop(permit);
                yield_now().await;
                drop(more);
            }
        },
        |world, _| drop(world.held.lock().unwrap().pop()),
        |world, _| {
            world.held.lock().unwrap().clear();
            assert_eq!(world.semaphore.available_permits(), 5);
        },
    );
}

/// Permits that a dropped request had gathered serve the one behind it.
#[test]
fn semaphore_acquire_many_with_another_in_line() {
    let semaphore = Arc::new(Semaphore::new(2));
    let mut large = task(semaphore.acquire_many(3));
    let mut small = task(semaphore.acquire());
    large.pending();
    small.pending();
    drop(large);
    assert!(small.is_woken());
    drop(small.ready().unwrap());
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn rwlock_read_and_write() {
    struct World {
        lock: Arc<RwLock<u32>>,
        held: Slot<OwnedRwLockReadGuard<u32>>,
    }
    drop_at_every_point(
        || {
            let lock = Arc::new(RwLock::new(0));
            let held = slot(lock.clone().try_read_owned().unwrap());
            World { lock, held }
        },
        |world| {
            let lock = world.lock.clone();
            async move {
                *lock.write().await += 1;
                let reader = lock.read().await;
                yield_now().await;
                let seen = *reader;
                drop(reader);
                let writer = lock.clone().write_owned().await;
                yield_now().await;
                let reader = writer.downgrade();
                yield_now().await;
                seen + *reader
            }
        },
        |world, _| release(&world.held),
        |world, _| {
            release(&world.held);
            assert!(world.lock.try_write().is_ok());
        },
    );
}

#[test]
fn readers_behind_a_dropped_writer_go_ahead() {
    let lock = RwLock::new(0);
    let reader = lock.try_read().unwrap();
    let mut writer = task(lock.write());
    writer.pending();
    let mut readers: Vec<_> = (0..3).map(|_| task(lock.read())).collect();
    readers.iter_mut().for_each(Task::pending);
    drop(writer);
    assert!(readers.iter().all(Task::is_woken));
    let guards: Vec<_> = readers.iter_mut().map(Task::ready).collect();
    assert_eq!(guards.len(), 3);
    drop(reader);
}

/// A notification that was sent is received by somebody, or kept.
#[test]
fn notify_one() {
    struct World {
        notify: Arc<Notify>,
        sent: AtomicUsize,
    }
    for owned in [false, true] {
        drop_at_every_point(
            || World {
                notify: Arc::new(Notify::new()),
                sent: AtomicUsize::new(0),
            },
            |world| {
                let notify = world.notify.clone();
                async move {
                    if owned {
                        notify.notified_owned().await;
                    } else {
                        notify.notified().await;
                    }
                }
            },
            |world, _| {
                world.sent.fetch_add(1, Ordering::SeqCst);
                world.notify.notify_one();
            },
            |world, received| {
                let kept = task(world.notify.notified()).poll().is_ready();
                let received = usize::from(received.is_some()) + usize::from(kept);
                assert_eq!(received, world.sent.load(Ordering::SeqCst));
            },
        );
    }
}

#[test]
fn notify_one_with_another_in_line() {
    for last in [false, true] {
        let notify = Notify::new();
        let mut chosen = task(notify.notified());
        let mut other = task(notify.notified());
        let tell = || {
            if last {
                notify.notify_last();
            } else {
                notify.notify_one();
            }
        };
        if last {
            other.pending();
            chosen.pending();
        } else {
            chosen.pending();
            other.pending();
        }
        tell();
        assert!(chosen.is_woken() && !other.is_woken());
        drop(chosen);
        assert!(other.is_woken());
        other.ready();
    }
}

/// What came by `notify_waiters` is not passed on.
#[test]
fn notify_waiters_is_not_forwarded() {
    let notify = Notify::new();
    let mut waiting = task(notify.notified());
    waiting.pending();
    notify.notify_waiters();
    drop(waiting);
    task(notify.notified()).pending();
}

#[test]
fn barrier_wait() {
    struct World {
        barrier: Arc<Barrier>,
        other: std::sync::Mutex<Option<Task<Boxed<bool>>>>,
    }
    let arrive = |barrier: &Arc<Barrier>| {
        let barrier = barrier.clone();
        let wait: Boxed<bool> = Box::pin(async move { barrier.wait().await.is_leader() });
        task(wait)
    };
    drop_at_every_point(
        || World {
            barrier: Arc::new(Barrier::new(2)),
            other: std::sync::Mutex::new(None),
        },
        |world| {
            let barrier = world.barrier.clone();
            async move { barrier.wait().await.is_leader() }
        },
        |world, _| {
            let mut other = arrive(&world.barrier);
            assert!(other.ready(), "the second is the last");
            *world.other.lock().unwrap() = Some(other);
        },
        |world, led| {
            assert_ne!(led, Some(true));
            // Whether it opened or was given up: the next round takes two again.
            let mut one = arrive(&world.barrier);
            one.pending();
            assert!(arrive(&world.barrier).ready());
            assert!(!one.ready());
        },
    );
}

/// Whoever is dropped while making the value leaves that to the next.
#[test]
fn once_cell_get_or_init() {
    struct World {
        cell: Arc<OnceCell<u32>>,
        runs: Arc<AtomicUsize>,
    }
    drop_at_every_point(
        || World {
            cell: Arc::new(OnceCell::new()),
            runs: Arc::default(),
        },
        |world| {
            let (cell, runs) = (world.cell.clone(), world.runs.clone());
            async move {
                *cell
                    .get_or_init(async || {
                        runs.fetch_add(1, Ordering::SeqCst);
                        yield_now().await;
                        yield_now().await;
                        7
                    })
                    .await
            }
        },
        |world, _| assert!(world.cell.set(9).unwrap_err().is_initializing_err()),
        |world, made| {
            let mut next = task(world.cell.get_or_init(async || 8));
            assert_eq!(*next.ready(), made.unwrap_or(8));
            assert!(world.runs.load(Ordering::SeqCst) <= 1);
        },
    );
}

#[test]
fn set_once_and_token() {
    struct World {
        once: Arc<SetOnce<u32>>,
        token: CancellationToken,
    }
    drop_at_every_point(
        || World {
            once: Arc::new(SetOnce::new()),
            token: CancellationToken::new(),
        },
        |world| {
            let (once, token) = (world.once.clone(), world.token.child_token());
            async move {
                let value = *once.wait().await;
                token.cancelled().await;
                token.cancelled_owned().await;
                value
            }
        },
        |world, step| match step {
            0 => world.once.set(1).unwrap(),
            _ => world.token.cancel(),
        },
        |world, _| {
            // Nothing that is gone is woken: Miri and ASan see to that.
            let _ = world.once.set(2);
            world.token.cancel();
        },
    );
}
