//! What is printed of a run.

use super::options::Options;
use super::pool::Outcome;
use super::shrink::Shrunk;
use super::{Failure, Test};
use crate::chaos::Missed;
use crate::choices::{self, Choices, Kind};
use crate::strict;
use std::cell::Cell;
use std::env;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};

/// Number of lines of an output that are shown.
const LINES: usize = 200;

/// Number of accidents that are shown.
const ACCIDENTS: usize = 20;

/// Says how a run has ended.
pub(super) fn how(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed => "passed".to_string(),
        Outcome::Failed(text) => format!("failed: {text}"),
        Outcome::Panicked(text) => format!("panicked: {text}"),
        Outcome::TimedOut => "took more than its time".to_string(),
        Outcome::Ended(status) if status.code() == Some(strict::STATUS) => {
            "reached the real system, which TRESS_SIM_STRICT does not allow".to_string()
        }
        Outcome::Ended(status) => format!("ended its process: {status}"),
    }
}

/// Says which seeds have failed, and shows the first of them.
pub(super) fn failure(
    test: &Test,
    options: &Options,
    failures: &[Failure],
    passed: u64,
    shrunk: Option<&Shrunk>,
) -> String {
    let Failure {
        seed,
        choices,
        finished,
    } = &failures[0];
    let name = test.name;
    let mut text = format!("{name}: seed {seed} {}\n", how(&finished.outcome));
    if !finished.place.is_empty() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  at {}", finished.place);
    }
    let _ = writeln!(
        text,
        "  after {:?} of virtual time and {} steps",
        finished.time, finished.steps
    );
    if finished.outcome == Outcome::TimedOut {
        let limit = options.time_limit.as_secs();
        let _ = writeln!(
            text,
            "  (TRESS_SIM_TIME_LIMIT is {limit} seconds of real time)"
        );
    }
    if passed > 0 {
        let _ = writeln!(text, "  {passed} other seeds passed before");
    }
    if failures.len() > 1 {
        let others: Vec<_> = failures[1..]
            .iter()
            .map(|failure| failure.seed.to_string())
            .collect();
        let _ = writeln!(text, "  also failed: {}", others.join(", "));
    }
    for (stream, bytes) in [("stdout", &finished.out), ("stderr", &finished.err)] {
        text += &tail(stream, bytes);
    }
    let choices = shrunk.map_or(choices, |shrunk| &shrunk.choices);
    if let Some(shrunk) = shrunk {
        text += &what_it_takes(shrunk);
    }
    if !options.is_live {
        let _ = write!(text, "Run it again:\n{}", replay(test, *seed, choices));
    }
    text
}

/// Says what of all that is left to chance a failure takes.
fn what_it_takes(shrunk: &Shrunk) -> String {
    let mut text = String::new();
    let Shrunk { finished, .. } = shrunk;
    match finished.faults.is_empty() {
        false => {
            let faults = finished.faults.join("\n  ");
            let _ = writeln!(text, "The faults that it takes:\n  {faults}");
        }
        true if shrunk.had_faults => text += "It takes none of its faults.\n",
        true => {}
    }
    let counts = |kind: Kind| {
        let all = finished.made[kind as usize].len();
        (shrunk.kept[kind as usize], all)
    };
    let _ = match counts(Kind::Accident) {
        (_, 0) => Ok(()),
        (0, all) => writeln!(text, "It takes none of {all} other accidents."),
        (kept, all) => writeln!(text, "It takes {kept} of {all} other accidents:"),
    };
    for accident in finished.accidents.iter().take(ACCIDENTS) {
        let _ = writeln!(text, "  {accident}");
    }
    for (kind, what, unit) in [
        (Kind::Schedule, "The schedule", "choices"),
        (Kind::Poll, "The time of polls", "polls"),
        (Kind::Latency, "Latency", "cases"),
    ] {
        let _ = match counts(kind) {
            (_, 0) => Ok(()),
            (0, _) => writeln!(text, "{what} does not matter."),
            (kept, all) => writeln!(text, "{what} matters in {kept} of {all} {unit}."),
        };
    }
    let Shrunk { runs, time, .. } = shrunk;
    let seconds = time.as_secs_f64();
    let _ = match shrunk.is_cut {
        false => writeln!(text, "({runs} runs in {seconds:.1} s have found that.)"),
        true => writeln!(
            text,
            "({runs} runs in {seconds:.1} s have found that, and more may find less: tress sim shrink.)"
        ),
    };
    if shrunk.varies {
        text +=
            "Runs of it are not the same each time: TRESS_SIM_CHECK=1 shows where they differ.\n";
    }
    text
}

