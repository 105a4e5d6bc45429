use clap::{Args, ValueEnum};
use std::time::Duration;

/// Options of `tress demo`.
#[derive(Args, Debug, PartialEq, Eq)]
#[command(args_override_self = true)]
pub(crate) struct Demo {
    /// Number of worker threads; 0 is one for each CPU
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_hyphen_values = true
    )]
    pub(crate) workers: usize,
    /// How long the load runs, in seconds from 0.1 to 3600
    #[arg(long = "seconds", value_name = "S", default_value = "10", value_parser = crate::args::seconds, allow_hyphen_values = true)]
    pub(crate) duration: Duration,
    /// Run until ctrl-c is pressed
    #[arg(long, conflicts_with = "duration")]
    pub(crate) serve: bool,
    /// Number of connections that send requests; 0 sends none
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    pub(crate) connections: u16,
    /// Port of the service; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Port of the console; if it is in use, the next free one is taken
    #[arg(long, value_name = "PORT", default_value_t = 6670)]
    pub(crate) console_port: u16,
    /// Plant a fault after two seconds
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Option<Fault>,
}

/// What can be wrong with the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// Two tasks wait for each other's lock
    Deadlock,
    /// A task blocks its worker
    SlowPoll,
    /// Tasks are spawned and never end
    Leak,
    /// Many tasks want the same lock
    Convoy,
    /// More tasks are ready than the workers can run
    Starve,
}
