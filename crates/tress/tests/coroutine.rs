//! What coroutines promise: they are tasks in every respect, stay on their thread, and unwind.

#![cfg(all(feature = "coroutine", unix))]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc as std_mpsc};
use std::thread::ThreadId;
use tress::coroutine;
use tress::runtime::{Builder, Runtime};
use tress::sync::{Notify, mpsc, oneshot};
use tress::task;
use tress::time::Duration;

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

fn each_runtime(f: impl Fn(&Runtime)) {
    f(&workers(1));
    f(&workers(2));
    f(&current());
}

/// Counts when it is dropped, and on which thread.
struct OnDrop(Arc<Mutex<Vec<ThreadId>>>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(std::thread::current().id());
    }
}

#[test]
fn returns_a_value_and_yields_in_turn() {
    each_runtime(|rt| {
        let log = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = (0..3)
            .map(|n| {
                let log = log.clone();
                rt.spawn(async move {
                    coroutine::spawn(move || {
                        for step in 0..3 {
                            log.lock().unwrap().push((n, step));
                            coroutine::yield_now();
                        }
                        n
                    })
                    .await
                    .unwrap()
                })
            })
            .collect();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(rt.block_on(task).unwrap(), n);
        }
        assert_eq!(log.lock().unwrap().len(), 9);
    });
}

/// Channels with room for one, in both directions, between coroutines and futures.
#[test]
fn mixes_with_futures_both_ways() {
    each_runtime(|rt| {
        rt.block_on(async {
            let (to, mut from) = mpsc::channel::<u32>(1);
            let (back, mut answers) = mpsc::channel::<u32>(1);
            let echo = coroutine::spawn(move || {
                while let Some(n) = coroutine::wait(from.recv()) {
                    let doubled = coroutine::wait(tress::spawn(async move { 2 * n })).unwrap();
                    coroutine::wait(back.send(doubled)).unwrap();
                }
            });
            for n in 0..1000 {
                to.send(n).await.unwrap();
                assert_eq!(answers.recv().await, Some(2 * n));
            }
            drop(to);
            echo.await.unwrap();
        });
    });
}

#[test]
fn sleeps() {
    let rt = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    rt.block_on(async {
        let start = tress::time::Instant::now();
        coroutine::spawn(|| coroutine::sleep(Duration::from_secs(60)))
            .await
            .unwrap();
        assert!(start.elapsed() >= Duration::from_secs(60));
    });
}

/// Woken from other threads all the time, and kept company by tasks that are stolen.
#[test]
fn stays_on_its_thread() {
    let rt = workers(4);
    rt.block_on(async {
        let noise: Vec<_> = (0..8)
            .map(|_| {
                tress::spawn(async {
                    for _ in 0..2000 {
                        task::yield_now().await;
                    }
                })
            })
            .collect();
        let tasks: Vec<_> = (0..40)
            .map(|_| {
                coroutine::spawn(|| {
                    let home = std::thread::current().id();
                    let not_send = Rc::new(Cell::new(0));
                    for _ in 0..100 {
                        let (tx, rx) = oneshot::channel();
                        tress::spawn(async move { tx.send(()).unwrap() });
                        coroutine::wait(rx).unwrap();
                        coroutine::yield_now();
                        assert_eq!(std::thread::current().id(), home);
                        not_send.set(not_send.get() + 1);
                    }
                    not_send.get()
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), 100);
        }
        for task in noise {
            task.await.unwrap();
        }
    });
}

/// The worker that spawned it is busy: another one starts it.
#[test]
fn can_be_stolen_before_it_starts() {
    let rt = workers(2);
    let (here, there) = rt.block_on(async {
        tress::spawn(async {
            let (tx, rx) = std_mpsc::channel();
            // The second push moves the first out of the slot, where it can be taken at once.
            for _ in 0..2 {
                let tx = tx.clone();
                coroutine::spawn(move || tx.send(std::thread::current().id()).unwrap());
            }
            (std::thread::current().id(), rx.recv().unwrap())
        })
        .await
        .unwrap()
    });
    assert_ne!(here, there);
}

#[test]
fn a_panic_comes_back_through_the_handle() {
    each_runtime(|rt| {
        rt.block_on(async {
            let dropped = Arc::new(Mutex::new(Vec::new()));
            let guard = OnDrop(dropped.clone());
            let task = coroutine::Builder::new().name("doomed").spawn(move || {
                let _guard = guard;
                coroutine::yield_now();
                panic!("with a message");
            });
            let payload = task.await.unwrap_err().into_panic();
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"with a message"));
            assert_eq!(dropped.lock().unwrap().len(), 1);
        });
    });
}

