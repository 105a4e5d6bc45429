//! The command line.

use std::path::PathBuf;

use regex_lite::Regex;

use crate::runtime;

pub const USAGE: &str = "\
usage: bench [REGEX] [options]

  REGEX             only cases whose name matches, e.g. '^spawn/'
  --reps N          repetitions, each in its own process (default 5)
  --workers N       run every case with N workers instead of its own numbers
  --runtimes A,B    only these runtimes; the base peer runs along always
  --json FILE       also write the results there
  --list            print the cases and stop
  --check           compare with bench/baseline.json; fail if a ratio of tress fell by more than
                    20 % beyond the noise floor
  --save-baseline   store tress's ratios in bench/baseline.json, next to those of other cases
  --help            print this";

/// What to do.
#[derive(Debug)]
pub enum Command {
    Help,
    List(Selection),
    Run(Options),
    /// One measurement, for a parent process: case, runtime, workers.
    Child {
        case: String,
        runtime: String,
        workers: usize,
    },
    /// The load on a server, for a measurement: what [`crate::load::run`] takes.
    Load(String),
}

/// Which cases.
#[derive(Debug, Default)]
pub struct Selection {
    pub filter: Option<Regex>,
    pub workers: Option<usize>,
}

#[derive(Debug)]
pub struct Options {
    pub selection: Selection,
    pub reps: usize,
    /// Names of runtimes in the order of the report, the base peer among them.
    pub runtimes: Vec<&'static str>,
    pub json: Option<PathBuf>,
    pub check: bool,
    pub save_baseline: bool,
}

/// Reads the arguments that follow the program's name.
pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut args = args.into_iter();
    let mut selection = Selection::default();
    let mut reps = 5;
    let mut only: Option<Vec<String>> = None;
    let (mut json, mut list, mut check, mut save_baseline) = (None, false, false, false);
    while let Some(arg) = args.next() {
        let mut value = |what| args.next().ok_or(format!("{arg} needs {what}"));
        match arg.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--list" => list = true,
            "--check" => check = true,
            "--save-baseline" => save_baseline = true,
            "--reps" => reps = positive(&arg, &value("a number")?)?,
            "--workers" => selection.workers = Some(positive(&arg, &value("a number")?)?),
            "--json" => json = Some(PathBuf::from(value("a file")?)),
            "--runtimes" => {
                let names = value("names separated by commas")?;
                only = Some(names.split(',').map(str::to_owned).collect());
            }
            "--child" => {
                let case = value("a case")?;
                let runtime = value("a runtime")?;
                let workers = positive("workers", &value("a number of workers")?)?;
                return Ok(Command::Child {
                    case,
                    runtime,
                    workers,
                });
            }
            "--load" => return Ok(Command::Load(value("a load")?)),
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            pattern if selection.filter.is_none() => {
                let regex = Regex::new(pattern);
                selection.filter = Some(regex.map_err(|why| format!("bad pattern: {why}"))?);
            }
            extra => return Err(format!("one pattern is enough, what is {extra:?}?")),
        }
    }
    if list {
        return Ok(Command::List(selection));
    }
    let runtimes = runtimes(only)?;
    if (check || save_baseline) && !runtimes.contains(&runtime::OURS) {
        return Err(format!(
            "--check and --save-baseline need {} among the runtimes",
            runtime::OURS
        ));
    }
    Ok(Command::Run(Options {
        selection,
        reps,
        runtimes,
        json,
        check,
        save_baseline,
    }))
}

/// The peers to run: all, or those asked for and the base.
fn runtimes(only: Option<Vec<String>>) -> Result<Vec<&'static str>, String> {
    let only = only.unwrap_or_else(|| runtime::PEERS.iter().map(|peer| peer.name.into()).collect());
    for name in &only {
        if runtime::peer(name).is_none() {
            return Err(format!(
                "no runtime {name:?} here; there are {}",
                runtime::names()
            ));
        }
    }
    let wanted = |name: &str| name == runtime::BASE || only.iter().any(|asked| asked == name);
    Ok(runtime::PEERS
        .iter()
        .map(|peer| peer.name)
        .filter(|name| wanted(name))
        .collect())
}

fn positive(what: &str, value: &str) -> Result<usize, String> {
    match value.parse() {
        Ok(0) | Err(_) => Err(format!("{what} needs a number above 0, not {value:?}")),
        Ok(number) => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    fn options(line: &str) -> Options {
        match read(line) {
            Ok(Command::Run(options)) => options,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn defaults() {
        let options = options("");
        assert_eq!(options.reps, 5);
        assert_eq!(options.runtimes.len(), runtime::PEERS.len());
        assert!(options.selection.filter.is_none() && options.selection.workers.is_none());
        assert!(options.json.is_none() && !options.check && !options.save_baseline);
    }

    #[test]
    fn everything_at_once_in_any_order() {
        let options = options("--reps 7 ^spawn/ --workers 4 --json out.json --runtimes smol");
        assert_eq!(options.reps, 7);
        assert_eq!(options.selection.workers, Some(4));
        assert_eq!(options.json.unwrap(), PathBuf::from("out.json"));
        let filter = options.selection.filter.unwrap();
        assert!(filter.is_match("spawn/join_worker") && !filter.is_match("wake/ring"));
    }

    #[test]
    fn the_base_peer_always_runs() {
        assert_eq!(options("--runtimes smol").runtimes, ["tokio", "smol"]);
        assert_eq!(options("--runtimes tokio").runtimes, ["tokio"]);
    }

    #[test]
    fn a_child_gets_its_three_arguments() {
        let Ok(Command::Child {
            case,
            runtime,
            workers,
        }) = read("--child wake/ring tokio 2")
        else {
            panic!("not a child");
        };
        assert_eq!(
            (case.as_str(), runtime.as_str(), workers),
            ("wake/ring", "tokio", 2)
        );
        assert!(read("--child wake/ring tokio").is_err());
    }

    #[test]
    fn list_and_help_win() {
        assert!(matches!(
            read("--list timer"),
            Ok(Command::List(Selection {
                filter: Some(_),
                ..
            }))
        ));
        assert!(matches!(read("--reps 3 --help"), Ok(Command::Help)));
    }

    #[test]
    fn errors_name_the_culprit() {
        for (line, part) in [
            ("--reps", "--reps needs a number"),
            ("--reps 0", "--reps needs a number above 0, not \"0\""),
            (
                "--workers many",
                "--workers needs a number above 0, not \"many\"",
            ),
            ("--colour", "unknown option --colour"),
            ("( ", "bad pattern"),
            ("spawn wake", "\"wake\""),
            ("--runtimes tokio,glommio", "no runtime \"glommio\" here"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }

    #[test]
    fn a_check_needs_tress() {
        assert!(
            read("--check --runtimes smol")
                .unwrap_err()
                .contains("tress")
        );
    }
}
