//! What dispatchers promise: their limits hold, their tasks stay with them, and blocking in one hurts
//! nobody else.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc as std_mpsc};
use tress::dispatch::{self, Dispatcher, spawn_on, with_dispatcher};
use tress::runtime::{Builder, Runtime, worker_index};
use tress::sync::{Notify, mpsc, oneshot};
use tress::task;

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

fn each_runtime(f: impl AsyncFn()) {
    for rt in [workers(1), workers(3), current()] {
        rt.block_on(f());
    }
}

/// The most tasks that were inside at a time.
#[derive(Clone, Default)]
struct Crowd(Arc<(AtomicUsize, AtomicUsize)>);

impl Crowd {
    fn enter(&self) {
        let inside = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(inside, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

/// All of them block until all are there, and meanwhile the one worker runs tasks.
#[test]
fn sixty_four_block_in_io_while_default_goes_on() {
    for rt in [workers(1), current()] {
        rt.block_on(async {
            let io = dispatch::io();
            assert!(io.parallelism() >= Some(64));
            let gate = Arc::new(Barrier::new(65));
            let blocked: Vec<_> = (0..64)
                .map(|n| {
                    let gate = gate.clone();
                    spawn_on(&io, async move {
                        gate.wait();
                        n
                    })
                })
                .collect();
            for _ in 0..1000 {
                tress::spawn(task::yield_now()).await.unwrap();
            }
            assert!(blocked.iter().all(|task| !task.is_finished()));
            task::spawn_blocking(move || gate.wait()).await.unwrap();
            for (n, task) in blocked.into_iter().enumerate() {
                assert_eq!(task.await.unwrap(), n);
            }
        });
    }
}

/// A view limits itself, and the one under it limits all views over it together.
#[test]
fn limits_hold_and_add_up() {
    each_runtime(async || {
        for (limit, views) in [(1, [1, 5]), (2, [2, 2]), (3, [2, 9])] {
            let bases = [
                dispatch::custom(limit),
                dispatch::io().limited_parallelism(limit),
                dispatch::default().limited_parallelism(limit),
            ];
            for base in bases {
                let all = Crowd::default();
                let mut tasks = Vec::new();
                let mut crowds = Vec::new();
                for view in views.map(|n| base.limited_parallelism(n)) {
                    let crowd = Crowd::default();
                    crowds.push((view.parallelism().unwrap(), crowd.clone()));
                    for _ in 0..50 {
                        let (all, crowd) = (all.clone(), crowd.clone());
                        tasks.push(spawn_on(&view, async move {
                            for _ in 0..5 {
                                all.enter();
                                crowd.enter();
                                std::thread::yield_now();
                                crowd.leave();
                                all.leave();
                                task::yield_now().await;
                            }
                        }));
                    }
                }
                for task in tasks {
                    task.await.unwrap();
                }
                assert!(all.most() <= limit, "{} > {limit}", all.most());
                for (limit, crowd) in crowds {
                    assert!((1..=limit).contains(&crowd.most()));
                }
            }
        }
    });
}

/// The limit is not only a bound: so many really run at a time.
#[test]
fn as_many_run_as_the_limit_says() {
    let rt = workers(1);
    rt.block_on(async {
        for n in [1, 2, 7] {
            let custom = dispatch::custom(n);
            let gate = Arc::new(Barrier::new(n));
            let tasks: Vec<_> = (0..3 * n)
                .map(|_| {
                    let gate = gate.clone();
                    spawn_on(&custom, async move { gate.wait().is_leader() })
                })
                .collect();
            let mut leaders = 0;
            for task in tasks {
                leaders += usize::from(task.await.unwrap());
            }
            assert_eq!(leaders, 3);
        }
    });
}

#[test]
fn single_keeps_the_order_and_never_overlaps() {
    each_runtime(async || {
        let single = dispatch::single();
        let crowd = Crowd::default();
        let log = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = (0..1000)
            .map(|n| {
                let (crowd, log) = (crowd.clone(), log.clone());
                spawn_on(&single, async move {
                    crowd.enter();
                    log.lock().unwrap().push(n);
                    // Whoever may run beside us gets the chance.
                    std::thread::yield_now();
                    crowd.leave();
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(crowd.most(), 1);
        assert!(log.lock().unwrap().iter().copied().eq(0..1000));
    });
}

/// Woken from workers and from plain threads, a task goes on in its own dispatcher.
#[test]
fn wakes_return_through_the_tasks_own_dispatcher() {
    let rt = workers(2);
    rt.block_on(async {
        let (tx, mut rx) = mpsc::channel::<u32>(1);
        let single = dispatch::single();
        let task = spawn_on(&single, async move {
            let mut got = 0;
            while let Some(n) = rx.recv().await {
                assert_eq!(worker_index(), None, "on a worker");
                got += n;
            }
            got
        });
        let from_worker = tx.clone();
        tress::spawn(async move {
            for _ in 0..100 {
                from_worker.send(1).await.unwrap();
                task::yield_now().await;
            }
        });
        std::thread::spawn(move || {
            for _ in 0..100 {
                tx.blocking_send(1).unwrap();
            }
        });
        assert_eq!(task.await.unwrap(), 200);
    });
}

#[test]
fn with_dispatcher_moves_only_if_it_must() {
    let rt = workers(2);
    rt.block_on(async {
        let io = dispatch::io();
        let over = io.limited_parallelism(4);
        let default = dispatch::default();
        let here = || std::thread::current().id();
        // From a worker.
        let (io2, default2) = (io.clone(), default.clone());
        tress::spawn(async move {
            let worker = here();
            let same = with_dispatcher(&default2, async move { here() });
            assert_eq!(same.await, worker);
            let other = with_dispatcher(&io2, async move { (here(), worker_index()) });
            let (other, index) = other.await;
            assert!(other != worker && index.is_none());
        })
        .await
        .unwrap();
        // From a view into itself, into the one under it, and back to the workers.
        let views = (io.clone(), over.clone(), default.clone());
        spawn_on(&over, async move {
            let (io, over, default) = views;
            let thread = here();
            assert_eq!(with_dispatcher(&over, async move { here() }).await, thread);
            assert_eq!(with_dispatcher(&io, async move { here() }).await, thread);
            let index = with_dispatcher(&default, async { worker_index() }).await;
            assert!(index.is_some());
        })
        .await
        .unwrap();
        // `block_on` runs beside the workers.
        assert!(
            with_dispatcher(&default, async { worker_index() })
                .await
                .is_some()
        );
    });
}

#[test]
fn with_dispatcher_passes_panics_on_and_aborts_when_dropped() {
    each_runtime(async || {
        let io = dispatch::io();
        let panics = tress::spawn(with_dispatcher(&io, async { panic!("there") }));
        let payload = panics.await.unwrap_err().into_panic();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"there"));

        let (started_tx, started_rx) = oneshot::channel();
        let (dropped_tx, dropped_rx) = oneshot::channel::<()>();
        let waits = tress::spawn(with_dispatcher(&io, async move {
            let _dropped = dropped_tx;
            started_tx.send(()).unwrap();
            pending::<()>().await
        }));
        started_rx.await.unwrap();
        waits.abort();
        assert!(waits.await.unwrap_err().is_cancelled());
        assert!(dropped_rx.await.is_err());
        // Never polled: nothing begins.
        drop(with_dispatcher(&io, async {
            unreachable!("never polled") as ()
        }));
    });
}

#[test]
fn panics_and_aborts_stay_with_their_task() {
    each_runtime(async || {
        let single = dispatch::single();
        let panicked = spawn_on(&single, async { panic!("mine") });
        let waits = spawn_on(&single, pending::<()>());
        assert!(panicked.await.unwrap_err().is_panic());
        waits.abort();
        assert!(waits.await.unwrap_err().is_cancelled());
        assert_eq!(spawn_on(&single, async { 5 }).await.unwrap(), 5);
    });
}

#[test]
fn unconfined_begins_at_once_and_goes_on_on_a_worker() {
    let rt = workers(2);
    rt.block_on(async {
        let unconfined = dispatch::unconfined();
        let here = std::thread::current().id();
        let gate = Arc::new(Notify::new());
        let notified = gate.clone();
        let begun = Arc::new(AtomicUsize::new(0));
        let counted = begun.clone();
        let task = spawn_on(&unconfined, async move {
            assert_eq!(std::thread::current().id(), here);
            counted.fetch_add(1, Ordering::SeqCst);
            notified.notified().await;
            worker_index()
        });
        assert_eq!(begun.load(Ordering::SeqCst), 1);
        gate.notify_one();
        assert!(task.await.unwrap().is_some());
        // A yield is a suspension too.
        let yields = spawn_on(&unconfined, async {
            task::yield_now().await;
            worker_index()
        });
        assert!(yields.await.unwrap().is_some());
    });
}

/// Each spawns the next before it ends.
#[test]
fn unconfined_recursion_a_million_deep() {
    fn dig(depth: usize, unconfined: Dispatcher, done: oneshot::Sender<usize>, sum: usize) {
        if depth == 0 {
            done.send(sum).unwrap();
            return;
        }
        let next = unconfined.clone();
        spawn_on(
            &unconfined,
            async move { dig(depth - 1, next, done, sum + 1) },
        );
    }
    for rt in [workers(2), current()] {
        rt.block_on(async {
            let (tx, rx) = oneshot::channel();
            dig(1_000_000, dispatch::unconfined(), tx, 0);
            assert_eq!(rx.await.unwrap(), 1_000_000);
        });
    }
}

/// The last handle goes; what was spawned finishes, and takes the view along.
#[test]
fn a_released_dispatcher_finishes_its_work() {
    each_runtime(async || {
        let custom = dispatch::custom(2);
        let view = custom.limited_parallelism(1);
        let (gates, tasks): (Vec<_>, Vec<_>) = (0..4)
            .map(|n| {
                let (tx, rx) = oneshot::channel::<()>();
                let target = if n % 2 == 0 { &custom } else { &view };
                let task = spawn_on(target, async move {
                    rx.await.unwrap();
                    n
                });
                (tx, task)
            })
            .unzip();
        drop((custom, view));
        for gate in gates {
            gate.send(()).unwrap();
        }
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), n);
        }
    });
}

/// Waiting, ready and running tasks of every kind of view.
#[test]
fn shutdown_drops_the_tasks_of_all_views() {
    struct OnDrop(Arc<AtomicUsize>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    for rt in [workers(1), workers(2), current()] {
        let dropped = Arc::new(AtomicUsize::new(0));
        let (release, blocked) = std_mpsc::channel::<()>();
        let (late, tasks) = rt.block_on(async {
            let single = dispatch::single();
            let views = [
                single.clone(),
                dispatch::io(),
                dispatch::default().limited_parallelism(2),
                dispatch::custom(3).limited_parallelism(1),
            ];
            let mut tasks = Vec::new();
            for view in &views {
                for yields in [true, false] {
                    let guard = OnDrop(dropped.clone());
                    tasks.push(spawn_on(view, async move {
                        let _guard = guard;
                        if yields {
                            loop {
                                task::yield_now().await;
                            }
                        }
                        pending::<()>().await;
                    }));
                }
            }
            let (started_tx, started_rx) = oneshot::channel();
            let guard = OnDrop(dropped.clone());
            tasks.push(spawn_on(&dispatch::io(), async move {
                let _guard = guard;
                started_tx.send(()).unwrap();
                // Until the shutdown has begun.
                assert!(blocked.recv().is_err());
                pending::<()>().await;
            }));
            started_rx.await.unwrap();
            (single, tasks)
        });
        let closing = std::thread::spawn(move || drop(rt));
        drop(release);
        closing.join().unwrap();
        assert_eq!(dropped.load(Ordering::SeqCst), tasks.len());
        assert!(tasks.iter().all(|task| task.is_finished()));
        // It came too late, also into a view made after the end.
        let refused = spawn_on(&late, async { unreachable!("the runtime is gone") });
        assert!(refused.is_finished());
        let refused = spawn_on(&late.limited_parallelism(1), async {
            unreachable!("as above")
        });
        assert!(refused.is_finished());
    }
}

#[test]
#[should_panic = "at least one task"]
fn a_limit_of_zero_is_refused() {
    let rt = current();
    let _entered = rt.enter();
    dispatch::custom(0);
}
