//! Waking: task to task on one worker, from an OS thread, and from a busy worker to an idle one.
//!
//! All but `ping_pong` wake through our own [`Gate`], so that only the scheduler differs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::case::{Case, Outcome, Plan, Target::Ratio, Wrong, expect};
use crate::gate::Gate;
use crate::meter::{Meter, burn, burn_until};
use crate::random::Random;
use crate::runtime::Rt;
use crate::stats::median;

pub fn cases<R: Rt>() -> Vec<Case> {
    vec![
        Case::new(
            "wake/ping_pong",
            "ns/op",
            "one hop of a ball between two tasks, each hop through a new oneshot channel",
            ping_pong::<R>,
        )
        .at(2, Ratio(1.5)),
        Case::new(
            "wake/ring",
            "ns/op",
            "one hop of a token in a ring of 64 tasks",
            ring::<R>,
        )
        .at(2, Ratio(1.5))
        .at(1, Ratio(1.5)),
        Case::new(
            "wake/remote_parked",
            "ns",
            "an OS thread wakes a task after 6 ms of silence, until the task runs",
            |plan| remote::<R>(plan, Silence::Long),
        )
        .at(2, Ratio(1.0)),
        Case::new(
            "wake/remote_recent",
            "ns",
            "the same 10-50 us after the task ran last",
            |plan| remote::<R>(plan, Silence::Short),
        )
        .at(2, Ratio(4.0)),
        Case::new(
            "wake/handoff_parked",
            "ns",
            "a task that keeps its worker busy wakes another, the other worker parked for 6 ms",
            |plan| handoff::<R>(plan, Silence::Long),
        )
        .at(2, Ratio(1.0)),
        Case::new(
            "wake/handoff_recent",
            "ns",
            "the same 10-50 us after the other worker ran a task",
            |plan| handoff::<R>(plan, Silence::Short),
        )
        .at(2, Ratio(8.0)),
    ]
}

/// The ball carries the way back.
struct Ball<R: Rt> {
    hops: u64,
    back: Option<R::Sender<Ball<R>>>,
}

/// Hops between two looks at the clock.
const HOPS: u64 = 10_000;

/// Returns the ball until it is told not to; the number of balls it saw.
async fn player<R: Rt>(mut inbox: R::Receiver<Ball<R>>) -> u64 {
    let mut seen = 0;
    while let Some(ball) = R::receive(inbox).await {
        seen += 1;
        let Some(back) = ball.back else { break };
        let (sender, receiver) = R::oneshot();
        R::send(
            back,
            Ball {
                hops: ball.hops + 1,
                back: Some(sender),
            },
        );
        inbox = receiver;
    }
    seen
}

fn ping_pong<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        let (mut there, inbox) = R::oneshot();
        let partner = R::spawn(player::<R>(inbox));
        let mut hops = 0;
        let mut balls = 0;
        loop {
            for _ in 0..HOPS / 2 {
                let (sender, receiver) = R::oneshot();
                R::send(
                    there,
                    Ball {
                        hops,
                        back: Some(sender),
                    },
                );
                let ball = R::receive(receiver).await;
                let ball = ball.ok_or_else(|| Wrong("the ball was lost".into()))?;
                expect("hops on the ball", ball.hops, hops + 1)?;
                there = ball.back.expect("the partner always plays on");
                hops += 2;
                balls += 1;
            }
            if !meter.lap(HOPS) {
                break;
            }
            hops = 0;
        }
        R::send(there, Ball { hops, back: None });
        expect("balls the partner saw", partner.await, balls + 1)?;
        Ok(Outcome::new(meter.ns_per_op(), meter.total()))
    })
}

const RING: usize = 64;
const LAPS: u64 = 500;

fn ring<R: Rt>(plan: &Plan) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let mut meter = Meter::new(plan);
    rt.inside(async move {
        let gates: Arc<Vec<Gate>> = Arc::new((0..RING).map(|_| Gate::new()).collect());
        loop {
            // Only the holder of the token touches it, with a load and a store: a second token
            // would show.
            let token = Arc::new(AtomicU64::new(0));
            let member = |n: usize| {
                let (gates, token) = (gates.clone(), token.clone());
                async move {
                    for _ in 0..LAPS {
                        gates[n].pass().await;
                        token.store(token.load(Ordering::Acquire) + 1, Ordering::Release);
                        gates[(n + 1) % RING].open();
                    }
                }
            };
            let members: Vec<_> = (0..RING).map(|n| R::spawn(member(n))).collect();
            gates[0].open();
            for member in members {
                member.await;
            }
            // The last hop opened the first gate, with nobody behind it.
            gates[0].pass().await;
            expect(
                "hops of the token",
                token.load(Ordering::Acquire),
                LAPS * RING as u64,
            )?;
            if !meter.lap(LAPS * RING as u64) {
                return Ok(Outcome::new(meter.ns_per_op(), meter.total()));
            }
        }
    })
}

/// How long nothing happens before a measured wake.
#[derive(Clone, Copy, PartialEq)]
enum Silence {
    /// `Plan::idle`: long enough for every worker to have parked.
    Long,
    /// 10 to 50 microseconds.
    Short,
}

/// The time between two wakes, drawn anew each time so that no runtime can be in step with it.
fn recent(random: &mut Random) -> Duration {
    Duration::from_micros(10 + random.below(40))
}

/// A task that waits at a gate and notes how long its wakes took.
struct Sleeper {
    gate: Gate,
    epoch: Instant,
    /// When the last wake began, in nanoseconds since the epoch.
    woken_at: AtomicU64,
    /// Nanoseconds that the last wake took; [`UNDER_WAY`] until it is known.
    latency: AtomicU64,
    stop: AtomicBool,
}

