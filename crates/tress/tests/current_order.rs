//! The order in which a current-thread runtime polls, which is Tokio's: tests of programs lean on it. `ci/differential`
//! compares random programs; here is each rule by itself.

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use tress::runtime::{Builder, Runtime};
use tress::task::{JoinSet, LocalSet, consume_budget, spawn_local, yield_now};
use tress::time::{self, Duration, Instant, sleep, sleep_until, timeout};

/// A runtime whose clock is paused: how long polls take makes no difference.
fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().unwrap()
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, what: impl ToString) {
        self.0.lock().unwrap().push(what.to_string());
    }

    /// A future that logs once.
    fn once<W: ToString>(&self, what: W) -> impl Future<Output = ()> + Send + use<W> {
        let (log, what) = (self.clone(), what.to_string());
        async move { log.add(what) }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Polls a future once.
async fn is_ready<F: Future>(mut future: Pin<&mut F>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

/// Logs when it is dropped.
struct Gone(Log, u32);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.add(self.1);
    }
}

/// Tasks that are spawned while others run come before the main future, although it was woken first.
#[test]
fn the_main_future_waits_for_the_tasks_that_are_spawned_meanwhile() {
    let log = Log::default();
    runtime().block_on(async {
        let (tasks, (tx, rx)) = (log.clone(), tress::sync::oneshot::channel());
        tress::spawn(async move {
            tx.send(()).unwrap();
            tress::spawn(async move { drop(tress::spawn(tasks.once("grandchild"))) });
        });
        rx.await.unwrap();
        log.add("main");
    });
    assert_eq!(log.take(), ["grandchild", "main"]);
}

/// But for no more than 61 polls.
#[test]
fn a_round_has_61_polls() {
    for (interval, polls) in [(None, 61), (Some(7), 7)] {
        let mut builder = Builder::new_current_thread();
        builder.enable_all().start_paused(true);
        if let Some(interval) = interval {
            builder.event_interval(interval);
        }
        let log = Log::default();
        builder.build().unwrap().block_on(async {
            for n in 0..200 {
                tress::spawn(log.once(n));
            }
            yield_now().await;
            assert_eq!(log.take().len(), polls);
            yield_now().await;
            assert_eq!(log.take().len(), polls);
        });
    }
}

/// Who yields goes on when all that is ready has run, the last one first.
#[test]
fn those_that_yield_wait_for_the_end_of_the_round() {
    let log = Log::default();
    runtime().block_on(async {
        for n in 0..3 {
            let log = log.clone();
            tress::spawn(async move {
                yield_now().await;
                log.add(n);
            });
        }
        let late = log.clone();
        tress::spawn(async move { drop(tress::spawn(late.once("late"))) });
        yield_now().await;
        log.add("main");
        yield_now().await;
    });
    assert_eq!(log.take(), ["late", "main", "2", "1", "0"]);
}

/// As do those whose budget is used up.
#[test]
fn a_forced_yield_waits_for_the_end_of_the_round() {
    let log = Log::default();
    runtime().block_on(async {
        let greedy = log.clone();
        tress::spawn(async move {
            for _ in 0..129 {
                consume_budget().await;
            }
            greedy.add("greedy");
        });
        let late = log.clone();
        tress::spawn(async move { drop(tress::spawn(late.once("late"))) });
        yield_now().await;
        yield_now().await;
    });
    assert_eq!(log.take(), ["late", "greedy"]);
}

/// Every 31st poll is a task's from outside; the others come when nothing else is ready.
#[test]
fn every_31st_poll_is_from_outside() {
    let log = Log::default();
    let rt = runtime();
    for n in 0..3 {
        rt.spawn(log.once(format!("outside {n}")));
    }
    rt.block_on(async {
        for n in 0..80 {
            tress::spawn(log.once(n));
        }
        while log.0.lock().unwrap().len() < 83 {
            yield_now().await;
        }
    });
    let log = log.take();
    let outside = |at: usize| log[at].starts_with("outside");
    let places: Vec<usize> = (0..log.len())
        .filter(|&at| outside(at))
        .map(|at| at + 1)
        .collect();
    assert_eq!(places, [31, 62, 83]);
}

/// A move of the clock lets timers fire when the runtime looks at them, after what is ready.
#[test]
fn timers_fire_at_the_end_of_the_round() {
    let log = Log::default();
    runtime().block_on(async {
        let timer = log.clone();
        tress::spawn(async move {
            sleep(Duration::from_millis(5)).await;
            timer.add("timer");
        });
        yield_now().await;
        let tasks = log.clone();
        tress::spawn(async move { drop(tress::spawn(tasks.once("grandchild"))) });
        time::advance(Duration::from_millis(5)).await;
        yield_now().await;
    });
    assert_eq!(log.take(), ["grandchild", "timer"]);
}

/// A timer is late if the runtime has looked at its timers since its deadline, not if the clock has passed it.
#[test]
fn a_timer_is_not_late_before_the_runtime_has_looked() {
    runtime().block_on(async {
        let task = tress::spawn(async {
            let deadline = Instant::now();
            let mut late = std::pin::pin!(sleep_until(deadline));
            assert!(!is_ready(late.as_mut()).await);
            late.await;
            let mut late = std::pin::pin!(sleep_until(deadline));
            assert!(is_ready(late.as_mut()).await);
        });
        time::advance(Duration::from_millis(5)).await;
        task.await.unwrap();
    });
}

