//! Spawning and joining.

use std::future::Future;
use std::hint::black_box;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use crate::case::{Case, Outcome, Plan, Target::Ratio, Wrong, expect};
use crate::gate::Gate;
use crate::meter::Meter;
use crate::runtime::Rt;

pub fn cases<R: Rt>() -> Vec<Case> {
    vec![
        Case::new(
            "spawn/join_worker",
            "ns/op",
            "spawn 10,000 small tasks from inside a task, then await all handles",
            join_worker::<R>,
        )
        .at(2, Ratio(2.5))
        .at(1, Ratio(4.0)),
        Case::new(
            "spawn/join_outside",
            "ns/op",
            "the same from an OS thread: spawn through the handle, then block_on all handles",
            join_outside::<R>,
        )
        .at(2, Ratio(2.5)),
        Case::new(
            "spawn/await_one",
            "ns/op",
            "spawn one task, await it, repeat",
            await_one::<R>,
        )
        .at(2, Ratio(2.0))
        .at(1, Ratio(2.0)),
        Case::new(
            "spawn/fanout",
            "ns/op",
            "a tree of detached tasks with 2^14 leaves, each task spawning two",
            fanout::<R>,
        )
        .at(2, Ratio(2.0)),
    ]
}

/// Tasks between two looks at the clock.
const BATCH: u64 = 10_000;

/// The sum of what a batch of tasks returns.
const BATCH_SUM: u64 = BATCH * (BATCH - 1) / 2;

async fn small(n: u64) -> u64 {
    black_box(n)
}

fn join_worker<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        loop {
            let mut handles = Vec::with_capacity(BATCH as usize);
            for n in 0..BATCH {
                handles.push(R::spawn(small(n)));
            }
            let mut sum = 0;
            for handle in handles {
                sum += handle.await;
            }
            expect("sum of the tasks' results", sum, BATCH_SUM)?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn join_outside<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    loop {
        let mut handles = Vec::with_capacity(BATCH as usize);
        for n in 0..BATCH {
            handles.push(rt.spawn_outside(small(n)));
        }
        let sum = rt.block_on(async {
            let mut sum = 0;
            for handle in handles {
                sum += handle.await;
            }
            sum
        });
        expect("sum of the tasks' results", sum, BATCH_SUM)?;
        if !meter.lap(BATCH) {
            return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
        }
    }
}

fn await_one<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        loop {
            let mut sum = 0;
            for n in 0..BATCH {
                sum += R::spawn(small(n)).await;
            }
            expect("sum of the tasks' results", sum, BATCH_SUM)?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

/// Depth of the fan-out: 2^14 leaves.
const DEPTH: u32 = 14;

/// Tasks of one fan-out.
const TREE: u64 = (1 << (DEPTH + 1)) - 1;

/// A task that spawns two of its kind. A named type, because an `async fn` cannot spawn itself
/// unboxed.
struct Node<R> {
    depth: u32,
    tally: Arc<Tally>,
    runtime: PhantomData<fn() -> R>,
}

/// Counts the tasks of a tree; the last one opens the gate.
struct Tally {
    ran: AtomicU64,
    done: Gate,
}

impl<R: Rt> Node<R> {
    fn new(depth: u32, tally: Arc<Tally>) -> Self {
        Node {
            depth,
            tally,
            runtime: PhantomData,
        }
    }
}

impl<R: Rt> Future for Node<R> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.depth > 0 {
            for _ in 0..2 {
                R::detach(R::spawn(Node::<R>::new(self.depth - 1, self.tally.clone())));
            }
        }
        if self.tally.ran.fetch_add(1, Ordering::AcqRel) + 1 == TREE {
            self.tally.done.open();
        }
        Poll::Ready(())
    }
}

fn fanout<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        loop {
            let tally = Arc::new(Tally {
                ran: AtomicU64::new(0),
                done: Gate::new(),
            });
            R::detach(R::spawn(Node::<R>::new(DEPTH, tally.clone())));
            tally.done.pass().await;
            expect("tasks of the tree", tally.ran.load(Ordering::Acquire), TREE)?;
            if !meter.lap(TREE) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}
