//! Each finding: a fault is planted in a running program, and the sentence has to come.

#![cfg(feature = "sight")]

use std::future::poll_fn;
use std::sync::{Arc, mpsc as std_mpsc};
use std::task::Poll;
use std::time::Duration;
use tress::runtime::{Builder, Runtime};
use tress::sync::{Mutex, RwLock, Semaphore, mpsc, oneshot};
use tress::task;
use tress::trace::{Finding, FindingKind, Severity, Thresholds, WaitKind};

/// How long a finding may take to come, on a machine that does a lot besides.
const SOON: Duration = Duration::from_secs(60);

struct Watched {
    rt: Runtime,
    found: std_mpsc::Receiver<Finding>,
}

fn watched(change: impl FnOnce(&mut Builder, &mut Thresholds)) -> Watched {
    let (tell, found) = std_mpsc::channel();
    let mut thresholds = Thresholds::default();
    thresholds.deadlock = Duration::from_millis(100);
    thresholds.stuck = Duration::from_millis(300);
    thresholds.lost_wake = Duration::from_millis(100);
    thresholds.full_channel = Duration::from_millis(200);
    thresholds.blocking_pool = Duration::from_millis(100);
    thresholds.leak_window = Duration::from_millis(200);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().sight(true);
    // The receiver may be gone when the runtime ends.
    builder.on_finding(move |finding| drop(tell.send(finding.clone())));
    change(&mut builder, &mut thresholds);
    let rt = builder.sight_thresholds(thresholds).build().unwrap();
    Watched { rt, found }
}

impl Watched {
    /// Waits for a finding of that kind.
    fn wait_for(&self, kind: FindingKind) -> Finding {
        loop {
            let finding = self.found.recv_timeout(SOON).expect("nothing was found");
            if finding.kind == kind {
                return finding;
            }
        }
    }
}

fn named<F>(rt: &Runtime, name: &str, future: F) -> task::JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    task::Builder::new()
        .name(name)
        .spawn_on(future, rt.handle())
        .unwrap()
}

/// Takes both locks, in the order given, once both tasks have their first.
async fn take_both(
    first: Arc<Mutex<()>>,
    second: Arc<Mutex<()>>,
    have: oneshot::Sender<()>,
    other_has: oneshot::Receiver<()>,
) {
    let _first = first.lock().await;
    have.send(()).unwrap();
    other_has.await.unwrap();
    let _second = second.lock().await;
}

