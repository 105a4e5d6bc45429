//! Hosts and the simulation: how programs run, end, fail, crash and start again.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tress_sim::{Builder, IpVersion, Matching, Policy, Result, elapsed, lookup, sim_elapsed};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn an_error_of_a_client_is_that_of_the_run() {
    let mut sim = Builder::new().build();
    sim.client("client", async { Err("of a client")? });
    assert_eq!(sim.run().unwrap_err().to_string(), "of a client");
}

#[test]
fn an_error_of_a_host_is_that_of_the_run() {
    let mut sim = Builder::new().build();
    sim.host("host", || async { Err("of a host")? });
    sim.client("client", async { pending().await });
    assert_eq!(sim.run().unwrap_err().to_string(), "of a host");
}

#[test]
#[should_panic(expected = "of a program")]
fn a_panic_of_a_program_is_that_of_the_run() {
    let mut sim = Builder::new().build();
    sim.client("client", async {
        sleep(SECOND).await;
        panic!("of a program");
    });
    let _ = sim.run();
}

#[test]
fn a_run_has_a_limit_of_time() {
    let mut sim = Builder::new().simulation_duration(SECOND).build();
    sim.client("client", async {
        loop {
            sleep(MS).await;
        }
    });
    let error = sim.run().unwrap_err().to_string();
    assert!(error.starts_with("Ran for duration: 1s "), "{error}");
    assert!(error.contains("without completing: client\n"), "{error}");
    assert_eq!(sim.elapsed(), SECOND);
}

#[test]
fn a_run_in_which_nothing_can_happen_ends() {
    let mut sim = Builder::new().build();
    sim.host("server", || async {
        let listener = TcpListener::bind("0.0.0.0:1").await?;
        listener.accept().await?;
        Ok(())
    });
    sim.client("client", async { pending().await });
    let error = sim.run().unwrap_err().to_string();
    assert!(error.contains("nothing can happen any more"), "{error}");
    assert!(error.contains("client (on): 1 thread, "), "{error}");
}

#[test]
fn a_run_without_clients_has_ended() {
    let mut sim = Builder::new().build();
    sim.host("host", || async { pending().await });
    sim.run().unwrap();
}

#[test]
fn a_run_ends_when_all_clients_have() {
    let ended = Rc::new(Cell::new(0));
    let mut sim = Builder::new().build();
    for n in 1..=3 {
        let ended = ended.clone();
        sim.client(format!("client {n}"), async move {
            sleep(n * SECOND).await;
            ended.set(ended.get() + 1);
            Ok(())
        });
    }
    sim.run().unwrap();
    assert_eq!(ended.get(), 3);
    assert_eq!(sim.elapsed().as_secs(), 3);
}

#[test]
fn a_program_may_borrow_what_outlives_the_simulation() {
    let text = String::from("borrowed");
    let seen = RefCell::new(String::new());
    let mut sim = Builder::new().build();
    sim.client("client", async {
        seen.borrow_mut().push_str(&text);
        Ok(())
    });
    sim.run().unwrap();
    drop(sim);
    assert_eq!(seen.into_inner(), "borrowed");
}

#[test]
fn steps_go_on_by_a_tick() {
    let mut sim = Builder::new().tick_duration(10 * MS).build();
    sim.client("client", async {
        sleep(25 * MS).await;
        Ok(())
    });
    assert!(!sim.step().unwrap());
    assert_eq!(sim.elapsed(), 10 * MS);
    assert!(!sim.step().unwrap());
    assert!(sim.step().unwrap());
    assert_eq!(sim.elapsed(), 30 * MS);
}

