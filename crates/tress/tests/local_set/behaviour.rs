//! What tasks of a set do, where they run, and how they are spawned and joined.

use super::*;

#[test]
fn tasks_run_first_come_first_served_on_one_thread() {
    // A current-thread runtime wakes those that have yielded in a round in reverse.
    let later = [["13", "12", "11", "10"], ["10", "11", "12", "13"]];
    for (rt, later) in [current(), workers(2)].into_iter().zip(later) {
        let local = LocalSet::new();
        let (log, home) = (Log::default(), thread::current().id());
        local.block_on(&rt, async {
            let tasks: Vec<_> = (0..4)
                .map(|i| {
                    let log = log.clone();
                    spawn_local(async move {
                        for round in 0..2 {
                            assert_eq!(thread::current().id(), home);
                            log.add(format!("{round}{i}"));
                            yield_now().await;
                        }
                        i
                    })
                })
                .collect();
            for (i, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.await.unwrap(), i);
            }
        });
        let order = [["00", "01", "02", "03"], later].concat();
        assert_eq!(log.take(), order);
    }
}

#[test]
fn tasks_spawn_tasks() {
    fn nest(depth: usize, home: ThreadId) -> Pin<Box<dyn Future<Output = usize>>> {
        Box::pin(async move {
            assert_eq!(thread::current().id(), home);
            match depth {
                0 => 0,
                _ => 1 + spawn_local(nest(depth - 1, home)).await.unwrap(),
            }
        })
    }
    each_runtime(|rt| {
        let home = thread::current().id();
        let depth = rt.block_on(LocalSet::new().run_until(nest(200, home)));
        assert_eq!(depth, 200);
    });
}

#[test]
fn the_set_is_ready_when_its_tasks_are() {
    each_runtime(|rt| {
        let (local, done) = (LocalSet::new(), Rc::new(Cell::new(0)));
        rt.block_on(LocalSet::new());
        for _ in 0..3 {
            let done = done.clone();
            local.spawn_local(async move {
                let inner = done.clone();
                spawn_local(async move {
                    sleep(Duration::from_millis(1)).await;
                    inner.set(inner.get() + 1);
                });
                yield_now().await;
                done.set(done.get() + 1);
            });
        }
        rt.block_on(local);
        assert_eq!(done.get(), 6);
    });
}

#[test]
fn services_of_the_runtime_are_there() {
    each_runtime(|rt| {
        let (local, home) = (LocalSet::new(), thread::current().id());
        local.block_on(&rt, async {
            spawn_local(async move {
                sleep(Duration::from_millis(1)).await;
                let elsewhere = spawn_blocking(|| thread::current().id());
                assert_ne!(elsewhere.await.unwrap(), home);
                assert_eq!(tress::spawn(async { 1 }).await.unwrap(), 1);
                assert_eq!(thread::current().id(), home);
            })
            .await
            .unwrap();
        });
    });
}

#[test]
fn run_until_leaves_the_others_for_later() {
    each_runtime(|rt| {
        let (local, done) = (LocalSet::new(), Rc::new(Cell::new(0)));
        for _ in 0..3 {
            let done = done.clone();
            local.spawn_local(async move {
                yield_now().await;
                yield_now().await;
                done.set(done.get() + 1);
            });
        }
        assert_eq!(local.block_on(&rt, async { 5 }), 5);
        assert_eq!(done.get(), 0);
        rt.block_on(local);
        assert_eq!(done.get(), 3);
    });
}

#[test]
fn spawning_through_a_guard_needs_no_runtime_yet() {
    let (outer, inner) = (LocalSet::new(), LocalSet::new());
    let task = {
        let _outer = outer.enter();
        let a = {
            let _inner = inner.enter();
            spawn_local(async { "inner" })
        };
        (a, spawn_local(async { "outer" }))
    };
    each_runtime(|_| assert!(catch_unwind(|| spawn_local(async {})).is_err()));
    let rt = current();
    assert_eq!(format!("{inner:?}"), "LocalSet { tasks: 1, .. }");
    rt.block_on(inner);
    assert!(!task.1.is_finished());
    assert_eq!(rt.block_on(task.0).unwrap(), "inner");
    assert_eq!(outer.block_on(&rt, task.1).unwrap(), "outer");
}

/// Wrongly ordered guards, and guards that outlive their set: nothing dangles.
#[test]
#[cfg_attr(
    miri,
    ignore = "leaves a set's shared part in the thread's context, by intent"
)]
fn guards_in_any_order() {
    let (a, b) = (LocalSet::new(), LocalSet::new());
    let first = a.enter();
    let second = b.enter();
    drop(first);
    drop(a);
    drop(second);
    // The context is the one that `second` found, of a set that is gone.
    let refused = spawn_local(async { unreachable!() });
    assert!(refused.is_finished());
    let third = b.enter();
    drop(b);
    assert!(spawn_local(async { unreachable!() }).is_finished());
    drop(third);
    assert!(current().block_on(refused).unwrap_err().is_cancelled());
}

