//! Runs a test with many seeds, each in a process of its own.
//!
//! What [`#[tress_sim::test]`](macro@crate::test) makes of a function calls [`run`]. In the process of the test it starts the same
//! program again, some times: those are *servers*. A server is told seeds and forks for each, so that every seed finds the
//! same memory and none sees what another one has left in a `static`. Addresses are the same in all of them.
//!
//! ```
//! use std::time::Duration;
//! use tokio::net::UdpSocket;
//! use tress_sim::Builder;
//!
//! #[tress_sim::test(seeds = 200)]
//! fn lost_datagrams_are_sent_again() -> tress_sim::Result {
//!     let mut sim = Builder::new().loss(0.5).simulation_duration(Duration::from_secs(1000)).build();
//!     sim.host("echo", || async {
//!         let socket = UdpSocket::bind("0.0.0.0:7").await?;
//!         loop {
//!             let (_, from) = socket.recv_from(&mut []).await?;
//!             socket.send_to(&[], from).await?;
//!         }
//!     });
//!     sim.client("client", async {
//!         let socket = UdpSocket::bind("0.0.0.0:0").await?;
//!         loop {
//!             socket.send_to(&[], "echo:7").await?;
//!             let answer = socket.recv_from(&mut []);
//!             if tokio::time::timeout(Duration::from_secs(1), answer).await.is_ok() {
//!                 return Ok(());
//!             }
//!         }
//!     });
//!     sim.run()
//! }
//! ```
//!
//! # Environment
//! | variable | meaning |
//! |---|---|
//! | `TRESS_SIM_SEED` | the first seed; alone, the only one, whose output is shown while it runs |
//! | `TRESS_SIM_NUM` | the number of seeds, instead of what the attribute says |
//! | `TRESS_SIM_JOBS` | the number of processes that run at once; 0, with one seed, runs it in the process of the test, as a debugger needs it |
//! | `TRESS_SIM_CHECK` | `1`: each seed runs twice, in two processes, and both runs must be the same, step by step and byte by byte |
//! | `TRESS_SIM_TIME_LIMIT` | seconds of real time that one seed may take: 120 |
//! | `TRESS_SIM_STRICT` | `1`: code that gets past the simulation, to the real system, ends the run |
//! | `TRESS_SIM_TRACE` | a file that the steps of the one seed are written to |
//! | `TRESS_SIM_CHOICES` | the choice string of the one seed; see below |
//! | `TRESS_SIM_SHRINK` | `1`: the one seed is not shown while it runs but shrunk if it fails, and its line of the corpus is replaced |
//! | `TRESS_SIM_SHRINK_RUNS` | the maximum number of runs that a failure is shrunk with: 300; 0: it is not shrunk |
//! | `TRESS_SIM_SHRINK_SECONDS` | the maximum number of seconds of real time for that: 30 |
//! | `TRESS_SIM_CORPUS` | the file of seeds that have failed, or `off`; see below |
//!
//! `MADSIM_TEST_SEED`, `MADSIM_TEST_NUM`, `MADSIM_TEST_JOBS` and `MADSIM_TEST_CHECK_DETERMINISM` mean the same;
//! `MADSIM_TEST_TIME_LIMIT` is the virtual time that a simulation may take, if the test does not say another.
//!
//! # Shrinking
//! A seed that fails is run again and again, each time with less that is left to chance, as long as it fails in the same way: with a
//! panic at the same place, or an error whose first line differs in numbers only. First [faults](crate::Faults) are left out, then
//! other accidents (lost packets, errors of disks, `buggify!`), then tasks run in the order in which they became ready, polls take the
//! same time, and packets, lookups and disks take their usual time. What the failure takes is shown, and the command
//! that runs it again so, with a *choice string*:
//!
//! ```text
//! TRESS_SIM_SEED=17 TRESS_SIM_CHOICES=v1/faults:0-2,4-/schedule:0-411,413-/polls:0-/latencies:0- cargo test …
//! ```
//!
//! The choices of each kind are counted from 0, and those with these numbers are the usual ones: faults 0 to 2 and all from 4 on are
//! left out. Kinds that are not named, and numbers that are not, are as the seed draws them.
//!
//! | kind | what is counted | the usual choice |
//! |---|---|---|
//! | `faults` | faults that happen by themselves | it does not happen |
//! | `accidents` | what goes wrong by a probability, each time that it does | it does not |
//! | `schedule` | choices of one of several tasks that are ready | the one that has been ready for longest |
//! | `polls` | times of polls | 100 ns |
//! | `latencies` | times of packets, lookups and disks that vary | the mean, the middle or the more frequent one |
//!
//! # Seeds that have failed
//! They are added to the file `sim-corpus.txt` beside the manifest of the package, one line each: the name of the test, the
//! seed, the choice string if it was shrunk, and how it failed. A test runs those of that file before any others. Lines may be
//! removed, and `#` starts a comment.

