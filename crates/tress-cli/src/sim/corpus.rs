//! The seeds that have failed: `sim-corpus.txt` beside the manifest of each package.

use super::args::{self, Replay, Selection};
use super::{cargo, replay_command};
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::rc::Rc;

/// The name of the file, as `tress_sim::runner` has it.
const NAME: &str = "sim-corpus.txt";

/// What cargo says of a workspace.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    manifest_path: String,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// A seed that has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The name of the crate, which is the first part of a test's path.
    pub(super) krate: String,
    pub(super) test: String,
    pub(super) seed: u64,
    /// The choices that were not drawn, if it was shrunk.
    pub(super) choices: Option<String>,
    how: String,
}

/// Lists the seeds that have failed, and runs them again.
///
/// # Errors
/// Cargo cannot be run, or a file cannot be read.
pub(super) fn run(options: &args::Corpus) -> io::Result<ExitCode> {
    let mut failing = 0;
    let all = all(&options.selection)?;
    for (package, entry) in &all {
        let Entry {
            krate,
            test,
            seed,
            choices,
            how,
        } = entry;
        let choices = choices.as_ref().map(|choices| format!(" {choices}"));
        let shown = format!(
            "{} {krate}::{test} {seed}{}",
            package.name,
            choices.unwrap_or_default()
        );
        if options.list {
            println!("{shown}: {how}");
            continue;
        }
        let passes = passes(&options.selection, package, entry)?;
        failing += usize::from(!passes);
        let now = if passes { "passes now" } else { "FAILS" };
        println!("{shown} {now} ({how})");
    }
    let number = all.len();
    match number {
        0 => println!("There are no seeds that have failed."),
        _ if options.list => {}
        _ => println!("{failing} of {number} seeds fail."),
    }
    Ok(if failing == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns all seeds that have failed, of the packages that are meant.
///
/// # Errors
/// Cargo cannot be run, or a file cannot be read.
pub(super) fn all(selection: &Selection) -> io::Result<Vec<(Rc<Package>, Entry)>> {
    let is_meant = |package: &Package| {
        let name = selection.package.as_ref();
        name.is_none_or(|name| *name == package.name)
    };
    let mut all = Vec::new();
    for package in packages()?.into_iter().filter(is_meant) {
        let package = Rc::new(package);
        let entries = entries(&package)?.into_iter();
        all.extend(entries.map(|entry| (package.clone(), entry)));
    }
    Ok(all)
}

fn packages() -> io::Result<Vec<Package>> {
    let mut command = cargo();
    command
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .stderr(Stdio::inherit());
    let output = command.output()?;
    if !output.status.success() {
        return Err(io::Error::other("cargo metadata has failed"));
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    Ok(metadata.packages)
}

fn entries(package: &Package) -> io::Result<Vec<Entry>> {
    let file = Path::new(&package.manifest_path).with_file_name(NAME);
    match fs::read_to_string(&file) {
        Ok(text) => Ok(parse(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(io::Error::other(format!("{}: {error}", file.display()))),
    }
}

fn parse(text: &str) -> Vec<Entry> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let entries = lines.filter_map(|line| {
        let (name, rest) = line.trim().split_once(' ')?;
        let (seed, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let (choices, how) = match rest.split_once(' ').unwrap_or((rest, "")) {
            (word, how) if are_choices(word) => (Some(word.to_string()), how),
            _ => (None, rest),
        };
        let (krate, test) = name.split_once("::")?;
        Some(Entry {
            krate: krate.to_string(),
            test: test.to_string(),
            seed: seed.parse().ok()?,
            choices,
            how: how.to_string(),
        })
    });
    entries.collect()
}

/// Returns whether a word is meant as a choice string: they start with a version, such as `v1/`.
fn are_choices(word: &str) -> bool {
    let version = word
        .strip_prefix('v')
        .and_then(|rest| rest.split('/').next());
    version.is_some_and(|version| {
        !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns which target of a package is meant, with the options that the user has given.
pub(super) fn of_target(selection: &Selection, package: &Package, krate: &str) -> Selection {
    let mut selection = Selection {
        package: Some(package.name.clone()),
        ..selection.clone()
    };
    let target = target(package, krate).into_iter().map(Into::into);
    selection.cargo_test.splice(0..0, target);
    selection
}

/// Runs a seed again.
fn passes(selection: &Selection, package: &Package, entry: &Entry) -> io::Result<bool> {
    let replay = Replay {
        selection: of_target(selection, package, &entry.krate),
        seed: entry.seed,
        choices: entry.choices.clone(),
        name: entry.test.clone(),
        trace: None,
        html: None,
        perfetto: None,
    };
    let mut command = replay_command(&replay);
    let output = command.stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && !text.contains("1 passed") {
        // Otherwise a test that was renamed would pass for ever.
        eprintln!("There is no test {}::{}.", entry.krate, entry.test);
        return Ok(false);
    }
    Ok(output.status.success())
}

/// The options of cargo test for the target whose crate has that name.
fn target(package: &Package, krate: &str) -> Vec<String> {
    let mut targets = package
        .targets
        .iter()
        .filter(|target| target.name.replace('-', "_") == krate);
    let Some(target) = targets.next() else {
        return Vec::new();
    };
    let name = target.name.clone();
    match target.kind.first().map(String::as_str) {
        Some("test") => vec!["--test".to_string(), name],
        Some("bin") => vec!["--bin".to_string(), name],
        Some("bench") => vec!["--bench".to_string(), name],
        Some("example") => vec!["--example".to_string(), name],
        _ => vec!["--lib".to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_a_test_and_a_seed_and_choices_and_how_it_failed() {
        let text = "# comment\ncluster::a::b 17 panicked: no such\ncluster::c 18\nnonsense\ncluster::d x\n\
            cluster::e 19 v1/faults:0- failed: v2\ncluster::e 20 v1/faults:0-\n";
        let entry = |test: &str, seed, choices: Option<&str>, how: &str| Entry {
            krate: "cluster".to_string(),
            test: test.to_string(),
            seed,
            choices: choices.map(str::to_string),
            how: how.to_string(),
        };
        assert_eq!(
            parse(text),
            [
                entry("a::b", 17, None, "panicked: no such"),
                entry("c", 18, None, ""),
                entry("e", 19, Some("v1/faults:0-"), "failed: v2"),
                entry("e", 20, Some("v1/faults:0-"), ""),
            ]
        );
    }

    #[test]
    fn targets_are_found_by_the_names_of_their_crates() {
        let target = |name: &str, kind: &str| Target {
            name: name.to_string(),
            kind: vec![kind.to_string()],
        };
        let package = Package {
            name: "my-app".to_string(),
            manifest_path: String::new(),
            targets: vec![target("my_app", "lib"), target("two-hosts", "test")],
        };
        assert_eq!(
            super::target(&package, "two_hosts"),
            ["--test", "two-hosts"]
        );
        assert_eq!(super::target(&package, "my_app"), ["--lib"]);
        assert!(super::target(&package, "gone").is_empty());
    }
}