#[test]
fn spawn_local_needs_a_place() {
    let text = |f: fn()| {
        let payload = catch_unwind(f).expect_err("it panics");
        payload.downcast_ref::<String>().unwrap().clone()
    };
    for f in [
        (|| drop(spawn_local(async {}))) as fn(),
        || current().block_on(async { drop(spawn_local(async {})) }),
        || workers(1).block_on(async { drop(spawn_local(async {})) }),
        // Another thread, while this one drives a set.
        || {
            let local = LocalSet::new();
            local.block_on(&current(), async {
                let other = thread::spawn(|| drop(spawn_local(async {})));
                std::panic::resume_unwind(other.join().unwrap_err());
            });
        },
        // A task of the runtime is not one of the set that spawned it.
        || {
            LocalSet::new().block_on(&workers(1), async {
                let other = tress::spawn(async { drop(spawn_local(async {})) });
                std::panic::resume_unwind(other.await.unwrap_err().into_panic());
            });
        },
    ] {
        let text = text(f);
        assert!(text.contains("from inside `LocalSet::run_until`"), "{text}");
    }
}

#[test]
fn panics_are_located() {
    static FILES: Mutex<Vec<(ThreadId, String)>> = Mutex::new(Vec::new());
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        let at = info.location().unwrap().file().to_owned();
        FILES.lock().unwrap().push((thread::current().id(), at));
    }));
    let _ = catch_unwind(|| spawn_local(async {}));
    let _ = catch_unwind(|| {
        let (rt, local) = (current(), LocalSet::new());
        rt.block_on(async { local.block_on(&rt, pending::<()>()) });
    });
    std::panic::set_hook(before);
    let files = FILES.lock().unwrap();
    let mine: Vec<_> = files
        .iter()
        .filter(|(id, _)| *id == thread::current().id())
        .map(|(_, file)| file.as_str())
        .collect();
    assert_eq!(mine, [file!(), file!()]);
}

#[test]
fn a_panic_is_the_tasks_error() {
    each_runtime(|rt| {
        let (local, log) = (LocalSet::new(), Log::default());
        local.block_on(&rt, async {
            let here = Here::new(&log, "panicking");
            let task = spawn_local(async move {
                let _here = here;
                yield_now().await;
                panic!("local");
            });
            let other = spawn_local(async { 5 });
            let error = task.await.unwrap_err();
            assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"local"));
            assert_eq!(other.await.unwrap(), 5);
        });
        assert_eq!(log.take(), ["DROP panicking"]);
    });
}

#[test]
fn a_panicking_body_leaves_the_set_usable() {
    let (rt, local) = (workers(1), LocalSet::new());
    let task = local.spawn_local(async {
        yield_now().await;
        7
    });
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        local.block_on(&rt, async {
            spawn_local(async {});
            panic!("body");
        })
    }));
    assert!(panicked.is_err());
    assert!(catch_unwind(|| spawn_local(async {})).is_err(), "left");
    // Not in the set any more, so this is possible again.
    assert_eq!(rt.block_on(async { block_in_place(|| 1) }), 1);
    assert_eq!(local.block_on(&rt, task).unwrap(), 7);
}

/// A local task may be joined from a task of the runtime.
#[test]
fn joined_elsewhere() {
    let rt = workers(2);
    let (local, home) = (LocalSet::new(), thread::current().id());
    local.block_on(&rt, async move {
        let gate = Gate::default();
        let passes = gate.clone();
        let task = spawn_local(async move {
            passes.pass().await;
            assert_eq!(thread::current().id(), home);
            "hello"
        });
        let joins = tress::spawn(async move {
            assert_ne!(thread::current().id(), home);
            gate.open();
            task.await.unwrap()
        });
        assert_eq!(joins.await.unwrap(), "hello");
    });
}

/// No runtime at all: the set works on any executor.
#[test]
fn without_a_runtime() {
    let local = LocalSet::new();
    let task = local.spawn_local(async {
        yield_now().await;
        assert!(Handle::try_current().is_err());
        3
    });
    let mut driver = pin!(local.run_until(task));
    let joined = loop {
        if let Poll::Ready(joined) = poll(driver.as_mut()) {
            break joined;
        }
    };
    assert_eq!(joined.unwrap(), 3);
}

#[test]
fn many_tasks_come_and_go() {
    const ROUNDS: usize = if cfg!(miri) { 2 } else { 50 };
    let rt = current();
    let local = LocalSet::new();
    let log = Log::default();
    local.block_on(&rt, async {
        for round in 0..ROUNDS {
            let tasks: Vec<_> = (0..100)
                .map(|i| {
                    let big = [i as u8; 3000]; // larger than any page class
                    match (round + i) % 3 {
                        0 => spawn_local(async move {
                            yield_now().await;
                            big[i] as usize
                        }),
                        _ => spawn_local(async move { i }),
                    }
                })
                .collect();
            for (i, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.await.unwrap(), i);
            }
        }
    });
    assert!(log.take().is_empty());
}

#[test]
fn auto_traits() {
    fn unpin<T: Unpin>(_: &T) {}
    let local = LocalSet::default();
    unpin(&local);
    let future = local.run_until(async {});
    assert!(format!("{future:?} {:?}", local.enter()).starts_with("RunUntil"));
}