mod check;
mod corpus;
mod options;
pub(crate) mod page;
mod place;
mod pool;
mod present;
mod report;
mod server;
mod shrink;
mod symptom;

pub(crate) use present::{draw, duration, is_run, is_thread_of_test, seed, write_log};

use crate::chaos;
use crate::choices::Choices;
use check::Pairs;
use corpus::{Corpus, Entry};
use options::Options;
use page::{DIGEST_OUTPUT, LOG};
use pool::{Finished, Job, Outcome, Pool};
use report::Progress;
use shrink::Shrunk;
use std::env;
use std::fmt::Debug;
use std::io;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

/// What servers and the process of the test agree on.
mod fixed {
    use std::ffi::c_int;

    pub(super) const COMMANDS: c_int = 3;
    pub(super) const RESULTS: c_int = 4;
    pub(super) const OUT: c_int = 5;
    pub(super) const ERR: c_int = 6;
    pub(super) const PAGE: c_int = 7;
    pub(super) const TRACE: c_int = 8;
    /// Set in the environment of a server.
    pub(super) const IS_SERVER: &str = "TRESS_SIM_SERVER";
    /// Of `personality(2)`.
    pub(super) const ADDR_NO_RANDOMIZE: c_int = 0x0004_0000;
}

/// A test that is run with many seeds.
///
/// Made by [`#[tress_sim::test]`](macro@crate::test).
#[derive(Debug, Clone)]
pub struct Test {
    /// Its path, from the name of its crate on.
    pub name: &'static str,
    /// The number of seeds that it runs, unless the environment says otherwise.
    pub seeds: u64,
    /// What becomes of places that no seed has reached.
    pub sometimes: Sometimes,
    /// It is expected to panic: seeds that do are not kept.
    pub should_panic: bool,
    /// The source file, as `file!()` has it.
    pub file: &'static str,
    /// The name of the package, if Cargo has built it.
    pub package: Option<&'static str>,
    /// The folder of the package's manifest, if Cargo has built it.
    pub manifest: Option<&'static str>,
}

/// What becomes of `assert_sometimes!` and `reachable!` that held in no seed of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Sometimes {
    /// They are listed.
    #[default]
    Note,
    /// The test fails.
    Require,
    /// Nothing is said.
    Ignore,
}

impl Test {
    /// The name that the test harness has for it: without the name of the crate.
    fn libtest_name(&self) -> &'static str {
        self.name
            .split_once("::")
            .map_or(self.name, |(_, name)| name)
    }

    /// The name of the crate that it is in.
    fn krate(&self) -> &'static str {
        self.name
            .split_once("::")
            .map_or(self.name, |(krate, _)| krate)
    }
}

/// What a test may return.
pub trait Verdict {
    /// Returns how the test has ended.
    ///
    /// # Errors
    /// It has failed; the text says why.
    fn verdict(self) -> Result<(), String>;
}

impl Verdict for () {
    fn verdict(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Debug> Verdict for Result<(), E> {
    fn verdict(self) -> Result<(), String> {
        self.map_err(|error| unquoted(&format!("{error:?}")))
    }
}

/// Returns the text of an error that is nothing but one.
fn unquoted(text: &str) -> String {
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    let Some(inner) = inner else {
        return text.to_string();
    };
    let mut plain = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match (character, character == '\\') {
            (_, true) => match characters.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some(escaped @ ('"' | '\\' | '\'')) => plain.push(escaped),
                // Something rare: better shown as it is.
                _ => return text.to_string(),
            },
            // More than one text.
            ('"', _) => return text.to_string(),
            _ => plain.push(character),
        }
    }
    plain
}

