//! Locks, semaphores, cells, barriers and signals.
//!
//! What needs no second task runs in a tight loop inside one task, the same for every peer. Rows that
//! blitz-io publishes aim at its own ratio to Tokio where it wins, at a draw where it draws, and at
//! 1.1 where it loses.

use std::future::Future;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::case::{Case, Outcome, Plan, Target::Ratio, Wrong, expect};
use crate::meter::Meter;
use crate::primitive::{Locks, Signals};
use crate::runtime::Rt;

pub fn cases<R: Locks>() -> Vec<Case> {
    vec![
        Case::new(
            "sync/mutex_try",
            "ns/op",
            "try_lock and unlock, alone (blitz-io's row)",
            mutex_try::<R>,
        )
        .at(1, Ratio(1.2)),
        Case::new(
            "sync/rwlock_try_read",
            "ns/op",
            "try_read and unlock, alone (blitz-io's row)",
            rwlock_try_read::<R>,
        )
        .at(1, Ratio(1.2)),
        Case::new(
            "sync/rwlock_try_write",
            "ns/op",
            "try_write and unlock, alone (blitz-io's row)",
            rwlock_try_write::<R>,
        )
        .at(1, Ratio(1.2)),
        Case::new(
            "sync/semaphore_try",
            "ns/op",
            "try_acquire and release, alone (blitz-io's row)",
            semaphore_try::<R>,
        )
        .at(1, Ratio(1.2)),
        Case::new(
            "sync/once_get",
            "ns/op",
            "get from a cell that is set (blitz-io's row)",
            once_get::<R>,
        )
        .at(1, Ratio(1.1)),
        Case::new(
            "sync/once_set",
            "ns/op",
            "make a cell, set it, drop it (blitz-io's row)",
            once_set::<R>,
        )
        .at(1, Ratio(3.2)),
        Case::new(
            "sync/barrier_1",
            "ns/op",
            "make a barrier for one and wait at it (blitz-io's row, async on both sides)",
            barrier_of_one::<R>,
        )
        .at(1, Ratio(23.9)),
        Case::new(
            "sync/mutex",
            "ns/op",
            "lock().await and unlock, alone",
            mutex::<R>,
        )
        .at(1, Ratio(4.2)),
        Case::new(
            "sync/mutex_contended",
            "ns/op",
            "4 tasks lock and unlock one mutex (blitz-io's row)",
            mutex_contended::<R>,
        )
        .at(2, Ratio(2.0))
        .at(1, Ratio(8.0)),
        Case::new(
            "sync/mutex_yield",
            "ns/op",
            "4 tasks hold one mutex over a yield",
            mutex_yield::<R>,
        )
        .at(2, Ratio(3.3)),
        Case::new(
            "sync/rwlock_4r_2w",
            "ns/op",
            "4 tasks read and 2 write one lock (blitz-io's row)",
            rwlock_readers_and_writers::<R>,
        )
        .at(2, Ratio(1.1)),
        Case::new(
            "sync/rwlock_read_mostly",
            "ns/op",
            "4 tasks read one lock, and write it once in 100 times",
            rwlock_read_mostly::<R>,
        )
        .at(2, Ratio(2.5)),
        Case::new(
            "sync/semaphore_contended",
            "ns/op",
            "8 tasks acquire and release one of 2 permits (blitz-io's row)",
            semaphore_contended::<R>,
        )
        .at(2, Ratio(2.4)),
        Case::new(
            "sync/semaphore_yield",
            "ns/op",
            "8 tasks hold one of 2 permits over a yield",
            semaphore_yield::<R>,
        )
        .at(2, Ratio(1.0)),
    ]
}

pub fn signal_cases<R: Signals>() -> Vec<Case> {
    vec![
        Case::new(
            "sync/notify",
            "ns/op",
            "notify_one and notified().await, alone (blitz-io's row, async on both sides)",
            notify::<R>,
        )
        .at(1, Ratio(1.0)),
    ]
}

