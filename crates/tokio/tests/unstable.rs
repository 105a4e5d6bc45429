//! What Tokio shows only with `--cfg tokio_unstable` is there without it, too.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::{Builder, LocalOptions, RngSeed, UnhandledPanic};
use tokio::task::{self, JoinSet, LocalSet, join_set};

fn text(payload: Box<dyn std::any::Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().unwrap()).to_owned(),
    }
}

#[track_caller]
fn panics_with(words: &str, f: impl FnOnce()) {
    let payload = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    let text = text(payload);
    assert!(text.contains(words), "{text}");
}

#[test]
fn options_without_a_counterpart_are_accepted() {
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .disable_lifo_slot()
        .enable_alt_timer()
        .enable_eager_driver_handoff()
        .enable_sharded_blocking_queue()
        .build()
        .unwrap();
    rt.block_on(async {
        // The timers are enabled.
        tokio::spawn(tokio::time::sleep(std::time::Duration::ZERO))
            .await
            .unwrap();
    });
}

#[cfg(target_os = "linux")]
#[test]
fn io_uring_enables_io() {
    let rt = Builder::new_current_thread()
        .enable_io_uring()
        .build()
        .unwrap();
    rt.block_on(tokio::net::UdpSocket::bind("127.0.0.1:0"))
        .unwrap();
}

/// Without the slot a task that was woken last runs last.
#[test]
fn the_lifo_slot_can_be_disabled() {
    let order = |disabled: bool| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1);
        if disabled {
            builder.disable_lifo_slot();
        }
        let rt = builder.build().unwrap();
        rt.block_on(rt.spawn(async {
            let order = Arc::new(std::sync::Mutex::new(Vec::new()));
            let note = |n| {
                let order = order.clone();
                async move { order.lock().unwrap().push(n) }
            };
            let mut set = JoinSet::new();
            for n in 0..4 {
                set.spawn(note(n));
            }
            set.join_all().await;
            Arc::into_inner(order).unwrap().into_inner().unwrap()
        }))
        .unwrap()
    };
    assert_eq!(order(true), [0, 1, 2, 3]);
    assert_eq!(order(false)[0], 3);
}

#[test]
fn a_seed_decides_what_select_takes() {
    let decisions = |seed: &[u8]| {
        let rt = Builder::new_current_thread()
            .rng_seed(RngSeed::from_bytes(seed))
            .build()
            .unwrap();
        rt.block_on(async {
            let mut taken = Vec::new();
            for _ in 0..64 {
                tokio::select! {
                    () = async {} => taken.push(0),
                    () = async {} => taken.push(1),
                }
            }
            taken
        })
    };
    assert_eq!(decisions(b"one"), decisions(b"one"));
    assert_ne!(decisions(b"one"), decisions(b"two"));
    assert_ne!(decisions(b""), decisions(b"\0"));
}

const ENDED: &str = "configured to shut down on unhandled panic";

#[test]
fn a_panic_ends_the_runtime() {
    let rt = Builder::new_current_thread()
        .unhandled_panic(UnhandledPanic::ShutdownRuntime)
        .build()
        .unwrap();
    let panicked = rt.spawn(async { panic!("boom") });
    let later = rt.spawn(async { unreachable!() });
    panics_with(ENDED, || rt.block_on(pending()));
    assert!(panicked.is_finished() && later.is_finished());
    // What comes later is cancelled, and `block_on` panics even if it had nothing to wait for.
    let after = rt.spawn(async {});
    assert!(after.is_finished());
    panics_with(ENDED, || rt.block_on(async {}));
    let error = futures_ready(later).unwrap_err();
    assert!(error.is_cancelled());
}

/// The output of what is ready.
fn futures_ready<F: Future>(future: F) -> F::Output {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut cx) {
        std::task::Poll::Ready(output) => output,
        std::task::Poll::Pending => panic!("it is not ready"),
    }
}

#[test]
fn a_panic_ends_a_local_runtime() {
    let rt = Builder::new_current_thread()
        .unhandled_panic(UnhandledPanic::ShutdownRuntime)
        .build_local(LocalOptions::default())
        .unwrap();
    let kept = Rc::new(());
    rt.spawn_local({
        let kept = kept.clone();
        async move {
            pending::<()>().await;
            drop(kept);
        }
    });
    rt.spawn_local(async { panic!("boom") });
    panics_with(ENDED, || rt.block_on(pending()));
    assert_eq!(Rc::strong_count(&kept), 1);
}

