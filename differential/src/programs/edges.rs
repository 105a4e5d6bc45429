//! Arguments at the edges of their range, calls in the wrong place, and futures that outlive their runtime. A
//! seed is the number of a case.

use super::tokio;
use std::fmt::Debug;
use std::future::{Future, pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, broadcast, mpsc, oneshot, watch,
};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{self, Duration, Instant, MissedTickBehavior};

type Case = (&'static str, fn() -> String);

pub fn run(seed: u64) -> Vec<String> {
    let Some((name, case)) = CASES.get(seed as usize) else {
        return Vec::new();
    };
    let text = match catch_unwind(case) {
        Ok(text) => text,
        // What it says is compared by `crates/tokio/tests/words.rs`.
        Err(_) => "panicked".to_string(),
    };
    vec![format!("{name}: {text}")]
}

fn text(value: impl Debug) -> String {
    format!("{value:?}")
}

fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

fn paused() -> Runtime {
    let mut builder = Builder::new_current_thread();
    let builder = builder.enable_all().start_paused(true);
    builder.build().expect("a runtime")
}

fn multi() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    let builder = builder.worker_threads(1).enable_all();
    builder.build().expect("a runtime")
}

fn poll<F: Future>(future: F) -> Poll<F::Output> {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    future.as_mut().poll(&mut cx)
}

/// Whether it is ready, or panics, in a poll of its own.
fn polled<F: Future>(future: F) -> &'static str {
    match catch_unwind(AssertUnwindSafe(|| poll(future).is_ready())) {
        Ok(true) => "ready",
        Ok(false) => "pending",
        Err(_) => "panicked",
    }
}

const FAR: Duration = Duration::from_secs(1 << 40);