/// Runs the test with its seeds.
///
/// # Panics
/// A seed has failed, or with `TRESS_SIM_CHECK=1` two runs of a seed were not the same. The text says which, why, and how to run
/// it again. It also panics if the environment makes no sense, or the processes cannot be started.
pub fn run<V: Verdict>(test: Test, body: fn() -> V) {
    let body = || body().verdict();
    if env::var_os(fixed::IS_SERVER).is_some() {
        server::serve(&body);
    }
    let options = Options::read(test.seeds).unwrap_or_else(|error| panic!("{error}"));
    if options.jobs == 0 {
        present::begin(options.seed);
        if let Err(text) = body() {
            panic!("seed {} fails: {text}", options.seed);
        }
        return;
    }
    // Tests take turns, since each has work for all processors.
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let result = run_seeds(&test, &options)
        .unwrap_or_else(|error| Err(format!("cannot run seeds: {error}")));
    drop(turn);
    if let Err(text) = result {
        // The text has been printed where it has to be; a message of this panic would repeat it.
        eprintln!("{text}");
        resume_unwind(Box::new(text));
    }
}

/// A seed that has failed, and how.
#[derive(Debug)]
struct Failure {
    seed: u64,
    choices: Rc<Choices>,
    finished: Finished,
}

/// What has come out so far.
#[derive(Debug, Default)]
struct Tally {
    passed: u64,
    failures: Vec<Failure>,
    /// Of runs that are compared.
    pairs: Option<Pairs>,
    /// What became of each site in any run.
    sites: Vec<u8>,
}

impl Tally {
    /// Takes a run that has ended. Returns whether further seeds are to be run.
    fn add(&mut self, job: Job, finished: Finished) -> bool {
        self.sites.resize(finished.sites.len(), 0);
        for (all, one) in self.sites.iter_mut().zip(&finished.sites) {
            *all |= one;
        }
        let finished = match &mut self.pairs {
            None => finished,
            Some(pairs) => match pairs.add(&job, finished) {
                Some(finished) => finished,
                None => return pairs.are_the_same(),
            },
        };
        if finished.outcome == Outcome::Passed {
            self.passed += 1;
            return true;
        }
        let Job { seed, choices, .. } = job;
        self.failures.push(Failure {
            seed,
            choices,
            finished,
        });
        false
    }
}

/// The seeds that are run, each with its choices: first those that are known, then those that are asked for.
fn seeds(options: &Options, known: Vec<Entry>) -> impl Iterator<Item = Entry> + Clone {
    let choices = options.choices.clone();
    let asked = options.seed..=options.seed + (options.number - 1);
    let asked = asked.map(move |seed| (seed, choices.clone()));
    let others = {
        let known = known.clone();
        asked.filter(move |entry| !known.contains(entry))
    };
    known.into_iter().chain(others)
}