const UNDER_WAY: u64 = u64::MAX;

impl Sleeper {
    fn new() -> Arc<Self> {
        Arc::new(Sleeper {
            gate: Gate::new(),
            epoch: Instant::now(),
            woken_at: AtomicU64::new(0),
            latency: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        })
    }

    /// The task itself; the number of wakes it saw.
    async fn run(self: Arc<Self>) -> u64 {
        let mut wakes = 0;
        loop {
            self.gate.pass().await;
            if self.stop.load(Ordering::Acquire) {
                return wakes;
            }
            wakes += 1;
            let latency = self.now() - self.woken_at.load(Ordering::Acquire);
            self.latency.store(latency, Ordering::Release);
        }
    }

    fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    fn wake(&self) {
        self.latency.store(UNDER_WAY, Ordering::Release);
        self.woken_at.store(self.now(), Ordering::Release);
        self.gate.open();
    }

    /// What the last wake took, once it is known.
    fn latency(&self) -> Option<f64> {
        let latency = self.latency.load(Ordering::Acquire);
        (latency != UNDER_WAY).then_some(latency as f64)
    }

    /// Whether it was woken and has not run yet.
    fn under_way(&self) -> bool {
        self.latency().is_none()
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.gate.open();
    }
}

/// The median latency, without those of the warm-up.
struct Samples {
    ends_warm_up: Instant,
    ends: Instant,
    latencies: Vec<f64>,
    wakes: u64,
}

impl Samples {
    fn new(plan: &Plan) -> Self {
        let ends_warm_up = Instant::now() + plan.warm_up;
        Samples {
            ends_warm_up,
            ends: ends_warm_up + plan.measure,
            latencies: Vec::new(),
            wakes: 0,
        }
    }

    fn add(&mut self, latency: f64, counts: bool) {
        self.wakes += 1;
        if counts && Instant::now() >= self.ends_warm_up {
            self.latencies.push(latency);
        }
    }

    fn enough(&self) -> bool {
        Instant::now() >= self.ends && !self.latencies.is_empty()
    }

    fn outcome(mut self, seen: u64) -> Result<Outcome, Wrong> {
        expect("wakes that the task saw", seen, self.wakes)?;
        Ok(Outcome::new(median(&mut self.latencies), self.wakes))
    }
}

fn remote<R: Rt>(plan: &Plan, silence: Silence) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let sleeper = Sleeper::new();
    let task = rt.spawn_outside(sleeper.clone().run());
    let mut random = Random::new(5);
    let mut samples = Samples::new(plan);
    while !samples.enough() {
        match silence {
            Silence::Long => thread::sleep(plan.idle),
            Silence::Short => burn(recent(&mut random)),
        }
        sleeper.wake();
        let latency = loop {
            if let Some(latency) = sleeper.latency() {
                break latency;
            }
        };
        samples.add(latency, true);
    }
    sleeper.stop();
    samples.outcome(rt.block_on(task))
}

/// How long the busy task holds its worker after a wake, or longer if wakes follow each other.
const HOLD: Duration = Duration::from_micros(200);

/// Wakes a task from one that then keeps its worker.
///
/// A wake on a worker may put the task into a slot of that worker which nobody else looks into
/// (Tokio's LIFO slot), and it would stay there as long as the worker is busy. So a second task, a
/// decoy, is woken right behind it and takes its place in the slot; what is measured is the way to
/// the other worker. Decoys take turns, because the one in the slot cannot run, or be woken again,
/// until it has been displaced itself.
fn handoff<R: Rt>(plan: &Plan, silence: Silence) -> Result<Outcome, Wrong> {
    let rt = R::start(plan.workers);
    let plan = plan.clone();
    rt.inside(async move {
        let sleeper = Sleeper::new();
        let task = R::spawn(sleeper.clone().run());
        let decoys = [Sleeper::new(), Sleeper::new()];
        let decoy_tasks = [0, 1].map(|n: usize| R::spawn(decoys[n].clone().run()));
        let mut decoy_wakes = 0;
        let mut random = Random::new(5);
        let mut samples = Samples::new(&plan);
        while !samples.enough() {
            let silent = match silence {
                Silence::Long => plan.idle,
                Silence::Short => recent(&mut random),
            };
            burn(silent);
            let window = Instant::now() + HOLD;
            // After a yield the other worker may be anywhere: the first short silence is not
            // measured.
            let mut counts = silence == Silence::Long;
            loop {
                let decoy = &decoys[decoy_wakes as usize % 2];
                if decoy.under_way() {
                    break;
                }
                decoy_wakes += 1;
                sleeper.wake();
                decoy.wake();
                let held = Instant::now() + HOLD;
                while sleeper.under_way() && Instant::now() < held {}
                let stuck = sleeper.under_way();
                if silence == Silence::Long || stuck {
                    burn_until(held);
                    while sleeper.under_way() {
                        R::yield_now().await;
                    }
                }
                samples.add(sleeper.latency().expect("it ran"), counts);
                if silence == Silence::Long || stuck || Instant::now() >= window {
                    break;
                }
                counts = true;
                burn(recent(&mut random));
            }
            // Let the decoys run, which nobody may have taken.
            R::yield_now().await;
            while decoys.iter().any(|decoy| decoy.under_way()) {
                R::yield_now().await;
            }
        }
        sleeper.stop();
        let seen = task.await;
        let mut decoys_saw = 0;
        for (decoy, task) in decoys.iter().zip(decoy_tasks) {
            decoy.stop();
            decoys_saw += task.await;
        }
        expect("wakes that the decoys saw", decoys_saw, decoy_wakes)?;
        samples.outcome(seen)
    })
}
