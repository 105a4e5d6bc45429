//! How failures are shrunk. Tests that are to fail are ignored, and run by others, which look at what they print.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod child;

use child::{CHECK, assert_fails, assert_passes, run};
use std::cell::{Cell, RefCell};
use std::env;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use tress_sim::{Builder, Fault, Faults, Policy, Result, buggify};

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

/// The word behind a name in a text.
fn after(text: &str, name: &str) -> String {
    let (_, rest) = text
        .split_once(name)
        .unwrap_or_else(|| panic!("there is no {name:?} in:\n{text}"));
    rest.split_whitespace().next().unwrap_or("").to_string()
}

/// The seed and the choices of the command that a failure is shown with.
fn replayed(text: &str) -> (String, String) {
    let (_, command) = text.split_once("Run it again:").expect("a command");
    (
        after(command, "TRESS_SIM_SEED="),
        after(command, "TRESS_SIM_CHOICES="),
    )
}

#[test]
fn a_failure_is_shrunk_to_the_faults_that_it_takes() {
    let output = run("fails_after_a_crash", &[]);
    let text = assert_fails(&output, &["The faults that it takes:"]);
    let faults: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("  #"))
        .collect();
    assert_eq!(faults.len(), 1, "{text}");
    assert!(faults[0].contains(": Crash, server, for "), "{text}");

    // With what the command says it fails, too; without the last fault it does not.
    let (seed, choices) = replayed(&text);
    let with = |choices: &str| {
        let environment = [
            ("TRESS_SIM_SEED", seed.as_str()),
            ("TRESS_SIM_CHOICES", choices),
        ];
        run("fails_after_a_crash", &environment)
    };
    assert_fails(&with(&choices), &["the server was started again"]);
    let kept = choices.find("/faults:").unwrap();
    let others = choices[kept + 1..]
        .find('/')
        .map_or("", |at| &choices[kept + 1 + at..]);
    assert_passes(&with(&format!("v1/faults:0-{others}")));
    // Also in the process of the test.
    let here = |choices: &str| {
        let environment = [
            ("TRESS_SIM_SEED", seed.as_str()),
            ("TRESS_SIM_JOBS", "0"),
            ("TRESS_SIM_CHOICES", choices),
        ];
        run("fails_after_a_crash", &environment)
    };
    assert_fails(&here(&choices), &["the server was started again"]);
    assert_passes(&here("v1/faults:0-"));
    let wrong = with("v1/faults:all");
    assert_fails(
        &wrong,
        &["TRESS_SIM_CHOICES: ", "is neither a number nor a range"],
    );
    let many = run(
        "fails_after_a_crash",
        &[("TRESS_SIM_CHOICES", "v1/faults:0-")],
    );
    assert_fails(&many, &["TRESS_SIM_CHOICES needs a TRESS_SIM_SEED"]);
}

/// Fails if the second of three tasks runs before the first, and the others do not matter.
#[tress_sim::test(seeds = 20)]
#[ignore = "run by others"]
fn fails_by_the_order_of_tasks() -> Result {
    let mut sim = Builder::new().policy(Policy::Random).build();
    sim.client("client", async {
        for round in 0..30 {
            let order = Rc::new(RefCell::new(Vec::new()));
            let tasks = (0..3).map(|task| {
                let order = order.clone();
                spawn_local(async move { order.borrow_mut().push(task) })
            });
            for task in tasks.collect::<Vec<_>>() {
                task.await?;
            }
            let order = order.take();
            let at = |task| order.iter().position(|other| *other == task);
            assert!(round < 20 || at(0) < at(1), "round {round}: {order:?}");
        }
        Ok(())
    });
    sim.run()
}

#[test]
fn a_failure_is_shrunk_to_the_order_that_it_takes() {
    let text = assert_fails(
        &run("fails_by_the_order_of_tasks", &[]),
        &[
            "The schedule matters in ",
            "The time of polls does not matter.",
        ],
    );
    let kept: u64 = after(&text, "The schedule matters in ").parse().unwrap();
    assert!(kept <= 2, "{text}");
    let (seed, choices) = replayed(&text);
    let with = [
        ("TRESS_SIM_SEED", seed.as_str()),
        ("TRESS_SIM_CHOICES", choices.as_str()),
    ];
    let place = after(&text, "\n  at ");
    assert_fails(&run("fails_by_the_order_of_tasks", &with), &[&place]);
    let fifo = [
        ("TRESS_SIM_SEED", seed.as_str()),
        ("TRESS_SIM_CHOICES", "v1/schedule:0-"),
    ];
    assert_passes(&run("fails_by_the_order_of_tasks", &fifo));
}

