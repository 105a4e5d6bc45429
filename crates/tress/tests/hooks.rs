//! Hooks of tasks: what they are told, when, and what they may do.

use std::collections::HashMap;
use std::future::pending;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tress::runtime::{Builder, Handle, Runtime, TaskMeta};
use tress::task::{Id, JoinSet, LocalSet, spawn_batch, spawn_blocking, yield_now};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Spawn,
    Before,
    After,
    Terminate,
}

use Event::{After, Before, Spawn, Terminate};

/// What the hooks were told of each task.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<HashMap<Id, Vec<Event>>>>);

impl Log {
    fn hook(&self, event: Event) -> impl Fn(&TaskMeta<'_>) + Send + Sync + use<> {
        let log = self.0.clone();
        move |task| {
            log.lock()
                .unwrap()
                .entry(task.id())
                .or_default()
                .push(event)
        }
    }

    fn of(&self, task: Id) -> Vec<Event> {
        self.0
            .lock()
            .unwrap()
            .get(&task)
            .cloned()
            .unwrap_or_default()
    }

    fn tasks(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

fn both() -> [Builder; 2] {
    let mut multi = Builder::new_multi_thread();
    multi.worker_threads(2);
    [multi, Builder::new_current_thread()].map(|mut builder| {
        builder.enable_all();
        builder
    })
}

fn logged(mut builder: Builder) -> (Runtime, Log) {
    let log = Log::default();
    let runtime = builder
        .on_task_spawn(log.hook(Spawn))
        .on_before_task_poll(log.hook(Before))
        .on_after_task_poll(log.hook(After))
        .on_task_terminate(log.hook(Terminate))
        .build()
        .unwrap();
    (runtime, log)
}

/// The end is told before the handle knows: no waiting is needed.
#[test]
fn a_life_is_told_in_order() {
    for builder in both() {
        let (runtime, log) = logged(builder);
        let task = runtime.spawn(async { yield_now().await });
        let id = task.id();
        runtime.block_on(task).unwrap();
        let events = [Spawn, Before, After, Before, After, Terminate];
        assert_eq!(log.of(id), events);
    }
}

#[test]
fn a_panic_and_an_abort_are_ends() {
    for builder in both() {
        let (runtime, log) = logged(builder);
        let task = runtime.spawn(async { panic!("boom") });
        let id = task.id();
        assert!(runtime.block_on(task).unwrap_err().is_panic());
        assert_eq!(log.of(id), [Spawn, Before, After, Terminate]);

        let task = runtime.spawn(pending::<()>());
        let id = task.id();
        task.abort();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        assert_eq!(log.of(id).last(), Some(&Terminate));
        assert_eq!(log.of(id).iter().filter(|e| **e == Terminate).count(), 1);
    }
}

#[test]
fn a_shutdown_ends_every_task() {
    for builder in both() {
        let (runtime, log) = logged(builder);
        let tasks: Vec<_> = (0..100).map(|_| runtime.spawn(pending::<()>())).collect();
        let handle = runtime.handle().clone();
        drop(runtime);
        let late = handle.spawn(async {});
        for task in tasks.iter().chain([&late]) {
            assert_eq!(log.of(task.id()).first(), Some(&Spawn));
            assert_eq!(log.of(task.id()).last(), Some(&Terminate));
        }
    }
}

#[test]
fn every_way_to_spawn_is_told() {
    for builder in both() {
        let (runtime, log) = logged(builder);
        let ids = runtime.block_on(async {
            let mut ids = Vec::new();
            for task in spawn_batch((0..100).map(|n| async move { n })) {
                ids.push(task.id());
                task.await.unwrap();
            }
            let named = tress::task::Builder::new().name("named").spawn(async {});
            let named = named.unwrap();
            ids.push(named.id());
            named.await.unwrap();
            let mut set = JoinSet::new();
            ids.push(set.spawn(async {}).id());
            set.join_all().await;
            let view = tress::dispatch::default().limited_parallelism(1);
            let task = tress::dispatch::spawn_on(&view, async {});
            ids.push(task.id());
            task.await.unwrap();
            ids
        });
        for id in ids {
            assert_eq!(log.of(id), [Spawn, Before, After, Terminate]);
        }
    }
}

/// As documented: of a closure only the end is told, of a task of a `LocalSet` nothing.
#[test]
fn closures_end_and_local_tasks_are_not_told() {
    for builder in both() {
        let (runtime, log) = logged(builder);
        runtime.block_on(async {
            let task = spawn_blocking(|| ());
            let id = task.id();
            task.await.unwrap();
            assert_eq!(log.of(id), [Terminate]);
            let local = LocalSet::new();
            let task = local.spawn_local(async {});
            let id = task.id();
            local.run_until(task).await.unwrap();
            assert_eq!(log.of(id), []);
        });
        assert_eq!(log.tasks(), 1);
    }
}

#[test]
fn the_place_of_the_spawn_is_told() {
    for mut builder in both() {
        let places = Arc::new(Mutex::new(Vec::<&'static Location<'static>>::new()));
        let note = {
            let places = places.clone();
            move |task: &TaskMeta<'_>| places.lock().unwrap().push(task.spawned_at())
        };
        let runtime = builder
            .on_task_spawn(note.clone())
            .on_task_terminate(note)
            .build()
            .unwrap();
        let line = line!() + 1;
        let task = runtime.spawn(async {});
        runtime.block_on(task).unwrap();
        let places = places.lock().unwrap();
        assert_eq!(places.len(), 2);
        for place in places.iter() {
            assert_eq!((place.file(), place.line()), (file!(), line));
        }
    }
}

/// Names, dumps and traces know a task with hooks as they know any other.
#[test]
fn a_task_with_hooks_keeps_its_name_and_type() {
    async fn a_future_of_its_own() {
        pending::<()>().await;
    }
    let (runtime, _log) = logged(Builder::new_current_thread());
    let builder = tress::task::Builder::new().name("known by name");
    let _task = builder
        .spawn_on(a_future_of_its_own(), runtime.handle())
        .unwrap();
    runtime.spawn(a_future_of_its_own());
    let mut dump = Vec::new();
    runtime.handle().debug_dump(&mut dump).unwrap();
    let dump = String::from_utf8(dump).unwrap();
    assert!(dump.contains("known by name"), "{dump}");
    assert_eq!(dump.matches("a_future_of_its_own").count(), 2, "{dump}");
    assert!(dump.contains(file!()), "{dump}");
}

#[test]
fn the_last_function_counts() {
    let first = Arc::new(AtomicUsize::new(0));
    let second = first.clone();
    let runtime = Builder::new_current_thread()
        .on_task_spawn(|_| panic!("it was replaced"))
        .on_task_spawn(move |_| {
            second.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    runtime.spawn(async {});
    assert_eq!(first.load(Ordering::Relaxed), 1);
}

/// Panics with a payload whose destructor panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the payload of a hook");
    }
}

#[test]
fn a_hook_that_panics_harms_nothing() {
    for mut builder in both() {
        let calls = Arc::new(AtomicUsize::new(0));
        let bomb = {
            let calls = calls.clone();
            move |_: &TaskMeta<'_>| {
                calls.fetch_add(1, Ordering::Relaxed);
                std::panic::panic_any(Bomb);
            }
        };
        let runtime = builder
            .on_task_spawn(bomb.clone())
            .on_before_task_poll(bomb.clone())
            .on_after_task_poll(bomb.clone())
            .on_task_terminate(bomb)
            .build()
            .unwrap();
        runtime.block_on(async {
            assert_eq!(tress::spawn(async { 7 }).await.unwrap(), 7);
            let task = tress::spawn(async { panic!("boom") });
            assert!(task.await.unwrap_err().is_panic());
            let task = tress::spawn(pending::<()>());
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
            assert_eq!(spawn_blocking(|| 8).await.unwrap(), 8);
        });
        runtime.spawn(pending::<()>());
        drop(runtime);
        assert!(calls.load(Ordering::Relaxed) >= 13);
    }
}

/// A hook may spawn, from threads outside of the runtime, too, and look at everything. It may not block.
#[test]
fn a_hook_may_use_the_runtime() {
    for mut builder in both() {
        let depth = Arc::new(AtomicUsize::new(0));
        let refused = Arc::new(AtomicUsize::new(0));
        let hook = {
            let depth = depth.clone();
            move |task: &TaskMeta<'_>| {
                let handle = Handle::current();
                assert!(handle.metrics().spawned_tasks_count() < 1000);
                handle.debug_dump(&mut Vec::new()).unwrap();
                assert!(format!("{task:?}").contains("hooks.rs"));
                if depth.fetch_add(1, Ordering::Relaxed) < 20 {
                    tress::spawn(async {});
                    tress::task::spawn_batch((0..2).map(|_| async {}));
                }
            }
        };
        let blocks = {
            let refused = refused.clone();
            move |_: &TaskMeta<'_>| {
                let handle = Handle::current();
                let blocked = catch_unwind(AssertUnwindSafe(|| handle.block_on(async {})));
                refused.fetch_add(usize::from(blocked.is_err()), Ordering::Relaxed);
            }
        };
        let runtime = builder
            .on_task_spawn(hook.clone())
            .on_before_task_poll(blocks)
            .on_task_terminate(hook)
            .build()
            .unwrap();
        let task = runtime.spawn(async {});
        runtime.block_on(task).unwrap();
        assert!(depth.load(Ordering::Relaxed) > 20);
        assert!(refused.load(Ordering::Relaxed) >= 1);
    }
}

