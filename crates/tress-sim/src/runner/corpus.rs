//! The seeds that have failed, in a file beside the package's manifest.

use super::Test;
use super::pool::Outcome;
use super::report;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// The name of the file.
const NAME: &str = "sim-corpus.txt";
/// The environment variable that names another file, or says `off`.
const VARIABLE: &str = "TRESS_SIM_CORPUS";

/// What a new file starts with.
const HEAD: &str = "# Seeds that have failed: test, seed, how. They are tried first. Remove those that are of no use any more.\n";

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

    /// Returns the seeds of a test.
    pub(super) fn seeds(&self, test: &Test) -> Vec<u64> {
        seeds(&self.text(), test.name)
    }

    /// Adds a seed of a test, unless it is there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn add(&self, test: &Test, seed: u64, outcome: &Outcome) -> io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        let text = self.text();
        if seeds(&text, test.name).contains(&seed) {
            return Ok(());
        }
        let how = report::how(outcome);
        let how: String = how
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(100)
            .collect();
        let head = if text.is_empty() { HEAD } else { "" };
        let line = format!("{head}{} {seed} {how}\n", test.name);
        // One write, so that lines of several processes do not mix.
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)?
            .write_all(line.as_bytes())
    }
}

fn seeds(text: &str, name: &str) -> Vec<u64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let seeds = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == name).then(|| words.next()?.parse().ok())?
    });
    seeds.collect()
}

#[cfg(test)]
mod tests {
    use super::seeds;

    #[test]
    fn lines_are_a_test_and_a_seed() {
        let text = "# a::b 1\na::b 17 panicked: no\na::c 18 failed\n\na::b x\na::b 19\n";
        assert_eq!(seeds(text, "a::b"), [17, 19]);
        assert_eq!(seeds(text, "a::c"), [18]);
        assert!(seeds(text, "a").is_empty());
    }
}
