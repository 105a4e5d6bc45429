//! The simulation, its hosts and its links: what the tests of the crate turmoil expect.
//!
//! There is a test here for each of turmoil's that `sim.rs`, beside this file, has no equal of. What differs:
//!
//! | test of turmoil | here |
//! |---|---|
//! | `client_error`, `timeout`, `multiple_clients_all_finish`, `crash_blocks_until_complete`, `override_link_latency` | In `sim.rs`. |
//! | `elapsed_time` | A run ends with its last client, not with a tick after it; timers are up to a millisecond late, as Tokio's are. |
//! | `elapsed_time_across_restarts` | The time since the start of a host begins anew when it is bounced; a test of that is in `sim.rs`. |
//! | `partition_peers` | A connect over a partition times out. |
//! | `host_scan`, `bounce_multiple_hosts_with_regex`, `hold_all` | `Matching` takes the place of a regular expression. |
//! | `invalid_latency` | The shortest latency counts, if it is longer than the longest. |
//! | `link_access_gives_useful_panic_message` | Also in `sim.rs`, for names. |
//! | `recycle_ports` | In `turmoil_udp.rs`. |
//! | `test_tokio_with_io_enabled`, `test_tokio_with_io_disabled` | There is no `enable_tokio_io`: all I/O of Tokio is simulated, Unix sockets too, and always there. |
//! | `barriers` | Triggers and barriers do not exist. A host shares memory with the test: a `Notify` or a `Semaphore` does their work. |

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream, lookup_host};
use tokio::time::{Instant, sleep, timeout};
use tress_sim::{
    Builder, Matching, Protocol, Result, Sim, elapsed, hold, in_simulation, lookup, lookup_many,
    release, reverse_lookup, sim_elapsed, since_epoch,
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// A simulation in which every packet takes that long.
fn even<'a>(latency: Duration) -> Sim<'a> {
    let mut builder = Builder::new();
    builder.simulation_duration(1000 * SECOND);
    builder
        .min_message_latency(latency)
        .max_message_latency(latency)
        .build()
}

fn every(_: &str) -> bool {
    true
}

/// Adds a server that greets each client with a byte.
fn greeter(sim: &mut Sim<'_>) {
    sim.host("server", || async {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        loop {
            listener.accept().await?.0.write_u8(42).await?;
        }
    });
}

async fn greeted() -> Result {
    let mut stream = TcpStream::connect("server:80").await?;
    assert_eq!(stream.read_u8().await?, 42);
    Ok(())
}

#[track_caller]
fn is_about(time: Duration, expected: Duration) {
    assert!(
        (expected..expected + 3 * MS).contains(&time),
        "{time:?} is not {expected:?}"
    );
}

#[test]
fn a_host_that_is_added_later_has_a_time_of_its_own() {
    let mut sim = Builder::new().build();
    let epoch = sim.since_epoch();
    for name in ["a", "b"] {
        sim.client(name, async move {
            sleep(500 * MS).await;
            is_about(elapsed(), 500 * MS);
            is_about(sim_elapsed().unwrap(), 500 * MS);
            is_about(since_epoch().unwrap(), epoch + 500 * MS);
            Ok(())
        });
    }
    sim.run().unwrap();
    let start = sim.elapsed();
    is_about(start, 500 * MS);
    sim.client("c", async move {
        is_about(elapsed(), Duration::ZERO);
        is_about(sim_elapsed().unwrap(), start);
        is_about(since_epoch().unwrap(), epoch + start);
        sleep(500 * MS).await;
        is_about(elapsed(), 500 * MS);
        is_about(sim_elapsed().unwrap(), start + 500 * MS);
        is_about(since_epoch().unwrap(), epoch + start + 500 * MS);
        Ok(())
    });
    sim.run().unwrap();
    is_about(sim.elapsed(), start + 500 * MS);
}

#[test]
fn there_is_no_time_of_a_simulation_outside_of_hosts() {
    let sim = Builder::new().build();
    assert_eq!((sim_elapsed(), since_epoch()), (None, None));
    assert!(!in_simulation());
    drop(sim);
    assert_eq!((sim_elapsed(), since_epoch()), (None, None));
}

#[test]
fn a_held_connect_goes_on_when_it_is_released() {
    let mut sim = even(2 * MS);
    greeter(&mut sim);
    sim.client("client", greeted());
    let pair = (sim.lookup("client"), sim.lookup("server"));
    sim.hold("server", "client");
    for _ in 0..20 {
        assert!(!sim.step().unwrap());
    }
    sim.links(|links| {
        assert_eq!(links.pairs(), [pair]);
        assert!(
            links
                .sent()
                .iter()
                .all(|sent| sent.protocol() == Protocol::Tcp)
        );
    });
    sim.release("server", "client");
    sim.run().unwrap();
}

#[test]
fn a_connect_over_a_partition_times_out() {
    let mut sim = even(2 * MS);
    greeter(&mut sim);
    sim.client("client", async {
        let error = TcpStream::connect("server:80").await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        Ok(())
    });
    sim.partition("server", "client");
    sim.run().unwrap();
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Partition,
    Repair,
    /// In one direction: from a to b, or from b to a.
    Cut(&'static str, &'static str),
    Mend(&'static str, &'static str),
}

/// Does something to the links between two hosts, and returns whether a and b receive what the other one sends.
fn receive_after(actions: &[Action], is_a_first: bool) -> (bool, bool) {
    let received = Rc::new(RefCell::new(Vec::new()));
    let mut sim = even(MS);
    let mut names = [("a", "b"), ("b", "a")];
    if !is_a_first {
        names.reverse();
    }
    for (own, other) in names {
        let received = received.clone();
        sim.client(own, async move {
            let socket = UdpSocket::bind("0.0.0.0:1").await?;
            // The other one has its socket by then.
            sleep(10 * MS).await;
            assert_eq!(socket.send_to(&[1], (other, 1)).await?, 1);
            if timeout(SECOND, socket.recv_from(&mut [0])).await.is_ok() {
                received.borrow_mut().push(own);
            }
            Ok(())
        });
    }
    for action in actions {
        match *action {
            Action::Partition => sim.partition("a", "b"),
            Action::Repair => sim.repair("a", "b"),
            Action::Cut(from, to) => sim.partition_oneway(from, to),
            Action::Mend(from, to) => sim.repair_oneway(from, to),
        }
    }
    sim.run().unwrap();
    let received = received.take();
    (received.contains(&"a"), received.contains(&"b"))
}

#[test]
fn directions_are_cut_and_mended_one_by_one() {
    use Action::*;
    for is_a_first in [true, false] {
        let check = |actions: &[Action], a, b| {
            assert_eq!(receive_after(actions, is_a_first), (a, b), "{actions:?}");
        };
        check(&[], true, true);
        check(&[Partition], false, false);
        check(&[Cut("a", "b")], true, false);
        check(&[Cut("b", "a")], false, true);
        check(&[Partition, Mend("a", "b")], false, true);
        check(&[Partition, Mend("b", "a")], true, false);
        check(&[Cut("a", "b"), Repair], true, true);
        check(&[Cut("b", "a"), Repair], true, true);
        check(&[Cut("b", "a"), Mend("a", "b")], false, true);
        check(&[Cut("a", "b"), Cut("b", "a")], false, false);
        check(&[Partition, Mend("a", "b"), Mend("b", "a")], true, true);
    }
}

#[test]
fn time_goes_on_while_a_host_is_off() {
    let seen = Rc::new(Cell::new(Duration::ZERO));
    let time = seen.clone();
    let mut sim = Builder::new().tick_duration(5 * MS).build();
    sim.host("host", move || {
        let time = time.clone();
        async move {
            loop {
                sleep(MS).await;
                time.set(sim_elapsed().unwrap());
            }
        }
    });
    sim.crash("host");
    sim.step().unwrap();
    assert_eq!(seen.get(), Duration::ZERO);
    sim.bounce("host");
    sim.step().unwrap();
    assert!((8 * MS..=10 * MS).contains(&seen.get()), "{:?}", seen.get());
}

#[test]
fn an_error_of_a_host_is_that_of_the_step() {
    let mut sim = Builder::new().build();
    sim.host("host", || async { Err("of a host")? });
    assert_eq!(sim.step().unwrap_err().to_string(), "of a host");
}

#[test]
fn a_connect_can_be_delivered_by_hand() {
    let mut sim = Builder::new().build();
    greeter(&mut sim);
    sim.client("client", async {
        hold("client", "server");
        TcpStream::connect("server:80").await?;
        Ok(())
    });
    // The first segment, and the answer.
    let mut is_finished = false;
    for _ in 0..2 {
        while sim.links(|links| links.sent().is_empty()) {
            assert!(!sim.step().unwrap());
        }
        sim.links(|links| links.deliver_between("client", "server"));
        is_finished = sim.step().unwrap();
    }
    assert!(is_finished);
}

#[test]
fn packets_of_one_pair_can_be_delivered_alone() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let received = seen.clone();
    let mut sim = Builder::new().build();
    sim.client("server", async move {
        let socket = UdpSocket::bind("0.0.0.0:1").await?;
        for _ in 0..4 {
            let mut buffer = [0];
            let (_, from) = socket.recv_from(&mut buffer).await?;
            received
                .borrow_mut()
                .push((reverse_lookup(from.ip()).unwrap(), buffer[0]));
        }
        Ok(())
    });
    for name in ["a", "b"] {
        sim.client(name, async {
            let socket = UdpSocket::bind("0.0.0.0:0").await?;
            socket.send_to(&[1], "server:1").await?;
            socket.send_to(&[2], "server:1").await?;
            Ok(())
        });
    }
    sim.hold(["a", "b"], "server");
    while sim.links(|links| links.sent().len()) < 4 {
        sim.step().unwrap();
    }
    let pairs = sim.links(|links| links.pairs());
    let mut names: Vec<_> = pairs
        .into_iter()
        .map(|pair| sim.reverse_lookup_pair(pair))
        .collect();
    names.sort();
    let pair = |name: &str| (name.to_string(), "server".to_string());
    assert_eq!(names, [pair("a"), pair("b")]);
    sim.links(|links| {
        let sent = links.sent_between("server", "b");
        assert_eq!(
            sent.iter().map(|sent| sent.bytes()[0]).collect::<Vec<_>>(),
            [1, 2]
        );
        links.deliver_between("b", "server");
    });
    sim.step().unwrap();
    sim.links(|links| links.deliver_all());
    sim.run().unwrap();
    let one = |name: &str, number| (name.to_string(), number);
    assert_eq!(
        seen.take(),
        [one("b", 1), one("b", 2), one("a", 1), one("a", 2)]
    );
}

