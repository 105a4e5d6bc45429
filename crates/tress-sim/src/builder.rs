//! How a simulation is to be.

use crate::faults::Faults;
use crate::kernel::{self, Kernel};
use crate::name::Names;
use crate::net::{Config, Latency};
use crate::runner;
use crate::sim::Sim;
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

/// The kind of addresses that hosts get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IpVersion {
    /// Addresses of 192.168.0.0/16.
    #[default]
    V4,
    /// Addresses of fe80::/64.
    V6,
}

/// How the next of several tasks of a host that are ready is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Policy {
    /// The one that has been ready for longest, as the current-thread runtime does.
    #[default]
    Fifo,
    /// Any, each with the same probability.
    Random,
    /// By priorities that change at this many random points of a run. Finds orders that need few, but particular,
    /// deviations.
    Priorities(usize),
}

/// Configures a simulation.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use tress_sim::{Builder, Policy};
///
/// let mut sim = Builder::new()
///     .rng_seed(7)
///     .policy(Policy::Random)
///     .simulation_duration(Duration::from_secs(60))
///     .min_message_latency(Duration::from_millis(1))
///     .max_message_latency(Duration::from_millis(20))
///     .build();
/// sim.client("alone", async { Ok(()) });
/// sim.run()?;
/// # Ok::<(), tress_sim::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Builder {
    seed: u64,
    policy: Policy,
    duration: Duration,
    tick: Duration,
    epoch: Duration,
    ip_version: IpVersion,
    min_latency: Duration,
    max_latency: Duration,
    network: Config,
    faults: Option<Faults>,
}

/// The wall clock at the start, unless another one is set: the first of January 2025, in UTC.
const EPOCH: Duration = Duration::from_secs(1_735_689_600);

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// Creates a builder with the defaults: 10 seconds of virtual time, latencies up to 100 ms, no faults. The seed is that
    /// of the [run](crate::runner), or of the environment variable `TRESS_SIM_SEED`, or 0.
    ///
    /// # Panics
    /// That variable is set, and is no number.
    pub fn new() -> Builder {
        let seed = runner::seed();
        Builder {
            seed: seed.unwrap_or(0),
            policy: Policy::default(),
            duration: runner::duration().unwrap_or(Duration::from_secs(10)),
            tick: Duration::from_millis(1),
            epoch: EPOCH,
            ip_version: IpVersion::default(),
            min_latency: Duration::ZERO,
            max_latency: Duration::from_millis(100),
            network: Config::default(),
            faults: None,
        }
    }

    /// Sets the seed that decides everything that is random.
    pub fn rng_seed(&mut self, seed: u64) -> &mut Self {
        self.seed = seed;
        self
    }

    /// Sets how the next of several tasks that are ready is chosen.
    pub fn policy(&mut self, policy: Policy) -> &mut Self {
        self.policy = policy;
        self
    }

    /// Chooses tasks that are ready at random, as [`Policy::Random`] does.
    pub fn enable_random_order(&mut self) -> &mut Self {
        self.policy(Policy::Random)
    }

    /// Sets what the wall clock shows at the start. A time before 1970 counts as its beginning.
    pub fn epoch(&mut self, epoch: SystemTime) -> &mut Self {
        self.epoch = epoch
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        self
    }

    /// Sets how much virtual time a run may take: 10 seconds, unless this is called.
    pub fn simulation_duration(&mut self, duration: Duration) -> &mut Self {
        self.duration = duration;
        self
    }

    /// Sets how much virtual time [`Sim::step`] goes on by: a millisecond, unless this is called.
    pub fn tick_duration(&mut self, tick: Duration) -> &mut Self {
        self.tick = tick;
        self
    }

    /// Sets which kind of addresses hosts get.
    pub fn ip_version(&mut self, version: IpVersion) -> &mut Self {
        self.ip_version = version;
        self
    }

    /// Sets the shortest time that a packet takes from one host to another.
    pub fn min_message_latency(&mut self, latency: Duration) -> &mut Self {
        self.min_latency = latency;
        self.set_latency()
    }

    /// Sets the longest time that a packet takes from one host to another.
    pub fn max_message_latency(&mut self, latency: Duration) -> &mut Self {
        self.max_latency = latency;
        self.set_latency()
    }

    /// Sets how long packets take from one host to another, in place of a shortest and a longest time.
    pub fn latency(&mut self, latency: Latency) -> &mut Self {
        self.network.link.latency = latency;
        self
    }

    /// Has most packets take little more than the shortest time: a fifth of the range, on average.
    fn set_latency(&mut self) -> &mut Self {
        let (min, cap) = (self.min_latency, self.max_latency.max(self.min_latency));
        let mean = (cap - min) / 5;
        self.network.link.latency = Latency::Exponential { min, mean, cap };
        self
    }

    /// Sets the probability, for each packet, that its link breaks. It is between 0 and 1.
    pub fn fail_rate(&mut self, probability: f64) -> &mut Self {
        self.network.link.fail_rate = probability;
        self
    }

    /// Sets the probability, for each packet on a link that has broken so, that it is repaired. It is between 0 and 1.
    pub fn repair_rate(&mut self, probability: f64) -> &mut Self {
        self.network.link.repair_rate = probability;
        self
    }

    /// Sets the probability that a packet is lost. TCP sends it again. It is between 0 and 1.
    pub fn loss(&mut self, probability: f64) -> &mut Self {
        self.network.link.loss = probability;
        self
    }

    /// Sets the probability that a packet arrives twice. It is between 0 and 1.
    pub fn duplication(&mut self, probability: f64) -> &mut Self {
        self.network.link.duplication = probability;
        self
    }

    /// Sets the probability that a packet is overtaken by later ones. It is between 0 and 1.
    pub fn reordering(&mut self, probability: f64) -> &mut Self {
        self.network.link.reordering = probability;
        self
    }

    /// Sets how many bytes a second each link carries in each direction. Without this there is no limit.
    pub fn bandwidth(&mut self, bytes_per_second: u64) -> &mut Self {
        self.network.link.bandwidth = Some(bytes_per_second);
        self
    }

    /// Sets which ports are given to sockets that do not ask for a certain one.
    pub fn ephemeral_ports(&mut self, ports: RangeInclusive<u16>) -> &mut Self {
        self.network.ephemeral_ports = ports;
        self
    }

    /// Sets how many bytes a TCP connection holds in each direction: those that were sent and not acknowledged, and those
    /// that have arrived and were not read. It is 64 KiB, unless this is called.
    pub fn tcp_capacity(&mut self, bytes: usize) -> &mut Self {
        self.network.tcp_send_buffer = bytes;
        self.network.tcp_receive_buffer = bytes;
        self
    }

    /// Sets how many datagrams a UDP socket holds until they are read. More are lost.
    pub fn udp_capacity(&mut self, datagrams: usize) -> &mut Self {
        self.network.udp_capacity = datagrams;
        self
    }

    /// Has faults happen by themselves.
    pub fn faults(&mut self, faults: Faults) -> &mut Self {
        self.faults = Some(faults);
        self
    }

    /// Creates the simulation, without hosts.
    pub fn build<'a>(&self) -> Sim<'a> {
        let policy = match self.policy {
            Policy::Fifo => kernel::Policy::Fifo,
            Policy::Random => kernel::Policy::Random,
            Policy::Priorities(changes) => kernel::Policy::Priorities(changes),
        };
        let names = Names::new(self.ip_version == IpVersion::V6);
        let kernel = Kernel::new(self.seed, policy, self.epoch, names, self.network.clone());
        Sim::new(kernel, self.duration, self.tick, self.faults.clone())
    }
}