/// Operations between two looks at the clock.
const BATCH: u64 = 10_000;

/// Repeats an operation that never waits inside a task. It is given the number of those before it,
/// and says whether it went right.
fn repeat<R: Rt>(
    plan: &Plan,
    mut operation: impl FnMut(u64) -> bool + Send + 'static,
) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        let mut right = 0;
        loop {
            let done = meter.total();
            for n in done..done + BATCH {
                right += u64::from(operation(n));
            }
            if !meter.lap(BATCH) {
                break;
            }
        }
        expect("operations that went right", right, meter.total())?;
        Ok(Outcome::new(meter.ns_per_op(), right))
    })
}

fn mutex_try<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    let mutex = R::mutex();
    repeat::<R>(plan, move |n| match R::try_lock(&mutex) {
        Some(mut guard) => {
            *guard += 1;
            *guard == n + 1
        }
        None => false,
    })
}

fn rwlock_try_read<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    let lock = R::rw_lock();
    repeat::<R>(plan, move |_| {
        R::try_read(&lock).is_some_and(|guard| *guard == 0)
    })
}

fn rwlock_try_write<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    let lock = R::rw_lock();
    repeat::<R>(plan, move |n| match R::try_write(&lock) {
        Some(mut guard) => {
            *guard += 1;
            *guard == n + 1
        }
        None => false,
    })
}

fn semaphore_try<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    // One permit: one that is not given back shows in the next operation.
    let semaphore = R::semaphore(1);
    repeat::<R>(plan, move |_| R::try_acquire(&semaphore).is_some())
}

fn once_get<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    let cell = R::once_cell();
    expect("the cell took the value", R::set(&cell, 7), true)?;
    repeat::<R>(plan, move |_| R::get(black_box(&cell)) == Some(7))
}

fn once_set<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    repeat::<R>(plan, |n| {
        let cell = R::once_cell();
        R::set(black_box(&cell), n) && R::get(&cell) == Some(n)
    })
}

fn barrier_of_one<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        let mut leaders = 0;
        loop {
            for _ in 0..BATCH {
                let barrier = R::barrier(1);
                leaders += u64::from(R::wait(black_box(&barrier)).await);
            }
            if !meter.lap(BATCH) {
                break;
            }
        }
        expect("times the only one led", leaders, meter.total())?;
        Ok(Outcome::new(meter.ns_per_op(), leaders))
    })
}

fn notify<R: Signals>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        let notify = R::notify();
        loop {
            for _ in 0..BATCH {
                R::notify_one(&notify);
                // A signal that got lost would hang here.
                R::notified(&notify).await;
            }
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn mutex<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        let mutex = R::mutex();
        loop {
            for _ in 0..BATCH {
                *R::lock(&mutex).await += 1;
            }
            if !meter.lap(BATCH) {
                break;
            }
        }
        let count = *R::lock(&mutex).await;
        expect("times it was locked", count, meter.total())?;
        Ok(Outcome::new(meter.ns_per_op(), count))
    })
}

/// How often each task of a crowd does it between two looks at the clock.
const EACH: u64 = 10_000;

/// Runs rounds of `tasks` tasks that do something `EACH` times and return how often that went right.
fn rounds<R, F>(
    plan: &Plan,
    tasks: u64,
    task: impl Fn(u64) -> F + Send + 'static,
) -> Result<Outcome, Wrong>
where
    R: Rt,
    F: Future<Output = u64> + Send + 'static,
{
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        let mut right = 0;
        loop {
            let crowd: Vec<_> = (0..tasks).map(|n| R::spawn(task(n))).collect();
            for task in crowd {
                right += task.await;
            }
            if !meter.lap(tasks * EACH) {
                break;
            }
        }
        expect("operations that went right", right, meter.total())?;
        Ok(Outcome::new(meter.ns_per_op(), right))
    })
}

/// Adds one with a load and a store: two tasks at once, and a count is lost.
fn count_up(count: &mut u64) {
    *count = black_box(*count) + 1;
}

