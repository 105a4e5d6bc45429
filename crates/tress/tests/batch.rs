//! What spawning many tasks at once promises: the same as a loop of spawns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tress::runtime::{Builder, Handle, Runtime};
use tress::sync::{Notify, oneshot};
use tress::task::{self, spawn_batch};

fn workers(n: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(n)
        .enable_all()
        .build()
        .unwrap()
}

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

struct OnDrop(Arc<AtomicUsize>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Around the sizes of a chunk and of a ring, on a worker, beside the workers and on a plain thread.
#[test]
fn every_future_runs_once_and_results_are_in_order() {
    for rt in [workers(1), workers(3), current()] {
        for n in [0, 1, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 20_000] {
            let batch = move || spawn_batch((0..n).map(|i| async move { i }));
            let check = move |results: Vec<Result<usize, task::JoinError>>| {
                assert!(results.into_iter().map(Result::unwrap).eq(0..n), "{n}");
            };
            rt.block_on(async {
                check(tress::spawn(async move { batch().await }).await.unwrap());
                check(batch().await);
            });
            let outside = rt.handle().spawn_batch((0..n).map(|i| async move { i }));
            assert_eq!((outside.len(), outside.is_empty()), (n, n == 0));
            check(rt.block_on(outside));
        }
        // A worker counts an end after it has told of it.
        while rt.metrics().num_alive_tasks() > 0 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn panics_and_aborts_stay_with_their_task() {
    for rt in [workers(2), current()] {
        rt.block_on(async {
            let results = spawn_batch((0..100).map(|n| async move {
                assert_ne!(n % 10, 3, "one in ten");
                n
            }))
            .await;
            for (n, result) in results.into_iter().enumerate() {
                match result {
                    Ok(value) => assert_eq!(value, n),
                    Err(error) => assert!(error.is_panic() && n % 10 == 3),
                }
            }
            let dropped = Arc::new(AtomicUsize::new(0));
            let batch = spawn_batch((0..100).map(|n| {
                let guard = OnDrop(dropped.clone());
                async move {
                    let _guard = guard;
                    if n % 2 == 1 {
                        std::future::pending::<()>().await;
                    }
                }
            }));
            assert!(!batch.is_finished());
            batch.abort_all();
            let results = batch.await;
            assert!((1..100).step_by(2).all(|n| results[n].is_err()));
            assert_eq!(dropped.load(Ordering::SeqCst), 100);
        });
    }
}

/// Cut short after each number of results: none is lost, and the rest comes with the next await.
#[test]
fn awaiting_it_can_be_dropped_and_repeated() {
    for rt in [workers(2), current()] {
        rt.block_on(async {
            let (gates, futures): (Vec<_>, Vec<_>) = (0..5)
                .map(|n| {
                    let (open, gate) = oneshot::channel::<()>();
                    (open, async move {
                        gate.await.unwrap();
                        n
                    })
                })
                .unzip();
            let mut batch = spawn_batch(futures);
            for (n, gate) in gates.into_iter().enumerate() {
                let polled = tress::future::poll_once(&mut batch).await;
                assert!(polled.is_none(), "{n} of 5 are done");
                gate.send(()).unwrap();
                assert_eq!(batch.len(), 5);
            }
            let results: Vec<_> = batch.await.into_iter().map(Result::unwrap).collect();
            assert_eq!(results, [0, 1, 2, 3, 4]);
        });
    }
}

#[test]
fn handles_can_be_taken_out_and_dropping_detaches() {
    for rt in [workers(2), current()] {
        rt.block_on(async {
            let handles = spawn_batch((0..10).map(|n| async move { n })).into_iter();
            assert_eq!(handles.len(), 10);
            for (n, handle) in handles.enumerate() {
                assert_eq!(handle.await.unwrap(), n);
            }
            let ran = Arc::new(AtomicUsize::new(0));
            let all = Arc::new(Notify::new());
            drop(spawn_batch((0..300).map(|_| {
                let (ran, all) = (ran.clone(), all.clone());
                async move {
                    if ran.fetch_add(1, Ordering::SeqCst) == 299 {
                        all.notify_one();
                    }
                }
            })));
            all.notified().await;
        });
    }
}

/// What the iterator gave before its panic runs; nothing of the runtime is held while it is asked.
#[test]
fn a_panicking_iterator_has_spawned_what_it_gave() {
    for rt in [workers(2), current()] {
        rt.block_on(async {
            for given in [0, 1, 63, 64, 65, 200] {
                let ran = Arc::new(AtomicUsize::new(0));
                let all = Arc::new(Notify::new());
                let futures = (0..).map(|n| {
                    assert!(n < given, "no more");
                    let (ran, all) = (ran.clone(), all.clone());
                    async move {
                        if ran.fetch_add(1, Ordering::SeqCst) + 1 == given {
                            all.notify_one();
                        }
                    }
                });
                assert!(catch_unwind(AssertUnwindSafe(|| spawn_batch(futures))).is_err());
                if given > 0 {
                    all.notified().await;
                }
                assert_eq!(ran.load(Ordering::SeqCst), given);
            }
        });
    }
}

#[test]
fn the_iterator_may_spawn_and_block_in_place() {
    let rt = workers(2);
    let sum = rt.block_on(async {
        tress::spawn(async {
            let batch = spawn_batch((0..200u64).map(|n| {
                let inner = match n % 3 {
                    0 => tress::spawn(async move { n }),
                    // The core is given away and comes back.
                    1 => task::block_in_place(|| tress::spawn(async move { n })),
                    _ => spawn_batch([async move { n }]).into_iter().next().unwrap(),
                };
                async move { inner.await.unwrap() }
            }));
            batch.await.into_iter().map(Result::unwrap).sum::<u64>()
        })
        .await
        .unwrap()
    });
    assert_eq!(sum, 199 * 200 / 2);
}

/// The runtime ends while a batch is being spawned: each future is run or dropped, once, and each
/// handle says so.
#[test]
fn shutdown_in_the_middle_drops_every_future() {
    for from_worker in [false, true] {
        for cut in [1, 64, 100, 1000] {
            let rt = workers(2);
            let handle: Handle = rt.handle().clone();
            let (made, dropped) = (Arc::default(), Arc::<AtomicUsize>::default());
            let (reached_tx, reached) = oneshot::channel();
            let (closed_tx, closed) = std::sync::mpsc::channel::<()>();
            let spawn = {
                let (made, dropped) = (Arc::<AtomicUsize>::clone(&made), dropped.clone());
                let mut signal = Some((reached_tx, closed));
                move || {
                    handle.spawn_batch((0..2000).map(|n| {
                        if n == cut {
                            let (reached, closed) = signal.take().unwrap();
                            reached.send(()).unwrap();
                            // Until the shutdown has begun.
                            assert!(closed.recv().is_err());
                        }
                        made.fetch_add(1, Ordering::SeqCst);
                        let guard = OnDrop(dropped.clone());
                        async move {
                            let _guard = guard;
                            std::future::pending::<()>().await;
                        }
                    }))
                }
            };
            let spawner = if from_worker {
                let (tx, rx) = std::sync::mpsc::channel();
                let mut spawn = spawn;
                rt.spawn(async move { tx.send(spawn()).unwrap() });
                std::thread::spawn(move || rx.recv().unwrap())
            } else {
                std::thread::spawn(spawn)
            };
            reached.blocking_recv().unwrap();
            let closing = std::thread::spawn(move || drop(rt));
            drop(closed_tx);
            closing.join().unwrap();
            let batch = spawner.join().unwrap();
            assert_eq!(batch.len(), 2000);
            assert!(batch.is_finished());
            assert_eq!(made.load(Ordering::SeqCst), 2000);
            assert_eq!(dropped.load(Ordering::SeqCst), 2000);
        }
    }
}

#[test]
#[should_panic = "spawn_batch"]
fn outside_of_a_runtime_it_panics() {
    spawn_batch([async {}]);
}
