//! Many tasks at once.

use std::hint::black_box;

use crate::case::{Case, Outcome, Plan, Target::AtMost, Wrong, expect};
use crate::meter::Meter;
use crate::runtime::Rt;

pub fn cases<R: Rt>() -> Vec<Case> {
    vec![
        Case::new(
            "tasks/batch_spawn",
            "ns/op",
            "spawn 10,000 empty tasks by one call, if there is one for that, and await all of them",
            batch_spawn::<R>,
        )
        // Fifteen million a second.
        .at(2, AtMost(66.6))
        .at(1, AtMost(133.3)),
    ]
}

const BATCH: u64 = 10_000;

fn batch_spawn<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        loop {
            let tasks = (0..BATCH).map(|n| async move { black_box(n) });
            let sum = R::sum_of_batch(tasks).await;
            expect("sum of the results", sum, BATCH * (BATCH - 1) / 2)?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}
