//! What the runner does with seeds. Tests that are to fail are ignored, and run by others, which look at what they print.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod child;

use child::{CHECK, assert_fails, assert_passes, run};
use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::sleep;
use tress_sim::{Builder, Result, Sim};

/// A simulation of a program that sleeps and draws, then does what is given.
fn sim<'a>(then: impl FnOnce(u64) -> Result + 'a) -> Sim<'a> {
    let mut sim = Builder::new().build();
    let seed = sim.seed();
    sim.client("client", async move {
        sleep(Duration::from_millis(10)).await;
        then(seed)
    });
    sim
}

static COUNTER: AtomicU32 = AtomicU32::new(0);

#[tress_sim::test(seeds = 20)]
fn each_seed_has_a_process() -> Result {
    assert_eq!(COUNTER.fetch_add(1, Ordering::Relaxed), 0);
    sim(|_| Ok(())).run()
}

#[tress_sim::test(seeds = 3)]
fn need_not_return_anything() {
    sim(|_| Ok(())).run().unwrap();
}

#[tress_sim::test(seeds = 10)]
#[should_panic(expected = "seed 7 is no good")]
fn one_that_should_panic() {
    sim(|seed| match seed {
        7 => panic!("seed {seed} is no good"),
        _ => Ok(()),
    })
    .run()
    .unwrap();
}

#[tress_sim::test(seeds = 30)]
#[ignore = "run by others"]
fn fails_with_seed_7() -> Result {
    sim(|seed| {
        println!("this is seed {seed}");
        eprintln!("and an error of seed {seed}");
        if seed == 7 {
            Err("seven\nof two lines".into())
        } else {
            Ok(())
        }
    })
    .run()
}

#[test]
fn a_failure_is_shown_with_the_way_to_run_it_again() {
    let replay = "cargo test -p tress-sim";
    let with = [
        "runner::fails_with_seed_7: seed 7 failed: seven\nof two lines",
        "this is seed 7",
        "and an error of seed 7",
        "TRESS_SIM_SEED=7 ",
        replay,
        "--test runner fails_with_seed_7 -- --exact --nocapture",
    ];
    let text = assert_fails(&run("fails_with_seed_7", &[]), &with);
    assert!(!text.contains("this is seed 6"), "{text}");
}

#[test]
fn one_seed_is_live() {
    let output = run("fails_with_seed_7", &[("TRESS_SIM_SEED", "6")]);
    let text = assert_passes(&output);
    assert!(
        text.contains("this is seed 6") && text.contains("and an error of seed 6"),
        "{text}"
    );
    assert_fails(
        &run("fails_with_seed_7", &[("TRESS_SIM_SEED", "7")]),
        &["this is seed 7", "failed: seven"],
    );
}

#[test]
fn seeds_are_chosen_by_the_environment() {
    assert_passes(&run("fails_with_seed_7", &[("TRESS_SIM_NUM", "7")]));
    assert_passes(&run(
        "fails_with_seed_7",
        &[("TRESS_SIM_SEED", "8"), ("TRESS_SIM_NUM", "40")],
    ));
    assert_fails(
        &run(
            "fails_with_seed_7",
            &[("MADSIM_TEST_NUM", "8"), ("TRESS_SIM_JOBS", "1")],
        ),
        &["7 other seeds passed"],
    );
    assert_fails(
        &run("fails_with_seed_7", &[("TRESS_SIM_NUM", "many")]),
        &["TRESS_SIM_NUM is \"many\""],
    );
}

