//! Ready tasks run, whatever their neighbours do.

use std::future::Future;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use tress::runtime::{Builder, Runtime};
use tress::task::{consume_budget, yield_now};
use tress::time::sleep;

fn runtime(workers: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

/// Runs `f` on the one worker and returns what it sends, or fails after a minute instead of hanging.
fn on_worker<T: Send + 'static>(rt: &Runtime, f: impl Future<Output = T> + Send + 'static) -> T {
    let (tx, rx) = mpsc::channel();
    rt.spawn(async move { tx.send(f.await).unwrap() });
    rx.recv_timeout(Duration::from_secs(60)).expect("starved")
}

/// Two tasks that wake each other for ever, each time filling the LIFO slot. Stops when dropped.
struct PingPong(Arc<AtomicBool>);

impl PingPong {
    fn start() -> PingPong {
        let stop = Arc::new(AtomicBool::new(false));
        let wakers: Arc<Mutex<[Option<Waker>; 2]>> = Arc::default();
        for me in 0..2 {
            let (stop, wakers) = (stop.clone(), wakers.clone());
            tress::spawn(poll_fn(move |cx| {
                let other = {
                    let mut wakers = wakers.lock().unwrap();
                    wakers[me] = Some(cx.waker().clone());
                    wakers[1 - me].take()
                };
                if let Some(other) = other {
                    other.wake();
                }
                match stop.load(Ordering::Relaxed) {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                }
            }));
        }
        PingPong(stop)
    }
}

impl Drop for PingPong {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn lifo_ping_pong_starves_no_task_in_the_ring() {
    let rt = runtime(1);
    on_worker(&rt, async {
        let _ping_pong = PingPong::start();
        for _ in 0..100 {
            yield_now().await;
        }
    });
}

#[test]
fn lifo_ping_pong_starves_no_task_from_outside() {
    let rt = runtime(1);
    let ping_pong = on_worker(&rt, async { PingPong::start() });
    for _ in 0..100 {
        on_worker(&rt, async {});
    }
    drop(ping_pong);
}

#[test]
fn lifo_ping_pong_starves_no_timer() {
    let rt = runtime(1);
    on_worker(&rt, async {
        let _ping_pong = PingPong::start();
        for _ in 0..5 {
            sleep(Duration::from_millis(1)).await;
        }
    });
}

/// Tasks that yield for ever. Stop when the flag is set.
fn yielders(n: usize, stop: &Arc<AtomicBool>) {
    for _ in 0..n {
        let stop = stop.clone();
        tress::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                yield_now().await;
            }
        });
    }
}

#[test]
fn yielding_tasks_starve_neither_the_global_queue_nor_timers() {
    let rt = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    on_worker(&rt, async move { yielders(3, &flag) });
    for _ in 0..50 {
        on_worker(&rt, async {});
    }
    on_worker(&rt, async { sleep(Duration::from_millis(2)).await });
    stop.store(true, Ordering::Relaxed);
}

/// What came from outside in a burst, during a long poll, does not wait for several more of them.
#[test]
fn a_burst_from_outside_runs_between_two_long_polls() {
    const BURST: u64 = 6;
    // The worker may lose its core between two of the burst, and end the global queue's turn early.
    const ROUNDS: u32 = 100;
    let rt = runtime(1);
    let handle = rt.handle().clone();
    on_worker(&rt, async move {
        for _ in 0..ROUNDS {
            let ran = Arc::new(AtomicU64::new(0));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for _ in 0..BURST {
                        let ran = ran.clone();
                        handle.spawn(async move { ran.fetch_add(1, Ordering::Relaxed) });
                    }
                });
            });
            let long = Instant::now();
            while long.elapsed() < Duration::from_millis(1) {}
            yield_now().await;
            if ran.load(Ordering::Relaxed) == BURST {
                return;
            }
        }
        panic!("no burst has been run in one turn");
    });
}

#[test]
fn an_always_ready_task_gives_way() {
    let rt = runtime(1);
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    rt.spawn(async move {
        while !flag.load(Ordering::Relaxed) {
            consume_budget().await;
        }
    });
    for _ in 0..50 {
        on_worker(&rt, async {});
    }
    stop.store(true, Ordering::Relaxed);
    assert!(rt.metrics().budget_forced_yield_count() > 0);
}