#[test]
fn an_abort_unwinds_where_it_waits() {
    each_runtime(|rt| {
        rt.block_on(async {
            let dropped = Arc::new(Mutex::new(Vec::new()));
            let guard = OnDrop(dropped.clone());
            let (tx, rx) = oneshot::channel();
            let task = coroutine::spawn(move || {
                let _guard = guard;
                tx.send(std::thread::current().id()).unwrap();
                coroutine::wait(std::future::pending::<()>());
                unreachable!("it never becomes ready");
            });
            let home = rx.await.unwrap();
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
            assert_eq!(*dropped.lock().unwrap(), [home]);
        });
    });
}

#[test]
fn an_abort_before_it_starts_drops_the_closure() {
    let rt = current();
    rt.block_on(async {
        let dropped = Arc::new(Mutex::new(Vec::new()));
        let guard = OnDrop(dropped.clone());
        let task = coroutine::spawn(move || {
            let _guard = guard;
            unreachable!("it was aborted first");
        });
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(dropped.lock().unwrap().len(), 1);
    });
}

/// Code that catches the unwinding meets it again at its next wait.
#[test]
fn a_cancellation_cannot_be_swallowed() {
    each_runtime(|rt| {
        rt.block_on(async {
            let caught = Arc::new(AtomicUsize::new(0));
            let counted = caught.clone();
            let (tx, rx) = oneshot::channel();
            let task = coroutine::spawn(move || {
                tx.send(()).unwrap();
                for _ in 0..3 {
                    let waits = || coroutine::wait(std::future::pending::<()>());
                    assert!(catch_unwind(AssertUnwindSafe(waits)).is_err());
                    counted.fetch_add(1, Ordering::SeqCst);
                }
            });
            rx.await.unwrap();
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
            assert_eq!(caught.load(Ordering::SeqCst), 3);
        });
    });
}

#[test]
fn a_panic_while_it_unwinds_is_its_result() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            // Not a second panic: it begins after the first was caught.
            if !std::thread::panicking() {
                panic!("dropped");
            }
        }
    }
    each_runtime(|rt| {
        rt.block_on(async {
            let (tx, rx) = oneshot::channel();
            let task = coroutine::spawn(move || {
                let bomb = Bomb;
                tx.send(()).unwrap();
                let waits = || coroutine::wait(std::future::pending::<()>());
                let _ = catch_unwind(AssertUnwindSafe(waits));
                drop(bomb);
            });
            rx.await.unwrap();
            task.abort();
            assert!(task.await.unwrap_err().is_panic());
        });
    });
}

#[test]
fn a_shield_defers_an_abort() {
    each_runtime(|rt| {
        rt.block_on(async {
            let finished = Arc::new(AtomicBool::new(false));
            let flag = finished.clone();
            let (started_tx, started_rx) = oneshot::channel();
            let (go_tx, go_rx) = oneshot::channel::<()>();
            let task = coroutine::spawn(move || {
                coroutine::shield(|| {
                    started_tx.send(()).unwrap();
                    coroutine::wait(go_rx).unwrap();
                    coroutine::yield_now();
                    flag.store(true, Ordering::SeqCst);
                });
                coroutine::yield_now();
                unreachable!("the abort takes effect here");
            });
            started_rx.await.unwrap();
            task.abort();
            go_tx.send(()).unwrap();
            assert!(task.await.unwrap_err().is_cancelled());
            assert!(finished.load(Ordering::SeqCst));
        });
    });
}

