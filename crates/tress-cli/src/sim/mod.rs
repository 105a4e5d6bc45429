//! `tress sim`: runs tests that are simulations with seeds.
//!
//! The tests run themselves: the package `tress-sim` reads the environment in their processes. This sets it, and calls
//! `cargo test`.

mod args;
mod corpus;
mod shrink;

pub(crate) use args::Sim;

use args::{Command as Wanted, Replay, Run, Selection};
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{self, Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

/// Does what was asked for.
pub(crate) fn run(sim: &Sim) -> ExitCode {
    let result = match &sim.command {
        Wanted::Run(run) => status(&mut run_command(run)),
        Wanted::Replay(replay) => status(&mut replay_command(replay)),
        Wanted::Shrink(options) => shrink::run(options),
        Wanted::Corpus(options) => corpus::run(options),
    };
    result.unwrap_or_else(|error| crate::fail(&format!("cannot run cargo: {error}")))
}

/// Runs cargo, and returns its exit code.
fn status(command: &mut Command) -> io::Result<ExitCode> {
    Ok(code(command.status()?))
}

fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    // Without a code a signal has ended it.
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns a call of cargo test for some tests, in an environment without what an earlier one may have left there.
fn cargo_test(selection: &Selection) -> Command {
    let mut command = cargo();
    command.arg("test");
    for variable in [
        "SEED",
        "NUM",
        "JOBS",
        "CHECK",
        "TIME_LIMIT",
        "TRACE",
        "CHOICES",
        "SHRINK",
        "SHRINK_RUNS",
        "SHRINK_SECONDS",
        "HTML",
        "PERFETTO",
    ] {
        command.env_remove(format!("TRESS_SIM_{variable}"));
    }
    if let Some(package) = &selection.package {
        command.args(["--package", package]);
    }
    if let Some(test) = &selection.test {
        command.args(["--test", test]);
    }
    if selection.release {
        command.arg("--release");
    }
    if selection.strict {
        command.env("TRESS_SIM_STRICT", "1");
    }
    command
}

/// The arguments for cargo, and those behind `--`, for the tests.
fn given(selection: &Selection) -> (&[OsString], &[OsString]) {
    let all = &selection.cargo_test[..];
    match all.iter().position(|argument| argument == "--") {
        Some(at) => (&all[..at], &all[at + 1..]),
        None => (all, &[]),
    }
}

fn run_command(run: &Run) -> Command {
    let mut command = cargo_test(&run.selection);
    for (name, number) in [
        ("TRESS_SIM_NUM", run.num),
        ("TRESS_SIM_SEED", run.seed),
        ("TRESS_SIM_JOBS", run.jobs),
        ("TRESS_SIM_TIME_LIMIT", run.time_limit),
        ("TRESS_SIM_CHECK", run.check.then_some(1)),
    ] {
        if let Some(number) = number {
            command.env(name, number.to_string());
        }
    }
    let (cargo, tests) = given(&run.selection);
    command.args(cargo).args(&run.name);
    if !tests.is_empty() {
        command.arg("--").args(tests);
    }
    command
}

/// The path from the root on, or as it is if the present folder is not known.
fn absolute(file: &Path) -> PathBuf {
    path::absolute(file).unwrap_or_else(|_| file.to_path_buf())
}

fn replay_command(replay: &Replay) -> Command {
    let mut command = cargo_test(&replay.selection);
    command.env("TRESS_SIM_SEED", replay.seed.to_string());
    if let Some(choices) = &replay.choices {
        command.env("TRESS_SIM_CHOICES", choices);
    }
    for (variable, file) in [
        ("TRESS_SIM_TRACE", &replay.trace),
        ("TRESS_SIM_HTML", &replay.html),
        ("TRESS_SIM_PERFETTO", &replay.perfetto),
    ] {
        if let Some(file) = file {
            // Cargo runs tests in the folders of their packages.
            command.env(variable, absolute(Path::new(file)));
        }
    }
    let (cargo, tests) = given(&replay.selection);
    command.args(cargo).arg(&replay.name);
    command
        .args(["--", "--exact", "--nocapture", "--include-ignored"])
        .args(tests);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(command: &Command) -> (Vec<&str>, Vec<(&str, &str)>) {
        let arguments = command
            .get_args()
            .map(|argument| argument.to_str().unwrap())
            .collect();
        let set = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
        (arguments, set.collect())
    }

    #[test]
    fn a_run_sets_the_environment() {
        let selection = Selection {
            package: Some("app".to_string()),
            test: Some("cluster".to_string()),
            release: true,
            strict: true,
            cargo_test: ["--features", "a", "--", "--nocapture"]
                .map(OsString::from)
                .to_vec(),
        };
        let run = Run {
            selection,
            name: Some("leader".to_string()),
            num: Some(1000),
            seed: Some(5),
            jobs: Some(2),
            check: true,
            time_limit: Some(9),
        };
        let command = run_command(&run);
        let (arguments, environment) = parts(&command);
        let expected =
            "test --package app --test cluster --release --features a leader -- --nocapture";
        assert_eq!(arguments.join(" "), expected);
        let expected = [
            ("TRESS_SIM_CHECK", "1"),
            ("TRESS_SIM_JOBS", "2"),
            ("TRESS_SIM_NUM", "1000"),
            ("TRESS_SIM_SEED", "5"),
            ("TRESS_SIM_STRICT", "1"),
            ("TRESS_SIM_TIME_LIMIT", "9"),
        ];
        assert_eq!(environment, expected);
    }

    #[test]
    fn without_options_tests_decide() {
        let command = run_command(&Run::default());
        assert_eq!(parts(&command), (vec!["test"], vec![]));
    }

    #[test]
    fn a_replay_is_of_one_test() {
        let replay = Replay {
            seed: 17,
            name: "elections::two_leaders".to_string(),
            choices: Some("v1/faults:0-".to_string()),
            trace: Some("/there/steps.txt".into()),
            html: Some("/there/run.html".into()),
            perfetto: Some("run.pftrace".into()),
            ..Replay::default()
        };
        let command = replay_command(&replay);
        let (arguments, environment) = parts(&command);
        assert_eq!(
            arguments.join(" "),
            "test elections::two_leaders -- --exact --nocapture --include-ignored"
        );
        let trace = absolute(Path::new("run.pftrace"));
        assert!(trace.is_absolute());
        let expected = [
            ("TRESS_SIM_CHOICES", "v1/faults:0-"),
            ("TRESS_SIM_HTML", "/there/run.html"),
            ("TRESS_SIM_PERFETTO", trace.to_str().unwrap()),
            ("TRESS_SIM_SEED", "17"),
            ("TRESS_SIM_TRACE", "/there/steps.txt"),
        ];
        assert_eq!(environment, expected);
    }
}
