//! The seeds that have failed, in a file beside the package's manifest.

use super::Test;
use super::pool::Outcome;
use super::report;
use crate::choices::Choices;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::rc::Rc;

/// The name of the file.
const NAME: &str = "sim-corpus.txt";
/// The environment variable that names another file, or says `off`.
const VARIABLE: &str = "TRESS_SIM_CORPUS";

/// What a new file starts with.
const HEAD: &str = "# Seeds that have failed: test, seed, choices if they were shrunk, how. They are tried first. Remove those that are of no use any more.\n";

/// A seed, and the choices of its run that are not drawn.
pub(super) type Entry = (u64, Rc<Choices>);

/// The file, or none.
#[derive(Debug)]
pub(super) struct Corpus(Option<PathBuf>);

impl Corpus {
    pub(super) fn of(test: &Test) -> Corpus {
        Corpus(match env::var_os(VARIABLE) {
            Some(text) if text == "off" || text.is_empty() => None,
            Some(path) => Some(PathBuf::from(path)),
            None => test.manifest.map(|folder| PathBuf::from(folder).join(NAME)),
        })
    }

    pub(super) fn shown(&self) -> String {
        self.0
            .as_ref()
            .map_or(String::new(), |path| path.display().to_string())
    }

    fn text(&self) -> String {
        // A file that is not there, or cannot be read, has no seeds.
        self.0
            .as_ref()
            .and_then(|path| fs::read_to_string(path).ok())
            .unwrap_or_default()
    }

    /// Returns the seeds of a test, with their choices.
    ///
    /// # Errors
    /// A line of the test has choices that make no sense. The text names it.
    pub(super) fn entries(&self, test: &Test) -> Result<Vec<Entry>, String> {
        let text = self.text();
        let entries = text.lines().filter_map(|line| entry(line, test.name));
        entries
            .collect::<Result<_, _>>()
            .map_err(|error| format!("{}: {error}", self.shown()))
    }

    /// Adds a seed of a test, unless it is there, with whatever choices.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn add(
        &self,
        test: &Test,
        seed: u64,
        choices: &Choices,
        outcome: &Outcome,
    ) -> io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        let text = self.text();
        if text
            .lines()
            .any(|line| seed_of(line, test.name) == Some(seed))
        {
            return Ok(());
        }
        let head = if text.is_empty() { HEAD } else { "" };
        let line = format!("{head}{}\n", line(test, seed, choices, outcome));
        // One write, so that lines of several processes do not mix.
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)?
            .write_all(line.as_bytes())
    }

    /// Gives a seed other choices: the line with those that it had is replaced, or if there is none, those with any. Adds it if
    /// it is not there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn replace(
        &self,
        test: &Test,
        (seed, had): (u64, &Rc<Choices>),
        choices: &Choices,
        outcome: &Outcome,
    ) -> io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        let text = self.text();
        let is_exactly_it = |line: &str| entry(line, test.name) == Some(Ok((seed, had.clone())));
        let has_it = text.lines().any(is_exactly_it);
        let is_it = |line: &str| match has_it {
            true => is_exactly_it(line),
            false => seed_of(line, test.name) == Some(seed),
        };
        if !text.lines().any(is_it) {
            return self.add(test, seed, choices, outcome);
        }
        let new = line(test, seed, choices, outcome);
        let lines = text.lines().map(|line| match is_it(line) {
            true => format!("{new}\n"),
            false => format!("{line}\n"),
        });
        // The file is complete at any time: another process may read it.
        let part = path.with_extension("new");
        fs::write(&part, lines.collect::<String>())?;
        fs::rename(part, path)
    }
}

/// The line of a seed that has failed in that way.
fn line(test: &Test, seed: u64, choices: &Choices, outcome: &Outcome) -> String {
    let how = report::how(outcome);
    let how: String = how
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(100)
        .collect();
    let space = if choices.is_empty() { "" } else { " " };
    format!("{} {seed}{space}{choices} {how}", test.name)
}

/// The seed of a line, if it is one of that test.
fn seed_of(line: &str, name: &str) -> Option<u64> {
    let mut words = line.split_whitespace();
    (words.next()? == name).then(|| words.next()?.parse().ok())?
}

/// The seed and the choices of a line, if it is one of that test.
fn entry(line: &str, name: &str) -> Option<Result<Entry, String>> {
    let seed = seed_of(line, name)?;
    let third = line.split_whitespace().nth(2).unwrap_or_default();
    let choices = match Choices::is_meant_by(third) {
        true => Choices::parse(third),
        false => Ok(Choices::default()),
    };
    Some(choices.map(|choices| (seed, Rc::new(choices))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str, name: &str) -> Vec<(u64, String)> {
        let entries = text.lines().filter_map(|line| entry(line, name));
        let text = |entry: Result<Entry, String>| {
            let (seed, choices) = entry.unwrap();
            (seed, choices.to_string())
        };
        entries.map(text).collect()
    }

    #[test]
    fn lines_are_a_test_and_a_seed_and_choices() {
        let text = "# a::b 1\na::b 17 panicked: no\na::c 18 failed\n\na::b x\na::b 19\n\
            a::b 20 v1/faults:0- failed: v1\n";
        let drawn = String::new;
        let shrunk = (20, "v1/faults:0-".to_string());
        assert_eq!(
            entries(text, "a::b"),
            [(17, drawn()), (19, drawn()), shrunk]
        );
        assert_eq!(entries(text, "a::c"), [(18, drawn())]);
        assert!(entries(text, "a").is_empty());
    }

    #[test]
    fn wrong_choices_are_an_error() {
        for choices in ["v1/nonsense", "v2/faults:0-"] {
            let error = entry(&format!("a::b 17 {choices} failed"), "a::b").unwrap();
            assert!(error.unwrap_err().contains("is no choice string"));
        }
    }
}
