//! Slow polls are told of, once, with what is known of them.

#![cfg(not(loom))]

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tress::runtime::{Builder, LocalOptions, Runtime};
use tress::task;
use tress::trace::{EventKind, SlowPoll};

const LIMIT: Duration = Duration::from_millis(5);

fn build(mut builder: Builder) -> (Runtime, Receiver<SlowPoll>) {
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let rt = builder
        .slow_poll_threshold(LIMIT)
        .on_slow_poll(move |slow| tell.lock().unwrap().send(slow.clone()).unwrap())
        .build()
        .unwrap();
    (rt, told)
}

fn both_kinds() -> [Builder; 2] {
    let mut multi = Builder::new_multi_thread();
    multi.worker_threads(2);
    [multi, Builder::new_current_thread()]
}

/// A task that blocks its thread until it is released.
fn blocks(name: &str, until: Receiver<()>) -> task::JoinHandle<()> {
    let blocking = async move { while until.recv().is_ok() {} };
    task::Builder::new().name(name).spawn(blocking).unwrap()
}

#[test]
fn a_slow_poll_is_told_of_once() {
    for builder in both_kinds() {
        let (rt, told) = build(builder);
        let (release, until) = mpsc::channel::<()>();
        let watcher = std::thread::spawn(move || {
            let slow = told.recv().unwrap();
            // It goes on for as long again as it took to be noticed, three times over.
            let again = told.recv_timeout(3 * slow.elapsed);
            drop(release);
            (slow, again.is_ok())
        });
        rt.block_on(async { blocks("bad", until).await.unwrap() });
        let (slow, again) = watcher.join().unwrap();
        assert!(!again, "twice");
        assert_eq!(slow.name.as_deref(), Some("bad"));
        assert!(slow.elapsed >= LIMIT);
        let place = slow.spawned_at.unwrap();
        assert!(place.file().ends_with("slow_poll.rs"));
        assert!(slow.backtrace.is_none(), "nobody asked");
        let text = slow.to_string();
        assert!(
            text.contains("\"bad\"") && text.contains("slow_poll.rs"),
            "{text}"
        );
    }
}

#[test]
fn a_local_runtime_tells_of_slow_polls_too() {
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let rt = Builder::new_current_thread()
        .slow_poll_threshold(LIMIT)
        .on_slow_poll(move |slow| tell.lock().unwrap().send(slow.clone()).unwrap())
        .build_local(LocalOptions::default())
        .unwrap();
    let (release, until) = mpsc::channel::<()>();
    let watcher = std::thread::spawn(move || {
        let slow = told.recv().unwrap();
        drop(release);
        slow
    });
    rt.block_on(async { blocks("bad", until).await.unwrap() });
    assert_eq!(watcher.join().unwrap().name.as_deref(), Some("bad"));
}

#[test]
fn the_next_slow_poll_is_told_of_again() {
    for builder in both_kinds() {
        let (rt, told) = build(builder);
        let mut releases = Vec::new();
        let (mut untils, names) = (Vec::new(), ["one", "two"]);
        for _ in names {
            let (release, until) = mpsc::channel::<()>();
            releases.push(release);
            untils.push(until);
        }
        let watcher = std::thread::spawn(move || {
            let mut release = |release: Sender<()>| {
                let name = told.recv().unwrap().name;
                drop(release);
                name.unwrap()
            };
            releases.into_iter().map(&mut release).collect::<Vec<_>>()
        });
        rt.block_on(async {
            for (name, until) in names.into_iter().zip(untils) {
                blocks(name, until).await.unwrap();
            }
        });
        assert_eq!(watcher.join().unwrap(), names);
    }
}

#[test]
fn short_polls_are_not_told_of() {
    let (tell, told) = mpsc::channel::<()>();
    let rt = Builder::new_multi_thread()
        .worker_threads(2)
        .slow_poll_threshold(Duration::from_secs(60))
        .on_slow_poll(move |_| tell.send(()).unwrap())
        .build()
        .unwrap();
    rt.block_on(async {
        for _ in 0..1000 {
            tress::spawn(task::yield_now()).await.unwrap();
        }
    });
    drop(rt);
    assert!(
        told.recv().is_err(),
        "the callback is gone and never called"
    );
}

/// The frames of the thread that is stuck, not of the one that asks.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
#[test]
fn a_backtrace_shows_the_offender() {
    for mut builder in both_kinds() {
        builder.slow_poll_backtrace(true);
        let (rt, told) = build(builder);
        let (release, until) = mpsc::channel::<()>();
        let watcher = std::thread::spawn(move || {
            let slow = told.recv().unwrap();
            drop(release);
            slow
        });
        rt.block_on(async {
            let bad = tress::spawn(async move { the_offending_function(until) });
            bad.await.unwrap();
        });
        let slow = watcher.join().unwrap();
        let backtrace = slow.backtrace.expect("there is one");
        assert!(backtrace.frames().len() > 3, "{backtrace}");
        let text = backtrace.to_string();
        assert_eq!(
            text.contains("the_offending_function"),
            cfg!(feature = "diagnostics"),
            "{text}"
        );
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
#[inline(never)]
fn the_offending_function(until: Receiver<()>) {
    while until.recv().is_ok() {}
}

#[test]
fn a_callback_that_panics_ends_nothing() {
    let (tell, told) = mpsc::channel();
    let tell: Arc<Mutex<Sender<()>>> = Arc::new(Mutex::new(tell));
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .slow_poll_threshold(LIMIT)
        .on_slow_poll(move |_| {
            tell.lock().unwrap().send(()).unwrap();
            std::panic::panic_any("a callback's own");
        })
        .build()
        .unwrap();
    for _ in 0..2 {
        let (release, until) = mpsc::channel::<()>();
        let slow = {
            let _entered = rt.enter();
            blocks("bad", until)
        };
        told.recv().unwrap();
        drop(release);
        rt.block_on(slow).unwrap();
    }
}

#[test]
fn it_is_in_the_trace() {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).trace_events(256);
    let (rt, told) = build(builder);
    let (release, until) = mpsc::channel::<()>();
    let slow = {
        let _entered = rt.enter();
        blocks("bad", until)
    };
    told.recv().unwrap();
    drop(release);
    rt.block_on(slow).unwrap();
    let events = rt.handle().trace().events();
    let seen = events.iter().find(|event| event.track == 1).unwrap();
    assert_eq!(seen.name.as_deref(), Some("bad"));
    let EventKind::SlowPoll { so_far, worker: 0 } = seen.kind else {
        panic!("{seen:?}");
    };
    assert!(so_far >= LIMIT);
}
