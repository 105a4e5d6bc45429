//! The end of a runtime, step by step as `Runtime::shutdown_timeout` documents it.

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};
use tress::runtime::{Builder, Handle, Runtime, SpawnBlockingError};
use tress::task::{self, JoinHandle, block_in_place, shield, spawn_blocking, yield_now};
use tress::time::sleep;

/// Far more than anything here takes; reached only by a bug.
const LONG: Duration = Duration::from_secs(30);
/// For shutdowns that are meant to run out of time.
const SHORT: Duration = Duration::from_millis(50);

fn multi(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn every_kind() -> [Runtime; 4] {
    [multi(1), multi(2), multi(8), current()]
}

/// Counts how often it is dropped.
#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn guard(&self) -> DropGuard {
        DropGuard(self.0.clone())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

struct DropGuard(Arc<AtomicUsize>);

impl Drop for DropGuard {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A future that is never ready and counts its polls.
struct Never(Arc<AtomicUsize>);

impl Future for Never {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Poll::Pending
    }
}

/// Is the handle's task finished, and how?
fn outcome<T>(handle: &mut JoinHandle<T>) -> Option<Result<T, task::JoinError>> {
    let mut cx = Context::from_waker(Waker::noop());
    match Pin::new(handle).poll(&mut cx) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

#[track_caller]
fn assert_cancelled<T>(mut handle: JoinHandle<T>) {
    match outcome(&mut handle) {
        None => panic!("not finished"),
        Some(Ok(_)) => panic!("not cancelled"),
        Some(Err(error)) => assert!(error.is_cancelled(), "{error}"),
    }
}

/// A task that sits in one poll until told otherwise.
struct Stuck {
    release: Sender<()>,
    handle: JoinHandle<()>,
}

fn stuck_on(handle: &Handle, drops: &Drops) -> Stuck {
    let (tell, told) = channel();
    let (release, released) = channel::<()>();
    let guard = drops.guard();
    let handle = handle.spawn(async move {
        let _guard = guard;
        tell.send(()).unwrap();
        let _ = released.recv();
    });
    told.recv().unwrap();
    Stuck { release, handle }
}

#[track_caller]
fn message(result: thread::Result<()>) -> String {
    let payload = result.expect_err("should have panicked");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&'static str>().unwrap()).to_owned(),
    }
}

/// For states that no event announces.
#[track_caller]
fn until(condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LONG, "it never came to that");
        thread::yield_now();
    }
}

// Step 1

#[test]
fn a_task_spawned_after_shutdown_is_cancelled_at_once() {
    for rt in every_kind() {
        let handle = rt.handle().clone();
        handle.spawn(async {});
        assert!(rt.shutdown_timeout(LONG).is_clean());

        let (drops, polls) = (Drops::default(), Arc::new(AtomicUsize::new(0)));
        let (guard, never) = (drops.guard(), Never(polls.clone()));
        let late = handle.spawn(async move {
            let _guard = guard;
            never.await;
        });
        assert!(late.is_finished());
        assert_eq!((drops.count(), polls.load(Ordering::SeqCst)), (1, 0));
        assert_cancelled(late);

        let guard = drops.guard();
        let late = handle.spawn_blocking(move || drop(guard));
        assert_eq!(drops.count(), 2);
        assert_cancelled(late);

        let guard = drops.guard();
        let refused = handle.try_spawn_blocking(move || drop(guard));
        let (error, closure) = refused.unwrap_err();
        assert!(matches!(error, SpawnBlockingError::ShutDown), "{error}");
        drop(closure);
        assert_eq!(drops.count(), 3);
    }
}

#[test]
fn a_task_spawned_by_a_destructor_during_shutdown_is_cancelled() {
    struct SpawnOnDrop {
        drops: Drops,
        generations: usize,
    }
    impl Drop for SpawnOnDrop {
        fn drop(&mut self) {
            let _counted = self.drops.guard();
            if self.generations > 0 {
                let next = SpawnOnDrop {
                    drops: self.drops.clone(),
                    generations: self.generations - 1,
                };
                let task = tress::spawn(async move {
                    let _next = next;
                    pending::<()>().await;
                });
                drop(task);
            }
        }
    }
    for rt in every_kind() {
        let drops = Drops::default();
        for _ in 0..20 {
            let first = SpawnOnDrop {
                drops: drops.clone(),
                generations: 5,
            };
            rt.spawn(async move {
                let _first = first;
                pending::<()>().await;
            });
        }
        assert!(rt.shutdown_timeout(LONG).is_clean());
        assert_eq!(drops.count(), 20 * 6);
    }
}

