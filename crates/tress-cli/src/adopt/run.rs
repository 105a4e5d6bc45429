//! Builds the tests of a workspace and runs them.

use super::cargo::Cargo;
use super::libtest::{self, Binary, Outcome};
use super::restore::Session;
use super::{Refusal, tell};
use serde::Deserialize;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

/// Which crate has the name tokio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one of the registry.
    Tokio,
    /// The facade.
    Tress,
}

/// What a side did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    /// The seconds that the build took.
    pub(crate) build_seconds: f64,
    /// The compiler's words, if it failed.
    pub(crate) build_error: Option<String>,
    /// The seconds that the tests took, with the building of those in the documentation; `None` if they were not run.
    pub(crate) test_seconds: Option<f64>,
    /// What ran.
    pub(crate) binaries: Vec<Binary>,
    /// Whether `cargo test` failed although everything that was read passed.
    pub(crate) has_failed_otherwise: bool,
    /// The output of cargo and of the tests.
    pub(crate) log: PathBuf,
}

/// How both sides are run.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) cargo: &'a Cargo,
    pub(crate) session: &'a Session,
    /// The folder of both target directories and logs.
    pub(crate) dir: PathBuf,
    /// The arguments for cargo test.
    pub(crate) args: &'a [OsString],
    /// Whether the tests are only built.
    pub(crate) is_build_only: bool,
    /// The names of packages by their ids.
    pub(crate) names: HashMap<String, String>,
}

impl Side {
    /// Returns the name that is shown.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Side::Tokio => "tokio",
            Side::Tress => "tress",
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Side::Tokio => "real",
            Side::Tress => "tress",
        }
    }
}

impl Run {
    /// Returns the number of tests with an outcome.
    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        self.binaries
            .iter()
            .map(|binary| binary.count(outcome))
            .sum()
    }

    /// Returns whether it was built, and every test that ran passed.
    pub(crate) fn is_good(&self) -> bool {
        self.build_error.is_none()
            && !self.has_failed_otherwise
            && self
                .binaries
                .iter()
                .all(|binary| !binary.has_failed && binary.count(Outcome::Failed) == 0)
    }
}

/// A line of cargo's JSON.
#[derive(Debug, Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
    executable: Option<PathBuf>,
}

impl Plan<'_> {
    /// Builds and runs the tests of one side.
    ///
    /// # Errors
    /// Refuses if cargo cannot be started or the log not be written. Tests that fail, or cannot be built, are no error.
    pub(crate) fn run(&self, side: Side) -> Result<Run, Refusal> {
        let log = self.dir.join(format!("{}.log", side.folder()));
        let unwritable = |error| Refusal::io(&format!("cannot write {}", log.display()), error);
        fs::create_dir_all(&self.dir).map_err(unwritable)?;
        fs::write(&log, "").map_err(unwritable)?;
        let mut run = Run {
            log: log.clone(),
            ..Run::default()
        };

        tell(&format!("building on {} …", side.name()));
        let start = Instant::now();
        let mut build = self.cargo_test(side);
        let (ours, _) = split(self.args);
        build
            .args(["--no-run", "--message-format=json-render-diagnostics"])
            .args(ours);
        build.stderr(append(&log).map_err(unwritable)?);
        let output = self.output(&mut build)?;
        run.build_seconds = start.elapsed().as_secs_f64();
        if !output.status.success() {
            run.build_error = Some(first_error(&read(&log)));
            return Ok(run);
        }
        let packages = self.packages(&output.stdout);
        if self.is_build_only {
            return Ok(run);
        }

        tell(&format!("testing on {} …", side.name()));
        let start = Instant::now();
        let mut test = self.cargo_test(side);
        test.args(self.args);
        // One description for both: the lines stand in the order in which they were written.
        let both = append(&log).map_err(unwritable)?;
        test.stdout(both.try_clone().map_err(unwritable)?)
            .stderr(both);
        let status = self.output(&mut test)?.status;
        run.test_seconds = Some(start.elapsed().as_secs_f64());
        run.binaries = libtest::parse(&read(&log), |file| packages.get(file).cloned());
        number_namesakes(&mut run.binaries);
        let is_explained = run
            .binaries
            .iter()
            .any(|binary| binary.has_failed || binary.count(Outcome::Failed) > 0);
        run.has_failed_otherwise = !status.success() && !is_explained;
        Ok(run)
    }

    fn cargo_test(&self, side: Side) -> Command {
        let mut command = self.cargo.command("test");
        if !selects_packages(self.args) {
            command.arg("--workspace");
        }
        command
            .arg("--no-fail-fast")
            .arg("--target-dir")
            .arg(self.dir.join(side.folder()));
        command
    }

    fn output(&self, command: &mut Command) -> Result<Output, Refusal> {
        self.session
            .output(command)
            .map_err(|error| self.cargo.not_started(&error))
    }

    /// Returns the package of each executable, by the name of its file.
    fn packages(&self, messages: &[u8]) -> HashMap<String, String> {
        let messages = String::from_utf8_lossy(messages);
        let parsed = messages
            .lines()
            .filter_map(|line| serde_json::from_str::<Message>(line).ok());
        parsed
            .filter(|message| message.reason == "compiler-artifact")
            .filter_map(|message| {
                let file = message
                    .executable?
                    .file_name()?
                    .to_string_lossy()
                    .into_owned();
                Some((file, self.names.get(&message.package_id?)?.clone()))
            })
            .collect()
    }
}

