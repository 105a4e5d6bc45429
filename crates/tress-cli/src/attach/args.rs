use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Which program to attach to.
#[derive(Args, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Address of the program's console, such as 127.0.0.1:6670, or the program's process id
    ///
    /// A program serves its console if it was started with TRESS_CONSOLE=127.0.0.1:6670, or calls the package
    /// tress-console. With a process id the address is read from the environment that the process was started with.
    #[arg(value_name = "ADDRESS|PID", default_value = "127.0.0.1:6670")]
    pub(crate) program: String,
    /// The console's token, if it has one
    #[arg(long, env = "TRESS_CONSOLE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}

/// Options of `tress doctor`.
#[derive(Args, Debug, PartialEq, Eq)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// How long to look, in seconds: some things show only after a while
    #[arg(long, value_name = "S", default_value = "3", value_parser = crate::args::seconds)]
    pub(crate) seconds: Duration,
}

/// Options of `tress top`.
#[derive(Args, Debug, PartialEq, Eq)]
pub(crate) struct Top {
    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `tress trace`.
#[derive(Args, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    #[command(flatten)]
    pub(crate) target: Target,
    /// How many of the last seconds to write
    #[arg(long, value_name = "S", default_value = "30", value_parser = crate::args::seconds)]
    pub(crate) seconds: Duration,
    /// The file to write, for ui.perfetto.dev
    #[arg(long, short, value_name = "FILE", default_value = "trace.pftrace")]
    pub(crate) output: PathBuf,
}
