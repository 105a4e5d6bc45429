//! Parsing of the command line.

use crate::adopt::Adopt;
use crate::attach::{Doctor, Top, Trace};
use crate::bench::Bench;
use crate::demo::Demo;
use crate::sim::Sim;
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Try tress in a repository that uses Tokio, and watch the runtime at work.
#[derive(Debug, Parser)]
#[command(name = "tress", version, args_override_self = true)]
struct Line {
    #[command(subcommand)]
    command: Option<Command>,
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Command {
    /// Build and test this repository on Tokio and on tress, and compare
    ///
    /// Patches tokio by the facade of tress in the workspace of the current folder, sees to it that no other tokio is
    /// linked, runs the repository's own tests on both, prints what differs, and leaves everything as it was.
    Adopt(Box<Adopt>),
    /// Run tests that are simulations with many seeds, or with those that have failed
    Sim(Box<Sim>),
    /// Let tokio-console attach to a running program
    ///
    /// Tells tokio-console by its own protocol what the program's console says. The program needs no `tracing` for it.
    #[cfg(feature = "tokio-console")]
    Console(crate::bridge::Console),
    /// Say what is wrong with a running program
    ///
    /// Prints one sentence for each thing that is wrong, worst first. The exit code is 0 if nothing is, 1 if something
    /// is, and 2 if the program cannot be reached.
    Doctor(Doctor),
    /// Watch a running program in the terminal
    Top(Top),
    /// Save the last seconds of a running program, for ui.perfetto.dev
    Trace(Trace),
    /// Run a service under load, with its console, and plant a fault to see it found
    Demo(Demo),
    /// Compare tress with Tokio and other runtimes, in a clone of its repository
    Bench(Bench),
    /// Print what lets a shell complete this command
    ///
    /// For bash: tress completions bash > /usr/share/bash-completion/completions/tress
    Completions(Completions),
}

/// Options of `tress completions`.
#[derive(Args, Debug, PartialEq, Eq)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Prints the completions for a shell.
pub(crate) fn complete(options: &Completions) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut Line::command(), "tress", &mut text);
    match io::stdout().write_all(&text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => crate::fail(&error.to_string()),
    }
}

/// Parses the arguments, of which the first is the name of the program.
///
/// # Errors
/// Returns what is to be printed, and the exit code for it, if a command or an option is unknown, a
/// value is missing or invalid, or help is asked for.
pub(crate) fn parse<I, T>(args: I) -> Result<Command, clap::Error>
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    match Line::try_parse_from(args)?.command {
        Some(command) => Ok(command),
        // A bare `tress` asks for help.
        None => parse(["tress", "--help"]),
    }
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|s: f64| Duration::try_from_secs_f64(s).ok())
        .filter(|d| (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(d))
        .ok_or_else(|| "it takes a number from 0.1 to 3600".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::Fault;
    use clap::error::ErrorKind;

    fn parse_words(words: &str) -> Result<Command, clap::Error> {
        parse(["tress"].into_iter().chain(words.split_whitespace()))
    }

    #[test]
    fn the_definition_is_consistent() {
        Line::command().debug_assert();
    }

    #[test]
    fn demo_with_and_without_options() {
        let demo = |words| match parse_words(words).unwrap() {
            Command::Demo(demo) => demo,
            other => panic!("{other:?}"),
        };
        let default = demo("demo");
        assert_eq!((default.workers, default.connections), (0, 50));
        assert_eq!(default.duration, Duration::from_secs(10));
        assert!(!default.serve && default.fault.is_none());
        let given = demo("demo --workers 1 --workers 4 --seconds 0.5 --fault slow-poll --port 80");
        assert_eq!((given.workers, given.port), (4, 80));
        assert_eq!(given.duration, Duration::from_millis(500));
        assert_eq!(given.fault, Some(Fault::SlowPoll));
        assert!(demo("demo --serve").serve);
    }

    #[test]
    fn shells_can_complete_it() {
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let Command::Completions(options) =
                parse_words(&format!("completions {shell}")).unwrap()
            else {
                panic!("another command");
            };
            let mut text = Vec::new();
            clap_complete::generate(options.shell, &mut Line::command(), "tress", &mut text);
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains("doctor"), "{shell}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (words, named) in [
            ("demon", "demon"),
            ("demo --worker 1", "--worker"),
            ("demo --workers", "--workers"),
            ("demo --workers x", "'x'"),
            ("demo --workers -1", "'-1'"),
            ("demo --seconds 0", "'0'"),
            ("demo --seconds -1", "'-1'"),
            ("demo --seconds 1e9", "1e9"),
            ("demo --seconds NaN", "NaN"),
            ("demo --seconds 5 --serve", "--serve"),
            ("demo --fault fire", "fire"),
            ("demo --port 70000", "70000"),
            ("demo --connections 10001", "10001"),
            ("doctor --seconds x", "'x'"),
        ] {
            let error = parse_words(words).unwrap_err();
            assert!(error.to_string().contains(named), "{words}: {error}");
            assert_eq!(error.exit_code(), 2, "{words}");
        }
    }

    #[test]
    fn adopt_takes_arguments_for_cargo_test() {
        let words = "adopt --git https://example.com/t --rev 1 --keep -- -p app -- --nocapture";
        let Command::Adopt(adopt) = parse_words(words).unwrap() else {
            panic!("another command");
        };
        assert_eq!(
            (adopt.git.as_deref(), adopt.rev.as_deref()),
            (Some("https://example.com/t"), Some("1"))
        );
        assert!(adopt.keep && !adopt.undo);
        assert_eq!(adopt.cargo_test, ["-p", "app", "--", "--nocapture"]);
        for words in [
            "adopt --keep --undo",
            "adopt --check --keep",
            "adopt --rev 1",
            "adopt --path a --git b",
            "adopt x",
        ] {
            assert!(parse_words(words).is_err(), "{words}");
        }
    }

    #[test]
    fn sim_has_commands() {
        for words in [
            "sim run",
            "sim run -p app --test t name --num 5 --seed 1 --jobs 2 --check --strict --time-limit 3 -- --features f",
            "sim replay 17 name --trace f --html g --perfetto h",
            "sim replay 17 name --choices v1/faults:0-",
            "sim shrink",
            "sim shrink -p app --runs 5 --seconds 6",
            "sim shrink 17 name --choices v1/faults:0- -- --features f",
            "sim corpus --list",
        ] {
            assert!(parse_words(words).is_ok(), "{words}");
        }
        for words in [
            "sim",
            "sim replay name",
            "sim replay 17",
            "sim run --num x",
            "sim run a b",
            "sim shrink 17",
            "sim shrink name",
            "sim shrink --choices v1/faults:0-",
        ] {
            assert!(parse_words(words).is_err(), "{words}");
        }
    }

    #[test]
    fn nothing_asks_for_help() {
        for words in ["", "--help", "-h", "help"] {
            let help = parse_words(words).unwrap_err();
            assert_eq!(help.kind(), ErrorKind::DisplayHelp, "{words:?}");
            assert_eq!(help.exit_code(), 0);
            assert!(help.to_string().contains("demo"), "{help}");
        }
    }
}
