//! Spans of locks, channels and timers, and what they tell of their state.

use crate::collector::{Collector, Fields, Span};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Barrier, Mutex, RwLock, Semaphore, oneshot};
use tokio::time;

const STATE: &str = "runtime::resource::state_update";
const OP_STATE: &str = "runtime::resource::async_op::state_update";
const POLL: &str = "runtime::resource::poll_op";

fn current() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
}

/// The one resource with this target, which was made in this file.
fn resource(collector: &Collector, target: &str, concrete: &str, kind: &str) -> Span {
    let spans = collector.spans("runtime.resource");
    let mut found = spans.into_iter().filter(|span| span.target == target);
    let span = found.next().expect("a resource with that target");
    assert!(found.next().is_none(), "two resources with that target");
    assert_eq!(span.field("concrete_type"), concrete);
    assert_eq!(span.field("kind"), kind);
    assert_eq!(span.field("loc.file"), file!());
    assert_eq!(span.parent, None);
    span
}

/// What a resource has told of its state, as `field=value` or `field=value op`.
fn states(collector: &Collector, target: &str, of: &Span) -> Vec<String> {
    let events = collector.events(target).into_iter();
    let of_it = events.filter(|(_, within)| within.last() == Some(&of.id));
    of_it.map(|(fields, _)| in_words(&fields)).collect()
}

fn in_words(fields: &Fields) -> String {
    let is_value = |name: &&String| !name.ends_with(".op") && !name.ends_with(".unit");
    let name = fields.keys().find(is_value).expect("a value");
    let op = fields.iter().find(|(name, _)| name.ends_with(".op"));
    match op {
        Some((_, op)) => format!("{name}={} {op}", fields[name]),
        None => format!("{name}={}", fields[name]),
    }
}

/// The operations on resources, by their sources.
fn sources(collector: &Collector) -> Vec<String> {
    let ops = collector.spans("runtime.resource.async_op").into_iter();
    ops.map(|span| span.field("source").into()).collect()
}

#[test]
fn a_mutex_tells_whether_it_is_locked() {
    let collector = Collector::default();
    collector.here(|| {
        current().block_on(async {
            let mutex = Arc::new(Mutex::new(1));
            let guard = mutex.lock().await;
            let mut waits = pin!(mutex.clone().lock_owned());
            assert!(futures_now(waits.as_mut()).await.is_none());
            drop(guard);
            drop(waits.await);
            drop(mutex.try_lock().unwrap());
        });
    });
    let span = resource(&collector, "tokio::sync::mutex", "Mutex", "Sync");
    let locked = ["locked=false", "locked=true", "locked=false"];
    let twice_more = ["locked=true", "locked=false", "locked=true", "locked=false"];
    let all = [&locked[..], &twice_more].concat();
    assert_eq!(states(&collector, STATE, &span), all);
    let sources = sources(&collector);
    assert_eq!(
        sources,
        [
            "Mutex::lock",
            "Acquire::new",
            "Mutex::lock_owned",
            "Acquire::new"
        ]
    );
    collector.assert_nothing_is_left();
}

