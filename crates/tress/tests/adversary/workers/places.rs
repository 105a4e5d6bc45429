//! Runtimes that end, or are used, where nobody expects it; and options at the ends of their ranges.

use super::{be, current, exercise, multi};
use crate::child;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use tress::runtime::{Builder, Handle, Runtime};
use tress::task::spawn_blocking;
use tress::time::sleep;

#[test]
fn odd_places_hang_nobody() {
    for case in [
        "end in start",
        "end in park",
        "end in unpark",
        "use in hooks",
        "forgotten guards",
        "extremes",
    ] {
        child::passes("workers::places::odd_places", case);
    }
    // Windows runs these destructors under a lock without which no thread can end, so that none can be waited for.
    if cfg!(not(windows)) {
        for case in ["end in thread local", "end in thread local of the pool"] {
            child::passes("workers::places::odd_places", case);
        }
    }
}

#[test]
fn odd_places() {
    be(&[
        ("end in start", || end_in(|b, f| b.on_thread_start(f))),
        ("end in park", || end_in(|b, f| b.on_thread_park(f))),
        ("end in unpark", || end_in(|b, f| b.on_thread_unpark(f))),
        ("end in thread local", end_in_thread_local),
        ("end in thread local of the pool", end_in_the_pool),
        ("use in hooks", use_in_hooks),
        ("forgotten guards", forgotten_guards),
        ("extremes", extremes),
    ]);
}

type Hook = Box<dyn Fn() + Send + Sync>;

/// The runtime is dropped by a hook on one of its own threads.
fn end_in(option: fn(&mut Builder, Hook) -> &mut Builder) {
    let place = Arc::new(Mutex::new(None::<Runtime>));
    let (ended, has_ended) = mpsc::channel();
    let mut builder = multi();
    let hook = {
        let (place, ended) = (place.clone(), Mutex::new(ended));
        move || {
            let runtime = place.lock().unwrap().take();
            if let Some(runtime) = runtime {
                // In a worker's own time that panics, as everywhere in asynchronous code.
                let dropped = catch_unwind(AssertUnwindSafe(|| drop(runtime)));
                ended.lock().unwrap().send(dropped.is_ok()).unwrap();
            }
        }
    };
    option(&mut builder, Box::new(hook));
    let runtime = builder.build().unwrap();
    let handle = runtime.handle().clone();
    *place.lock().unwrap() = Some(runtime);
    let task = handle.spawn(sleep_a_moment());
    has_ended.recv().unwrap();
    // It was finished or cancelled.
    let _ = handle.block_on(task);
    assert!(handle.block_on(handle.spawn(async {})).is_err());
}

async fn sleep_a_moment() {
    sleep(Duration::from_millis(1)).await;
}

thread_local! {
    static LAST: Cell<Option<Runtime>> = const { Cell::new(None) };
}

fn end_in_thread_local() {
    for mut builder in [multi(), current()] {
        let keep = std::thread::spawn(move || {
            let runtime = builder.build().unwrap();
            runtime.block_on(async { tress::spawn(sleep_a_moment()).await.unwrap() });
            drop(runtime.spawn(std::future::pending::<()>()));
            LAST.set(Some(runtime));
        });
        keep.join().unwrap();
    }
}

/// The last thread of the pool ends, and with it what it keeps: the runtime that the pool belongs to.
fn end_in_the_pool() {
    for mut builder in [multi(), current()] {
        let builder = builder.thread_keep_alive(Duration::from_millis(1));
        let (stopped, has_stopped) = mpsc::channel::<()>();
        let runtime = Arc::new(Mutex::new(Some(builder.build().unwrap())));
        let handle = runtime.lock().unwrap().as_ref().unwrap().handle().clone();
        let pending = handle.spawn(async move {
            let _stopped = stopped;
            std::future::pending::<()>().await;
        });
        let closure = handle.spawn_blocking(move || LAST.set(runtime.lock().unwrap().take()));
        drop(handle);
        drop((pending, closure));
        // Disconnected when the task is dropped.
        assert!(has_stopped.recv().is_err());
    }
}