/// A task inside of its own hook knows itself; the budget of its poll is its own.
#[test]
fn hooks_of_polls_run_inside_of_the_task() {
    for mut builder in both() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let hook = {
            let seen = seen.clone();
            move |task: &TaskMeta<'_>| {
                let inside = tress::task::try_id();
                seen.lock().unwrap().push(inside == Some(task.id()));
            }
        };
        let runtime = builder
            .on_before_task_poll(hook.clone())
            .on_after_task_poll(hook)
            .build()
            .unwrap();
        runtime.block_on(runtime.spawn(async {})).unwrap();
        assert_eq!(*seen.lock().unwrap(), [true, true]);
    }
}

/// What the hooks around polls were told of how long tasks had waited.
type Waits = Arc<Mutex<Vec<Option<Duration>>>>;

fn told(waits: &Waits) -> impl Fn(&TaskMeta<'_>) + Send + Sync + use<> {
    let waits = waits.clone();
    move |task| waits.lock().unwrap().push(task.schedule_latency())
}

fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn a_task_is_told_how_long_it_has_waited_in_queues() {
    let (before, after) = (Waits::default(), Waits::default());
    let rt = Builder::new_current_thread()
        .track_task_schedule_latency()
        .on_before_task_poll(told(&before))
        .on_after_task_poll(told(&after))
        .on_task_spawn(|task| assert_eq!(task.schedule_latency(), None))
        .on_task_terminate(|task| assert_eq!(task.schedule_latency(), None))
        .build()
        .unwrap();
    let long = Duration::from_millis(5);
    rt.block_on(async {
        let (tell, told) = tress::sync::oneshot::channel::<()>();
        let task = tress::spawn(async {
            yield_now().await;
            told.await.unwrap();
        });
        // Since it was spawned.
        spin(long);
        while before.lock().unwrap().len() < 2 {
            yield_now().await;
        }
        assert!(before.lock().unwrap()[0].unwrap() >= long);
        // While it waits for the message it waits in no queue.
        spin(long * 4);
        let asked = Instant::now();
        tell.send(()).unwrap();
        task.await.unwrap();
        assert!(before.lock().unwrap()[2].unwrap() <= asked.elapsed());
    });
    assert_eq!(*before.lock().unwrap(), *after.lock().unwrap());
    assert_eq!(before.lock().unwrap().len(), 3);
}