/// Fails if a datagram is lost, or if an answer takes long.
fn sends_datagrams(fails_if_lost: bool) -> Result {
    let mut sim = Builder::new()
        .loss(0.05)
        .duplication(0.05)
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(100))
        .build();
    sim.host("echo", || async {
        let socket = UdpSocket::bind("0.0.0.0:7").await?;
        loop {
            let (_, from) = socket.recv_from(&mut []).await?;
            socket.send_to(&[], from).await?;
        }
    });
    sim.client("client", async move {
        for round in 0..30 {
            let socket = UdpSocket::bind("0.0.0.0:0").await?;
            let sent = Instant::now();
            socket.send_to(&[], "echo:7").await?;
            let answer = timeout(Duration::from_secs(1), socket.recv_from(&mut [])).await;
            let is_late = sent.elapsed() > Duration::from_millis(100);
            match answer {
                Err(_) if fails_if_lost => Err(format!("no answer in round {round}"))?,
                Ok(_) if is_late && !fails_if_lost => Err(format!("late in round {round}"))?,
                _ => {}
            }
        }
        Ok(())
    });
    sim.run()
}

#[tress_sim::test(seeds = 40)]
#[ignore = "run by others"]
fn fails_by_a_lost_datagram() -> Result {
    sends_datagrams(true)
}

#[tress_sim::test(seeds = 40)]
#[ignore = "run by others"]
fn fails_by_a_late_datagram() -> Result {
    sends_datagrams(false)
}

#[test]
fn a_failure_is_shrunk_to_the_packets_that_it_takes() {
    for (name, what, matters, how, may_matter) in [
        (
            "fails_by_a_lost_datagram",
            "no answer",
            "It takes 1 of ",
            ": a packet is lost from ",
            "Latency matters",
        ),
        (
            "fails_by_a_late_datagram",
            "late in",
            "Latency matters in ",
            " cases.",
            " other accidents:",
        ),
    ] {
        let text = assert_fails(&run(name, &[]), &[what, matters, how]);
        assert!(!text.contains(may_matter), "{text}");
        // The same again, step by step, though another one than the seed alone.
        let (seed, choices) = replayed(&text);
        let with = [
            ("TRESS_SIM_SEED", seed.as_str()),
            ("TRESS_SIM_CHOICES", choices.as_str()),
            CHECK,
        ];
        let again = assert_fails(&run(name, &with), &[what]);
        assert!(!again.contains("are not the same"), "{again}");
    }
}

/// Fails if a write fails while `buggify!` is true. One of them alone does not matter, nor does a disk that stalls.
#[tress_sim::test(seeds = 200)]
#[ignore = "run by others"]
fn fails_by_a_disk_and_a_rare_branch() -> Result {
    let mut sim = Builder::new()
        .simulation_duration(Duration::from_secs(10_000))
        .build();
    sim.client("client", async {
        for round in 0..100 {
            let has_failed = fs::write("/var/file", "text").is_err();
            sleep(Duration::from_millis(1)).await;
            if buggify!(0.3) && has_failed {
                Err(format!("both in round {round}"))?;
            }
        }
        Ok(())
    });
    let mut disk = sim.disk("client");
    let config = disk.config();
    (config.write_error, config.stall) = (0.1, 0.1);
    sim.run()
}

#[test]
fn a_failure_is_shrunk_to_the_accidents_that_it_takes() {
    let with = [
        "failed: both in round ",
        " other accidents:\n",
        ": a write fails, on client\n",
        "  buggify! is true at crates/tress-sim/tests/shrink.rs:",
    ];
    let name = "fails_by_a_disk_and_a_rare_branch";
    let text = assert_fails(&run(name, &[]), &with);
    // Two are enough, but a write that succeeds draws when its block will be durable: without one error another one moves.
    let taken: u64 = after(&text, "It takes ").parse().unwrap();
    assert!((2..=4).contains(&taken), "{text}");
    let (seed, choices) = replayed(&text);
    let with = [
        ("TRESS_SIM_SEED", seed.as_str()),
        ("TRESS_SIM_CHOICES", choices.as_str()),
        CHECK,
    ];
    let again = assert_fails(&run(name, &with), &["failed: both in round "]);
    assert!(!again.contains("are not the same"), "{again}");
}