/// Hooks see the runtime whose thread they run on, and may use it.
fn use_in_hooks() {
    /// How often each of them has been called, and how often it got to its end.
    type Calls = Arc<[(AtomicUsize, AtomicUsize); 4]>;
    fn hook(calls: &Calls, number: usize) -> impl Fn() + Send + Sync + 'static {
        let calls = calls.clone();
        move || {
            let (called, ended) = &calls[number];
            if called.fetch_add(1, Ordering::SeqCst) < 5 {
                let handle = Handle::current();
                drop(handle.spawn(async {}));
                drop(handle.spawn_blocking(|| ()));
                handle.metrics();
            }
            ended.fetch_add(1, Ordering::SeqCst);
        }
    }
    for mut builder in [multi(), current()] {
        let calls = Calls::default();
        let runtime = builder
            .on_thread_start(hook(&calls, 0))
            .on_thread_stop(hook(&calls, 1))
            .on_thread_park(hook(&calls, 2))
            .on_thread_unpark(hook(&calls, 3))
            .build()
            .unwrap();
        exercise(runtime);
        for (called, ended) in &*calls {
            let called = called.load(Ordering::SeqCst);
            assert!(called > 0);
            assert_eq!(ended.load(Ordering::SeqCst), called);
        }
    }
}

/// A guard that is never dropped leaves its thread in the runtime. That concerns whoever forgot it, and not the
/// end of the runtime.
fn forgotten_guards() {
    for mut builder in [multi(), current()] {
        let (started, stopped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let count = |counter: &Arc<AtomicUsize>| {
            let counter = counter.clone();
            move || {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        };
        let runtime = builder
            .on_thread_start(count(&started))
            .on_thread_stop(count(&stopped))
            .build()
            .unwrap();
        let other = Builder::new_current_thread().build().unwrap();
        let (own, others) = (runtime.handle().clone(), other.handle().clone());
        let task = runtime.spawn(async move {
            std::mem::forget(own.enter());
            std::mem::forget(others.enter());
        });
        // Where the thread is the caller's, it is the caller who is told.
        let _ = catch_unwind(AssertUnwindSafe(|| runtime.block_on(task)));
        drop(runtime);
        drop(other);
        let threads = started.load(Ordering::SeqCst);
        assert_eq!(stopped.load(Ordering::SeqCst), threads);
    }
}

fn extremes() {
    type Option = fn(&mut Builder) -> &mut Builder;
    let works: [Option; 12] = [
        |b| b.thread_keep_alive(Duration::MAX),
        |b| b.thread_keep_alive(Duration::ZERO),
        |b| b.max_blocking_threads(usize::MAX),
        |b| b.max_blocking_threads(1),
        |b| b.blocking_queue_bound(usize::MAX),
        |b| b.blocking_queue_bound(0),
        |b| b.event_interval(u32::MAX),
        |b| b.event_interval(1),
        |b| b.global_queue_interval(u32::MAX),
        |b| b.global_queue_interval(1),
        |b| b.lifo_limit(u8::MAX),
        |b| b.thread_stack_size(0),
    ];
    for option in works {
        for mut builder in [multi(), current()] {
            exercise(option(&mut builder).build().unwrap());
        }
    }
    let fails: [Option; 6] = [
        |b| b.max_blocking_threads(0),
        |b| b.event_interval(0),
        |b| b.global_queue_interval(0),
        |b| b.worker_threads(usize::MAX),
        |b| b.task_budget(0),
        |b| b.spin_window(Duration::MAX),
    ];
    for option in fails {
        for mut builder in [multi(), current()] {
            assert!(option(&mut builder).build().is_err());
        }
    }
    // No thread has such a stack.
    let mut huge = multi();
    huge.thread_stack_size(usize::MAX);
    assert!(huge.clone().eager_start(true).build().is_err());
    let mut current = current();
    let runtime = current.thread_stack_size(usize::MAX).build().unwrap();
    assert!(runtime.handle().try_spawn_blocking(|| ()).is_err());
    for timeout in [Duration::MAX, Duration::ZERO] {
        for mut builder in [multi(), super::current()] {
            let runtime = builder.build().unwrap();
            runtime.block_on(async { spawn_blocking(|| ()).await.unwrap() });
            drop(runtime.spawn(std::future::pending::<()>()));
            runtime.shutdown_timeout(timeout);
        }
    }
}