/// Divides arguments for cargo test into cargo's own, and those for the binaries.
fn split(args: &[OsString]) -> (&[OsString], &[OsString]) {
    let end = args
        .iter()
        .position(|arg| arg == OsStr::new("--"))
        .unwrap_or(args.len());
    args.split_at(end)
}

fn selects_packages(args: &[OsString]) -> bool {
    split(args).0.iter().any(|arg| {
        let text = arg.to_string_lossy();
        let name = text.split_once('=').map_or(&*text, |(name, _)| name);
        matches!(name, "--package" | "--workspace" | "--all")
            || (name.starts_with("-p") && !name.starts_with("--"))
    })
}

/// Packages may have the same name and tests of the same name; cargo runs them in the same order every time.
fn number_namesakes(binaries: &mut [Binary]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for binary in binaries {
        let count = seen.entry(binary.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            binary.name = format!("{} ({count})", binary.name);
        }
    }
}

fn append(log: &Path) -> io::Result<File> {
    File::options().append(true).open(log)
}

fn read(log: &Path) -> String {
    String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned()
}

/// Returns the compiler's first error, or else the end of what cargo said.
fn first_error(log: &str) -> String {
    let lines: Vec<&str> = log.trim_end().lines().collect();
    let start = lines.iter().position(|line| line.starts_with("error"));
    let start = start.unwrap_or(lines.len().saturating_sub(20));
    lines[start..]
        .iter()
        .take(20)
        .copied()
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(Into::into).collect()
    }

    #[test]
    fn arguments_that_select_packages_are_known() {
        for args in [
            "-p app",
            "--package=app --lib",
            "--workspace",
            "--all",
            "-papp",
        ] {
            assert!(selects_packages(&words(args)), "{args}");
        }
        for args in ["", "--lib", "--exclude app", "name -- -p", "--profile x"] {
            assert!(!selects_packages(&words(args)), "{args}");
        }
    }

    #[test]
    fn the_first_error_is_shown() {
        let log = "   Compiling a\nwarning: unused\nerror[E0425]: no `x`\n --> src/lib.rs:1\n";
        assert_eq!(first_error(log), "error[E0425]: no `x`\n --> src/lib.rs:1");
        assert_eq!(first_error("killed\n"), "killed");
    }

    #[test]
    fn namesakes_are_told_apart() {
        let named = |name: &str| Binary {
            name: name.to_owned(),
            ..Binary::default()
        };
        let mut binaries = [named("a tests/it.rs"), named("b"), named("a tests/it.rs")];
        number_namesakes(&mut binaries);
        let names: Vec<_> = binaries.iter().map(|binary| binary.name.as_str()).collect();
        assert_eq!(names, ["a tests/it.rs", "b", "a tests/it.rs (2)"]);
    }
}
