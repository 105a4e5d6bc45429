//! Behaviour, each limit at its edge, and the races by name. Nothing here waits for time to pass:
//! a test waits for an event, and hangs if it does not come.

use super::*;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Barrier, Mutex as StdMutex};
use std::thread::{ThreadId, current, spawn, yield_now};

const LONG: Duration = Duration::from_secs(3600);

/// Under Miri, a few repetitions have to do.
const fn few_if_slow(n: usize) -> usize {
    if cfg!(miri) { n / 100 + 2 } else { n }
}

/// A job of closures.
struct Work {
    run: Box<dyn FnOnce() + Send>,
    cancel: Box<dyn FnOnce() + Send>,
    mandatory: bool,
}

impl Job for Work {
    fn run(self) {
        (self.run)();
    }

    fn cancel(self) {
        (self.cancel)();
    }

    fn is_mandatory(&self) -> bool {
        self.mandatory
    }
}

/// A job that must not be cancelled.
fn work(run: impl FnOnce() + Send + 'static) -> Work {
    work_or(run, || panic!("cancelled"))
}

fn work_or(run: impl FnOnce() + Send + 'static, cancel: impl FnOnce() + Send + 'static) -> Work {
    Work {
        run: Box::new(run),
        cancel: Box::new(cancel),
        mandatory: false,
    }
}

fn mandatory(run: impl FnOnce() + Send + 'static) -> Work {
    Work {
        mandatory: true,
        ..work(run)
    }
}

fn pool(change: impl FnOnce(&mut Config)) -> StdArc<Pool<Work>> {
    // Without spinning and without keep-alive unless the test is about them.
    let mut config = Config {
        spin: Duration::ZERO,
        keep_alive: LONG,
        ..Config::default()
    };
    change(&mut config);
    StdArc::new(Pool::new(config))
}

/// For states that no event announces.
fn until(condition: impl Fn() -> bool) {
    while !condition() {
        yield_now();
    }
}

/// Runs a job and waits for it.
fn run_one(pool: &Pool<Work>) -> ThreadId {
    let (tell, told) = channel();
    pool.spawn(work(move || tell.send(current().id()).unwrap()))
        .unwrap();
    told.recv().unwrap()
}

/// A job that has begun and stays until it is released.
struct Held {
    release: Sender<()>,
    ended: Receiver<()>,
}

impl Held {
    fn on(pool: &Pool<Work>) -> Held {
        let (began, beginning) = channel();
        let (release, released) = channel();
        let (end, ended) = channel();
        pool.spawn(work(move || {
            began.send(()).unwrap();
            released.recv().unwrap();
            end.send(()).unwrap();
        }))
        .unwrap();
        beginning.recv().unwrap();
        Held { release, ended }
    }

    fn release(self) {
        self.release.send(()).unwrap();
        self.ended.recv().unwrap();
    }
}

fn refused() -> io::Error {
    io::Error::from(io::ErrorKind::WouldBlock)
}

/// Threads of this process with this name, which Linux cuts to 15 bytes.
#[cfg(all(target_os = "linux", not(miri)))]
fn threads_named(name: &str) -> usize {
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .filter(|comm| comm.trim_end() == name)
        .count()
}

#[test]
fn starts_no_thread_before_the_first_job_and_one_for_it() {
    let pool = pool(|_| {});
    assert_eq!(pool.metrics().threads, 0);
    run_one(&pool);
    until(|| pool.metrics().idle == 1);
    let metrics = pool.metrics();
    assert_eq!(metrics.threads, 1);
    assert_eq!(metrics.peak_threads, 1);
    assert_eq!(metrics.queued, 0);
    assert_eq!(metrics.start_failures, 0);
}

#[test]
fn jobs_that_wait_for_each_other_all_get_a_thread() {
    const JOBS: usize = few_if_slow(64);
    let pool = pool(|c| c.max_threads = JOBS);
    // A second time with the threads parked instead of new.
    for _ in 0..2 {
        let barrier = StdArc::new(Barrier::new(JOBS));
        let (tell, told) = channel();
        for _ in 0..JOBS {
            let (barrier, tell) = (barrier.clone(), tell.clone());
            pool.spawn(work(move || {
                barrier.wait();
                tell.send(()).unwrap();
            }))
            .unwrap();
        }
        assert_eq!(told.iter().take(JOBS).count(), JOBS);
        assert_eq!(pool.metrics().peak_threads, JOBS);
        until(|| pool.metrics().idle == JOBS);
    }
}

