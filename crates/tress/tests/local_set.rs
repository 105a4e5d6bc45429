//! What a `LocalSet` promises: its tasks are polled and dropped on its own thread, first come, first
//! served; wake-ups may come from anywhere, at any time, and none is lost.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use tress::runtime::{Builder, Handle, Runtime};
use tress::task::{
    self, JoinHandle, LocalSet, block_in_place, consume_budget, spawn_blocking, spawn_local,
    yield_now,
};
use tress::time::{Duration, sleep};

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

/// Both kinds of runtime.
fn each_runtime(f: impl Fn(Runtime)) {
    f(current());
    f(workers(2));
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A waker that counts its calls.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Wakes {
    fn new() -> (Arc<Wakes>, Waker) {
        let wakes = Arc::new(Wakes::default());
        (wakes.clone(), Waker::from(wakes))
    }

    fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

/// Events of local tasks, in order. Not `Send`.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    fn add(&self, event: impl Into<String>) {
        self.0.borrow_mut().push(event.into());
    }

    fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

/// Lives on one thread: dropped on another, the process ends.
struct Here {
    thread: ThreadId,
    log: Log,
    name: String,
}

impl Here {
    fn new(log: &Log, name: impl Into<String>) -> Here {
        Here {
            thread: thread::current().id(),
            log: log.clone(),
            name: name.into(),
        }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        if self.thread != thread::current().id() {
            // A panic would be caught, and the `Rc` inside is already lost.
            eprintln!("{} was dropped on the wrong thread", self.name);
            std::process::abort();
        }
        self.log.add(format!("DROP {}", self.name));
    }
}

/// Something to wait for, from any thread.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Gate {
    fn open(&self) {
        let wakers = {
            let mut gate = self.0.lock().unwrap();
            gate.0 = true;
            std::mem::take(&mut gate.1)
        };
        for waker in wakers {
            waker.wake();
        }
    }

    async fn pass(&self) {
        poll_fn(|cx| {
            let mut gate = self.0.lock().unwrap();
            if gate.0 {
                return Poll::Ready(());
            }
            gate.1.push(cx.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// Gives its task's waker away in every poll, for ever.
fn tell_waker(tell: mpsc::Sender<Waker>) -> impl Future<Output = ()> {
    poll_fn(move |cx| {
        let _ = tell.send(cx.waker().clone());
        Poll::Pending
    })
}

#[test]
fn tasks_run_first_come_first_served_on_one_thread() {
    each_runtime(|rt| {
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
        let order = ["00", "01", "02", "03", "10", "11", "12", "13"];
        assert_eq!(log.take(), order);
    });
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
fn a_sleeping_task_is_woken_while_the_guard_is_alive() {
    each_runtime(|rt| {
        let local = LocalSet::new();
        let _guard = local.enter();
        let done = Rc::new(Cell::new(false));
        local.block_on(&rt, async {
            let inner = done.clone();
            let task = spawn_local(async move {
                sleep(Duration::ZERO).await;
                inner.set(true);
            });
            task.await.unwrap();
        });
        assert!(done.get());
    });
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

#[test]
fn aborts_from_here_and_from_elsewhere() {
    each_runtime(|rt| {
        for elsewhere in [false, true] {
            for started in [false, true] {
                let (local, log) = (LocalSet::new(), Log::default());
                let here = Here::new(&log, "aborted");
                let task = local.spawn_local(async move {
                    let _here = here;
                    pending::<()>().await;
                });
                if started {
                    local.block_on(&rt, yield_now());
                }
                let abort = task.abort_handle();
                match elsewhere {
                    false => abort.abort(),
                    true => thread::spawn(move || abort.abort()).join().unwrap(),
                }
                assert!(!task.is_finished(), "only the set drops it");
                let error = local.block_on(&rt, task).unwrap_err();
                assert!(error.is_cancelled());
                assert_eq!(log.take(), ["DROP aborted"]);
            }
        }
    });
}

/// An abort wakes a set whose driver sleeps.
#[test]
fn a_remote_abort_ends_the_sets_wait() {
    each_runtime(|rt| {
        let (local, log) = (LocalSet::new(), Log::default());
        let (tell, told) = mpsc::channel();
        let here = Here::new(&log, "aborted");
        let task = local.spawn_local(async move {
            let _here = here;
            tell_waker(tell).await;
        });
        let aborts = thread::spawn(move || {
            told.recv().unwrap();
            task.abort();
        });
        rt.block_on(local);
        aborts.join().unwrap();
        assert_eq!(log.take(), ["DROP aborted"]);
    });
}

#[test]
fn remote_wakes_are_not_lost() {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 5_000 };
    each_runtime(|rt| {
        let (tell, told) = mpsc::channel::<Waker>();
        let wakes = thread::spawn(move || told.into_iter().for_each(Waker::wake));
        let (local, home) = (LocalSet::new(), thread::current().id());
        local.block_on(&rt, async move {
            // One waits for the other thread in every round, and nothing else wakes anybody.
            let task = spawn_local(async move {
                for _ in 0..ROUNDS {
                    let mut asked = false;
                    poll_fn(|cx| {
                        assert_eq!(thread::current().id(), home);
                        if std::mem::replace(&mut asked, true) {
                            return Poll::Ready(());
                        }
                        tell.send(cx.waker().clone()).unwrap();
                        Poll::Pending
                    })
                    .await;
                }
            });
            task.await.unwrap();
        });
        wakes.join().unwrap();
    });
}

/// Many tasks, woken by several threads that also drop and keep wakers.
#[test]
fn wakes_from_several_threads_at_once() {
    const TASKS: usize = if cfg!(miri) { 4 } else { 100 };
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 50 };
    let rt = workers(2);
    let local = LocalSet::new();
    let (tell, told) = mpsc::channel::<Waker>();
    let told = Arc::new(Mutex::new(told));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let told = told.clone();
            thread::spawn(move || {
                let mut kept = Vec::new();
                loop {
                    let waker = told.lock().unwrap().recv();
                    let Ok(waker) = waker else { return kept };
                    waker.wake_by_ref();
                    kept.push(waker);
                }
            })
        })
        .collect();
    for _ in 0..TASKS {
        let tell = tell.clone();
        local.spawn_local(async move {
            let rc = Rc::new(());
            for _ in 0..ROUNDS {
                let mut polls = 0;
                poll_fn(|cx| {
                    polls += 1;
                    if polls > 1 {
                        return Poll::Ready(());
                    }
                    tell.send(cx.waker().clone()).unwrap();
                    Poll::Pending
                })
                .await;
            }
            drop(rc);
        });
    }
    drop(tell);
    rt.block_on(local);
    for thread in threads {
        for waker in thread.join().unwrap() {
            waker.wake(); // long after
        }
    }
}

#[test]
fn wakers_and_handles_outlive_the_set() {
    let rt = current();
    for to_pages in [false, true] {
        let local = LocalSet::new();
        if to_pages {
            // Cells come from pages once there were some tasks.
            local.block_on(&rt, async {
                for _ in 0..100 {
                    spawn_local(async {}).await.unwrap();
                }
            });
        }
        let (tell, told) = mpsc::channel();
        let log = Log::default();
        let tasks: Vec<JoinHandle<()>> = (0..5)
            .map(|i| {
                let (tell, here) = (tell.clone(), Here::new(&log, i.to_string()));
                local.spawn_local(async move {
                    let _here = here;
                    tell_waker(tell).await;
                })
            })
            .collect();
        local.block_on(&rt, yield_now());
        drop(local);
        assert_eq!(log.take().len(), 5);
        let wakers: Vec<Waker> = told.try_iter().collect();
        assert_eq!(wakers.len(), 5);
        let elsewhere = thread::spawn(move || {
            for waker in wakers {
                let other = waker.clone();
                waker.wake_by_ref();
                other.wake();
                drop(waker);
            }
            let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
            for abort in aborts {
                abort.abort();
                assert!(abort.is_finished());
            }
            tasks
        });
        for task in elsewhere.join().unwrap() {
            assert!(rt.block_on(task).unwrap_err().is_cancelled());
        }
    }
}

/// Dropped while another thread keeps waking the tasks: every future is dropped here, none twice.
#[test]
fn dropping_races_with_remote_wakes() {
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 500 };
    const TASKS: usize = 4;
    let rt = current();
    for _ in 0..ROUNDS {
        let (local, log) = (LocalSet::new(), Log::default());
        let (tell, told) = mpsc::channel();
        for i in 0..TASKS {
            let (tell, here) = (tell.clone(), Here::new(&log, i.to_string()));
            local.spawn_local(async move {
                let _here = here;
                tell_waker(tell).await;
            });
        }
        local.block_on(&rt, yield_now());
        let wakers: Vec<Waker> = told.try_iter().collect();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let (started, start) = mpsc::channel();
        let thread = thread::spawn(move || {
            started.send(()).unwrap();
            while !stopped.load(Ordering::Acquire) {
                wakers.iter().for_each(Waker::wake_by_ref);
            }
        });
        start.recv().unwrap();
        drop(local);
        stop.store(true, Ordering::Release);
        thread.join().unwrap();
        assert_eq!(log.take().len(), TASKS);
    }
}

#[test]
fn tasks_are_dropped_in_the_order_of_their_spawning() {
    const TASKS: usize = 80; // some in pages, some not
    let rt = current();
    let (local, log) = (LocalSet::new(), Log::default());
    let gate = Gate::default();
    for i in 0..TASKS {
        let (here, gate) = (Here::new(&log, format!("{i:02}")), gate.clone());
        local.spawn_local(async move {
            let _here = here;
            // Some wait, some are ready again, some have not started.
            if i % 3 == 0 {
                gate.pass().await;
            }
            pending::<()>().await;
        });
        if i == TASKS / 2 {
            local.block_on(&rt, yield_now());
        }
    }
    gate.open();
    drop(local);
    let expected: Vec<_> = (0..TASKS).map(|i| format!("DROP {i:02}")).collect();
    assert_eq!(log.take(), expected);
}

/// Destructors wake other tasks of the set, spawn into it, and use its context.
#[test]
fn dropping_runs_inside_of_the_set() {
    struct Busy {
        gate: Gate,
        log: Log,
    }
    impl Drop for Busy {
        fn drop(&mut self) {
            self.gate.open();
            let here = Here::new(&self.log, "late");
            let refused = spawn_local(async move { drop(here) });
            assert!(refused.is_finished());
            self.log.add("DROP busy");
        }
    }
    each_runtime(|rt| {
        let (local, log) = (LocalSet::new(), Log::default());
        let gate = Gate::default();
        let waits = |name: &str| {
            let (here, gate) = (Here::new(&log, name), gate.clone());
            async move {
                let _here = here;
                gate.pass().await;
                unreachable!("not polled any more");
            }
        };
        local.spawn_local(waits("first"));
        let busy = Busy {
            gate: gate.clone(),
            log: log.clone(),
        };
        local.spawn_local(async move {
            let _busy = busy;
            pending::<()>().await;
        });
        local.spawn_local(waits("woken"));
        local.block_on(&rt, yield_now());
        rt.block_on(async { drop(local) });
        assert_eq!(
            log.take(),
            ["DROP first", "DROP late", "DROP busy", "DROP woken"]
        );
        assert!(catch_unwind(|| spawn_local(async {})).is_err(), "left");
    });
}

#[test]
fn a_destructors_panic_is_the_tasks_error() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let rt = current();
    let local = LocalSet::new();
    let spawn = || {
        let panics = Panics;
        local.spawn_local(async move {
            let _panics = panics;
            pending::<()>().await;
        })
    };
    let (aborted, left) = (spawn(), spawn());
    local.block_on(&rt, yield_now());
    aborted.abort();
    assert!(local.block_on(&rt, aborted).unwrap_err().is_panic());
    drop(local);
    assert!(rt.block_on(left).unwrap_err().is_panic());
}

#[test]
fn a_set_in_a_thread_local() {
    thread_local! {
        static LOCAL: LocalSet = LocalSet::new();
        static LOG: Log = Log::default();
    }
    let rt = workers(1);
    let handle = rt.handle().clone();
    thread::spawn(move || {
        let log = LOG.with(Log::clone);
        LOCAL.with(|local| {
            let here = Here::new(&log, "by the thread's end");
            handle.block_on(local.run_until(async move {
                spawn_local(async move {
                    let _here = here;
                    pending::<()>().await;
                });
                yield_now().await;
            }));
        });
    })
    .join()
    .unwrap();
}

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

/// What a waker is told, poll by poll.
#[test]
fn a_driver_is_woken_when_there_is_work_and_only_then() {
    let rt = current();
    let _entered = rt.enter();
    let local = LocalSet::new();
    let (wakes, waker) = Wakes::new();
    let mut cx = Context::from_waker(&waker);
    let mut driver = pin!(local.run_until(pending::<()>()));
    assert!(driver.as_mut().poll(&mut cx).is_pending());
    assert_eq!(wakes.take(), 0, "nothing to do");

    let task = local.spawn_local(ready(1));
    assert_eq!(wakes.take(), 1, "spawned from outside");
    assert!(driver.as_mut().poll(&mut cx).is_pending());
    assert!(task.is_finished());
    assert_eq!(wakes.take(), 0);

    for _ in 0..200 {
        local.spawn_local(async {});
    }
    assert_eq!(wakes.take(), 1, "once is enough");
    for _ in 0..3 {
        assert!(driver.as_mut().poll(&mut cx).is_pending());
        assert_eq!(wakes.take(), 1, "61 in a poll, the rest later");
    }
    assert!(driver.as_mut().poll(&mut cx).is_pending());
    assert_eq!(wakes.take(), 0, "200 are done");

    let gate = Gate::default();
    let passes = gate.clone();
    let task = local.spawn_local(async move { passes.pass().await });
    assert!(driver.as_mut().poll(&mut cx).is_pending());
    wakes.take();
    gate.open();
    assert_eq!(wakes.take(), 1, "woken on its own thread");
    assert!(driver.as_mut().poll(&mut cx).is_pending());
    assert!(task.is_finished());
    assert_eq!(wakes.take(), 0);
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

/// `spawn_local` from the same task, between the polls of the driver.
#[test]
fn spawning_wakes_the_set() {
    each_runtime(|rt| {
        let local = LocalSet::new();
        rt.block_on(async {
            let mut driver = pin!(local.run_until(pending::<()>()));
            let mut task = None;
            poll_fn(|cx| {
                assert!(driver.as_mut().poll(cx).is_pending());
                let task = task.get_or_insert_with(|| local.spawn_local(ready(())));
                Pin::new(task).poll(cx)
            })
            .await
            .unwrap();
        });
    });
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

/// Outputs that are not `Send` are dropped at home, by whoever has the right to them.
#[test]
fn outputs_are_dropped_at_home() {
    let rt = workers(1);
    let (local, log) = (LocalSet::new(), Log::default());
    let output = Here::new(&log, "detached");
    drop(local.spawn_local(async move { output }));
    let output = Here::new(&log, "joined");
    let joined = local.spawn_local(async move { output });
    let output = Here::new(&log, "unclaimed");
    let unclaimed = local.spawn_local(async move { output });
    local.block_on(&rt, async {
        drop(joined.await);
    });
    drop(local);
    assert_eq!(log.take(), ["DROP detached", "DROP joined"]);
    drop(unclaimed);
    assert_eq!(log.take(), ["DROP unclaimed"]);
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