/// The last lines of an output.
fn tail(stream: &str, bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<_> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(LINES)..];
    match (lines.len(), shown.len()) {
        (0, _) => String::new(),
        (all, some) if all == some => format!("--- {stream}\n{}\n---\n", shown.join("\n")),
        (all, some) => format!(
            "--- {stream}, the last {some} of {all} lines\n{}\n---\n",
            shown.join("\n")
        ),
    }
}

/// Returns the command that runs a seed of a test again.
pub(super) fn replay(test: &Test, seed: u64, choices: &Choices) -> String {
    let executable = env::current_exe().unwrap_or_default();
    let command = match test.package {
        Some(package) => {
            let profile = profile(&executable);
            let target = target(test);
            let name = test.libtest_name();
            format!("cargo test -p {package}{profile}{target} {name} -- --exact --nocapture")
        }
        // Something else has built it.
        None => format!(
            "{} {} --exact --nocapture",
            executable.display(),
            test.libtest_name()
        ),
    };
    let choices = match choices.is_empty() {
        true => String::new(),
        false => format!("{}={choices} ", choices::VARIABLE),
    };
    format!(
        "TRESS_SIM_SEED={seed} {choices}{command}\n(with the features that this was built with, which are not known here)"
    )
}

/// The option for the profile, by the folder that Cargo puts an executable into: `target/PROFILE/deps`.
fn profile(executable: &Path) -> String {
    let folder = executable
        .parent()
        .and_then(Path::parent)
        .and_then(Path::file_name);
    match folder.and_then(|folder| folder.to_str()) {
        None | Some("debug") => String::new(),
        Some("release") => " --release".to_string(),
        Some(other) => format!(" --profile {other}"),
    }
}

/// The option for the target, if its source is where Cargo looks for integration tests. Otherwise the name of the test
/// is enough.
fn target(test: &Test) -> String {
    let path = Path::new(test.file);
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    let Some(at) = parts.iter().rposition(|part| *part == "tests") else {
        return String::new();
    };
    let krate = test.krate();
    let is_test = at + 1 < parts.len() && !parts[at..].contains(&"src");
    if !is_test
        || test
            .package
            .is_some_and(|package| package.replace('-', "_") == krate)
    {
        return String::new();
    }
    // The crate's name has no hyphens, but the file's may.
    let file = parts[at + 1].trim_end_matches(".rs");
    match file.replace('-', "_") == krate {
        true => format!(" --test {file}"),
        false => format!(" --test {krate}"),
    }
}

/// Lists the places that no seed has reached.
pub(super) fn missed(test: &Test, seeds: u64, missed: &[Missed]) -> String {
    let mut text = format!("{}: in none of {seeds} seeds", test.name);
    for one in missed {
        let _ = write!(text, "\n  {one}");
    }
    text
}

/// Leaves out the frames of a backtrace that are those of the simulation, the runtime and the standard library, if any are
/// left then.
pub(super) fn useful_frames<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    const OTHERS: [&str; 10] = [
        "tress_sim::kernel",
        "tress_sim::symbols",
        "tress_sim::host",
        "tress_sim::fiber",
        "tress::",
        "tress_sys::",
        "std::",
        "core::",
        "alloc::",
        "__rust",
    ];
    let is_place = |line: &str| line.trim_start().starts_with("at ");
    let mut frames: Vec<Vec<&str>> = Vec::new();
    for line in lines {
        match frames.last_mut() {
            Some(frame) if is_place(line) => frame.push(line),
            _ => frames.push(vec![line]),
        }
    }
    let is_useful = |frame: &&Vec<&str>| {
        // A frame is a number, a colon and a name, which may start with the type that has it.
        let name = frame[0].split_once(": ").map_or(frame[0], |(_, name)| name);
        let name = name.trim_start_matches(['<', '&']);
        // What has no path is a symbol of the C library or a start of a thread.
        name.contains("::") && !OTHERS.iter().any(|other| name.starts_with(other))
    };
    let useful: Vec<&str> = frames.iter().filter(is_useful).flatten().copied().collect();
    if useful.is_empty() {
        lines.to_vec()
    } else {
        useful
    }
}

