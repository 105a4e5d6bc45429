//! Channels: alone in one task, and between tasks.
//!
//! As in [`super::sync`], rows that blitz-io publishes aim at its own ratio to Tokio.

use crate::case::{
    Case, Outcome, Plan,
    Target::{AtMost, Ratio},
    Wrong, expect,
};
use crate::meter::Meter;
use crate::primitive::{Broadcast, Queue, Shared, TryOneshot, Watch};
use crate::runtime::Rt;

/// Of a channel with one receiver.
pub fn queue_cases<R: Rt, Q: Queue>() -> Vec<Case> {
    vec![
        Case::new(
            "channel/fill",
            "ns/op",
            "try_send 100,000 messages into a new channel of that size (blitz-io's row)",
            fill_and_drain::<R, Q>,
        )
        .at(1, Ratio(2.2)),
        Case::new(
            "channel/drain",
            "ns/op",
            "try_recv the same messages (blitz-io's row)",
            fill_and_drain::<R, Q>,
        )
        .at(1, Ratio(1.6))
        .measured_by("channel/fill", 1),
        Case::new(
            "channel/round_trip",
            "ns/op",
            "try_send and try_recv, capacity 1 (blitz-io's row)",
            round_trip::<R, Q>,
        )
        .at(1, Ratio(2.0)),
        Case::new(
            "channel/mpsc_1_1",
            "ns/op",
            "1 task sends, 1 receives, capacity 1,000",
            |plan| stream::<R, Q>(plan, 1),
        )
        .at(2, Ratio(1.6)),
        Case::new(
            "channel/mpsc_8_1",
            "ns/op",
            "8 tasks send, 1 receives, capacity 1,000",
            |plan| stream::<R, Q>(plan, 8),
        )
        .at(2, Ratio(1.6)),
    ]
}

/// Of a channel with many receivers.
pub fn shared_cases<R: Rt, Q: Shared>() -> Vec<Case> {
    vec![
        Case::new(
            "channel/mpmc_4_4",
            "ns/op",
            "4 tasks send, 4 receive, capacity 1,000; on Tokio with async-channel (blitz-io's row)",
            many_to_many::<R, Q>,
        )
        .at(2, Ratio(2.0)),
    ]
}

/// Of a channel without capacity.
pub fn rendezvous_cases<R: Rt, Q: Queue>() -> Vec<Case> {
    vec![
        Case::new(
            "channel/rendezvous",
            "ns/op",
            "hand a value over without a buffer; on Tokio with flume",
            rendezvous::<R, Q>,
        )
        .at(1, AtMost(250.0)),
    ]
}

pub fn oneshot_cases<R: Rt>() -> Vec<Case> {
    vec![
        Case::new(
            "channel/oneshot",
            "ns/op",
            "make a channel for one value, send, await it",
            oneshot::<R>,
        )
        .at(1, Ratio(1.6)),
    ]
}

pub fn try_oneshot_cases<R: TryOneshot>() -> Vec<Case> {
    vec![
        Case::new(
            "channel/oneshot_try",
            "ns/op",
            "make a channel for one value, send, try_recv (blitz-io's row)",
            oneshot_try::<R>,
        )
        .at(1, Ratio(3.9)),
    ]
}

pub fn broadcast_cases<R: Broadcast>() -> Vec<Case> {
    vec![
        Case::new(
            "channel/broadcast_try_4",
            "ns/op",
            "send, and try_recv by each of 4 receivers (blitz-io's row)",
            broadcast_try::<R>,
        )
        .at(1, Ratio(2.2)),
        Case::new(
            "channel/broadcast_1_8",
            "ns/op",
            "one delivery, when 1 task sends to 8",
            broadcast::<R>,
        )
        .at(2, Ratio(2.5)),
    ]
}

pub fn watch_cases<R: Watch>() -> Vec<Case> {
    vec![
        Case::new(
            "channel/watch_borrow",
            "ns/op",
            "send and borrow (blitz-io's row)",
            watch_borrow::<R>,
        )
        .at(1, Ratio(3.3)),
        Case::new(
            "channel/watch_1_4",
            "ns/op",
            "send and yield, while 4 tasks wait for changes",
            watch::<R>,
        )
        .at(2, Ratio(2.0)),
    ]
}