/// Runs all seeds. Returns what is to be said of a failure.
fn run_seeds(test: &Test, options: &Options) -> io::Result<Result<(), String>> {
    let corpus = Corpus::of(test);
    let known = match options.is_live || options.shrinks {
        true => Vec::new(),
        false => match corpus.entries(test) {
            Ok(known) => known,
            Err(error) => return Ok(Err(error)),
        },
    };
    let total = options.number.saturating_add(known.len() as u64);
    let copies = if options.check { 2 } else { 1 };
    let runs = usize::try_from(total)
        .unwrap_or(usize::MAX)
        .saturating_mul(copies);
    let mut pool = Pool::start(test, options, options.jobs.min(runs))?;

    let flags = match (&options.trace, options.check) {
        (Some(_), _) => DIGEST_OUTPUT | LOG,
        (None, true) => DIGEST_OUTPUT,
        (None, false) => 0,
    };
    let backtrace_at = 0;
    let mut jobs = seeds(options, known).flat_map(|(seed, choices)| {
        (0..copies).map(move |copy| Job {
            seed,
            copy,
            flags,
            backtrace_at,
            choices: choices.clone(),
            limit: None,
        })
    });
    let mut tally = Tally {
        pairs: options.check.then(Pairs::default),
        ..Tally::default()
    };
    let progress = Progress::new(test, total);
    let mut done = |job, finished| {
        let goes_on = tally.add(job, finished);
        progress.passed(tally.passed);
        goes_on
    };
    let ran = pool.run(&mut jobs, &mut || progress.show(), &mut done);
    progress.clear();
    ran?;

    if let Some(pair) = tally.pairs.as_mut().and_then(Pairs::take_differing) {
        return check::explain(test, &mut pool, pair).map(Err);
    }
    if !tally.failures.is_empty() {
        tally.failures.sort_by_key(|failure| failure.seed);
        let shrunk = match options.is_live || test.should_panic || options.check {
            true => None,
            false => shrink::shrink(&mut pool, &tally.failures[0], options)?,
        };
        return Ok(Err(failed(test, options, &corpus, tally, shrunk)));
    }
    Ok(reached(test, options, &tally))
}

/// Keeps the seeds that have failed. Returns what is to be said.
fn failed(
    test: &Test,
    options: &Options,
    corpus: &Corpus,
    tally: Tally,
    shrunk: Option<Shrunk>,
) -> String {
    let mut text = report::failure(
        test,
        options,
        &tally.failures,
        tally.passed,
        shrunk.as_ref(),
    );
    if !options.is_live && !test.should_panic {
        for (at, failure) in tally.failures.iter().enumerate() {
            // Only the first is shrunk.
            let shrunk = shrunk.as_ref().filter(|_| at == 0);
            let choices = shrunk.map_or(&failure.choices, |shrunk| &shrunk.choices);
            let outcome = &failure.finished.outcome;
            let kept = match options.shrinks {
                true => corpus.replace(test, (failure.seed, &options.choices), choices, outcome),
                false => corpus.add(test, failure.seed, choices, outcome),
            };
            if let Err(error) = kept {
                text += &format!(
                    "\nThe seed could not be added to {}: {error}",
                    corpus.shown()
                );
            }
        }
    }
    text
}

/// Looks whether some run has reached every place that has to be.
fn reached(test: &Test, options: &Options, tally: &Tally) -> Result<(), String> {
    let missed = chaos::missed(&tally.sites);
    if missed.is_empty() || options.is_live || test.sometimes == Sometimes::Ignore {
        return Ok(());
    }
    let text = report::missed(test, tally.passed, &missed);
    if test.sometimes == Sometimes::Require {
        return Err(text);
    }
    eprintln!("{text}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Options, Verdict, seeds, unquoted};
    use std::rc::Rc;
    use std::time::Duration;

    #[test]
    fn known_seeds_are_first_and_run_once() {
        let options = Options {
            seed: 5,
            number: 4,
            is_live: false,
            jobs: 1,
            check: false,
            time_limit: Duration::ZERO,
            trace: None,
            choices: Default::default(),
            shrinks: false,
            budget: Default::default(),
        };
        let plain = |seed| (seed, Rc::default());
        let changed = (6, Rc::new(super::Choices::parse("v1/schedule:0-").unwrap()));
        let known = vec![plain(7), changed.clone(), plain(2)];
        let expected = [plain(7), changed, plain(2), plain(5), plain(6), plain(8)];
        assert_eq!(seeds(&options, known).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn errors_are_shown_as_they_read() {
        let error: Result<(), Box<dyn std::error::Error>> = Err("two\nlines of \"text\"".into());
        assert_eq!(error.verdict(), Err("two\nlines of \"text\"".to_string()));
        assert_eq!(unquoted(r#"("a", "b")"#), r#"("a", "b")"#);
        assert_eq!(unquoted(r#""a", "b""#), r#""a", "b""#);
        assert_eq!(unquoted("Error(7)"), "Error(7)");
    }
}
