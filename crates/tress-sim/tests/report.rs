//! What is said of every host when a run does not end as it should.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::future::pending;
use std::io::{self, Write};
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;
use tokio::sync::Barrier;
use tokio::time::sleep;
use tress::runtime::Handle;
use tress::sync::Mutex;
use tress::task;
use tress::trace::Section;
use tress_sim::{Builder, Result, Sim};

/// A program with two tasks, each of which has the lock that the other one wants.
async fn deadlock() -> Result {
    let (first, second) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let both_have_one = Arc::new(Barrier::new(2));
    let mut tasks = Vec::new();
    for (name, mine, other) in [("left", &first, &second), ("right", &second, &first)] {
        let (mine, other, both) = (mine.clone(), other.clone(), both_have_one.clone());
        let waits = async move {
            let _mine = mine.lock().await;
            both.wait().await;
            let _other = other.lock().await;
        };
        tasks.push(task::Builder::new().name(name).spawn(waits)?);
    }
    for task in tasks {
        task.await?;
    }
    Ok(())
}

/// A deadlock on one host, a host that sleeps for a while, and one that is idle.
fn stuck<'a>() -> Sim<'a> {
    let mut sim = Builder::new()
        .simulation_duration(Duration::from_secs(100))
        .build();
    sim.client("locked", deadlock());
    sim.host("sleeper", || async {
        sleep(Duration::from_secs(10)).await;
        Ok(())
    });
    sim.host("idle", pending::<Result>);
    sim
}

/// The part of a report that is about a host.
#[track_caller]
fn part<'a>(report: &'a str, host: &str) -> &'a str {
    let start = report.find(&format!("\n  {host} ("));
    let start = 1 + start.unwrap_or_else(|| panic!("{host} is not in\n{report}"));
    let end = report[start..].match_indices("\n  ");
    let mut end = end.filter(|(at, _)| !report[start + at + 3..].starts_with(' '));
    &report[start..end.next().map_or(report.len(), |(at, _)| start + at)]
}

/// The number between two texts.
#[track_caller]
fn seconds(text: &str, before: &str, after: &str) -> f64 {
    let number = text
        .split_once(before)
        .and_then(|(_, rest)| rest.split_once(after));
    let number = number.and_then(|(number, _)| number.parse().ok());
    number.unwrap_or_else(|| panic!("no number after {before:?} in\n{text}"))
}

#[track_caller]
fn assert_about(seconds: f64, expected: f64) {
    assert!((seconds - expected).abs() < 0.01, "virtual time: {seconds}");
}

#[track_caller]
fn assert_names_both(report: &str) {
    let locked = part(report, "locked");
    for name in ["left", "right"] {
        let mut lines = locked.lines().filter(|line| line.contains(name));
        let line = lines.next().unwrap_or_else(|| panic!("{report}"));
        assert!(line.contains(": idle"), "{line}");
        assert_about(seconds(line, "last polled ", "s ago"), 10.0);
        assert!(line.contains("tests/report.rs:"), "{line}");
        assert_eq!(lines.next(), None, "once only");
    }
    let waits = seconds(locked, "\"locked\" waits in futex, for ", "s so far");
    assert_about(waits, 10.0);
    let idle = part(report, "idle");
    assert!(idle.contains("(on): 1 thread,"), "{idle}");
    assert!(idle.contains("its program has not ended"), "{idle}");
    assert!(idle.contains("tasks: 0"), "{idle}");
    let sleeper = part(report, "sleeper");
    assert!(sleeper.contains("(on): 0 threads,"), "{sleeper}");
    assert!(sleeper.contains("its program has ended"), "{sleeper}");
}

#[test]
fn tasks_that_wait_for_each_other_are_named() {
    let report = stuck().run().unwrap_err().to_string();
    assert!(
        report.starts_with("nothing can happen any more, and these have not ended: locked\n"),
        "{report}"
    );
    assert_names_both(&report);
}

#[test]
fn a_run_that_takes_too_long_says_what_its_hosts_do() {
    let mut sim = stuck();
    sim.host("busy", || async {
        loop {
            sleep(Duration::from_millis(700)).await;
        }
    });
    sim.set_duration(Duration::from_millis(10_005));
    let report = sim.run().unwrap_err().to_string();
    assert!(report.starts_with("Ran for duration: 10.005s "), "{report}");
    assert_names_both(&report);
    assert!(part(&report, "busy").contains("timers: 1"), "{report}");
}

#[test]
fn what_does_not_get_well_says_what_its_hosts_do() {
    let mut sim = stuck();
    let report = sim.heal_and_require(|| false, Duration::from_millis(10_005));
    assert_names_both(&report.unwrap_err().to_string());
    // The simulation goes on, and so does what is said of it.
    let report = sim.heal_and_require(|| false, Duration::from_secs(1));
    let report = report.unwrap_err().to_string();
    assert_about(seconds(&report, "last polled ", "s ago"), 11.0);
}

/// Prints the report: `TRESS_SIM_CHECK` compares it with that of a second process.
#[tress_sim::test(seeds = 3)]
fn printed() {
    println!("{}", stuck().run().unwrap_err());
}

