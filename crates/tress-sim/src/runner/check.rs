//! Whether two runs of a seed are the same, and where they are not.

use super::page::{DIGEST_OUTPUT, LOG, STRICT};
use super::pool::{Finished, Job, Outcome, Pool};
use super::{Test, report};
use crate::choices::Choices;
use crate::kernel::steps;
use crate::strict;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::io;
use std::rc::Rc;

/// Runs of which the other one of the same seed is still to come, and the first pair that differs.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    waiting: HashMap<(u64, Rc<Choices>), (usize, Finished)>,
    differing: Option<Pair>,
}

/// Two runs of a seed that differ.
#[derive(Debug)]
pub(super) struct Pair {
    seed: u64,
    choices: Rc<Choices>,
    runs: [Finished; 2],
}

impl Pairs {
    /// Takes a run. Returns it if both of its seed have ended, and were the same. A run that took too much time is returned
    /// as well: how far it got depends on the machine.
    pub(super) fn add(&mut self, job: &Job, finished: Finished) -> Option<Finished> {
        let key = (job.seed, job.choices.clone());
        let Some((copy, other)) = self.waiting.remove(&key) else {
            self.waiting.insert(key, (job.copy, finished));
            return None;
        };
        if other.outcome == Outcome::TimedOut {
            return Some(other);
        }
        if finished.outcome == Outcome::TimedOut || differences(&other, &finished).is_empty() {
            return Some(finished);
        }
        let runs = if copy < job.copy {
            [other, finished]
        } else {
            [finished, other]
        };
        let (seed, choices) = key;
        self.differing.get_or_insert(Pair {
            seed,
            choices,
            runs,
        });
        None
    }

    /// Returns whether all that were compared were the same.
    pub(super) fn are_the_same(&self) -> bool {
        self.differing.is_none()
    }

    pub(super) fn take_differing(&mut self) -> Option<Pair> {
        self.differing.take()
    }
}

/// Says in what two runs differ.
fn differences(a: &Finished, b: &Finished) -> Vec<String> {
    let mut found = Vec::new();
    if a.outcome != b.outcome {
        let (a, b) = (report::how(&a.outcome), report::how(&b.outcome));
        found.push(format!("the first {a}, the second {b}"));
    }
    if a.hash != b.hash {
        let (a, b) = (a.steps, b.steps);
        found.push(match a == b {
            true => format!("other steps, {a} in both"),
            false => format!("other steps, {a} and {b}"),
        });
    }
    for (name, a, b) in [("stdout", &a.out, &b.out), ("stderr", &a.err, &b.err)] {
        if a != b {
            found.push(format!("other bytes on {name}: {}", first_line(a, b)));
        }
    }
    found
}

/// Shows the first line that differs.
fn first_line(a: &[u8], b: &[u8]) -> String {
    let (a, b) = (String::from_utf8_lossy(a), String::from_utf8_lossy(b));
    let (mut a, mut b) = (a.lines(), b.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (a.next(), b.next()) {
            (None, None) => return "the ends of lines".to_string(),
            (a, b) if a != b => {
                let shown = |line: Option<&str>| {
                    line.map_or("nothing".to_string(), |line| format!("{line:?}"))
                };
                return format!("line {number} is {} and {}", shown(a), shown(b));
            }
            _ => {}
        }
    }
}

