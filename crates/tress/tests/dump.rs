//! Dumps of runtimes in every condition, wedged ones above all.

#![cfg(not(loom))]

use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;
use tress::runtime::{Builder, Handle, Runtime, Samples};
use tress::task;
use tress::trace::Section;

fn dump(handle: &Handle) -> String {
    let mut text = Vec::new();
    handle.debug_dump(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The line about the task of that name.
fn line(dump: &str, name: &str) -> String {
    let of = |line: &&str| line.contains(&format!(" {name:?}:"));
    let mut lines = dump.lines().filter(of);
    let line = lines
        .next()
        .unwrap_or_else(|| panic!("{name} is not in\n{dump}"));
    assert_eq!(lines.next(), None, "once only");
    line.to_owned()
}

/// Looks until the dump says so.
fn until(handle: &Handle, name: &str, says: &str) -> String {
    loop {
        let dump = dump(handle);
        if dump.contains(&format!(" {name:?}:")) && line(&dump, name).contains(says) {
            return dump;
        }
        std::thread::yield_now();
    }
}

fn named<F>(name: &str, future: F, handle: &Handle) -> task::JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    task::Builder::new()
        .name(name)
        .spawn_on(future, handle)
        .unwrap()
}

/// Two tasks, each of which has the lock that the other one wants.
#[test]
fn a_deadlock_of_tasks_names_both() {
    let rt = Runtime::new().unwrap();
    let (first, second) = (
        Arc::new(tress::sync::Mutex::new(())),
        Arc::new(tress::sync::Mutex::new(())),
    );
    let both_have_one = Arc::new(tress::sync::Barrier::new(2));
    for (name, mine, other) in [("left", &first, &second), ("right", &second, &first)] {
        let (mine, other, both) = (mine.clone(), other.clone(), both_have_one.clone());
        let deadlock = async move {
            let _mine = mine.lock().await;
            both.wait().await;
            let _other = other.lock().await;
        };
        named(name, deadlock, rt.handle());
    }
    for name in ["left", "right"] {
        // Each has been through the barrier: it waits for the lock.
        let dump = until(rt.handle(), name, "idle");
        let line = line(&dump, name);
        assert!(
            line.contains("tests/dump.rs"),
            "where it was spawned: {line}"
        );
        assert!(line.contains("last polled"), "{line}");
    }
}

/// All worker threads block, for ever as far as the dump is concerned.
#[test]
fn a_wedged_process_is_dumped_from_outside() {
    let rt = Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let (first, second) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let (hold_first, hold_second) = (first.lock().unwrap(), second.lock().unwrap());
    let entered = Arc::new(Barrier::new(3));
    for (name, lock) in [("stuck one", &first), ("stuck two", &second)] {
        let (lock, entered) = (lock.clone(), entered.clone());
        named(
            name,
            async move {
                entered.wait();
                drop(lock.lock().unwrap());
            },
            rt.handle(),
        );
    }
    entered.wait();
    named("waits behind them", async {}, rt.handle());
    let dump = dump(rt.handle());
    for name in ["stuck one", "stuck two"] {
        assert!(line(&dump, name).contains(": running"), "{dump}");
    }
    assert!(
        line(&dump, "waits behind them").contains(": ready"),
        "{dump}"
    );
    assert!(
        dump.contains("2 workers, 2 of them awake, 3 tasks alive"),
        "{dump}"
    );
    assert!(!dump.contains("busy"), "{dump}");
    drop((hold_first, hold_second));
}

#[test]
fn wakes_are_counted_of_named_tasks_and_while_tracing_of_all() {
    for trace in [false, true] {
        let rt = Builder::new_multi_thread()
            .worker_threads(1)
            .trace_events(if trace { 64 } else { 0 })
            .trace_every(1)
            .build()
            .unwrap();
        let waits = || async {
            for _ in 0..4 {
                task::yield_now().await;
            }
            std::future::pending::<()>().await;
        };
        named("named", waits(), rt.handle());
        until(rt.handle(), "named", "woken 4 times");
        let unnamed = rt.spawn(waits());
        let id = format!("task {}:", unnamed.id());
        loop {
            let dump = dump(rt.handle());
            let line = dump.lines().find(|line| line.contains(&id)).unwrap();
            if line.contains("idle") {
                assert_eq!(line.contains("woken 4 times"), trace, "{line}");
                assert_eq!(line.contains("no poll recorded"), !trace, "{line}");
                break;
            }
            std::thread::yield_now();
        }
    }
}

#[test]
fn timers_say_when_and_whom_they_wake() {
    for rt in [
        Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap(),
        Builder::new_current_thread().enable_all().build().unwrap(),
    ] {
        let hour = Duration::from_secs(3600);
        let _entered = rt.enter();
        let sleeper = tress::spawn(tress::time::sleep(hour));
        rt.block_on(async {
            while !dump(&Handle::current()).contains("timers: 1") {
                task::yield_now().await;
            }
        });
        let dump = dump(rt.handle());
        let wakes = format!("wakes task {}", sleeper.id());
        assert!(dump.contains(&wakes), "{dump}");
    }
}

#[test]
fn long_lists_are_cut_and_say_so() {
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        for _ in 0..150 {
            tress::spawn(tress::time::sleep(Duration::from_secs(3600)));
        }
        while !dump(&Handle::current()).contains("timers: 150") {
            task::yield_now().await;
        }
        assert!(dump(&Handle::current()).contains("and 50 more"));
    });
}