#[test]
fn shrinking_has_limits() {
    let spent = |runs: &str| {
        let environment = [("TRESS_SIM_SHRINK_RUNS", runs)];
        assert_fails(&run("fails_by_the_order_of_tasks", &environment), &[])
    };
    let none = spent("0");
    assert!(!none.contains("TRESS_SIM_CHOICES"), "{none}");
    let few = spent("6");
    assert!(
        few.contains("more may find less: tress sim shrink"),
        "{few}"
    );
    let runs: u64 = after(&few, "\n(").parse().unwrap();
    // One more, to see whether it is the same again.
    assert!(runs <= 7, "{few}");
}

/// Panics at one of two places, which have the same message, after one fault or after two.
#[tress_sim::test(seeds = 40)]
#[ignore = "run by others"]
fn panics_at_two_places() -> Result {
    let faults = Faults::of([Fault::Crash, Fault::Kill])
        .every(Duration::from_millis(400))
        .lasting(Duration::from_millis(100));
    let mut sim = Builder::new().faults(faults).build();
    let starts = Rc::new(Cell::new(0));
    let count = starts.clone();
    sim.host("server", move || {
        count.set(count.get() + 1);
        std::future::pending()
    });
    sim.client("client", async move {
        sleep(Duration::from_secs(5)).await;
        let starts = starts.get();
        if starts >= 3 {
            panic!("{starts} starts");
        }
        if starts >= 2 {
            panic!("{starts} starts");
        }
        Ok(())
    });
    sim.run()
}

#[test]
fn a_shrunk_failure_is_the_same_one() {
    let text = assert_fails(&run("panics_at_two_places", &[]), &[" starts", "\n  at "]);
    let faults = text.lines().filter(|line| line.starts_with("  #"));
    let found = after(&text, "panicked: ").parse::<usize>().unwrap();
    // A run with one fault would panic as well, at the other place.
    assert_eq!(faults.count(), 2, "{text}");
    assert!(found > 3, "{text}");
}

#[test]
fn the_corpus_has_choices() {
    let file: PathBuf = env::temp_dir().join(format!("tress-sim-choices-{}", std::process::id()));
    let path = file.to_str().unwrap();
    let corpus = ("TRESS_SIM_CORPUS", path);
    let name = "fails_by_the_order_of_tasks";
    let lines = || {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    // A line as it was before there were choices.
    let text = assert_fails(&run(name, &[("TRESS_SIM_SHRINK_RUNS", "0")]), &[]);
    let seed = after(&text, "TRESS_SIM_SEED=");
    let old = format!("shrink::{name} {seed} panicked: round 20: [1, 0, 2]");
    let other = "shrink::another 5 v1/polls:0- failed: no";
    fs::write(&file, format!("# kept\n{old}\n{other}\n")).unwrap();
    let one = ("TRESS_SIM_JOBS", "1");
    assert_fails(&run(name, &[corpus, one]), &["The schedule matters in "]);
    assert_eq!(lines(), [old.as_str(), other]);
    // Shrunk again, the line is replaced.
    let shrink = [corpus, ("TRESS_SIM_SEED", &seed), ("TRESS_SIM_SHRINK", "1")];
    let text = assert_fails(&run(name, &shrink), &[]);
    let (_, choices) = replayed(&text);
    let new = format!("shrink::{name} {seed} {choices} panicked: round ");
    assert!(lines()[0].starts_with(&new), "{new} {:?}", lines());
    assert_eq!(lines()[1..], [other]);
    // Also by one that begins with the seed alone.
    assert_fails(&run(name, &shrink), &[]);
    assert_eq!(lines().len(), 2, "{:?}", lines());
    // And is tried first, with its choices, whose run is shorter.
    let few = [
        corpus,
        ("TRESS_SIM_NUM", "1"),
        ("TRESS_SIM_JOBS", "1"),
        ("TRESS_SIM_SHRINK_RUNS", "0"),
    ];
    let text = assert_fails(&run(name, &few), &[]);
    assert_eq!(replayed(&text), (seed.clone(), choices));
    // A new file gets the choices at once.
    fs::remove_file(&file).unwrap();
    assert_fails(&run(name, &[corpus]), &[]);
    assert!(lines()[0].contains(" v1/"), "{:?}", lines());
    fs::write(&file, format!("shrink::{name} 1 v9/faults:0- failed\n")).unwrap();
    assert_fails(
        &run(name, &[corpus]),
        &["its version is v9, and this program knows v1"],
    );
    fs::remove_file(&file).unwrap();
}