/// Runs a seed whose runs differ again, and says where they do.
///
/// # Errors
/// A server is gone.
pub(super) fn explain(test: &Test, pool: &mut Pool, pair: Pair) -> io::Result<String> {
    let Pair {
        seed,
        choices,
        runs: [a, b],
    } = pair;
    let mut text = format!("{}: two runs of seed {seed} are not the same\n", test.name);
    for difference in differences(&a, &b) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {difference}");
    }
    if pool.has_random_addresses {
        text += "  The system does not let processes have the same addresses, so what depends on addresses differs.\n";
    }
    let flags = DIGEST_OUTPUT | LOG;
    let (a, b) = run_twice(pool, seed, flags, 0, &choices)?;
    let Some(step) = first_difference(&a.log, &b.log) else {
        text += "  Run twice more, with a log of steps, they were the same: it does not differ each time.\n";
        return Ok(text);
    };
    // Other steps before it are the same in both, so that its number is the same.
    let (a, b) = run_twice(pool, seed, flags, step, &choices)?;
    let again = first_difference(&a.log, &b.log);
    let (a, b) = (Log::new(&a.log), Log::new(&b.log));
    let first = again.unwrap_or(step).min(step);
    let _ = writeln!(text, "The first step that differs is {first}. Before it:");
    for line in a.before(first) {
        let _ = writeln!(text, "  {line}");
    }
    let backtrace = a.backtrace(first.saturating_sub(1));
    if !backtrace.is_empty() {
        let _ = writeln!(
            text,
            "The last of these was made here:\n{}",
            backtrace.join("\n")
        );
    }
    for (name, log) in [("first", &a), ("second", &b)] {
        let _ = writeln!(
            text,
            "In the {name} run:\n  {}",
            log.step(first).unwrap_or("nothing: it has ended")
        );
        let backtrace = log.backtrace(first);
        if !backtrace.is_empty() {
            let _ = writeln!(text, "{}", backtrace.join("\n"));
        }
    }
    let threads = a.beside(first);
    if !threads.is_empty() {
        let _ = writeln!(
            text,
            "The process has threads that are no part of the simulation, and run when they like: {}",
            threads.join(", ")
        );
    }
    if !strict::is_asked_for() {
        let (a, b) = run_twice(pool, seed, flags | STRICT, 0, &choices)?;
        text += &under_detector(&a, &b);
    }
    let _ = write!(
        text,
        "Check it again:\nTRESS_SIM_CHECK=1 {}",
        report::replay(test, seed, &choices)
    );
    Ok(text)
}

/// Says what two runs with the detector tell of a difference that there is without it.
fn under_detector(a: &Finished, b: &Finished) -> String {
    let mut text = String::new();
    if let Some(leaked) = [a, b].into_iter().find(|run| has_leaked(run)) {
        let shown = String::from_utf8_lossy(&leaked.err);
        let lines: Vec<_> = shown
            .lines()
            .skip_while(|line| !line.starts_with("tress-sim: "))
            .collect();
        let (first, frames) = lines.split_first().unwrap_or((&"", &[]));
        let frames = report::useful_frames(frames).join("\n");
        let _ = writeln!(text, "TRESS_SIM_STRICT=1 ends it with:\n{first}\n{frames}");
        return text;
    }
    if !differences(a, b).is_empty() {
        text += "With TRESS_SIM_STRICT=1 they differ as well: it is no system call of a host that makes the difference.\n";
        return text;
    }
    text += "With TRESS_SIM_STRICT=1 both are the same: there the simulation also has what is done past the C library.\n";
    for line in Log::new(&a.log).past() {
        let _ = writeln!(text, "  {line}");
    }
    text
}

fn has_leaked(run: &Finished) -> bool {
    matches!(run.outcome, Outcome::Ended(status) if status.code() == Some(strict::STATUS))
}

fn run_twice(
    pool: &mut Pool,
    seed: u64,
    flags: u64,
    backtrace_at: u64,
    choices: &Rc<Choices>,
) -> io::Result<(Finished, Finished)> {
    let mut jobs = (0..2).map(|copy| Job {
        seed,
        copy,
        flags,
        backtrace_at,
        choices: choices.clone(),
        limit: None,
    });
    let mut runs = [None, None];
    pool.run(&mut jobs, &mut || {}, &mut |job, finished| {
        runs[job.copy] = Some(finished);
        true
    })?;
    let [Some(a), Some(b)] = runs else {
        unreachable!("both have ended")
    };
    Ok((a, b))
}

/// Returns the first step that differs.
fn first_difference(a: &[u8], b: &[u8]) -> Option<u64> {
    let (a, b) = (Log::new(a), Log::new(b));
    let (mut steps_a, mut steps_b) = (a.steps(), b.steps());
    loop {
        match (steps_a.next(), steps_b.next()) {
            (None, None) => return None,
            (Some((_, a)), Some((_, b))) if a == b => {}
            (Some((number, _)), _) | (None, Some((number, _))) => return Some(number),
        }
    }
}

/// A log of steps: a line for each, that starts with its number, and backtraces in between.
#[derive(Debug)]
struct Log(String);

/// Number of steps that are shown before one.
const BEFORE: u64 = 12;

