//! Runs a test of the same file in a process of its own, and looks at what it prints.

// Not every file needs all of it.
#![allow(dead_code)]

use std::env;
use std::process::{Command, Output};

/// Has each seed run twice.
pub const CHECK: (&str, &str) = ("TRESS_SIM_CHECK", "1");

/// Returns the command that runs a test, without what the environment says of simulations.
pub fn command(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", name, "--include-ignored", "--nocapture"]);
    for (name, _) in env::vars() {
        if name.starts_with("TRESS_SIM_") || name.starts_with("MADSIM_TEST_") {
            command.env_remove(name);
        }
    }
    command
        .env("TRESS_SIM_CORPUS", "off")
        // The number of runs is what ends shrinking, on slow machines too.
        .env("TRESS_SIM_SHRINK_SECONDS", "600")
        .env_remove("RUST_BACKTRACE");
    command
}

/// Runs a test.
pub fn run(name: &str, environment: &[(&str, &str)]) -> Output {
    let mut command = command(name);
    command.envs(environment.iter().copied()).output().unwrap()
}

/// Everything that a test has printed.
pub fn text(output: &Output) -> String {
    let bytes = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(bytes).unwrap()
}

#[track_caller]
pub fn assert_passes(output: &Output) -> String {
    let text = text(output);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
    text
}

#[track_caller]
pub fn assert_fails(output: &Output, with: &[&str]) -> String {
    let text = text(output);
    assert!(!output.status.success(), "{text}");
    for words in with {
        assert!(text.contains(words), "there is no {words:?} in:\n{text}");
    }
    text
}
