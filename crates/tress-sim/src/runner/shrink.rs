//! Makes a failure simpler: finds out what of all that is left to chance it takes.
//!
//! For each kind of choice there is a set of those that are *kept*: drawn, as in the run that has failed. All others are the usual
//! ones. Parts are left out, halves first, and stay out if the run still fails in the same way. A run that fails earlier makes fewer
//! choices, and those that it does not make go, too.
//!
//! That ends where no part can go alone, though others could take the place of what is left. Faults and accidents are read one by
//! one, so for these it goes on: single ones are tried, then pairs and triples that have some of those that are left.

use super::Failure;
use super::options::Options;
use super::page::TELL;
use super::pool::{Finished, Job, Pool};
use super::symptom::Symptom;
use crate::choices::{Choices, Kind, Ranges};
use std::collections::HashSet;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What may be spent on a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    runs: u64,
    time: Duration,
}

/// Number of faults or accidents that a run would have had next, and that are tried, too.
const AHEAD: u64 = 16;
/// Number of faults or accidents from which on others are not tried in their place.
const MANY: u64 = 10;

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            runs: 300,
            time: Duration::from_secs(30),
        }
    }
}

impl Budget {
    /// Returns a budget of this number of runs and of seconds, where they are given.
    pub(super) fn new(runs: Option<u64>, seconds: Option<u64>) -> Budget {
        let usual = Budget::default();
        Budget {
            runs: runs.unwrap_or(usual.runs),
            time: seconds.map_or(usual.time, Duration::from_secs),
        }
    }
}

/// A failure with less that is left to chance.
#[derive(Debug)]
pub(super) struct Shrunk {
    /// All that is not drawn.
    pub(super) choices: Rc<Choices>,
    /// The run with these choices.
    pub(super) finished: Finished,
    /// For each kind, how many choices are still drawn.
    pub(super) kept: [u64; Kind::NUMBER],
    /// Faults that the run as it was found has had.
    pub(super) had_faults: bool,
    pub(super) runs: u64,
    pub(super) time: Duration,
    /// Runs or time did not suffice to try everything.
    pub(super) is_cut: bool,
    /// Runs with the same choices have ended in other ways.
    pub(super) varies: bool,
}

/// Shrinks a failure. Returns `None` if nothing of it could be simpler, or nothing may be spent on it.
///
/// # Errors
/// A process that runs seeds is gone.
pub(super) fn shrink(
    pool: &mut Pool,
    failure: &Failure,
    options: &Options,
) -> io::Result<Option<Shrunk>> {
    let Some(symptom) = Symptom::of(&failure.finished) else {
        return Ok(None);
    };
    // The time of polls alone is in the way of nobody who reads the run.
    let is_worth_it = Kind::ALL
        .into_iter()
        .any(|kind| kind != Kind::Poll && !could_be_usual(failure, kind).is_empty());
    let budget = options.budget;
    if !is_worth_it || budget.runs == 0 || budget.time.is_zero() {
        return Ok(None);
    }
    let mut shrinking = Shrinking {
        pool,
        seed: failure.seed,
        symptom,
        limit: options.time_limit,
        started: Instant::now(),
        budget,
        runs: 0,
        is_cut: false,
        tried: HashSet::new(),
        kept: Kind::ALL.map(|kind| failure.choices.of(kind).others()),
        made: failure.finished.made.clone(),
        faults: faults_of(&failure.finished),
        best: None,
    };
    shrinking.shrink(failure)?;
    shrinking.finish(failure)
}

/// Returns the numbers of the choices of a kind that the run has drawn.
fn could_be_usual(failure: &Failure, kind: Kind) -> Ranges {
    failure.finished.made[kind as usize].without(failure.choices.of(kind))
}

/// Returns the numbers of the faults that have done something in a run.
fn faults_of(finished: &Finished) -> Ranges {
    let numbers = finished.faults.iter().filter_map(|fault| number(fault));
    numbers.map(|number| (number, number + 1)).collect()
}

/// The number of a fault, from its text.
fn number(fault: &str) -> Option<u64> {
    fault.strip_prefix('#')?.split(' ').next()?.parse().ok()
}

