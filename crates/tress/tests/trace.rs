//! What is recorded of a run, and the trace that is written of it.

#![cfg(all(not(loom), feature = "net"))]

use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tress::runtime::{Builder, Handle, Runtime};
use tress::task;
use tress::trace::{Event, EventKind};

fn traced(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .trace_events(1 << 14)
        .trace_every(1)
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

/// The trace as a list of objects.
fn chrome(handle: &Handle) -> Vec<Value> {
    let mut text = Vec::new();
    handle.trace().write_chrome(&mut text).unwrap();
    let json: Value = serde_json::from_slice(&text).unwrap();
    json["traceEvents"].as_array().unwrap().clone()
}

/// What the format asks for, of every event.
fn check_format(events: &[Value]) {
    let mut last: HashMap<u64, f64> = HashMap::new();
    let mut busy_until: HashMap<u64, f64> = HashMap::new();
    for event in events {
        assert!(event["name"].is_string(), "{event}");
        assert!(event["pid"].is_u64(), "{event}");
        let track = event["tid"].as_u64().unwrap();
        match event["ph"].as_str().unwrap() {
            "M" => assert!(event["args"]["name"].is_string(), "{event}"),
            "X" => {
                let (at, length) = (
                    event["ts"].as_f64().unwrap(),
                    event["dur"].as_f64().unwrap(),
                );
                assert!(length >= 0.0);
                // Slices of a track follow each other: a worker does one thing at a time. To the
                // nanosecond that is cut off.
                let until = busy_until.insert(track, at + length).unwrap_or(0.0);
                assert!(at >= until - 0.0015, "{event} begins before {until}");
            }
            "i" => assert_eq!(event["s"], "t"),
            other => panic!("{other} is no phase of ours"),
        }
        if event["ph"] != "M" {
            let at = event["ts"].as_f64().unwrap();
            let before = last.insert(track, at).unwrap_or(0.0);
            assert!(at >= before, "time goes back on track {track}: {event}");
        }
    }
}

#[test]
fn polls_are_slices_named_by_their_task() {
    let rt = traced(2);
    rt.block_on(async {
        let outer = named("outer", async {
            task::yield_now().await;
            named("inner", task::yield_now()).await.unwrap();
            tress::spawn(async {}).await.unwrap();
        });
        outer.await.unwrap();
    });
    let handle = rt.handle().clone();
    drop(rt);
    let events = chrome(&handle);
    check_format(&events);
    let slices = |name: &str| {
        let polls = events.iter().filter(|e| e["cat"] == "poll");
        polls.filter(|e| e["name"] == name).count()
    };
    // Once, after its yield, after each of the two it waits for; those may be quicker.
    assert!((2..=4).contains(&slices("outer")), "{}", slices("outer"));
    assert_eq!(slices("inner"), 2);
    let unnamed = events.iter().find(|e| {
        let place = e["args"]["spawned_at"].as_str();
        e["cat"] == "poll" && place.is_some_and(|place| place.contains("tests/trace.rs"))
    });
    assert!(
        unnamed.unwrap()["name"]
            .as_str()
            .unwrap()
            .starts_with("trace.rs:")
    );
    // The outer task made the inner one ready.
    let ready = events.iter().any(|e| e["name"] == "ready: inner");
    assert!(ready);
    let workers = events.iter().filter(|e| e["name"] == "thread_name");
    assert!(workers.count() >= 1);
}

/// Two workers, one of which is given more than it can do.
#[test]
fn steals_parks_timers_and_io_are_there() {
    let rt = traced(2);
    rt.block_on(async {
        tress::time::sleep(Duration::from_millis(3)).await;
        named("timer", tress::time::sleep(Duration::from_millis(2)))
            .await
            .unwrap();
        // Sleeps for as long as the one beside it needs to steal: a steal has to come.
        let crowd = named("crowd", async {
            while !stolen() {
                let released = Arc::new(AtomicBool::new(false));
                let tasks: Vec<_> = (0..64)
                    .map(|_| {
                        let released = released.clone();
                        tress::spawn(async move {
                            while !released.load(Ordering::Acquire) && !stolen() {
                                task::yield_now().await;
                            }
                        })
                    })
                    .collect();
                for _ in 0..10 {
                    task::yield_now().await;
                }
                released.store(true, Ordering::Release);
                for task in tasks {
                    task.await.unwrap();
                }
            }
        });
        crowd.await.unwrap();
        named("talk", talk()).await.unwrap();
    });
    let handle = rt.handle().clone();
    drop(rt);
    let events = handle.trace().events();
    let any = |is: fn(&EventKind) -> bool| events.iter().any(|event| is(&event.kind));
    assert!(any(|kind| matches!(
        kind,
        EventKind::Steal { tasks: 1.., .. }
    )));
    assert!(any(|kind| matches!(kind, EventKind::Park { .. })));
    assert!(any(|kind| matches!(kind, EventKind::Timers { fired: 1.. })));
    assert!(any(|kind| matches!(kind, EventKind::Io { events: 1.. })));
    check_format(&chrome(&handle));
}

fn stolen() -> bool {
    Handle::current().metrics().total_stolen() > 0
}

async fn talk() {
    use tress::io::{AsyncReadExt, AsyncWriteExt};
    use tress::net::{TcpListener, TcpStream};
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let echo = tress::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut byte = [0];
        for _ in 0..10 {
            stream.read_exact(&mut byte).await.unwrap();
            stream.write_all(&byte).await.unwrap();
        }
    });
    let mut stream = TcpStream::connect(address).await.unwrap();
    for n in 0..10 {
        stream.write_all(&[n]).await.unwrap();
        let mut byte = [0];
        stream.read_exact(&mut byte).await.unwrap();
        assert_eq!(byte, [n]);
    }
    echo.await.unwrap();
}