/// Waiting, ready, sleeping and not yet started ones: the end of the runtime unwinds all, each on its
/// own thread.
#[test]
fn shutdown_unwinds_every_stack() {
    for n in [1, 3] {
        let rt = workers(n);
        let dropped = Arc::new(Mutex::new(Vec::new()));
        let homes = Arc::new(Mutex::new(Vec::new()));
        rt.block_on(async {
            for kind in 0..60 {
                let (dropped, homes) = (dropped.clone(), homes.clone());
                coroutine::spawn(move || {
                    let _guard = OnDrop(dropped);
                    homes.lock().unwrap().push(std::thread::current().id());
                    match kind % 3 {
                        0 => coroutine::wait(std::future::pending()),
                        1 => coroutine::sleep(Duration::from_secs(3600)),
                        _ => loop {
                            coroutine::yield_now();
                        },
                    }
                });
            }
            while homes.lock().unwrap().len() < 60 {
                task::yield_now().await;
            }
        });
        drop(rt);
        let mut homes = homes.lock().unwrap().clone();
        let mut dropped = dropped.lock().unwrap().clone();
        homes.sort_by_key(|id| format!("{id:?}"));
        dropped.sort_by_key(|id| format!("{id:?}"));
        assert_eq!(homes, dropped);
    }
    let rt = current();
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let guard = OnDrop(dropped.clone());
    rt.block_on(async {
        let started = Arc::new(Notify::new());
        let told = started.clone();
        coroutine::spawn(move || {
            let _guard = guard;
            told.notify_one();
            coroutine::wait(std::future::pending::<()>());
        });
        started.notified().await;
    });
    drop(rt);
    assert_eq!(dropped.lock().unwrap().len(), 1);
}

/// Wake-ups from many threads race with the end of the runtime.
#[test]
fn shutdown_races_with_wakes() {
    for _ in 0..50 {
        let rt = workers(2);
        let dropped = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (senders, threads): (Vec<_>, Vec<_>) = rt.block_on(async {
            let mut made = Vec::new();
            for _ in 0..2 {
                let (tx, mut rx) = mpsc::unbounded_channel::<()>();
                let guard = OnDrop(dropped.clone());
                let (ready_tx, ready_rx) = oneshot::channel();
                coroutine::spawn(move || {
                    let _guard = guard;
                    ready_tx.send(()).unwrap();
                    while coroutine::wait(rx.recv()).is_some() {}
                });
                ready_rx.await.unwrap();
                let (sender, stop) = (tx.clone(), stop.clone());
                let thread = std::thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) && sender.send(()).is_ok() {}
                });
                made.push((tx, thread));
            }
            made.into_iter().unzip()
        });
        drop(rt);
        assert_eq!(dropped.lock().unwrap().len(), 2);
        stop.store(true, Ordering::Relaxed);
        drop(senders);
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

/// A worker with coroutines keeps its thread; its other tasks are stolen, and its coroutines go on
/// where they were.
#[test]
fn block_in_place_keeps_the_thread_of_coroutines() {
    let rt = workers(2);
    rt.block_on(async {
        let waiting = coroutine::spawn(|| {
            let home = std::thread::current().id();
            let gate = Arc::new(Notify::new());
            let opener = gate.clone();
            let blocker = tress::spawn(async move {
                let result = task::block_in_place(|| {
                    let (tx, rx) = std_mpsc::channel();
                    tress::spawn(async move { tx.send(1).unwrap() });
                    rx.recv().unwrap()
                });
                opener.notify_one();
                result
            });
            coroutine::wait(gate.notified());
            assert_eq!(std::thread::current().id(), home);
            coroutine::wait(blocker).unwrap()
        });
        assert_eq!(waiting.await.unwrap(), 1);
        // In a coroutine itself.
        let inside = coroutine::spawn(|| {
            let home = std::thread::current().id();
            let value = task::block_in_place(|| 2);
            coroutine::yield_now();
            assert_eq!(std::thread::current().id(), home);
            value
        });
        assert_eq!(inside.await.unwrap(), 2);
    });
}

#[test]
fn what_it_entered_goes_with_it() {
    let other = current();
    let handle = other.handle().clone();
    let rt = workers(1);
    rt.block_on(async {
        let id = tress::runtime::Handle::current().id();
        let task = coroutine::spawn(move || {
            let entered = handle.enter();
            coroutine::yield_now();
            let inside = tress::runtime::Handle::current().id();
            drop(entered);
            (
                inside == handle.id(),
                tress::runtime::Handle::current().id(),
            )
        });
        let beside = tress::spawn(async {
            task::yield_now().await;
            tress::runtime::Handle::current().id()
        });
        assert_eq!(beside.await.unwrap(), id);
        assert_eq!(task.await.unwrap(), (true, id));
    });
}