#[test]
fn the_limit_holds_when_there_are_more_jobs() {
    const JOBS: usize = few_if_slow(200);
    for max in [1, 3] {
        let pool = pool(|c| c.max_threads = max);
        let running = StdArc::new((Gauge::new(0), Gauge::new(0)));
        let (tell, told) = channel();
        for _ in 0..JOBS {
            let (running, tell) = (running.clone(), tell.clone());
            pool.spawn(work(move || {
                let now = running.0.fetch_add(1, Ordering::SeqCst) + 1;
                running.1.fetch_max(now, Ordering::SeqCst);
                yield_now();
                running.0.fetch_sub(1, Ordering::SeqCst);
                tell.send(()).unwrap();
            }))
            .unwrap();
        }
        assert_eq!(told.iter().take(JOBS).count(), JOBS);
        assert!(running.1.load(Ordering::SeqCst) <= max);
        assert!(pool.metrics().peak_threads <= max);
    }
}

#[test]
#[should_panic(expected = "at least one thread")]
fn no_threads_is_no_pool() {
    pool(|c| c.max_threads = 0);
}

#[test]
fn one_thread_runs_jobs_in_order() {
    let pool = pool(|c| c.max_threads = 1);
    let (tell, told) = channel();
    for i in 0..100 {
        let tell = tell.clone();
        pool.spawn(work(move || tell.send(i).unwrap())).unwrap();
    }
    assert!(told.iter().take(100).eq(0..100));
}

#[test]
fn the_bound_counts_jobs_beyond_the_threads() {
    for (max, bound) in [(1, 0), (1, 1), (2, 5), (3, 0)] {
        let pool = pool(|c| {
            c.max_threads = max;
            c.queue_bound = Some(bound);
        });
        let (go, gone) = channel();
        let gate = StdArc::new(StdMutex::new(gone));
        let (tell, told) = channel();
        let blocked = || {
            let (gate, tell) = (gate.clone(), tell.clone());
            work(move || {
                gate.lock().unwrap().recv().unwrap();
                tell.send(()).unwrap();
            })
        };
        for _ in 0..max + bound {
            pool.spawn(blocked()).unwrap();
        }
        let refused = pool.spawn(blocked()).unwrap_err();
        assert!(matches!(refused, SpawnError::Full(_)));
        assert!(refused.to_string().contains("queue bound"));
        drop(refused.into_job());
        for _ in 0..max + bound {
            go.send(()).unwrap();
            told.recv().unwrap();
        }
        // With everybody idle there is room again.
        until(|| pool.metrics().idle == pool.metrics().threads);
        pool.spawn(blocked()).unwrap();
        go.send(()).unwrap();
        told.recv().unwrap();
        assert_eq!(pool.shutdown(None).still_running, 0);
    }
}

#[test]
fn idle_threads_end_and_others_take_their_place() {
    for keep_alive in [Duration::ZERO, Duration::from_micros(50)] {
        let pool = pool(|c| {
            c.max_threads = 2;
            c.keep_alive = keep_alive;
        });
        for _ in 0..few_if_slow(50) {
            let (a, b) = (Held::on(&pool), Held::on(&pool));
            a.release();
            b.release();
            until(|| pool.metrics().threads == 0);
            until(|| pool.inner.lock().slots.is_empty());
        }
        assert_eq!(pool.metrics().peak_threads, 2);
        assert_eq!(pool.shutdown(None).still_running, 0);
    }
}

#[test]
fn the_thread_that_parked_last_is_woken_first() {
    let pool = pool(|_| {});
    let held: Vec<Held> = (0..3).map(|_| Held::on(&pool)).collect();
    for (n, held) in held.into_iter().enumerate() {
        held.release();
        until(|| pool.metrics().idle == n + 1);
    }
    let latest = pool.inner.lock().parked.last().unwrap().id;
    let first = run_one(&pool);
    for _ in 0..20 {
        until(|| pool.metrics().idle == 3);
        assert_eq!(pool.inner.lock().parked.last().unwrap().id, latest);
        assert_eq!(run_one(&pool), first);
    }
}

