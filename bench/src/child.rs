//! One measurement in a process of its own, and the parent's side of it.

use std::process::Command;
use std::time::Duration;
use std::{env, process, thread};

use serde::{Deserialize, Serialize};

use crate::case::{Outcome, Plan};
use crate::runtime;

/// A run that takes longer hangs.
const WATCHDOG: Duration = Duration::from_secs(120);

/// The line a child prints.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    values: Vec<f64>,
    checked: u64,
}

/// Runs a case and prints its line. Called in the child.
pub fn run(case: &str, runtime: &str, workers: usize) -> Result<(), String> {
    watch();
    let peer = runtime::peer(runtime).ok_or(format!("no runtime {runtime:?}"))?;
    let cases = (peer.cases)();
    let found = cases.iter().find(|found| found.name == case);
    let found = found.ok_or(format!("no case {case:?}"))?;
    let outcome = (found.run)(&Plan::full(workers)).map_err(|wrong| wrong.0)?;
    plausible(&outcome)?;
    let line = Line {
        values: outcome.values,
        checked: outcome.checked,
    };
    println!(
        "{}",
        serde_json::to_string(&line).expect("numbers are JSON")
    );
    Ok(())
}

/// A value that no ratio can be made of is a wrong result too.
fn plausible(outcome: &Outcome) -> Result<(), String> {
    if outcome.checked == 0 {
        return Err("nothing was checked".into());
    }
    match outcome
        .values
        .iter()
        .find(|value| !value.is_finite() || **value <= 0.0)
    {
        Some(value) => Err(format!("measured {value}")),
        None => Ok(()),
    }
}

/// Ends the process if it hangs. The thread sleeps all the time, so it disturbs nothing.
fn watch() {
    thread::spawn(|| {
        thread::sleep(WATCHDOG);
        eprintln!("no result after {WATCHDOG:?}");
        process::exit(1);
    });
}

/// Runs a case in a child process. Called in the parent.
pub fn start(case: &str, runtime: &str, workers: usize) -> Result<Vec<f64>, String> {
    let exe = env::current_exe().map_err(|why| format!("no path to this program: {why}"))?;
    let mut child = Command::new(exe);
    child.args(["--child", case, runtime, &workers.to_string()]);
    let output = child
        .output()
        .map_err(|why| format!("no child process: {why}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, said.trim()));
    }
    read(&String::from_utf8_lossy(&output.stdout))
}

fn read(line: &str) -> Result<Vec<f64>, String> {
    let line: Line = serde_json::from_str(line).map_err(|why| format!("{why} in {line:?}"))?;
    Ok(line.values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let line = Line {
            values: vec![1.5, 2.0],
            checked: 3,
        };
        assert_eq!(
            read(&serde_json::to_string(&line).unwrap()).unwrap(),
            [1.5, 2.0]
        );
        assert!(read("").is_err());
        assert!(
            read("{\"values\": [1.0]}").is_err(),
            "an unchecked result is no result"
        );
    }

    #[test]
    fn values_without_a_ratio_are_wrong() {
        assert!(plausible(&Outcome::new(1.0, 1)).is_ok());
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(plausible(&Outcome::new(value, 1)).is_err(), "{value}");
        }
        assert!(plausible(&Outcome::new(1.0, 0)).is_err());
    }
}
