//! Compares what the two sides did.

use super::libtest::{Binary, Outcome};
use super::run::{Run, Side};
use serde::Serialize;
use std::collections::BTreeSet;

/// The name under which the process of a binary stands among its tests, where it failed and none of them did.
const PROCESS: &str = "(the process itself)";

/// All that is printed, for programs.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The versions of tokio that were linked on each side.
    pub(crate) tokio: Option<SideReport>,
    pub(crate) tress: SideReport,
    pub(crate) binaries: Vec<Row>,
    /// Tests that pass on Tokio and not on tress.
    pub(crate) lost: Vec<Difference>,
    /// Tests that pass on tress and not on Tokio.
    pub(crate) won: Vec<Difference>,
    /// Tests that fail on tress and did not pass on Tokio, or were not run there.
    pub(crate) failed: Vec<Difference>,
    pub(crate) notes: Vec<String>,
    pub(crate) verdict: Verdict,
    pub(crate) exit_code: u8,
}

/// A side as a whole.
#[derive(Debug, Serialize)]
pub(crate) struct SideReport {
    pub(crate) version: String,
    pub(crate) build_seconds: f64,
    pub(crate) build_error: Option<String>,
    pub(crate) test_seconds: Option<f64>,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
    pub(crate) log: String,
}

/// A binary on both sides.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The number of tests, ignored ones left out, on the side that has more.
    pub(crate) tests: usize,
    pub(crate) tokio: Option<Cell>,
    pub(crate) tress: Option<Cell>,
}

/// A binary on one side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Cell {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
    pub(crate) seconds: Option<f64>,
}

/// A test that did not do the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Difference {
    pub(crate) binary: String,
    pub(crate) test: String,
    /// `None` if it did not run.
    pub(crate) on_tokio: Option<Outcome>,
    pub(crate) on_tress: Option<Outcome>,
    /// The last lines of the side that failed.
    pub(crate) output: Vec<String>,
}

/// The result in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// The same tests pass on both.
    Same,
    /// More pass on tress.
    Better,
    /// Some pass on Tokio only.
    Worse,
    /// The tests cannot be built on tress.
    DoesNotBuild,
    /// Everything was built, and nothing run.
    Builds,
    /// All tests pass on tress; Tokio was not asked.
    Passes,
    /// Some tests fail on tress; Tokio was not asked.
    Fails,
}

impl Verdict {
    fn exit_code(self) -> u8 {
        match self {
            Verdict::Same | Verdict::Better | Verdict::Builds | Verdict::Passes => 0,
            Verdict::Worse | Verdict::DoesNotBuild | Verdict::Fails => 1,
        }
    }
}

impl Report {
    /// Compares two runs, or looks at the one on tress alone. The texts are the versions.
    pub(crate) fn new(
        tokio: Option<(&Run, String)>,
        tress: (&Run, String),
        notes: Vec<String>,
    ) -> Report {
        let before = tokio.as_ref().map(|(run, _)| *run);
        let (after, version) = tress;
        let mut report = Report {
            tokio: tokio.map(|(run, version)| SideReport::new(run, version)),
            tress: SideReport::new(after, version),
            binaries: rows(before, after),
            lost: Vec::new(),
            won: Vec::new(),
            failed: Vec::new(),
            notes,
            verdict: Verdict::Same,
            exit_code: 0,
        };
        if after.build_error.is_none() && after.test_seconds.is_some() {
            report.compare(before, after);
        }
        report.verdict = report.judge(before, after);
        report.exit_code = report.verdict.exit_code();
        report
    }