#[test]
fn a_crash_drops_the_program_before_it_returns() {
    struct Dropped(Rc<Cell<u32>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Rc::new(Cell::new(0));
    let mut sim = Builder::new().build();
    let count = dropped.clone();
    sim.host("host", move || {
        let count = count.clone();
        async move {
            let _in_main = Dropped(count.clone());
            let task = tokio::task::spawn_local(async move {
                let _in_task = Dropped(count);
                pending::<()>().await
            });
            task.await?;
            Ok(())
        }
    });
    sim.step().unwrap();
    assert_eq!(dropped.get(), 0);
    assert!(sim.is_host_running("host"));
    sim.crash("host");
    assert_eq!(dropped.get(), 2);
    assert!(!sim.is_host_running("host"));
    sim.step().unwrap();
    sim.bounce("host");
    assert!(sim.is_host_running("host"));
    sim.step().unwrap();
    drop(sim);
    assert_eq!(dropped.get(), 4);
}

#[test]
fn what_blocks_on_a_crashed_host_never_goes_on() {
    let reached = Rc::new(Cell::new(false));
    let flag = reached.clone();
    let mut sim = Builder::new().build();
    sim.host("host", move || {
        let flag = flag.clone();
        async move {
            std::thread::sleep(SECOND);
            flag.set(true);
            Ok(())
        }
    });
    sim.client("client", async {
        sleep(5 * SECOND).await;
        Ok(())
    });
    sim.step().unwrap();
    sim.crash("host");
    sim.run().unwrap();
    assert!(!reached.get());
}

#[test]
fn time_since_the_start_of_a_host_begins_anew() {
    let mut sim = Builder::new().build();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let times = seen.clone();
    sim.host("host", move || {
        let times = times.clone();
        async move {
            times.borrow_mut().push((elapsed(), sim_elapsed().unwrap()));
            pending().await
        }
    });
    sim.step().unwrap();
    for _ in 0..9 {
        sim.step().unwrap();
    }
    sim.bounce("host");
    sim.step().unwrap();
    let seen = seen.take();
    assert_eq!(seen.len(), 2);
    assert!(seen[0].0 < MS && seen[0].1 < MS, "{seen:?}");
    assert!(
        seen[1].0 < MS && (10 * MS..11 * MS).contains(&seen[1].1),
        "{seen:?}"
    );
}

#[test]
fn the_wall_clock_begins_at_the_epoch_and_can_be_wrong() {
    let epoch = SystemTime::UNIX_EPOCH + 1_000_000 * SECOND;
    let mut sim = Builder::new().epoch(epoch).build();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let times = seen.clone();
    sim.client("client", async move {
        for _ in 0..3 {
            let since = SystemTime::now().duration_since(epoch);
            times.borrow_mut().push((since, Instant::now()));
            sleep(SECOND).await;
        }
        Ok(())
    });
    sim.step().unwrap();
    sim.set_clock_offset("client", -10.0);
    while sim.elapsed() < SECOND + 500 * MS {
        sim.step().unwrap();
    }
    // A tenth too fast.
    sim.set_clock_offset("client", 100.0);
    sim.set_clock_drift("client", 100_000);
    sim.run().unwrap();
    let seen = seen.take();
    assert!(seen[0].0.clone().unwrap() < MS);
    assert_eq!(seen[1].0.clone().unwrap_err().duration().as_secs(), 8);
    assert_eq!(seen[2].0.clone().unwrap().as_millis() / 10, 10_205);
    // The monotonic clock does not mind.
    assert!(seen[2].1 - seen[0].1 < 2 * SECOND + 10 * MS);
}

#[test]
fn names_have_addresses_in_their_order() {
    let mut sim = Builder::new().build();
    assert_eq!(sim.lookup("a"), Ipv4Addr::new(192, 168, 0, 1));
    assert_eq!(sim.lookup("b"), Ipv4Addr::new(192, 168, 0, 2));
    assert_eq!(sim.reverse_lookup(sim.lookup("b")).as_deref(), Some("b"));
    assert_eq!(sim.lookup_many(["b", "a"]).len(), 2);
    assert_eq!(
        sim.lookup_many(Matching(|name: &str| name > "a")),
        [sim.lookup("b")]
    );
    sim.client("a", async {
        assert_eq!(lookup("b"), Ipv4Addr::new(192, 168, 0, 2));
        Ok(())
    });
    sim.run().unwrap();
    let sim = Builder::new().ip_version(IpVersion::V6).build();
    assert_eq!(sim.lookup("a"), Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1));
}

