//! Shrinks seeds that have failed again, with more runs than a test spends on it.
//!
//! The test does it: it is told the seed and the limits, and replaces the line of the corpus. This starts one after the other, and
//! shows what they say.

use super::args::{Replay, Selection, Shrink};
use super::{corpus, replay_command};
use std::io;
use std::process::{Command, ExitCode, Stdio};

/// What has come out for a seed.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It fails; this is what the test says of it.
    Fails(String),
    Passes,
    NoSuchTest,
    /// Something else has failed, such as a build.
    Broken(String),
}

/// Shrinks one seed, or all that have failed.
///
/// # Errors
/// Cargo cannot be run, or a corpus cannot be read.
pub(super) fn run(options: &Shrink) -> io::Result<ExitCode> {
    let wanted = match (options.seed, &options.name) {
        (Some(seed), Some(name)) => {
            vec![replay(
                &options.selection,
                seed,
                options.choices.clone(),
                name,
            )]
        }
        _ => {
            let all = corpus::all(&options.selection)?.into_iter();
            let replays = all.map(|(package, entry)| {
                let selection = corpus::of_target(&options.selection, &package, &entry.krate);
                replay(&selection, entry.seed, entry.choices, &entry.test)
            });
            replays.collect()
        }
    };
    if wanted.is_empty() {
        println!("There are no seeds that have failed.");
    }
    let mut code = ExitCode::SUCCESS;
    for replay in &wanted {
        let (seed, name) = (replay.seed, &replay.name);
        println!("Shrinking seed {seed} of {name} …");
        let output = command(replay, options).stdin(Stdio::null()).output()?;
        let [printed, errors] =
            [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        match verdict(replay, output.status.success(), &printed, &errors) {
            Verdict::Fails(text) => println!("{text}"),
            Verdict::Passes => println!("It passes now."),
            Verdict::NoSuchTest => {
                println!("There is no test {name}.");
                code = ExitCode::FAILURE;
            }
            Verdict::Broken(text) => {
                eprintln!("{text}");
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

fn replay(selection: &Selection, seed: u64, choices: Option<String>, name: &str) -> Replay {
    Replay {
        seed,
        name: name.to_string(),
        choices,
        trace: None,
        html: None,
        perfetto: None,
        selection: selection.clone(),
    }
}

fn command(replay: &Replay, options: &Shrink) -> Command {
    let mut command = replay_command(replay);
    command
        .env("TRESS_SIM_SHRINK", "1")
        .env("TRESS_SIM_SHRINK_RUNS", options.runs.to_string())
        .env("TRESS_SIM_SHRINK_SECONDS", options.seconds.to_string());
    command
}

/// Looks at what a run of cargo has printed.
fn verdict(replay: &Replay, has_passed: bool, printed: &str, errors: &str) -> Verdict {
    if has_passed {
        return match printed.contains("1 passed") {
            true => Verdict::Passes,
            false => Verdict::NoSuchTest,
        };
    }
    // What a test says of a seed that has failed starts with its name, and with that of its crate.
    let start = format!("::{}: seed {} ", replay.name, replay.seed);
    let report = errors.rfind(&start).map(|at| {
        let line = errors[..at].rfind('\n').map_or(0, |end| end + 1);
        let report = &errors[line..];
        // Cargo has the last word.
        let end = report.find("\nerror: test failed").unwrap_or(report.len());
        report[..end].to_string()
    });
    match report.filter(|report| report.contains("Run it again:")) {
        Some(report) => Verdict::Fails(report),
        None => Verdict::Broken(format!("{printed}{errors}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Replay {
        let choices = Some("v1/faults:0-".to_string());
        replay(&Selection::default(), 17, choices, "a::b")
    }

    #[test]
    fn limits_are_passed_on() {
        let options = Shrink {
            runs: 7,
            seconds: 8,
            ..Shrink::default()
        };
        let command = command(&one(), &options);
        let set = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
        assert_eq!(
            set.collect::<Vec<_>>(),
            [
                ("TRESS_SIM_CHOICES", "v1/faults:0-"),
                ("TRESS_SIM_SEED", "17"),
                ("TRESS_SIM_SHRINK", "1"),
                ("TRESS_SIM_SHRINK_RUNS", "7"),
                ("TRESS_SIM_SHRINK_SECONDS", "8"),
            ]
        );
    }

    #[test]
    fn what_a_test_says_is_found() {
        let verdict = |has_passed, printed: &str, errors: &str| {
            super::verdict(&one(), has_passed, printed, errors)
        };
        assert_eq!(verdict(true, "ok. 1 passed", ""), Verdict::Passes);
        assert_eq!(verdict(true, "0 passed", ""), Verdict::NoSuchTest);
        let report = "app::a::b: seed 17 failed: no\nRun it again:\nTRESS_SIM_SEED=17 cargo test";
        let errors =
            format!("   Compiling app\n{report}\nerror: test failed, to rerun pass `-p app`\n");
        assert_eq!(
            verdict(false, "", &errors),
            Verdict::Fails(report.to_string())
        );
        let broken = Verdict::Broken("error: no such package".to_string());
        assert_eq!(verdict(false, "", "error: no such package"), broken);
    }
}