const CASES: &[Case] = &[
    ("MAX_PERMITS", || text(Semaphore::MAX_PERMITS)),
    ("Semaphore::new(MAX)", || {
        text(Semaphore::new(Semaphore::MAX_PERMITS).available_permits())
    }),
    ("Semaphore::new(MAX + 1)", || {
        text(Semaphore::new(Semaphore::MAX_PERMITS + 1).available_permits())
    }),
    ("Semaphore::new(usize::MAX)", || {
        text(Semaphore::new(usize::MAX).available_permits())
    }),
    ("add_permits beyond MAX", || {
        let semaphore = Semaphore::new(1);
        let added = catch_unwind(AssertUnwindSafe(|| {
            semaphore.add_permits(Semaphore::MAX_PERMITS)
        }));
        text(added.is_ok())
    }),
    ("add_permits(usize::MAX)", || {
        let semaphore = Semaphore::new(1);
        let added = catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(usize::MAX)));
        text((added.is_ok(), semaphore.available_permits()))
    }),
    ("acquire_many(0) of none", || {
        polled(Semaphore::new(0).acquire_many(0)).into()
    }),
    ("acquire_many(0) of a closed one", || {
        let semaphore = Semaphore::new(0);
        semaphore.close();
        text(poll(semaphore.acquire_many(0)).map(|permit| permit.is_ok()))
    }),
    ("acquire_many(u32::MAX)", || {
        polled(Semaphore::new(1).acquire_many(u32::MAX)).into()
    }),
    ("try_acquire_many(u32::MAX)", || {
        text(Semaphore::new(1).try_acquire_many(u32::MAX).err())
    }),
    ("forget_permits(usize::MAX)", || {
        text(Semaphore::new(3).forget_permits(usize::MAX))
    }),
    ("split by too many, and by none", || {
        let semaphore = Arc::new(Semaphore::new(3));
        let mut permit = semaphore.clone().try_acquire_many_owned(2).unwrap();
        let (many, none) = (permit.split(usize::MAX), permit.split(0));
        let counts = (many.map(|p| p.num_permits()), none.map(|p| p.num_permits()));
        text((counts, permit.num_permits()))
    }),
    ("merge of two semaphores' permits", || {
        let (one, two) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(1)));
        let mut permit = one.clone().try_acquire_owned().unwrap();
        let other = two.clone().try_acquire_owned().unwrap();
        let merged = catch_unwind(AssertUnwindSafe(|| permit.merge(other)));
        drop(permit);
        text((
            merged.is_ok(),
            one.available_permits(),
            two.available_permits(),
        ))
    }),
    ("with_max_readers(0)", || {
        text(RwLock::with_max_readers((), 0).try_read().is_ok())
    }),
    ("with_max_readers(u32::MAX >> 3)", || {
        text(
            RwLock::with_max_readers((), u32::MAX >> 3)
                .try_read()
                .is_ok(),
        )
    }),
    ("with_max_readers(u32::MAX)", || {
        text(RwLock::with_max_readers((), u32::MAX).try_read().is_ok())
    }),
    ("Barrier::new(usize::MAX)", || {
        polled(Barrier::new(usize::MAX).wait()).into()
    }),
    ("Barrier::new(0)", || polled(Barrier::new(0).wait()).into()),
    ("mpsc::channel(0)", || {
        text(mpsc::channel::<u8>(0).0.capacity())
    }),
    // A larger one is refused by Tokio only.
    ("mpsc::channel(MAX_PERMITS)", || {
        let (sender, mut receiver) = mpsc::channel::<u8>(Semaphore::MAX_PERMITS);
        let reserved = poll(sender.reserve_many(5)).map(|permits| permits.unwrap().len());
        sender.try_send(1).unwrap();
        let left = sender.capacity();
        text((reserved, left, receiver.try_recv(), sender.capacity()))
    }),
    ("reserve_many of too many", || {
        let (sender, _receiver) = mpsc::channel::<u8>(2);
        let max = poll(sender.reserve_many(usize::MAX)).map(|permits| permits.is_ok());
        let three = poll(sender.reserve_many(3)).map(|permits| permits.is_ok());
        text((max, three, sender.capacity()))
    }),
    ("try_reserve_many of too many", || {
        let (sender, _receiver) = mpsc::channel::<u8>(2);
        let max = sender.try_reserve_many(usize::MAX).is_ok();
        text((max, sender.capacity()))
    }),
    ("recv_many(usize::MAX)", || {
        let (sender, mut receiver) = mpsc::channel(4);
        sender.try_send(1).unwrap();
        sender.try_send(2).unwrap();
        let mut buffer = vec![0];
        let count = poll(receiver.recv_many(&mut buffer, usize::MAX));
        text((count, buffer))
    }),
    ("recv_many(0)", || {
        let (_sender, mut receiver) = mpsc::channel::<u8>(4);
        text(poll(receiver.recv_many(&mut Vec::new(), 0)))
    }),
    ("broadcast::channel(0)", || {
        text(broadcast::channel::<u8>(0).0.len())
    }),
    ("broadcast::channel(usize::MAX)", || {
        text(broadcast::channel::<u8>(usize::MAX).0.len())
    }),
    ("broadcast::Sender::new(0)", || {
        text(broadcast::Sender::<u8>::new(0).len())
    }),
    ("a oneshot polled after its end", || {
        let (sender, mut receiver) = oneshot::channel();
        sender.send(1).unwrap();
        let first = poll(&mut receiver);
        text((first, polled(&mut receiver)))
    }),
    ("a closed oneshot's poll and try_recv", || {
        let (_sender, mut receiver) = oneshot::channel::<u8>();
        receiver.close();
        let tried = receiver.try_recv();
        text((tried, polled(&mut receiver)))
    }),
    ("a cell set twice", || {
        let cell = OnceCell::new();
        text((cell.set(1).is_ok(), cell.set(2).is_ok(), cell.get()))
    }),
    ("a watch without receivers", || {
        let (sender, receiver) = watch::channel(1);
        drop(receiver);
        let sent = sender.send(2).is_ok();
        let value = *sender.borrow();
        text((sent, value, sender.send_replace(3)))
    }),
    ("sleep(MAX)", || {
        runtime().block_on(async { text(polled(time::sleep(Duration::MAX))) })
    }),
    ("sleep_until long ago", || {
        paused().block_on(async {
            time::advance(FAR).await;
            text(polled(time::sleep_until(Instant::now() - FAR)))
        })
    }),
    ("sleep_until far", || {
        paused().block_on(async { text(polled(time::sleep_until(Instant::now() + FAR))) })
    }),
    ("timeout(MAX)", || {
        runtime().block_on(async {
            let never = polled(time::timeout(Duration::MAX, pending::<()>()));
            text((never, polled(time::timeout(Duration::MAX, ready(1)))))
        })
    }),
    ("timeout(ZERO)", || {
        paused().block_on(async {
            let never = polled(time::timeout(Duration::ZERO, pending::<()>()));
            text((never, polled(time::timeout(Duration::ZERO, ready(1)))))
        })
    }),
    ("timeout_at long ago", || {
        paused().block_on(async {
            let deadline = Instant::now() - Duration::from_millis(100);
            let never = polled(time::timeout_at(deadline, pending::<()>()));
            text((never, polled(time::timeout_at(deadline, ready(1)))))
        })
    }),
    ("interval(ZERO)", || {
        runtime().block_on(async { text(time::interval(Duration::ZERO).period()) })
    }),
    ("interval_at(ZERO)", || {
        let at = || time::interval_at(Instant::now(), Duration::ZERO);
        runtime().block_on(async { text(at().period()) })
    }),
    ("interval(1 ns)", || {
        paused().block_on(async {
            let mut interval = time::interval(Duration::from_nanos(1));
            interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
            let first = polled(interval.tick());
            time::advance(Duration::from_secs(1 << 20)).await;
            text((first, polled(interval.tick()), polled(interval.tick())))
        })
    }),
    ("interval_at far", || {
        paused().block_on(async {
            let mut interval = time::interval_at(Instant::now() + FAR, Duration::from_secs(1));
            let first = polled(interval.tick());
            time::advance(FAR * 2).await;
            text((first, polled(interval.tick()), polled(interval.tick())))
        })
    }),
    ("interval of days, missed for years, skipping", || {
        paused().block_on(async {
            let start = Instant::now();
            let mut interval = time::interval(Duration::from_secs(86_400));
            interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
            interval.tick().await;
            time::advance(Duration::from_secs(86_400 * 1_000 + 5)).await;
            let late = interval.tick().await - start;
            let next = interval.tick().await - start;
            text((late, next))
        })
    }),
    ("advance(MAX)", || {
        let runtime = paused();
        let moved = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(time::advance(Duration::MAX))
        }));
        text(moved.is_ok())
    }),
    ("advance(ZERO)", || {
        paused().block_on(async {
            let start = Instant::now();
            time::advance(Duration::ZERO).await;
            text(start.elapsed())
        })
    }),
    ("advance of a clock that goes", || {
        runtime().block_on(async {
            time::advance(Duration::from_secs(1)).await;
            "ok".into()
        })
    }),
    ("pause twice", || {
        runtime().block_on(async {
            time::pause();
            time::pause();
            "ok".into()
        })
    }),
    ("resume without pause", || {
        runtime().block_on(async {
            time::resume();
            "ok".into()
        })
    }),
    ("resume twice", || {
        paused().block_on(async {
            time::resume();
            time::resume();
            "ok".into()
        })
    }),
    ("pause, resume, pause", || {
        paused().block_on(async {
            time::resume();
            time::pause();
            time::sleep(Duration::from_secs(1 << 30)).await;
            "ok".into()
        })
    }),
    ("pause with workers", || {
        multi().block_on(async {
            time::pause();
            "ok".into()
        })
    }),
    ("pause outside", || {
        time::pause();
        "ok".into()
    }),
    ("Instant + MAX", || {
        text(Instant::now() + Duration::MAX > Instant::now())
    }),
    ("Instant - MAX", || {
        text(Instant::now() - Duration::MAX < Instant::now())
    }),
    ("Instant::checked_add(MAX), checked_sub(MAX)", || {
        let now = Instant::now();
        let (add, sub) = (
            now.checked_add(Duration::MAX),
            now.checked_sub(Duration::MAX),
        );
        text((add.is_some(), sub.is_some()))
    }),
    ("time from later to earlier", || {
        let now = Instant::now();
        let later = now + FAR;
        text((
            now - later,
            now.duration_since(later),
            now.checked_duration_since(later),
            later.elapsed(),
        ))
    }),
    ("sleep outside", || {
        text(polled(time::sleep(Duration::from_millis(1))))
    }),
    ("timeout outside", || {
        text(polled(time::timeout(Duration::from_millis(1), ready(1))))
    }),
    ("interval outside", || {
        text(time::interval(Duration::from_secs(1)).period())
    }),
    ("sleep without a clock", || {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async { text(polled(time::sleep(Duration::from_millis(1)))) })
    }),
    ("sleep polled before and after its runtime", || {
        let runtime = runtime();
        let mut sleep = Box::pin(runtime.block_on(async { time::sleep(FAR) }));
        let before = {
            let _entered = runtime.enter();
            polled(sleep.as_mut())
        };
        drop(runtime);
        text((before, polled(sleep.as_mut())))
    }),
    ("sleep awaited on another runtime, its own gone", || {
        let first = runtime();
        let mut sleep = Box::pin(first.block_on(async { time::sleep(FAR) }));
        first.block_on(async {
            assert_eq!(polled(sleep.as_mut()), "pending");
        });
        drop(first);
        runtime().block_on(async { text(polled(sleep.as_mut())) })
    }),
    ("Handle::current outside", || {
        text(Handle::current().metrics().num_workers())
    }),
    ("spawn outside", || {
        drop(tokio::spawn(async {}));
        "ok".into()
    }),
    ("spawn_local outside", || {
        drop(tokio::task::spawn_local(async {}));
        "ok".into()
    }),
    ("spawn_local on a runtime without a set", || {
        runtime().block_on(async {
            drop(tokio::task::spawn_local(async {}));
            "ok".into()
        })
    }),
    ("spawn on a handle whose runtime is gone", || {
        let runtime = runtime();
        let handle = runtime.handle().clone();
        drop(runtime);
        let join = handle.spawn(async { 1 });
        text(poll(join).map(|result| result.map_err(|error| error.is_cancelled())))
    }),
    ("spawn_blocking on a handle whose runtime is gone", || {
        let runtime = runtime();
        let handle = runtime.handle().clone();
        drop(runtime);
        let join = handle.spawn_blocking(|| 1);
        text(poll(join).map(|result| result.map_err(|error| error.is_cancelled())))
    }),
    ("block_on inside", || {
        runtime().block_on(async {
            Handle::current().block_on(async {});
            "ok".into()
        })
    }),
    ("a runtime dropped inside", || {
        let inner = runtime();
        runtime().block_on(async move {
            drop(inner);
            "ok".into()
        })
    }),
    ("block_in_place with one thread", || {
        runtime().block_on(async { text(tokio::task::block_in_place(|| 1)) })
    }),
    ("block_in_place outside", || {
        text(tokio::task::block_in_place(|| 1))
    }),
    ("blocking_lock inside", || {
        let mutex = Mutex::new(1);
        runtime().block_on(async { text(*mutex.blocking_lock()) })
    }),
    ("blocking_send and blocking_recv inside", || {
        let (sender, mut receiver) = mpsc::channel(1);
        let sent = catch_unwind(AssertUnwindSafe(|| {
            runtime().block_on(async { sender.blocking_send(1).is_ok() })
        }));
        let received = catch_unwind(AssertUnwindSafe(|| {
            runtime().block_on(async { receiver.blocking_recv() })
        }));
        text((sent.is_ok(), received.is_ok()))
    }),
    ("a oneshot's blocking_recv inside", || {
        let (sender, receiver) = oneshot::channel();
        sender.send(1).unwrap();
        runtime().block_on(async { text(receiver.blocking_recv()) })
    }),
    ("a handle polled after its end", || {
        runtime().block_on(async {
            let mut handle = tokio::spawn(async { 1 });
            let first = (&mut handle).await.unwrap();
            text((first, polled(&mut handle)))
        })
    }),
    ("an empty set of tasks", || {
        runtime().block_on(async {
            let mut set = JoinSet::<u8>::new();
            set.abort_all();
            set.shutdown().await;
            text((
                set.join_next().await.is_none(),
                set.try_join_next().is_none(),
                set.join_all().await,
            ))
        })
    }),
    ("join_all with one that panics", || {
        runtime().block_on(async {
            let mut set = JoinSet::new();
            set.spawn(async { panic!("on purpose") });
            text(set.join_all().await)
        })
    }),
    ("a local set dropped with tasks in it", || {
        let local = LocalSet::new();
        let handle = local.spawn_local(pending::<()>());
        drop(local);
        text(poll(handle).map(|result| result.map_err(|error| error.is_cancelled())))
    }),
    ("worker_threads(0)", || {
        text(
            Builder::new_multi_thread()
                .worker_threads(0)
                .build()
                .is_ok(),
        )
    }),
    ("max_blocking_threads(0)", || {
        text(
            Builder::new_multi_thread()
                .max_blocking_threads(0)
                .build()
                .is_ok(),
        )
    }),
    ("global_queue_interval(0)", || {
        text(
            Builder::new_current_thread()
                .global_queue_interval(0)
                .build()
                .is_ok(),
        )
    }),
    ("event_interval(0)", || {
        text(
            Builder::new_current_thread()
                .event_interval(0)
                .build()
                .is_ok(),
        )
    }),
    ("start_paused with workers", || {
        text(
            Builder::new_multi_thread()
                .worker_threads(1)
                .enable_time()
                .start_paused(true)
                .build()
                .expect("a panic there is an error here, which programs do not expect")
                .metrics()
                .num_workers(),
        )
    }),
    ("start_paused without a clock", || {
        text(
            Builder::new_current_thread()
                .start_paused(true)
                .build()
                .is_ok(),
        )
    }),
    ("thread_keep_alive(MAX)", || {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.thread_keep_alive(Duration::MAX).build().unwrap();
        text(
            runtime
                .block_on(async { tokio::task::spawn_blocking(|| 1).await })
                .ok(),
        )
    }),
    ("shutdown_timeout(MAX)", || {
        let runtime = multi();
        drop(runtime.spawn_blocking(|| ()));
        runtime.shutdown_timeout(Duration::MAX);
        "ok".into()
    }),
    ("notifications that nobody hears", || {
        let notify = Notify::new();
        notify.notify_waiters();
        notify.notify_one();
        notify.notify_one();
        notify.notify_last();
        text((polled(notify.notified()), polled(notify.notified())))
    }),
];