#[test]
fn its_functions_need_a_coroutine() {
    assert!(!coroutine::is_current());
    for f in [
        || coroutine::yield_now(),
        || coroutine::scope(|_| ()),
        || coroutine::shield(|| ()),
    ] {
        let payload = catch_unwind(f).unwrap_err();
        let text = payload.downcast_ref::<String>().unwrap();
        assert!(text.contains("only be called in a coroutine"), "{text}");
    }
    // Not in another task that a coroutine happens to drive.
    current().block_on(async {
        let task = coroutine::spawn(|| {
            assert!(coroutine::is_current());
            let set = task::LocalSet::new();
            coroutine::wait(set.run_until(async {
                let local = task::spawn_local(async { coroutine::yield_now() });
                assert!(local.await.unwrap_err().is_panic());
            }));
        });
        task.await.unwrap();
    });
}

#[test]
fn a_current_thread_runtime_must_stay_with_its_thread() {
    let rt = current();
    let (tx, rx) = oneshot::channel::<()>();
    let (started_tx, started_rx) = oneshot::channel();
    let task = coroutine::Builder::new().spawn_on(
        move || {
            started_tx.send(()).unwrap();
            coroutine::wait(rx).unwrap();
        },
        rt.handle(),
    );
    rt.block_on(started_rx).unwrap();
    tx.send(()).unwrap();
    let error = std::thread::spawn(move || rt.block_on(task).unwrap_err())
        .join()
        .unwrap();
    assert!(error.is_panic());
    assert!(error.to_string().contains("did not start"), "{error}");
}

#[test]
fn a_scope_borrows_what_cannot_be_sent() {
    each_runtime(|rt| {
        rt.block_on(async {
            let task = coroutine::spawn(|| {
                let log = RefCell::new(Vec::new());
                let home = std::thread::current().id();
                let joined = coroutine::scope(|scope| {
                    let handles: Vec<_> = (0..3)
                        .map(|n| {
                            let log = &log;
                            scope.spawn(move || {
                                for step in 0..2 {
                                    log.borrow_mut().push((step, n));
                                    coroutine::yield_now();
                                }
                                // A child may spawn a sibling.
                                scope.spawn(move || log.borrow_mut().push((2, n)));
                                assert_eq!(std::thread::current().id(), home);
                                n * n
                            })
                        })
                        .collect();
                    handles
                        .into_iter()
                        .map(|handle| handle.join().unwrap())
                        .sum::<i32>()
                });
                let mut log = log.into_inner();
                assert_eq!(log.len(), 9);
                assert_eq!(log[..3], [(0, 0), (0, 1), (0, 2)]);
                log.sort();
                joined
            });
            assert_eq!(task.await.unwrap(), 5);
        });
    });
}

#[test]
fn a_scope_passes_panics_on_and_unwinds_the_rest() {
    each_runtime(|rt| {
        rt.block_on(async {
            for in_body in [true, false] {
                let task = coroutine::spawn(move || {
                    let dropped = Cell::new(0);
                    struct Count<'a>(&'a Cell<u32>);
                    impl Drop for Count<'_> {
                        fn drop(&mut self) {
                            self.0.set(self.0.get() + 1);
                        }
                    }
                    let scoped = catch_unwind(AssertUnwindSafe(|| {
                        coroutine::scope(|scope| {
                            if in_body {
                                scope.spawn(|| {
                                    let _count = Count(&dropped);
                                    coroutine::wait(std::future::pending::<()>());
                                });
                                // Let it start.
                                coroutine::yield_now();
                                coroutine::yield_now();
                                panic!("in the body");
                            }
                            let joined = scope.spawn(|| panic!("joined")).join();
                            assert!(joined.is_err());
                            scope.spawn(|| {
                                let _count = Count(&dropped);
                                panic!("not joined");
                            });
                        })
                    }));
                    let payload = scoped.unwrap_err();
                    let text = *payload.downcast_ref::<&str>().unwrap();
                    (text, dropped.get())
                });
                let expected = if in_body { "in the body" } else { "not joined" };
                assert_eq!(task.await.unwrap(), (expected, 1));
            }
        });
    });
}

