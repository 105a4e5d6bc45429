//! `tress trace`: saves the last seconds of a running program for Perfetto.

use super::args::Trace;
use super::client::Client;
use std::io;
use std::process::ExitCode;

/// Writes the file.
pub(crate) fn run(options: &Trace) -> ExitCode {
    match save(options) {
        Ok(bytes) => {
            println!(
                "{} bytes in {}: open it at ui.perfetto.dev",
                bytes,
                options.output.display()
            );
            ExitCode::SUCCESS
        }
        Err(error) => crate::fail(&error.to_string()),
    }
}

fn save(options: &Trace) -> io::Result<usize> {
    let rt = crate::runtime()?;
    let get = async {
        let client = Client::new(&options.target)?;
        let seconds = options.seconds.as_secs().max(1);
        client.get(&format!("/api/trace?seconds={seconds}")).await
    };
    let trace = rt
        .block_on(get)
        .map_err(|error| io::Error::other(error.to_string()))?;
    let name = options.output.display();
    std::fs::write(&options.output, &trace)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot write {name}: {error}")))?;
    Ok(trace.len())
}