/// Operations between two looks at the clock.
const BATCH: u64 = 10_000;

/// The sum of the numbers below `count`.
fn sum_below(count: u64) -> u64 {
    count * (count - 1) / 2
}

fn fill_and_drain<R: Rt, Q: Queue>(plan: &Plan) -> Result<Outcome, Wrong> {
    const MESSAGES: u64 = 100_000;
    let rt = R::start(plan.workers);
    let (mut filling, mut draining) = (Meter::new(plan), Meter::new(plan));
    rt.inside(async move {
        loop {
            let (sender, mut receiver) = Q::bounded(MESSAGES as usize);
            filling.resume();
            let sent: u64 = (0..MESSAGES)
                .map(|n| u64::from(Q::try_send(&sender, n)))
                .sum();
            let more = filling.lap(MESSAGES);
            draining.resume();
            let mut sum = 0;
            while let Some(n) = Q::try_receive(&mut receiver) {
                sum += n;
            }
            let more = draining.lap(MESSAGES) || more;
            expect("messages sent", sent, MESSAGES)?;
            expect("sum of what came out", sum, sum_below(MESSAGES))?;
            if !more {
                return Ok(Outcome {
                    values: vec![filling.ns_per_op(), draining.ns_per_op()],
                    checked: draining.total(),
                });
            }
        }
    })
}