    fn compare(&mut self, before: Option<&Run>, after: &Run) {
        for name in names(before, after) {
            let (old, new) = (before.and_then(|run| find(run, &name)), find(after, &name));
            let tests: BTreeSet<&String> = [old, new]
                .into_iter()
                .flatten()
                .flat_map(|b| b.tests.keys())
                .collect();
            let mut differ = |test: &str, on_tokio: Option<Outcome>, on_tress: Option<Outcome>| {
                let is_lost = on_tokio == Some(Outcome::Ok) && on_tress != Some(Outcome::Ok);
                let is_won = before.is_some()
                    && on_tress == Some(Outcome::Ok)
                    && on_tokio != Some(Outcome::Ok);
                // What did not run has nothing to say; its process may have.
                let failing = match (on_tokio, on_tress) {
                    (Some(Outcome::Failed), Some(Outcome::Ok)) => old,
                    (_, Some(Outcome::Failed)) => new,
                    _ => None,
                };
                let difference = Difference {
                    binary: name.clone(),
                    test: test.to_owned(),
                    on_tokio,
                    on_tress,
                    output: failing
                        .map(|binary| output(binary, test))
                        .unwrap_or_default(),
                };
                if is_lost {
                    self.lost.push(difference);
                } else if is_won {
                    self.won.push(difference);
                } else if on_tress == Some(Outcome::Failed) {
                    self.failed.push(difference);
                }
            };
            let process = |binary: Option<&Binary>| {
                binary.map(|binary| {
                    if binary.has_crashed() {
                        Outcome::Failed
                    } else {
                        Outcome::Ok
                    }
                })
            };
            if process(old).or(Some(Outcome::Ok)) != process(new).or(Some(Outcome::Ok)) {
                differ(PROCESS, process(old), process(new));
            }
            for test in tests {
                let outcome = |binary: Option<&Binary>| {
                    binary.and_then(|binary| binary.tests.get(test)).copied()
                };
                differ(test, outcome(old), outcome(new));
            }
        }
    }

    /// Returns the number of tests that pass on Tokio only, processes not counted.
    pub(crate) fn lost_tests(&self) -> usize {
        self.lost.iter().filter(|lost| lost.test != PROCESS).count()
    }

    fn judge(&self, before: Option<&Run>, after: &Run) -> Verdict {
        if after.build_error.is_some() {
            return Verdict::DoesNotBuild;
        }
        if after.test_seconds.is_none() {
            return Verdict::Builds;
        }
        match before {
            None if after.is_good() => Verdict::Passes,
            None => Verdict::Fails,
            Some(before) => {
                let has_failed = after.has_failed_otherwise && !before.has_failed_otherwise;
                if has_failed || !self.lost.is_empty() {
                    Verdict::Worse
                } else if self.won.is_empty() {
                    Verdict::Same
                } else {
                    Verdict::Better
                }
            }
        }
    }
}

impl SideReport {
    fn new(run: &Run, version: String) -> SideReport {
        SideReport {
            version,
            build_seconds: run.build_seconds,
            build_error: run.build_error.clone(),
            test_seconds: run.test_seconds,
            passed: run.count(Outcome::Ok),
            failed: run.count(Outcome::Failed),
            ignored: run.count(Outcome::Ignored),
            log: run.log.display().to_string(),
        }
    }
}

impl Row {
    /// Returns the cell of a side.
    pub(crate) fn cell(&self, side: Side) -> Option<Cell> {
        match side {
            Side::Tokio => self.tokio,
            Side::Tress => self.tress,
        }
    }
}

fn rows(before: Option<&Run>, after: &Run) -> Vec<Row> {
    let cell = |binary: &Binary| Cell {
        passed: binary.count(Outcome::Ok),
        failed: binary.count(Outcome::Failed),
        ignored: binary.count(Outcome::Ignored),
        seconds: binary.seconds,
    };
    let size = |cell: Option<Cell>| cell.map_or(0, |cell| cell.passed + cell.failed);
    let row = |name: String| {
        let tokio = before.and_then(|run| find(run, &name)).map(cell);
        let tress = find(after, &name).map(cell);
        Row {
            tests: size(tokio).max(size(tress)),
            name,
            tokio,
            tress,
        }
    };
    names(before, after).into_iter().map(row).collect()
}

/// Returns the names of all binaries, in the order in which they ran.
fn names(before: Option<&Run>, after: &Run) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let all = before
        .into_iter()
        .chain([after])
        .flat_map(|run| &run.binaries);
    all.map(|binary| binary.name.clone())
        .filter(|name| seen.insert(name.clone()))
        .collect()
}