#[test]
fn blocking_closures_and_dispatchers_are_in_it() {
    let rt = Runtime::new().unwrap();
    let (release, released) = mpsc::channel::<()>();
    let job = {
        let _entered = rt.enter();
        task::Builder::new()
            .name("closure")
            .spawn_blocking(move || released.recv())
            .unwrap()
    };
    until(rt.handle(), "closure", "running");
    rt.block_on(async {
        let one = tress::dispatch::custom(1);
        let parked = tress::dispatch::spawn_on(&one, std::future::pending::<()>());
        let id = format!("task {}: idle", parked.id());
        while !dump(&Handle::current()).contains(&id) {
            task::yield_now().await;
        }
        assert!(dump(&Handle::current()).contains("1 at a time"), "the view");
        parked.abort();
    });
    drop(release);
    assert!(rt.block_on(job).unwrap().is_err());
}

#[cfg(all(feature = "coroutine", unix))]
#[test]
fn coroutines_say_where_they_are_bound_to() {
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let waits = tress::coroutine::Builder::new().name("coro");
    waits.spawn_on(
        || tress::coroutine::wait(std::future::pending::<()>()),
        rt.handle(),
    );
    let dump = until(rt.handle(), "coro", "bound to worker 0");
    assert!(line(&dump, "coro").contains("Fiber"), "what it is: {dump}");
}

/// Tasks that the worker itself has queued, and those that came by mail.
#[cfg(all(feature = "coroutine", unix))]
#[test]
fn ready_coroutines_are_counted_whichever_thread_woke_them() {
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let parked = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..3 {
        let parked = parked.clone();
        let park = move || {
            parked.lock().unwrap().push(tress::coroutine::current());
            tress::coroutine::park();
        };
        tress::coroutine::Builder::new().spawn_on(park, rt.handle());
    }
    let ready = rt.spawn(async move {
        // The only worker runs this, so that those who have said so are parked by now, and stay until it ends.
        while parked.lock().unwrap().len() < 3 {
            task::yield_now().await;
        }
        let parked = std::mem::take(&mut *parked.lock().unwrap());
        parked[0].unpark();
        parked[1].unpark();
        std::thread::scope(|threads| {
            threads.spawn(|| parked[2].unpark());
        });
        dump(&Handle::current())
    });
    let dump = rt.block_on(ready).unwrap();
    assert!(dump.contains("3 bound to this worker"), "{dump}");
}

#[test]
fn what_is_over_is_not_in_it() {
    let rt = Runtime::new().unwrap();
    let done = named("done", async {}, rt.handle());
    rt.block_on(async {
        while !done.is_finished() {
            task::yield_now().await
        }
    });
    assert!(
        !dump(rt.handle()).contains("\"done\""),
        "its handle is still there"
    );
    let handle = rt.handle().clone();
    named("left", std::future::pending::<()>(), rt.handle());
    drop(rt);
    let after = dump(&handle);
    assert!(
        after.contains("shutting down") && after.contains("tasks: 0"),
        "{after}"
    );
}

/// Says it is there, and spoils nothing if it fails.
struct Part(&'static str);

impl Section for Part {
    fn name(&self) -> &str {
        self.0
    }

    fn dump(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        writeln!(out, "  something of {}", self.0)
    }

    fn metrics(&self, _: &mut Samples) {}
}

#[test]
fn sections_come_and_go() {
    let rt = Runtime::new().unwrap();
    let first = rt.handle().add_section(Arc::new(Part("first")));
    let second = rt.handle().add_section(Arc::new(Part("second")));
    let both = dump(rt.handle());
    assert!(both.contains("first:\n  something of first"), "{both}");
    assert!(both.contains("second:\n  something of second"), "{both}");
    drop(first);
    let one = dump(rt.handle());
    assert!(!one.contains("first") && one.contains("second"));
    drop(rt);
    drop(second);
}

/// Workers spawn, run and free tasks while others walk over them.
#[test]
fn stress_dumps_of_a_busy_runtime() {
    let rt = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .trace_events(256)
        .build()
        .unwrap();
    let busy = rt.spawn(async {
        loop {
            let tasks: Vec<_> = (0..100)
                .map(|n| {
                    let work = async move {
                        task::yield_now().await;
                        let large = [n; 1000];
                        tress::time::sleep(Duration::from_micros(n)).await;
                        large[7]
                    };
                    task::Builder::new()
                        .name(["a", "b"][n as usize % 2])
                        .spawn(work)
                        .unwrap()
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        }
    });
    for _ in 0..if cfg!(miri) { 2 } else { 200 } {
        let dump = dump(rt.handle());
        assert!(dump.contains("tasks: "), "{dump}");
        let _ = rt.metrics().to_json();
    }
    busy.abort();
    assert!(rt.block_on(busy).unwrap_err().is_cancelled());
}
