//! Real software in a simulation, unmodified: see `tests`.
//!
//! Each test puts a service and its clients on hosts of their own and runs them through a [`Storm`], with each of its seeds in a
//! process of its own.
//! Clients work until the storm is over, and say what must hold.

use std::fmt;
use std::time::Duration;
use tress_sim::{Builder, Policy, Sim, sim_elapsed};

/// From then on there are no faults, but that the wall clocks stay wrong.
const CALM: Duration = Duration::from_secs(30);

/// Returns whether there still are faults, or will be some.
///
/// # Panics
/// The calling thread is not one of a simulated host.
pub fn is_stormy() -> bool {
    sim_elapsed().expect("a thread of a host") < CALM
}

/// Waits until there are no faults any more.
pub async fn calm() {
    while is_stormy() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// What happens to the hosts of a test: loss, duplication and reordering of packets, a partition in both directions and
/// one in one direction that heal, the crash of a server, by loss of power or by `kill -9`, and steps of wall clocks.
/// When, how long and to which server is decided by the seed.
#[derive(Debug, Clone, Copy)]
pub struct Storm<'a> {
    /// The name of the test, which its output shows.
    pub name: &'a str,
    /// The hosts of which one crashes, and starts again.
    pub servers: &'a [&'a str],
    /// The hosts that do not crash.
    pub clients: &'a [&'a str],
    /// How far wall clocks go wrong at most.
    pub clock_error: Duration,
}

impl Default for Storm<'_> {
    fn default() -> Self {
        Storm {
            name: "",
            servers: &[],
            clients: &[],
            clock_error: Duration::from_secs(2 * 60 * 60),
        }
    }
}

/// What a storm does at a point of time.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Partition,
    PartitionOneWay,
    Repair,
    Crash,
    Kill,
    Bounce,
    StepClocks,
    Heal,
}

/// Numbers that are decided by a seed: splitmix64, by Steele, Lea and Flood.
#[derive(Debug)]
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A time between these, in milliseconds.
    fn between(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.next() % (to - from))
    }

    fn one_of<'b>(&mut self, names: &[&'b str]) -> &'b str {
        names[self.next() as usize % names.len()]
    }
}

impl Storm<'_> {
    /// Runs hosts through the storm, with the seed of the test. `add` adds them.
    ///
    /// Prints a line, which is the same whenever the seed is run.
    ///
    /// # Panics
    /// A host fails, or clients have not ended long after the storm, or end before it does.
    pub fn run(&self, add: impl FnOnce(&mut Sim<'static>)) {
        let mut sim = Builder::new()
            .policy(Policy::Random)
            .loss(0.02)
            .duplication(0.01)
            .reordering(0.02)
            .tick_duration(Duration::from_millis(10))
            .simulation_duration(20 * CALM)
            .build();
        add(&mut sim);
        let (name, seed) = (self.name, sim.seed());
        self.befall(&mut sim)
            .unwrap_or_else(|error| panic!("{name}, seed {seed}: {error}"));
        println!(
            "{name} seed {seed} events {} elapsed {:?}",
            sim.events(),
            sim.elapsed()
        );
    }

    fn befall(&self, sim: &mut Sim<'static>) -> tress_sim::Result {
        let mut draw = Draw(sim.seed());
        let server = draw.one_of(self.servers);
        let mut others: Vec<&str> = self.servers.iter().chain(self.clients).copied().collect();
        others.retain(|name| *name != server);
        for (at, fault) in plan(&mut draw) {
            while sim.elapsed() < at {
                if sim.step()? {
                    return Err(format!("the clients have ended before {fault:?}").into());
                }
            }
            match fault {
                Fault::Partition => others
                    .iter()
                    .for_each(|other| sim.partition(server, *other)),
                Fault::PartitionOneWay => {
                    let other = draw.one_of(&others);
                    match draw.next() % 2 {
                        0 => sim.partition_oneway(server, other),
                        _ => sim.partition_oneway(other, server),
                    }
                }
                Fault::Repair => others.iter().for_each(|other| sim.repair(server, *other)),
                Fault::Crash => sim.crash(server),
                Fault::Kill => sim.kill(server),
                Fault::Bounce => sim.bounce(server),
                Fault::StepClocks => {
                    for host in others.iter().copied().chain([server]) {
                        let most = self.clock_error.as_secs_f64();
                        sim.set_clock_offset(
                            host,
                            most * (draw.next() % 2001) as f64 / 1000.0 - most,
                        );
                    }
                }
                Fault::Heal => sim.heal(),
            }
        }
        sim.run()
    }
}

/// When what happens. Faults of a kind do not overlap, those of different kinds may.
fn plan(draw: &mut Draw) -> Vec<(Duration, Fault)> {
    let crash = [Fault::Crash, Fault::Kill][(draw.next() % 2) as usize];
    let mut plan = Vec::new();
    for (fault, from, to, most, undo) in [
        (Fault::Partition, 1000, 5000, 6000, Fault::Repair),
        (crash, 8000, 14_000, 4000, Fault::Bounce),
        (Fault::PartitionOneWay, 14_000, 20_000, 4000, Fault::Repair),
    ] {
        let at = draw.between(from, to);
        plan.push((at, fault));
        plan.push((at + draw.between(100, most), undo));
    }
    for _ in 0..3 {
        plan.push((draw.between(500, 25_000), Fault::StepClocks));
    }
    plan.push((Duration::from_secs(27), Fault::Heal));
    plan.sort_by_key(|(at, _)| *at);
    plan
}

/// Calls a function until it gives something, each time for at most that long. Waits a moment between two calls.
///
/// # Panics
/// It does not, although the storm has been over for long.
pub async fn persist<T, E, F>(limit: Duration, mut call: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, E>>,
    E: fmt::Debug,
{
    let mut calls_in_calm = 0;
    loop {
        let was_stormy = is_stormy();
        let failure = match tokio::time::timeout(limit, call()).await {
            Ok(Ok(value)) => return value,
            Ok(Err(error)) => format!("{error:?}"),
            Err(_) => format!("no answer in {limit:?}"),
        };
        // What the storm has broken may be found out only by a call.
        calls_in_calm += u32::from(!was_stormy);
        assert!(calls_in_calm < 10, "it still fails in the calm: {failure}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
