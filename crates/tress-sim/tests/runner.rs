//! What the runner does with seeds. Tests that are to fail are ignored, and run by others, which look at what they print.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::Cell;
use std::collections::HashMap;
use std::env;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::sleep;
use tress_sim::{Builder, Fault, Faults, Result, Sim};

/// Runs a test of this file in a process of its own.
fn run(name: &str, environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", name, "--include-ignored", "--nocapture"]);
    for (name, _) in env::vars() {
        if name.starts_with("TRESS_SIM_") || name.starts_with("MADSIM_TEST_") {
            command.env_remove(name);
        }
    }
    command
        .env("TRESS_SIM_CORPUS", "off")
        .env("TRESS_SIM_PICTURES", "0")
        .env_remove("RUST_BACKTRACE");
    command.envs(environment.iter().copied()).output().unwrap()
}

/// Everything that a test has printed.
fn text(output: &Output) -> String {
    let bytes = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(bytes).unwrap()
}

#[track_caller]
fn assert_passes(output: &Output) -> String {
    let text = text(output);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
    text
}

#[track_caller]
fn assert_fails(output: &Output, with: &[&str]) -> String {
    let text = text(output);
    assert!(!output.status.success(), "{text}");
    for words in with {
        assert!(text.contains(words), "there is no {words:?} in:\n{text}");
    }
    text
}

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

/// Makes a system call that the simulation does not see.
#[cfg(target_arch = "x86_64")]
fn raw_syscall(number: libc::c_long, first: i64, second: i64) -> i64 {
    let result;
    // SAFETY: the calls that are made here write at most to the memory that they are given.
    unsafe {
        std::arch::asm!(
            "syscall", inlateout("rax") number => result, in("rdi") first, in("rsi") second,
            lateout("rcx") _, lateout("r11") _, options(nostack),
        );
    }
    result
}

#[cfg(target_arch = "aarch64")]
fn raw_syscall(number: libc::c_long, first: i64, second: i64) -> i64 {
    let result;
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("svc #0", in("x8") number, inlateout("x0") first => result, in("x1") second, options(nostack));
    }
    result
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

const CHECK: (&str, &str) = ("TRESS_SIM_CHECK", "1");

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

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn prints_the_real_time() -> Result {
    sim(|_| {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let address = std::ptr::from_mut(&mut time) as i64;
        raw_syscall(
            libc::SYS_clock_gettime,
            libc::CLOCK_MONOTONIC.into(),
            address,
        );
        println!("before");
        println!("it is {} {}", time.tv_sec, time.tv_nsec);
        Ok(())
    })
    .run()
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn prints_the_real_process() -> Result {
    sim(|_| {
        println!("it is {}", raw_syscall(libc::SYS_getpid, 0, 0));
        Ok(())
    })
    .run()
}

static FED: AtomicU32 = AtomicU32::new(0);

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn prints_what_the_system_says() -> Result {
    let status = fs::read_to_string("/proc/self/stat")?;
    FED.fetch_add(
        status.split(' ').next().unwrap().parse()?,
        Ordering::Relaxed,
    );
    sim(|_| {
        println!("it is {FED:?}");
        Ok(())
    })
    .run()
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn reads_what_the_system_says() -> Result {
    let mut file = fs::File::open("/proc/self/stat")?;
    sim(|_| {
        let mut status = String::new();
        file.read_to_string(&mut status)?;
        Ok(())
    })
    .run()
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn sleeps_by_the_real_process() -> Result {
    let mut sim = Builder::new()
        .simulation_duration(Duration::from_secs(1_000_000))
        .build();
    sim.client("client", async {
        for _ in 0..10 {
            sleep(Duration::from_millis(10)).await;
        }
        let process = raw_syscall(libc::SYS_getpid, 0, 0);
        sleep(Duration::from_millis(process as u64)).await;
        Ok(())
    });
    sim.run()
}

#[test]
fn what_differs_is_found_and_shown() {
    let read = "client: reads from outside, by descriptor ";
    let write = "client: writes to descriptor 1: \"it is";
    for (name, with) in [
        (
            "prints_the_real_time",
            [write, "runner::prints_the_real_time::", "tests/runner.rs:"],
        ),
        (
            "prints_the_real_process",
            [
                write,
                "runner::prints_the_real_process::",
                "tests/runner.rs:",
            ],
        ),
        (
            "prints_what_the_system_says",
            [
                write,
                "runner::prints_what_the_system_says::",
                "tests/runner.rs:",
            ],
        ),
        (
            "reads_what_the_system_says",
            [
                read,
                "runner::reads_what_the_system_says::",
                "tests/runner.rs:",
            ],
        ),
        // A timer is due at another time, long after it was set.
        (
            "sleeps_by_the_real_process",
            ["client: Go(", "other steps", "client: makes a system call"],
        ),
    ] {
        let always = [
            &format!("runner::{name}: two runs of seed "),
            "The first step that differs is",
            "In the first run:",
            "In the second run:",
            "TRESS_SIM_CHECK=1 TRESS_SIM_SEED=",
        ];
        assert_fails(&run(name, &[CHECK]), &[&always[..], &with[..]].concat());
        // Without the check nothing is wrong.
        assert_passes(&run(name, &[]));
    }
    let output = run("prints_the_real_time", &[CHECK]);
    assert_fails(&output, &["other bytes on stdout: line 2 is \"it is "]);
}

#[tress_sim::test(seeds = 5)]
#[ignore = "run by others"]
fn fails_after_a_crash() -> Result {
    let faults = [Fault::Clock, Fault::Crash, Fault::Pause, Fault::Slow];
    let faults = Faults::of(faults).every(Duration::from_millis(200));
    let mut sim = Builder::new().faults(faults).build();
    let starts = Rc::new(Cell::new(0));
    let count = starts.clone();
    sim.host("server", move || {
        count.set(count.get() + 1);
        std::future::pending()
    });
    sim.client("client", async move {
        sleep(Duration::from_secs(5)).await;
        match starts.get() {
            1 => Ok(()),
            _ => Err("the server was started again".into()),
        }
    });
    sim.run()
}

#[test]
fn a_failure_is_shrunk_to_the_faults_that_it_takes() {
    let output = run("fails_after_a_crash", &[]);
    let with = ["The faults that it takes:", "TRESS_SIM_SKIP_FAULTS="];
    let text = assert_fails(&output, &with);
    let faults: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("  #"))
        .collect();
    assert_eq!(faults.len(), 1, "{text}");
    assert!(faults[0].contains(": Crash, server, for "), "{text}");

    // With what the command says it fails, too; without the last fault it does not.
    let after = |name: &str| {
        let (_, rest) = text.split_once(name).unwrap();
        rest.split(' ').next().unwrap().to_string()
    };
    let (seed, skipped) = (after("TRESS_SIM_SEED="), after("TRESS_SIM_SKIP_FAULTS="));
    let environment = |skipped: &str| {
        let environment = [
            ("TRESS_SIM_SEED", seed.as_str()),
            ("TRESS_SIM_SKIP_FAULTS", skipped),
        ];
        run("fails_after_a_crash", &environment)
    };
    assert_fails(&environment(&skipped), &["the server was started again"]);
    let last = faults[0]
        .trim_start_matches("  #")
        .split(' ')
        .next()
        .unwrap();
    assert_passes(&environment(&format!("{skipped},{last}")));
    let wrong = run("fails_after_a_crash", &[("TRESS_SIM_SKIP_FAULTS", "all")]);
    assert_fails(&wrong, &["is no number of a fault"]);
}
