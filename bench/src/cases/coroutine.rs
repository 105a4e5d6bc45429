//! Coroutines. Tokio has none: its row is may.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::resident_bytes;
use crate::case::{Case, Outcome, Plan, Target::AtMost, Target::Ratio, Wrong, expect};
use crate::meter::Meter;
use crate::stackful::Stackful;

pub fn cases<S: Stackful>() -> Vec<Case> {
    vec![
        Case::new(
            "coroutine/switch",
            "ns/op",
            "100 coroutines yield in turn: from one's yield to the next one's; on Tokio with may",
            switch::<S>,
        )
        .at(1, AtMost(120.0))
        .at(2, AtMost(120.0)),
        Case::new(
            "coroutine/spawn_join",
            "ns/op",
            "spawn a coroutine from another and join it, repeat; on Tokio with may",
            spawn_join::<S>,
        )
        .at(1, AtMost(600.0))
        .at(2, AtMost(600.0)),
        Case::new(
            "coroutine/channel",
            "ns/op",
            "a value goes to and fro between two coroutines, by two channels; on Tokio with may",
            channel::<S>,
        )
        .at(1, Ratio(1.0))
        .at(2, Ratio(1.0)),
        Case::new(
            "coroutine/memory",
            "B/task",
            "resident memory of a coroutine that waits for ever (20,000 of them); on Tokio with may",
            memory::<S>,
        )
        .at(2, AtMost(8192.0)),
    ]
}

/// Coroutines that yield in turn.
const TURNS: u64 = 100;

fn switch<S: Stackful>(plan: &Plan) -> Result<Outcome, Wrong> {
    let mut meter = Meter::new(plan);
    let yields = plan.yields;
    S::start(plan.workers).inside(move || {
        loop {
            let coroutines: Vec<_> = (0..TURNS)
                .map(|_| {
                    S::spawn(move || {
                        let mut yielded = 0;
                        while yielded < yields {
                            S::yield_now();
                            yielded += 1;
                        }
                        yielded
                    })
                })
                .collect();
            let yielded: u64 = coroutines.into_iter().map(S::join).sum();
            expect("yields", yielded, TURNS * yields)?;
            if !meter.lap(yielded) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

/// Coroutines between two looks at the clock.
const BATCH: u64 = 1_000;

fn spawn_join<S: Stackful>(plan: &Plan) -> Result<Outcome, Wrong> {
    let mut meter = Meter::new(plan);
    S::start(plan.workers).inside(move || {
        loop {
            let joined = (0..BATCH).map(|n| S::join(S::spawn(move || black_box(n))));
            expect("sum of the results", joined.sum(), BATCH * (BATCH - 1) / 2)?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn channel<S: Stackful>(plan: &Plan) -> Result<Outcome, Wrong> {
    let mut meter = Meter::new(plan);
    S::start(plan.workers).inside(move || {
        let (there, mut from_here) = S::channel();
        let (back, mut from_there) = S::channel();
        let echo = S::spawn(move || {
            let mut echoed = 0;
            while let Some(value) = S::receive(&mut from_here) {
                S::send(&back, value + 1);
                echoed += 1;
            }
            echoed
        });
        let mut sent = 0;
        loop {
            for _ in 0..BATCH {
                S::send(&there, sent);
                sent += 1;
                expect("what came back", S::receive(&mut from_there), Some(sent))?;
            }
            // Two messages each.
            if !meter.lap(2 * BATCH) {
                drop(there);
                expect("messages echoed", S::join(echo), sent)?;
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

/// Spawned before they get time to run.
const CHUNK: u64 = 250;

fn memory<S: Stackful>(plan: &Plan) -> Result<Outcome, Wrong> {
    // More than 32,000 stacks with guards of their own are more mappings than a process may have.
    let crowd = plan.crowd as u64 / 50;
    let first = crowd / 10;
    let runtime = S::start(plan.workers);
    let outcome = runtime.inside(move || {
        static BEGUN: AtomicU64 = AtomicU64::new(0);
        static ENDED: AtomicU64 = AtomicU64::new(0);
        let before = BEGUN.load(Ordering::Acquire);
        let grow = |by: u64, total: &mut u64| {
            let until = *total + by;
            while *total < until {
                let chunk = CHUNK.min(until - *total);
                for _ in 0..chunk {
                    drop(S::spawn(|| {
                        BEGUN.fetch_add(1, Ordering::AcqRel);
                        S::park();
                        ENDED.fetch_add(1, Ordering::AcqRel);
                    }));
                }
                *total += chunk;
                while BEGUN.load(Ordering::Acquire) - before < *total {
                    S::yield_now();
                }
            }
        };
        let mut total = 0;
        grow(first, &mut total);
        let resident = resident_bytes();
        grow(crowd, &mut total);
        let grown = resident_bytes() as f64 - resident as f64;
        expect("that stopped waiting", ENDED.load(Ordering::Acquire), 0)?;
        let begun = BEGUN.load(Ordering::Acquire) - before;
        expect("that began", begun, first + crowd)?;
        Ok(Outcome::new(grown / crowd as f64, begun))
    });
    drop(runtime);
    outcome
}