#[test]
#[should_panic(expected = "there is a host twice already")]
fn a_name_is_that_of_one_host() {
    let mut sim = Builder::new().build();
    sim.client("twice", async { Ok(()) });
    sim.client("twice", async { Ok(()) });
}

#[test]
#[should_panic(expected = "there is no host nowhere")]
fn a_partition_is_one_of_hosts() {
    let mut sim = Builder::new().build();
    sim.client("a", async { Ok(()) });
    sim.partition("a", "nowhere");
}

/// A server that sends back what it gets.
async fn echo() -> Result {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let (mut read, mut write) = stream.split();
            tokio::io::copy(&mut read, &mut write).await
        });
    }
}

/// Sends a number, and waits for it.
async fn ping(stream: &mut TcpStream, number: u32) -> Result {
    stream.write_u32(number).await?;
    assert_eq!(stream.read_u32().await?, number);
    Ok(())
}

#[test]
fn hosts_talk_over_tcp() {
    let mut sim = Builder::new().build();
    sim.host("server", echo);
    for client in 0..5 {
        sim.client(format!("client {client}"), async {
            let mut stream = TcpStream::connect("server:80").await?;
            for number in 0..20 {
                ping(&mut stream, number).await?;
            }
            Ok(())
        });
    }
    sim.run().unwrap();
}

#[test]
fn a_partition_delays_a_connection_and_loses_nothing() {
    let mut sim = Builder::new().simulation_duration(60 * SECOND).build();
    sim.host("server", echo);
    sim.client("client", async {
        let mut stream = TcpStream::connect("server:80").await?;
        ping(&mut stream, 1).await?;
        tress_sim::partition("client", "server");
        assert!(timeout(5 * SECOND, ping(&mut stream, 2)).await.is_err());
        tress_sim::repair("client", "server");
        // The answer to what was sent meanwhile.
        assert_eq!(stream.read_u32().await?, 2);
        ping(&mut stream, 3).await
    });
    sim.run().unwrap();
}