/// Threads that wait in `block_on` beside the one that drives the runtime panic, too.
#[test]
fn a_panic_ends_every_block_on() {
    let rt = Builder::new_current_thread()
        .unhandled_panic(UnhandledPanic::ShutdownRuntime)
        .build()
        .unwrap();
    let waiting = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                panics_with(ENDED, || {
                    rt.block_on(async {
                        waiting.fetch_add(1, Ordering::SeqCst);
                        pending().await
                    })
                })
            });
        }
        while waiting.load(Ordering::SeqCst) < 3 {
            std::thread::yield_now();
        }
        rt.spawn(async { panic!("boom") });
    });
}

#[test]
fn panics_are_ignored_unless_asked_for() {
    for behavior in [None, Some(UnhandledPanic::Ignore)] {
        let mut builder = Builder::new_current_thread();
        if let Some(behavior) = behavior {
            builder.unhandled_panic(behavior);
        }
        let rt = builder.build().unwrap();
        let panicked = rt.spawn(async { panic!("boom") });
        rt.block_on(async { assert!(panicked.await.unwrap_err().is_panic()) });
        rt.block_on(rt.spawn(async {})).unwrap();
    }
}

/// A closure on the blocking pool is no task of the scheduler.
#[test]
fn a_panic_of_a_blocking_closure_ends_nothing() {
    let rt = Builder::new_current_thread()
        .unhandled_panic(UnhandledPanic::ShutdownRuntime)
        .build()
        .unwrap();
    let panicked = rt.spawn_blocking(|| panic!("boom"));
    assert!(rt.block_on(panicked).unwrap_err().is_panic());
    rt.block_on(rt.spawn(async {})).unwrap();
}

#[test]
fn a_multi_thread_runtime_cannot_end_with_a_task() {
    panics_with("only supported in current thread runtime", || {
        Builder::new_multi_thread().unhandled_panic(UnhandledPanic::ShutdownRuntime);
    });
    Builder::new_multi_thread().unhandled_panic(UnhandledPanic::Ignore);
}

#[test]
fn a_panic_ends_a_local_set() {
    const ENDED: &str = "LocalSet is configured to shutdown on unhandled panic";
    let rt = Builder::new_current_thread().build().unwrap();
    let mut local = LocalSet::new();
    let first = local.spawn_local(async { panic!("boom") });
    local.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    let second = local.spawn_local(async { unreachable!() });
    panics_with(ENDED, || local.block_on(&rt, pending()));
    assert!(first.is_finished() && second.is_finished());
    assert!(local.spawn_local(async {}).is_finished());
    panics_with(ENDED, || rt.block_on(&mut local));
    drop(local);
    // The runtime goes on.
    rt.block_on(rt.spawn(async {})).unwrap();
}

#[test]
fn task_builders_spawn_everywhere() {
    let rt = Builder::new_current_thread().build().unwrap();
    let handle = rt.handle().clone();
    let local = LocalSet::new();
    rt.block_on(local.run_until(async {
        let builder = || task::Builder::new().name("named");
        assert_eq!(builder().spawn(async { 1 }).unwrap().await.unwrap(), 1);
        let task = builder().spawn_on(async { 2 }, &handle).unwrap();
        assert_eq!(task.await.unwrap(), 2);
        let task = builder().spawn_local(async { Rc::new(3) }).unwrap();
        assert_eq!(*task.await.unwrap(), 3);
        let task = builder().spawn_local_on(async { Rc::new(4) }, &local);
        assert_eq!(*task.unwrap().await.unwrap(), 4);
        let task = builder().spawn_blocking(|| 5).unwrap();
        assert_eq!(task.await.unwrap(), 5);
        let task = builder().spawn_blocking_on(|| 6, &handle).unwrap();
        assert_eq!(task.await.unwrap(), 6);
    }));
    let names = rt.metrics().names();
    assert_eq!((names.len(), names[0].tasks_submitted), (1, 4));
}

#[test]
fn sets_build_tasks() {
    let rt = Builder::new_current_thread().build().unwrap();
    rt.block_on(async {
        let mut set = join_set::JoinSet::new();
        let builder: join_set::Builder<'_, i32> = set.build_task();
        builder.name("one").spawn(async { 1 }).unwrap();
        set.build_task().spawn_blocking(|| 2).unwrap();
        let mut all = set.join_all().await;
        all.sort();
        assert_eq!(all, [1, 2]);
    });
}

