//! Faults and assertions that the code under test has, invariants, and the phase in which all must become well.

use crate::choices::Made;
use crate::draw::Stream;
use crate::kernel::{self, Stopped};
use crate::runner;
use crate::runner::page::{SITES, page};
use crate::sim::Sim;
use crate::time::Time;
use crate::{Error, Result};
use std::fmt;
use std::rc::Rc;
use std::time::Duration;
use tress_chaos::{Hook, Kind, Site};

/// What may become of a site in a run.
mod bits {
    /// The run has got there.
    pub(super) const REACHED: u8 = 1;
    /// Its condition has held.
    pub(super) const HELD: u8 = 2;
}

/// The file in which [`violated`] panics, wherever an assertion stands.
pub(crate) const FILE: &str = file!();

/// The probability that a place with `buggify!` is switched on for a run.
const SWITCHED_ON: f64 = 0.25;

static HOOK: Hook = Hook {
    buggify,
    met,
    violated,
};

/// Has the macros of `tress_chaos` mean something.
pub(crate) fn install() {
    tress_chaos::install(&HOOK);
}

/// The draws of `buggify!` in a simulation.
#[derive(Debug)]
pub(crate) struct Buggify {
    seed: u64,
    stream: Stream,
    made: Rc<Made>,
}

impl Buggify {
    pub(crate) fn new(seed: u64, made: Rc<Made>) -> Buggify {
        Buggify {
            seed,
            stream: Stream::new(seed, "buggify"),
            made,
        }
    }

    /// Draws whether a site fires.
    fn fires(&mut self, site: &Site, probability: f64) -> bool {
        // By its place in the code, so that a run does not depend on which one it gets to first.
        let place = u64::from(site.line()) << 32 | u64::from(site.column());
        let is_on = Stream::new(self.seed ^ place, site.file()).happens(SWITCHED_ON);
        let happens = is_on && self.stream.happens(probability);
        happens && self.made.happens(|| format!("buggify! is true at {site}"))
    }
}

fn mark(site: &Site, holds: bool) {
    if let Some(number) = site.number() {
        let held = if holds { bits::HELD } else { 0 };
        page().mark_site(number, bits::REACHED | held);
    }
}

fn buggify(site: &'static Site, probability: f64) -> bool {
    let Some(mut kernel) = kernel::here() else {
        return false;
    };
    let fires = kernel.buggify.fires(site, probability);
    drop(kernel);
    mark(site, fires);
    fires
}

fn met(site: &'static Site, holds: bool) {
    mark(site, holds);
}

fn violated(site: &'static Site, details: fmt::Arguments<'_>) {
    // Elsewhere there may be what has nothing to do with a simulation, but not in the process of a run.
    if kernel::is_here() || runner::is_run() {
        let details = details.to_string();
        let details = details.trim_end_matches("; ");
        let message = site.message();
        match details {
            "" => panic!("{message} ({site})"),
            _ => panic!("{message} ({site}): {details}"),
        }
    }
}

/// The number of sites that runs report.
pub(crate) fn number_of_sites() -> usize {
    tress_chaos::sites().len().min(SITES)
}

/// A place that has to be reached at least once, and was not.
#[derive(Debug)]
pub(crate) struct Missed {
    site: &'static Site,
    was_reached: bool,
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.was_reached {
            true => "was reached, but never so",
            false => "was never reached",
        };
        write!(f, "{:?} ({}) {how}", self.site.message(), self.site)
    }
}

/// Returns the places that have to be reached, and were not, given what became of all.
pub(crate) fn missed(sites: &[u8]) -> Vec<Missed> {
    let all = tress_chaos::sites().iter().zip(sites);
    let missed = all.filter(|(site, bits)| {
        matches!(site.kind(), Kind::Sometimes | Kind::Reachable) && *bits & bits::HELD == 0
    });
    let missed = missed.map(|(site, bits)| Missed {
        site,
        was_reached: bits & bits::REACHED != 0,
    });
    missed.collect()
}

/// What must be so after every event.
#[derive(Default)]
pub(crate) struct Invariants<'a> {
    all: Vec<Invariant<'a>>,
    violated: Option<Error>,
}

struct Invariant<'a> {
    name: String,
    check: Box<dyn FnMut() -> Result + 'a>,
}

