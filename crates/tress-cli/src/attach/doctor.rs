//! `tress doctor`: what is wrong, as text or JSON, with an exit code for scripts.

use super::args::Doctor;
use super::client::{Client, Unreachable};
use super::model::{Finding, Process};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;
use tress::time::{Instant, interval};

/// Something is wrong.
const WRONG: u8 = 1;
/// The program could not be looked at.
const UNKNOWN: u8 = 2;

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(500);

/// Looks for a while, prints what is wrong, and returns 0 if nothing is, 1 if something is, and 2 if it cannot be known.
pub(crate) fn run(options: &Doctor) -> ExitCode {
    let looked = crate::runtime().and_then(|rt| {
        rt.block_on(look(options))
            .map_err(|error| io::Error::other(error.to_string()))
    });
    let process = match looked {
        Ok(process) => process,
        Err(error) => {
            eprintln!("tress: {error}");
            return ExitCode::from(UNKNOWN);
        }
    };
    let written = match options.json {
        true => write_json(&process.findings),
        false => write_text(&process),
    };
    match written {
        Err(error) => crate::fail(&error.to_string()),
        Ok(()) if process.findings.iter().any(is_wrong) => ExitCode::from(WRONG),
        Ok(()) => ExitCode::SUCCESS,
    }
}

/// A note is worth knowing, but nothing is wrong.
fn is_wrong(finding: &Finding) -> bool {
    finding.severity != "note"
}

/// Looks until the time is up. Returns the last state of everything, with all that was found meanwhile.
async fn look(options: &Doctor) -> Result<Process, Unreachable> {
    let client = Client::new(&options.target)?;
    let end = Instant::now() + options.seconds;
    let mut ticks = interval(PERIOD);
    let mut all: Vec<Finding> = Vec::new();
    loop {
        ticks.tick().await;
        let mut process: Process = client.get_json("/api/snapshot").await?;
        for finding in process.findings.drain(..) {
            match all.iter_mut().find(|old| is_same(old, &finding)) {
                Some(old) => *old = finding,
                None => all.push(finding),
            }
        }
        if Instant::now() >= end {
            process.findings = all;
            return Ok(process);
        }
    }
}

fn is_same(a: &Finding, b: &Finding) -> bool {
    (&a.kind, a.runtime, a.task, &a.site) == (&b.kind, b.runtime, b.task, &b.site)
}

fn write_json(findings: &[Finding]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, findings)?;
    writeln!(out)
}

fn write_text(process: &Process) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let tasks: u64 = process.runtimes.iter().map(|runtime| runtime.alive).sum();
    let runtimes = process.runtimes.len();
    writeln!(
        out,
        "{} (process {}), up {} s: {tasks} tasks in {runtimes} runtime{}",
        process.program,
        process.pid,
        process.uptime_ms / 1000,
        if runtimes == 1 { "" } else { "s" }
    )?;
    if process.findings.is_empty() {
        return writeln!(out, "Nothing is wrong that tress can see.");
    }
    for finding in &process.findings {
        writeln!(
            out,
            "\n{}: {}",
            finding.severity.to_uppercase(),
            finding.text
        )?;
        if let Some(site) = &finding.site {
            writeln!(out, "    at {site}")?;
        }
    }
    Ok(())
}
