//! Faults that happen by themselves.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tress_sim::{Builder, Fault, Faults, Happened, Result};

const SECOND: Duration = Duration::from_secs(1);

async fn counter() -> Result {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            while let Ok(number) = stream.read_u32().await {
                if stream.write_u32(number + 1).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// Asks until it has had that many answers.
async fn ask(answers: u32) -> Result {
    let mut had = 0;
    while had < answers {
        let asked = timeout(SECOND, async {
            let mut stream = TcpStream::connect("server:80").await?;
            stream.write_u32(had).await?;
            stream.read_u32().await
        });
        match asked.await {
            Ok(Ok(number)) => {
                assert_eq!(number, had + 1);
                had = number;
            }
            _ => sleep(SECOND / 10).await,
        }
    }
    Ok(())
}

fn run(seed: u64, faults: Faults) -> (Duration, Vec<Happened>) {
    let mut sim = Builder::new()
        .rng_seed(seed)
        .faults(faults)
        .simulation_duration(10_000 * SECOND)
        .build();
    sim.host("server", counter);
    sim.client("one", ask(30));
    sim.client("other", ask(30));
    sim.run().unwrap();
    (sim.elapsed(), sim.fault_log().to_vec())
}

#[test]
fn a_service_with_time_outs_survives_a_swarm() {
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let (elapsed, happened) = run(seed, Faults::swarm().lasting(SECOND));
        assert!(elapsed > SECOND / 10);
        kinds.extend(happened.iter().map(|fault| fault.kind));
    }
    assert_eq!(kinds.len(), 10, "{kinds:?}");
}

#[test]
fn a_seed_decides_the_faults() {
    let faults = || Faults::swarm().every(SECOND / 5);
    assert_eq!(run(3, faults()), run(3, faults()));
    assert_ne!(run(3, faults()), run(4, faults()));
}

#[test]
fn each_kind_by_itself_is_survived() {
    for kind in [
        Fault::Partition,
        Fault::OneWay,
        Fault::Hold,
        Fault::Loss,
        Fault::Delay,
        Fault::Crash,
        Fault::Kill,
        Fault::Pause,
        Fault::Clock,
        Fault::Slow,
    ] {
        let (_, happened) = run(1, Faults::of([kind]).every(SECOND / 2));
        assert!(!happened.is_empty(), "{kind:?}");
        let text = happened[0].to_string();
        assert!(text.starts_with("#0 at "), "{text}");
    }
}

#[test]
fn healing_ends_what_is_under_way() {
    let starts = Rc::new(Cell::new(0));
    let count = starts.clone();
    let faults = Faults::of([Fault::Crash])
        .every(SECOND / 100)
        .lasting(1000 * SECOND);
    let mut sim = Builder::new().faults(faults).build();
    sim.host("server", move || {
        count.set(count.get() + 1);
        counter()
    });
    while sim.fault_log().is_empty() {
        sim.step().unwrap();
    }
    assert!(!sim.is_host_running("server"));
    sim.heal();
    assert!(sim.is_host_running("server"));
    sim.client("client", ask(10));
    sim.run().unwrap();
    assert_eq!((starts.get(), sim.fault_log().len()), (2, 1));
}
