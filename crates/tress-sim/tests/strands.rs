//! All three strands of tress on simulated hosts: futures, coroutines, processes.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tress::coroutine;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::{TcpListener, TcpStream};
use tress::sync::mpsc;
use tress::time::{sleep, timeout};
use tress_actor::{Cx, ExitReason, Host, Strategy, Supervisor};
use tress_sim::{Builder, Fault, Faults, Policy, Result};

const SECOND: Duration = Duration::from_secs(1);

/// Answers each number with the next one.
async fn server() -> Result {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        tress::task::spawn(async move {
            while let Ok(number) = stream.read_u32().await {
                if stream.write_u32(number + 1).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// A process that asks the server for one number after the other, and fails when it gets no answer.
async fn ask(_: Cx<()>, answers: Arc<AtomicU32>) {
    let connected = timeout(SECOND, TcpStream::connect("server:80")).await;
    let mut stream = connected.expect("connects in time").expect("connects");
    loop {
        let number = answers.load(Ordering::Relaxed);
        stream.write_u32(number).await.expect("the server is there");
        let answer = timeout(SECOND, stream.read_u32()).await;
        answers.store(
            answer.expect("answers in time").expect("answers"),
            Ordering::Relaxed,
        );
        sleep(SECOND / 10).await;
    }
}

/// Runs a supervisor until its child has had that many answers, and ends in good order.
async fn supervise(wanted: u32, starts: Rc<Cell<u32>>) -> Result {
    let (answers, started) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let host = Host::builder("client").start()?;
    let child = {
        let (answers, started) = (answers.clone(), started.clone());
        move |start: tress_actor::supervisor::ChildHost<'_>| {
            started.fetch_add(1, Ordering::Relaxed);
            let answers = answers.clone();
            start
                .future(move |cx: Cx<()>| ask(cx, answers))
                .name("asking")
                .spawn()
        }
    };
    let (supervisor, exit) = Supervisor::new(Strategy::OneForOne)
        .intensity(1000, SECOND)
        .child("asking", child)
        .exec(&host)?;
    while answers.load(Ordering::Relaxed) < wanted {
        sleep(SECOND / 10).await;
    }
    host.cancel(supervisor, ExitReason::Shutdown)?;
    exit.await.into_result().unwrap();
    assert_eq!(host.lookup("asking"), None);
    starts.set(started.load(Ordering::Relaxed));
    Ok(())
}

#[test]
fn a_supervised_process_reconnects_whatever_happens_to_its_peer() {
    let mut restarts = 0;
    for seed in 0..20 {
        let faults = Faults::of([Fault::Crash, Fault::Kill, Fault::Partition, Fault::Pause]);
        let mut sim = Builder::new()
            .rng_seed(seed)
            .policy(Policy::Random)
            .faults(faults)
            .simulation_duration(10_000 * SECOND)
            .build();
        sim.host("server", server);
        let starts = Rc::new(Cell::new(0));
        sim.client("client", supervise(100, starts.clone()));
        sim.run()
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        restarts += starts.get() - 1;
    }
    assert!(restarts > 20, "{restarts}");
}

#[test]
fn each_monitor_is_told_once_in_every_order() {
    for seed in 0..50 {
        let policy = if seed % 2 == 0 {
            Policy::Random
        } else {
            Policy::Priorities(3)
        };
        let mut sim = Builder::new().rng_seed(seed).policy(policy).build();
        sim.client("host", async {
            let host = Host::builder("host").start()?;
            let (_, exit) = host
                .future(|mut cx: Cx<u32>| async move {
                    while let Some(number) = cx.recv().await {
                        assert!(number < 3, "too much");
                    }
                })
                .name("victim")
                .exec()?;
            let victim = host
                .lookup("victim")
                .expect("has its name when it was spawned");
            let watchers: Vec<_> = (0..5).map(|_| host.watch(victim)).collect();
            let senders: Vec<_> = (0..4u32)
                .map(|number| {
                    let host = host.clone();
                    tress::task::spawn(async move { host.send(victim, number) })
                })
                .collect();
            for sender in senders {
                // After its end nothing can be sent to it.
                let _ = sender.await?;
            }
            for watcher in watchers {
                assert!(watcher.await.is_abnormal());
            }
            assert!(exit.await.reason.is_abnormal());
            assert_eq!(host.lookup("victim"), None);
            Ok(())
        });
        sim.run()
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

#[test]
fn coroutines_wait_for_virtual_time_and_for_sockets() {
    let mut sim = Builder::new().policy(Policy::Random).build();
    sim.host("server", server);
    sim.client("client", async {
        let (sender, mut receiver) = mpsc::channel(1);
        let asking = coroutine::spawn(move || {
            let mut stream = coroutine::wait(TcpStream::connect("server:80")).unwrap();
            for number in 0..20 {
                coroutine::wait(stream.write_u32(number)).unwrap();
                let answer = coroutine::wait(stream.read_u32()).unwrap();
                coroutine::wait(sender.send(answer)).unwrap();
                coroutine::sleep(SECOND / 10);
            }
        });
        let adding = coroutine::spawn(move || {
            let mut sum = 0;
            while let Some(number) = coroutine::wait(receiver.recv()) {
                sum += number;
            }
            sum
        });
        asking.await?;
        assert_eq!(adding.await?, 210);
        assert!(tress_sim::elapsed() >= 2 * SECOND);
        Ok(())
    });
    sim.run().unwrap();
}