#[test]
fn a_spinner_needs_no_wake_up_and_no_second_thread() {
    let pool = pool(|c| c.spin = LONG);
    let first = run_one(&pool);
    for _ in 0..few_if_slow(1_000) {
        until(|| pool.inner.lock().spinning);
        assert_eq!(run_one(&pool), first);
    }
    assert_eq!(pool.metrics().peak_threads, 1);
    until(|| pool.metrics().idle == 1);
    // It sees the end although it has no timeout to speak of.
    assert_eq!(pool.shutdown(None).still_running, 0);
}

#[test]
fn one_thread_spins_and_the_others_park() {
    let pool = pool(|c| c.spin = LONG);
    let held: Vec<Held> = (0..4).map(|_| Held::on(&pool)).collect();
    held.into_iter().for_each(Held::release);
    until(|| pool.metrics().idle == 4);
    let state = pool.inner.lock();
    assert!(state.spinning);
    assert_eq!(state.parked.len(), 3);
}

#[test]
fn a_panicking_job_costs_no_thread() {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("in the destructor of the payload");
        }
    }
    let pool = pool(|c| c.max_threads = 1);
    let thread = run_one(&pool);
    pool.spawn(work(|| panic!("in a job"))).unwrap();
    pool.spawn(work(|| std::panic::panic_any(PanicsOnDrop)))
        .unwrap();
    assert_eq!(run_one(&pool), thread);
    assert_eq!(pool.shutdown(None).still_running, 0);
}

#[test]
fn hooks_run_around_each_thread() {
    let events = StdArc::new(StdMutex::new(Vec::new()));
    let note = |event: &'static str| {
        let events = events.clone();
        move || events.lock().unwrap().push(event)
    };
    let pool = pool(|c| {
        c.max_threads = 1;
        c.on_start = Some(StdArc::new(note("start")));
        c.on_stop = Some(StdArc::new(note("stop")));
    });
    pool.spawn(work(note("run"))).unwrap();
    run_one(&pool);
    assert_eq!(pool.shutdown(None).still_running, 0);
    assert_eq!(*events.lock().unwrap(), ["start", "run", "stop"]);
}

#[test]
fn panicking_hooks_cost_no_job_and_no_thread() {
    let pool = pool(|c| {
        c.max_threads = 2;
        c.on_start = Some(StdArc::new(|| panic!("on start")));
        c.on_stop = Some(StdArc::new(|| panic!("on stop")));
    });
    let (a, b) = (Held::on(&pool), Held::on(&pool));
    a.release();
    run_one(&pool);
    b.release();
    until(|| pool.metrics().idle == 2);
    assert_eq!(pool.shutdown(None).still_running, 0);
    assert_eq!(pool.metrics().threads, 0);
}

#[test]
fn a_bad_name_is_an_error_and_not_a_panic() {
    let names: [fn() -> String; 2] = [|| panic!("naming"), || "a\0b".to_owned()];
    for name in names {
        let pool = pool(|c| c.name = StdArc::new(name));
        let error = pool.spawn(work(|| ())).unwrap_err();
        assert!(matches!(error, SpawnError::NoThread(..)), "{error:?}");
        assert!(error.to_string().contains("NUL"), "{error}");
        assert_eq!(pool.metrics().start_failures, 1);
        assert_eq!(pool.shutdown(None).still_running, 0);
    }
}

#[test]
#[cfg_attr(miri, ignore = "interprets a loop over megabytes")]
fn names_and_stack_sizes_arrive() {
    let pool = pool(|c| {
        let count = Gauge::new(0);
        c.name = StdArc::new(move || format!("n{}", count.fetch_add(1, Ordering::Relaxed)));
        c.stack_size = Some(16 << 20);
    });
    let (tell, told) = channel();
    pool.spawn(work(move || {
        // Deeper than the usual 2 MiB, and without optimisation there is a copy of it.
        let deep = std::hint::black_box([1_u8; 4 << 20]);
        let sum: usize = deep.iter().map(|&b| usize::from(b)).sum();
        tell.send((current().name().map(str::to_owned), sum))
            .unwrap();
    }))
    .unwrap();
    assert_eq!(told.recv().unwrap(), (Some("n0".to_owned()), 4 << 20));
}

#[test]
fn shutdown_of_an_unused_pool() {
    let pool = pool(|_| {});
    let done = Shutdown {
        still_running: 0,
        cancelled: 0,
    };
    assert_eq!(pool.shutdown(None), done);
    assert_eq!(pool.shutdown(Some(Duration::ZERO)), done);
    let error = pool.spawn(work(|| ())).unwrap_err();
    assert!(matches!(error, SpawnError::ShutDown(_)));
    assert!(error.to_string().contains("shutting down"));
}