#[test]
fn on_a_current_thread_runtime_too() {
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        let _ping_pong = PingPong::start();
        let stop = Arc::new(AtomicBool::new(false));
        yielders(3, &stop);
        for _ in 0..50 {
            tress::spawn(async {}).await.unwrap();
        }
        sleep(Duration::from_millis(2)).await;
        stop.store(true, Ordering::Relaxed);
    });
}

/// The future of `block_on` has its turn as if it were in the queue: after every task that was there
/// before it.
#[test]
fn yielding_tasks_give_way_to_the_main_future() {
    const YIELDERS: u64 = 3;
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        let turns = Arc::new(AtomicU64::new(0));
        for _ in 0..YIELDERS {
            let turns = turns.clone();
            tress::spawn(async move {
                loop {
                    turns.fetch_add(1, Ordering::Relaxed);
                    yield_now().await;
                }
            });
        }
        for round in 1..200 {
            yield_now().await;
            assert_eq!(turns.load(Ordering::Relaxed), round * YIELDERS);
        }
    });
    // What was run is accounted for, although the main future ended in the middle of it.
    assert!(!rt.metrics().worker(0).busy.is_zero());
}

/// Tasks that compute for a millisecond and yield, for ever, and how often they have. Stop when dropped.
struct Hogs {
    polls: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

/// A task from outside waits for so many of their polls at the most. Before the runtime has seen that polls are
/// long, the first look comes after four. Each turn of the global queue then runs one of a burst at
/// least; more, unless the thread has lost its core meanwhile.
const WAIT: u64 = 4;

impl Hogs {
    fn start(hogs: u64) -> Hogs {
        let all = Hogs {
            polls: Arc::default(),
            stop: Arc::default(),
        };
        for _ in 0..hogs {
            let (polls, stop) = (all.polls.clone(), all.stop.clone());
            tress::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    compute();
                    polls.fetch_add(1, Ordering::Relaxed);
                    yield_now().await;
                }
            });
        }
        all
    }

    fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn compute() {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(1) {}
}

/// Spawns a burst from another thread in the middle of a poll of this task, and returns how many polls of the hogs
/// there were before all of it had run.
async fn burst_among(hogs: &Hogs, burst: usize) -> u64 {
    let (tx, rx) = mpsc::channel();
    let handle = tress::runtime::Handle::current();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..burst {
                let (tx, polls) = (tx.clone(), hogs.polls.clone());
                handle.spawn(async move { tx.send(polls.load(Ordering::Relaxed)).unwrap() });
            }
        });
    });
    let before = hogs.polls();
    // On another worker it may have run before this look.
    let mut last = before;
    for _ in 0..burst {
        let polls = loop {
            match rx.try_recv() {
                Ok(polls) => break polls,
                Err(_) => yield_now().await,
            }
        };
        last = last.max(polls);
    }
    last - before
}

const BURST: usize = 6;

#[test]
fn on_a_current_thread_runtime_long_polls_hold_nothing_from_outside() {
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    let waits: Vec<u64> = rt.block_on(async {
        let hogs = Hogs::start(50);
        let mut waits = Vec::new();
        let task = async move {
            for _ in 0..20 {
                waits.push(burst_among(&hogs, BURST).await);
            }
            waits
        };
        tress::spawn(task).await.unwrap()
    });
    let most = WAIT + BURST as u64;
    assert!(waits.iter().all(|&wait| wait <= most), "{waits:?}");
}

#[test]
fn long_polls_on_every_worker_hold_nothing_from_outside() {
    const WORKERS: u64 = 2;
    let rt = runtime(WORKERS as usize);
    let waits: Vec<u64> = on_worker(&rt, async {
        let hogs = Hogs::start(50);
        let mut waits = Vec::new();
        for _ in 0..20 {
            waits.push(burst_among(&hogs, BURST).await);
        }
        waits
    });
    let most = WORKERS * (WAIT + BURST as u64);
    assert!(waits.iter().all(|&wait| wait <= most), "{waits:?}");
}

