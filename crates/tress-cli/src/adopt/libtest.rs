//! Reads the output of `cargo test`: which binary ran, and what became of each of its tests.

use serde::Serialize;
use std::collections::BTreeMap;

/// The number of lines of a test's output that are kept.
const LAST_LINES: usize = 12;

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    /// It passed.
    Ok,
    /// It failed.
    Failed,
    /// It was not to be run.
    Ignored,
}

/// What a binary of tests, or the examples of a crate's documentation, said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Binary {
    /// The name of the package and the file, or the crate and `doc-tests`.
    pub(crate) name: String,
    /// The tests by their names.
    pub(crate) tests: BTreeMap<String, Outcome>,
    /// The last lines of what a failed test printed.
    pub(crate) outputs: BTreeMap<String, Vec<String>>,
    /// The seconds that it took, if it said so.
    pub(crate) seconds: Option<f64>,
    /// Whether the process failed, which it does if a test does.
    pub(crate) has_failed: bool,
    /// The last lines of what it printed.
    pub(crate) tail: Vec<String>,
}

impl Binary {
    /// Returns the number of tests with an outcome.
    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        self.tests
            .values()
            .filter(|other| **other == outcome)
            .count()
    }

    /// Returns whether the process failed although no test of it did: it was killed, or ended itself.
    pub(crate) fn has_crashed(&self) -> bool {
        self.has_failed && self.count(Outcome::Failed) == 0
    }
}

/// Reads the output of `cargo test`, both streams in one. `package` finds the package of an executable by the name of
/// its file.
pub(crate) fn parse(text: &str, package: impl Fn(&str) -> Option<String>) -> Vec<Binary> {
    let mut reader = Reader::default();
    for line in text.lines() {
        if let Some(name) = heading(line, &package) {
            reader.finish();
            reader.current = Some(Binary {
                name,
                ..Binary::default()
            });
        } else if reader.current.is_some() {
            reader.line(line);
        }
    }
    reader.finish();
    reader.binaries
}

/// Returns the name of the binary whose tests follow, if this is the line by which cargo says so.
fn heading(line: &str, package: impl Fn(&str) -> Option<String>) -> Option<String> {
    if let Some(name) = line.strip_prefix("   Doc-tests ") {
        return Some(format!("{name} doc-tests"));
    }
    // Running unittests src/lib.rs (target/debug/deps/name-0123456789abcdef)
    let (source, executable) = line
        .strip_prefix("     Running ")?
        .strip_suffix(')')?
        .rsplit_once(" (")?;
    let file = executable.rsplit(['/', '\\']).next()?;
    let source = source
        .strip_prefix("unittests ")
        .unwrap_or(source)
        .replace('\\', "/");
    let stem = file.rsplit_once('-').map_or(file, |(stem, _)| stem);
    let package = package(file).unwrap_or_else(|| stem.to_owned());
    Some(format!("{package} {source}"))
}

#[derive(Debug, Default)]
struct Reader {
    binaries: Vec<Binary>,
    current: Option<Binary>,
    /// Whether the harness has said anything; a binary without one just runs.
    has_harness: bool,
    /// A test whose outcome did not stand on its line, because something was printed between.
    pending: Vec<String>,
    /// The failed test whose output is being read.
    reading: Option<String>,
    /// Whether the lines are those of a backtrace, which says less than what stands above it.
    in_backtrace: bool,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let Some(binary) = &mut self.current else {
            return;
        };
        self.in_backtrace =
            line == "stack backtrace:" || (self.in_backtrace && line.starts_with([' ', 'n']));
        if self.in_backtrace {
            return;
        }
        if line.starts_with("error: test failed, to rerun")
            || line.starts_with("error: doctest failed, to rerun")
        {
            binary.has_failed = true;
            self.reading = None;
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            self.has_harness = true;
            self.reading = None;
            let seconds = rest
                .rsplit_once("finished in ")
                .and_then(|(_, time)| time.trim_end_matches('s').parse::<f64>().ok());
            if let Some(seconds) = seconds {
                *binary.seconds.get_or_insert(0.0) += seconds;
            }
            // Whatever failed was listed above this line.
            for name in self.pending.drain(..) {
                binary.tests.entry(name).or_insert(Outcome::Ok);
            }
        } else if let Some((name, rest)) = test_line(line) {
            self.has_harness = true;
            match outcome(rest) {
                Some(outcome) => drop(binary.tests.insert(name, outcome)),
                None => self.pending.push(name),
            }
        } else if let Some(name) = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            let name = plain(name);
            binary.tests.insert(name.clone(), Outcome::Failed);
            binary.outputs.insert(name.clone(), Vec::new());
            self.reading = Some(name);
        } else if line.starts_with("running ") && line.ends_with(['t', 's']) {
            self.has_harness = true;
        } else if line == "failures:" {
            self.reading = None;
        } else if let Some(last) = self.pending.last().filter(|_| outcome(line).is_some()) {
            binary
                .tests
                .insert(last.clone(), outcome(line).unwrap_or(Outcome::Ok));
            self.pending.pop();
        } else if let Some(output) = self
            .reading
            .as_ref()
            .and_then(|name| binary.outputs.get_mut(name))
        {
            keep_last(output, line);
        }
        keep_last(&mut binary.tail, line);
    }

    fn finish(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let has_harness = std::mem::take(&mut self.has_harness);
        self.reading = None;
        let Some(mut binary) = self.current.take() else {
            return;
        };
        // The process ended in the middle of these.
        for name in pending {
            binary.tests.entry(name).or_insert(Outcome::Failed);
        }
        if !has_harness {
            let outcome = if binary.has_failed {
                Outcome::Failed
            } else {
                Outcome::Ok
            };
            binary
                .outputs
                .insert("main".to_owned(), binary.tail.clone());
            binary.tests.insert("main".to_owned(), outcome);
        }
        self.binaries.push(binary);
    }
}

