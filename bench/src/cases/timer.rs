//! Timeouts and sleeps.

use std::future;
use std::hint::black_box;
use std::time::{Duration, Instant};

use super::yielding::count_polls;
use crate::case::{Case, Outcome, Plan, Target::Ratio, Wrong, expect};
use crate::meter::{Meter, process_cpu};
use crate::random::Random;
use crate::runtime::Rt;
use crate::stats::percentile;

pub fn cases<R: Rt>() -> Vec<Case> {
    vec![
        Case::new(
            "timer/timeout_ready",
            "ns/op",
            "timeout around a ready future",
            timeout_ready::<R>,
        )
        .at(2, Ratio(10.0)),
        Case::new(
            "timer/timeout_yield",
            "ns/op",
            "timeout around a future that yields once",
            timeout_yield::<R>,
        )
        .at(2, Ratio(3.0))
        .at(1, Ratio(2.5)),
        Case::new(
            "timer/sleeps_1m",
            "cpu s",
            "process CPU time of 1 M tasks that sleep 1-1000 ms each",
            sleeps::<R>,
        )
        .at(2, Ratio(2.0)),
        Case::new(
            "timer/sleeps_1m_lateness",
            "p99 us",
            "how late the same sleeps end (99th percentile)",
            sleeps::<R>,
        )
        .at(2, Ratio(1.0))
        .measured_by("timer/sleeps_1m", 1),
    ]
}

/// Timeouts between two looks at the clock.
const BATCH: u64 = 1_000;

/// The sum of what a batch of timeouts lets through.
const BATCH_SUM: u64 = BATCH * (BATCH - 1) / 2;

/// Never reached.
const LIMIT: Duration = Duration::from_secs(10);

fn timeout_ready<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        loop {
            let mut sum = 0;
            for n in 0..BATCH {
                let ready = future::ready(black_box(n));
                sum += R::timeout(black_box(LIMIT), ready)
                    .await
                    .unwrap_or(u64::MAX / BATCH);
            }
            expect("sum of what came through", sum, BATCH_SUM)?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn timeout_yield<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    let yields = plan.yields;
    rt.inside(async move {
        loop {
            let tasks: Vec<_> = (0..YIELDERS)
                .map(|_| R::spawn(yield_in_time::<R>(yields)))
                .collect();
            for task in tasks {
                expect("what came through, polls", task.await, (yields, yields + 1))?;
            }
            if !meter.lap(YIELDERS * yields) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

/// As many tasks as in `yield/many`, so that the difference between the two is the timeout.
const YIELDERS: u64 = 1_000;

/// How many yields ended in time, and in how many polls.
async fn yield_in_time<R: Rt>(yields: u64) -> (u64, u64) {
    count_polls(async {
        let mut in_time = 0;
        for _ in 0..yields {
            in_time += u64::from(R::timeout(LIMIT, R::yield_now()).await.is_ok());
        }
        in_time
    })
    .await
}

/// Sleeps spawned before the spawning task gives way to those that are due.
const CHUNK: usize = 250;

fn sleeps<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut random = Random::new(1);
    let crowd = plan.crowd;
    let cpu_before = process_cpu();
    let late = rt.inside(async move {
        let mut sleeps = Vec::with_capacity(crowd);
        while sleeps.len() < crowd {
            for _ in 0..CHUNK.min(crowd - sleeps.len()) {
                sleeps.push(R::spawn(sleep::<R>(Duration::from_millis(
                    1 + random.below(1000),
                ))));
            }
            R::yield_now().await;
        }
        let mut late = Vec::with_capacity(crowd);
        for sleep in sleeps {
            late.push(sleep.await);
        }
        late
    });
    let cpu = process_cpu() - cpu_before;
    let mut late: Vec<f64> = late
        .into_iter()
        .flatten()
        .map(|late| late.as_secs_f64() * 1e6)
        .collect();
    expect("sleeps that did not end early", late.len(), crowd)?;
    late.sort_by(f64::total_cmp);
    let values = vec![cpu.as_secs_f64(), percentile(&late, 0.99)];
    Ok(Outcome {
        values,
        checked: crowd as u64,
    })
}

/// How late a sleep ended; `None` if it was early.
async fn sleep<R: Rt>(duration: Duration) -> Option<Duration> {
    let deadline = Instant::now() + duration;
    R::sleep(duration).await;
    Instant::now().checked_duration_since(deadline)
}