/// Neither the main future, nor a timer, nor both.
#[test]
fn on_a_current_thread_runtime_long_polls_hold_neither_the_main_future_nor_timers() {
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        let hogs = Hogs::start(100);
        // Until it has been seen that polls are long.
        while hogs.polls() < 10 {
            yield_now().await;
        }
        for _ in 0..20 {
            let before = hogs.polls();
            yield_now().await;
            let polls = hogs.polls() - before;
            assert!(polls <= WAIT, "yielding: {polls}");
        }
        for _ in 0..20 {
            let before = hogs.polls();
            sleep(Duration::from_millis(1)).await;
            // Two milliseconds at the most until it is due.
            let polls = hogs.polls() - before;
            assert!(polls <= 3 + WAIT, "sleeping: {polls}");
        }
    });
}

/// The main future computes, and one task yields: neither holds timers and what comes from outside.
#[test]
fn a_main_future_with_long_polls_holds_nothing() {
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        let stop = Arc::new(AtomicBool::new(false));
        yielders(1, &stop);
        let (tx, rx) = mpsc::channel();
        for _ in 0..10 {
            let timers = tx.clone();
            tress::spawn(async move {
                sleep(Duration::from_millis(1)).await;
                timers.send(()).unwrap();
            });
            let (handle, outside) = (tress::runtime::Handle::current(), tx.clone());
            std::thread::scope(|scope| {
                scope.spawn(|| drop(handle.spawn(async move { outside.send(()).unwrap() })));
            });
            let mut polls = 0;
            let mut come = 0;
            while come < 2 {
                compute();
                polls += 1;
                yield_now().await;
                come += rx.try_iter().count();
            }
            assert!(polls <= 3 + 2 * WAIT, "{polls}");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Blocks one worker in a poll, until the returned sender is used, after `before` ran in that poll.
fn block_a_worker(rt: &Runtime, before: impl FnOnce() + Send + 'static) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel();
    let (blocked, is_blocked) = mpsc::channel();
    rt.spawn(async move {
        before();
        blocked.send(()).unwrap();
        released
            .recv_timeout(Duration::from_secs(60))
            .expect("the test ends it");
    });
    is_blocked.recv_timeout(Duration::from_secs(60)).unwrap();
    release
}

#[test]
fn a_stuck_poll_holds_neither_its_slot_nor_its_ring() {
    let rt = runtime(2);
    let (tx, rx) = mpsc::channel();
    // The last one spawned is in the LIFO slot, the others are in the ring.
    let release = block_a_worker(&rt, move || {
        for i in 0..10 {
            let tx = tx.clone();
            tress::spawn(async move { tx.send(i).unwrap() });
        }
    });
    let mut ran: Vec<i32> = (0..10)
        .map(|_| {
            rx.recv_timeout(Duration::from_secs(60))
                .expect("held by a stuck poll")
        })
        .collect();
    ran.sort_unstable();
    assert_eq!(ran, (0..10).collect::<Vec<_>>());
    release.send(()).unwrap();
}

#[test]
fn a_stuck_poll_holds_no_timers() {
    let rt = runtime(2);
    let (tx, rx) = mpsc::channel();
    // Sleepers on both workers, so that some timers are on the one that gets stuck.
    let fired = Arc::new(AtomicU64::new(0));
    for _ in 0..64 {
        let (tx, fired) = (tx.clone(), fired.clone());
        rt.spawn(async move {
            sleep(Duration::from_millis(20)).await;
            fired.fetch_add(1, Ordering::Relaxed);
            tx.send(()).unwrap();
        });
    }
    let release = block_a_worker(&rt, || {});
    for _ in 0..64 {
        rx.recv_timeout(Duration::from_secs(60))
            .expect("a timer was held");
    }
    assert_eq!(fired.load(Ordering::Relaxed), 64);
    release.send(()).unwrap();
}

#[test]
fn a_timeout_armed_by_the_stuck_poll_still_fires() {
    let rt = runtime(2);
    let (tx, rx) = mpsc::channel();
    let release = block_a_worker(&rt, move || {
        tress::spawn(async move {
            let pending = std::future::pending::<()>();
            let result = tress::time::timeout(Duration::from_millis(5), pending).await;
            tx.send(result.is_err()).unwrap();
        });
    });
    assert!(rx.recv_timeout(Duration::from_secs(60)).expect("held"));
    release.send(()).unwrap();
    let slow: u64 = (0..2).map(|i| rt.metrics().worker(i).slow_polls).sum();
    assert!(slow > 0, "the monitor did not notice");
}
