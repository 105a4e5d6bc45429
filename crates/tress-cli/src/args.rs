//! Parsing of the command line.

use std::time::Duration;

/// The text of `tress help`.
pub(crate) const HELP: &str = "\
tress: watch the tress runtime at work

usage: tress demo [--workers N] [--seconds S]

  demo            a mixed load of short tasks, yields, timers and blocking calls,
                  with the scheduler's counters per worker while it runs
    --workers N   worker threads (default: one for every CPU)
    --seconds S   how long (default: 3)
";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Demo(Demo),
}

/// Options of `tress demo`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Demo {
    /// The number of workers; 0 for one for each CPU.
    pub(crate) workers: usize,
    /// How long the load runs.
    pub(crate) duration: Duration,
}

/// Parses the arguments after the name of the program.
///
/// # Errors
/// Returns a message for the user if a command or an option is unknown, or a value is missing or
/// invalid.
pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Command, String> {
    match args.next().as_deref() {
        None | Some("help" | "--help" | "-h") => Ok(Command::Help),
        Some("demo") => parse_demo(args).map(Command::Demo),
        Some(other) => Err(format!("there is no command {other:?}; see `tress help`")),
    }
}

fn parse_demo(mut args: impl Iterator<Item = String>) -> Result<Demo, String> {
    let mut demo = Demo {
        workers: 0,
        duration: Duration::from_secs(3),
    };
    while let Some(name) = args.next() {
        let mut value = || {
            args.next()
                .ok_or_else(|| format!("{name} needs a value; see `tress help`"))
        };
        match name.as_str() {
            "--workers" => {
                let text = value()?;
                demo.workers = text
                    .parse()
                    .map_err(|_| format!("--workers takes a whole number, not {text:?}"))?;
            }
            "--seconds" => {
                let text = value()?;
                demo.duration = text
                    .parse()
                    .ok()
                    .and_then(|s: f64| Duration::try_from_secs_f64(s).ok())
                    .filter(|d| {
                        (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(d)
                    })
                    .ok_or_else(|| {
                        format!("--seconds takes a number from 0.1 to 3600, not {text:?}")
                    })?;
            }
            _ => return Err(format!("demo has no option {name:?}; see `tress help`")),
        }
    }
    Ok(demo)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_words(words: &str) -> Result<Command, String> {
        parse(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn demo_with_and_without_options() {
        let default = Demo {
            workers: 0,
            duration: Duration::from_secs(3),
        };
        assert_eq!(parse_words("demo"), Ok(Command::Demo(default)));
        let given = Demo {
            workers: 4,
            duration: Duration::from_millis(500),
        };
        let words = "demo --workers 4 --seconds 0.5";
        assert_eq!(parse_words(words), Ok(Command::Demo(given)));
    }

    #[test]
    fn mistakes_are_named() {
        for (words, named) in [
            ("demon", "demon"),
            ("demo --worker 1", "--worker"),
            ("demo --workers", "--workers"),
            ("demo --workers x", "\"x\""),
            ("demo --seconds 0", "\"0\""),
            ("demo --seconds 1e9", "1e9"),
            ("demo --seconds NaN", "NaN"),
        ] {
            let error = parse_words(words).unwrap_err();
            assert!(error.contains(named), "{words}: {error}");
        }
    }

    #[test]
    fn nothing_asks_for_help() {
        assert_eq!(parse_words(""), Ok(Command::Help));
        assert_eq!(parse_words("--help"), Ok(Command::Help));
    }
}
