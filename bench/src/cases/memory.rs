//! What a task costs while it does nothing.

use std::fs;
use std::future;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::case::{Case, Outcome, Plan, Target::AtMost, Wrong, expect};
use crate::runtime::Rt;

pub fn cases<R: Rt>() -> Vec<Case> {
    vec![
        Case::new(
            "memory/idle_task",
            "B/task",
            "resident memory of a spawned task that waits for ever, handle kept (1 M tasks)",
            idle_task::<R>,
        )
        .at(2, AtMost(150.0)),
        Case::new(
            "memory/sleeping_task",
            "B/task",
            "resident memory of a spawned task that sleeps for an hour (1 M tasks)",
            sleeping_task::<R>,
        )
        .at(2, AtMost(270.0)),
    ]
}

/// Tasks spawned before the runtime gets time to poll them, so that no long queue swells the heap.
const CHUNK: usize = 250;

fn idle_task<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    bytes_each::<R, _>(plan, future::pending)
}

fn sleeping_task<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    bytes_each::<R, _>(plan, || R::sleep(Duration::from_secs(3600)))
}

/// Grows a crowd of tasks waiting for what `wait` makes, after a tenth of it has taken care of what
/// a runtime allocates once, and divides the growth of the resident set.
fn bytes_each<R: Rt, W>(plan: &Plan, wait: fn() -> W) -> Result<Outcome, Wrong>
where
    W: Future<Output = ()> + Send + 'static,
{
    let rt = R::start(plan.workers);
    let (first, crowd) = (plan.crowd / 10, plan.crowd);
    rt.inside(async move {
        static POLLED: AtomicU64 = AtomicU64::new(0);
        static WOKEN: AtomicU64 = AtomicU64::new(0);
        let polled_before = POLLED.load(Ordering::Acquire);
        // Every page of the vector is written before the first reading, so that it is no part of
        // the difference (the black box keeps the optimiser from asking for fresh zero pages
        // instead).
        let mut handles: Vec<Option<R::Join<()>>> = black_box(Vec::with_capacity(first + crowd));
        handles.resize_with(first + crowd, || None);
        let mut spawned = 0;
        let mut resident = 0;
        while spawned < first + crowd {
            if spawned == first {
                resident = resident_bytes();
            }
            let chunk = CHUNK.min(
                if spawned < first {
                    first
                } else {
                    first + crowd
                } - spawned,
            );
            for slot in &mut handles[spawned..spawned + chunk] {
                *slot = Some(R::spawn(async move {
                    POLLED.fetch_add(1, Ordering::AcqRel);
                    wait().await;
                    WOKEN.fetch_add(1, Ordering::AcqRel);
                }));
            }
            spawned += chunk;
            while POLLED.load(Ordering::Acquire) - polled_before < spawned as u64 {
                R::yield_now().await;
            }
        }
        let grown = resident_bytes() as f64 - resident as f64;
        expect(
            "tasks that stopped waiting",
            WOKEN.load(Ordering::Acquire),
            0,
        )?;
        let polled = POLLED.load(Ordering::Acquire) - polled_before;
        expect("first polls", polled, (first + crowd) as u64)?;
        drop(handles);
        Ok(Outcome::new(grown / crowd as f64, polled))
    })
}

/// The resident set of this process.
pub fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("/proc is mounted");
    let pages: u64 = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .expect("statm");
    pages * rustix::param::page_size() as u64
}
