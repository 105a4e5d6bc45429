//! The `tress` command: tries tress in repositories that use Tokio, runs simulations, and demonstrates the
//! runtime.

mod adopt;
mod args;
mod attach;
mod bench;
#[cfg(feature = "tokio-console")]
mod bridge;
mod demo;
mod sim;
mod table;

use args::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match args::parse(std::env::args_os()) {
        Ok(command) => command,
        // Prints to standard output what was asked for, and to standard error what is wrong.
        Err(text) => text.exit(),
    };
    match command {
        Command::Adopt(options) => adopt::run(&options),
        #[cfg(feature = "tokio-console")]
        Command::Console(options) => bridge::run(&options),
        Command::Doctor(options) => attach::doctor(&options),
        Command::Top(options) => attach::top(&options),
        Command::Trace(options) => attach::trace(&options),
        Command::Sim(options) => sim::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Completions(options) => args::complete(&options),
        Command::Demo(options) => demo::run(&options),
    }
}

/// Returns a runtime for what a command asks of others.
fn runtime() -> std::io::Result<tress::runtime::Runtime> {
    tress::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Prints an error, and returns the exit code for it.
fn fail(text: &str) -> ExitCode {
    eprintln!("tress: {text}");
    ExitCode::FAILURE
}