/// Polls a future once.
async fn futures_now<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    std::future::poll_fn(|cx| match std::pin::Pin::new(&mut future).poll(cx) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

#[test]
fn a_semaphore_tells_of_its_permits() {
    let collector = Collector::default();
    collector.here(|| {
        current().block_on(async {
            let semaphore = Semaphore::new(3);
            let two = semaphore.acquire_many(2).await.unwrap();
            let mut waits = pin!(semaphore.acquire_many(2));
            assert!(futures_now(waits.as_mut()).await.is_none());
            drop(two);
            drop(waits.await.unwrap());
        });
    });
    let span = resource(&collector, "tokio::sync::semaphore", "Semaphore", "Sync");
    assert_eq!(span.field("inherits_child_attrs"), "true");
    let internal = collector.spans("runtime.resource");
    let internal = internal
        .iter()
        .find(|span| span.field("is_internal") == "true");
    let counter = internal.expect("a counter of permits");
    assert_eq!(counter.target, "tokio::sync::batch_semaphore");
    // The waiter takes the one that is left and is handed another, so one is left of the two that come back.
    let permits = ["=3 override", "=2 sub", "=1 sub", "=1 add", "=2 add"];
    let permits = permits.map(|step| format!("permits{step}"));
    assert_eq!(states(&collector, STATE, counter), permits);
    let ops = collector.spans("runtime.resource.async_op");
    for op in ops.iter().filter(|op| op.field("source") == "Acquire::new") {
        let requested = states(&collector, OP_STATE, op);
        let all = [
            "requested=2 override",
            "obtained=0 override",
            "obtained=2 add",
        ];
        assert_eq!(requested, all.map(|step| format!("permits_{step}")));
        assert_eq!(op.parent, Some(counter.id));
    }
    collector.assert_nothing_is_left();
}

#[test]
fn a_read_write_lock_tells_of_readers_and_writers() {
    let collector = Collector::default();
    collector.here(|| {
        current().block_on(async {
            let lock = RwLock::with_max_readers(1, 4);
            let (one, two) = (lock.read().await, lock.try_read().unwrap());
            drop((one, two));
            let write = lock.write().await;
            drop(write.downgrade());
        });
    });
    let span = resource(&collector, "tokio::sync::rwlock", "RwLock", "Sync");
    let made = ["max_readers=4", "write_locked=false", "current_readers=0"];
    let add = "current_readers=1 add";
    let sub = "current_readers=1 sub";
    let write = ["write_locked=true override", "write_locked=false override"];
    let all = [&made[..], &[add, add, sub, sub], &write, &[add, sub]].concat();
    assert_eq!(states(&collector, STATE, &span), all);
    collector.assert_nothing_is_left();
}

#[test]
fn a_barrier_tells_who_has_arrived() {
    let collector = Collector::default();
    collector.here(|| {
        current().block_on(async {
            let barrier = Barrier::new(2);
            let (one, two) = tokio::join!(barrier.wait(), barrier.wait());
            assert!(one.is_leader() ^ two.is_leader());
        });
    });
    let span = resource(&collector, "tokio::sync::barrier", "Barrier", "Sync");
    assert_eq!(states(&collector, STATE, &span), ["size=2", "arrived=0"]);
    let arrived = collector
        .events(STATE)
        .into_iter()
        .map(|(fields, _)| in_words(&fields));
    let arrived = arrived.filter(|words| words == "arrived=1 add").count();
    assert_eq!(arrived, 2);
    let told = collector
        .events(OP_STATE)
        .into_iter()
        .map(|(fields, _)| in_words(&fields));
    let leaders = told.filter(|words| words == "is_leader=true").count();
    assert_eq!(leaders, 1);
    assert_eq!(sources(&collector), ["Barrier::wait", "Barrier::wait"]);
    collector.assert_nothing_is_left();
}

#[test]
fn a_oneshot_channel_tells_of_its_ends() {
    let collector = Collector::default();
    collector.here(|| {
        current().block_on(async {
            let (tx, mut rx) = oneshot::channel();
            assert!(futures_now(&mut rx).await.is_none());
            tx.send(1).unwrap();
            assert_eq!(rx.await, Ok(1));
        });
    });
    let span = resource(
        &collector,
        "tokio::sync::oneshot",
        "Sender|Receiver",
        "Sync",
    );
    let made = ["tx_dropped", "rx_dropped", "value_sent", "value_received"];
    let mut all: Vec<_> = made.map(|field| format!("{field}=false override")).into();
    all.push("value_sent=true override".into());
    assert_eq!(states(&collector, STATE, &span), all);
    let polls = collector.events(POLL).into_iter();
    let polls = polls.map(|(fields, _)| (fields["op_name"].clone(), fields["is_ready"].clone()));
    let polls: Vec<_> = polls.collect();
    let name = || "poll_recv".to_owned();
    assert_eq!(polls, [(name(), "false".into()), (name(), "true".into())]);
    collector.assert_nothing_is_left();
}

#[test]
fn the_ends_of_a_oneshot_channel_tell_that_they_are_dropped() {
    let collector = Collector::default();
    collector.here(|| drop(oneshot::channel::<()>()));
    let span = resource(
        &collector,
        "tokio::sync::oneshot",
        "Sender|Receiver",
        "Sync",
    );
    let states = states(&collector, STATE, &span);
    assert_eq!(
        states[4..],
        ["tx_dropped=true override", "rx_dropped=true override"]
    );
    collector.assert_nothing_is_left();
}

#[test]
fn timers_tell_how_long_they_wait() {
    let collector = Collector::default();
    collector.here(|| {
        current().block_on(async {
            let mut sleep = pin!(time::sleep(Duration::from_millis(7)));
            assert!(futures_now(sleep.as_mut()).await.is_none());
            sleep
                .as_mut()
                .reset(time::Instant::now() + Duration::from_millis(9));
            sleep.await;
        });
    });
    let span = resource(&collector, "tokio::time::sleep", "Sleep", "timer");
    let durations = collector.events(STATE).into_iter();
    let durations: Vec<_> = durations
        .map(|(fields, within)| (in_words(&fields), within))
        .collect();
    let words: Vec<_> = durations.iter().map(|(words, _)| words.as_str()).collect();
    assert_eq!(words, ["duration=7 override", "duration=9 override"]);
    assert!(
        durations
            .iter()
            .all(|(_, within)| within.contains(&span.id))
    );
    assert_eq!(sources(&collector), ["Sleep::new_timeout", "Sleep::reset"]);
    collector.assert_nothing_is_left();
}

#[test]
fn an_interval_tells_of_its_ticks() {
    let collector = Collector::default();
    collector.here(|| {
        current().block_on(async {
            let mut interval = time::interval(Duration::from_millis(10));
            interval.tick().await;
            interval.tick().await;
        });
    });
    let span = resource(&collector, "tokio::time::interval", "Interval", "timer");
    let ticks = collector.spans("runtime.resource.async_op").into_iter();
    let ticks = ticks.filter(|op| op.field("source") == "Interval::tick");
    let parents: Vec<_> = ticks.map(|op| op.parent).collect();
    assert_eq!(parents, [Some(span.id); 2]);
    collector.assert_nothing_is_left();
}
