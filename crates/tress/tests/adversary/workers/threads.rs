//! Threads that cannot be had. Needs the rights to become another user, whose number of threads is then limited.

use super::be;
use crate::child;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tress::runtime::{Builder, Handle, worker_index};
use tress::task::{block_in_place, spawn_blocking, yield_now};
use tress::time::sleep;

/// Allows this process so many more threads than it has. True if that could be done.
fn allow_threads(more: usize) -> bool {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
    let user = 40_000 + std::process::id() % 20_000;
    let limit = libc::rlimit {
        rlim_cur: (threads + more) as libc::rlim_t,
        rlim_max: 1000,
    };
    // SAFETY: plain system calls; the pointer is to a value that lives for as long as the call takes.
    unsafe {
        let is_root = libc::geteuid() == 0;
        // The second time it is that user already.
        let is_other = is_root && libc::setresuid(user, user, user) == 0;
        (is_other || libc::geteuid() == user)
            && libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit) == 0
    }
}

#[test]
fn what_cannot_have_a_thread_hangs_nobody() {
    // SAFETY: it has no conditions.
    if unsafe { libc::geteuid() } != 0 {
        println!("SKIPPED: only root can become a user with few threads");
        return;
    }
    for case in [
        "no thread",
        "one thread",
        "two threads",
        "three threads",
        "block in place",
        "blocking pool",
        "blocking pool without a thread",
        "more threads later",
    ] {
        child::passes("workers::threads::few_threads", case);
    }
}

#[test]
fn few_threads() {
    be(&[
        ("no thread", no_thread),
        ("one thread", || some_threads(1)),
        ("two threads", || some_threads(2)),
        ("three threads", || some_threads(3)),
        ("block in place", in_place),
        ("blocking pool", blocking_pool),
        ("blocking pool without a thread", blocking_pool_without),
        ("more threads later", more_threads_later),
    ]);
}

fn builder(workers: usize) -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).enable_all();
    builder
}

/// What a panic says.
fn panic_of(f: impl FnOnce()) -> String {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
    *payload.downcast::<String>().unwrap()
}

/// Whoever needs a worker is told that there is none; whoever needs none is served.
fn no_thread() {
    assert!(allow_threads(0));
    let error = builder(4).eager_start(true).build().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}");
    let runtime = builder(4).build().unwrap();
    assert_eq!(runtime.block_on(async { 7 }), 7);
    let says = |text: String| assert!(text.contains("worker thread"), "{text}");
    says(panic_of(|| drop(runtime.spawn(async {}))));
    says(panic_of(|| {
        runtime.block_on(async { sleep(Duration::from_millis(1)).await })
    }));
    says(panic_of(|| {
        let handle = runtime.handle();
        drop(handle.spawn_batch((0..3).map(|n| async move { n })));
    }));
    #[cfg(feature = "net")]
    runtime.block_on(async {
        let (near, _far) = tress::net::UnixStream::pair().unwrap();
        let error = near.readable().await.unwrap_err();
        says(error.to_string());
    });
    assert!(runtime.metrics().worker_start_failures() >= 3);
    drop(runtime);
    // Where none is needed nothing changes.
    let current = Builder::new_current_thread().enable_all().build();
    current.unwrap().block_on(async {
        tress::spawn(sleep(Duration::from_millis(1))).await.unwrap();
    });
}

/// Timers and sockets of `block_on` go to workers that have a thread; there is no other.
fn some_threads(threads: usize) {
    assert!(allow_threads(threads));
    for eager in [false, true] {
        let runtime = builder(4).eager_start(eager).build().unwrap();
        for round in 0..2 {
            runtime.block_on(use_everything(round == 0));
        }
        assert!(runtime.metrics().worker_start_failures() > 0);
        drop(runtime);
    }
}

async fn use_everything(timers_first: bool) {
    if timers_first {
        for _ in 0..8 {
            sleep(Duration::from_millis(1)).await;
        }
    }
    #[cfg(feature = "net")]
    for _ in 0..8 {
        use tress::io::{AsyncReadExt, AsyncWriteExt};
        let (mut near, mut far) = tress::net::UnixStream::pair().unwrap();
        let write = async {
            yield_now().await;
            far.write_u8(7).await.unwrap();
        };
        let (read, ()) = tress::join!(near.read_u8(), write);
        assert_eq!(read.unwrap(), 7);
    }
    // Tasks too, of which more are ready than workers have threads.
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            tress::spawn(async {
                tress::spawn(yield_now()).await.unwrap();
                sleep(Duration::from_millis(1)).await;
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// Nobody can take over: the task is told so, and the worker goes on.
fn in_place() {
    // The worker and its monitor.
    assert!(allow_threads(2));
    let runtime = builder(1).build().unwrap();
    let nested = || Handle::current().block_on(async { tress::spawn(async { 5 }).await.unwrap() });
    let task = runtime.spawn(async move { block_in_place(nested) });
    let error = runtime.block_on(task).unwrap_err();
    let payload = error.into_panic();
    let text = payload.downcast_ref::<String>().unwrap();
    assert!(text.contains("block_in_place"), "{text}");
    for _ in 0..3 {
        let task = runtime.spawn(async {
            sleep(Duration::from_millis(1)).await;
            tress::spawn(async { 5 }).await.unwrap()
        });
        assert_eq!(runtime.block_on(task).unwrap(), 5);
    }
    // With a thread to spare it works again.
    assert!(allow_threads(1));
    let task = runtime.spawn(async move { block_in_place(nested) });
    assert_eq!(runtime.block_on(task).unwrap(), 5);
}

/// One thread runs all closures, if no more can be had.
fn blocking_pool() {
    assert!(allow_threads(1));
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let closures: Vec<_> = (0..50).map(|n| spawn_blocking(move || n)).collect();
        for (n, closure) in closures.into_iter().enumerate() {
            assert_eq!(closure.await.unwrap(), n);
        }
    });
}

/// Without any the closure comes back, or the call panics; it never waits for ever.
fn blocking_pool_without() {
    assert!(allow_threads(0));
    let runtime = Builder::new_current_thread().build().unwrap();
    assert!(runtime.handle().try_spawn_blocking(|| ()).is_err());
    let text = panic_of(|| drop(runtime.spawn_blocking(|| ())));
    assert!(text.contains("thread"), "{text}");
    assert!(allow_threads(1));
    let closure = runtime.spawn_blocking(|| 3);
    assert_eq!(runtime.block_on(closure).unwrap(), 3);
}

/// Workers that had to do without a thread get one when there is work for them and the system allows it.
fn more_threads_later() {
    const WORKERS: usize = 3;
    assert!(allow_threads(1));
    let runtime = builder(WORKERS).build().unwrap();
    runtime.block_on(use_everything(true));
    assert!(allow_threads(10));
    let seen = Arc::new(Mutex::new(HashSet::new()));
    while seen.lock().unwrap().len() < WORKERS {
        let tasks = (0..2 * WORKERS).map(|_| {
            let seen = seen.clone();
            async move {
                // For long enough that another worker is called for the rest.
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_millis(2) {}
                seen.lock().unwrap().extend(worker_index());
            }
        });
        for done in runtime.block_on(runtime.handle().spawn_batch(tasks)) {
            done.unwrap();
        }
    }
}
