//! What the environment asks of a run.

use super::pictures::Pictures;
use super::shrink::Budget;
use crate::choices::{self, Choices};
use std::env;
use std::path::PathBuf;
use std::rc::Rc;
use std::thread::available_parallelism;
use std::time::Duration;

/// How the seeds of a test are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    /// The first one.
    pub(super) seed: u64,
    pub(super) number: u64,
    /// One seed was asked for: its output is shown while it runs.
    pub(super) is_live: bool,
    /// Number of processes that run at once. With zero the seed runs in the process of the test.
    pub(super) jobs: usize,
    /// Every seed runs twice.
    pub(super) check: bool,
    /// Real time that one seed may take.
    pub(super) time_limit: Duration,
    /// Where the steps of a seed are written to.
    pub(super) trace: Option<PathBuf>,
    /// The choices of the seed that are not drawn.
    pub(super) choices: Rc<Choices>,
    /// The one seed is shrunk if it fails, and its line of the corpus is replaced.
    pub(super) shrinks: bool,
    /// What may be spent on shrinking a failure.
    pub(super) budget: Budget,
    /// Pictures of runs.
    pub(super) pictures: Pictures,
}

/// Real time that one seed may take, unless something else is asked for.
const TIME_LIMIT: Duration = Duration::from_secs(120);

impl Options {
    /// Reads the environment. Without it a test runs that many seeds.
    ///
    /// # Errors
    /// A variable has no meaning; the text says which.
    pub(super) fn read(seeds: u64) -> Result<Options, String> {
        Options::from(seeds, |name| {
            env::var_os(name).map(|text| text.to_string_lossy().into_owned())
        })
    }

    fn from(seeds: u64, variable: impl Fn(&str) -> Option<String>) -> Result<Options, String> {
        // The first that is set counts.
        let number = |names: &[&str]| {
            for name in names {
                if let Some(text) = variable(name) {
                    let number = text.trim().parse::<u64>();
                    let number = number
                        .map_err(|_| format!("{name} is {text:?}, which is no number below 2^64"));
                    return number.map(Some);
                }
            }
            Ok(None)
        };
        let seed = number(&["TRESS_SIM_SEED", "MADSIM_TEST_SEED"])?;
        let given = number(&["TRESS_SIM_NUM", "MADSIM_TEST_NUM"])?;
        let jobs = number(&["TRESS_SIM_JOBS", "MADSIM_TEST_JOBS"])?;
        let time_limit = number(&["TRESS_SIM_TIME_LIMIT"])?;
        let is_on = |name| variable(name).is_some_and(|text| !matches!(text.trim(), "" | "0"));
        let check = is_on("TRESS_SIM_CHECK") || is_on("MADSIM_TEST_CHECK_DETERMINISM");
        let trace = variable("TRESS_SIM_TRACE")
            .filter(|text| !text.is_empty())
            .map(PathBuf::from);
        let choices = Choices::parse(&variable(choices::VARIABLE).unwrap_or_default())
            .map_err(|error| format!("{}: {error}", choices::VARIABLE))?;
        let shrinks = is_on("TRESS_SIM_SHRINK");
        let budget = Budget::new(
            number(&["TRESS_SIM_SHRINK_RUNS"])?,
            number(&["TRESS_SIM_SHRINK_SECONDS"])?,
        );
        let count = given.unwrap_or(if seed.is_some() { 1 } else { seeds });
        if count == 0 {
            return Err("no seeds: their number is 0".to_string());
        }
        let processors = available_parallelism().map_or(1, usize::from);
        let is_one = seed.is_some() && count == 1;
        let is_live = is_one && !check && !shrinks;
        if !choices.is_empty() && !is_one {
            return Err(
                "TRESS_SIM_CHOICES needs a TRESS_SIM_SEED, alone: they are the choices of one run"
                    .to_string(),
            );
        }
        if shrinks && (!is_one || check) {
            return Err(
                "TRESS_SIM_SHRINK needs a TRESS_SIM_SEED, alone, without TRESS_SIM_CHECK"
                    .to_string(),
            );
        }
        if trace.is_some() && !is_live {
            return Err(
                "TRESS_SIM_TRACE needs a TRESS_SIM_SEED, alone: it is the log of one run"
                    .to_string(),
            );
        }
        if jobs == Some(0) && !is_live {
            return Err(
                "TRESS_SIM_JOBS=0 needs a TRESS_SIM_SEED, alone: one run fits into this process"
                    .to_string(),
            );
        }
        let pictures = Pictures::from(&variable);
        if pictures.has_files() && (!is_live || jobs == Some(0)) {
            return Err(
                "TRESS_SIM_HTML and TRESS_SIM_PERFETTO need a TRESS_SIM_SEED, alone, and a process of its own: they are of one run"
                    .to_string(),
            );
        }
        let first = seed.unwrap_or(0);
        Ok(Options {
            seed: first,
            // Seeds end where numbers do.
            number: count.min((u64::MAX - first).saturating_add(1)),
            is_live,
            jobs: jobs.map_or(processors, |jobs| jobs.min(1024) as usize),
            check,
            time_limit: time_limit.map_or(TIME_LIMIT, Duration::from_secs),
            trace,
            choices: Rc::new(choices),
            shrinks,
            budget,
            pictures,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Options, String> {
        Options::from(200, |name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, text)| text.to_string())
        })
    }