/// Returns the name and the rest of a line `test name ... rest`.
fn test_line(line: &str) -> Option<(String, &str)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    Some((plain(name), rest))
}

/// Returns a name without what the harness adds to it.
fn plain(name: &str) -> String {
    name.strip_suffix(" - should panic")
        .unwrap_or(name)
        .to_owned()
}

fn outcome(text: &str) -> Option<Outcome> {
    // A time may follow, or why a test is ignored.
    match text.split([' ', ',']).next()? {
        "ok" | "bench:" => Some(Outcome::Ok),
        "FAILED" => Some(Outcome::Failed),
        "ignored" => Some(Outcome::Ignored),
        _ => None,
    }
}

fn keep_last(lines: &mut Vec<String>, line: &str) {
    if line.trim().is_empty() {
        return;
    }
    if lines.len() == LAST_LINES {
        lines.remove(0);
    }
    lines.push(line.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Binary> {
        parse(text, |file| (file == "it-0b").then(|| "app".to_owned()))
    }

    #[test]
    fn binaries_and_documentation() {
        let binaries = read(
            "   Compiling app v0.1.0\n    Finished `test` profile\n\
             \x20    Running unittests src/lib.rs (target/debug/deps/app-0a)\n\n\
             running 3 tests\ntest a ... ok\ntest b - should panic ... ok\ntest c ... ignored, slow\n\n\
             test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.25s\n\n\
             \x20    Running tests/it.rs (target/debug/deps/it-0b)\n\nrunning 0 tests\n\n\
             test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n\
             \x20  Doc-tests app\n\nrunning 1 test\ntest src/lib.rs - f (line 3) ... ok\n\n\
             test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s\n\
             running 1 test\ntest src/lib.rs - g (line 9) - compile fail ... ok\n\n\
             test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.25s\n",
        );
        let names: Vec<_> = binaries.iter().map(|binary| binary.name.as_str()).collect();
        assert_eq!(
            names,
            ["app src/lib.rs", "app tests/it.rs", "app doc-tests"]
        );
        assert_eq!(binaries[0].count(Outcome::Ok), 2);
        assert_eq!(binaries[0].tests["c"], Outcome::Ignored);
        assert_eq!(binaries[0].seconds, Some(0.25));
        assert!(binaries[1].tests.is_empty());
        assert_eq!(
            (binaries[2].tests.len(), binaries[2].seconds),
            (2, Some(0.75))
        );
        assert!(binaries.iter().all(|binary| !binary.has_failed));
    }

    #[test]
    fn failures_have_their_output() {
        let binaries = read(
            "     Running tests/it.rs (target/debug/deps/it-0b)\n\nrunning 2 tests\n\
             test good ... ok\ntest bad ... FAILED\n\nfailures:\n\n---- bad stdout ----\n\
             thread 'bad' panicked at tests/it.rs:3:\nassertion failed\nstack backtrace:\n   0: it::bad\n             \
             at ./tests/it.rs:3\nnote: some details are omitted\n\n\nfailures:\n    bad\n\n\
             test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\n\
             error: test failed, to rerun pass `--test it`\n",
        );
        assert_eq!(binaries[0].tests["bad"], Outcome::Failed);
        assert_eq!(binaries[0].outputs["bad"][1], "assertion failed");
        assert_eq!(binaries[0].outputs["bad"].len(), 2);
        assert!(binaries[0].has_failed && !binaries[0].has_crashed());
    }

    #[test]
    fn what_is_printed_between_does_no_harm() {
        let binaries = read(
            "     Running tests/it.rs (target/debug/deps/it-0b)\n\nrunning 3 tests\n\
             test a ... hello\nok\ntest b ... from a childok\ntest c ... more\nFAILED\n\n\
             test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n",
        );
        assert_eq!(binaries[0].tests["a"], Outcome::Ok);
        assert_eq!(binaries[0].tests["b"], Outcome::Ok);
        assert_eq!(binaries[0].tests["c"], Outcome::Failed);
    }

    #[test]
    fn a_crash_is_seen() {
        let binaries = read(
            "     Running tests/it.rs (target/debug/deps/it-0b)\n\nrunning 2 tests\ntest a ... ok\n\
             error: test failed, to rerun pass `--test it`\n\nCaused by:\n  \
             process didn't exit successfully: `it-0b` (signal: 6, SIGABRT: process abort signal)\n",
        );
        assert!(binaries[0].has_crashed());
        assert!(binaries[0].tail.last().unwrap().contains("SIGABRT"));
    }

    #[test]
    fn a_binary_without_a_harness_is_one_test() {
        let text = "     Running benches/b.rs (target/debug/deps/b-0c)\nhello\n";
        assert_eq!(read(text)[0].tests["main"], Outcome::Ok);
        let failed = format!("{text}error: test failed, to rerun pass `--bench b`\n");
        assert_eq!(read(&failed)[0].tests["main"], Outcome::Failed);
    }
}
