//! Where Tokio's contract differs from tress's own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime, Runtime};

const _: () = tokio::__tress;

fn panics<R>(f: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn nonsense_is_refused_where_it_is_set() {
    let mut builder = Builder::new_multi_thread();
    assert!(panics(|| drop(builder.worker_threads(0).build())));
    assert!(panics(|| drop(builder.max_blocking_threads(0).build())));
    assert!(panics(|| drop(builder.global_queue_interval(0).build())));
    assert!(panics(|| drop(builder.event_interval(0).build())));
    assert!(panics(|| drop(builder.max_io_events_per_tick(0).build())));
    assert!(panics(|| drop(
        builder.max_io_events_per_busy_tick(0).build()
    )));
    assert!(panics(|| drop(builder.name(" ").build())));
}

#[test]
fn every_setting_is_accepted() {
    let rt = Builder::new_multi_thread()
        .enable_all()
        .enable_io()
        .enable_time()
        .worker_threads(2)
        .max_blocking_threads(3)
        .thread_name("never seen")
        .thread_name_fn(|| "mine".into())
        .name("service")
        .thread_stack_size(1 << 20)
        .on_thread_start(|| {})
        .on_thread_stop(|| {})
        .on_thread_park(|| {})
        .on_thread_unpark(|| {})
        .thread_keep_alive(Duration::from_secs(1))
        .global_queue_interval(31)
        .event_interval(61)
        .max_io_events_per_tick(64)
        .max_io_events_per_busy_tick(64)
        .build()
        .unwrap();
    assert_eq!(rt.metrics().num_workers(), 2);
    assert_eq!(rt.handle().name(), Some("service"));
    let name = rt.block_on(async {
        tokio::spawn(async { std::thread::current().name().map(str::to_owned) }).await
    });
    assert_eq!(name.unwrap().as_deref(), Some("mine"));
}

#[test]
fn all_workers_start_with_the_runtime() {
    let (started, seen) = mpsc::channel();
    let rt = Builder::new_multi_thread()
        .worker_threads(3)
        .on_thread_start(move || started.send(()).unwrap())
        .build()
        .unwrap();
    for _ in 0..3 {
        seen.recv().unwrap();
    }
    drop(rt);
}

#[test]
fn shutting_down_returns_nothing() {
    for timeout in [Some(Duration::from_secs(60)), None] {
        let rt = Runtime::new().unwrap();
        // Both arms have one type, as programs for Tokio rely on.
        match timeout {
            Some(timeout) => rt.shutdown_timeout(timeout),
            None => rt.shutdown_background(),
        }
        let rt = LocalRuntime::new().unwrap();
        match timeout {
            Some(timeout) => rt.shutdown_timeout(timeout),
            None => rt.shutdown_background(),
        }
    }
}

#[test]
fn a_blocking_closure_spawned_before_the_shutdown_goes_on() {
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let rt = builder.build().unwrap();
        let handle = rt.handle().clone();
        let closure = rt.spawn_blocking(|| 42);
        rt.shutdown_timeout(Duration::from_secs(60));
        assert_eq!(handle.block_on(closure).unwrap(), 42);
    }
}

#[test]
fn wrapped_runtimes_go_wherever_tress_wants_one() {
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    let n = local.block_on(&rt, async {
        tokio::task::spawn_local(async { 3 }).await.unwrap()
    });
    assert_eq!(n, 3);
    let mut builder = Builder::new_current_thread();
    let rt = builder
        .enable_all()
        .build_local(LocalOptions::default())
        .unwrap();
    assert_eq!(rt.block_on(async { 4 }), 4);
    assert!(
        Builder::new_multi_thread()
            .build_local(Default::default())
            .is_err()
    );
}

#[test]
fn runtimes_and_local_sets_have_numbers_of_their_own() {
    let rt = Builder::new_current_thread().build().unwrap();
    let (one, two) = (tokio::task::LocalSet::new(), tokio::task::LocalSet::new());
    assert_ne!(one.id(), two.id());
    assert_ne!(one.id(), rt.handle().id());
    assert_eq!(one.id(), one.id());
}

#[test]
fn every_worker_has_parked_by_the_end() {
    for _ in 0..20 {
        let rt = Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap();
        let metrics = rt.metrics();
        drop(rt);
        for worker in 0..2 {
            assert!(metrics.worker_park_count(worker) >= 1);
            assert_eq!(metrics.worker_park_unpark_count(worker) % 2, 0);
        }
    }
}

#[test]
fn metrics_may_be_read_after_a_panic() {
    let rt = Builder::new_current_thread().build().unwrap();
    let metrics = rt.metrics();
    // Without `AssertUnwindSafe`, as programs for Tokio may.
    assert_eq!(catch_unwind(|| metrics.num_workers()).unwrap(), 1);
}

#[tokio::test]
async fn attributes_and_macros_end_up_here() {
    tokio::pin! {
        let work = async { 1 };
    }
    let n = tokio::select! {
        n = &mut work => n,
        () = std::future::pending() => 0,
    };
    assert_eq!(n, 1);
    assert_eq!(tokio::join!(async { 1 }, async { 2 }), (1, 2));
    assert_eq!(
        tokio::try_join!(async { Ok::<_, ()>(1) }, async { Ok(2) }),
        Ok((1, 2))
    );
}

#[tokio::test(start_paused = true)]
async fn time_can_be_paused() {
    let start = tokio::time::Instant::now();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(start.elapsed() >= Duration::from_secs(3600));
}

/// `enable_io` alone is enough for sockets, and `enable_time` alone is not.
#[test]
fn io_is_enabled_by_itself() {
    let bind = || async { tokio::net::UdpSocket::bind("127.0.0.1:0").await };
    let rt = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .max_io_events_per_tick(usize::MAX)
        .build()
        .unwrap();
    rt.block_on(bind()).unwrap();
    let rt = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rt.block_on(bind())));
    assert!(refused.is_err());
}
