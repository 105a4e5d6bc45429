//! `tress bench`: compares tress with its peers, in a clone of its repository, and draws the results.

mod args;
mod chart;

pub(crate) use args::Bench;

use chart::Report;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

/// Runs the comparison.
pub(crate) fn run(options: &Bench) -> ExitCode {
    match compare(options) {
        Ok(status) => code(status),
        Err(error) => crate::fail(&error.to_string()),
    }
}

fn compare(options: &Bench) -> io::Result<ExitStatus> {
    let here = std::env::current_dir()?;
    let bench = find(&here).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "there is no folder `bench` of tress here or above: run it in a clone of its repository",
        )
    })?;
    let (json, is_ours) = match &options.json {
        Some(file) => (here.join(file), false),
        None => {
            let name = format!("tress-bench-{}.json", std::process::id());
            (std::env::temp_dir().join(name), true)
        }
    };
    let status = command(options, &bench, &json).status();
    let drawn = match (&status, &options.svg) {
        (Ok(_), Some(svg)) if json.exists() => draw(&json, &here.join(svg)),
        _ => Ok(()),
    };
    if is_ours && json.exists() {
        std::fs::remove_file(&json)?;
    }
    let status = status
        .map_err(|error| io::Error::new(error.kind(), format!("cannot run cargo: {error}")))?;
    drawn?;
    Ok(status)
}

/// Returns the folder of the comparison, in that folder or one above it.
fn find(from: &Path) -> Option<PathBuf> {
    let is_it = |folder: &PathBuf| {
        folder.join("src/compare.rs").is_file() && folder.join("baseline.json").is_file()
    };
    from.ancestors()
        .map(|folder| folder.join("bench"))
        .find(is_it)
}

/// The comparison is a workspace of its own, since it needs the real Tokio.
fn command(options: &Bench, bench: &Path, json: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(bench)
        .args(["run", "--release", "--locked", "--quiet", "--"]);
    command.args(&options.cases);
    command.arg("--reps").arg(options.reps.to_string());
    if let Some(workers) = options.workers {
        command.arg("--workers").arg(workers.to_string());
    }
    if !options.runtimes.is_empty() {
        command.arg("--runtimes").arg(options.runtimes.join(","));
    }
    if options.check {
        command.arg("--check");
    }
    command.arg("--json").arg(json);
    command
}

fn draw(json: &Path, svg: &Path) -> io::Result<()> {
    let text = std::fs::read_to_string(json)?;
    let report: Report = serde_json::from_str(&text)?;
    std::fs::write(svg, report.to_svg()).map_err(|error| {
        let name = svg.display();
        io::Error::new(error.kind(), format!("cannot write {name}: {error}"))
    })?;
    println!("The chart is in {}.", svg.display());
    Ok(())
}

/// Returns the exit code of the comparison: 1 for a loss or a wrong result, 2 for bad arguments.
fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    // Without a code a signal has ended it.
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comparison_is_found_from_below_and_named_by_its_arguments() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let bench = find(here).expect("the repository has one");
        assert!(find(Path::new("/")).is_none());
        let options = Bench {
            cases: Some("^spawn/".into()),
            reps: 3,
            workers: Some(2),
            runtimes: vec!["tress".into(), "smol".into()],
            check: true,
            json: None,
            svg: None,
        };
        let command = command(&options, &bench, Path::new("out.json"));
        let arguments: Vec<_> = command.get_args().map(|a| a.to_str().unwrap()).collect();
        assert_eq!(
            arguments.join(" "),
            "run --release --locked --quiet -- ^spawn/ --reps 3 --workers 2 --runtimes tress,smol --check --json out.json"
        );
        assert_eq!(command.get_current_dir(), Some(&*bench));
    }
}