#[test]
fn shutdown_cancels_what_is_queued_and_runs_what_is_mandatory() {
    let pool = pool(|c| c.max_threads = 1);
    let held = Held::on(&pool);
    let (tell, told) = channel();
    for i in 0..6 {
        let (run, cancel) = (tell.clone(), tell.clone());
        let run = move || run.send((i, "run")).unwrap();
        let cancel = move || cancel.send((i, "cancel")).unwrap();
        pool.spawn(Work {
            mandatory: i % 3 == 1,
            ..work_or(run, cancel)
        })
        .unwrap();
    }
    drop(tell);
    let first = pool.shutdown(Some(Duration::ZERO));
    assert_eq!((first.still_running, first.cancelled), (1, 4));
    held.release();
    let second = pool.shutdown(None);
    assert_eq!((second.still_running, second.cancelled), (0, 0));
    let mut events: Vec<_> = told.iter().collect();
    events.sort_unstable();
    let kind = |i| if i % 3 == 1 { "run" } else { "cancel" };
    assert!(events.into_iter().eq((0..6).map(|i| (i, kind(i)))));
}

#[test]
fn shutdown_runs_what_need_not_wait_for_another_to_end() {
    for idle in 0..3 {
        let pool = pool(|c| c.max_threads = 3);
        // This many threads park before the next jobs come, and the others are yet to be started.
        let held: Vec<_> = (0..idle).map(|_| Held::on(&pool)).collect();
        held.into_iter().for_each(Held::release);
        until(|| pool.metrics().idle == idle);
        let (tell, told) = channel();
        for i in 0..3 {
            let tell = tell.clone();
            pool.spawn(work(move || tell.send(i).unwrap())).unwrap();
        }
        drop(tell);
        let done = pool.shutdown(None);
        assert_eq!((done.still_running, done.cancelled), (0, 0));
        assert_eq!(told.iter().count(), 3);
    }
}

#[test]
fn mandatory_jobs_that_wait_for_each_other_end_after_shutdown() {
    let pool = pool(|c| c.max_threads = 9);
    let held = Held::on(&pool);
    // Eight jobs that are certain to be queued, because the thread for them is slow to start.
    let (go, gone) = channel();
    pool.inject_start_fault(move || gone.recv().err().map(|_| refused()));
    let barrier = StdArc::new(Barrier::new(8));
    let (tell, told) = channel();
    let pusher = spawn({
        let (pool, barrier) = (pool.clone(), barrier.clone());
        move || {
            for _ in 0..8 {
                let (barrier, tell) = (barrier.clone(), tell.clone());
                pool.spawn(mandatory(move || {
                    barrier.wait();
                    tell.send(()).unwrap();
                }))
                .unwrap();
            }
        }
    });
    until(|| pool.metrics().queued == 1);
    go.send(()).unwrap();
    // From here on each start is let through, in the order of the chain.
    for _ in 0..7 {
        go.send(()).unwrap();
    }
    pusher.join().unwrap();
    assert!(pool.shutdown(Some(Duration::ZERO)).still_running >= 1);
    assert_eq!(told.iter().take(8).count(), 8);
    held.release();
    assert_eq!(pool.shutdown(None).still_running, 0);
}

#[test]
fn shutdown_reports_a_job_that_does_not_end() {
    let pool = pool(|c| c.max_threads = 1);
    run_one(&pool);
    let held = Held::on(&pool);
    let timeouts = [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_millis(2),
    ];
    for timeout in timeouts {
        assert_eq!(pool.shutdown(Some(timeout)).still_running, 1);
    }
    held.release();
    assert_eq!(pool.shutdown(Some(Duration::MAX)).still_running, 0);
}

#[test]
fn a_panicking_cancellation_does_not_spare_the_others() {
    let pool = pool(|c| c.max_threads = 1);
    let held = Held::on(&pool);
    let (tell, told) = channel();
    for i in 0..4 {
        let tell = tell.clone();
        let cancel = move || {
            tell.send(i).unwrap();
            panic!("in cancel");
        };
        pool.spawn(work_or(|| (), cancel)).unwrap();
    }
    assert_eq!(pool.shutdown(Some(Duration::ZERO)).cancelled, 4);
    assert!(told.try_iter().eq(0..4));
    held.release();
    assert_eq!(pool.shutdown(None).still_running, 0);
}

