//! The `tress` command: runs a demonstration of the runtime and shows its counters.

mod args;
mod demo;
mod table;

use args::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    match args::parse(std::env::args().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", args::HELP);
            ExitCode::SUCCESS
        }
        Ok(Command::Demo(options)) => match demo::run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error.to_string()),
        },
        Err(error) => fail(&error),
    }
}

/// Prints an error, and returns the exit code for it.
fn fail(text: &str) -> ExitCode {
    eprintln!("tress: {text}");
    ExitCode::FAILURE
}
