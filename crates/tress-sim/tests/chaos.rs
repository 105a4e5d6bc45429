//! Faults and assertions of the code under test, invariants, and the liveness phase.
//!
//! Nearly all run in processes of their own, so that no lock is shared with other simulations.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::{Cell, RefCell};
use std::env;
use std::process::Command;
use std::time::Duration;
use tokio::time::sleep;
use tress_sim::{Builder, Result, Sim};
use tress_sim::{assert_always, assert_sometimes, buggify, reachable, unreached};

/// Runs a test of this file in a process of its own. Returns whether it has passed, and what it has printed.
fn run(name: &str) -> (bool, String) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", name, "--include-ignored", "--nocapture"]);
    for (name, _) in env::vars() {
        if name.starts_with("TRESS_SIM_") || name.starts_with("MADSIM_TEST_") {
            command.env_remove(name);
        }
    }
    let output = command.env("TRESS_SIM_CORPUS", "off").output().unwrap();
    let text = String::from_utf8([&output.stdout[..], &output.stderr[..]].concat()).unwrap();
    (output.status.success(), text)
}

/// The place of the line that has the mark, as it is shown.
fn place(mark: &str) -> String {
    let mark = format!("// {mark}");
    let line = include_str!("chaos.rs")
        .lines()
        .position(|line| line.ends_with(&mark))
        .unwrap();
    format!("chaos.rs:{}:", line + 1)
}