#[test]
fn shutdown_from_a_job_waits_for_the_others_only() {
    let pool = pool(|_| {});
    let held = Held::on(&pool);
    let (tell, told) = channel();
    let own = pool.clone();
    pool.spawn(work(move || {
        let soon = own.shutdown(Some(Duration::ZERO));
        tell.send(soon).unwrap();
        tell.send(own.shutdown(None)).unwrap();
    }))
    .unwrap();
    assert_eq!(told.recv().unwrap().still_running, 1);
    held.release();
    assert_eq!(told.recv().unwrap().still_running, 0);
    assert_eq!(pool.shutdown(None).still_running, 0);
}

#[test]
fn shutdown_from_several_jobs_at_once_ends() {
    let pool = pool(|_| {});
    let barrier = StdArc::new(Barrier::new(4));
    let (tell, told) = channel();
    for _ in 0..4 {
        let (own, barrier, tell) = (pool.clone(), barrier.clone(), tell.clone());
        pool.spawn(work(move || {
            barrier.wait();
            let done = own.shutdown(None);
            // None leaves before all have returned: it would be one fewer to wait for.
            barrier.wait();
            tell.send(done.still_running).unwrap();
        }))
        .unwrap();
    }
    drop(tell);
    assert!(told.iter().eq([0; 4]));
    assert_eq!(pool.shutdown(None).still_running, 0);
}

#[test]
fn a_job_may_drop_the_last_of_the_pool() {
    let pool = pool(|_| {});
    let (tell, told) = channel();
    let (go, gone) = channel();
    let own = pool.clone();
    pool.spawn(work(move || {
        gone.recv().unwrap();
        drop(own);
        tell.send(()).unwrap();
    }))
    .unwrap();
    drop(pool);
    go.send(()).unwrap();
    told.recv().unwrap();
}

