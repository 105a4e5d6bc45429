//! What a `JoinSet` promises: results in the order in which tasks finish, each exactly once; nothing
//! lost when a wait is dropped; nothing left running when the set is.

#![allow(
    clippy::unnecessary_to_owned,
    clippy::needless_range_loop,
    reason = "gates are opened by number, and each task owns its own"
)]

use std::cell::Cell;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tress::runtime::{Builder, LocalRuntime, Runtime};
use tress::task::{JoinSet, LocalSet, yield_now};

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn workers(n: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(n)
        .enable_all()
        .build()
        .unwrap()
}

/// A counter of events.
#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// A value that counts when it is dropped.
    fn on_drop(&self) -> OnDrop {
        OnDrop(self.clone())
    }
}

struct OnDrop(Count);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.add();
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.add();
    }
}

/// A waker that counts its calls.
fn counting() -> (Count, Waker) {
    let count = Count::default();
    (count.clone(), Waker::from(Arc::new(count)))
}

/// Something to wait for.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<(bool, Option<Waker>)>>);

impl Gate {
    fn open(&self) {
        let waker = {
            let mut gate = self.0.lock().unwrap();
            gate.0 = true;
            gate.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn pass(&self) {
        poll_fn(|cx| {
            let mut gate = self.0.lock().unwrap();
            if gate.0 {
                return Poll::Ready(());
            }
            gate.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Lets the other tasks of a current-thread runtime run until nothing changes any more.
async fn settle() {
    for _ in 0..10 {
        // It runs after all tasks that are ready now, however long they take.
        tress::spawn(async {}).await.unwrap();
        yield_now().await;
    }
}

#[test]
fn results_come_in_the_order_of_completion() {
    current().block_on(async {
        let gates: Vec<Gate> = (0..5).map(|_| Gate::default()).collect();
        let mut set = JoinSet::new();
        for (i, gate) in gates.iter().cloned().enumerate() {
            set.spawn(async move {
                gate.pass().await;
                i
            });
            assert_eq!(set.len(), i + 1);
        }
        settle().await;
        assert!(set.try_join_next().is_none());
        for i in [3, 0, 4, 1, 2] {
            gates[i].open();
            settle().await;
        }
        assert_eq!(set.len(), 5, "finished ones count until they are joined");
        assert_eq!(set.try_join_next().unwrap().unwrap(), 3);
        assert_eq!(set.len(), 4);
        assert_eq!(set.join_all().await, [0, 4, 1, 2]);
    });
}

#[test]
fn an_empty_set_is_ready_at_once() {
    let mut set = JoinSet::<()>::new();
    assert!(set.is_empty());
    assert!(matches!(poll(pin!(set.join_next())), Poll::Ready(None)));
    assert!(matches!(
        poll(pin!(set.join_next_with_id())),
        Poll::Ready(None)
    ));
    assert!(set.try_join_next().is_none());
    assert!(set.try_join_next_with_id().is_none());
    assert!(poll(pin!(set.shutdown())).is_ready());
    assert!(poll(pin!(set.join_all())).is_ready());
}

#[test]
fn spawning_and_joining_take_turns() {
    current().block_on(async {
        let mut set = JoinSet::new();
        set.spawn(async { 0 });
        set.spawn(async { 1 });
        for i in 2..100 {
            assert_eq!(set.join_next().await.unwrap().unwrap(), i - 2);
            assert_eq!(set.len(), 1);
            set.spawn(async move { i });
        }
        assert_eq!(set.join_all().await, [98, 99]);
    });
}

#[test]
fn ids_come_with_results_and_with_errors() {
    current().block_on(async {
        let mut set = JoinSet::new();
        let one = set.spawn(async { 1 });
        let two = set.spawn(async { panic!("two") });
        assert_eq!(
            set.join_next_with_id().await.unwrap().unwrap(),
            (one.id(), 1)
        );
        let error = set.join_next_with_id().await.unwrap().unwrap_err();
        assert!(error.is_panic());
        assert_eq!(error.id(), two.id());
        let three = set.spawn(async { 3 });
        settle().await;
        assert_eq!(
            set.try_join_next_with_id().unwrap().unwrap(),
            (three.id(), 3)
        );
    });
}

#[test]
fn an_abort_handle_aborts_one() {
    current().block_on(async {
        let mut set = JoinSet::new();
        let dropped = Count::default();
        let aborts: Vec<_> = (0..16)
            .map(|i| {
                let guard = dropped.on_drop();
                set.spawn(async move {
                    let _guard = guard;
                    if i % 2 == 1 {
                        pending::<()>().await;
                    }
                    i
                })
            })
            .collect();
        settle().await;
        for abort in aborts.iter().skip(1).step_by(2) {
            assert!(!abort.is_finished());
            abort.abort();
        }
        let (mut done, mut cancelled) = (0, 0);
        while let Some(result) = set.join_next().await {
            match result {
                Ok(i) => {
                    assert_eq!(i % 2, 0);
                    done += 1;
                }
                Err(error) => {
                    assert!(error.is_cancelled());
                    cancelled += 1;
                }
            }
        }
        assert_eq!((done, cancelled, dropped.get()), (8, 8, 16));
    });
}

#[test]
fn abort_all_keeps_results_that_were_faster() {
    current().block_on(async {
        let mut set = JoinSet::new();
        for i in 0..5 {
            set.spawn(async move { i });
            set.spawn(pending());
        }
        settle().await;
        set.abort_all();
        assert_eq!(set.len(), 10);
        let mut outputs = Vec::new();
        let mut cancelled = 0;
        while let Some(result) = set.join_next().await {
            match result {
                Ok(i) => outputs.push(i),
                Err(error) => {
                    assert!(error.is_cancelled());
                    cancelled += 1;
                }
            }
        }
        assert_eq!(outputs, [0, 1, 2, 3, 4]);
        assert_eq!(cancelled, 5);
    });
}

#[test]
fn dropping_the_set_aborts_its_tasks() {
    let rt = current();
    let dropped = Count::default();
    rt.block_on(async {
        let mut set = JoinSet::new();
        for _ in 0..16 {
            let guard = dropped.on_drop();
            set.spawn(async move {
                let _guard = guard;
                pending::<()>().await;
            });
        }
        settle().await;
        drop(set);
        assert_eq!(dropped.get(), 0, "futures are dropped by the scheduler");
        settle().await;
        assert_eq!(dropped.get(), 16);
    });
}

#[test]
fn detached_tasks_go_on() {
    current().block_on(async {
        let done = Count::default();
        let mut set = JoinSet::new();
        for _ in 0..10 {
            let gate = Gate::default();
            let (inside, done) = (gate.clone(), done.clone());
            set.spawn(async move {
                inside.pass().await;
                done.add();
            });
            settle().await;
            set.detach_all();
            assert!(set.is_empty());
            assert!(set.join_next().await.is_none());
            gate.open();
        }
        drop(set);
        settle().await;
        assert_eq!(done.get(), 10);
    });
}

/// A place that is used again does not mix up its tasks.
#[test]
fn places_are_used_again() {
    current().block_on(async {
        let mut set = JoinSet::new();
        for _ in 0..4 {
            set.spawn(async { "finished" });
        }
        settle().await;
        set.detach_all();
        let late = Gate::default();
        for _ in 0..4 {
            let late = late.clone();
            set.spawn(async move {
                late.pass().await;
                "late"
            });
        }
        settle().await;
        assert!(
            set.try_join_next().is_none(),
            "the former tenants' results are gone"
        );
        // Only one waits at a gate of this kind.
        set.abort_all();
        let mut cancelled = 0;
        while let Some(result) = set.join_next().await {
            assert!(result.unwrap_err().is_cancelled());
            cancelled += 1;
        }
        assert_eq!(cancelled, 4);
    });
}

#[test]
fn tasks_of_a_runtime_that_is_gone_are_cancelled() {
    for rt in [current(), workers(1)] {
        let mut set = JoinSet::new();
        set.spawn_on(pending::<()>(), rt.handle());
        drop(rt);
        set.spawn_on(pending::<()>(), &{
            let rt = current();
            rt.handle().clone()
        });
        let results = current().block_on(async {
            [
                set.join_next().await.unwrap(),
                set.join_next().await.unwrap(),
            ]
        });
        assert!(
            results
                .iter()
                .all(|r| r.as_ref().unwrap_err().is_cancelled())
        );
        assert!(set.is_empty());
    }
}

#[test]
fn join_all_passes_a_panic_on_and_aborts_the_others() {
    let rt = current();
    let dropped = Count::default();
    let guard = dropped.on_drop();
    let mut set = JoinSet::new();
    set.spawn_on(
        async move {
            let _guard = guard;
            pending::<()>().await;
        },
        rt.handle(),
    );
    set.spawn_on(async { panic!("on its way through") }, rt.handle());
    let payload =
        catch_unwind(AssertUnwindSafe(|| rt.block_on(set.join_all()))).expect_err("it panics");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"on its way through"));
    rt.block_on(settle());
    assert_eq!(dropped.get(), 1);
}

#[test]
fn join_all_panics_for_an_aborted_task() {
    let rt = current();
    let mut set = JoinSet::new();
    set.spawn_on(pending::<()>(), rt.handle()).abort();
    let payload = catch_unwind(AssertUnwindSafe(|| rt.block_on(set.join_all()))).unwrap_err();
    let text = payload.downcast_ref::<String>().unwrap();
    assert!(text.contains("cancelled"), "{text}");
}

#[test]
fn a_panic_is_one_tasks_error() {
    current().block_on(async {
        let mut set = JoinSet::new();
        set.spawn(async { panic!("one") });
        set.spawn(async { 2 });
        let error = set.join_next().await.unwrap().unwrap_err();
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"one"));
        assert_eq!(set.join_next().await.unwrap().unwrap(), 2);
        assert!(set.join_next().await.is_none());
    });
}

/// `join_next` dropped at its only await point, before and after the task finishes.
#[test]
fn a_dropped_join_next_loses_nothing() {
    current().block_on(async {
        let gate = Gate::default();
        let mut set = JoinSet::new();
        let inner = gate.clone();
        set.spawn(async move {
            inner.pass().await;
            "kept"
        });
        drop(set.join_next()); // never polled
        for _ in 0..3 {
            assert!(poll(pin!(set.join_next())).is_pending());
            settle().await;
        }
        let (woken, waker) = counting();
        {
            let mut waiting = pin!(set.join_next());
            let mut cx = Context::from_waker(&waker);
            assert!(waiting.as_mut().poll(&mut cx).is_pending());
            gate.open();
            settle().await;
            assert_eq!(woken.get(), 1, "woken, then dropped without being polled");
        }
        assert_eq!(set.len(), 1);
        assert_eq!(set.join_next().await.unwrap().unwrap(), "kept");
    });
}

/// `shutdown` dropped after each of its polls: every task is aborted all the same.
#[test]
fn a_dropped_shutdown_has_aborted_all() {
    const TASKS: usize = 5;
    for polls in 0..=TASKS {
        current().block_on(async {
            let dropped = Count::default();
            let mut set = JoinSet::new();
            for _ in 0..TASKS {
                let guard = dropped.on_drop();
                set.spawn(async move {
                    let _guard = guard;
                    pending::<()>().await;
                });
            }
            settle().await;
            let finished = {
                let mut shutdown = pin!(set.shutdown());
                let mut finished = false;
                for _ in 0..polls {
                    if !finished {
                        finished = poll(shutdown.as_mut()).is_ready();
                        settle().await;
                    }
                }
                finished
            };
            if polls == 0 {
                assert_eq!((set.len(), dropped.get()), (TASKS, 0), "nothing happened");
                return;
            }
            assert_eq!(dropped.get(), TASKS);
            assert_eq!(finished, set.is_empty());
            set.shutdown().await;
            assert!(set.is_empty());
        });
    }
}

/// `join_all` dropped after each of its polls: outputs and futures are dropped once.
#[test]
fn a_dropped_join_all_drops_everything_once() {
    const TASKS: usize = 4;
    for polls in 0..=TASKS + 1 {
        current().block_on(async {
            let (futures, outputs) = (Count::default(), Count::default());
            let gates: Vec<Gate> = (0..TASKS).map(|_| Gate::default()).collect();
            let mut set = JoinSet::new();
            for gate in gates.iter().cloned() {
                let (guard, output) = (futures.on_drop(), outputs.on_drop());
                set.spawn(async move {
                    let _guard = guard;
                    gate.pass().await;
                    output
                });
            }
            settle().await;
            {
                let mut all = pin!(set.join_all());
                for i in 0..polls {
                    match poll(all.as_mut()) {
                        Poll::Ready(joined) => {
                            assert_eq!((i, joined.len()), (TASKS, TASKS));
                            assert_eq!(outputs.get(), 0);
                        }
                        Poll::Pending => {
                            gates[i].open();
                            settle().await;
                        }
                    }
                }
            }
            settle().await;
            assert_eq!((futures.get(), outputs.get()), (TASKS, TASKS));
        });
    }
}

#[test]
fn only_the_last_waker_is_woken_and_only_once() {
    current().block_on(async {
        let gates = [Gate::default(), Gate::default()];
        let mut set = JoinSet::new();
        for gate in gates.iter().cloned() {
            set.spawn(async move { gate.pass().await });
        }
        settle().await;
        let ((old, old_waker), (new, new_waker)) = (counting(), counting());
        for waker in [&old_waker, &new_waker, &new_waker] {
            let mut cx = Context::from_waker(waker);
            assert!(set.poll_join_next(&mut cx).is_pending());
        }
        gates[0].open();
        gates[1].open();
        settle().await;
        assert_eq!((old.get(), new.get()), (0, 1));
        let mut cx = Context::from_waker(&new_waker);
        assert!(matches!(
            set.poll_join_next_with_id(&mut cx),
            Poll::Ready(Some(Ok(_)))
        ));
        assert!(matches!(
            set.poll_join_next(&mut cx),
            Poll::Ready(Some(Ok(())))
        ));
        assert!(matches!(set.poll_join_next(&mut cx), Poll::Ready(None)));
    });
}

/// One of many finishes: the waiter is woken once, and one poll finds it.
#[test]
fn one_of_many_costs_one_wake() {
    const TASKS: usize = if cfg!(miri) { 100 } else { 1000 };
    const THE_ONE: usize = TASKS / 2;
    current().block_on(async {
        let gate = Gate::default();
        let mut set = JoinSet::new();
        for i in 0..TASKS {
            let gate = gate.clone();
            set.spawn(async move {
                match i {
                    THE_ONE => gate.pass().await,
                    _ => pending().await,
                }
                i
            });
        }
        settle().await;
        let (woken, waker) = counting();
        let mut cx = Context::from_waker(&waker);
        assert!(set.poll_join_next(&mut cx).is_pending());
        gate.open();
        settle().await;
        assert_eq!(woken.get(), 1);
        assert!(matches!(
            set.poll_join_next(&mut cx),
            Poll::Ready(Some(Ok(THE_ONE)))
        ));
        assert!(set.poll_join_next(&mut cx).is_pending());
    });
}

/// Dropping a replaced waker runs foreign code, which may finish a task of the same set.
#[test]
fn a_replaced_waker_is_dropped_outside_of_the_lock() {
    struct DrivesWhenDropped(Runtime);
    impl Wake for DrivesWhenDropped {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for DrivesWhenDropped {
        fn drop(&mut self) {
            self.0.block_on(settle());
        }
    }

    let rt = current();
    let mut set = JoinSet::new();
    set.spawn_on(async { 42 }, rt.handle());
    let waker = Waker::from(Arc::new(DrivesWhenDropped(rt)));
    let mut cx = Context::from_waker(&waker);
    assert!(set.poll_join_next(&mut cx).is_pending());
    drop(waker);
    let (woken, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    assert!(set.poll_join_next(&mut cx).is_pending());
    assert_eq!(woken.get(), 1, "the task finished when the old one went");
    assert_eq!(set.try_join_next().unwrap().unwrap(), 42);
}

#[test]
fn joining_spends_the_budget_and_trying_does_not() {
    const TASKS: usize = if cfg!(miri) { 200 } else { 1000 };
    current().block_on(async {
        let (mut waits, mut tries) = (JoinSet::new(), JoinSet::new());
        for i in 0..TASKS {
            waits.spawn(async move { i });
            tries.spawn(async move { i });
        }
        let last = tries.spawn(async { TASKS });
        while !last.is_finished() {
            yield_now().await;
        }
        let in_one_poll = poll_fn(|cx| {
            let mut joined = 0;
            while let Poll::Ready(Some(_)) = waits.poll_join_next(cx) {
                joined += 1;
            }
            // The budget is gone, but this needs none.
            let mut tried = 0;
            while tries.try_join_next().is_some() {
                tried += 1;
            }
            assert_eq!(tried, TASKS + 1);
            Poll::Ready(joined)
        })
        .await;
        assert!((1..=128).contains(&in_one_poll), "{in_one_poll}");
        yield_now().await;
        assert_eq!(waits.join_all().await.len(), TASKS - in_one_poll);
    });
}

#[test]
fn every_way_to_spawn() {
    let rt = workers(2);
    let mut set = JoinSet::new();
    rt.block_on(async {
        set.spawn(async { 1 });
        set.spawn_blocking(|| 2);
        set.spawn_named("three", async { 3 });
        set.build_task().name("four").spawn(async { 4 }).unwrap();
        set.build_task().spawn_blocking(|| 5).unwrap();
    });
    set.spawn_on(async { 6 }, rt.handle());
    set.spawn_blocking_on(|| 7, rt.handle());
    let spawned = set
        .build_task()
        .name("8")
        .spawn_on(async { 8 }, rt.handle());
    spawned.unwrap();
    let spawned = set
        .build_task()
        .name("9")
        .spawn_blocking_on(|| 9, rt.handle());
    spawned.unwrap();
    let local = LocalSet::new();
    set.spawn_local_on(async { 10 }, &local);
    let spawned = set
        .build_task()
        .name("11")
        .spawn_local_on(async { 11 }, &local);
    spawned.unwrap();
    {
        let _guard = local.enter();
        set.spawn_local(async { 12 });
        let spawned = set.build_task().name("13").spawn_local(async { 13 });
        spawned.unwrap();
    }
    {
        let _guard = rt.enter();
        set.extend([async { 14 }]);
    }
    let mut outputs = local.block_on(&rt, set.join_all());
    outputs.sort();
    assert_eq!(outputs, (1..=14).collect::<Vec<_>>());
}

/// A task's name is in the report of a shutdown that it holds up.
#[test]
fn names_are_reported() {
    let rt = workers(1);
    let (tell, told) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let mut set = JoinSet::new();
    {
        let _guard = rt.enter();
        set.spawn_named("stubborn", async move {
            tell.send(()).unwrap();
            let _ = gone.recv();
        });
    }
    told.recv().unwrap();
    let report = rt.shutdown_timeout(Duration::ZERO);
    drop(go);
    assert_eq!(report.tasks[0].name.as_deref(), Some("stubborn"));
    assert!(
        report.tasks[0]
            .spawned_at
            .file()
            .ends_with("tests/join_set.rs")
    );
}

#[test]
fn local_tasks_in_a_local_runtime() {
    let rt = LocalRuntime::new().unwrap();
    rt.block_on(async {
        let mut set = JoinSet::new();
        let dropped = Rc::new(Cell::new(0));
        for i in 0..8 {
            let value = Rc::new(i);
            set.spawn_local(async move { *value });
        }
        assert!(set.try_join_next().is_none());
        assert_eq!(set.join_all().await, [0, 1, 2, 3, 4, 5, 6, 7]);

        struct Drops(Rc<Cell<i32>>);
        impl Drop for Drops {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let mut set = JoinSet::new();
        for _ in 0..8 {
            let guard = Drops(dropped.clone());
            set.spawn_local(async move {
                let _guard = guard;
                pending::<()>().await;
            });
        }
        settle().await;
        set.shutdown().await;
        assert_eq!(dropped.get(), 8);
    });
}

/// Local tasks of a set that is not driven yet: dropped with the `JoinSet` or after it.
#[test]
fn local_tasks_of_a_set_that_is_driven_later() {
    let rt = current();
    for drop_first in [true, false] {
        let dropped = Count::default();
        let local = LocalSet::new();
        let mut set = JoinSet::new();
        for _ in 0..8 {
            let guard = dropped.on_drop();
            let task = async move {
                let _guard = guard;
                pending::<()>().await;
            };
            set.spawn_local_on(task, &local);
        }
        assert!(set.try_join_next().is_none());
        if drop_first {
            drop(set);
            assert_eq!(dropped.get(), 0, "only the set runs them");
            local.block_on(&rt, settle());
        } else {
            local.block_on(&rt, async {
                drop(set);
                settle().await;
            });
        }
        assert_eq!(dropped.get(), 8);
    }
}

#[test]
fn ten_thousand_tasks_in_random_order_from_several_workers() {
    const TASKS: usize = if cfg!(miri) { 40 } else { 10_000 };
    let rt = workers(4);
    let dropped = Count::default();
    let mut seen = vec![false; TASKS];
    rt.block_on(async {
        let mut set = JoinSet::new();
        let mut random = 88_172_645_463_325_252_u64;
        for i in 0..TASKS {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let yields = random % 16;
            let guard = dropped.on_drop();
            set.spawn(async move {
                let _guard = guard;
                for _ in 0..yields {
                    yield_now().await;
                }
                i
            });
            // Joined while others are spawned, now and then; and a wait that is given up.
            if i % 64 == 0 {
                let _ = poll(pin!(set.join_next())).map(|joined| {
                    seen[joined.unwrap().unwrap()] = true;
                });
            }
        }
        while let Some(result) = set.join_next().await {
            let i = result.unwrap();
            assert!(!std::mem::replace(&mut seen[i], true), "{i} came twice");
        }
    });
    assert!(seen.iter().all(|seen| *seen));
    assert_eq!(dropped.get(), TASKS);
}

/// Sets dropped, detached and shut down while their tasks finish on other threads.
#[test]
fn giving_up_races_with_finishing() {
    const ROUNDS: usize = if cfg!(miri) { 5 } else { 300 };
    let rt = workers(3);
    let (futures, outputs) = (Count::default(), Count::default());
    rt.block_on(async {
        for round in 0..ROUNDS {
            let mut set = JoinSet::new();
            for i in 0..8 {
                let (guard, output) = (futures.on_drop(), outputs.on_drop());
                set.spawn(async move {
                    let _guard = guard;
                    for _ in 0..i {
                        yield_now().await;
                    }
                    output
                });
            }
            match round % 4 {
                0 => drop(set),
                1 => set.detach_all(),
                2 => set.shutdown().await,
                _ => {
                    drop(set.join_next().await);
                    set.detach_all();
                    set.spawn(pending());
                }
            }
        }
    });
    drop(rt);
    assert_eq!((futures.get(), outputs.get()), (ROUNDS * 8, ROUNDS * 8));
}

#[test]
fn auto_traits() {
    fn send<T: Send>(_: &T) {}
    fn sync<T: Sync>(_: &T) {}
    fn unpin<T: Unpin>(_: &T) {}
    // The output need not be `Sync`.
    let mut set = JoinSet::<Cell<u32>>::new();
    send(&set);
    sync(&set);
    unpin(&set);
    send(&set.join_next());
    sync(&set.join_next());
    sync(&set.shutdown());
    assert_eq!(format!("{set:?}"), "JoinSet { len: 0, .. }");
    assert!(JoinSet::<()>::default().is_empty());
}

#[test]
#[should_panic(expected = "or enter a runtime with `Handle::enter`")]
fn spawn_needs_a_runtime() {
    JoinSet::new().spawn(async {});
}

#[test]
#[should_panic(expected = "call it from inside `LocalSet::run_until`")]
fn spawn_local_needs_a_place() {
    workers(1).block_on(async {
        JoinSet::new().spawn_local(async {});
    });
}