/// Scopes in scopes, cut short by an abort or by the end of the runtime.
#[test]
fn a_cancelled_scope_unwinds_its_children_first() {
    each_runtime(|rt| {
        let dropped = Arc::new(Mutex::new(Vec::new()));
        for depth in 0..4 {
            let guards = dropped.clone();
            rt.block_on(async {
                let (tx, rx) = oneshot::channel();
                let task = coroutine::spawn(move || {
                    fn nest(
                        depth: usize,
                        guards: &Arc<Mutex<Vec<ThreadId>>>,
                        tx: oneshot::Sender<()>,
                    ) {
                        let guard = OnDrop(guards.clone());
                        coroutine::scope(|scope| {
                            scope.spawn(|| {
                                // Borrowed from the parent, who must outlive us.
                                assert!(Arc::strong_count(&guard.0) > 1);
                                match depth {
                                    0 => {
                                        tx.send(()).unwrap();
                                        coroutine::wait(std::future::pending::<()>());
                                    }
                                    _ => nest(depth - 1, guards, tx),
                                }
                            });
                        });
                    }
                    nest(depth, &guards, tx);
                });
                rx.await.unwrap();
                task.abort();
                assert!(task.await.unwrap_err().is_cancelled());
            });
            assert_eq!(
                std::mem::take(&mut *dropped.lock().unwrap()).len(),
                depth + 1
            );
        }
    });
}

#[test]
fn ten_thousand_wait_at_once() {
    let rt = workers(2);
    rt.block_on(async {
        let gate = Arc::new(Notify::new());
        let waiting = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..10_000)
            .map(|n| {
                let (gate, waiting) = (gate.clone(), waiting.clone());
                coroutine::spawn(move || {
                    let mut notified = std::pin::pin!(gate.notified());
                    notified.as_mut().enable();
                    waiting.fetch_add(1, Ordering::SeqCst);
                    coroutine::wait(notified);
                    n
                })
            })
            .collect();
        while waiting.load(Ordering::SeqCst) < tasks.len() {
            task::yield_now().await;
        }
        gate.notify_waiters();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), n);
        }
    });
}

/// Unparked before, during and after its park, by threads and coroutines.
#[test]
fn parks_until_it_is_unparked() {
    each_runtime(|rt| {
        rt.block_on(async {
            let (tx, rx) = oneshot::channel();
            let parked = coroutine::Builder::new().name("parked").spawn(move || {
                let me = coroutine::current();
                assert_eq!(coroutine::current().id(), me.id());
                // Several before the park count as one.
                me.unpark();
                me.unpark();
                coroutine::park();
                assert!(!coroutine::park_timeout(Duration::from_millis(1)));
                tx.send(me).unwrap();
                for _ in 0..1000 {
                    coroutine::park();
                }
            });
            let coroutine = rx.await.unwrap();
            assert_eq!(coroutine.name(), Some("parked"));
            assert_eq!(coroutine.id(), parked.id());
            let wakers: Vec<_> = (0..2)
                .map(|_| {
                    let (coroutine, task) = (coroutine.clone(), parked.abort_handle());
                    std::thread::spawn(move || {
                        while !task.is_finished() {
                            coroutine.unpark();
                            std::thread::yield_now();
                        }
                    })
                })
                .collect();
            parked.await.unwrap();
            for waker in wakers {
                waker.join().unwrap();
            }
            // Nobody is there any more.
            coroutine.unpark();
        });
    });
}

