//! Finds out which faults a failing seed takes.

use super::Failure;
use super::page::Skipped;
use super::pool::{Finished, Job, Outcome, Pool};
use std::io;
use std::mem::discriminant;

/// Maximum number of runs that are made for it.
const RUNS: usize = 300;

/// A failure with fewer faults.
#[derive(Debug)]
pub(super) struct Shrunk {
    /// The numbers of those that it does not take.
    pub(super) skipped: Skipped,
    /// Those that it takes, in words.
    pub(super) faults: Vec<String>,
}

/// Runs a seed that has failed again and again, with some of its faults left out, until none is left that it could fail
/// without. Returns `None` if it had none.
///
/// # Errors
/// A process that runs seeds is gone.
pub(super) fn shrink(pool: &mut Pool, failure: &Failure) -> io::Result<Option<Shrunk>> {
    let mut faults = failure.finished.faults.clone();
    if faults.is_empty() {
        return Ok(None);
    }
    let mut attempts = Attempts {
        pool,
        seed: failure.seed,
        outcome: &failure.finished.outcome,
        left: RUNS,
    };
    let mut skipped = Skipped::default();
    // Halves first, then smaller parts: what most failures take is one or two of many.
    let mut size = faults.len();
    while size > 0 {
        let mut at = 0;
        while at < faults.len() {
            let part = &faults[at..faults.len().min(at + size)];
            let mut tried = skipped;
            for fault in part {
                tried.add(number(fault));
            }
            match attempts.fails_without(tried)? {
                Some(finished) => {
                    skipped = tried;
                    // Without these the run may have got further, and have had others.
                    faults = finished.faults;
                }
                None => at += size,
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    Ok(Some(Shrunk { skipped, faults }))
}

/// The number of a fault, from its text.
fn number(fault: &str) -> usize {
    let digits = fault
        .strip_prefix('#')
        .and_then(|text| text.split(' ').next());
    digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(usize::MAX)
}

struct Attempts<'a> {
    pool: &'a mut Pool,
    seed: u64,
    outcome: &'a Outcome,
    left: usize,
}

impl Attempts<'_> {
    /// Returns the run without these faults, if it fails in the same way.
    fn fails_without(&mut self, skipped: Skipped) -> io::Result<Option<Finished>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let job = Job {
            seed: self.seed,
            skipped,
            ..Job::default()
        };
        let mut ended = None;
        self.pool
            .run(&mut [job].into_iter(), &mut || (), &mut |_, finished| {
                ended = Some(finished);
                true
            })?;
        let is_same =
            |finished: &Finished| discriminant(&finished.outcome) == discriminant(self.outcome);
        Ok(ended.filter(is_same))
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn a_fault_has_a_number() {
        assert_eq!(number("#17 at 1.5s: Crash, server, for 2s"), 17);
        assert_eq!(number("something else"), usize::MAX);
    }
}
