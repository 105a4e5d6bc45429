//! Options of `tress adopt`.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// The end of `tress adopt --help`.
const EXAMPLES: &str = "\
Examples:
  tress adopt                          compare, and leave everything as it was
  tress adopt --no-test                only see whether it resolves and builds
  tress adopt -- -p server --lib       compare the unit tests of one package
  tress adopt -- -- --test-threads=1   the second `--` is cargo test's own
  tress adopt --keep                   compare, and leave the patch in
  tress adopt --check                  in CI: the patch is in, is used, and the tests pass
  tress adopt --undo                   take out what --keep put in

Exit codes:
  0  the tests pass on tress as they do on Tokio, or better
  1  tests that pass on Tokio fail on tress (with --check: tests fail)
  2  wrong usage, or the repository cannot be adopted; the text says what to do";

/// Options of `tress adopt`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Adopt {
    /// The facade: the folder crates/tokio of a checkout of tress [default: that of the checkout that this
    /// command was built from]
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    pub(crate) path: Option<PathBuf>,
    /// A git repository of tress, instead of a folder
    #[arg(long, value_name = "URL")]
    pub(crate) git: Option<String>,
    /// The commit of the git repository
    #[arg(long, value_name = "REV", requires = "git")]
    pub(crate) rev: Option<String>,
    /// Path to a Cargo.toml of the repository [default: that of the current folder]
    #[arg(long, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
    /// Run without the network
    #[arg(long)]
    pub(crate) offline: bool,
    /// The folder for both builds and their logs [default: tress-adopt in the target directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) target_dir: Option<PathBuf>,
    /// Build the tests, and do not run them
    #[arg(long)]
    pub(crate) no_test: bool,
    /// Build and test on tress only
    #[arg(long)]
    pub(crate) tests_on_tress_only: bool,
    /// Write the report to a file as JSON, too
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Leave the patch in Cargo.toml and Cargo.lock
    #[arg(long, conflicts_with_all = ["undo", "check"])]
    pub(crate) keep: bool,
    /// Take out what --keep put in
    #[arg(long, conflicts_with = "check")]
    pub(crate) undo: bool,
    /// Check that the patch is in and used, and that the tests pass on it; change nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// Arguments for cargo test, which has --workspace unless they select packages
    #[arg(last = true, value_name = "CARGO TEST ARGUMENTS")]
    pub(crate) cargo_test: Vec<OsString>,
}
