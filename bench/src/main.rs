//! Compares tress with its peers. See README.md.

#![deny(clippy::undocumented_unsafe_blocks)]

mod actors;
mod args;
mod baseline;
mod case;
mod cases;
mod child;
mod compare;
mod gate;
mod load;
mod machine;
mod meter;
mod primitive;
mod random;
mod report;
mod runtime;
mod server;
mod stackful;
mod stats;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use args::{Command, Options, Selection};
use baseline::{Baseline, Verdict};
use case::Case;
use compare::{Measured, Table};
use machine::Meta;

fn main() -> ExitCode {
    let command = match args::parse(env::args().skip(1)) {
        Ok(command) => command,
        Err(why) => {
            eprintln!("bench: {why}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    let done = match command {
        Command::Help => {
            println!("{}", args::USAGE);
            Ok(())
        }
        Command::List(selection) => {
            let cases = all_cases();
            print!("{}", report::list(select(&cases, &selection).into_iter()));
            Ok(())
        }
        Command::Child {
            case,
            runtime,
            workers,
        } => child::run(&case, &runtime, workers),
        Command::Load(spec) => load::run(&spec),
        Command::Run(options) => run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("bench: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Every case; what the base peer would run serves as the description for all.
fn all_cases() -> Vec<Case> {
    let base = runtime::peer(runtime::BASE).expect("the base peer is always built");
    (base.cases)()
}

/// The selected cases with the numbers of workers to run them with.
fn select<'a>(cases: &'a [Case], selection: &Selection) -> Vec<(&'a Case, usize)> {
    let matches = |case: &&Case| match &selection.filter {
        Some(filter) => filter.is_match(case.name),
        None => true,
    };
    let variants = |case: &'a Case| {
        let own = case.variants.iter().map(|variant| variant.workers);
        let workers = selection
            .workers
            .map_or_else(|| own.collect(), |only| vec![only]);
        workers.into_iter().map(move |workers| (case, workers))
    };
    let mut selected: Vec<_> = cases.iter().filter(matches).flat_map(variants).collect();
    // Cases that share a run stand next to each other.
    let source = |case: &Case| cases.iter().position(|other| other.name == case.source.0);
    let own = |case: &Case, workers| case.variants.iter().position(|it| it.workers == workers);
    selected.sort_by_key(|(case, workers)| (source(case), own(case, *workers)));
    selected
}

fn run(options: &Options) -> Result<(), String> {
    let file = Path::new(baseline::FILE);
    // Before the long part, so that a missing file is known at once.
    let stored = if options.check {
        Some(baseline::load(file)?)
    } else {
        None
    };
    let cases = all_cases();
    let selected = select(&cases, &options.selection);
    if selected.is_empty() {
        return Err("no case matches; --list shows them all".into());
    }
    let meta = Meta::new(options.reps);
    println!(
        "{}, {} cores, load {}, Linux {}, {}, {} repetitions\n",
        meta.cpu, meta.cores, meta.load, meta.kernel, meta.rustc, meta.reps
    );
    let (tables, mut complaints) = measure(&selected, options);
    if let Some(json) = &options.json {
        let written = fs::write(json, report::json(&meta, &tables));
        written.map_err(|why| format!("{}: {why}", json.display()))?;
    }
    if let Some(stored) = &stored {
        complaints.extend(losses(&tables, stored));
    }
    if options.save_baseline {
        baseline::save(file, ratios(&tables))?;
        println!("stored in {}", file.display());
    }
    if complaints.is_empty() {
        Ok(())
    } else {
        Err(complaints.join("\nbench: "))
    }
}

/// Runs what the selected cases need, printing each table as it is there. What failed comes second.
fn measure(selected: &[(&Case, usize)], options: &Options) -> (Vec<Table>, Vec<String>) {
    let (mut tables, mut failures) = (Vec::new(), Vec::new());
    let same_run =
        |a: &(&Case, usize), b: &(&Case, usize)| (a.0.source.0, a.1) == (b.0.source.0, b.1);
    for group in selected.chunk_by(same_run) {
        let (program, workers) = (group[0].0.source.0, group[0].1);
        let child = |runtime: &str| child::start(program, runtime, workers);
        let runs = |name: &&str| runtime::peer(name).is_some_and(|peer| peer.runs(program));
        let runtimes: Vec<_> = options.runtimes.iter().copied().filter(runs).collect();
        let measured = Measured::run(&runtimes, options.reps, child);
        let made = measured.and_then(|measured| {
            group
                .iter()
                .map(|(case, workers)| measured.table(case, *workers))
                .collect()
        });
        match made {
            Ok::<Vec<Table>, String>(made) => {
                for table in made {
                    println!("{}", report::text(&table));
                    tables.push(table);
                }
            }
            Err(why) => {
                let failure = format!("{program} with {workers} workers: {why}");
                println!("FAILED: {failure}\n");
                failures.push(failure);
            }
        }
    }
    (tables, failures)
}

/// What fell below the baseline; prints how every case stands.
fn losses(tables: &[Table], stored: &Baseline) -> Vec<String> {
    let mut losses = Vec::new();
    println!("against the stored baseline:");
    for table in tables {
        let Some(ours) = table.row(runtime::OURS) else {
            continue;
        };
        let key = baseline::key(table.case, table.workers);
        let (ratio, noise) = (ours.comparison.ratio, table.noise().noise());
        let verdict = baseline::judge(stored.get(&key).copied(), ratio, noise);
        let target = match table.target {
            Some(target) if target.met(ours.summary.median, ratio) => format!("{target} met"),
            Some(target) => format!("{target} NOT MET"),
            None => "none".into(),
        };
        let stands = match verdict {
            Verdict::New => "no baseline".into(),
            Verdict::Kept => "ok".into(),
            Verdict::Lost { stored, lowest } => {
                losses.push(format!("{key} fell from {stored:.2} to {ratio:.2}"));
                format!("LOST, was {stored:.2}, at least {lowest:.2} allowed")
            }
        };
        println!("  {key:<28} {ratio:>7.2}x  noise {noise:.2}  target {target:<16}  {stands}");
    }
    losses
}

/// tress's ratios, to be stored.
fn ratios(tables: &[Table]) -> Baseline {
    let ours = tables
        .iter()
        .filter_map(|table| Some((table, table.row(runtime::OURS)?)));
    ours.map(|(table, row)| {
        (
            baseline::key(table.case, table.workers),
            row.comparison.ratio,
        )
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(filter: &str, workers: Option<usize>) -> Selection {
        Selection {
            filter: Some(regex_lite::Regex::new(filter).unwrap()),
            workers,
        }
    }

    #[test]
    fn a_case_runs_with_its_own_numbers_of_workers_or_with_the_one_asked_for() {
        let cases = all_cases();
        let selected = |selection| {
            let selected = select(&cases, &selection).into_iter();
            selected
                .map(|(case, workers)| (case.name, workers))
                .collect::<Vec<_>>()
        };
        let ring = "wake/ring";
        assert_eq!(
            selected(selection("^wake/ring$", None)),
            [(ring, 2), (ring, 1)]
        );
        assert_eq!(selected(selection("^wake/ring$", Some(8))), [(ring, 8)]);
        assert_eq!(selected(selection("nothing", None)), []);
        assert!(selected(Selection::default()).len() > cases.len());
    }

    #[test]
    fn a_loss_is_reported_and_a_new_case_is_not() {
        let case =
            Case::new("a/b", "ns/op", "", |_| unreachable!()).at(2, case::Target::Ratio(2.0));
        let value = |runtime: &str| Ok(vec![if runtime == "tress" { 50.0 } else { 100.0 }]);
        let measured = Measured::run(&["tress", "tokio"], 3, value).unwrap();
        let tables = [measured.table(&case, 2).unwrap()];
        assert_eq!(ratios(&tables), Baseline::from([("a/b@2".into(), 2.0)]));
        assert!(losses(&tables, &Baseline::new()).is_empty());
        assert!(losses(&tables, &ratios(&tables)).is_empty());
        let better = Baseline::from([("a/b@2".into(), 2.6)]);
        assert_eq!(losses(&tables, &better), ["a/b@2 fell from 2.60 to 2.00"]);
    }
}