#[test]
fn workers_count_what_they_do() {
    for rt in [
        Builder::new_current_thread().enable_all().build().unwrap(),
        Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap(),
    ] {
        let metrics = rt.metrics();
        rt.block_on(async {
            let tasks: Vec<_> = (0..600).map(|_| tokio::spawn(task::yield_now())).collect();
            for task in tasks {
                task.await.unwrap();
            }
            tokio::spawn(async {
                tokio::spawn(async {}).await.unwrap();
            })
            .await
            .unwrap();
        });
        assert!(metrics.worker_poll_count(0) >= 1200);
        assert!(metrics.worker_mean_poll_time(0) > std::time::Duration::ZERO);
        assert!(metrics.worker_local_schedule_count(0) >= 1);
        assert_eq!(metrics.worker_local_queue_depth(0), 0);
        assert_eq!(metrics.worker_steal_count(0), 0);
        assert_eq!(metrics.worker_steal_operations(0), 0);
        assert_eq!(metrics.worker_overflow_count(0), 0);
        panics_with("worker", || {
            metrics.worker_poll_count(1);
        });
        panics_with("worker", || {
            metrics.worker_noop_count(usize::MAX);
        });
        #[allow(deprecated)]
        {
            assert_eq!(metrics.active_tasks_count(), metrics.num_alive_tasks());
            assert_eq!(metrics.injection_queue_depth(), 0);
        }
    }
}

/// A worker that is woken for the future in `block_on` alone polls no task.
#[test]
fn waking_up_for_nothing_is_counted() {
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        for _ in 0..5 {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    });
    assert!(rt.metrics().worker_noop_count(0) >= 1);
}

#[test]
fn sources_are_counted() {
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        let receiver = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let sender = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let at = receiver.local_addr().unwrap();
        let mut buf = [0; 1];
        let send = async {
            task::yield_now().await;
            sender.send_to(b"x", at).await.unwrap();
        };
        let (received, ()) = tokio::join!(receiver.recv_from(&mut buf), send);
        received.unwrap();
        let metrics = rt.metrics();
        assert!(metrics.io_driver_fd_registered_count() >= 1);
        assert!(metrics.io_driver_ready_count() >= 1);
        let before = metrics.io_driver_fd_registered_count();
        drop((receiver, sender));
        task::yield_now().await;
        assert_eq!(metrics.io_driver_fd_registered_count(), before);
        assert!(metrics.io_driver_fd_deregistered_count() >= 1);
    });
}

#[test]
fn polls_are_timed_if_asked_for() {
    use std::time::Duration;
    use tokio::runtime::{HistogramConfiguration, LogHistogram};

    let mut multi = Builder::new_multi_thread();
    multi.worker_threads(1);
    for mut builder in [multi, Builder::new_current_thread()] {
        let rt = builder.build().unwrap();
        let metrics = rt.metrics();
        assert!(!metrics.poll_time_histogram_enabled());
        assert_eq!(metrics.poll_time_histogram_num_buckets(), 0);
        assert_eq!(metrics.poll_time_histogram_bucket_count(0, 9), 0);
        drop(rt);

        let configuration = HistogramConfiguration::log(
            LogHistogram::builder()
                .precision_exact(0)
                .min_value(Duration::from_micros(1))
                .max_value(Duration::from_secs(1)),
        );
        let rt = builder
            .enable_metrics_poll_time_histogram()
            .metrics_poll_time_histogram_configuration(configuration)
            .build()
            .unwrap();
        let metrics = rt.metrics();
        rt.block_on(async {
            let tasks: Vec<_> = (0..600).map(|_| tokio::spawn(task::yield_now())).collect();
            for task in tasks {
                task.await.unwrap();
            }
            tokio::spawn(async { std::thread::sleep(Duration::from_millis(5)) })
                .await
                .unwrap();
        });
        // Once the task is joined, its worker may not have counted the poll yet.
        drop(rt);
        let buckets = 0..metrics.poll_time_histogram_num_buckets();
        let count = |bucket| metrics.poll_time_histogram_bucket_count(0, bucket);
        let counts: Vec<u64> = buckets.map(count).collect();
        assert_eq!(counts.iter().sum::<u64>(), 1201, "{counts:?}");
        let long = (0..counts.len()).filter(|bucket| {
            let range = metrics.poll_time_histogram_bucket_range(*bucket);
            range.end > Duration::from_millis(5)
        });
        assert!(long.map(|bucket| counts[bucket]).sum::<u64>() >= 1);
        panics_with("bucket", || {
            metrics.poll_time_histogram_bucket_count(0, counts.len());
        });
        panics_with("bucket", || {
            metrics.poll_time_histogram_bucket_range(usize::MAX);
        });
    }
}