/// Returns the subsets of up to two numbers that have that size.
fn subsets(numbers: &[u64], size: usize) -> Vec<Vec<u64>> {
    let pairs = |at: usize| {
        numbers[at + 1..]
            .iter()
            .map(move |other| vec![numbers[at], *other])
    };
    match size {
        0 => vec![Vec::new()],
        1 => numbers.iter().map(|number| vec![*number]).collect(),
        _ => (0..numbers.len()).flat_map(pairs).collect(),
    }
}

type Kept = [Ranges; Kind::NUMBER];

struct Shrinking<'a> {
    pool: &'a mut Pool,
    seed: u64,
    symptom: Symptom,
    /// Real time that one run may take.
    limit: Duration,
    started: Instant,
    budget: Budget,
    runs: u64,
    is_cut: bool,
    /// What runs were made with.
    tried: HashSet<Rc<Choices>>,
    kept: Kept,
    /// The choices that the last run with these has made.
    made: Kept,
    /// Its faults that have done something.
    faults: Ranges,
    /// That run, if it is another one than that which has failed.
    best: Option<(Rc<Choices>, Finished)>,
}

/// The choices with these kept, and all others the usual ones.
fn choices(kept: &Kept) -> Choices {
    let mut choices = Choices::default();
    for kind in Kind::ALL {
        choices.set(kind, kept[kind as usize].others());
    }
    choices
}