/// How far a run has got, as a line that is written again and again on a terminal.
#[derive(Debug)]
pub(super) struct Progress {
    name: &'static str,
    total: u64,
    started: Instant,
    passed: Cell<u64>,
    shown: Cell<Duration>,
    is_terminal: bool,
}

/// Nothing is shown before.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(10);

impl Progress {
    pub(super) fn new(test: &Test, total: u64) -> Progress {
        Progress {
            name: test.libtest_name(),
            total,
            started: Instant::now(),
            passed: Cell::new(0),
            shown: Cell::new(Duration::ZERO),
            is_terminal: io::stderr().is_terminal(),
        }
    }

    pub(super) fn passed(&self, passed: u64) {
        self.passed.set(passed);
    }

    /// Shows how far it has got, if that was not just done.
    pub(super) fn show(&self) {
        let (elapsed, shown) = (self.started.elapsed(), self.shown.get());
        let pause = if self.is_terminal {
            Duration::from_millis(100)
        } else {
            PAUSE
        };
        if self.total < 2
            || elapsed < PATIENCE
            || (shown > Duration::ZERO && elapsed - shown < pause)
        {
            return;
        }
        self.shown.set(elapsed);
        let Progress { name, total, .. } = self;
        let passed = self.passed.get();
        let rate = passed as f64 / elapsed.as_secs_f64();
        let line = format!("{passed} of {total} seeds, {rate:.0} a second");
        // Not by a macro: the test harness would keep it until the end.
        if self.is_terminal {
            let filled = (passed * 30 / total.max(&1)) as usize;
            let bar = format!("{}{}", "█".repeat(filled), "░".repeat(30 - filled.min(30)));
            let _ = io::Write::write_all(
                &mut io::stderr(),
                format!("\r\x1b[K{name} {bar} {line}").as_bytes(),
            );
        } else {
            let _ = io::Write::write_all(&mut io::stderr(), format!("{name}: {line}\n").as_bytes());
        }
    }

    /// Removes the line from a terminal.
    pub(super) fn clear(&self) {
        if self.is_terminal && self.shown.get() > Duration::ZERO {
            let _ = io::Write::write_all(&mut io::stderr(), b"\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::Sometimes;

    fn test(name: &'static str, file: &'static str) -> Test {
        Test {
            name,
            seeds: 1,
            sometimes: Sometimes::Note,
            should_panic: false,
            file,
            package: Some("my-app"),
            manifest: None,
        }
    }

    #[test]
    fn the_target_is_that_of_the_file() {
        assert_eq!(
            target(&test("two_hosts::a", "crates/app/tests/two-hosts.rs")),
            " --test two-hosts"
        );
        assert_eq!(
            target(&test("cluster::a", "tests/cluster/main.rs")),
            " --test cluster"
        );
        assert_eq!(
            target(&test("cluster::part::a", "tests/cluster/part.rs")),
            " --test cluster"
        );
        assert_eq!(target(&test("my_app::tests::a", "src/tests/a.rs")), "");
        assert_eq!(target(&test("my_app::a", "src/lib.rs")), "");
    }

    #[test]
    fn the_profile_is_that_of_the_folder() {
        assert_eq!(profile(Path::new("/t/debug/deps/a-1")), "");
        assert_eq!(profile(Path::new("/t/release/deps/a-1")), " --release");
        assert_eq!(profile(Path::new("/t/fuzz/deps/a-1")), " --profile fuzz");
    }

    #[test]
    fn frames_of_the_runtime_are_left_out() {
        let lines = [
            "   0: tress_sim::kernel::steps::log",
            "             at steps.rs:1:2",
            "   1: <std::io::Stdout as std::io::Write>::write",
            "   2: app::serve::{{closure}}",
            "             at main.rs:3:4",
        ];
        assert_eq!(useful_frames(&lines), lines[3..]);
        assert_eq!(useful_frames(&lines[..2]), lines[..2]);
    }

    #[test]
    fn outputs_are_cut() {
        assert_eq!(tail("stdout", b""), "");
        assert_eq!(tail("stdout", b"a\nb"), "--- stdout\na\nb\n---\n");
        let long = "x\n".repeat(LINES + 1);
        assert!(
            tail("stderr", long.as_bytes())
                .starts_with("--- stderr, the last 200 of 201 lines\nx\n")
        );
    }
}