#[test]
fn two_tasks_that_wait_for_each_others_lock() {
    let watched = watched(|_, _| ());
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let (left_has, left_had) = oneshot::channel();
    let (right_has, right_had) = oneshot::channel();
    let left = named(
        &watched.rt,
        "left",
        take_both(a.clone(), b.clone(), left_has, right_had),
    );
    let right = named(&watched.rt, "right", take_both(b, a, right_has, left_had));
    let finding = watched.wait_for(FindingKind::Deadlock);
    assert_eq!(finding.severity, Severity::Critical);
    assert!(finding.cycle);
    let ids: Vec<_> = finding.chain.iter().map(|link| link.task).collect();
    assert_eq!(ids.len(), 2, "{finding}");
    assert!(ids.contains(&left.id()) && ids.contains(&right.id()));
    for link in &finding.chain {
        let wait = link.wait.as_ref().unwrap();
        assert_eq!(wait.kind, WaitKind::Mutex);
        assert!(wait.created_at.unwrap().file().ends_with("findings.rs"));
        assert!(wait.held_by.is_some());
    }
    let text = finding.to_string();
    for part in [
        "Deadlock: ",
        "`left`",
        "`right`",
        "Mutex created at",
        "held by",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    left.abort();
}

#[test]
fn a_task_that_waits_for_its_own_lock() {
    let watched = watched(|_, _| ());
    let lock = Arc::new(RwLock::new(()));
    let task = named(&watched.rt, "alone", async move {
        let _read = lock.read().await;
        let _write = lock.write().await;
    });
    let finding = watched.wait_for(FindingKind::Deadlock);
    assert_eq!(finding.task, Some(task.id()));
    assert!(finding.text.contains("which it holds itself"), "{finding}");
}

#[test]
fn a_cycle_through_a_join_handle() {
    let watched = watched(|_, _| ());
    let lock = Arc::new(Mutex::new(()));
    let waiter = {
        let lock = lock.clone();
        let handle = watched.rt.handle().clone();
        named(&watched.rt, "parent", async move {
            let _held = lock.clone().lock_owned().await;
            let child = async move { drop(lock.lock().await) };
            let child = task::Builder::new().name("child").spawn_on(child, &handle);
            child.unwrap().await.unwrap();
        })
    };
    let finding = watched.wait_for(FindingKind::Deadlock);
    assert!(finding.text.contains("the end of `child`"), "{finding}");
    assert!(finding.text.contains("`parent`"), "{finding}");
    waiter.abort();
}

#[test]
fn the_future_of_block_on_takes_part() {
    let watched = watched(|_, _| ());
    let lock = Arc::new(Mutex::new(()));
    let (tell, told) = oneshot::channel::<()>();
    let found = std::thread::scope(|scope| {
        let main = scope.spawn(|| {
            let handle = watched.rt.handle().clone();
            handle.block_on(async {
                let _held = lock.lock().await;
                let lock = lock.clone();
                let task = tress::spawn(async move { drop(lock.lock().await) });
                tress::select! {
                    biased;
                    _ = async { task.await.unwrap() } => unreachable!("it waits for the lock"),
                    _ = told => {}
                }
            });
        });
        let stuck = watched.wait_for(FindingKind::Deadlock);
        tell.send(()).unwrap();
        main.join().unwrap();
        stuck
    });
    let text = found.to_string();
    assert!(text.contains("held by the future of block_on at"), "{text}");
    assert!(text.contains("findings.rs"), "{text}");
    assert!(text.contains("waits for something else, too"), "{text}");
}

#[test]
fn a_task_that_waits_long_for_a_lock_whose_holder_waits_for_input() {
    let watched = watched(|_, _| ());
    let lock = Arc::new(Mutex::new(()));
    let (_keep, silent) = oneshot::channel::<()>();
    let (locked, is_locked) = oneshot::channel();
    let holder = named(&watched.rt, "sync", {
        let lock = lock.clone();
        async move {
            let _held = lock.lock().await;
            locked.send(()).unwrap();
            let _ = silent.await;
        }
    });
    let writer = named(&watched.rt, "writer", async move {
        is_locked.await.unwrap();
        drop(lock.lock().await);
    });
    let finding = watched.wait_for(FindingKind::Stuck);
    assert_eq!(finding.task, Some(writer.id()));
    assert!(!finding.cycle);
    let text = finding.to_string();
    assert!(text.starts_with("`writer` (task "), "{text}");
    assert!(text.contains("held by `sync`"), "{text}");
    assert!(text.contains("a value from a oneshot channel"), "{text}");
    assert_eq!(finding.chain[1].task, holder.id());
}

#[test]
fn tasks_with_other_ways_out_are_no_deadlock_at_once() {
    let watched = watched(|_, thresholds| thresholds.stuck = Duration::from_secs(3600));
    let lock = Arc::new(Mutex::new(()));
    let (tell, told) = oneshot::channel::<()>();
    let task = named(&watched.rt, "patient", async move {
        let _held = lock.lock().await;
        tress::select! {
            _ = lock.lock() => unreachable!("it is held"),
            _ = told => {}
        }
    });
    // Something that is found, so that enough looks have been taken.
    let other = Arc::new(Mutex::new(()));
    let bad = named(&watched.rt, "bad", async move {
        let _held = other.lock().await;
        drop(other.lock().await);
    });
    assert_eq!(watched.wait_for(FindingKind::Deadlock).task, Some(bad.id()));
    let of_task = |finding: &Finding| finding.task == Some(task.id());
    assert!(!watched.rt.handle().findings().iter().any(of_task));
    tell.send(()).unwrap();
    watched.rt.block_on(task).unwrap();
}

#[test]
fn a_task_that_nothing_can_wake() {
    let watched = watched(|_, _| ());
    let lost = named(
        &watched.rt,
        "lost",
        poll_fn(|_| -> Poll<()> { Poll::Pending }),
    );
    let id = lost.id();
    drop(lost);
    let finding = watched.wait_for(FindingKind::LostWake);
    assert_eq!(finding.task, Some(id));
    assert!(finding.text.contains("will never run again"), "{finding}");
}

#[test]
fn a_poll_that_blocks_its_worker() {
    let watched = watched(|_, _| ());
    let (release, released) = std_mpsc::channel::<()>();
    let bad = named(&watched.rt, "bad", async move {
        // Blocks its worker.
        let _ = released.recv();
    });
    let finding = watched.wait_for(FindingKind::SlowPoll);
    assert_eq!(finding.task, Some(bad.id()));
    assert!(finding.text.starts_with("`bad`"), "{finding}");
    assert!(finding.text.contains("has kept worker"), "{finding}");
    release.send(()).unwrap();
    watched.rt.block_on(bad).unwrap();
}

#[test]
fn closures_on_the_blocking_pool_are_not_suspected_of_a_slow_poll() {
    let watched = watched(|_, _| ());
    let (release, released) = std_mpsc::channel::<()>();
    let released = Arc::new(std::sync::Mutex::new(released));
    for _ in 0..3 {
        let released = released.clone();
        // Ends when the sender is dropped.
        watched
            .rt
            .spawn_blocking(move || released.lock().unwrap().recv().is_err());
    }
    let (free, freed) = std_mpsc::channel::<()>();
    let bad = named(&watched.rt, "bad", async move { freed.recv().is_err() });
    assert_eq!(watched.wait_for(FindingKind::SlowPoll).task, Some(bad.id()));
    drop((release, free));
}

#[test]
fn many_tasks_that_queue_for_one_lock() {
    let watched = watched(|_, thresholds| thresholds.stuck = Duration::from_secs(3600));
    let lock = Arc::new(Mutex::new(()));
    let (stop, _) = tress::sync::broadcast::channel::<()>(1);
    for _ in 0..40 {
        let lock = lock.clone();
        let mut stopped = stop.subscribe();
        watched.rt.spawn(async move {
            loop {
                let held = lock.lock().await;
                let pause = tress::time::sleep(Duration::from_millis(1));
                tress::select! {
                    _ = pause => drop(held),
                    _ = stopped.recv() => return,
                }
            }
        });
    }
    let finding = watched.wait_for(FindingKind::Convoy);
    assert!(finding.text.contains("queue for the Mutex"), "{finding}");
    assert!(finding.site.unwrap().file().ends_with("findings.rs"));
    drop(stop);
}

#[test]
fn a_channel_that_is_full() {
    let watched = watched(|_, _| ());
    let (sender, receiver) = mpsc::channel::<u32>(2);
    let writer = named(&watched.rt, "writer", async move {
        for n in 0.. {
            if sender.send(n).await.is_err() {
                return;
            }
        }
    });
    let finding = watched.wait_for(FindingKind::FullChannel);
    assert_eq!(finding.task, Some(writer.id()));
    assert!(finding.text.contains("is full"), "{finding}");
    drop(receiver);
    watched.rt.block_on(writer).unwrap();
}

#[test]
fn an_unbounded_channel_that_grows() {
    let watched = watched(|_, thresholds| thresholds.long_channel = 1024);
    let (sender, receiver) = mpsc::unbounded_channel::<u32>();
    for n in 0..5000 {
        sender.send(n).unwrap();
    }
    let finding = watched.wait_for(FindingKind::FullChannel);
    assert!(finding.text.contains("4096 messages or more"), "{finding}");
    assert!(finding.site.unwrap().file().ends_with("findings.rs"));
    drop(receiver);
}

#[test]
fn a_blocking_pool_without_a_free_thread() {
    let watched = watched(|builder, _| {
        builder.max_blocking_threads(2);
    });
    let (release, released) = std_mpsc::channel::<()>();
    let released = Arc::new(std::sync::Mutex::new(released));
    for _ in 0..5 {
        let released = released.clone();
        watched.rt.spawn_blocking(move || {
            // Ends when the sender is dropped.
            let _ = released.lock().unwrap().recv();
        });
    }
    let finding = watched.wait_for(FindingKind::BlockingPool);
    assert!(finding.text.contains("All 2 threads"), "{finding}");
    assert!(finding.text.contains("3 closures wait"), "{finding}");
    drop(release);
}

#[test]
fn tasks_that_pile_up() {
    let watched = watched(|_, thresholds| thresholds.leak_tasks = 50);
    let never = Arc::new(Semaphore::new(0));
    let handle = watched.rt.handle().clone();
    let leaking = watched.rt.spawn(async move {
        let mut pause = tress::time::interval(Duration::from_millis(1));
        loop {
            pause.tick().await;
            let never = never.clone();
            handle.spawn(async move { drop(never.acquire().await) });
        }
    });
    let finding = watched.wait_for(FindingKind::Leak);
    assert!(finding.text.contains("pile up"), "{finding}");
    assert!(finding.site.unwrap().file().ends_with("findings.rs"));
    leaking.abort();
}

#[test]
fn more_tasks_than_the_workers_can_run() {
    let watched = watched(|builder, thresholds| {
        builder.worker_threads(1);
        thresholds.queue = 1000;
    });
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    for _ in 0..3000 {
        let stop = stop.clone();
        watched.rt.spawn(async move {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                task::yield_now().await;
            }
        });
    }
    let finding = watched.wait_for(FindingKind::Starvation);
    assert!(finding.text.contains("ready tasks wait"), "{finding}");
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
}

