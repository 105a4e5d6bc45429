//! Options of `tress sim`.

use clap::{Args, Subcommand};
use std::ffi::OsString;

/// The end of `tress sim --help`.
const EXAMPLES: &str = "\
Examples:
  tress sim run --num 10000                  all tests, with many seeds
  tress sim run -p server --check elections  the tests of a package whose names have that word, each seed twice
  tress sim replay 17 elections::two_leaders one seed, with its output
  tress sim corpus                           all seeds that have ever failed
  tress sim shrink --seconds 600             find out more exactly what each of these takes
  tress sim shrink 17 elections::two_leaders the same for one seed

A choice string says which of all that a seed leaves to chance is not drawn, such as v1/faults:0-2,4-/schedule:0-: all faults
but number 3 are left out, and tasks run in the order in which they became ready. A seed that fails is shown with one, for
replay --choices.

Tests that are no simulations run as they always do. Exit codes are those of cargo test.";

/// Options of `tress sim`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sim {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Command {
    /// Run tests with many seeds
    Run(Run),
    /// Run one seed of a test, and show its output
    Replay(Replay),
    /// Find out what of all that is left to chance a seed takes to fail, and keep that in sim-corpus.txt
    Shrink(Shrink),
    /// List the seeds that have failed, which runs keep in sim-corpus.txt beside a package's Cargo.toml, and run them again
    Corpus(Corpus),
}

/// Which tests are meant, and how they are built.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The package
    #[arg(long, short, value_name = "P")]
    pub(crate) package: Option<String>,
    /// The integration test: a file of the folder tests
    #[arg(long, value_name = "T")]
    pub(crate) test: Option<String>,
    /// Build with optimizations
    #[arg(long)]
    pub(crate) release: bool,
    /// Find out, and say, where code gets past the simulation
    #[arg(long)]
    pub(crate) strict: bool,
    /// Other arguments for cargo test, such as --features
    #[arg(last = true, value_name = "CARGO TEST ARGS")]
    pub(crate) cargo_test: Vec<OsString>,
}

/// Options of `tress sim run`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// Only tests whose names have this in them
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The number of seeds [default: what each test says]
    #[arg(long, value_name = "N")]
    pub(crate) num: Option<u64>,
    /// The first seed [default: 0]; without --num the only one
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// The number of processes that run at once [default: one for each CPU]
    #[arg(long, value_name = "J")]
    pub(crate) jobs: Option<u64>,
    /// Run each seed twice, and compare all that happens
    #[arg(long)]
    pub(crate) check: bool,
    /// Seconds of real time that one seed may take [default: 120]
    #[arg(long, value_name = "S")]
    pub(crate) time_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) selection: Selection,
}

/// Options of `tress sim replay`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replay {
    /// The seed
    #[arg(value_name = "SEED")]
    pub(crate) seed: u64,
    /// The whole name of the test
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The choices that are not drawn, as a run has shown them: v1/faults:0-2,4-
    #[arg(long, value_name = "STRING")]
    pub(crate) choices: Option<String>,
    /// Write every step of the run to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<OsString>,
    /// Write a page to this file that shows the run in a browser
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<OsString>,
    /// Write a trace of the run to this file, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<OsString>,
    #[command(flatten)]
    pub(crate) selection: Selection,
}

/// Options of `tress sim shrink`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shrink {
    /// The seed [default: all seeds that have failed, one after the other]
    #[arg(value_name = "SEED", requires = "name")]
    pub(crate) seed: Option<u64>,
    /// The whole name of the test
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The choices to begin with, as a run has shown them: v1/faults:0-2,4-
    #[arg(long, value_name = "STRING", requires = "seed")]
    pub(crate) choices: Option<String>,
    /// The maximum number of runs for each seed
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub(crate) runs: u64,
    /// The maximum number of seconds for each seed
    #[arg(long, value_name = "S", default_value_t = 300)]
    pub(crate) seconds: u64,
    #[command(flatten)]
    pub(crate) selection: Selection,
}

/// Options of `tress sim corpus`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Corpus {
    /// Only list them
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) selection: Selection,
}