fn mutex_contended<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    let mutex = Arc::new(R::mutex());
    let shared = mutex.clone();
    let outcome = rounds::<R, _>(plan, 4, move |_| {
        let mutex = shared.clone();
        async move {
            for _ in 0..EACH {
                count_up(&mut *R::lock(&mutex).await);
            }
            EACH
        }
    })?;
    let count = R::try_lock(&mutex).map(|guard| *guard);
    expect("times it was locked", count, Some(outcome.checked))?;
    Ok(outcome)
}

fn mutex_yield<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    let mutex = Arc::new(R::mutex());
    let shared = mutex.clone();
    let outcome = rounds::<R, _>(plan, 4, move |_| {
        let mutex = shared.clone();
        async move {
            for _ in 0..EACH {
                let mut guard = R::lock(&mutex).await;
                let before = *guard;
                R::yield_now().await;
                // Nobody else had it meanwhile.
                *guard = before + 1;
            }
            EACH
        }
    })?;
    let count = R::try_lock(&mutex).map(|guard| *guard);
    expect("times it was locked", count, Some(outcome.checked))?;
    Ok(outcome)
}

fn rwlock_readers_and_writers<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    const READERS: u64 = 4;
    const WRITERS: u64 = 2;
    let lock = Arc::new(R::rw_lock());
    let shared = lock.clone();
    let outcome = rounds::<R, _>(plan, READERS + WRITERS, move |n| {
        let lock = shared.clone();
        async move {
            let mut right = 0;
            if n < READERS {
                let mut last = 0;
                for _ in 0..EACH {
                    let count = *R::read(&lock).await;
                    right += u64::from(count >= last);
                    last = count;
                }
            } else {
                for _ in 0..EACH {
                    count_up(&mut *R::write(&lock).await);
                    right += 1;
                }
            }
            right
        }
    })?;
    let writes = R::try_read(&lock).map(|guard| *guard).unwrap_or_default();
    let tasks = READERS + WRITERS;
    expect("writes", writes * tasks, outcome.checked * WRITERS)?;
    Ok(outcome)
}

fn rwlock_read_mostly<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    const READS_PER_WRITE: u64 = 100;
    let lock = Arc::new(R::rw_lock());
    let shared = lock.clone();
    let outcome = rounds::<R, _>(plan, 4, move |_| {
        let lock = shared.clone();
        async move {
            let (mut right, mut last) = (0, 0);
            for n in 0..EACH {
                if n % READS_PER_WRITE == 0 {
                    count_up(&mut *R::write(&lock).await);
                    right += 1;
                } else {
                    let count = *R::read(&lock).await;
                    right += u64::from(count >= last);
                    last = count;
                }
            }
            right
        }
    })?;
    let writes = R::try_read(&lock).map(|guard| *guard).unwrap_or_default();
    expect("writes", writes * READS_PER_WRITE, outcome.checked)?;
    Ok(outcome)
}

fn semaphore_contended<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    let semaphore = Arc::new(R::semaphore(2));
    rounds::<R, _>(plan, 8, move |_| {
        let semaphore = semaphore.clone();
        async move {
            for _ in 0..EACH {
                drop(R::acquire(&semaphore).await);
            }
            EACH
        }
    })
}

fn semaphore_yield<R: Locks>(plan: &Plan) -> Result<Outcome, Wrong> {
    let semaphore = Arc::new((R::semaphore(2), AtomicU64::new(0)));
    rounds::<R, _>(plan, 8, move |_| {
        let shared = semaphore.clone();
        async move {
            let (semaphore, inside) = &*shared;
            let mut right = 0;
            for _ in 0..EACH {
                let permit = R::acquire(semaphore).await;
                right += u64::from(inside.fetch_add(1, Ordering::Relaxed) < 2);
                R::yield_now().await;
                inside.fetch_sub(1, Ordering::Relaxed);
                drop(permit);
            }
            right
        }
    })
}