#[test]
fn a_ring_keeps_the_newest() {
    let rt = Builder::new_current_thread()
        .trace_events(8)
        .trace_every(1)
        .build()
        .unwrap();
    rt.block_on(async {
        for n in 0..100 {
            named(&format!("n{n}"), async {}).await.unwrap();
        }
    });
    let polls: Vec<_> = rt.handle().trace().events();
    let polls: Vec<_> = polls
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Poll { .. }))
        .filter_map(|event| event.name.as_deref())
        .collect();
    assert_eq!(polls.last(), Some(&"n99"));
    assert!(polls.len() <= 8);
}

#[test]
fn one_of_so_many_polls_stands_for_the_others() {
    let rt = Builder::new_current_thread()
        .trace_events(1 << 12)
        .trace_every(10)
        .build()
        .unwrap();
    rt.block_on(async {
        let yields = named("yields", async {
            for _ in 0..999 {
                task::yield_now().await;
            }
        });
        yields.await.unwrap();
    });
    let events = rt.handle().trace().events();
    let stand_for: Vec<u32> = events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Poll { every, .. } => Some(every),
            _ => None,
        })
        .collect();
    assert_eq!(stand_for, [10; 100]);
}

#[test]
fn it_can_be_switched_on_and_off() {
    let rt = Runtime::new().unwrap();
    let trace = rt.handle().trace();
    let run = |name: &'static str| {
        rt.block_on(async { named(name, task::yield_now()).await.unwrap() });
    };
    let polled = |name: &str| {
        let of = |event: &Event| {
            matches!(event.kind, EventKind::Poll { .. }) && event.name.as_deref() == Some(name)
        };
        trace.events().iter().any(of)
    };
    assert!(!trace.is_on());
    run("before");
    trace.start();
    assert!(trace.is_on());
    // A worker looks at the switch once a tick. Polls are recorded one by one while they are few.
    while !polled("during") {
        run("during");
    }
    trace.stop();
    // The tick that is under way may still be recorded.
    while ["one", "two", "three"].into_iter().any(|name| {
        let recorded = polled(name);
        run(name);
        !recorded && polled(name)
    }) {}
    assert!(!polled("before"));
    assert!(polled("during"), "what was recorded stays");
}

#[test]
fn a_core_that_changes_threads_in_a_poll_keeps_its_track_whole() {
    let rt = traced(1);
    rt.block_on(async {
        for _ in 0..50 {
            let blocks = named("blocks", async {
                // The other thread must run this for us to go on.
                let other = named("other", async { 1 });
                task::block_in_place(|| Handle::current().block_on(other)).unwrap()
            });
            assert_eq!(blocks.await.unwrap(), 1);
        }
    });
    let handle = rt.handle().clone();
    drop(rt);
    check_format(&chrome(&handle));
    let events = handle.trace().events();
    assert!(
        events
            .iter()
            .any(|event| event.name.as_deref() == Some("other"))
    );
}

#[test]
fn mistakes_are_named() {
    for (mistake, says) in [
        (
            Builder::new_current_thread().trace_every(0).build(),
            "trace_every",
        ),
        (
            Builder::new_current_thread()
                .trace_events((1 << 24) + 1)
                .build(),
            "trace_events",
        ),
        (
            Builder::new_current_thread()
                .slow_poll_threshold(Duration::ZERO)
                .build(),
            "slow_poll_threshold",
        ),
    ] {
        let error = mistake.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