impl Log {
    fn new(bytes: &[u8]) -> Log {
        Log(String::from_utf8_lossy(bytes).into_owned())
    }

    fn steps(&self) -> impl Iterator<Item = (u64, &str)> {
        self.0
            .lines()
            .filter_map(|line| Some((step_of(line)?, line)))
    }

    fn step(&self, number: u64) -> Option<&str> {
        self.steps()
            .find(|(at, _)| *at == number)
            .map(|(_, line)| line)
    }

    fn before(&self, number: u64) -> Vec<&str> {
        let shown = self
            .steps()
            .filter(|(at, _)| *at < number && at + BEFORE >= number);
        shown.map(|(_, line)| line).collect()
    }

    /// The lines behind that of a step that belong to it.
    fn behind(&self, number: u64) -> impl Iterator<Item = &str> {
        let lines = self.0.lines();
        let lines = lines.skip_while(move |line| step_of(line) != Some(number));
        lines.skip(1).take_while(|line| step_of(line).is_none())
    }

    /// The lines of the backtrace of a step, without those of the simulation and of the runtime.
    fn backtrace(&self, number: u64) -> Vec<&str> {
        let is_other = |line: &&str| {
            [steps::BESIDE, steps::PAST]
                .iter()
                .any(|start| line.starts_with(start))
        };
        let lines: Vec<_> = self.behind(number).filter(|line| !is_other(line)).collect();
        report::useful_frames(&lines)
    }

    /// The names of threads that are no part of the simulation, at a step whose backtrace was wanted.
    fn beside(&self, number: u64) -> Vec<&str> {
        let lines = self.behind(number);
        lines
            .filter_map(|line| line.strip_prefix(steps::BESIDE))
            .collect()
    }

    /// What hosts have done past the C library, each kind where it was first done.
    fn past(&self) -> Vec<&str> {
        let mut known = HashSet::new();
        let lines = self.0.lines();
        let lines = lines.filter_map(|line| line.strip_prefix(steps::PAST));
        lines
            .filter(|line| known.insert(line.split(", on ").next().map(str::to_string)))
            .collect()
    }
}

/// The number of the step that a line of a log is. Lines of backtraces start with a space.
fn step_of(line: &str) -> Option<u64> {
    line.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &[u8] = b"1 0ns a: x\n2 5ns a: y\n   0: f\n             at file.rs:1:2\n3 6ns b: z\n";

    #[test]
    fn finds_the_first_step_that_differs() {
        assert_eq!(first_difference(A, A), None);
        assert_eq!(
            first_difference(A, b"1 0ns a: x\n2 6ns a: y\n3 6ns b: z\n"),
            Some(2)
        );
        assert_eq!(first_difference(A, b"1 0ns a: x\n2 5ns a: y\n"), Some(3));
        assert_eq!(first_difference(b"", A), Some(1));
    }

    #[test]
    fn a_log_has_steps_and_backtraces() {
        let log = Log::new(A);
        assert_eq!(log.step(2), Some("2 5ns a: y"));
        assert_eq!(log.before(3), ["1 0ns a: x", "2 5ns a: y"]);
        assert_eq!(log.backtrace(2).len(), 2);
        assert!(log.backtrace(3).is_empty());
        let log = Log::new(
            b"1 0ns a: x\n   0: f\n beside: racer\n past: a call, on a at 0ns\n2 5ns a: y\n",
        );
        assert_eq!(log.backtrace(1), ["   0: f"]);
        assert_eq!(log.beside(1), ["racer"]);
        assert!(log.beside(2).is_empty());
        assert_eq!(log.past(), ["a call, on a at 0ns"]);
        let log = Log::new(b" past: a call, on a at 0ns\n past: a call, on b at 1ns\n past: another, on a at 2ns\n");
        assert_eq!(log.past(), ["a call, on a at 0ns", "another, on a at 2ns"]);
    }

    #[test]
    fn names_the_first_line_that_differs() {
        assert_eq!(
            first_line(b"a\nb\n", b"a\nc\n"),
            "line 2 is \"b\" and \"c\""
        );
        assert_eq!(first_line(b"a\n", b"a\nc\n"), "line 2 is nothing and \"c\"");
        assert_eq!(first_line(b"a", b"a\n"), "the ends of lines");
    }
}