/// Runs a program as the only client.
fn simulate(seed: u64, program: impl FnOnce() + 'static) {
    let mut sim = Builder::new().rng_seed(seed).build();
    sim.client("client", async {
        program();
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn outside_of_a_simulation_nothing_happens() {
    // There is a hook, since there was a simulation.
    simulate(0, || {});
    assert!((0..1000).all(|_| !buggify!(1.0)));
    assert_always!(false, "is not checked here");
    unreached!("is not checked here");
}

#[tress_sim::test(seeds = 1, sometimes = "ignore")]
fn a_quarter_of_runs_has_a_place_switched_on() {
    let fired = |seed| {
        let fired = std::rc::Rc::new(Cell::new(0));
        let count = fired.clone();
        simulate(seed, move || {
            for _ in 0..1000 {
                count.set(count.get() + u32::from(buggify!(0.1)));
            }
        });
        fired.get()
    };
    let runs: Vec<_> = (0..400).map(fired).collect();
    let on: Vec<_> = runs.iter().copied().filter(|fired| *fired > 0).collect();
    assert!((60..140).contains(&on.len()), "{}", on.len());
    assert!(on.iter().all(|fired| (50..160).contains(fired)), "{on:?}");
    assert_eq!(runs, (0..400).map(fired).collect::<Vec<_>>());
}

#[tress_sim::test(seeds = 1, sometimes = "ignore")]
fn places_are_switched_on_independently() {
    let both = |seed| {
        let both = std::rc::Rc::new(Cell::new((false, false)));
        let result = both.clone();
        simulate(seed, move || {
            for _ in 0..100 {
                let (a, b) = result.get();
                result.set((a | buggify!(), b | buggify!()));
            }
        });
        both.get()
    };
    let runs: Vec<_> = (0..200).map(both).collect();
    for combination in [(false, false), (false, true), (true, false), (true, true)] {
        assert!(runs.contains(&combination), "{combination:?}");
    }
}

#[tress_sim::test(seeds = 1, sometimes = "ignore")]
#[should_panic(expected = "the limit is kept (")]
fn what_must_always_be_so_ends_a_run() {
    simulate(0, || {
        let (number, limit) = (3, 2);
        assert_always!(limit <= number, "holds", number);
        assert_always!(number <= limit, "the limit is kept", number, limit);
    });
}

#[tress_sim::test(seeds = 1, sometimes = "ignore")]
#[should_panic(expected = "number = 3; limit = 2")]
fn details_are_shown() {
    simulate(0, || {
        let (number, limit) = (3, 2);
        assert_always!(number <= limit, "the limit is kept", number, limit);
    });
}

#[tress_sim::test(seeds = 1, sometimes = "ignore")]
#[should_panic(expected = "what an invariant has found (")]
fn what_a_test_checks_outside_of_hosts_counts() {
    let mut sim = Builder::new().build();
    sim.invariant("fine", || {
        assert_always!(false, "what an invariant has found");
        Ok(())
    });
    sim.client("client", async { Ok(()) });
    sim.run().unwrap();
}

#[tress_sim::test(seeds = 1, sometimes = "ignore")]
#[should_panic(expected = "somewhere it must not get to (")]
fn what_must_not_be_reached_ends_a_run() {
    simulate(0, || unreached!("somewhere it must not get to"));
}

/// Tests with these in one file list those of others, which they do not get to.
fn met(sim: &mut Sim<'_>) {
    let seed = sim.seed();
    sim.client("client", async move {
        assert_sometimes!(seed == 3, "one of the runs has 3");
        assert_sometimes!(seed == 300, "one of the runs has 300"); // never so
        if seed == 2 {
            reachable!("a run with 2");
        }
        if seed == 200 {
            reachable!("a run with 200"); // never there
        }
        Ok(())
    });
}

#[tress_sim::test(seeds = 8)]
#[ignore = "run by others"]
fn places_are_noted() -> Result {
    let mut sim = Builder::new().build();
    met(&mut sim);
    sim.run()
}

#[tress_sim::test(seeds = 8, sometimes = "require")]
#[ignore = "run by others"]
fn places_are_required() -> Result {
    let mut sim = Builder::new().build();
    met(&mut sim);
    sim.run()
}

#[tress_sim::test(seeds = 8, sometimes = "ignore")]
#[ignore = "run by others"]
fn places_are_ignored() -> Result {
    let mut sim = Builder::new().build();
    met(&mut sim);
    sim.run()
}

#[test]
fn places_that_no_seed_reaches_are_listed() {
    for (name, passes) in [("places_are_noted", true), ("places_are_required", false)] {
        let (passed, text) = run(name);
        assert_eq!(passed, passes, "{text}");
        assert!(
            text.contains(&format!("chaos::{name}: in none of 8 seeds")),
            "{text}"
        );
        let line = |message: &str| {
            text.lines()
                .find(|line| line.contains(&format!("{message:?}")))
        };
        let never_so = line("one of the runs has 300").unwrap();
        assert!(
            never_so.contains("was reached, but never so") && never_so.contains(&place("never so")),
            "{text}"
        );
        let never_there = line("a run with 200").unwrap();
        assert!(
            never_there.contains("was never reached")
                && never_there.contains(&place("never there")),
            "{text}"
        );
        assert_eq!(
            (line("one of the runs has 3"), line("a run with 2")),
            (None, None),
            "{text}"
        );
    }
    let (passed, text) = run("places_are_ignored");
    assert!(passed && !text.contains("in none of"), "{text}");
}

#[tress_sim::test(seeds = 1, sometimes = "ignore")]
fn an_invariant_is_checked_after_each_event() {
    let (steps, checks) = (Cell::new(0), Cell::new(0));
    let seen = RefCell::new(Vec::new());
    let mut sim = Builder::new().build();
    sim.invariant("no two steps between checks", || {
        checks.set(checks.get() + 1);
        let mut seen = seen.borrow_mut();
        if seen.last() != Some(&steps.get()) {
            seen.push(steps.get());
        }
        Ok(())
    });
    sim.client("client", async {
        for _ in 0..50 {
            sleep(Duration::from_millis(1)).await;
            steps.set(steps.get() + 1);
        }
        Ok(())
    });
    sim.run().unwrap();
    let events = sim.events();
    drop(sim);
    assert_eq!(*seen.borrow(), (0..=50).collect::<Vec<_>>());
    assert!(checks.get() >= events, "{} of {events}", checks.get());
}

#[tress_sim::test(seeds = 1, sometimes = "ignore")]
fn an_invariant_that_does_not_hold_ends_the_run() {
    let value = Cell::new(0);
    let mut sim = Builder::new().build();
    sim.invariant("small", || {
        if value.get() < 3 {
            Ok(())
        } else {
            Err("it is three".into())
        }
    });
    sim.client("counter", async {
        for _ in 0..10 {
            sleep(Duration::from_secs(1)).await;
            value.set(value.get() + 1);
        }
        Ok(())
    });
    let error = sim.run().unwrap_err().to_string();
    assert!(
        error.starts_with("the invariant \"small\" does not hold: it is three\n  at 3."),
        "{error}"
    );
    assert!(error.contains("on counter, a thread went on"), "{error}");
    assert_eq!(value.get(), 3);
}

#[tress_sim::test(seeds = 1, sometimes = "ignore")]
#[should_panic(expected = "not two")]
fn an_invariant_may_panic() {
    let value = Cell::new(0);
    let mut sim = Builder::new().build();
    sim.invariant("not two", || {
        assert_ne!(value.get(), 2, "not two");
        Ok(())
    });
    sim.client("counter", async {
        loop {
            sleep(Duration::from_secs(1)).await;
            value.set(value.get() + 1);
        }
    });
    let _ = sim.run();
}

/// A server that echoes datagrams, and a host that sends one each second until the answer has come.
fn two_hosts<'a>(answered: &'a Cell<bool>) -> Sim<'a> {
    use tokio::net::UdpSocket;
    let mut sim = Builder::new()
        .simulation_duration(Duration::from_secs(1000))
        .build();
    sim.host("server", || async {
        let socket = UdpSocket::bind("0.0.0.0:7").await?;
        let mut buffer = [0; 10];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await?;
            socket.send_to(&buffer[..length], from).await?;
        }
    });
    sim.host("asks", move || async move {
        let socket = UdpSocket::bind("0.0.0.0:0").await?;
        let mut buffer = [0; 10];
        loop {
            socket.send_to(b"?", "server:7").await?;
            let answer = socket.recv_from(&mut buffer);
            if tokio::time::timeout(Duration::from_secs(1), answer)
                .await
                .is_ok()
            {
                answered.set(true);
            }
        }
    });
    sim
}

#[tress_sim::test(seeds = 1, sometimes = "ignore")]
fn without_faults_things_must_get_well() {
    let answered = Cell::new(false);
    let mut sim = two_hosts(&answered);
    sim.partition("server", "asks");
    for _ in 0..5_000 {
        sim.step().unwrap();
    }
    assert!(!answered.get());
    sim.heal_and_require(|| answered.get(), Duration::from_secs(5))
        .unwrap();
    assert!(sim.elapsed() < Duration::from_secs(10));
}

#[tress_sim::test(seeds = 1, sometimes = "ignore")]
fn what_does_not_get_well_is_an_error() {
    let answered = Cell::new(false);
    let mut sim = two_hosts(&answered);
    sim.crash("server");
    let start = sim.elapsed();
    let error = sim
        .heal_and_require(|| answered.get(), Duration::from_secs(5))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("not come true within 5s") && error.contains("server (off)"),
        "{error}"
    );
    assert_eq!(sim.elapsed() - start, Duration::from_secs(5));
}
