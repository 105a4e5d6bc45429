//! Random programs on Tokio and on the facade. Both sides run the same source, and log the same words.
//!
//! `differential [SEEDS [FIRST]]` runs so many seeds of every kind of program, from the given one;
//! `differential one KIND SEED` runs a single one and prints both logs; `differential polls KIND SEED` as well, with
//! every poll of a task, also those that lead to nothing and may differ.

mod ours;
mod real;
mod rng;
mod world;

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether programs also log polls that lead to nothing, to see where an order comes from.
static LOG_POLLS: AtomicBool = AtomicBool::new(false);

type Program = fn(u64) -> Vec<String>;

/// Every kind of program: its name, on Tokio, on the facade.
const KINDS: &[(&str, Program, Program)] = &[
    ("edges", real::edges::run, ours::edges::run),
    ("errors", real::errors::run, ours::errors::run),
    ("locks", real::locks::run, ours::locks::run),
    ("queues", real::queues::run, ours::queues::run),
    ("values", real::values::run, ours::values::run),
    ("tasks", real::tasks::run, ours::tasks::run),
    ("order", real::order::run, ours::order::run),
    ("timers", real::timers::run, ours::timers::run),
];

/// Lines of a single program that are printed after the first difference.
const AFTER: usize = 12;
/// Differences of one kind that are printed.
const SHOWN: usize = 3;

fn main() {
    // Programs panic on purpose; a panic that is not caught there is part of the log.
    std::panic::set_hook(Box::new(|_| {}));
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, or: u64| match args.get(at) {
        Some(text) => text.parse().expect("a number"),
        None => or,
    };
    if matches!(args.first().map(String::as_str), Some("one" | "polls")) {
        LOG_POLLS.store(args[0] == "polls", Ordering::Relaxed);
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
        let mut differing: Vec<Difference> = (first..first + seeds)
            .filter_map(|seed| Difference::of(seed, *real, *ours))
            .collect();
        differ += differing.len();
        println!("{name}: {seeds} seeds in {:?}", begun.elapsed());
        // Those that have the least to read.
        differing.sort_by_key(|difference| difference.same);
        for difference in differing.iter().take(SHOWN) {
            difference.show(name);
        }
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
        let mut after = 0;
        for at in 0..real.len().max(ours.len()) {
            let (real, ours) = (real.get(at), ours.get(at));
            let mark = if real == ours { ' ' } else { '!' };
            let text = |line: Option<&String>| line.cloned().unwrap_or_default();
            println!("{mark} {:50} | {}", text(real), text(ours));
            if real != ours {
                after += 1;
            }
            if after > AFTER {
                break;
            }
        }
    }
    real == ours
}

/// Two logs that differ.
struct Difference {
    seed: u64,
    /// Lines that they have in common.
    same: usize,
    /// The last of these.
    before: Vec<String>,
    real: Option<String>,
    ours: Option<String>,
}

impl Difference {
    fn of(seed: u64, real: Program, ours: Program) -> Option<Difference> {
        let (real, ours) = (run(real, seed), run(ours, seed));
        if real == ours {
            return None;
        }
        let same = real.iter().zip(&ours).take_while(|(a, b)| a == b).count();
        Some(Difference {
            seed,
            same,
            before: real[same.saturating_sub(12)..same].to_vec(),
            real: real.get(same).cloned(),
            ours: ours.get(same).cloned(),
        })
    }

    fn show(&self, name: &str) {
        let seed = self.seed;
        println!("{name}: seed {seed} differs (`differential one {name} {seed}`)");
        for line in &self.before {
            println!("    {line}");
        }
        println!("  Tokio: {:?}", self.real);
        println!("  tress: {:?}", self.ours);
    }
}
