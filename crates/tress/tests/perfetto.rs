//! A trace in Perfetto's format, read by a decoder that knows nothing of the writer.

#![cfg(all(not(loom), feature = "net"))]

mod perfetto_support;

use perfetto_support::{Kind, Trace};
use std::time::Duration;
use tress::runtime::{Builder, Handle, Runtime};
use tress::task;

fn traced(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .trace_events(1 << 14)
        .trace_every(1)
        .name("shop")
        .build()
        .unwrap()
}

fn named<F>(name: &str, future: F) -> task::JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    task::Builder::new().name(name).spawn(future).unwrap()
}

fn written(handle: &Handle) -> Trace {
    let mut bytes = Vec::new();
    handle.trace().write_perfetto(&mut bytes).unwrap();
    Trace::parse(&bytes)
}

#[test]
fn a_run_is_there_with_its_names_slices_and_arrows() {
    let rt = traced(2);
    rt.block_on(async {
        let outer = named("outer", async {
            for _ in 0..100 {
                named("inner", task::yield_now()).await.unwrap();
            }
            tress::spawn(async {}).await.unwrap();
            tress::time::sleep(Duration::from_millis(2)).await;
        });
        outer.await.unwrap();
    });
    let handle = rt.handle().clone();
    drop(rt);
    let trace = written(&handle);
    assert_eq!(trace.process.as_deref(), Some("shop"));
    let threads: Vec<_> = trace.threads.values().cloned().collect();
    assert_eq!(threads, ["worker 0", "worker 1", "monitor"]);
    // "outer" spawns each "inner" inside of a poll that is recorded, as all are.
    let arrows = trace.check();
    assert!(arrows >= 100, "{arrows}");
    let slices = trace.slices();
    let named = |name: &str| slices.iter().filter(|s| s.begun.name == name).count();
    assert_eq!(named("inner"), 200);
    assert!(named("outer") >= 2);
    assert!(named("park") >= 1);
    let unnamed = slices.iter().find(|s| s.begun.source.is_some()).unwrap();
    let (file, line) = unnamed.begun.source.clone().unwrap();
    assert!(file.ends_with("tests/perfetto.rs"), "{file}");
    assert_eq!(unnamed.begun.name, format!("perfetto.rs:{line}"));
    let timers = trace
        .events
        .iter()
        .any(|e| e.category == "timer" && e.kind == Kind::Instant);
    assert!(timers);
    assert_eq!(trace.values("tasks alive"), [0]);
    assert_eq!(trace.values("tasks in queues"), [0]);
    assert_eq!(trace.values("blocking queue"), [0]);
}

/// What a timer wakes is woken between polls.
#[test]
fn arrows_come_from_timers_too() {
    // The monitor, which has no track of its own for this, fires the timers of a worker that gets no core.
    assert!((0..100).any(|_| a_timer_has_an_arrow()));
}

fn a_timer_has_an_arrow() -> bool {
    let rt = traced(1);
    rt.block_on(async {
        let sleep = async { tress::time::sleep(Duration::from_millis(2)).await };
        named("sleeper", sleep).await.unwrap();
    });
    let handle = rt.handle().clone();
    drop(rt);
    let trace = written(&handle);
    trace.check();
    let slices = trace.slices();
    let last = slices.iter().rfind(|s| s.begun.name == "sleeper").unwrap();
    let mut wakes = trace.events.iter().filter(|e| !e.flows.is_empty());
    let Some(wake) = wakes.find(|event| event.flows == last.begun.ends) else {
        return false;
    };
    let inside = |s: &perfetto_support::Slice| s.begun.at < wake.at && wake.at < s.until;
    assert!(!slices.iter().any(inside), "{wake:?}");
    true
}

/// Each track is written in the order of time.
#[test]
fn times_of_a_track_do_not_go_back() {
    let rt = traced(2);
    rt.block_on(async {
        let tasks: Vec<_> = (0..200).map(|_| tress::spawn(task::yield_now())).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    let handle = rt.handle().clone();
    drop(rt);
    let trace = written(&handle);
    trace.check();
    for track in trace.threads.keys() {
        let times = trace
            .events
            .iter()
            .filter(|e| e.track == *track)
            .map(|e| e.at);
        assert!(times.is_sorted());
    }
}

#[test]
fn sampled_polls_have_no_arrows_that_may_be_wrong() {
    let rt = Builder::new_current_thread()
        .trace_events(1 << 12)
        .trace_every(7)
        .build()
        .unwrap();
    rt.block_on(async {
        for _ in 0..500 {
            tress::spawn(task::yield_now()).await.unwrap();
        }
    });
    let trace = written(rt.handle());
    assert_eq!(trace.check(), 0);
    let polls = trace
        .slices()
        .into_iter()
        .filter(|s| s.begun.category == "poll");
    assert!(polls.clone().count() > 50);
    for poll in polls {
        assert_eq!(poll.begun.notes["stands_for_polls"], 7);
    }
}

#[test]
fn an_output_that_fails_is_an_error() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(bytes.len())
                .ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let rt = traced(1);
    rt.block_on(rt.spawn(async {})).unwrap();
    for room in [0, 10, 100, 300] {
        let error = rt
            .handle()
            .trace()
            .write_perfetto(&mut Full(room))
            .unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
}
