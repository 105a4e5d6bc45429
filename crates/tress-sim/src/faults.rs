//! Faults that happen by themselves, as the seed decides.

use crate::draw::Stream;
use crate::runner;
use crate::runner::page::{self, Skipped};
use crate::time::Time;
use std::fmt;
use std::time::Duration;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// Two groups of hosts cannot reach each other for a while.
    Partition,
    /// What one host sends to another is lost for a while, and not what comes back.
    OneWay,
    /// What two hosts send to each other is kept for a while, and arrives then.
    Hold,
    /// All packets are lost with some probability for a while.
    Loss,
    /// All packets between two hosts take much longer for a while.
    Delay,
    /// A host loses power, and is switched on again after a while.
    Crash,
    /// The program of a host is killed, and started again after a while.
    Kill,
    /// The program of a host is asked to end by SIGTERM, killed if it has not done so after a while, and started again. Not part
    /// of a [swarm](Faults::swarm), unless it is [added](Faults::with).
    Terminate,
    /// The threads of a host do not run for a while.
    Pause,
    /// The wall clock of a host is set forward or back.
    Clock,
    /// Everything that a host does takes longer for a while.
    Slow,
}

impl Fault {
    /// Those of a swarm.
    const ALL: [Fault; 10] = [
        Fault::Partition,
        Fault::OneWay,
        Fault::Hold,
        Fault::Loss,
        Fault::Delay,
        Fault::Crash,
        Fault::Kill,
        Fault::Pause,
        Fault::Clock,
        Fault::Slow,
    ];
}

/// Faults that happen by themselves in a run. Given to [`Builder::faults`](crate::Builder::faults).
///
/// Each lasts for a while, and is undone then. Clients are neither crashed nor killed: a test that wants that of a host adds
/// it as a host. With the same seed the same faults happen at the same times.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use tress_sim::{Builder, Fault, Faults};
///
/// // A few kinds of faults, others for each seed.
/// let mut sim = Builder::new().faults(Faults::swarm()).build();
/// # sim.client("client", async { Ok(()) });
/// sim.run()?;
/// println!("{:?}", sim.fault_log());
///
/// // These kinds, one every ten seconds on average, in the first minute.
/// let faults = Faults::of([Fault::Crash, Fault::Partition])
///     .every(Duration::from_secs(10))
///     .within(Duration::from_secs(60));
/// let mut sim = Builder::new().faults(faults).build();
/// # sim.client("client", async { Ok(()) });
/// # sim.run()?;
/// # Ok::<(), tress_sim::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Faults {
    kinds: Vec<Fault>,
    is_swarm: bool,
    every: Duration,
    lasting: Duration,
    within: Duration,
}

impl Faults {
    /// Of all kinds but [`Fault::Terminate`], each seed has some: what happens together is different each time, and rare combinations are not
    /// drowned by frequent ones.
    pub fn swarm() -> Faults {
        Faults {
            is_swarm: true,
            ..Faults::of(Fault::ALL)
        }
    }

    /// Faults of these kinds.
    pub fn of(kinds: impl IntoIterator<Item = Fault>) -> Faults {
        Faults {
            kinds: kinds.into_iter().collect(),
            is_swarm: false,
            every: Duration::from_secs(2),
            lasting: Duration::from_secs(2),
            within: Duration::MAX,
        }
    }

    /// Adds faults of this kind.
    ///
    /// # Examples
    /// ```
    /// use tress_sim::{Builder, Fault, Faults};
    ///
    /// // Also tests that services end in good order.
    /// let faults = Faults::swarm().with(Fault::Terminate);
    /// let mut sim = Builder::new().faults(faults).build();
    /// # sim.client("client", async { Ok(()) });
    /// sim.run()?;
    /// # Ok::<(), tress_sim::Error>(())
    /// ```
    #[must_use]
    pub fn with(mut self, kind: Fault) -> Faults {
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
        self
    }

    /// Leaves out faults of this kind.
    #[must_use]
    pub fn without(mut self, kind: Fault) -> Faults {
        self.kinds.retain(|other| *other != kind);
        self
    }

    /// Sets the time from one fault to the next, on average. It is 2 seconds, unless this is called.
    #[must_use]
    pub fn every(mut self, mean: Duration) -> Faults {
        self.every = mean;
        self
    }

    /// Sets how long a fault lasts, on average. It is 2 seconds, unless this is called.
    #[must_use]
    pub fn lasting(mut self, mean: Duration) -> Faults {
        self.lasting = mean;
        self
    }

    /// Lets no fault begin after that time of the run. Those that have begun end.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Faults {
        self.within = time;
        self
    }
}

/// A fault that has happened in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    /// Counts the faults of a run from 0.
    pub number: usize,
    /// When it began, since the start of the run.
    pub at: Duration,
    /// What kind of fault it is.
    pub kind: Fault,
    /// How long it lasts.
    pub lasting: Duration,
    /// The hosts that it concerns, and how.
    pub what: String,
}

impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Happened {
            number,
            at,
            kind,
            lasting,
            what,
        } = self;
        write!(f, "#{number} at {at:?}: {kind:?}, {what}, for {lasting:?}")
    }
}

/// The environment variable with the numbers of faults that are left out, by which a failing run is shrunk.
const SKIPPED: &str = "TRESS_SIM_SKIP_FAULTS";

/// What is decided of the faults of a run.
#[derive(Debug)]
pub(crate) struct Plan {
    faults: Faults,
    stream: Stream,
    next: Option<Time>,
    drawn: usize,
    skipped: Skipped,
}

impl Plan {
    pub(crate) fn new(faults: Faults, seed: u64) -> Plan {
        let mut stream = Stream::new(seed, "faults");
        let mut faults = faults;
        if faults.is_swarm {
            let chosen: Vec<_> = faults
                .kinds
                .iter()
                .filter(|_| stream.happens(0.4))
                .copied()
                .collect();
            if !chosen.is_empty() {
                faults.kinds = chosen;
            }
            // Some runs have many faults, and some few.
            faults.every = faults.every.mul_f64(stream.fraction() * 2.0 + 0.2);
        }
        let skipped = match runner::is_run() {
            true => page::page().skipped(),
            false => {
                let text = std::env::var(SKIPPED).unwrap_or_default();
                Skipped::parse(&text).unwrap_or_else(|error| panic!("{SKIPPED}: {error}"))
            }
        };
        let mut plan = Plan {
            faults,
            stream,
            next: None,
            drawn: 0,
            skipped,
        };
        plan.set_next(Time::START);
        plan
    }

    fn set_next(&mut self, now: Time) {
        let wait = exponential(&mut self.stream, self.faults.every);
        let next = now + wait;
        let is_left = !self.faults.kinds.is_empty() && next.elapsed() <= self.faults.within;
        self.next = is_left.then_some(next);
    }

    /// When the next fault begins.
    pub(crate) fn next(&self) -> Option<Time> {
        self.next
    }

    /// Draws the fault that begins now: its number, what it is, and how long it lasts. `None` if it is left out.
    pub(crate) fn draw(&mut self, now: Time) -> Option<Drawn> {
        let kind = self.faults.kinds[self.stream.below(self.faults.kinds.len())];
        let lasting = exponential(&mut self.stream, self.faults.lasting);
        // All that depends on the fault is drawn from a stream of its own: leaving it out changes no other.
        let stream = Stream::new(self.stream.number(), "one fault");
        let number = self.drawn;
        self.drawn += 1;
        self.set_next(now);
        let drawn = Drawn {
            number,
            kind,
            lasting,
            stream,
        };
        (!self.skipped.has(number)).then_some(drawn)
    }
}

/// A fault that is about to begin.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) number: usize,
    pub(crate) kind: Fault,
    pub(crate) lasting: Duration,
    pub(crate) stream: Stream,
}

/// Draws a duration with that mean, at most ten times as long.
fn exponential(stream: &mut Stream, mean: Duration) -> Duration {
    let factor = -(1.0 - stream.fraction()).ln();
    mean.mul_f64(factor.min(10.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of(faults: Faults, seed: u64) -> Vec<(Time, usize, Fault, Duration)> {
        let mut plan = Plan::new(faults, seed);
        let mut all = Vec::new();
        while let Some(at) = plan.next() {
            if let Some(drawn) = plan.draw(at) {
                all.push((at, drawn.number, drawn.kind, drawn.lasting));
            }
        }
        all
    }

    #[test]
    fn a_seed_decides_what_happens_when() {
        let faults = || Faults::swarm().within(Duration::from_secs(100));
        assert_eq!(all_of(faults(), 1), all_of(faults(), 1));
        assert_ne!(all_of(faults(), 1), all_of(faults(), 2));
    }

    #[test]
    fn seeds_of_a_swarm_have_different_kinds() {
        let kinds = |seed| {
            let plan = Plan::new(Faults::swarm(), seed);
            plan.faults.kinds
        };
        let all: std::collections::BTreeSet<_> = (0..100).map(kinds).collect();
        assert!(all.len() > 50, "{}", all.len());
        assert!(all.iter().all(|kinds| !kinds.is_empty()));
    }

    #[test]
    fn options_are_kept() {
        let faults = Faults::of([Fault::Crash, Fault::Clock])
            .without(Fault::Clock)
            .every(Duration::from_secs(1))
            .lasting(Duration::from_millis(10))
            .within(Duration::from_secs(1000));
        let all = all_of(faults, 7);
        assert!((800..1200).contains(&all.len()), "{}", all.len());
        assert!(all.iter().all(|(at, _, kind, lasting)| {
            *kind == Fault::Crash
                && *lasting <= Duration::from_millis(100)
                && at.elapsed() <= Duration::from_secs(1000)
        }));
    }
}