/// At each wait of what is limited: nothing is lost, destructors run, the coroutine goes on.
#[test]
fn a_timeout_unwinds_from_the_wait_and_no_further() {
    each_runtime(|rt| {
        rt.block_on(async {
            let dropped = Arc::new(Mutex::new(Vec::new()));
            let guards = dropped.clone();
            let task = coroutine::spawn(move || {
                let short = Duration::from_millis(1);
                let long = Duration::from_secs(3600);
                let waits: [fn(); 4] = [
                    || coroutine::wait(std::future::pending()),
                    || coroutine::sleep(Duration::from_secs(3600)),
                    || loop {
                        coroutine::yield_now();
                    },
                    || {
                        coroutine::scope(|scope| {
                            scope.spawn(|| coroutine::wait(std::future::pending::<()>()));
                        });
                    },
                ];
                for wait in waits {
                    // The outer one passes: it is its error, whatever is inside.
                    let late = coroutine::timeout(short, || {
                        let _guard = OnDrop(guards.clone());
                        let inner = coroutine::timeout(long, wait);
                        unreachable!("{inner:?}");
                    });
                    assert!(late.is_err());
                    // The inner one passes.
                    let in_time = coroutine::timeout(long, || {
                        let _guard = OnDrop(guards.clone());
                        coroutine::timeout(short, wait)
                    });
                    assert!(in_time.unwrap().is_err());
                }
                // It cannot be swallowed.
                let swallowed = coroutine::timeout(short, || {
                    for _ in 0..3 {
                        let waits = || coroutine::wait(std::future::pending::<()>());
                        assert!(catch_unwind(AssertUnwindSafe(waits)).is_err());
                    }
                    coroutine::yield_now();
                    unreachable!("the time is up");
                });
                assert!(swallowed.is_err());
                // What is ready, or does not wait, is not interrupted.
                assert_eq!(coroutine::timeout(Duration::ZERO, || 5), Ok(5));
                let shielded = coroutine::timeout(short, || {
                    coroutine::shield(|| {
                        coroutine::sleep(Duration::from_millis(20));
                        6
                    })
                });
                assert_eq!(shielded, Ok(6));
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    coroutine::timeout(long, || panic!("its own")).unwrap_or(())
                }));
                let payload = panicked.unwrap_err();
                assert_eq!(payload.downcast_ref::<&str>(), Some(&"its own"));
                coroutine::yield_now();
            });
            task.await.unwrap();
            assert_eq!(dropped.lock().unwrap().len(), 8);
        });
    });
}