#[test]
fn what_is_on_its_way_is_held_and_lost_with_its_link() {
    let received = Rc::new(RefCell::new(Vec::new()));
    let list = received.clone();
    let mut sim = even(100 * MS);
    sim.host("receiver", move || {
        let list = list.clone();
        async move {
            let socket = UdpSocket::bind("0.0.0.0:1").await?;
            loop {
                let mut buffer = [0];
                socket.recv(&mut buffer).await?;
                list.borrow_mut().push(buffer[0]);
            }
        }
    });
    sim.host("sender", || async {
        let socket = UdpSocket::bind("0.0.0.0:0").await?;
        for number in 1..=5 {
            socket.send_to(&[number], "receiver:1").await?;
        }
        pending().await
    });
    let wait = |sim: &mut Sim<'_>| {
        for _ in 0..300 {
            sim.step().unwrap();
        }
    };
    while sim.links(|links| links.sent().len()) < 5 {
        sim.step().unwrap();
    }
    sim.hold("sender", "receiver");
    wait(&mut sim);
    assert_eq!(received.take(), []);
    sim.links(|links| {
        let sent = links.sent();
        assert_eq!(sent.len(), 5);
        links.deliver(&sent[3]);
        links.lose(&sent[1]);
    });
    wait(&mut sim);
    assert_eq!(received.take(), [4]);
    // Each arrives once.
    sim.release("sender", "receiver");
    wait(&mut sim);
    assert_eq!(received.take(), [1, 3, 5]);
    sim.bounce("sender");
    while sim.links(|links| links.sent().len()) < 5 {
        sim.step().unwrap();
    }
    sim.partition_oneway("receiver", "sender");
    assert_eq!(sim.links(|links| links.sent().len()), 5);
    sim.partition_oneway("sender", "receiver");
    assert_eq!(sim.links(|links| links.sent().len()), 0);
    sim.repair("sender", "receiver");
    wait(&mut sim);
    assert_eq!(received.take(), []);
}