impl Shrinking<'_> {
    fn shrink(&mut self, failure: &Failure) -> io::Result<()> {
        // Many failures take nothing of it, and then one run is enough. Many others take only faults, be they others than
        // those of the run as it was found, or only faults and accidents.
        let drawn = |kinds: &[Kind]| {
            let mut kept = Kept::default();
            for kind in kinds {
                kept[*kind as usize] = failure.choices.of(*kind).others();
            }
            kept
        };
        for kinds in [&[][..], &[Kind::Fault], &[Kind::Fault, Kind::Accident]] {
            if self.fails_with(drawn(kinds))? {
                break;
            }
        }
        self.reduce(Kind::Fault, self.budget.runs)?;
        let end = self.share(2);
        self.replace(Kind::Fault, self.kept.clone(), end)?;
        self.replace(Kind::Fault, drawn(&Kind::ALL), end)?;
        self.reduce(Kind::Accident, self.share(2))?;
        self.replace(Kind::Accident, self.kept.clone(), self.share(3))?;
        for kind in [Kind::Schedule, Kind::Poll] {
            self.reduce(kind, self.share(2))?;
        }
        self.reduce(Kind::Latency, self.share(1))?;
        // With the rest as simple as it is, fewer faults may do.
        self.reduce(Kind::Fault, self.budget.runs)
    }

    /// Returns the number of runs at which a part of those that are left has been made.
    fn share(&self, part: u64) -> u64 {
        self.runs + self.budget.runs.saturating_sub(self.runs) / part
    }

    /// Looks for fewer choices of a kind that do, also among others than those that are left, with the other kinds as they are in
    /// `kept`.
    fn replace(&mut self, kind: Kind, mut kept: Kept, end: u64) -> io::Result<()> {
        self.keep_made(kind);
        let left = match kind {
            // The others have done nothing.
            Kind::Fault => self.kept[kind as usize].and(&self.faults),
            _ => self.kept[kind as usize].clone(),
        };
        if left.len() > MANY {
            return Ok(());
        }
        let left: Vec<u64> = left.numbers().collect();
        let others = 0..self.made[kind as usize].len() + AHEAD;
        for size in 1..left.len().min(4) {
            for known in subsets(&left, size - 1) {
                for other in others.clone() {
                    if self.runs >= end || self.is_spent() {
                        self.is_cut = true;
                        return Ok(());
                    }
                    let numbers = known.iter().chain([&other]);
                    kept[kind as usize] = numbers.map(|number| (*number, number + 1)).collect();
                    if self.fails_with(kept.clone())? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Leaves out the choices of a kind that are not made.
    fn keep_made(&mut self, kind: Kind) {
        let kept = &mut self.kept[kind as usize];
        *kept = kept.and(&self.made[kind as usize]);
    }

    /// Leaves out choices of a kind for as long as fewer than `end` runs were made.
    fn reduce(&mut self, kind: Kind, end: u64) -> io::Result<()> {
        self.keep_made(kind);
        let mut size = self.kept[kind as usize].len();
        while size > 0 {
            let mut at = 0;
            while at < self.kept[kind as usize].len() {
                if self.runs >= end || self.is_spent() {
                    self.is_cut = true;
                    return Ok(());
                }
                let part = self.kept[kind as usize].part(at, size);
                let mut kept = self.kept.clone();
                kept[kind as usize] = kept[kind as usize].without(&part);
                match self.fails_with(kept)? {
                    true => self.keep_made(kind),
                    false => at += size,
                }
            }
            let left = self.kept[kind as usize].len();
            size = if size == 1 {
                0
            } else {
                size.min(left).div_ceil(2)
            };
        }
        Ok(())
    }

    fn is_spent(&self) -> bool {
        self.runs >= self.budget.runs || self.started.elapsed() >= self.budget.time
    }

    /// Returns whether the run with only these choices drawn fails in the same way. If it does, it is the best so far.
    fn fails_with(&mut self, kept: Kept) -> io::Result<bool> {
        let choices = choices(&kept);
        if self.is_spent() || !choices.fit() {
            return Ok(false);
        }
        let left = self.budget.time.saturating_sub(self.started.elapsed());
        if self.symptom == Symptom::TimedOut && left < self.limit {
            // It would not be seen whether it takes too much time.
            self.is_cut = true;
            return Ok(false);
        }
        let choices = Rc::new(choices);
        if !self.tried.insert(choices.clone()) {
            return Ok(false);
        }
        let finished = self.run(choices.clone(), 0, left)?;
        if Symptom::of(&finished).as_ref() != Some(&self.symptom) {
            return Ok(false);
        }
        self.kept = kept;
        self.made = finished.made.clone();
        self.faults = faults_of(&finished);
        self.best = Some((choices, finished));
        Ok(true)
    }

    fn run(&mut self, choices: Rc<Choices>, flags: u64, limit: Duration) -> io::Result<Finished> {
        self.runs += 1;
        let job = Job {
            seed: self.seed,
            choices,
            flags,
            // A run that takes a moment longer than all may is no harm, and one of no time is nothing.
            limit: Some(limit.max(Duration::from_secs(1))),
            ..Job::default()
        };
        let mut ended = None;
        self.pool
            .run(&mut [job].into_iter(), &mut || (), &mut |_, finished| {
                ended = Some(finished);
                true
            })?;
        Ok(ended.expect("one was begun, and has ended"))
    }

    /// Runs the simplest failure once more, with what is certainly not needed left out of its choices.
    fn finish(mut self, failure: &Failure) -> io::Result<Option<Shrunk>> {
        let Some((tried, found)) = self.best.take() else {
            return Ok(None);
        };
        for kind in Kind::ALL {
            self.keep_made(kind);
        }
        let faults = &mut self.kept[Kind::Fault as usize];
        *faults = faults.and(&self.faults);
        let mut choices = choices(&self.kept);
        for kind in Kind::ALL {
            let is_made = !found.made[kind as usize].is_empty();
            if !is_made && failure.finished.made[kind as usize].is_empty() {
                choices.set(kind, Ranges::default());
            }
        }
        let choices = Rc::new(choices);
        let last = self.run(choices.clone(), TELL, self.limit)?;
        let is_same = (&last.outcome, last.hash) == (&found.outcome, found.hash);
        let kept = self.kept.each_ref().map(Ranges::len);
        Ok(Some(Shrunk {
            choices: if is_same { choices } else { tried },
            finished: if is_same { last } else { found },
            kept,
            had_faults: !failure.finished.faults.is_empty(),
            runs: self.runs,
            time: self.started.elapsed(),
            is_cut: self.is_cut,
            varies: !is_same,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_a_number() {
        assert_eq!(number("#17 at 1.5s: Crash, server, for 2s"), Some(17));
        assert_eq!(number("something else"), None);
    }

    #[test]
    fn subsets_are_all() {
        assert_eq!(subsets(&[1, 2, 3], 0), [Vec::<u64>::new()]);
        assert_eq!(subsets(&[1, 2, 3], 1), [[1], [2], [3]]);
        assert_eq!(subsets(&[1, 2, 3], 2), [[1, 2], [1, 3], [2, 3]]);
    }

    #[test]
    fn what_is_not_kept_is_usual() {
        let mut kept = Kept::default();
        kept[Kind::Fault as usize] = Ranges::parse("3").unwrap();
        let text = choices(&kept).to_string();
        assert!(text.starts_with("v1/faults:0-2,4-/accidents:0-/"), "{text}");
    }
}