#[test]
fn an_abort_is_not_a_timeout() {
    each_runtime(|rt| {
        rt.block_on(async {
            let (tx, rx) = oneshot::channel();
            let task = coroutine::spawn(move || {
                let _ = coroutine::timeout(Duration::from_secs(3600), || {
                    tx.send(()).unwrap();
                    coroutine::wait(std::future::pending::<()>());
                });
                unreachable!("it was aborted");
            });
            rx.await.unwrap();
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn a_busy_coroutine_can_see_its_abort() {
    let rt = workers(2);
    rt.block_on(async {
        let (tx, rx) = oneshot::channel();
        let (seen_tx, seen_rx) = oneshot::channel();
        let task = coroutine::spawn(move || {
            assert!(!coroutine::is_cancelled());
            tx.send(()).unwrap();
            while !coroutine::is_cancelled() {
                std::thread::yield_now();
            }
            seen_tx.send(()).unwrap();
        });
        rx.await.unwrap();
        task.abort();
        seen_rx.await.unwrap();
        // It came to its end before it met the abort.
        task.await.unwrap();
    });
}

/// Random spawns, yields, channels, parks, timeouts, aborts and dropped handles, and in the end the
/// runtime: every coroutine ends once, on the thread it began on.
#[test]
fn a_random_crowd_comes_to_its_end() {
    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }
    struct Lives(std::thread::ThreadId, Arc<AtomicUsize>);
    impl Drop for Lives {
        fn drop(&mut self) {
            assert_eq!(std::thread::current().id(), self.0);
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }
    for seed in 1..=8u64 {
        let rt = workers(1 + seed as usize % 3);
        let (begun, ended) = (Arc::<AtomicUsize>::default(), Arc::default());
        rt.block_on(async {
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let (to_all, _) = tress::sync::broadcast::channel::<u64>(16);
            let mut tasks = Vec::new();
            for n in 0..400u64 {
                let mut state = random(&mut state) ^ n;
                let (begun, ended) = (begun.clone(), Arc::<AtomicUsize>::clone(&ended));
                let mut from_all = to_all.subscribe();
                tasks.push(coroutine::spawn(move || {
                    begun.fetch_add(1, Ordering::SeqCst);
                    let _lives = Lives(std::thread::current().id(), ended);
                    for _ in 0..random(&mut state) % 40 {
                        match random(&mut state) % 7 {
                            0 => coroutine::yield_now(),
                            1 => drop(coroutine::wait(from_all.recv())),
                            2 => drop(coroutine::park_timeout(Duration::from_micros(50))),
                            3 => drop(coroutine::timeout(Duration::from_micros(50), || {
                                coroutine::wait(std::future::pending::<()>());
                            })),
                            4 => {
                                let child = coroutine::spawn(coroutine::yield_now);
                                if random(&mut state) % 2 == 0 {
                                    coroutine::wait(child).unwrap();
                                }
                            }
                            5 => coroutine::shield(coroutine::yield_now),
                            _ => coroutine::wait(task::spawn_blocking(|| ())).unwrap(),
                        }
                    }
                }));
                if random(&mut state) % 4 == 0 {
                    // Those who would receive it may all be gone.
                    let _ = to_all.send(n);
                }
                match random(&mut state) % 6 {
                    0 => drop(tasks.pop()),
                    1 => {
                        let chosen = random(&mut state) as usize % 400;
                        tasks.get(chosen).inspect(|task| task.abort());
                    }
                    _ => {}
                }
            }
            // Some are still waiting for a message when the runtime ends.
            for task in tasks.drain(..200.min(tasks.len() / 2)) {
                let _ = to_all.send(0);
                if task.is_finished() {
                    let _ = task.await;
                }
            }
        });
        drop(rt);
        assert_eq!(begun.load(Ordering::SeqCst), ended.load(Ordering::SeqCst));
    }
}

/// Whether this kernel has guards that do not split a mapping.
fn has_light_guards() -> bool {
    const MADV_GUARD_INSTALL: libc::c_int = 102;
    // SAFETY: a page of our own, which nobody uses.
    unsafe {
        let page = libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(page, libc::MAP_FAILED);
        let guarded = libc::madvise(page, 4096, MADV_GUARD_INSTALL) == 0;
        libc::munmap(page, 4096);
        guarded
    }
}

/// All of them wait at the same time, each on its own guarded stack: about 450 MB.
#[test]
fn a_hundred_thousand_wait_at_once() {
    if !has_light_guards() {
        eprintln!(
            "a_hundred_thousand_wait_at_once: SKIPPED (the kernel has no MADV_GUARD_INSTALL: with \
             mprotect a guard is a mapping, and vm.max_map_count allows about 32,000 of them)"
        );
        return;
    }
    let rt = workers(2);
    let dropped = Arc::new(AtomicUsize::new(0));
    struct Count(Arc<AtomicUsize>);
    impl Drop for Count {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    const CROWD: usize = 100_000;
    rt.block_on(async {
        let waiting = Arc::new(AtomicUsize::new(0));
        let (open, gate) = tress::sync::watch::channel(false);
        for _ in 0..CROWD {
            let (waiting, mut gate) = (waiting.clone(), gate.clone());
            let count = Count(dropped.clone());
            coroutine::spawn(move || {
                let _count = count;
                waiting.fetch_add(1, Ordering::SeqCst);
                coroutine::wait(gate.changed()).unwrap();
                coroutine::wait(std::future::pending::<()>());
            });
        }
        while waiting.load(Ordering::SeqCst) < CROWD {
            task::yield_now().await;
        }
        assert_eq!(dropped.load(Ordering::SeqCst), 0);
        let mappings = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(mappings.lines().count() < 20_000, "guards split mappings");
        // Each of them can still go on.
        open.send(true).unwrap();
    });
    drop(rt);
    assert_eq!(dropped.load(Ordering::SeqCst), CROWD);
}

#[test]
fn a_stack_that_cannot_be_had_is_a_panic_of_the_coroutine() {
    current().block_on(async {
        let task = coroutine::Builder::new()
            .stack_size(usize::MAX)
            .spawn(|| ());
        let error = task.await.unwrap_err();
        assert!(error.to_string().contains("no stack of"), "{error}");
    });
}
