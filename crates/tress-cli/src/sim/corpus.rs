//! The seeds that have failed: `sim-corpus.txt` beside the manifest of each package.

use super::args::{self, Replay, Selection};
use super::{cargo, replay_command};
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{ExitCode, Stdio};

/// The name of the file, as `tress_sim::runner` has it.
const NAME: &str = "sim-corpus.txt";

/// What cargo says of a workspace.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
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
struct Entry {
    /// The name of the crate, which is the first part of a test's path.
    krate: String,
    test: String,
    seed: u64,
    how: String,
}

/// Lists the seeds that have failed, and runs them again.
///
/// # Errors
/// Cargo cannot be run, or a file cannot be read.
pub(super) fn run(options: &args::Corpus) -> io::Result<ExitCode> {
    let mut failing = 0;
    let mut number = 0;
    for package in packages()? {
        if options
            .selection
            .package
            .as_ref()
            .is_some_and(|name| *name != package.name)
        {
            continue;
        }
        for entry in entries(&package)? {
            let Entry {
                krate,
                test,
                seed,
                how,
                ..
            } = &entry;
            number += 1;
            if options.list {
                println!("{} {krate}::{test} {seed}: {how}", package.name);
                continue;
            }
            let passes = passes(&options.selection, &package, &entry)?;
            failing += usize::from(!passes);
            let now = if passes { "passes now" } else { "FAILS" };
            println!("{} {krate}::{test} {seed} {now} ({how})", package.name);
        }
    }
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
        let (seed, how) = rest.split_once(' ').unwrap_or((rest, ""));
        let (krate, test) = name.split_once("::")?;
        Some(Entry {
            krate: krate.to_string(),
            test: test.to_string(),
            seed: seed.parse().ok()?,
            how: how.to_string(),
        })
    });
    entries.collect()
}

/// Runs a seed again.
fn passes(selection: &Selection, package: &Package, entry: &Entry) -> io::Result<bool> {
    let mut selection = Selection {
        package: Some(package.name.clone()),
        ..selection.clone()
    };
    let target = target(package, &entry.krate).into_iter().map(Into::into);
    selection.cargo_test.splice(0..0, target);
    let replay = Replay {
        selection,
        seed: entry.seed,
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
    fn lines_are_a_test_and_a_seed_and_how_it_failed() {
        let text = "# comment\ncluster::a::b 17 panicked: no such\ncluster::c 18\nnonsense\ncluster::d x\n";
        let entry = |test: &str, seed, how: &str| Entry {
            krate: "cluster".to_string(),
            test: test.to_string(),
            seed,
            how: how.to_string(),
        };
        assert_eq!(
            parse(text),
            [entry("a::b", 17, "panicked: no such"), entry("c", 18, "")]
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