#[test]
fn how_long_tasks_wait_is_counted_by_worker() {
    for mut builder in both() {
        let rt = builder
            .enable_metrics_schedule_latency_histogram()
            .build()
            .unwrap();
        let metrics = rt.metrics();
        let counted = || -> u64 {
            let buckets = metrics.schedule_latency_histogram_num_buckets();
            (0..metrics.num_workers())
                .flat_map(|worker| (0..buckets).map(move |bucket| (worker, bucket)))
                .map(|(worker, bucket)| {
                    metrics.schedule_latency_histogram_bucket_count(worker, bucket)
                })
                .sum()
        };
        rt.block_on(async {
            for _ in 0..10 {
                tress::spawn(yield_now()).await.unwrap();
            }
            tress::spawn(async {
                // Neither is the runtime's own.
                spawn_blocking(|| {}).await.unwrap();
            })
            .await
            .unwrap();
        });
        // The last task was polled once, or once more when the closure had ended.
        let polls: u64 = (0..metrics.num_workers())
            .map(|worker| metrics.worker_poll_count(worker))
            .sum();
        assert_eq!(counted(), polls);
        assert!(polls >= 21);
    }
}

#[test]
fn nothing_is_measured_unless_asked_for() {
    let waits = Waits::default();
    let rt = Builder::new_current_thread()
        .on_before_task_poll(told(&waits))
        .build()
        .unwrap();
    rt.block_on(rt.spawn(async {})).unwrap();
    assert_eq!(*waits.lock().unwrap(), [None]);
    let metrics = rt.metrics();
    assert!(!metrics.schedule_latency_histogram_enabled());
    assert_eq!(metrics.schedule_latency_histogram_num_buckets(), 0);
}

#[test]
fn tasks_of_dispatchers_are_measured_and_those_of_local_sets_are_not() {
    let waits = Waits::default();
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .track_task_schedule_latency()
        .on_before_task_poll(told(&waits))
        .build()
        .unwrap();
    let long = Duration::from_millis(20);
    rt.block_on(async {
        let (tell, told) = tress::sync::oneshot::channel::<()>();
        let view = tress::dispatch::default().limited_parallelism(1);
        let task = tress::dispatch::spawn_on(&view, async { told.await.unwrap() });
        while waits.lock().unwrap().is_empty() {
            yield_now().await;
        }
        spin(long);
        let asked = Instant::now();
        tell.send(()).unwrap();
        task.await.unwrap();
        let last = waits.lock().unwrap().last().copied().flatten();
        assert!(last.unwrap() <= asked.elapsed());
    });
    assert!(waits.lock().unwrap().iter().all(Option::is_some));
    let before = waits.lock().unwrap().len();
    let set = LocalSet::new();
    set.block_on(&rt, async {
        tress::task::spawn_local(async {}).await.unwrap();
    });
    assert_eq!(waits.lock().unwrap().len(), before);
}
