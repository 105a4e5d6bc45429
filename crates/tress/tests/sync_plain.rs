//! No runtime anywhere: any executor will do, also none that is worth the name.

mod sync_support;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use sync_support::{Exclusion, block_on, run_all};
use tress::sync::{
    Barrier, CancellationToken, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce,
};

type Futures = Vec<Pin<Box<dyn Future<Output = ()>>>>;

/// Threads that share a lock, each with its own executor.
fn on_threads<F>(n: usize, f: impl Fn(usize) -> F + Send + Sync)
where
    F: Future<Output = ()>,
{
    thread::scope(|scope| {
        for i in 0..n {
            let f = &f;
            scope.spawn(move || block_on(f(i)));
        }
    });
}

const ROUNDS: usize = if cfg!(miri) { 20 } else { 2_000 };

#[test]
fn mutex_between_threads() {
    let counter = Mutex::new(0);
    on_threads(4, async |_| {
        for _ in 0..ROUNDS {
            *counter.lock().await += 1;
        }
    });
    assert_eq!(counter.into_inner(), 4 * ROUNDS);
}

#[test]
fn mutex_between_tasks_and_blocked_threads() {
    let counter = Arc::new(Mutex::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    *counter.blocking_lock() += 1;
                }
            });
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    *counter.clone().blocking_lock_owned() += 1;
                }
            });
            scope.spawn(|| {
                block_on(async {
                    for _ in 0..ROUNDS {
                        *counter.lock().await += 1;
                    }
                });
            });
        }
    });
    assert_eq!(*counter.try_lock().unwrap(), 6 * ROUNDS);
}

#[test]
fn rwlock_between_threads() {
    let (lock, exclusion) = (RwLock::with_max_readers(0, 3), Exclusion::default());
    on_threads(4, async |i| {
        for k in 0..ROUNDS {
            if (i + k) % 4 == 0 {
                let mut guard = lock.write().await;
                let _writing = exclusion.write();
                *guard += 1;
            } else {
                let _guard = lock.read().await;
                let _reading = exclusion.read();
            }
        }
    });
    assert_eq!(lock.into_inner(), ROUNDS);
}

#[test]
fn rwlock_between_blocked_threads() {
    let (lock, exclusion) = (RwLock::new(0), Exclusion::default());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let mut guard = lock.blocking_write();
                    let _writing = exclusion.write();
                    *guard += 1;
                }
            });
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let _guard = lock.blocking_read();
                    let _reading = exclusion.read();
                }
            });
        }
    });
    assert_eq!(*lock.blocking_read(), 2 * ROUNDS);
}

#[test]
fn semaphore_between_threads() {
    let (semaphore, inside) = (Semaphore::new(3), AtomicUsize::new(0));
    on_threads(4, async |i| {
        for k in 0..ROUNDS {
            let n = 1 + (i + k) % 3;
            let _permit = semaphore.acquire_many(n as u32).await.unwrap();
            assert!(inside.fetch_add(n, Ordering::SeqCst) + n <= 3);
            inside.fetch_sub(n, Ordering::SeqCst);
        }
    });
    assert_eq!(semaphore.available_permits(), 3);
}

/// One thread, futures that are not even `Send`.
#[test]
fn everything_in_turns_on_one_thread() {
    let mutex = Rc::new(Mutex::new(Vec::new()));
    let lock = Rc::new(RwLock::new(0));
    let semaphore = Rc::new(Semaphore::new(2));
    let barrier = Rc::new(Barrier::new(5));
    let cell = Rc::new(OnceCell::new());
    let once = Rc::new(SetOnce::new());
    let go = Rc::new(Notify::new());
    let token = CancellationToken::new();
    let mut futures: Futures = Vec::new();
    for i in 0..5 {
        let (mutex, lock, semaphore) = (mutex.clone(), lock.clone(), semaphore.clone());
        let (barrier, cell, once) = (barrier.clone(), cell.clone(), once.clone());
        let (go, token) = (go.clone(), token.child_token());
        futures.push(Box::pin(async move {
            for _ in 0..3 {
                let _permit = semaphore.acquire().await.unwrap();
                let mut list = mutex.lock().await;
                tress::task::yield_now().await;
                list.push(i);
                *lock.write().await += 1;
            }
            let led = barrier.wait().await.is_leader();
            assert_eq!(*lock.read().await, 15);
            let value = *cell
                .get_or_init(async || {
                    tress::task::yield_now().await;
                    i
                })
                .await;
            if led {
                once.set(value).unwrap();
            }
            assert_eq!(*once.wait().await, value);
            go.notify_one();
            token.cancelled().await;
        }));
    }
    let go_on = go.clone();
    futures.push(Box::pin(async move {
        go_on.notified().await;
        token.cancel();
    }));
    run_all(futures);
    assert_eq!(mutex.try_lock().unwrap().len(), 15);
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn notify_between_threads() {
    let (there, back) = (Notify::new(), Notify::new());
    let turn = AtomicUsize::new(0);
    on_threads(2, async |i| {
        for k in 0..ROUNDS {
            if i == 0 {
                there.notify_one();
                back.notified().await;
                assert_eq!(turn.load(Ordering::Relaxed), k + 1);
            } else {
                there.notified().await;
                turn.store(k + 1, Ordering::Relaxed);
                back.notify_one();
            }
        }
    });
}

#[test]
fn barrier_between_threads() {
    let (barrier, leaders) = (Barrier::new(3), AtomicUsize::new(0));
    let rounds = ROUNDS / 10;
    on_threads(3, async |_| {
        for _ in 0..rounds {
            if barrier.wait().await.is_leader() {
                leaders.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    assert_eq!(leaders.into_inner(), rounds);
}

#[test]
fn cells_between_threads() {
    for _ in 0..ROUNDS / 20 {
        let (cell, once, made) = (OnceCell::new(), SetOnce::new(), AtomicUsize::new(0));
        on_threads(3, async |i| {
            let value = cell
                .get_or_init(async || {
                    made.fetch_add(1, Ordering::Relaxed);
                    String::from("value")
                })
                .await;
            if i == 0 {
                once.set(value.clone()).unwrap();
            }
            assert_eq!(once.wait().await, value);
        });
        assert_eq!(made.into_inner(), 1);
    }
}
