//! Random programs on Tokio and on the facade. Both sides run the same source, and log the same words.
//!
//! `differential [SEEDS [FIRST]]` runs so many seeds of every kind of program, from the given one;
//! `differential one KIND SEED` runs a single one and prints both logs.

mod ours;
mod real;
mod rng;
mod world;

type Program = fn(u64) -> Vec<String>;

/// Every kind of program: its name, on Tokio, on the facade.
const KINDS: &[(&str, Program, Program)] = &[
    ("edges", real::edges::run, ours::edges::run),
    ("errors", real::errors::run, ours::errors::run),
    ("locks", real::locks::run, ours::locks::run),
    ("queues", real::queues::run, ours::queues::run),
    ("values", real::values::run, ours::values::run),
    ("tasks", real::tasks::run, ours::tasks::run),
    ("timers", real::timers::run, ours::timers::run),
];

fn main() {
    // Programs panic on purpose; a panic that is not caught there is part of the log.
    std::panic::set_hook(Box::new(|_| {}));
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, or: u64| match args.get(at) {
        Some(text) => text.parse().expect("a number"),
        None => or,
    };
    if args.first().is_some_and(|first| first == "one") {
        let (_, real, ours) = KINDS
            .iter()
            .find(|(name, ..)| Some(*name) == args.get(1).map(String::as_str))
            .expect("a kind of program");
        let seed = number(2, 0);
        if !agree(seed, *real, *ours, true) {
            std::process::exit(1);
        }
        return;
    }
    let (seeds, first) = (number(0, 2_000), number(1, 0));
    let start = std::time::Instant::now();
    let mut differ = 0;
    for (name, real, ours) in KINDS {
        let begun = std::time::Instant::now();
        let mut shown = 0;
        for seed in first..first + seeds {
            if !agree(seed, *real, *ours, false) {
                differ += 1;
                if shown < 3 {
                    shown += 1;
                    println!("{name}: seed {seed} differs (`differential one {name} {seed}`)");
                    let _ = agree_shortly(seed, *real, *ours);
                }
            }
        }
        println!("{name}: {seeds} seeds in {:?}", begun.elapsed());
    }
    println!("{differ} differ, {:?}", start.elapsed());
    if differ > 0 {
        std::process::exit(1);
    }
}

/// Runs a program on one side; a panic is a result too.
fn run(program: Program, seed: u64) -> Vec<String> {
    match std::panic::catch_unwind(|| program(seed)) {
        Ok(log) => log,
        Err(payload) => {
            let text = payload
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
            vec![format!("panicked: {text:?}")]
        }
    }
}

fn agree(seed: u64, real: Program, ours: Program, print: bool) -> bool {
    let (real, ours) = (run(real, seed), run(ours, seed));
    if print {
        for at in 0..real.len().max(ours.len()) {
            let (real, ours) = (real.get(at), ours.get(at));
            let mark = if real == ours { ' ' } else { '!' };
            let text = |line: Option<&String>| line.cloned().unwrap_or_default();
            println!("{mark} {:50} | {}", text(real), text(ours));
            if real != ours {
                break;
            }
        }
    }
    real == ours
}

/// Prints the lines before the first difference.
fn agree_shortly(seed: u64, real: Program, ours: Program) -> bool {
    let (real, ours) = (run(real, seed), run(ours, seed));
    let same = real.iter().zip(&ours).take_while(|(a, b)| a == b).count();
    for line in &real[same.saturating_sub(12)..same] {
        println!("    {line}");
    }
    println!("  Tokio: {:?}", real.get(same));
    println!("  tress: {:?}", ours.get(same));
    real == ours
}