impl Invariants<'_> {
    /// Returns the error of an invariant that does not hold.
    pub(crate) fn take_violated(&mut self) -> Option<Error> {
        self.violated.take()
    }
}

impl fmt::Debug for Invariants<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.all.iter().map(|invariant| &invariant.name);
        f.debug_list().entries(names).finish()
    }
}

impl<'a> Sim<'a> {
    /// Adds an invariant: something that must be so after every event of the simulation, such as the step of a thread or
    /// the arrival of a packet. If it is not, the run ends with an error that says when, and what the last event was.
    ///
    /// The function is called on the thread of the simulation, not as a host, and often: it should be short. A panic in it
    /// ends the run as well.
    ///
    /// # Examples
    /// ```
    /// use std::cell::Cell;
    /// use std::time::Duration;
    /// use tress_sim::Builder;
    ///
    /// let leaders = Cell::new(0);
    /// let mut sim = Builder::new().build();
    /// sim.invariant("one leader", || match leaders.get() {
    ///     0 | 1 => Ok(()),
    ///     several => Err(format!("there are {several}").into()),
    /// });
    /// for name in ["a", "b"] {
    ///     let leaders = &leaders;
    ///     sim.client(name, async move {
    ///         tokio::time::sleep(Duration::from_secs(1)).await;
    ///         leaders.set(leaders.get() + 1);
    ///         Ok(())
    ///     });
    /// }
    /// let error = sim.run().unwrap_err().to_string();
    /// assert!(error.contains("\"one leader\" does not hold: there are 2"), "{error}");
    /// ```
    pub fn invariant(&mut self, name: impl Into<String>, check: impl FnMut() -> Result + 'a) {
        let (name, check) = (name.into(), Box::new(check));
        self.invariants.all.push(Invariant { name, check });
        self.kernel_mut().stop_after_events();
    }

    /// Runs until that time, or until something is to be looked at. Checks invariants after each event.
    pub(crate) fn go(&mut self, until: Time) -> Stopped {
        loop {
            let stopped = self.run_kernel(until);
            let checks = self.invariants.all.iter_mut();
            let violated = checks
                .map(|one| (&one.name, (one.check)()))
                .find(|(_, result)| result.is_err());
            if let Some((name, Err(error))) = violated {
                let text = format!("the invariant {name:?} does not hold: {error}");
                let (now, last) = (self.elapsed(), self.kernel().last_event());
                let text = format!("{text}\n  at {now:?} of virtual time; the last event: {last}");
                self.invariants.violated = Some(text.into());
                return Stopped::Asked;
            }
            if stopped != Stopped::Event {
                return stopped;
            }
        }
    }

    /// Ends all faults of the network, and requires that a condition comes true within that virtual time from now: what has
    /// survived the faults must also get well again.
    ///
    /// The condition is looked at after each [tick](crate::Builder::tick_duration).
    ///
    /// # Errors
    /// It has not come true in time, or a program or an invariant fails.
    ///
    /// # Panics
    /// With the panic of a host's program.
    ///
    /// # Examples
    /// ```
    /// use std::cell::Cell;
    /// use std::time::Duration;
    /// use tress_sim::Builder;
    ///
    /// let is_ready = Cell::new(false);
    /// let mut sim = Builder::new().build();
    /// sim.host("server", || async {
    ///     tokio::time::sleep(Duration::from_secs(3)).await;
    ///     is_ready.set(true);
    ///     std::future::pending().await
    /// });
    /// assert!(sim.heal_and_require(|| is_ready.get(), Duration::from_secs(1)).is_err());
    /// sim.heal_and_require(|| is_ready.get(), Duration::from_secs(5))?;
    /// # Ok::<(), tress_sim::Error>(())
    /// ```
    pub fn heal_and_require(
        &mut self,
        mut condition: impl FnMut() -> bool,
        within: Duration,
    ) -> Result {
        self.heal();
        let end = self.kernel().now + within;
        loop {
            if condition() {
                return Ok(());
            }
            let now = self.kernel().now;
            if now >= end {
                let report = self.kernel().report();
                let text =
                    format!("without faults, this has not come true within {within:?}:\n{report}");
                return Err(text.into());
            }
            self.advance(end.min(now + self.tick()))?;
        }
    }
}