fn find<'a>(run: &'a Run, name: &str) -> Option<&'a Binary> {
    run.binaries.iter().find(|binary| binary.name == name)
}

/// Returns the last lines of a test, or of the whole binary if the test had not the time to print its own.
fn output(binary: &Binary, test: &str) -> Vec<String> {
    binary.outputs.get(test).unwrap_or(&binary.tail).clone()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Makes a run of one binary from `name=o`, `name=F` and `name=i`.
    pub(crate) fn run(tests: &str) -> Run {
        let mut binary = Binary {
            name: "app src/lib.rs".to_owned(),
            seconds: Some(0.5),
            ..Binary::default()
        };
        for word in tests.split_whitespace() {
            let (name, outcome) = word.split_once('=').unwrap();
            let outcome = match outcome {
                "o" => Outcome::Ok,
                "F" => Outcome::Failed,
                _ => Outcome::Ignored,
            };
            binary.has_failed |= outcome == Outcome::Failed;
            if outcome == Outcome::Failed {
                binary
                    .outputs
                    .insert(name.to_owned(), vec![format!("{name} went wrong")]);
            }
            binary.tests.insert(name.to_owned(), outcome);
        }
        Run {
            build_seconds: 2.0,
            test_seconds: Some(1.0),
            binaries: vec![binary],
            ..Run::default()
        }
    }

    pub(crate) fn report(tokio: &Run, tress: &Run) -> Report {
        Report::new(
            Some((tokio, "1.40.0".into())),
            (tress, "1.54.1".into()),
            Vec::new(),
        )
    }

    #[test]
    fn verdicts() {
        for (tokio, tress, verdict, code) in [
            ("a=o b=o", "a=o b=o", Verdict::Same, 0),
            ("a=o b=F", "a=o b=F", Verdict::Same, 0),
            ("a=F b=o", "a=o b=o", Verdict::Better, 0),
            ("a=F b=o", "a=o b=F", Verdict::Worse, 1),
            ("a=o b=o", "a=o", Verdict::Worse, 1),
            ("a=o b=i", "a=o b=i", Verdict::Same, 0),
        ] {
            let report = report(&run(tokio), &run(tress));
            assert_eq!(
                (report.verdict, report.exit_code),
                (verdict, code),
                "{tokio}; {tress}"
            );
        }
    }

    #[test]
    fn differences_have_the_output_of_the_side_that_failed() {
        let report = report(&run("a=o b=F c=F"), &run("a=F b=o c=F"));
        assert_eq!(report.lost[0].test, "a");
        assert_eq!(report.lost[0].output, ["a went wrong"]);
        assert_eq!(report.won[0].output, ["b went wrong"]);
        assert_eq!(report.failed[0].test, "c");
    }

    #[test]
    fn a_crash_on_tress_is_a_difference() {
        let mut crashed = run("a=o");
        crashed.binaries[0].has_failed = true;
        crashed.binaries[0].tail = vec!["SIGABRT".into()];
        let report = report(&run("a=o"), &crashed);
        assert_eq!((report.verdict, report.lost.len()), (Verdict::Worse, 1));
        assert_eq!(report.lost[0].output, ["SIGABRT"]);
        let report = super::tests::report(&run("a=o b=o"), &crashed);
        let lost: Vec<_> = report.lost.iter().map(|lost| lost.test.as_str()).collect();
        assert_eq!(lost, [PROCESS, "b"]);
        assert!(report.lost[1].output.is_empty());
        assert_eq!(report.lost_tests(), 1);
    }

    #[test]
    fn tress_alone_and_builds_alone() {
        let alone = |run: &Run| Report::new(None, (run, "1".into()), Vec::new()).verdict;
        assert_eq!(alone(&run("a=o")), Verdict::Passes);
        assert_eq!(alone(&run("a=F")), Verdict::Fails);
        let mut built = run("");
        built.test_seconds = None;
        assert_eq!(alone(&built), Verdict::Builds);
        built.build_error = Some("error".into());
        assert_eq!(alone(&built), Verdict::DoesNotBuild);
    }
}