#[test]
fn one_seed_gives_one_report() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "printed", "--nocapture"])
        .envs([("TRESS_SIM_CHECK", "1"), ("TRESS_SIM_CORPUS", "off")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}

#[inline(never)]
fn takes_both(mine: &StdMutex<()>, other: &StdMutex<()>) {
    let _mine = mine.lock().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    drop(other.lock().unwrap());
}

#[test]
fn threads_that_wait_for_each_other_say_where() {
    let mut sim = Builder::new().build();
    sim.client_main("locked", || {
        let (one, two) = (StdMutex::new(()), StdMutex::new(()));
        std::thread::scope(|threads| {
            let named = |name: &str| std::thread::Builder::new().name(name.into());
            let first = named("first").spawn_scoped(threads, || takes_both(&one, &two));
            let second = named("second").spawn_scoped(threads, || takes_both(&two, &one));
            first.unwrap().join().unwrap();
            second.unwrap().join().unwrap();
        });
    });
    let report = sim.run().unwrap_err().to_string();
    let locked = part(&report, "locked");
    assert!(locked.contains("(on): 3 threads"), "{report}");
    for name in ["first", "second"] {
        let line = format!("{name:?} waits in futex, for ");
        assert!(locked.contains(&line), "{report}");
    }
    assert_eq!(
        locked.matches("takes_both at ./tests/report.rs:").count(),
        2,
        "{report}"
    );
    assert!(locked.contains("\"locked\" waits for the end of a thread"));
    assert!(!locked.contains("tress_sim::kernel"), "{report}");
}

#[test]
fn hosts_that_are_off_or_paused_are_told_apart() {
    let mut sim = stuck();
    sim.host("paused", pending::<Result>);
    sim.host("crashed", deadlock);
    sim.crash("crashed");
    sim.pause("paused");
    let report = sim.run().unwrap_err().to_string();
    assert!(part(&report, "paused").starts_with("  paused (paused): 1 thread,"));
    let crashed = part(&report, "crashed");
    assert!(
        crashed.starts_with("  crashed (off): 0 threads"),
        "{crashed}"
    );
    assert!(!crashed.contains("left"), "{crashed}");
}

#[test]
fn a_host_that_was_started_again_has_the_runtimes_of_its_last_start() {
    let mut sim = stuck();
    sim.host("again", pending::<Result>);
    sim.step().unwrap();
    sim.bounce("again");
    let report = sim.run().unwrap_err().to_string();
    assert_eq!(part(&report, "again").matches("tress runtime").count(), 1);
}

#[test]
fn all_runtimes_of_a_host_are_in_it() {
    let mut sim = Builder::new().build();
    sim.client_main("two", || {
        let one = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build();
        let one = one.unwrap();
        one.spawn(pending::<()>());
        let other = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        drop(tokio::runtime::Runtime::new().unwrap());
        other.block_on(pending::<()>());
    });
    let report = sim.run().unwrap_err().to_string();
    let two = part(&report, "two");
    assert_eq!(two.matches("tress runtime").count(), 2, "{report}");
    assert!(two.contains("tasks: 1\n"), "{report}");
}

#[test]
fn long_lists_are_cut() {
    let mut sim = Builder::new().build();
    sim.client("many", async {
        for _ in 0..300 {
            tokio::spawn(pending::<()>());
        }
        pending().await
    });
    for number in 0..40 {
        sim.host(format!("host-{number}"), pending::<Result>);
    }
    // Awaited, so that it is described however many others there are.
    sim.client("last", deadlock());
    let report = sim.run().unwrap_err().to_string();
    let many = part(&report, "many");
    assert_eq!(many.matches(" spawned at ").count(), 200, "{many}");
    assert!(many.contains("and 100 more"), "{many}");
    assert!(
        !part(&report, "host-39").contains("tress runtime"),
        "{report}"
    );
    assert!(part(&report, "last").contains("\"left\""), "{report}");
    assert!(
        report.contains("9 more hosts are not described"),
        "{report}"
    );
}

/// A part of a dump that waits for a lock, against the rules.
struct Waits(Arc<StdMutex<()>>);

impl Section for Waits {
    fn name(&self) -> &str {
        "waits"
    }

    fn dump(&self, out: &mut dyn Write) -> io::Result<()> {
        let _guard = self.0.lock();
        writeln!(out, "has it")
    }
}

struct Panics;

impl Section for Panics {
    fn name(&self) -> &str {
        "panics"
    }

    fn dump(&self, _: &mut dyn Write) -> io::Result<()> {
        panic!("a part of a dump that is to panic")
    }
}

#[test]
fn parts_of_dumps_that_wait_or_panic_spoil_only_those() {
    let mut sim = stuck();
    sim.host("waits", || async {
        let lock = Arc::new(StdMutex::new(()));
        let _section = Handle::current().add_section(Arc::new(Waits(lock.clone())));
        std::mem::forget(lock.lock());
        pending().await
    });
    sim.host("panics", || async {
        let _section = Handle::current().add_section(Arc::new(Panics));
        pending().await
    });
    let report = sim.run().unwrap_err().to_string();
    assert_names_both(&report);
    assert!(part(&report, "waits").contains("a part waits"), "{report}");
    assert!(part(&report, "panics").contains("a part of it has panicked"));
}

#[test]
fn threads_have_the_names_that_they_were_given() {
    let mut sim = Builder::new().build();
    sim.client_main("host", || {
        let named = std::thread::Builder::new().name("a thread".into());
        let name = named.spawn(|| {
            let mut name = [1u8; 16];
            // SAFETY: room of that size.
            let result = unsafe {
                libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), 16)
            };
            assert_eq!(result, 0);
            name
        });
        let name = name.unwrap().join().unwrap();
        assert_eq!(&name[..9], b"a thread\0");
    });
    sim.run().unwrap();
}
