//! The blocking pool.

use std::fs;
use std::time::Instant;

use crate::case::{Case, Outcome, Plan, Target::Ratio, Wrong, expect};
use crate::meter::Meter;
use crate::runtime::Rt;

pub fn cases<R: Rt>() -> Vec<Case> {
    vec![
        Case::new(
            "blocking/sequential",
            "ns/op",
            "spawn_blocking one after the other",
            sequential::<R>,
        )
        .at(2, Ratio(3.0)),
        Case::new(
            "blocking/batch64",
            "ns/op",
            "spawn_blocking in batches of 64",
            batch64::<R>,
        )
        .at(2, Ratio(2.0)),
    ]
}

/// Jobs between two looks at the clock.
const BATCH: u64 = 64;

/// The sum of what a batch of jobs returns.
const BATCH_SUM: u64 = BATCH * (BATCH - 1) / 2;

fn sequential<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        loop {
            let mut sum = 0;
            for n in 0..BATCH {
                sum += R::spawn_blocking(move || n).await;
            }
            expect("sum of the jobs' results", sum, BATCH_SUM)?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

/// Batches without a new thread after which a pool counts as grown: Tokio goes on adding threads for a
/// second or more, up to its limit of 512, and most of the time goes into that meanwhile.
const SETTLED: u32 = 100;

/// What a pool gets to settle, in warm-ups of the plan.
const SETTLE: u32 = 40;

async fn one_batch<R: Rt>() -> Result<(), Wrong> {
    let jobs: Vec<_> = (0..BATCH).map(|n| R::spawn_blocking(move || n)).collect();
    let mut sum = 0;
    for job in jobs {
        sum += job.await;
    }
    expect("sum of the jobs' results", sum, BATCH_SUM)
}

fn batch64<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let plan = plan.clone();
    rt.inside(async move {
        let give_up = Instant::now() + plan.warm_up * SETTLE;
        let (mut known, mut steady) = (0, 0);
        while steady < SETTLED && Instant::now() < give_up {
            one_batch::<R>().await?;
            let threads = threads();
            steady = if threads == known { steady + 1 } else { 0 };
            known = threads;
        }
        let mut meter = Meter::new(&plan);
        loop {
            one_batch::<R>().await?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

/// The number of threads of this process.
fn threads() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let threads = status
        .lines()
        .find_map(|line| line.strip_prefix("Threads:"));
    threads
        .and_then(|threads| threads.trim().parse().ok())
        .expect("a status has a thread count")
}