#[test]
fn a_seed_can_run_in_the_process_of_the_test() {
    let here = |seed| {
        run(
            "fails_with_seed_7",
            &[("TRESS_SIM_SEED", seed), ("TRESS_SIM_JOBS", "0")],
        )
    };
    assert_passes(&here("6"));
    assert_fails(&here("7"), &["this is seed 7", "seed 7 fails: seven"]);
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn takes_five_seconds() -> Result {
    let mut sim = Builder::new().build();
    sim.client("client", async {
        sleep(Duration::from_secs(5)).await;
        Ok(())
    });
    sim.run()
}

#[test]
fn virtual_time_can_be_limited_as_madsim_does() {
    assert_passes(&run("takes_five_seconds", &[]));
    let output = run("takes_five_seconds", &[("MADSIM_TEST_TIME_LIMIT", "2")]);
    assert_fails(&output, &["seed 0 failed: Ran for duration: 2s"]);
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn panics_with_seed_1() -> Result {
    sim(|seed| {
        assert_ne!(seed, 1, "it is one");
        Ok(())
    })
    .run()
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn aborts() -> Result {
    std::process::abort()
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn ends_its_process() -> Result {
    std::process::exit(0)
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn never_ends() -> Result {
    println!("it begins");
    loop {
        std::hint::spin_loop();
    }
}

#[test]
fn every_way_to_fail_is_told_apart() {
    assert_fails(
        &run("panics_with_seed_1", &[]),
        &["seed 1 panicked: ", "it is one", "runner.rs:"],
    );
    assert_fails(
        &run("aborts", &[]),
        &["seed 0 ended its process: signal: 6"],
    );
    assert_fails(
        &run("ends_its_process", &[]),
        &["seed 0 ended its process: exit status: 0"],
    );
    let with = [
        "seed 0 took more than its time",
        "TRESS_SIM_TIME_LIMIT is 1 seconds",
        "it begins",
    ];
    assert_fails(
        &run(
            "never_ends",
            &[("TRESS_SIM_TIME_LIMIT", "1"), ("TRESS_SIM_NUM", "1")],
        ),
        &with,
    );
}

#[test]
fn seeds_that_failed_are_kept_and_tried_first() {
    let file: PathBuf = env::temp_dir().join(format!("tress-sim-corpus-{}", std::process::id()));
    let path = file.to_str().unwrap();
    assert_fails(
        &run("fails_with_seed_7", &[("TRESS_SIM_CORPUS", path)]),
        &[],
    );
    let kept = fs::read_to_string(&file).unwrap();
    assert!(
        kept.contains("runner::fails_with_seed_7 7 failed: seven\n"),
        "{kept}"
    );
    // The seeds that are asked for would pass.
    let environment = [
        ("TRESS_SIM_CORPUS", path),
        ("TRESS_SIM_NUM", "2"),
        ("TRESS_SIM_JOBS", "1"),
    ];
    assert_fails(&run("fails_with_seed_7", &environment), &["seed 7 failed"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), kept);
    fs::remove_file(&file).unwrap();
}

#[test]
fn steps_are_written_to_a_file() {
    let file: PathBuf = env::temp_dir().join(format!("tress-sim-trace-{}", std::process::id()));
    let path = file.to_str().unwrap();
    assert_passes(&run(
        "fails_with_seed_7",
        &[("TRESS_SIM_SEED", "6"), ("TRESS_SIM_TRACE", path)],
    ));
    let steps = fs::read_to_string(&file).unwrap();
    assert!(steps.starts_with("1 "), "{steps}");
    assert!(
        steps.contains("client: writes to descriptor 1: \"this is seed 6"),
        "{steps}"
    );
    fs::remove_file(&file).unwrap();
}

#[tress_sim::test(seeds = 40)]
#[ignore = "run by others"]
fn prints_what_is_the_same_in_each_run() -> Result {
    let outside = Box::new(1);
    println!(
        "{:p} {:?}",
        outside,
        HashMap::from([(1, 2), (3, 4), (5, 6)])
    );
    let run = sim(|seed| {
        let inside = vec![0u8; 100 + (seed as usize * 997) % 100_000];
        println!(
            "{:p} {:?}",
            inside.as_ptr(),
            HashMap::from([(1, 2), (3, 4), (5, 6)])
        );
        let thread = std::thread::spawn(move || format!("{:p}", Box::new(inside)));
        println!("{} {}", thread.join().unwrap(), std::process::id());
        println!("{:?}", std::time::SystemTime::now());
        Ok(())
    })
    .run();
    drop(outside);
    run
}

#[test]
fn addresses_and_random_numbers_are_the_same_in_each_run() {
    assert_passes(&run("prints_what_is_the_same_in_each_run", &[CHECK]));
    let lines = |environment: &[(&str, &str)]| {
        let environment = [&[("TRESS_SIM_SEED", "23")], environment].concat();
        let text = assert_passes(&run("prints_what_is_the_same_in_each_run", &environment));
        let lines = text.lines().filter(|line| line.starts_with("0x"));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let first = lines(&[]);
    assert_eq!(first.len(), 3, "{first:?}");
    // Whatever the environment is.
    assert_eq!(
        first,
        lines(&[
            ("HOME", "/nowhere"),
            ("TERM", "vt100"),
            ("RUST_BACKTRACE", "full")
        ])
    );
    assert_eq!(
        first,
        lines(&[("SOMETHING", &"x".repeat(10_000)), ("LANG", "C")])
    );
}

#[test]
fn a_failure_is_the_same_in_each_run() {
    let backtrace = ("RUST_BACKTRACE", "1");
    let with = [
        "seed 1 panicked: ",
        "stack backtrace:",
        "runner::panics_with_seed_1::",
    ];
    assert_fails(&run("panics_with_seed_1", &[CHECK, backtrace]), &with);
}
