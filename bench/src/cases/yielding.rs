//! Tasks that give way to each other.

use std::future::{Future, poll_fn};
use std::pin::pin;

use crate::case::{Case, Outcome, Plan, Target::Ratio, Wrong, expect};
use crate::meter::Meter;
use crate::runtime::Rt;

pub fn cases<R: Rt>() -> Vec<Case> {
    vec![
        Case::new(
            "yield/many",
            "ns/op",
            "1,000 tasks, each yields 1,000 times",
            many::<R>,
        )
        .at(2, Ratio(1.5))
        .at(1, Ratio(1.5)),
    ]
}

const TASKS: u64 = 1_000;

/// Drives `future` and counts its polls: proof that a yield did go back to the scheduler.
pub async fn count_polls<F: Future>(future: F) -> (F::Output, u64) {
    let mut future = pin!(future);
    let mut polls = 0;
    let output = poll_fn(|cx| {
        polls += 1;
        future.as_mut().poll(cx)
    })
    .await;
    (output, polls)
}

async fn yield_often<R: Rt>(yields: u64) -> u64 {
    let ((), polls) = count_polls(async {
        for _ in 0..yields {
            R::yield_now().await;
        }
    })
    .await;
    polls
}

fn many<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    let yields = plan.yields;
    rt.inside(async move {
        loop {
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| R::spawn(yield_often::<R>(yields)))
                .collect();
            for task in tasks {
                expect("polls of a task", task.await, yields + 1)?;
            }
            if !meter.lap(TASKS * yields) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}