#[test]
fn a_callback_that_panics_does_not_end_the_search() {
    let (tell, told) = std_mpsc::channel();
    let mut thresholds = Thresholds::default();
    thresholds.lost_wake = Duration::from_millis(50);
    let rt = Builder::new_multi_thread()
        .sight(true)
        .sight_thresholds(thresholds)
        .on_finding(move |finding| {
            let _ = tell.send(finding.task);
            panic!("on purpose");
        })
        .build()
        .unwrap();
    for _ in 0..2 {
        let lost = rt.spawn(poll_fn(|_| -> Poll<()> { Poll::Pending }));
        let id = lost.id();
        drop(lost);
        assert_eq!(told.recv_timeout(SOON).unwrap(), Some(id));
    }
}

#[test]
fn limits_may_be_huge_or_nothing() {
    for limit in [Duration::MAX, Duration::ZERO] {
        let watched = watched(|_, thresholds| {
            thresholds.stuck = limit;
            thresholds.slow_poll = limit;
            thresholds.leak_window = limit;
            thresholds.starvation = limit;
            thresholds.full_channel = limit;
            thresholds.blocking_pool = limit;
        });
        // Blocks a worker for some looks.
        let (release, released) = std_mpsc::channel::<()>();
        let slow = watched.rt.spawn(async move { released.recv().is_err() });
        let lock = Arc::new(Mutex::new(()));
        watched.rt.spawn(async move {
            let _held = lock.lock().await;
            drop(lock.lock().await);
        });
        // What is found shows that it still looks.
        watched.wait_for(FindingKind::Deadlock);
        drop(release);
        assert!(watched.rt.block_on(slow).unwrap());
    }
}

