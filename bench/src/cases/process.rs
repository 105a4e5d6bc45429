//! Processes: actors that add up what they are told.

use crate::actors::Actors;
use crate::case::{
    Case, Outcome, Plan,
    Target::{AtMost, Ratio},
    Wrong, expect,
};
use crate::cases::memory::resident_bytes;
use crate::meter::Meter;

pub fn cases<A: Actors>() -> Vec<Case> {
    vec![
        Case::new(
            "process/one_to_one",
            "ns/op",
            "one message, when 1 task tells 1 actor; on Tokio a task with a channel",
            |plan| tell::<A>(plan, 1),
        )
        .at(2, Ratio(1.0)),
        Case::new(
            "process/many_to_one",
            "ns/op",
            "one message, when 8 tasks tell 1 actor (200 ns are 5 M messages/s)",
            |plan| tell::<A>(plan, 8),
        )
        .at(2, AtMost(200.0)),
        Case::new(
            "process/ping_pong",
            "ns/op",
            "a question and its answer",
            ping_pong::<A>,
        )
        .at(2, Ratio(1.0)),
        Case::new(
            "process/spawn_stop",
            "ns/op",
            "start an actor, ask it, stop it, wait for its end",
            spawn_stop::<A>,
        )
        .at(2, Ratio(0.5)),
        Case::new(
            "process/fan_out",
            "ns/op",
            "one message, when 1 task tells 100 actors in turn",
            fan_out::<A>,
        )
        .at(2, Ratio(1.0)),
        Case::new(
            "process/memory",
            "B/process",
            "resident memory of an actor that was told a number and waits (a tenth of the crowd)",
            memory::<A>,
        )
        .at(2, AtMost(512.0)),
    ]
}

/// Messages between two looks at the clock.
const BATCH: u64 = 16_000;

fn tell<A: Actors>(plan: &Plan, senders: u64) -> Result<Outcome, Wrong> {
    let actors = A::start(plan.workers);
    let cx = actors.cx();
    let mut meter = Meter::new(plan);
    actors.inside(async move {
        let addr = A::spawn(&cx).await;
        let mut sum = 0;
        loop {
            let teller = |_| {
                let addr = addr.clone();
                A::beside(&cx, async move {
                    for n in 0..BATCH / senders {
                        A::tell(&addr, n).await;
                    }
                })
            };
            let tellers: Vec<_> = (0..senders).map(teller).collect();
            for teller in tellers {
                teller.await;
            }
            let each = BATCH / senders;
            sum += senders * (each * (each - 1) / 2);
            expect("sum", A::ask(&addr).await, sum)?;
            if !meter.lap(BATCH) {
                A::stop(addr).await;
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn ping_pong<A: Actors>(plan: &Plan) -> Result<Outcome, Wrong> {
    const ROUNDS: u64 = 1_000;
    let actors = A::start(plan.workers);
    let cx = actors.cx();
    let mut meter = Meter::new(plan);
    actors.inside(async move {
        let addr = A::spawn(&cx).await;
        A::tell(&addr, 7).await;
        loop {
            for _ in 0..ROUNDS {
                expect("answer", A::ask(&addr).await, 7)?;
            }
            if !meter.lap(ROUNDS) {
                A::stop(addr).await;
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn spawn_stop<A: Actors>(plan: &Plan) -> Result<Outcome, Wrong> {
    const LIVES: u64 = 100;
    let actors = A::start(plan.workers);
    let cx = actors.cx();
    let mut meter = Meter::new(plan);
    actors.inside(async move {
        loop {
            for n in 0..LIVES {
                let addr = A::spawn(&cx).await;
                A::tell(&addr, n).await;
                expect("answer", A::ask(&addr).await, n)?;
                A::stop(addr).await;
            }
            if !meter.lap(LIVES) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn fan_out<A: Actors>(plan: &Plan) -> Result<Outcome, Wrong> {
    const ACTORS: usize = 100;
    const ROUNDS: u64 = 100;
    let actors = A::start(plan.workers);
    let cx = actors.cx();
    let mut meter = Meter::new(plan);
    actors.inside(async move {
        let mut addrs = Vec::new();
        for _ in 0..ACTORS {
            addrs.push(A::spawn(&cx).await);
        }
        let mut sum = 0;
        loop {
            for _ in 0..ROUNDS {
                for addr in &addrs {
                    A::tell(addr, 1).await;
                }
            }
            sum += ROUNDS;
            for addr in &addrs {
                expect("sum", A::ask(addr).await, sum)?;
            }
            if !meter.lap(ROUNDS * ACTORS as u64) {
                for addr in addrs {
                    A::stop(addr).await;
                }
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn memory<A: Actors>(plan: &Plan) -> Result<Outcome, Wrong> {
    let actors = A::start(plan.workers);
    let cx = actors.cx();
    let crowd = plan.crowd / 10;
    let first = crowd / 10;
    actors.inside(async move {
        // Its pages are part of the first reading.
        let mut addrs = vec![A::spawn(&cx).await; first + crowd];
        let mut resident = 0;
        for (n, place) in addrs.iter_mut().enumerate() {
            if n == first {
                resident = resident_bytes();
            }
            let addr = A::spawn(&cx).await;
            A::tell(&addr, 1).await;
            expect("answer", A::ask(&addr).await, 1)?;
            *place = addr;
        }
        let grown = resident_bytes().saturating_sub(resident);
        let value = grown.max(1) as f64 / crowd as f64;
        Ok(Outcome::new(value, (first + crowd) as u64))
    })
}