#[test]
fn what_is_held_arrives_when_it_is_released() {
    let mut sim = Builder::new().build();
    sim.host("server", || async {
        let socket = UdpSocket::bind("0.0.0.0:1").await?;
        let mut buffer = [0; 10];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await?;
            socket.send_to(&buffer[..length], from).await?;
        }
    });
    sim.client("client", async {
        let socket = UdpSocket::bind("0.0.0.0:0").await?;
        let mut buffer = [0; 10];
        tress_sim::hold("client", "server");
        socket.send_to(b"held", "server:1").await?;
        assert!(
            timeout(5 * SECOND, socket.recv_from(&mut buffer))
                .await
                .is_err()
        );
        tress_sim::release("client", "server");
        let (length, _) = timeout(SECOND, socket.recv_from(&mut buffer)).await??;
        assert_eq!(&buffer[..length], b"held");
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn packets_can_be_delivered_and_lost_by_hand() {
    let received = Rc::new(Cell::new(0));
    let count = received.clone();
    let mut sim = Builder::new().build();
    sim.host("server", move || {
        let count = count.clone();
        async move {
            let socket = UdpSocket::bind("0.0.0.0:1").await?;
            loop {
                let mut buffer = [0];
                socket.recv(&mut buffer).await?;
                count.set(count.get() * 10 + buffer[0]);
            }
        }
    });
    sim.client("client", async {
        let socket = UdpSocket::bind("0.0.0.0:0").await?;
        tress_sim::hold("client", "server");
        for number in 1..=3 {
            socket.send_to(&[number], "server:1").await?;
        }
        pending().await
    });
    for _ in 0..10 {
        sim.step().unwrap();
    }
    sim.links(|links| {
        let sent = links.sent();
        assert_eq!(sent.len(), 3);
        assert_eq!(sent[1].bytes(), [2]);
        links.deliver(&sent[2]);
        links.lose(&sent[1]);
        links.deliver(&sent[0]);
    });
    sim.step().unwrap();
    assert_eq!(sim.links(|links| links.sent().len()), 0);
    assert_eq!(received.get(), 31);
}

#[test]
fn the_latency_of_a_link_can_be_set() {
    let mut sim = Builder::new().build();
    sim.host("server", echo);
    sim.client("client", async {
        let mut stream = TcpStream::connect("server:80").await?;
        let start = Instant::now();
        ping(&mut stream, 1).await?;
        assert!(
            (100 * MS..110 * MS).contains(&start.elapsed()),
            "{:?}",
            start.elapsed()
        );
        Ok(())
    });
    sim.set_link_latency("client", "server", 50 * MS);
    sim.run().unwrap();
}

#[test]
fn a_connection_to_a_crashed_host_is_reset_when_it_is_back() {
    let mut sim = Builder::new().simulation_duration(100 * SECOND).build();
    sim.host("server", echo);
    let phase = Rc::new(Cell::new(0));
    let reached = phase.clone();
    sim.client("client", async move {
        let mut stream = TcpStream::connect("server:80").await?;
        ping(&mut stream, 1).await?;
        reached.set(1);
        // Until it is back there is no answer.
        let error = ping(&mut stream, 2).await.unwrap_err();
        let error = error.downcast::<std::io::Error>()?;
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        // It may not listen yet.
        sleep(SECOND).await;
        let mut stream = TcpStream::connect("server:80").await?;
        ping(&mut stream, 3).await
    });
    while phase.get() == 0 {
        sim.step().unwrap();
    }
    sim.crash("server");
    for _ in 0..1000 {
        sim.step().unwrap();
    }
    sim.bounce("server");
    sim.run().unwrap();
}

#[test]
fn a_killed_program_closes_its_connections() {
    let mut sim = Builder::new().build();
    sim.host("server", echo);
    let connected = Rc::new(Semaphore::new(0));
    let count = connected.clone();
    sim.client("client", async move {
        let mut stream = TcpStream::connect("server:80").await?;
        ping(&mut stream, 1).await?;
        count.add_permits(1);
        assert_eq!(stream.read(&mut [0]).await?, 0);
        let refused = TcpStream::connect("server:80").await.unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        Ok(())
    });
    while connected.available_permits() == 0 {
        sim.step().unwrap();
    }
    sim.kill("server");
    sim.run().unwrap();
}

#[test]
fn a_paused_host_goes_on_where_it_was() {
    let mut sim = Builder::new().build();
    let ticks = Rc::new(Cell::new(0));
    let count = ticks.clone();
    sim.host("host", move || {
        let count = count.clone();
        async move {
            loop {
                sleep(MS).await;
                count.set(count.get() + 1);
            }
        }
    });
    for _ in 0..10 {
        sim.step().unwrap();
    }
    let before = ticks.get();
    assert!(before > 3);
    sim.pause("host");
    for _ in 0..100 {
        sim.step().unwrap();
    }
    assert_eq!(ticks.get(), before);
    sim.resume("host");
    for _ in 0..10 {
        sim.step().unwrap();
    }
    assert!(ticks.get() > before);
}

#[test]
fn a_host_can_have_few_descriptors() {
    let mut sim = Builder::new().build();
    sim.client("client", async {
        let mut sockets = Vec::new();
        let error = loop {
            match UdpSocket::bind("0.0.0.0:0").await {
                Ok(socket) => sockets.push(socket),
                Err(error) => break error,
            }
        };
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        assert!((10..=20).contains(&sockets.len()), "{}", sockets.len());
        Ok(())
    });
    sim.set_descriptor_limit("client", 20);
    sim.run().unwrap();
}

/// What a run of some hosts with losses was like.
fn trace(seed: u64, policy: Policy) -> (Duration, u64, Vec<(Duration, u32)>) {
    let mut sim = Builder::new()
        .rng_seed(seed)
        .policy(policy)
        .loss(0.05)
        .simulation_duration(1000 * SECOND)
        .build();
    sim.host("server", echo);
    let seen = Rc::new(RefCell::new(Vec::new()));
    for client in 0..3 {
        let seen = seen.clone();
        sim.client(format!("client {client}"), async move {
            let tasks = (0..4).map(|task| {
                let seen = seen.clone();
                tokio::task::spawn_local(async move {
                    let mut stream = TcpStream::connect("server:80").await.unwrap();
                    for number in 0..10 {
                        ping(&mut stream, number).await.unwrap();
                        let at = sim_elapsed().unwrap();
                        seen.borrow_mut()
                            .push((at, client * 100 + task * 10 + number));
                    }
                })
            });
            for task in tasks.collect::<Vec<_>>() {
                task.await?;
            }
            Ok(())
        });
    }
    sim.run().unwrap();
    (sim.elapsed(), sim.events(), seen.take())
}

#[test]
fn one_seed_gives_one_run() {
    for policy in [Policy::Fifo, Policy::Random, Policy::Priorities(3)] {
        assert_eq!(trace(1, policy), trace(1, policy));
        assert_ne!(trace(1, policy), trace(2, policy));
    }
    assert_ne!(trace(1, Policy::Fifo), trace(1, Policy::Random));
}

#[test]
fn tasks_of_all_runtimes_have_priorities() {
    /// Goes to the end of the line. Unlike `yield_now`, it does not let all others run first.
    async fn stand_in_line() {
        let mut is_back = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut is_back, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
    /// Which of two tasks has run, in the order of their polls.
    async fn order() -> Vec<usize> {
        let order = Arc::new(Mutex::new(Vec::new()));
        let barrier = Arc::new(tokio::sync::Barrier::new(2));
        let tasks: Vec<_> = (0..2)
            .map(|task| {
                let (order, barrier) = (order.clone(), barrier.clone());
                tokio::spawn(async move {
                    barrier.wait().await;
                    for _ in 0..20 {
                        order.lock().unwrap().push(task);
                        stand_in_line().await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        Arc::into_inner(order).unwrap().into_inner().unwrap()
    }
    for workers in [0, 1] {
        for seed in 0..5 {
            let mut builder = Builder::new();
            builder.rng_seed(seed).policy(Policy::Priorities(0));
            let mut sim = builder.build();
            sim.client_main("main", move || {
                let mut runtime = match workers {
                    0 => tokio::runtime::Builder::new_current_thread(),
                    _ => tokio::runtime::Builder::new_multi_thread(),
                };
                if workers > 0 {
                    runtime.worker_threads(workers);
                }
                let order = runtime
                    .build()?
                    .block_on(async { tokio::spawn(order()).await })?;
                // One of them has the higher priority, which nothing changes: it runs to its end, but for the polls until both
                // have come.
                let changes = order.windows(2).filter(|pair| pair[0] != pair[1]).count();
                assert!(changes <= 2, "{workers} workers, seed {seed}: {order:?}");
                Ok::<(), tress_sim::Error>(())
            });
            sim.run().unwrap();
        }
    }
}

#[test]
fn a_socket_of_a_host_that_is_gone_can_be_dropped_anywhere() {
    let kept = Rc::new(RefCell::new(None));
    let keep = kept.clone();
    let mut sim = Builder::new().build();
    sim.client("client", async move {
        *keep.borrow_mut() = Some(std::net::UdpSocket::bind("0.0.0.0:0")?);
        Ok(())
    });
    sim.run().unwrap();
    let address: IpAddr = sim.lookup("client");
    drop(sim);
    assert!(address.is_ipv4());
    drop(kept.take());
}

#[test]
fn a_plain_main_makes_its_own_runtime() {
    #[tokio::main(flavor = "multi_thread", worker_threads = 3)]
    async fn main() -> std::io::Result<()> {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        loop {
            let (mut stream, _) = listener.accept().await?;
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                tokio::io::copy(&mut read, &mut write).await
            });
        }
    }
    let mut sim = Builder::new().simulation_duration(100 * SECOND).build();
    sim.host_main("server", main);
    sim.client("client", async {
        for number in 0..10 {
            // It is crashed and started again meanwhile.
            let pinged = timeout(SECOND, async {
                let mut stream = TcpStream::connect("server:80").await?;
                ping(&mut stream, number).await
            });
            if !matches!(pinged.await, Ok(Ok(()))) {
                sleep(SECOND).await;
            }
            sleep(SECOND).await;
        }
        let mut stream = TcpStream::connect("server:80").await?;
        ping(&mut stream, 100).await
    });
    for _ in 0..3 {
        for _ in 0..2500 {
            sim.step().unwrap();
        }
        sim.bounce("server");
    }
    sim.run().unwrap();
}

#[test]
fn a_program_that_exits_ends_its_host_and_not_the_process() {
    let mut sim = Builder::new().build();
    sim.host_main("server", || -> () {
        let listener = std::net::TcpListener::bind("0.0.0.0:80").unwrap();
        let _ = listener.accept();
        std::process::exit(0)
    });
    sim.client("client", async {
        sleep(SECOND).await;
        let mut stream = TcpStream::connect("server:80").await?;
        assert_eq!(stream.read(&mut [0]).await?, 0);
        Ok(())
    });
    sim.run().unwrap();
    assert!(!sim.is_host_running("server"));

    // The standard library lets one thread of a process end it.
    let mut sim = Builder::new().build();
    sim.client_main("client", || -> () { std::process::exit(3) });
    let error = sim.run().unwrap_err().to_string();
    assert!(error.contains("the status is not known"), "{error}");
}

#[test]
fn a_plain_main_may_fail_and_panic() {
    let mut sim = Builder::new().build();
    sim.client_main("client", || Err::<(), _>("of a main"));
    assert_eq!(sim.run().unwrap_err().to_string(), "of a main");
    let mut sim = Builder::new().build();
    sim.client_main("client", || -> () {
        std::thread::sleep(SECOND);
        panic!("in a main");
    });
    let run = std::panic::AssertUnwindSafe(|| sim.run());
    let panic = std::panic::catch_unwind(run).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"in a main"));
}

#[test]
fn a_test_may_wake_tasks_of_hosts_between_steps() {
    let notify = Rc::new(tokio::sync::Notify::new());
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let mut sim = Builder::new().build();
    let notified = notify.clone();
    sim.client("notified", async move {
        // With I/O, and without: it waits elsewhere then.
        let _socket = UdpSocket::bind("0.0.0.0:1").await?;
        let mut buffer = [0];
        tokio::select! {
            () = notified.notified() => Ok(()),
            _ = _socket.recv(&mut buffer) => panic!("nothing is sent"),
        }
    });
    sim.client("receiver", async move {
        assert_eq!(receiver.recv().await, Some(7));
        Ok(())
    });
    let (closed, is_closed) = std::sync::mpsc::channel::<()>();
    sim.client("thread", async move {
        tokio::task::spawn_blocking(move || is_closed.recv())
            .await?
            .unwrap_err();
        Ok(())
    });
    assert!(!sim.step().unwrap());
    notify.notify_one();
    sender.send(7).unwrap();
    drop(closed);
    assert!(sim.step().unwrap());
}

#[test]
fn what_a_killed_program_returns_does_not_count() {
    let mut sim = Builder::new().build();
    sim.host("host", || async {
        let listener = std::net::TcpListener::bind("0.0.0.0:80")?;
        listener.accept()?;
        Ok(())
    });
    sim.step().unwrap();
    sim.kill("host");
    sim.step().unwrap();
    sim.bounce("host");
    sim.step().unwrap();
}