#[test]
fn it_can_be_switched_on_and_off_and_a_dropped_runtime_ends_its_thread() {
    let rt = Runtime::new().unwrap();
    let sight = rt.handle().sight();
    for _ in 0..20 {
        sight.start().unwrap();
        sight.start().unwrap();
        assert!(sight.is_on());
        sight.stop();
        assert!(!sight.is_on());
    }
    sight.start().unwrap();
    drop(rt);
    assert!(!sight.is_on());
}

#[test]
fn a_snapshot_shows_tasks_sites_and_resources() {
    let watched = watched(|_, _| ());
    let lock = Arc::new(Mutex::new(()));
    let held = watched.rt.block_on(lock.clone().lock_owned());
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let lock = lock.clone();
            watched.rt.spawn(async move { drop(lock.lock().await) })
        })
        .collect();
    let sight = watched.rt.handle().sight();
    let waiting = |snapshot: &tress::trace::Snapshot| {
        let waiting = snapshot
            .waiting
            .iter()
            .find(|(kind, _)| *kind == WaitKind::Mutex);
        waiting.map_or(0, |(_, count)| *count)
    };
    let mut snapshot = sight.snapshot();
    while waiting(&snapshot) < 3 {
        std::thread::yield_now();
        snapshot = sight.snapshot();
    }
    assert_eq!(snapshot.resources[0].waiters, 3);
    assert_eq!(snapshot.sites[0].live, 3);
    let json = snapshot.to_json();
    for part in ["\"waiting\":{\"Mutex\":3}", "\"waiters\":3", "\"live\":3"] {
        assert!(json.contains(part), "{part}: {json}");
    }
    let (view, chain) = sight.task(waiters[0].id()).unwrap();
    assert_eq!(view.state, "idle");
    assert_eq!(view.waits[0].kind, WaitKind::Mutex);
    assert_eq!(chain[0].task, waiters[0].id());
    drop(held);
    for waiter in waiters {
        watched.rt.block_on(waiter).unwrap();
    }
}
