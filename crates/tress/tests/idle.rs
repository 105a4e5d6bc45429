//! A runtime with nothing to do does nothing: no thread of it is scheduled, and none exists before
//! it is needed. Reads `/proc`, hence Linux.
#![cfg(all(target_os = "linux", not(miri)))]

use std::collections::BTreeMap;
use std::fs;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};
use tress::runtime::{Builder, Runtime};
use tress::task::{block_in_place, spawn_blocking, yield_now};
use tress::time::{Sleep, sleep, timeout};

/// How long an idle runtime is watched.
const WATCH: Duration = Duration::from_secs(2);

/// The monitors of two runtimes have the same name: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    until(|| threads(&["tress-monitor"]).is_empty());
    guard
}

/// For states that no event announces.
#[track_caller]
fn until(condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "it never came to that"
        );
        thread::yield_now();
    }
}

/// What the kernel counts for a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Account {
    name: String,
    /// Times it went to sleep.
    voluntary: u64,
    /// CPU time in clock ticks.
    ticks: u64,
}

/// The threads of this process that have one of the names, by their id.
fn threads(names: &[&str]) -> BTreeMap<u32, Account> {
    let entries = fs::read_dir("/proc/self/task").unwrap();
    entries
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            let tid = path.file_name()?.to_str()?.parse().ok()?;
            // A thread may end between two reads.
            let status = fs::read_to_string(path.join("status")).ok()?;
            let stat = fs::read_to_string(path.join("stat")).ok()?;
            let field = |key: &str| {
                let line = status.lines().find(|line| line.starts_with(key))?;
                Some(line.split(':').nth(1)?.trim().to_owned())
            };
            let name = field("Name:")?;
            if !names.contains(&name.as_str()) {
                return None;
            }
            // The name in parentheses may contain blanks; utime and stime are fields 14 and 15.
            let numbers: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
            let ticks = numbers[11].parse::<u64>().ok()? + numbers[12].parse::<u64>().ok()?;
            let voluntary = field("voluntary_ctxt_switches:")?.parse().ok()?;
            let account = Account {
                name,
                voluntary,
                ticks,
            };
            Some((tid, account))
        })
        .collect()
}

/// Waits until the threads rest, then watches them: none may be scheduled once.
#[track_caller]
fn assert_idle(names: &[&str], expected_threads: usize) {
    let begin = Instant::now();
    let mut before = threads(names);
    loop {
        // Longer than the monitor's period, the spin window and the tests' keep-alive.
        thread::sleep(Duration::from_millis(60));
        let now = threads(names);
        let same =
            now.len() == before.len() && now.iter().all(|(tid, a)| before.get(tid) == Some(a));
        if same {
            break;
        }
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "never comes to rest: {before:#?}\n{now:#?}"
        );
        before = now;
    }
    assert_eq!(before.len(), expected_threads, "{before:#?}");
    thread::sleep(WATCH);
    let after = threads(names);
    assert_eq!(before, after, "was scheduled while idle");
}

fn runtime(workers: usize, name: &str) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_name(name)
        .thread_keep_alive(Duration::from_millis(10))
        .enable_all()
        .build()
        .unwrap()
}