#[test]
fn a_crashed_host_is_no_error_of_the_run() {
    let mut sim = Builder::new().build();
    sim.host("host", || async { pending().await });
    sim.crash("host");
    sim.run().unwrap();
    sim.client("client", async {
        sleep(SECOND).await;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_host_that_crashed_before_it_ran_runs_when_it_is_bounced() {
    let started = Rc::new(Cell::new(0));
    let count = started.clone();
    let mut sim = Builder::new().build();
    sim.host("host", move || {
        let count = count.clone();
        async move {
            count.set(count.get() + 1);
            Ok(())
        }
    });
    sim.crash("host");
    sim.step().unwrap();
    assert_eq!(started.get(), 0);
    sim.bounce("host");
    sim.step().unwrap();
    assert_eq!(started.get(), 1);
    // One whose program has returned, too.
    assert!(!sim.is_host_running("host"));
    sim.bounce("host");
    sim.step().unwrap();
    assert_eq!(started.get(), 2);
}

#[test]
fn clients_and_hosts_are_running_until_they_end() {
    let mut sim = Builder::new().build();
    sim.client("client", async {
        sleep(SECOND).await;
        Ok(())
    });
    sim.host("host", || async { pending().await });
    assert!(!sim.step().unwrap());
    assert!(sim.is_host_running("client") && sim.is_host_running("host"));
    sim.crash("host");
    assert!(!sim.is_host_running("host"));
    sim.run().unwrap();
    assert!(!sim.is_host_running("client"));
}

#[test]
fn all_hosts_can_be_looked_up() {
    let mut sim = Builder::new().build();
    for n in 0..3 {
        sim.host(format!("host {n}"), || async { pending().await });
    }
    let mut found = sim.lookup_many(Matching(every));
    found.sort();
    let names: Vec<_> = found
        .iter()
        .map(|address| sim.reverse_lookup(*address).unwrap())
        .collect();
    assert_eq!(names, ["host 0", "host 1", "host 2"]);
    sim.client("client", async {
        assert_eq!(
            lookup_many(Matching(|name: &str| name.starts_with("host"))).len(),
            3
        );
        assert_eq!(reverse_lookup(lookup("host 1")).as_deref(), Some("host 1"));
        assert_eq!(reverse_lookup(Ipv4Addr::new(1, 1, 1, 1).into()), None);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn several_hosts_are_bounced_at_once() {
    let started = Rc::new(Cell::new(0));
    let mut sim = Builder::new().build();
    for n in 1..=3 {
        let started = started.clone();
        sim.host(format!("host {n}"), move || {
            started.set(started.get() + 1);
            pending()
        });
    }
    sim.step().unwrap();
    assert_eq!(started.get(), 3);
    sim.bounce(Matching(|name: &str| name.ends_with(['1', '2'])));
    sim.step().unwrap();
    assert_eq!(started.get(), 5);
}

#[test]
fn everything_can_be_held() {
    let mut sim = even(MS);
    greeter(&mut sim);
    sim.client("client", async {
        hold(Matching(every), Matching(every));
        assert!(
            timeout(100 * MS, TcpStream::connect("server:80"))
                .await
                .is_err()
        );
        release(Matching(every), Matching(every));
        timeout(100 * MS, greeted()).await?
    });
    sim.run().unwrap();
}

/// Returns how long some packets took, one after the other.
fn latencies(sim: &mut Sim<'_>) -> Vec<Duration> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let times = seen.clone();
    sim.client("receiver", async move {
        let socket = UdpSocket::bind("0.0.0.0:1").await?;
        loop {
            let mut buffer = [0; 16];
            let length = socket.recv(&mut buffer).await?;
            if length == 0 {
                return Ok(());
            }
            let sent_at = u128::from_be_bytes(buffer);
            let took = sim_elapsed().unwrap().as_nanos() - sent_at;
            times.borrow_mut().push(Duration::from_nanos(took as u64));
        }
    });
    sim.client("sender", async {
        let socket = UdpSocket::bind("0.0.0.0:0").await?;
        for _ in 0..300 {
            // Later than any of them takes.
            sleep(SECOND).await;
            let now = sim_elapsed().unwrap().as_nanos();
            socket.send_to(&now.to_be_bytes(), "receiver:1").await?;
        }
        sleep(SECOND).await;
        socket.send_to(&[], "receiver:1").await?;
        Ok(())
    });
    sim.run().unwrap();
    seen.take()
}

fn mean(latencies: &[Duration]) -> Duration {
    assert_eq!(latencies.len(), 300);
    latencies.iter().sum::<Duration>() / latencies.len() as u32
}

/// A simulation in which packets take from 100 to 600 ms, with time for `latencies`.
fn varied<'a>() -> Sim<'a> {
    Builder::new()
        .min_message_latency(100 * MS)
        .max_message_latency(600 * MS)
        .simulation_duration(1000 * SECOND)
        .build()
}

#[test]
fn latencies_are_within_their_limits() {
    let latencies = latencies(&mut varied());
    // What programs do takes a little time, too.
    assert!(
        latencies
            .iter()
            .all(|latency| (100 * MS..602 * MS).contains(latency))
    );
    let mean = mean(&latencies);
    assert!((180 * MS..220 * MS).contains(&mean), "{mean:?}");
}

#[test]
fn the_curve_of_latencies_can_be_set() {
    let mut sim = varied();
    sim.set_message_latency_curve(50.0);
    let mean = mean(&latencies(&mut sim));
    assert!((106 * MS..115 * MS).contains(&mean), "{mean:?}");
}

#[test]
#[should_panic(expected = "a rate is positive and finite")]
fn the_curve_of_latencies_is_not_flat() {
    Builder::new().build().set_message_latency_curve(0.0);
}

#[test]
fn the_longest_latency_can_be_set_and_the_shortest_stays() {
    let mut sim = varied();
    sim.set_max_message_latency(110 * MS);
    let latencies = latencies(&mut sim);
    assert!(
        latencies
            .iter()
            .all(|latency| (100 * MS..112 * MS).contains(latency))
    );
    assert!(mean(&latencies) < 106 * MS);
}

#[test]
fn the_longest_latency_of_a_link_can_be_set_and_the_shortest_stays() {
    let mut sim = varied();
    sim.host("sender's rival", || async { pending().await });
    sim.client("first", async { Ok(()) });
    sim.set_link_max_message_latency("first", "sender's rival", SECOND);
    // That was another link.
    assert!((180 * MS..220 * MS).contains(&mean(&latencies(&mut sim))));
}

#[test]
fn the_longest_latency_counts_on_its_link_only() {
    let mut sim = varied();
    sim.host("server", || async {
        let socket = UdpSocket::bind("0.0.0.0:1").await?;
        loop {
            let mut buffer = [0];
            let (_, from) = socket.recv_from(&mut buffer).await?;
            socket.send_to(&buffer, from).await?;
        }
    });
    let spans = Rc::new(RefCell::new(Vec::new()));
    for name in ["near", "far"] {
        let spans = spans.clone();
        sim.client(name, async move {
            let socket = UdpSocket::bind("0.0.0.0:0").await?;
            let mut longest = Duration::ZERO;
            for _ in 0..50 {
                let start = Instant::now();
                socket.send_to(&[1], "server:1").await?;
                socket.recv(&mut [0]).await?;
                assert!(start.elapsed() >= 200 * MS);
                longest = longest.max(start.elapsed());
            }
            spans.borrow_mut().push((name, longest));
            Ok(())
        });
    }
    sim.set_link_max_message_latency("near", "server", 110 * MS);
    sim.run().unwrap();
    for (name, longest) in spans.take() {
        assert_eq!(longest < 225 * MS, name == "near", "{name}: {longest:?}");
    }
}

#[test]
fn the_shortest_latency_counts_if_it_is_longer_than_the_longest() {
    let mut sim = Builder::new()
        .min_message_latency(100 * MS)
        .max_message_latency(50 * MS)
        .simulation_duration(1000 * SECOND)
        .build();
    let latencies = latencies(&mut sim);
    assert!(
        latencies
            .iter()
            .all(|latency| (100 * MS..102 * MS).contains(latency))
    );
}

#[test]
#[should_panic(expected = "there is no host 10.0.0.1")]
fn a_link_is_one_of_hosts() {
    let mut sim = Builder::new().build();
    sim.client("host", async { Ok(()) });
    sim.hold("10.0.0.1", "host");
}

#[test]
fn names_and_addresses_can_have_ports() {
    let mut sim = Builder::new().build();
    sim.host("host", || async { pending().await });
    sim.client("client", async {
        for (text, address) in [
            ("host:5000", SocketAddr::new(lookup("host"), 5000)),
            ("127.0.0.1:5000", SocketAddr::from(([127, 0, 0, 1], 5000))),
            ("[::1]:5000", "[::1]:5000".parse()?),
        ] {
            assert_eq!(lookup_host(text).await?.next(), Some(address));
        }
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn hosts_can_be_added_by_their_address() {
    let address = Ipv4Addr::new(192, 168, 42, 42);
    let mut sim = Builder::new().build();
    sim.client(address, async move {
        let listener = TcpListener::bind((address, 80)).await?;
        let (_, from) = listener.accept().await?;
        assert_eq!(from.ip(), Ipv4Addr::new(10, 0, 0, 1));
        Ok(())
    });
    sim.client("10.0.0.1", async {
        TcpStream::connect("192.168.42.42:80").await?;
        Ok(())
    });
    assert_eq!(sim.lookup(address), address);
    assert_eq!(sim.lookup("192.168.42.42"), address);
    assert_eq!(sim.lookup(IpAddr::from(address)), address);
    sim.run().unwrap();
}

#[test]
fn a_host_has_unix_sockets_of_its_own() {
    let mut sim = Builder::new().build();
    for name in ["a", "b"] {
        sim.client(name, async move {
            let path = "/tmp/socket";
            let listener = UnixListener::bind(path)?;
            let connect = tokio::spawn(async move {
                let mut stream = UnixStream::connect(path).await?;
                stream.write_all(name.as_bytes()).await
            });
            let mut text = String::new();
            listener.accept().await?.0.read_to_string(&mut text).await?;
            assert_eq!(text, name);
            connect.await??;
            tokio::fs::remove_file(path).await?;
            Ok(())
        });
    }
    sim.run().unwrap();
    assert!(!std::path::Path::new("/tmp/socket").exists());
}

/// Returns how many of 200 datagrams reach the near and the far host.
fn received(sim: &mut Sim<'_>) -> (u32, u32) {
    let counts = [Rc::new(Cell::new(0)), Rc::new(Cell::new(0))];
    for (name, count) in ["near", "far"].into_iter().zip(&counts) {
        let count = count.clone();
        sim.host(name, move || {
            let count = count.clone();
            async move {
                let socket = UdpSocket::bind("0.0.0.0:1").await?;
                loop {
                    socket.recv(&mut [0]).await?;
                    count.set(count.get() + 1);
                }
            }
        });
    }
    sim.client("client", async {
        let socket = UdpSocket::bind("0.0.0.0:0").await?;
        for _ in 0..200 {
            for name in ["near", "far"] {
                socket.send_to(&[1], (name, 1)).await?;
            }
            sleep(10 * MS).await;
        }
        // Until the last one has arrived.
        sleep(200 * MS).await;
        Ok(())
    });
    sim.set_link_fail_rate("client", "near", 0.0);
    sim.run().unwrap();
    let [near, far] = counts;
    (near.get(), far.get())
}

#[test]
fn links_break_by_chance_and_are_repaired_by_chance() {
    let mut sim = Builder::new().fail_rate(1.0).repair_rate(0.0).build();
    assert_eq!(received(&mut sim), (200, 0));
    let mut sim = Builder::new().fail_rate(0.2).repair_rate(0.2).build();
    let (near, far) = received(&mut sim);
    assert_eq!(near, 200);
    assert!((50..150).contains(&far), "{far}");
    let mut sim = Builder::new().build();
    sim.set_fail_rate(0.01);
    assert!(received(&mut sim).1 > 150);
}