#[test]
#[allow(deprecated)]
fn the_older_names_of_histograms_work() {
    use std::time::Duration;
    use tokio::runtime::HistogramScale;

    let rt = Builder::new_current_thread()
        .enable_metrics_poll_count_histogram()
        .metrics_poll_count_histogram_scale(HistogramScale::Log)
        .metrics_poll_count_histogram_resolution(Duration::from_nanos(50))
        .metrics_poll_count_histogram_buckets(3)
        .build()
        .unwrap();
    let metrics = rt.metrics();
    assert!(metrics.poll_count_histogram_enabled());
    assert_eq!(metrics.poll_count_histogram_num_buckets(), 3);
    let ns = Duration::from_nanos;
    let range = |bucket| metrics.poll_count_histogram_bucket_range(bucket);
    assert_eq!(range(0), ns(0)..ns(64));
    assert_eq!(range(1), ns(64)..ns(128));
    assert_eq!(range(2), ns(128)..ns(u64::MAX));
    rt.block_on(rt.spawn(async {})).unwrap();
    let count = |bucket| metrics.poll_count_histogram_bucket_count(0, bucket);
    assert_eq!((0..3).map(count).sum::<u64>(), 1);
    // No bucket at all is one.
    let rt = Builder::new_current_thread()
        .enable_metrics_poll_time_histogram()
        .metrics_poll_count_histogram_buckets(0)
        .build()
        .unwrap();
    rt.block_on(rt.spawn(async {})).unwrap();
    assert_eq!(rt.metrics().poll_time_histogram_bucket_count(0, 0), 1);
    panics_with("resolution", || {
        Builder::new_current_thread().metrics_poll_count_histogram_resolution(Duration::MAX);
    });
}

#[cfg(unix)]
#[test]
fn a_child_is_started_by_the_function_that_is_given() {
    use std::io;
    use tokio::process::Command;

    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        let mut command = Command::new("false");
        command.kill_on_drop(true);
        let mut child = command
            .spawn_with(|_| std::process::Command::new("true").spawn())
            .unwrap();
        assert!(child.wait().await.unwrap().success());
        let refused = command.spawn_with(|_| Err(io::Error::other("not today")));
        assert_eq!(refused.unwrap_err().to_string(), "not today");
    });
    // Outside of a runtime nothing is started.
    panics_with("reactor", || {
        let _ = Command::new("true").spawn_with(|_| panic!("it was called"));
    });
}

#[test]
fn the_worker_of_a_current_thread_runtime_counts_what_it_queues() {
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    let metrics = rt.metrics();
    rt.block_on(async {
        for _ in 0..5 {
            tokio::spawn(async {});
        }
        // Also before its loop has had a turn.
        assert_eq!(metrics.worker_local_queue_depth(0), 5);
        assert_eq!(metrics.worker_local_schedule_count(0), 5);
        task::yield_now().await;
        assert_eq!(metrics.worker_local_queue_depth(0), 0);
    });
    assert_eq!(metrics.remote_schedule_count(), 0);
    // The first park counts as well, if nothing was polled before.
    let rt = Builder::new_current_thread().enable_all().build().unwrap();
    let metrics = rt.metrics();
    rt.block_on(async { tokio::time::sleep(std::time::Duration::from_millis(1)).await });
    assert!(metrics.worker_noop_count(0) >= 1);
}

#[test]
fn the_task_in_the_lifo_slot_is_not_in_the_queue() {
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let metrics = rt.metrics();
    rt.block_on(async move {
        let counted = tokio::spawn(async move {
            for _ in 0..3 {
                tokio::spawn(async {});
            }
            metrics.worker_local_queue_depth(0)
        });
        assert_eq!(counted.await.unwrap(), 2);
    });
}