fn round_trip<R: Rt, Q: Queue>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        let (sender, mut receiver) = Q::bounded(1);
        loop {
            let mut sum = 0;
            for n in 0..BATCH {
                if Q::try_send(&sender, n) {
                    sum += Q::try_receive(&mut receiver).unwrap_or_default();
                }
            }
            expect("sum of what came back", sum, sum_below(BATCH))?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

const CAPACITY: usize = 1_000;

/// Sends the numbers below `count`; how many there was somebody for.
async fn send_all<Q: Queue>(sender: Q::Sender, count: u64) -> u64 {
    let mut sent = 0;
    for n in 0..count {
        sent += u64::from(Q::send(&sender, n).await);
    }
    sent
}

/// Receives until nobody sends any more: how many messages, and their sum.
async fn receive_all<Q: Queue>(mut receiver: Q::Receiver) -> (u64, u64) {
    let (mut count, mut sum) = (0, 0);
    while let Some(n) = Q::receive(&mut receiver).await {
        count += 1;
        sum += n;
    }
    (count, sum)
}

fn stream<R: Rt, Q: Queue>(plan: &Plan, senders: u64) -> Result<Outcome, Wrong> {
    exchange::<R, Q>(plan, senders, |receiver| vec![receiver])
}

fn many_to_many<R: Rt, Q: Shared>(plan: &Plan) -> Result<Outcome, Wrong> {
    exchange::<R, Q>(plan, 4, |receiver| {
        let more = (1..4).map(|_| Q::another(&receiver)).collect::<Vec<_>>();
        [receiver].into_iter().chain(more).collect()
    })
}

/// Sends batches from some tasks to others, through a new channel each time.
fn exchange<R: Rt, Q: Queue>(
    plan: &Plan,
    senders: u64,
    receivers: fn(Q::Receiver) -> Vec<Q::Receiver>,
) -> Result<Outcome, Wrong> {
    const MESSAGES: u64 = 80_000;
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        let each = MESSAGES / senders;
        loop {
            let (sender, receiver) = Q::bounded(CAPACITY);
            let receiving: Vec<_> = receivers(receiver)
                .into_iter()
                .map(|receiver| R::spawn(receive_all::<Q>(receiver)))
                .collect();
            let sending: Vec<_> = (0..senders)
                .map(|_| R::spawn(send_all::<Q>(sender.clone(), each)))
                .collect();
            drop(sender);
            for task in sending {
                expect("messages a task sent", task.await, each)?;
            }
            let (mut count, mut sum) = (0, 0);
            for task in receiving {
                let received = task.await;
                count += received.0;
                sum += received.1;
            }
            expect("messages received", count, MESSAGES)?;
            expect("their sum", sum, senders * sum_below(each))?;
            if !meter.lap(MESSAGES) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn rendezvous<R: Rt, Q: Queue>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        loop {
            let (sender, receiver) = Q::bounded(0);
            let receiving = R::spawn(receive_all::<Q>(receiver));
            let sending = R::spawn(send_all::<Q>(sender, BATCH));
            expect("values handed over", sending.await, BATCH)?;
            let received = receiving.await;
            expect("count and sum", received, (BATCH, sum_below(BATCH)))?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn oneshot<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        loop {
            let mut sum = 0;
            for n in 0..BATCH {
                let (sender, receiver) = R::oneshot();
                R::send(sender, n);
                sum += R::receive(receiver).await.unwrap_or_default();
            }
            expect("sum of what came out", sum, sum_below(BATCH))?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn oneshot_try<R: TryOneshot>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        loop {
            let sum: u64 = (0..BATCH).filter_map(R::pass).sum();
            expect("sum of what came out", sum, sum_below(BATCH))?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn broadcast_try<R: Broadcast>(plan: &Plan) -> Result<Outcome, Wrong> {
    const LISTENERS: u64 = 4;
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        let (sender, mut listeners) = R::broadcast(16, LISTENERS as usize);
        loop {
            let mut sum = 0;
            for n in 0..BATCH {
                if R::announce(&sender, n) {
                    let heard = listeners.iter_mut().filter_map(R::try_hear);
                    sum += heard.sum::<u64>();
                }
            }
            expect("sum of what was heard", sum, LISTENERS * sum_below(BATCH))?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn broadcast<R: Broadcast>(plan: &Plan) -> Result<Outcome, Wrong> {
    const LISTENERS: u64 = 8;
    // All that a round sends fits, so nobody may miss anything.
    const MESSAGES: u64 = 8_192;
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        let (sender, mut listeners) = R::broadcast(MESSAGES as usize, LISTENERS as usize);
        loop {
            let hear = |mut listener: R::Listener| {
                R::spawn(async move {
                    let mut sum = 0;
                    for _ in 0..MESSAGES {
                        sum += R::hear(&mut listener).await.unwrap_or_default();
                    }
                    (listener, sum)
                })
            };
            let hearing: Vec<_> = listeners.into_iter().map(hear).collect();
            for n in 0..MESSAGES {
                expect("room for a message", R::announce(&sender, n), true)?;
                if n % 64 == 63 {
                    R::yield_now().await;
                }
            }
            listeners = Vec::new();
            for task in hearing {
                let (listener, sum) = task.await;
                expect("sum of what was heard", sum, sum_below(MESSAGES))?;
                listeners.push(listener);
            }
            if !meter.lap(MESSAGES * LISTENERS) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn watch_borrow<R: Watch>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        let (sender, watcher) = R::watch();
        loop {
            let mut sum = 0;
            for n in 0..BATCH {
                R::show(&sender, n);
                sum += R::look(&watcher);
            }
            expect("sum of what was seen", sum, sum_below(BATCH))?;
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

fn watch<R: Watch>(plan: &Plan) -> Result<Outcome, Wrong> {
    const WATCHERS: usize = 4;
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        loop {
            let (sender, watcher) = R::watch();
            let look = |mut watcher: R::Watcher| {
                R::spawn(async move {
                    let mut last = 0;
                    while last < BATCH {
                        let seen = R::changed(&mut watcher).await;
                        expect("newer than the last", seen > last, true)?;
                        last = seen;
                    }
                    Ok(last)
                })
            };
            let watching: Vec<_> = (0..WATCHERS).map(|_| look(watcher.clone())).collect();
            for n in 1..=BATCH {
                R::show(&sender, n);
                R::yield_now().await;
            }
            for task in watching {
                expect("the last value seen", task.await?, BATCH)?;
            }
            if !meter.lap(BATCH) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}