#[test]
fn concurrent_shutdowns_all_wait() {
    let pool = pool(|_| {});
    let held: Vec<Held> = (0..3).map(|_| Held::on(&pool)).collect();
    let closers: Vec<_> = (0..3)
        .map(|_| {
            let pool = pool.clone();
            spawn(move || pool.shutdown(None))
        })
        .collect();
    until(|| pool.inner.lock().closers.len() == 3);
    held.into_iter().for_each(Held::release);
    for closer in closers {
        assert_eq!(closer.join().unwrap().still_running, 0);
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn no_thread_is_left_after_shutdown() {
    let pool = pool(|c| {
        c.max_threads = 20;
        c.name = StdArc::new(|| "tress-left-over".to_owned());
    });
    let held: Vec<Held> = (0..20).map(|_| Held::on(&pool)).collect();
    assert_eq!(threads_named("tress-left-over"), 20);
    held.into_iter().for_each(Held::release);
    assert_eq!(pool.shutdown(None).still_running, 0);
    // A joined thread may be listed until the kernel has cleared it away.
    until(|| threads_named("tress-left-over") == 0);
    assert!(pool.inner.lock().ended.is_none());
}

#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn no_thread_is_left_after_a_drop() {
    let pool = pool(|c| c.name = StdArc::new(|| "tress-dropped".to_owned()));
    let held: Vec<Held> = (0..4).map(|_| Held::on(&pool)).collect();
    drop(pool);
    held.into_iter().for_each(Held::release);
    until(|| threads_named("tress-dropped") == 0);
}

#[test]
fn without_any_thread_a_failed_start_returns_the_job() {
    let pool = pool(|_| {});
    pool.inject_start_fault(|| Some(refused()));
    for n in 1..=3 {
        let error = pool.spawn(work(|| ())).unwrap_err();
        assert!(error.to_string().contains("ulimit -u"));
        let SpawnError::NoThread(_, cause) = error else {
            panic!("{error:?}");
        };
        assert_eq!(cause.kind(), io::ErrorKind::WouldBlock);
        let metrics = pool.metrics();
        assert_eq!((metrics.queued, metrics.threads), (0, 0));
        assert_eq!(metrics.start_failures, n);
        assert_eq!(metrics.peak_threads, 0);
    }
    pool.inject_start_fault(|| None);
    run_one(&pool);
    assert_eq!(pool.shutdown(None).still_running, 0);
}

#[test]
fn with_a_thread_alive_a_failed_start_keeps_the_job() {
    let pool = pool(|_| {});
    let held = Held::on(&pool);
    pool.inject_start_fault(|| Some(refused()));
    let (tell, told) = channel();
    for i in 0..10 {
        let tell = tell.clone();
        pool.spawn(work(move || tell.send(i).unwrap())).unwrap();
    }
    let metrics = pool.metrics();
    assert_eq!((metrics.queued, metrics.threads), (10, 1));
    assert!(metrics.start_failures >= 1);
    held.release();
    assert!(told.iter().take(10).eq(0..10));
    assert_eq!(pool.metrics().peak_threads, 1);
    assert_eq!(pool.shutdown(None).still_running, 0);
}

/// A fault hook that reports each start and waits for the verdict on it.
fn controlled_starts(pool: &Pool<Work>) -> (Receiver<()>, Sender<Option<io::Error>>) {
    let (asked, asking) = channel();
    let (decide, decision) = channel();
    pool.inject_start_fault(move || {
        asked.send(()).unwrap();
        decision.recv().unwrap_or(None)
    });
    (asking, decide)
}

#[test]
fn a_push_against_the_first_start_gets_its_own_answer() {
    for second_fails in [false, true] {
        let pool = pool(|c| c.max_threads = 1);
        let (asking, decide) = controlled_starts(&pool);
        let (tell, told) = channel();
        let push = || {
            let (pool, tell) = (pool.clone(), tell.clone());
            spawn(move || pool.spawn(work(move || tell.send(()).unwrap())).is_ok())
        };
        let first = push();
        asking.recv().unwrap();
        let second = push();
        until(|| pool.inner.lock().undecided.len() == 1);
        decide.send(Some(refused())).unwrap();
        assert!(!first.join().unwrap());
        asking.recv().unwrap();
        decide.send(second_fails.then(refused)).unwrap();
        assert_eq!(second.join().unwrap(), !second_fails);
        if !second_fails {
            told.recv().unwrap();
        }
        let metrics = pool.metrics();
        assert_eq!(metrics.threads, usize::from(!second_fails));
        assert_eq!(metrics.queued, 0);
    }
}

#[test]
fn a_failed_start_wakes_who_parked_meanwhile() {
    let pool = pool(|_| {});
    let held = Held::on(&pool);
    let (asking, decide) = controlled_starts(&pool);
    let (tell, told) = channel();
    let push = || {
        let (pool, tell) = (pool.clone(), tell.clone());
        move || pool.spawn(work(move || tell.send(()).unwrap())).unwrap()
    };
    let starter = spawn(push());
    asking.recv().unwrap();
    // The first thread takes the job and parks; the next push relies on the one that is coming.
    held.release();
    told.recv().unwrap();
    until(|| pool.metrics().idle == 1);
    push()();
    assert_eq!(pool.metrics().queued, 1);
    decide.send(Some(refused())).unwrap();
    starter.join().unwrap();
    told.recv().unwrap();
    assert_eq!(pool.shutdown(None).still_running, 0);
}

#[test]
fn a_thread_on_its_way_is_the_only_one_until_it_arrives() {
    let pool = pool(|c| c.max_threads = 4);
    let held = Held::on(&pool);
    let (asking, decide) = controlled_starts(&pool);
    let gate = StdArc::new(Barrier::new(4));
    let push = || {
        let (pool, gate) = (pool.clone(), gate.clone());
        let job = move || {
            gate.wait();
        };
        move || pool.spawn(work(job)).unwrap()
    };
    let starter = spawn(push());
    asking.recv().unwrap();
    push()();
    push()();
    assert!(asking.try_recv().is_err(), "one start at a time");
    // Now the chain: each thread that arrives asks for the next.
    decide.send(None).unwrap();
    asking.recv().unwrap();
    assert!(asking.try_recv().is_err());
    decide.send(None).unwrap();
    asking.recv().unwrap();
    decide.send(None).unwrap();
    gate.wait();
    starter.join().unwrap();
    held.release();
    assert_eq!(pool.metrics().peak_threads, 4);
    assert_eq!(pool.shutdown(None).still_running, 0);
}

#[test]
fn shutdown_waits_for_a_start_under_way() {
    for fails in [false, true] {
        let pool = pool(|_| {});
        let (asking, decide) = controlled_starts(&pool);
        let (tell, told) = channel();
        let starter = spawn({
            let pool = pool.clone();
            move || pool.spawn(work(move || tell.send(()).unwrap())).is_ok()
        });
        asking.recv().unwrap();
        let first = pool.shutdown(Some(Duration::ZERO));
        assert_eq!((first.still_running, first.cancelled), (1, 0));
        decide.send(fails.then(refused)).unwrap();
        // The job is run by the thread it had, or given back for want of one.
        assert_eq!(starter.join().unwrap(), !fails);
        assert_eq!(pool.shutdown(None).still_running, 0);
        assert_eq!(told.recv().is_ok(), !fails);
    }
}

/// A generator of our own, so that a seed means the same run for ever.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % n
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

#[derive(Default)]
struct Fate {
    accepted: AtomicBool,
    mandatory: AtomicBool,
    run: Gauge,
    cancelled: Gauge,
}

#[test]
fn every_accepted_job_is_run_or_cancelled_exactly_once() {
    let seed = std::env::var("TRESS_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let seed = seed.unwrap_or_else(|| crate::sys::SeedGenerator::entropy() | 1);
    println!("TRESS_SEED={seed}");
    let mut random = Xorshift(seed);
    let (rounds, spawners, jobs) = (few_if_slow(150), 3, few_if_slow(300));
    for _ in 0..rounds {
        let pool = pool(|c| {
            c.max_threads = random.one_of(&[1, 2, 3, 16]);
            c.keep_alive = random.one_of(&[Duration::ZERO, Duration::from_micros(30), LONG]);
            c.spin = random.one_of(&[Duration::ZERO, Duration::from_micros(50)]);
            c.queue_bound = random.one_of(&[None, None, Some(0), Some(7)]);
        });
        let mut faults = Xorshift(random.below(u64::MAX) | 1);
        let one_in = random.one_of(&[2, 8, u64::MAX]);
        pool.inject_start_fault(move || (faults.below(one_in) == 0).then(refused));
        let fates: StdArc<Vec<Fate>> =
            StdArc::new((0..spawners * jobs).map(|_| Fate::default()).collect());
        let attempts = StdArc::new(Gauge::new(0));
        let spawners: Vec<_> = (0..spawners)
            .map(|s| {
                let mut random = Xorshift(random.below(u64::MAX) | 1);
                let (pool, fates, attempts) = (pool.clone(), fates.clone(), attempts.clone());
                spawn(move || {
                    for i in s * jobs..(s + 1) * jobs {
                        let (running, ended) = (fates.clone(), fates.clone());
                        let length = random.one_of(&[0, 0, 10, 1_000, 20_000]);
                        let mandatory = random.below(4) == 0;
                        fates[i].mandatory.store(mandatory, Ordering::Relaxed);
                        let result = pool.spawn(Work {
                            run: Box::new(move || {
                                running[i].run.fetch_add(1, Ordering::Relaxed);
                                for _ in 0..length {
                                    std::hint::spin_loop();
                                }
                            }),
                            cancel: Box::new(move || {
                                ended[i].cancelled.fetch_add(1, Ordering::Relaxed);
                            }),
                            mandatory,
                        });
                        fates[i].accepted.store(result.is_ok(), Ordering::Relaxed);
                        attempts.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let moment = random.below((fates.len() + 1) as u64) as usize;
        until(|| attempts.load(Ordering::Relaxed) >= moment);
        let mut cancelled = 0;
        if random.below(2) == 0 {
            cancelled += pool.shutdown(Some(Duration::ZERO)).cancelled;
        }
        let end = pool.shutdown(None);
        assert_eq!(end.still_running, 0);
        cancelled += end.cancelled;
        let metrics = pool.metrics();
        assert_eq!((metrics.threads, metrics.idle, metrics.queued), (0, 0, 0));
        for spawner in spawners {
            spawner.join().unwrap();
        }
        let mut seen = 0;
        for fate in fates.iter() {
            let run = fate.run.load(Ordering::Relaxed);
            let dropped = fate.cancelled.load(Ordering::Relaxed);
            let accepted = fate.accepted.load(Ordering::Relaxed);
            assert_eq!(run + dropped, usize::from(accepted), "seed {seed}");
            assert!(!fate.mandatory.load(Ordering::Relaxed) || dropped == 0);
            seen += dropped;
        }
        assert_eq!(seen, cancelled, "seed {seed}");
    }
}