/// Nor is one that is moved there.
#[test]
fn a_timer_that_is_reset_is_not_late_before_the_runtime_has_looked() {
    let log = Log::default();
    runtime().block_on(async {
        let reset = log.clone();
        tress::spawn(async move {
            let deadline = Instant::now();
            let mut sleep = std::pin::pin!(sleep(Duration::from_millis(5)));
            assert!(!is_ready(sleep.as_mut()).await);
            sleep.as_mut().reset(deadline);
            sleep.await;
            reset.add("reset");
        });
        tress::spawn(log.once("other"));
        time::advance(Duration::from_millis(3)).await;
        yield_now().await;
    });
    assert_eq!(log.take(), ["other", "reset"]);
}

/// Nor is one that sleeps for no time, while the clock runs: others go first.
#[test]
fn who_sleeps_for_no_time_gives_way() {
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    let log = Log::default();
    rt.block_on(async {
        tress::spawn(log.once("task"));
        sleep(Duration::ZERO).await;
        log.add("slept");
        tress::spawn(log.once("another"));
        assert!(timeout(Duration::ZERO, pending::<()>()).await.is_err());
        log.add("timed out");
    });
    assert_eq!(log.take(), ["task", "slept", "another", "timed out"]);
}

/// A jump of the clock is a number of whole milliseconds.
#[test]
fn the_clock_jumps_by_whole_milliseconds() {
    runtime().block_on(async {
        let start = Instant::now();
        time::advance(Duration::from_micros(500)).await;
        sleep(Duration::from_millis(1)).await;
        assert_eq!(start.elapsed(), Duration::from_micros(2500));
    });
}

/// Tasks that are left are dropped in the order of their spawns, also those that are woken or aborted meanwhile.
#[test]
fn tasks_that_are_left_are_dropped_in_order() {
    let log = Log::default();
    let rt = runtime();
    let idle = |n| {
        let gone = Gone(log.clone(), n);
        async move {
            let _gone = gone;
            pending::<()>().await;
        }
    };
    rt.block_on(async {
        let set = idle(0);
        tress::spawn(async move {
            // Aborted when this one is dropped.
            let mut children = JoinSet::new();
            children.spawn(idle_after(set));
            pending::<()>().await;
        });
        yield_now().await;
        (1..4).for_each(|n| drop(tress::spawn(idle(n))));
        yield_now().await;
        (4..6).for_each(|n| drop(tress::spawn(idle(n))));
    });
    drop(rt);
    assert_eq!(log.take(), ["0", "1", "2", "3", "4", "5"]);

    let local = LocalSet::new();
    let rt = runtime();
    local.block_on(&rt, async {
        (1..4).for_each(|n| drop(spawn_local(idle(n))));
        yield_now().await;
        (4..6).for_each(|n| drop(spawn_local(idle(n))));
    });
    drop(local);
    assert_eq!(log.take(), ["1", "2", "3", "4", "5"]);
}

async fn idle_after(future: impl Future<Output = ()>) {
    yield_now().await;
    future.await;
}

/// A set aborts its tasks in the order of their spawns, also where a place is used again.
#[test]
fn a_set_aborts_in_the_order_of_spawns() {
    let log = Log::default();
    runtime().block_on(async {
        let mut set = JoinSet::new();
        set.spawn(async {});
        let idle = |n| {
            let gone = Gone(log.clone(), n);
            async move {
                let _gone = gone;
                pending::<()>().await;
            }
        };
        set.spawn(idle(1));
        set.join_next().await.unwrap().unwrap();
        set.spawn(idle(2));
        yield_now().await;
        drop(set);
        yield_now().await;
    });
    assert_eq!(log.take(), ["1", "2"]);
}

/// The first poll of a `LocalSet`, and every 31st, is for a task that another thread has woken.
#[test]
fn a_set_asks_for_tasks_from_outside_at_every_31st_poll() {
    let log = Log::default();
    let (rt, local) = (runtime(), LocalSet::new());
    let (tx, rx) = tress::sync::oneshot::channel::<()>();
    let woken = log.clone();
    local.spawn_local(async move {
        rx.await.unwrap();
        woken.add("woken");
    });
    local.block_on(&rt, async {
        yield_now().await;
        // Two polls so far: the first, and one that found nothing.
        let mut tx = Some(tx);
        for n in 0..100 {
            // After the turn at the 32nd poll.
            let (log, tx) = (log.clone(), if n == 40 { tx.take() } else { None });
            spawn_local(async move {
                log.add(n);
                if let Some(tx) = tx {
                    let other = std::thread::spawn(move || tx.send(()).unwrap());
                    other.join().unwrap();
                }
            });
        }
        while log.0.lock().unwrap().len() < 101 {
            yield_now().await;
        }
    });
    let at = log.take().iter().position(|line| line == "woken");
    assert_eq!(at, Some(62 - 2));
}

/// A foreign waker that gives way again each time it is woken holds nobody up.
#[test]
fn a_waker_that_gives_way_again_is_woken_once_a_round() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake, Waker};

    struct Again(AtomicUsize);
    impl Wake for Again {
        fn wake(self: Arc<Self>) {
            if self.0.fetch_add(1, Ordering::Relaxed) < 100 {
                let waker = Waker::from(self);
                let mut yielding = std::pin::pin!(tress::task::yield_now());
                let _ = yielding.as_mut().poll(&mut Context::from_waker(&waker));
            }
        }
    }
    let again = Arc::new(Again(AtomicUsize::new(0)));
    let woken = || again.0.load(Ordering::Relaxed);
    let rt = tress::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    rt.block_on(async {
        again.clone().wake();
        for round in 1..10 {
            assert_eq!(woken(), round);
            tress::task::yield_now().await;
        }
    });
}
