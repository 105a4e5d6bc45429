//! Workers, hooks and threads that fail.

use crate::child;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use tress::runtime::{Builder, Runtime};
use tress::task::spawn_blocking;
use tress::time::{Instant, sleep, sleep_until};

#[path = "workers/places.rs"]
mod places;
#[cfg(target_os = "linux")]
#[path = "workers/threads.rs"]
mod threads;

/// What the destructor of a panic's payload says.
const PAYLOAD: &str = "the payload";

/// What a child does, by its case.
fn be(cases: &[(&str, fn())]) {
    let Some(case) = child::case() else { return };
    let found = cases.iter().find(|(name, _)| *name == case);
    // What is meant to panic does so often, and nobody reads it before the end.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let is_bomb = info.payload().is::<Bomb>();
        if !is_bomb && info.payload().downcast_ref() != Some(&PAYLOAD) {
            report(info);
        }
    }));
    found.unwrap_or_else(|| panic!("no case {case}")).1();
}

fn multi() -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all();
    builder
}

fn current() -> Builder {
    let mut builder = Builder::new_current_thread();
    builder.enable_all();
    builder
}

/// Makes the runtime's threads start, sleep, wake up and stop.
fn exercise(runtime: Runtime) {
    runtime.block_on(async {
        for _ in 0..10 {
            tress::spawn(sleep(Duration::from_millis(1))).await.unwrap();
            assert_eq!(spawn_blocking(|| 3).await.unwrap(), 3);
        }
    });
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::panic::panic_any(PAYLOAD);
    }
}

/// Panics with a payload that panics when it is dropped.
fn explode() {
    std::panic::panic_any(Bomb)
}

#[test]
fn hooks_that_panic_end_no_thread() {
    for case in ["start", "stop", "park", "unpark", "name"] {
        child::passes("workers::hooks", case);
    }
}

#[test]
fn hooks() {
    fn with(option: fn(&mut Builder) -> &mut Builder) {
        for mut builder in [multi(), current()] {
            exercise(option(&mut builder).build().unwrap());
        }
    }
    be(&[
        ("start", || with(|b| b.on_thread_start(explode))),
        ("stop", || with(|b| b.on_thread_stop(explode))),
        ("park", || with(|b| b.on_thread_park(explode))),
        ("unpark", || with(|b| b.on_thread_unpark(explode))),
        // The first worker and the first thread of the pool get a name, the others do not.
        ("name", || {
            with(|b| {
                let named = AtomicUsize::new(0);
                b.thread_name_fn(move || match named.fetch_add(1, Ordering::Relaxed) {
                    0 => "worker".into(),
                    n if std::thread::current().name() == Some("worker") || n % 2 == 0 => {
                        explode();
                        unreachable!()
                    }
                    _ => "pool".into(),
                })
            });
        }),
    ]);
}

struct Explode;

impl Wake for Explode {
    fn wake(self: Arc<Self>) {
        explode();
    }
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls once, with a waker that is not its task's.
fn wakes<F: Future>(future: Pin<&mut F>, waker: &Waker) {
    let polled = future.poll(&mut Context::from_waker(waker));
    assert!(polled.is_pending());
}

#[test]
fn wakers_that_panic_end_no_worker_and_hold_nobody() {
    for case in ["timers", "closed timers", "io", "join"] {
        child::passes("workers::wakers", case);
    }
}

#[test]
fn wakers() {
    fn on_each<F: Future<Output = ()> + Send + 'static>(make: fn() -> F) {
        for mut builder in [multi(), current()] {
            let runtime = builder.build().unwrap();
            let task = async move { tress::spawn(make()).await.unwrap() };
            runtime.block_on(task);
            exercise(runtime);
        }
    }
    be(&[
        ("timers", || on_each(timers)),
        ("closed timers", closed_timers),
        ("io", || {
            #[cfg(all(unix, feature = "net"))]
            on_each(io);
        }),
        ("join", || on_each(join)),
    ]);
}

/// More timers than are fired at once, all due at the same moment, every third of them with a waker that panics.
async fn timers() {
    const TIMERS: usize = 99;
    let count = Arc::new(Count::default());
    let due = Instant::now() + Duration::from_millis(5);
    let mut timers: Vec<_> = (0..TIMERS).map(|_| Box::pin(sleep_until(due))).collect();
    for (n, timer) in timers.iter_mut().enumerate() {
        let waker = match n % 3 {
            0 => Waker::from(Arc::new(Explode)),
            _ => Waker::from(count.clone()),
        };
        wakes(timer.as_mut(), &waker);
    }
    sleep_until(due + Duration::from_millis(1)).await;
    assert_eq!(count.0.load(Ordering::SeqCst), TIMERS / 3 * 2);
}

/// Timers that outlive the runtime are told of its end, all of them.
fn closed_timers() {
    for mut builder in [multi(), current()] {
        let runtime = builder.build().unwrap();
        let count = Arc::new(Count::default());
        let mut timers: Vec<_> = {
            let _entered = runtime.enter();
            let timer = |_| Box::pin(sleep(Duration::from_secs(1000)));
            (0..9).map(timer).collect()
        };
        for (n, timer) in timers.iter_mut().enumerate() {
            let waker = match n % 2 {
                0 => Waker::from(Arc::new(Explode)),
                _ => Waker::from(count.clone()),
            };
            wakes(timer.as_mut(), &waker);
        }
        drop(runtime);
        assert_eq!(count.0.load(Ordering::SeqCst), 4);
    }
}

/// Sockets that become ready together.
#[cfg(all(unix, feature = "net"))]
async fn io() {
    use tress::io::{AsyncReadExt, AsyncWriteExt};
    use tress::net::UnixStream;

    let count = Arc::new(Count::default());
    let mut pairs: Vec<_> = (0..9).map(|_| UnixStream::pair().unwrap()).collect();
    let mut reads = Vec::new();
    let mut far = Vec::new();
    for (n, (near, other)) in pairs.drain(..).enumerate() {
        let mut near = near;
        let mut read = Box::pin(async move { near.read_u8().await.unwrap() });
        let waker = match n % 3 {
            0 => Waker::from(Arc::new(Explode)),
            _ => Waker::from(count.clone()),
        };
        wakes(read.as_mut(), &waker);
        reads.push(read);
        far.push(other);
    }
    for other in &mut far {
        other.write_u8(7).await.unwrap();
    }
    while count.0.load(Ordering::SeqCst) < 6 {
        sleep(Duration::from_millis(1)).await;
    }
    for read in reads {
        assert_eq!(read.await, 7);
    }
}

/// A task whose end wakes somebody who panics.
async fn join() {
    let mut task = tress::spawn(sleep(Duration::from_millis(1)));
    wakes(Pin::new(&mut task), &Waker::from(Arc::new(Explode)));
    while !task.is_finished() {
        tress::task::yield_now().await;
    }
    task.await.unwrap();
}