    #[test]
    fn the_attribute_says_how_many() {
        let options = read(&[]).unwrap();
        assert_eq!(
            (options.seed, options.number, options.is_live),
            (0, 200, false)
        );
        assert!(options.jobs > 0 && !options.check);
    }

    #[test]
    fn one_seed_is_live() {
        let options = read(&[("TRESS_SIM_SEED", "17")]).unwrap();
        assert_eq!(
            (options.seed, options.number, options.is_live),
            (17, 1, true)
        );
        let checked = read(&[("TRESS_SIM_SEED", "17"), ("TRESS_SIM_CHECK", "1")]).unwrap();
        assert_eq!(
            (checked.number, checked.is_live, checked.check),
            (1, false, true)
        );
    }

    #[test]
    fn names_of_madsim_are_understood() {
        let variables = [
            ("MADSIM_TEST_SEED", "5"),
            ("MADSIM_TEST_NUM", "7"),
            ("MADSIM_TEST_JOBS", "3"),
        ];
        let options = read(&variables).unwrap();
        assert_eq!((options.seed, options.number, options.jobs), (5, 7, 3));
        let ours = read(&[("MADSIM_TEST_NUM", "7"), ("TRESS_SIM_NUM", "8")]).unwrap();
        assert_eq!(ours.number, 8);
        assert!(
            read(&[("MADSIM_TEST_CHECK_DETERMINISM", "1")])
                .unwrap()
                .check
        );
        assert!(!read(&[("TRESS_SIM_CHECK", "0")]).unwrap().check);
    }

    #[test]
    fn seeds_end_with_the_numbers() {
        let variables = [
            ("TRESS_SIM_SEED", "18446744073709551614"),
            ("TRESS_SIM_NUM", "10"),
        ];
        assert_eq!(read(&variables).unwrap().number, 2);
    }

    #[test]
    fn mistakes_are_named() {
        for variables in [
            [("TRESS_SIM_SEED", "x"), ("", "")],
            [("TRESS_SIM_NUM", "0"), ("", "")],
            [("TRESS_SIM_JOBS", "0"), ("", "")],
            [("TRESS_SIM_TRACE", "file"), ("TRESS_SIM_NUM", "5")],
            [("TRESS_SIM_CHOICES", "v1/faults:0-"), ("", "")],
            [("TRESS_SIM_CHOICES", "faults"), ("TRESS_SIM_SEED", "1")],
            [("TRESS_SIM_SHRINK", "1"), ("", "")],
            [("TRESS_SIM_SHRINK_RUNS", "x"), ("", "")],
            [("TRESS_SIM_HTML", "file"), ("", "")],
            [("TRESS_SIM_PERFETTO", "file"), ("TRESS_SIM_NUM", "5")],
        ] {
            assert!(read(&variables).is_err(), "{variables:?}");
        }
    }

    #[test]
    fn a_seed_may_have_choices_and_be_shrunk() {
        let choices = ("TRESS_SIM_CHOICES", "v1/faults:0-");
        let options = read(&[("TRESS_SIM_SEED", "17"), choices]).unwrap();
        assert!(options.is_live && !options.shrinks);
        assert_eq!(options.choices.to_string(), "v1/faults:0-");
        let shrinks = ("TRESS_SIM_SHRINK", "1");
        let options = read(&[("TRESS_SIM_SEED", "17"), choices, shrinks]).unwrap();
        assert!(!options.is_live && options.shrinks);
        let checked = ("TRESS_SIM_CHECK", "1");
        assert!(read(&[("TRESS_SIM_SEED", "17"), checked, choices]).is_ok());
        assert!(read(&[("TRESS_SIM_SEED", "17"), checked, shrinks]).is_err());
    }
}
