//! Who drives a set, and that everybody gets a turn.

use super::*;

#[test]
fn nested_sets_keep_their_tasks_apart() {
    each_runtime(|rt| {
        let (outer, log) = (LocalSet::new(), Log::default());
        outer.block_on(&rt, async {
            let id = task::try_id();
            let inside = log.clone();
            spawn_local(async move {
                let outer_id = task::id();
                let inner = LocalSet::new();
                let here = Here::new(&inside, "of the inner");
                inner
                    .run_until(async {
                        spawn_local(async move {
                            let _here = here;
                            assert_ne!(task::id(), outer_id);
                            pending::<()>().await;
                        });
                        yield_now().await;
                        assert_eq!(task::id(), outer_id);
                    })
                    .await;
                assert_eq!(task::id(), outer_id);
                let here = Here::new(&inside, "of the outer");
                spawn_local(async move {
                    let _here = here;
                    pending::<()>().await;
                });
                yield_now().await;
                drop(inner);
                assert_eq!(inside.take(), ["DROP of the inner"]);
            })
            .await
            .unwrap();
            assert_eq!(task::try_id(), id);
        });
        assert_eq!(format!("{outer:?}"), "LocalSet { tasks: 1, .. }");
        drop(outer);
        assert_eq!(log.take(), ["DROP of the outer"]);
    });
}

/// Tasks that drive the very set they are in: polls do not nest, and nobody loses a turn.
#[test]
fn a_set_driven_from_inside() {
    const TASKS: usize = if cfg!(miri) { 20 } else { 2_000 };
    let rt = current();
    let local = Rc::new(LocalSet::new());
    let polling = Rc::new(Cell::new(false));
    let tasks: Vec<_> = (0..TASKS)
        .map(|i| {
            let (set, polling) = (local.clone(), polling.clone());
            let mut drives = Box::pin(async move {
                let other = set.spawn_local(async move { i });
                set.run_until(other).await.unwrap()
            });
            local.spawn_local(poll_fn(move |cx| {
                assert!(!polling.replace(true), "inside of another one's poll");
                let polled = drives.as_mut().poll(cx);
                polling.set(false);
                polled
            }))
        })
        .collect();
    local.block_on(&rt, async {
        for (i, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), i);
        }
    });
}

/// Several futures drive one set. When one goes, the others take over.
#[test]
fn several_drivers() {
    let rt = current();
    let local = LocalSet::new();
    let (gate, done) = (Gate::default(), Rc::new(Cell::new(false)));
    let inside = done.clone();
    let passes = gate.clone();
    local.spawn_local(async move {
        passes.pass().await;
        inside.set(true);
    });
    let ((one, one_waker), (two, two_waker)) = (Wakes::new(), Wakes::new());
    let _entered = rt.enter();
    let mut first = Box::pin(local.run_until(pending::<()>()));
    let mut second = Box::pin(local.run_until(pending::<()>()));
    let mut one_cx = Context::from_waker(&one_waker);
    let mut two_cx = Context::from_waker(&two_waker);
    assert!(first.as_mut().poll(&mut one_cx).is_pending());
    assert!(second.as_mut().poll(&mut two_cx).is_pending());
    assert!(first.as_mut().poll(&mut one_cx).is_pending());
    drop(second);
    assert_eq!((one.take(), two.take()), (0, 0));
    thread::spawn(move || gate.open()).join().unwrap();
    assert_eq!((one.take(), two.take()), (1, 0));
    assert!(first.as_mut().poll(&mut one_cx).is_pending());
    assert!(done.get());

    // One that spawns in its last poll leaves the task to the other.
    let mut ready = Box::pin(local.run_until(async {
        spawn_local(async {});
    }));
    assert!(ready.as_mut().poll(&mut two_cx).is_ready());
    assert_eq!((one.take(), two.take()), (1, 0));
    // And so does one that is dropped while it would have had something to do.
    assert!(first.as_mut().poll(&mut one_cx).is_pending());
    let mut busy = Box::pin(local.run_until(pending::<()>()));
    local.spawn_local(async {
        for _ in 0..3 {
            yield_now().await;
        }
    });
    assert_eq!((one.take(), two.take()), (1, 0));
    for _ in 0..62 {
        local.spawn_local(async {});
    }
    assert!(busy.as_mut().poll(&mut two_cx).is_pending());
    assert_eq!((one.take(), two.take()), (0, 1), "a tick was not enough");
    drop(busy);
    assert_eq!((one.take(), two.take()), (0, 0), "it has been told already");
    while one.take() + two.take() > 0 || format!("{local:?}") != "LocalSet { tasks: 0, .. }" {
        assert!(first.as_mut().poll(&mut one_cx).is_pending());
    }
}