// Step 2

#[test]
fn a_running_poll_ends_and_is_the_last_one() {
    for workers in [1, 2] {
        let rt = multi(workers);
        let (tell, told) = channel();
        let (release, released) = channel::<()>();
        let polls = Arc::new(AtomicUsize::new(0));
        let drops = Drops::default();
        let (counted, guard) = (polls.clone(), drops.guard());
        let task = rt.spawn(poll_fn(move |cx| {
            let _guard = &guard;
            counted.fetch_add(1, Ordering::SeqCst);
            tell.send(()).unwrap();
            released.recv().unwrap();
            // Ready again at once, but the runtime is closing.
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        told.recv().unwrap();
        let handle = rt.handle().clone();
        let closer = thread::spawn(move || rt.shutdown_timeout(LONG));
        // Closed once it refuses tasks.
        until(|| handle.spawn(pending::<()>()).is_finished());
        release.send(()).unwrap();
        assert!(closer.join().unwrap().is_clean());
        assert_eq!((polls.load(Ordering::SeqCst), drops.count()), (1, 1));
        assert_cancelled(task);
    }
}

// Step 3

#[test]
fn every_waiting_task_is_dropped_exactly_once() {
    for rt in every_kind() {
        let drops = Drops::default();
        let mut handles = Vec::new();
        let mut expected = 0;
        let mut spawn = |future: Pin<Box<dyn Future<Output = ()> + Send>>| {
            let guard = drops.guard();
            expected += 1;
            handles.push(rt.spawn(async move {
                let _guard = guard;
                future.await;
            }));
        };
        let (_sender, receiver) = channel::<()>();
        let receiver = Arc::new(Mutex::new(receiver));
        let mut wakers = Vec::new();
        for i in 0..50 {
            spawn(Box::pin(pending()));
            spawn(Box::pin(async { sleep(LONG).await }));
            spawn(Box::pin(shield(pending())));
            spawn(Box::pin(async move {
                loop {
                    yield_now().await;
                }
            }));
            let slot = Arc::new(Mutex::new(None::<Waker>));
            wakers.push(slot.clone());
            let receiver = receiver.clone();
            spawn(Box::pin(poll_fn(move |cx| {
                *slot.lock().unwrap() = Some(cx.waker().clone());
                let _ = receiver.lock().unwrap().try_recv();
                if i % 2 == 0 {
                    Poll::Pending
                } else {
                    Poll::Ready(())
                }
            })));
        }
        // Some of them have been polled by now, some have not.
        let report = rt.shutdown_timeout(LONG);
        assert!(report.is_clean(), "{report}");
        assert_eq!(drops.count(), expected);
        for mut handle in handles {
            let result = outcome(&mut handle).expect("every task is finished");
            assert!(result.is_ok() || result.unwrap_err().is_cancelled());
        }
        // Wakers outlive everything.
        for slot in wakers {
            if let Some(waker) = slot.lock().unwrap().take() {
                let other = waker.clone();
                waker.wake_by_ref();
                other.wake();
            }
        }
    }
}

#[test]
fn a_panicking_destructor_does_not_stop_the_shutdown() {
    struct PanicOnDrop(#[allow(dead_code)] DropGuard);
    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            panic!("dropping");
        }
    }
    for rt in every_kind() {
        let drops = Drops::default();
        let handles: Vec<_> = (0..20)
            .map(|_| {
                let bomb = PanicOnDrop(drops.guard());
                rt.spawn(async move {
                    let _bomb = bomb;
                    pending::<()>().await;
                })
            })
            .collect();
        assert!(rt.shutdown_timeout(LONG).is_clean());
        assert_eq!(drops.count(), 20);
        for mut handle in handles {
            assert!(outcome(&mut handle).unwrap().unwrap_err().is_panic());
        }
    }
}

/// Tasks that own each other's handles, wakers and futures: nothing of it may stay behind.
#[test]
fn cycles_of_handles_and_wakers_do_not_leak() {
    for rt in every_kind() {
        let drops = Drops::default();
        const N: usize = 30;
        type Slot = Arc<Mutex<Vec<JoinHandle<DropGuard>>>>;
        let slots: Vec<Slot> = (0..N).map(|_| Slot::default()).collect();
        let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
        for i in 0..N {
            let (held, wakers, guard) = (slots[i].clone(), wakers.clone(), drops.guard());
            let handle = rt.spawn(async move {
                poll_fn(|cx| {
                    wakers.lock().unwrap().push(cx.waker().clone());
                    // Waits for the handles it holds, which hold it in turn.
                    for handle in held.lock().unwrap().iter_mut() {
                        if let Poll::Ready(ended) = Pin::new(handle).poll(cx) {
                            return Poll::Ready(ended.is_ok());
                        }
                    }
                    Poll::Pending
                })
                .await;
                guard
            });
            slots[(i + 1) % N].lock().unwrap().push(handle);
        }
        drop(slots);
        // Whatever they have seen of each other, a second poll makes them join.
        let all = std::mem::take(&mut *wakers.lock().unwrap());
        all.into_iter().for_each(Waker::wake);
        assert!(rt.shutdown_timeout(LONG).is_clean());
        drop(wakers);
        assert_eq!(drops.count(), N);
    }
}

/// A task that holds its own handle completes with an output that nobody takes.
#[test]
fn a_task_that_holds_its_own_handle_does_not_leak() {
    for rt in every_kind() {
        let drops = Drops::default();
        let own: Arc<Mutex<Option<JoinHandle<DropGuard>>>> = Arc::default();
        let (held, guard) = (own.clone(), drops.guard());
        let handle = rt.spawn(async move {
            pending::<()>().await;
            drop(held);
            guard
        });
        *own.lock().unwrap() = Some(handle);
        drop(own);
        assert!(rt.shutdown_timeout(LONG).is_clean());
        assert_eq!(drops.count(), 1);
    }
}

// Step 4

#[test]
fn a_timer_awaited_from_outside_ends_with_a_clear_panic() {
    for rt in [multi(1), multi(2)] {
        let handle = rt.handle().clone();
        let (tell, told) = channel();
        let outside = thread::spawn(move || {
            handle.block_on(async move {
                let mut sleep = pin!(sleep(LONG));
                poll_fn(|cx| {
                    let polled = sleep.as_mut().poll(cx);
                    let _ = tell.send(());
                    polled
                })
                .await;
            });
        });
        told.recv().unwrap();
        assert!(rt.shutdown_timeout(LONG).is_clean());
        let text = message(outside.join());
        assert!(text.contains("does not outlive the runtime"), "{text}");
    }
}

// Step 5

#[test]
fn blocking_closures_that_wait_for_others_are_cancelled() {
    for rt in [
        Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .build()
            .unwrap(),
        Builder::new_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap(),
    ] {
        let (tell, told) = channel();
        let (release, released) = channel::<()>();
        let running = rt.spawn_blocking(move || {
            tell.send(()).unwrap();
            released.recv().unwrap();
            7
        });
        told.recv().unwrap();
        let drops = Drops::default();
        let guard = drops.guard();
        let queued = rt.spawn_blocking(move || drop(guard));
        let closer = thread::spawn(move || rt.shutdown_timeout(LONG));
        until(|| queued.is_finished());
        assert_eq!(drops.count(), 1);
        assert_cancelled(queued);
        // The running one is waited for.
        assert!(!closer.is_finished());
        release.send(()).unwrap();
        assert!(closer.join().unwrap().is_clean());
        let mut running = running;
        assert_eq!(outcome(&mut running).unwrap().unwrap(), 7);
    }
}

#[test]
fn blocking_closures_with_a_thread_to_run_on_are_not_cancelled() {
    for rt in every_kind() {
        // Not one of them has had the time to begin.
        let closures: Vec<_> = (0..3).map(|i| rt.spawn_blocking(move || i)).collect();
        assert!(rt.shutdown_timeout(LONG).is_clean());
        for (i, mut closure) in closures.into_iter().enumerate() {
            assert_eq!(outcome(&mut closure).unwrap().unwrap(), i);
        }
    }
}

#[test]
fn every_worker_has_parked_by_the_end() {
    for i in 0..60 {
        let rt = Builder::new_multi_thread()
            .worker_threads(3)
            .eager_start(i % 2 == 0)
            .build()
            .unwrap();
        let metrics = rt.metrics();
        if i % 3 == 0 {
            rt.block_on(async { tress::spawn(yield_now()).await.unwrap() });
        }
        drop(rt);
        for worker in 0..3 {
            assert!(metrics.worker_park_count(worker) >= 1);
            assert_eq!(metrics.worker_park_unpark_count(worker) % 2, 0);
        }
    }
}

// Step 6

#[test]
fn the_report_names_the_stuck_task() {
    let rt = multi(2);
    let (tell, told) = channel();
    let (release, released) = channel::<()>();
    let drops = Drops::default();
    let guard = drops.guard();
    let line = line!() + 3;
    let task = task::Builder::new()
        .name("the stuck one")
        .spawn_on(
            async move {
                let _guard = guard;
                tell.send(()).unwrap();
                let _ = released.recv();
            },
            rt.handle(),
        )
        .unwrap();
    told.recv().unwrap();
    let waiting = rt.spawn(pending::<()>());
    let (tell, told) = channel();
    let (release_closure, released) = channel::<()>();
    rt.spawn_blocking(move || {
        tell.send(()).unwrap();
        let _ = released.recv();
    });
    told.recv().unwrap();

    let report = rt.shutdown_timeout(SHORT);
    assert!(!report.is_clean());
    assert_eq!(report.blocking, 1);
    let named: Vec<_> = report
        .tasks
        .iter()
        .filter(|t| t.running && t.name.is_some())
        .collect();
    assert_eq!(named.len(), 1, "{report}");
    assert_eq!(named[0].id, task.id());
    assert_eq!(named[0].name.as_deref(), Some("the stuck one"));
    assert_eq!(named[0].spawned_at.file(), file!());
    assert_eq!(named[0].spawned_at.line(), line);
    let text = report.to_string();
    assert!(
        text.contains("the stuck one") && text.contains("shutdown.rs"),
        "{text}"
    );
    // The other worker is free and drops what waits.
    assert_cancelled(waiting);

    // What was left behind stops by itself.
    assert_eq!(drops.count(), 0);
    drop((release, release_closure));
    until(|| task.is_finished());
    assert_eq!(drops.count(), 1);
}

/// No worker is free to drop what waits: the report says that it waits.
#[test]
fn the_report_tells_running_from_waiting() {
    let rt = multi(1);
    let drops = Drops::default();
    let waiting = rt.spawn(pending::<()>());
    let stuck = stuck_on(rt.handle(), &drops);
    let report = rt.shutdown_timeout(SHORT);
    let find = |id| report.tasks.iter().find(|task| task.id == id);
    assert!(
        find(stuck.handle.id()).is_some_and(|task| task.running),
        "{report}"
    );
    // Either it was dropped in spite of the stuck worker, or it is reported.
    match find(waiting.id()) {
        Some(task) => assert!(!task.running),
        None => assert!(waiting.is_finished()),
    }
    drop(stuck.release);
    until(|| waiting.is_finished() && stuck.handle.is_finished());
    assert_eq!(drops.count(), 1);
}

#[test]
fn dropping_the_runtime_waits_for_the_running_poll() {
    let rt = multi(2);
    let drops = Drops::default();
    let stuck = stuck_on(rt.handle(), &drops);
    let ended = Arc::new(AtomicBool::new(false));
    let flag = ended.clone();
    let dropper = thread::spawn(move || {
        drop(rt);
        flag.store(true, Ordering::SeqCst);
    });
    assert!(!ended.load(Ordering::SeqCst));
    stuck.release.send(()).unwrap();
    dropper.join().unwrap();
    assert_eq!(drops.count(), 1);
    assert!(stuck.handle.is_finished());
}

// Where it may be called

#[test]
fn dropping_a_runtime_in_asynchronous_code_panics_clearly() {
    for inner in every_kind() {
        let drops = Drops::default();
        let guard = drops.guard();
        inner.spawn(async move {
            let _guard = guard;
            pending::<()>().await;
        });
        let outer = multi(1);
        let result = catch_unwind(AssertUnwindSafe(|| {
            outer.block_on(async move { drop(inner) });
        }));
        let text = message(result);
        assert!(text.contains("shutdown_background"), "{text}");
        // It shuts down all the same.
        until(|| drops.count() == 1);
    }
    for outer in [multi(1), current()] {
        let inner = multi(1);
        let error = outer
            .block_on(async { tress::spawn(async move { drop(inner) }).await })
            .unwrap_err();
        assert!(error.to_string().contains("shutdown_background"), "{error}");
    }
}

#[test]
fn a_runtime_can_end_itself_in_the_background() {
    for workers in [1, 2, 8] {
        let rt = multi(workers);
        let handle = rt.handle().clone();
        let drops = Drops::default();
        let guard = drops.guard();
        let other = handle.spawn(async move {
            let _guard = guard;
            pending::<()>().await;
        });
        let (tell, told) = channel();
        let guard = drops.guard();
        let last = handle.spawn(async move {
            let _guard = guard;
            rt.shutdown_background();
            // Still alive until the next suspension.
            tell.send(()).unwrap();
            pending::<()>().await;
        });
        told.recv().unwrap();
        until(|| last.is_finished() && other.is_finished());
        until(|| drops.count() == 2);
        assert_cancelled(last);
        assert!(handle.spawn(async {}).is_finished());
    }
}

#[test]
fn a_runtime_can_be_dropped_by_its_own_blocking_closure() {
    let rt = multi(2);
    let handle = rt.handle().clone();
    let (tell, told) = channel();
    let waiting = handle.spawn(pending::<()>());
    handle.spawn_blocking(move || {
        drop(rt);
        tell.send(()).unwrap();
    });
    told.recv_timeout(LONG).expect("it waits for itself");
    assert_cancelled(waiting);
}

#[test]
fn nested_block_on_panics_clearly() {
    for outer in every_kind() {
        for inner in [multi(1), current()] {
            let result = catch_unwind(AssertUnwindSafe(|| {
                outer.block_on(async { inner.block_on(async {}) });
            }));
            let text = message(result);
            assert!(
                text.contains("`.await`") && text.contains("spawn_blocking"),
                "{text}"
            );
            // Neither is the worse for it.
            outer.block_on(async {});
            inner.block_on(async {});
        }
        let handle = outer.handle().clone();
        let error = outer
            .block_on(async { tress::spawn(async move { handle.block_on(async {}) }).await })
            .unwrap_err();
        assert!(error.to_string().contains("block_on"), "{error}");
    }
}

#[test]
fn a_panic_out_of_block_on_still_drops_everything() {
    for rt in every_kind() {
        let drops = Drops::default();
        let guard = drops.guard();
        let result = catch_unwind(AssertUnwindSafe(|| {
            let rt = rt;
            rt.block_on(async {
                tress::spawn(async move {
                    let _guard = guard;
                    pending::<()>().await;
                });
                yield_now().await;
                panic!("out of here");
            });
        }));
        assert!(message(result).contains("out of here"));
        assert_eq!(drops.count(), 1);
    }
}

// Threads that block in place are nobody's workers.

/// Parks in `block_in_place` until released.
fn blocked_in_place(rt: &Runtime, drops: &Drops) -> Stuck {
    let (tell, told) = channel();
    let (release, released) = channel::<()>();
    let guard = drops.guard();
    let handle = rt.spawn(async move {
        let _guard = guard;
        block_in_place(|| {
            tell.send(()).unwrap();
            let _ = released.recv();
        });
    });
    told.recv().unwrap();
    Stuck { release, handle }
}

#[test]
fn shutdown_does_not_wait_longer_than_asked_for_a_task_that_blocks_in_place() {
    for _ in 0..20 {
        let rt = multi(1);
        let drops = Drops::default();
        let stuck = blocked_in_place(&rt, &drops);
        // At once: its core may still lie where it was put.
        let (tell, told) = channel();
        let closer = thread::spawn(move || {
            let report = rt.shutdown_timeout(Duration::from_millis(1));
            tell.send(report).unwrap();
        });
        let report = told.recv_timeout(LONG).expect("shutdown hangs");
        closer.join().unwrap();
        assert!(!report.is_clean());
        assert_eq!(report.tasks.len(), 1, "{report}");
        assert_eq!(report.tasks[0].id, stuck.handle.id());
        stuck.release.send(()).unwrap();
        until(|| stuck.handle.is_finished());
        assert_eq!(drops.count(), 1);
    }
}

#[test]
fn shutdown_while_tasks_block_in_place_drops_the_others() {
    let rt = multi(2);
    let drops = Drops::default();
    let stuck: Vec<_> = (0..4).map(|_| blocked_in_place(&rt, &drops)).collect();
    let waiting: Vec<_> = (0..10).map(|_| rt.spawn(pending::<()>())).collect();
    let report = rt.shutdown_timeout(SHORT);
    assert_eq!(report.tasks.len(), 4, "{report}");
    waiting.into_iter().for_each(assert_cancelled);
    for stuck in stuck {
        stuck.release.send(()).unwrap();
        until(|| stuck.handle.is_finished());
    }
    assert_eq!(drops.count(), 4);
}

#[test]
fn a_runtime_can_be_ended_by_its_own_task_in_block_in_place() {
    for workers in [1, 2] {
        for _ in 0..20 {
            let rt = multi(workers);
            let handle = rt.handle().clone();
            let (tell, told) = channel();
            let last = handle.spawn(async move {
                block_in_place(|| rt.shutdown_background());
                tell.send(()).unwrap();
            });
            told.recv_timeout(LONG).expect("it waits for itself");
            until(|| last.is_finished());
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_shut_down_runtime_with_a_blocked_task_uses_no_cpu() {
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("shutdown-cpu")
        .build()
        .unwrap();
    let drops = Drops::default();
    let stuck = blocked_in_place(&rt, &drops);
    rt.shutdown_timeout(SHORT);
    let before = cpu_ticks("shutdown-cpu");
    thread::sleep(Duration::from_millis(500));
    let used = cpu_ticks("shutdown-cpu") - before;
    stuck.release.send(()).unwrap();
    // 50 would be one whole CPU.
    assert!(used <= 5, "{used} ticks of 10 ms in half a second");
}

/// CPU time of all threads of this name.
#[cfg(target_os = "linux")]
fn cpu_ticks(name: &str) -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    threads
        .filter_map(|entry| {
            let stat = std::fs::read_to_string(entry.unwrap().path().join("stat")).ok()?;
            let (head, tail) = stat.rsplit_once(')')?;
            let fields: Vec<&str> = tail.split_whitespace().collect();
            head.ends_with(name)
                .then(|| fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap())
        })
        .sum()
}

// What outlives the runtime

#[test]
fn handles_and_wakers_are_harmless_afterwards() {
    for rt in every_kind() {
        let slot: Arc<Mutex<Option<Waker>>> = Arc::default();
        let (tell, told) = channel();
        let filled = slot.clone();
        let mut task = rt.spawn(poll_fn(move |cx| {
            *filled.lock().unwrap() = Some(cx.waker().clone());
            let _ = tell.send(());
            Poll::<String>::Pending
        }));
        let done = rt.spawn(async { String::from("output") });
        let handle = rt.handle().clone();
        rt.block_on(yield_now());
        wait_for(&rt, &told);
        let abort = task.abort_handle();
        drop(rt);
        let waker = slot.lock().unwrap().take().unwrap();
        waker.wake_by_ref();
        abort.abort();
        assert!(abort.is_finished() && task.is_finished());
        assert!(outcome(&mut task).unwrap().unwrap_err().is_cancelled());
        assert_eq!(handle.metrics().num_alive_tasks(), 0);
        drop((task, handle, abort, done));
        // The last reference to the cell, and with it to the runtime.
        waker.wake();
    }
}

/// Waits for a message while driving the runtime, should it need that.
fn wait_for(rt: &Runtime, told: &Receiver<()>) {
    let begin = Instant::now();
    while told.try_recv().is_err() {
        assert!(begin.elapsed() < LONG);
        rt.block_on(yield_now());
    }
}

#[test]
fn a_finished_output_survives_the_runtime() {
    for rt in every_kind() {
        let drops = Drops::default();
        let guard = drops.guard();
        let mut task = rt.spawn(async move { guard });
        rt.block_on(async {
            while !task.is_finished() {
                yield_now().await
            }
        });
        drop(rt);
        let output = outcome(&mut task).unwrap().unwrap();
        assert_eq!(drops.count(), 0);
        drop(output);
        assert_eq!(drops.count(), 1);
    }
}

#[test]
fn a_task_of_one_runtime_waits_for_one_of_another_that_ends() {
    let (a, b) = (multi(2), multi(2));
    let never = a.spawn(pending::<()>());
    let watcher = b.spawn(async move { never.await.unwrap_err().is_cancelled() });
    a.shutdown_timeout(LONG);
    assert!(b.block_on(watcher).unwrap());
}

#[test]
#[allow(
    clippy::async_yields_async,
    reason = "the handle is to outlive the runtime"
)]
fn blocking_closure_of_a_dropped_runtime_still_reports_to_its_waiter() {
    let (a, b) = (multi(1), multi(1));
    let (tell, told) = channel();
    let (release, released) = channel::<()>();
    let work = a.block_on(async move {
        spawn_blocking(move || {
            tell.send(()).unwrap();
            released.recv().unwrap();
            9
        })
    });
    told.recv().unwrap();
    assert_eq!(a.shutdown_timeout(SHORT).blocking, 1);
    release.send(()).unwrap();
    assert_eq!(b.block_on(work).unwrap(), 9);
}
