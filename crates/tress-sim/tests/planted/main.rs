//! Services with planted bugs: faults of all kinds find each within 200 seeds, what they find is shrunk to a few faults, and they
//! find nothing in the mended version.
//!
//! All are run in the same way, which says nothing of the faults that matter.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "../child/mod.rs"]
mod child;
mod half_open;
mod lines;
mod lost_wake_up;
mod order;
mod read_exact;
mod rename;
mod retry;
mod stale_replica;
mod two_leaders;
mod unbounded_queue;
mod wall_clock_lease;

use std::any::Any;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tress_sim::{Builder, Error, Faults, Policy, Result, Sim};

/// Adds the hosts of a service, mended or not.
type Service = fn(&mut Sim<'static>, is_mended: bool);

const SEEDS: u64 = 200;

/// The environment variable with the number of seeds that mended services are run with.
const MENDED_SEEDS: &str = "TRESS_SIM_PLANTED_SEEDS";

/// How all services are run.
fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .policy(Policy::Random)
        .faults(Faults::swarm())
        // A host that crashes every second takes long for what needs it for two.
        .simulation_duration(Duration::from_secs(20_000));
    builder
}

fn run(service: Service, is_mended: bool, seed: u64) -> Result {
    let mut sim = builder().rng_seed(seed).build();
    service(&mut sim, is_mended);
    let result = catch_unwind(AssertUnwindSafe(|| sim.run()));
    result.unwrap_or_else(|panic| Err(message(&*panic).into()))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
    text.unwrap_or_else(|| "a panic without a message".to_string())
}

/// Requires that a seed finds the bug, and finds the same again.
fn is_found(name: &str, service: Service) {
    let found = (0..SEEDS).find_map(|seed| Some((seed, run(service, false, seed).err()?)));
    let (seed, error) = found.unwrap_or_else(|| panic!("{name}: {SEEDS} seeds do not find it"));
    println!("{name}: seed {seed}: {error}");
    let again = run(service, false, seed).expect_err("the same seed finds it again");
    // What follows has numbers of runtimes and tasks, which go on for as long as the process does.
    let first = |error: Error| error.to_string().lines().next().map(str::to_string);
    assert_eq!(first(error), first(again));
}

/// Requires that no seed finds anything in the mended service.
fn is_mended(name: &str, service: Service) {
    let seeds = match env::var(MENDED_SEEDS) {
        Ok(number) => number.parse().expect("a number of seeds"),
        Err(_) => SEEDS,
    };
    for seed in 0..seeds {
        run(service, true, seed).unwrap_or_else(|error| panic!("{name}: seed {seed}: {error}"));
    }
}

/// Runs a test of `seeds` in a process of its own, and returns what it prints.
fn run_seeds(name: &str, environment: &[(&str, &str)]) -> String {
    child::assert_fails(&child::run(&format!("seeds::{name}"), environment), &[])
}

/// Returns how a seed has failed: the place of a panic, or the text of an error, without its numbers.
fn symptom(text: &str) -> String {
    let (_, rest) = text.split_once(": seed ").expect("a seed that has failed");
    let mut lines = rest.lines();
    let (_, how) = lines.next().unwrap().split_once(' ').unwrap();
    let place = lines.next().and_then(|line| line.strip_prefix("  at "));
    match place.filter(|place| place.contains(".rs:")) {
        Some(place) => place.to_string(),
        None => how.replace(|character: char| character.is_ascii_hexdigit(), ""),
    }
}

/// Maximum number of faults that a shrunk failure has.
const READABLE: usize = 3;

/// Requires that the bug is shrunk to a few faults, and that what is left is the same failure, and the same each time.
fn is_shrunk(name: &str) {
    let text = run_seeds(name, &[]);
    println!("{text}");
    let faults = text.lines().filter(|line| line.starts_with("  #")).count();
    assert!(faults <= READABLE, "{text}");
    assert!(!text.contains("are not the same"), "{text}");
    let word = |name: &str| {
        let (_, command) = text.split_once("Run it again:").expect("a command");
        let (_, rest) = command.split_once(name).expect("a variable");
        rest.split(' ').next().unwrap().to_string()
    };
    let (seed, choices) = (word("TRESS_SIM_SEED="), word("TRESS_SIM_CHOICES="));
    let variables = [
        ("TRESS_SIM_SEED", seed.as_str()),
        ("TRESS_SIM_CHOICES", choices.as_str()),
        child::CHECK,
    ];
    let again = run_seeds(name, &variables);
    assert!(!again.contains("are not the same"), "{again}");
    assert_eq!(symptom(&text), symptom(&again));
}

macro_rules! planted {
    ($($name:ident)*) => {
        mod found {
            $(
                #[test]
                fn $name() {
                    super::is_found(stringify!($name), super::$name::service);
                }
            )*
        }

        mod seeds {
            $(
                #[tress_sim::test(seeds = 200)]
                #[ignore = "run by others"]
                fn $name() -> tress_sim::Result {
                    let mut sim = super::builder().build();
                    super::$name::service(&mut sim, false);
                    sim.run()
                }
            )*
        }

        mod shrunk {
            $(
                #[test]
                fn $name() {
                    super::is_shrunk(stringify!($name));
                }
            )*
        }

        mod mended {
            $(
                #[test]
                fn $name() {
                    super::is_mended(stringify!($name), super::$name::service);
                }
            )*
        }
    };
}

planted! {
    lost_wake_up
    rename
    retry
    wall_clock_lease
    two_leaders
    half_open
    unbounded_queue
    order
    read_exact
    stale_replica
}