/// `run_until` dropped after each of its polls: the tasks and their results stay.
#[test]
fn a_dropped_run_until_loses_no_task() {
    const YIELDS: usize = 4;
    for polls in 0..=YIELDS + 1 {
        let rt = current();
        let _entered = rt.enter();
        let (local, log) = (LocalSet::new(), Log::default());
        let here = Here::new(&log, "task");
        let task = local.spawn_local(async move {
            let _here = here;
            for _ in 0..YIELDS {
                yield_now().await;
            }
            "kept"
        });
        {
            let body = Here::new(&log, "body");
            let mut driver = pin!(local.run_until(async move {
                let _body = body;
                pending::<()>().await;
            }));
            for _ in 0..polls {
                assert!(poll(driver.as_mut()).is_pending());
            }
        }
        assert!(log.take().contains(&"DROP body".to_owned()));
        assert_eq!(local.block_on(&rt, task).unwrap(), "kept");
    }
}

/// A task that is always ready does not keep another one waiting.
#[test]
fn a_greedy_task_has_a_budget() {
    let rt = current();
    let local = LocalSet::new();
    let (greedy, modest) = (Rc::new(Cell::new(0u64)), Rc::new(Cell::new(0u64)));
    let stop = Rc::new(Cell::new(false));
    local.block_on(&rt, async {
        let (count, stopped) = (greedy.clone(), stop.clone());
        let one = spawn_local(async move {
            while !stopped.get() {
                count.set(count.get() + 1);
                consume_budget().await;
            }
        });
        let count = modest.clone();
        let two = spawn_local(async move {
            for _ in 0..10 {
                count.set(count.get() + 1);
                yield_now().await;
            }
            stop.set(true);
        });
        two.await.unwrap();
        one.await.unwrap();
    });
    assert_eq!(modest.get(), 10);
    assert!(
        greedy.get() >= 9 * 128,
        "it used its turns: {}",
        greedy.get()
    );
    assert!(greedy.get() <= 12 * 129, "and no more: {}", greedy.get());
}

/// The body has what is left of its task's budget, a local task a fresh one.
#[test]
fn the_body_has_no_budget_of_its_own() {
    async fn in_one_poll() -> u32 {
        let mut n = 0;
        {
            let mut spends = pin!(async {
                loop {
                    n += 1;
                    consume_budget().await;
                }
            });
            poll_fn(|cx| {
                assert!(spends.as_mut().poll(cx).is_pending());
                Poll::<()>::Ready(())
            })
            .await;
        }
        n
    }
    current().block_on(async {
        consume_budget().await;
        LocalSet::new()
            .run_until(async {
                let task = spawn_local(in_one_poll());
                let body = in_one_poll().await;
                assert!(task.await.unwrap() > body);
            })
            .await;
    });
}

/// Tasks that keep waking themselves do not keep a remotely woken one waiting for ever.
#[test]
fn remote_wakes_get_their_turn() {
    let rt = current();
    let local = LocalSet::new();
    let done = Rc::new(Cell::new(false));
    let gate = Gate::default();
    for _ in 0..100 {
        let done = done.clone();
        local.spawn_local(async move {
            while !done.get() {
                yield_now().await;
            }
        });
    }
    let (passes, ends) = (gate.clone(), done.clone());
    local.spawn_local(async move {
        passes.pass().await;
        ends.set(true);
    });
    local.block_on(&rt, yield_now());
    let opens = thread::spawn(move || gate.open());
    rt.block_on(local);
    opens.join().unwrap();
    assert!(done.get());
}

/// A busy set leaves room for the other tasks of its runtime.
#[test]
fn the_runtime_goes_on() {
    const SLEEPS: usize = if cfg!(miri) { 2 } else { 10 };
    let rt = current();
    let local = LocalSet::new();
    let stop = Arc::new(AtomicBool::new(false));
    for _ in 0..100 {
        let stop = stop.clone();
        local.spawn_local(async move {
            while !stop.load(Ordering::Relaxed) {
                yield_now().await;
            }
        });
    }
    let task = rt.spawn(async move {
        for _ in 0..SLEEPS {
            sleep(Duration::from_millis(1)).await;
        }
        stop.store(true, Ordering::Relaxed);
    });
    rt.block_on(local);
    assert!(task.is_finished());
}

#[test]
fn block_in_place_is_not_possible() {
    struct InDrop;
    impl Drop for InDrop {
        fn drop(&mut self) {
            block_in_place(|| ());
        }
    }
    each_runtime(|rt| {
        let local = LocalSet::new();
        let task = local.spawn_local(async { block_in_place(|| ()) });
        assert!(local.block_on(&rt, task).unwrap_err().is_panic());
        let body = AssertUnwindSafe(|| local.block_on(&rt, async { block_in_place(|| ()) }));
        assert!(catch_unwind(body).is_err());
        let guard = InDrop;
        let task = local.spawn_local(async move {
            let _guard = guard;
            pending::<()>().await;
        });
        local.block_on(&rt, yield_now());
        let error = rt.block_on(async {
            drop(local);
            task.await.unwrap_err()
        });
        assert!(error.is_panic());
    });
    let rt = workers(1);
    rt.block_on(async {
        LocalSet::new().run_until(async {}).await;
        block_in_place(|| ()); // after it, it is
    });
}