/// A bit of everything, from inside and from outside.
fn use_it(rt: &Runtime) {
    rt.block_on(async {
        let tasks: Vec<_> = (0..200u32)
            .map(|i| {
                tress::spawn(async move {
                    yield_now().await;
                    match i % 5 {
                        0 => sleep(Duration::from_millis(u64::from(i % 7))).await,
                        1 => spawn_blocking(|| ()).await.unwrap(),
                        2 => block_in_place(|| ()),
                        3 => assert!(
                            timeout(Duration::from_millis(2), pending::<()>())
                                .await
                                .is_err()
                        ),
                        _ => tress::spawn(yield_now()).await.unwrap(),
                    }
                })
            })
            .collect();
        // Armed on a worker's wheel by a thread that is none.
        for i in 0..20 {
            sleep(Duration::from_micros(200 * i)).await;
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn used_multi_thread_runtime_comes_to_rest() {
    let _alone = alone();
    for round in 0..3 {
        let name = format!("idle-used-{round}");
        let rt = runtime(2, &name);
        use_it(&rt);
        // Two workers and the monitor; blocking threads have left. A spare thread of
        // `block_in_place` may stay: one per worker.
        until(|| rt.metrics().num_blocking_threads() == 0);
        let spares = threads(&[&name]).len().saturating_sub(2);
        assert!(spares <= 2, "{spares} spares");
        assert_idle(&[&name, "tress-monitor"], 3 + spares);
    }
}

/// A wake-up for a worker that was awake anyway leaves a token behind. It may cost a round, but must
/// not keep the worker from sleeping.
#[test]
fn a_left_over_token_does_not_keep_a_worker_awake() {
    let _alone = alone();
    let rt = runtime(1, "idle-token");
    for _ in 0..20 {
        let (tell, told) = channel();
        let (go, gone) = channel::<()>();
        rt.spawn(async move {
            tell.send(()).unwrap();
            gone.recv().unwrap();
            tell.send(()).unwrap();
        });
        told.recv().unwrap();
        // The only worker is in a poll, so the timer's token finds it awake.
        poll_once(&rt, sleep_in(&rt, Duration::from_millis(1)));
        go.send(()).unwrap();
        // Not by `block_on`: a spinning thread more would keep the worker from spinning.
        told.recv().unwrap();
    }
    assert_idle(&["idle-token", "tress-monitor"], 2);
}

fn sleep_in(rt: &Runtime, duration: Duration) -> Sleep {
    let _entered = rt.enter();
    sleep(duration)
}

/// Polls a future once on this thread and drops it.
fn poll_once(rt: &Runtime, future: impl Future<Output = ()>) {
    let _entered = rt.enter();
    let mut cx = Context::from_waker(Waker::noop());
    let _ = pin!(future).poll(&mut cx);
}

#[test]
fn a_timer_in_the_far_future_wakes_nobody_until_then() {
    let _alone = alone();
    let rt = runtime(2, "idle-far");
    for hours in 1..20 {
        rt.spawn(sleep_in(&rt, Duration::from_secs(3600 * hours)));
    }
    rt.block_on(rt.spawn(yield_now())).unwrap();
    until(|| threads(&["tress-monitor"]).len() == 1);
    assert_idle(
        &["idle-far", "tress-monitor"],
        threads(&["idle-far"]).len() + 1,
    );
}

#[test]
fn an_idle_current_thread_runtime_rests() {
    let _alone = alone();
    let (tell, told) = channel();
    let thread = thread::Builder::new()
        .name("idle-current".into())
        .spawn(move || {
            let rt = Builder::new_current_thread().enable_all().build().unwrap();
            let ended = rt.block_on(async move {
                let waiting = tress::spawn(pending::<()>());
                tress::spawn(sleep(Duration::from_millis(1))).await.unwrap();
                tell.send(waiting.abort_handle()).unwrap();
                waiting.await
            });
            assert!(ended.unwrap_err().is_cancelled());
        })
        .unwrap();
    let waiting = told.recv().unwrap();
    assert_idle(&["idle-current"], 1);
    waiting.abort();
    thread.join().unwrap();
}

#[test]
fn no_thread_before_the_first_task() {
    let _alone = alone();
    let name = "idle-lazy";
    let rt = runtime(4, name);
    assert_eq!(
        threads(&[name, "tress-monitor"]).len(),
        0,
        "building starts nothing"
    );
    assert_eq!(rt.block_on(async { 1 }), 1);
    assert_eq!(
        threads(&[name, "tress-monitor"]).len(),
        0,
        "`block_on` needs none"
    );

    rt.block_on(rt.spawn(async {})).unwrap();
    until(|| threads(&["tress-monitor"]).len() == 1);
    let workers = threads(&[name]).len();
    assert!((1..=2).contains(&workers), "one task, {workers} threads");

    // The others come when there is work for them all.
    let barrier = Arc::new(Barrier::new(4));
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let barrier = barrier.clone();
            rt.spawn(async move {
                barrier.wait();
            })
        })
        .collect();
    for task in tasks {
        rt.block_on(task).unwrap();
    }
    // A thread has its creator's name until it sets its own.
    until(|| threads(&[name]).len() == 4 && threads(&["tress-monitor"]).len() == 1);
}

/// What a park hook makes ready runs before the worker sleeps.
#[test]
fn a_task_woken_by_the_park_hook_is_not_forgotten() {
    let _alone = alone();
    for workers in [1, 2] {
        let waiting: Arc<Mutex<Option<Waker>>> = Arc::default();
        let hook = waiting.clone();
        let rt = Builder::new_multi_thread()
            .worker_threads(workers)
            .on_thread_park(move || {
                let waker = hook.lock().unwrap().take();
                if let Some(waker) = waker {
                    waker.wake();
                }
            })
            .build()
            .unwrap();
        let (tell, told) = channel();
        for _ in 0..50 {
            let (waiting, tell) = (waiting.clone(), tell.clone());
            let mut polls = 0;
            rt.spawn(poll_fn(move |cx| {
                polls += 1;
                if polls == 1 {
                    *waiting.lock().unwrap() = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                tell.send(()).unwrap();
                Poll::Ready(())
            }));
            told.recv_timeout(Duration::from_secs(10))
                .expect("the woken task never ran");
        }
    }
}
