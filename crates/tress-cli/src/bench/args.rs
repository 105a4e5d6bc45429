use clap::Args;
use std::path::PathBuf;

/// Options of `tress bench`.
#[derive(Args, Debug, PartialEq, Eq)]
pub(crate) struct Bench {
    /// Only cases whose name matches this regular expression, such as '^spawn/'
    #[arg(value_name = "REGEX")]
    pub(crate) cases: Option<String>,
    /// Repetitions, each in a process of its own
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) reps: u16,
    /// Run every case with that many workers
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<u16>,
    /// Only these runtimes; Tokio runs along always
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) runtimes: Vec<String>,
    /// Fail if tress has lost against the stored ratios
    #[arg(long)]
    pub(crate) check: bool,
    /// Also write the results there, for programs
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Also draw the results there, as bars
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}
