//! TCP by Tokio's types: what the tests of the crate turmoil expect, on this simulation.
//!
//! There is a test here for each of turmoil's, in its order. Where this simulation does as Linux does, and turmoil does not,
//! the test is one of Linux's behaviour:
//!
//! | test of turmoil | here |
//! |---|---|
//! | `network_partitions_during_connect` | The first segment is sent again and again: a connect fails when it times out, and succeeds if the partition ends before. |
//! | `ephemeral_port_does_not_leak_on_client_shutdown` | The end that closes first keeps its port for a minute. |
//! | `network_partition_once_connected`, `network_partition_drops_inflight_messages`, `network_partition_oneway_drops_inflight_messages` | What was lost is sent again, so that a partition delays it. |
//! | `accept_front_of_line_dropped`, `drop_listener_with_non_empty_queue` | A connection is established before it is accepted. One that was not accepted is reset when its listener closes. |
//! | `shutdown_write` | Shutting down for a second time is no error while the other direction is open. |
//! | `bind_ipv4_version_missmatch`, `bind_ipv6_version_missmatch` | Both versions can be bound on every host. |
//! | `non_zero_bind`, `exhaust_ephemeral_ports`, `socket_to_nonexistent_node` | The errors are those of Linux. |
//! | `socket_capacity` | `tcp_capacity` counts the bytes of a connection, not connections, and nothing panics. |
//! | `loopback_delivery` | A host reaches itself within microseconds, not after a tick. |
//! | `tcp_receiver_buffer_full_backpressures` | Both ends have a buffer of that capacity. |
//! | `async_send_sync` | Applies to Tokio's types, which have tests of their own. |

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::future::pending;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};
use tress_sim::{
    Builder, IpVersion, Result, Sim, elapsed, established_tcp_stream_count,
    established_tcp_stream_count_on, hold, lookup, partition, partition_oneway, release, repair,
    repair_oneway,
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const SERVER: (&str, u16) = ("server", 4000);

async fn listen() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, SERVER.1)).await
}

#[track_caller]
fn fails<T>(result: io::Result<T>, kind: ErrorKind) {
    assert_eq!(result.err().map(|error| error.kind()), Some(kind));
}

/// A simulation in which every packet takes a millisecond.
fn even<'a>(capacity: usize) -> Sim<'a> {
    Builder::new()
        .min_message_latency(MS)
        .max_message_latency(MS)
        .tcp_capacity(capacity)
        .build()
}

/// Adds a server that accepts everything, and closes it at once.
fn accepting(sim: &mut Sim<'_>) {
    sim.host(SERVER.0, || async {
        let listener = listen().await?;
        loop {
            listener.accept().await?;
        }
    });
}

/// Answers each number with as many bytes, counted from zero.
async fn count(mut stream: TcpStream) {
    while let Ok(number) = stream.read_u8().await {
        for n in 0..number {
            stream.write_u8(n).await.unwrap();
        }
    }
}

async fn ask_for(stream: &mut TcpStream, number: u8) -> Result {
    stream.write_u8(number).await?;
    for n in 0..number {
        assert_eq!(stream.read_u8().await?, n);
    }
    Ok(())
}

/// Runs a server with its first connection, and a client with the other end.
fn with_connection<S, C>(
    server: impl FnOnce(TcpStream) -> S + 'static,
    client: impl FnOnce(TcpStream) -> C + 'static,
) where
    S: Future<Output = Result> + 'static,
    C: Future<Output = Result> + 'static,
{
    let mut sim = Builder::new().build();
    sim.client(SERVER.0, async move {
        let (stream, _) = listen().await?.accept().await?;
        server(stream).await
    });
    sim.client("client", async move {
        let stream = TcpStream::connect(SERVER).await?;
        client(stream).await
    });
    sim.run().unwrap();
}

#[test]
fn a_connect_over_a_partition_times_out() {
    let mut sim = Builder::new().simulation_duration(1000 * SECOND).build();
    accepting(&mut sim);
    sim.client("client", async {
        partition("client", "server");
        let start = Instant::now();
        fails(TcpStream::connect(SERVER).await, ErrorKind::TimedOut);
        assert!(start.elapsed() > 60 * SECOND, "{:?}", start.elapsed());
        let connect = tokio::spawn(TcpStream::connect(SERVER));
        sleep(2 * SECOND).await;
        repair("client", "server");
        connect.await??;
        hold("client", "server");
        assert!(timeout(SECOND, TcpStream::connect(SERVER)).await.is_err());
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_port_that_was_not_asked_for_is_an_ephemeral_one() {
    let mut sim = Builder::new().build();
    sim.client("client", async {
        let listener = TcpListener::bind("0.0.0.0:0").await?;
        assert!(listener.local_addr()?.port() >= 49152);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_dropped_listener_gives_its_port_back() {
    let mut sim = Builder::new().build();
    sim.client("server", async {
        let listener = listen().await?;
        sleep(SECOND).await;
        drop(listener);
        listen().await?;
        // Without a pause, too.
        for _ in 0..3 {
            listen().await?;
        }
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn ports_of_connections_that_the_server_closed_are_used_again() {
    let mut sim = Builder::new().ephemeral_ports(50000..=50009).build();
    accepting(&mut sim);
    sim.client("client", async {
        for _ in 0..40 {
            let mut stream = TcpStream::connect(SERVER).await?;
            fails(stream.read_u8().await, ErrorKind::UnexpectedEof);
        }
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn ports_of_connections_that_the_client_closed_are_used_again_a_minute_later() {
    let mut sim = Builder::new()
        .ephemeral_ports(50000..=50009)
        .simulation_duration(1000 * SECOND)
        .build();
    sim.host("server", || async {
        let listener = listen().await?;
        loop {
            let (mut stream, _) = listener.accept().await?;
            tokio::spawn(async move { stream.read_u8().await });
        }
    });
    sim.client("client", async {
        for _ in 0..3 {
            for _ in 0..10 {
                let (mut read, mut write) = TcpStream::connect(SERVER).await?.into_split();
                write.shutdown().await?;
                assert_eq!(read.read(&mut [0]).await?, 0);
            }
            fails(
                TcpStream::connect(SERVER).await,
                ErrorKind::AddrNotAvailable,
            );
            sleep(61 * SECOND).await;
        }
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_connect_that_was_given_up_is_not_accepted() {
    let mut sim = Builder::new().build();
    sim.client("server", async {
        let listener = listen().await?;
        assert!(timeout(3 * SECOND, listener.accept()).await.is_err());
        Ok(())
    });
    sim.client("client", async {
        hold("client", "server");
        assert!(timeout(SECOND, TcpStream::connect(SERVER)).await.is_err());
        release("client", "server");
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn what_is_held_on_a_connection_arrives_when_it_is_released() {
    let (is_held, write) = oneshot::channel();
    with_connection(
        async move |mut stream: TcpStream| {
            write.await?;
            stream.write_u8(1).await?;
            Ok(())
        },
        async move |mut stream: TcpStream| {
            hold("server", "client");
            is_held.send(()).unwrap();
            assert!(timeout(SECOND, stream.read_u8()).await.is_err());
            release("server", "client");
            assert_eq!(stream.read_u8().await?, 1);
            Ok(())
        },
    );
}

#[test]
fn a_partition_delays_both_directions_of_a_connection() {
    with_connection(
        async |mut stream: TcpStream| {
            stream.write_u8(0).await?;
            assert!(timeout(SECOND, stream.read_u8()).await.is_err());
            stream.write_u8(2).await?;
            assert_eq!(stream.read_u8().await?, 1);
            Ok(())
        },
        async |mut stream: TcpStream| {
            // The server has accepted by then.
            assert_eq!(stream.read_u8().await?, 0);
            partition("server", "client");
            stream.write_u8(1).await?;
            assert!(timeout(3 * SECOND, stream.read_u8()).await.is_err());
            repair("server", "client");
            assert_eq!(stream.read_u8().await?, 2);
            Ok(())
        },
    );
}

#[test]
fn a_connect_that_is_held_blocks_no_other() {
    let is_held = Rc::new(Notify::new());
    let start = is_held.clone();
    let mut sim = Builder::new().build();
    accepting(&mut sim);
    sim.client("held", async move {
        hold("held", "server");
        assert!(timeout(SECOND, TcpStream::connect(SERVER)).await.is_err());
        is_held.notify_one();
        Ok(())
    });
    sim.client("other", async move {
        start.notified().await;
        timeout(SECOND, TcpStream::connect(SERVER)).await??;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn connections_that_were_dropped_before_they_were_accepted_block_no_other() {
    let go_on = Rc::new(Notify::new());
    let accept = go_on.clone();
    let mut sim = even(65536);
    sim.client("server", async move {
        let listener = listen().await?;
        accept.notified().await;
        for _ in 0..5 {
            let (mut stream, _) = listener.accept().await?;
            assert_eq!(stream.read(&mut [0]).await?, 0);
        }
        let (mut stream, _) = listener.accept().await?;
        assert_eq!(stream.read_u8().await?, 7);
        Ok(())
    });
    sim.client("client", async move {
        for _ in 0..5 {
            // It is established, though nobody has accepted it.
            TcpStream::connect(SERVER).await?;
        }
        go_on.notify_one();
        TcpStream::connect(SERVER).await?.write_u8(7).await?;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_server_may_speak_first() {
    let mut sim = Builder::new().build();
    sim.host("server", || async {
        let listener = listen().await?;
        loop {
            listener.accept().await?.0.write_u8(9).await?;
        }
    });
    sim.client("client", async {
        assert_eq!(TcpStream::connect(SERVER).await?.read_u8().await?, 9);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_question_has_several_answers() {
    with_connection(
        async |stream| {
            count(stream).await;
            Ok(())
        },
        async |mut stream| ask_for(&mut stream, 3).await,
    );
}

#[test]
fn a_server_has_several_connections_at_once() {
    let mut sim = Builder::new().build();
    sim.host("server", || async {
        let listener = listen().await?;
        loop {
            tokio::spawn(count(listener.accept().await?.0));
        }
    });
    for n in 0..3 {
        sim.client(format!("client {n}"), async {
            ask_for(&mut TcpStream::connect(SERVER).await?, 3).await
        });
    }
    sim.run().unwrap();
}

#[test]
fn connections_outlive_their_listener() {
    let dropped = Rc::new(Notify::new());
    let is_dropped = dropped.clone();
    let mut sim = Builder::new().build();
    sim.host("server", move || {
        let dropped = dropped.clone();
        async move {
            let listener = listen().await?;
            for _ in 0..3 {
                tokio::spawn(count(listener.accept().await?.0));
            }
            drop(listener);
            dropped.notify_one();
            pending().await
        }
    });
    sim.client("client", async move {
        let mut streams = Vec::new();
        for _ in 0..3 {
            streams.push(TcpStream::connect(SERVER).await?);
        }
        is_dropped.notified().await;
        for stream in &mut streams {
            ask_for(stream, 3).await?;
        }
        fails(
            TcpStream::connect(SERVER).await,
            ErrorKind::ConnectionRefused,
        );
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn connections_that_nobody_accepted_are_reset_with_their_listener() {
    let connected = Rc::new(Notify::new());
    let drop_it = connected.clone();
    let mut sim = Builder::new().build();
    sim.host("server", move || {
        let drop_it = drop_it.clone();
        async move {
            let listener = listen().await?;
            drop_it.notified().await;
            drop(listener);
            pending().await
        }
    });
    sim.client("client", async move {
        let mut streams = Vec::new();
        for _ in 0..3 {
            streams.push(TcpStream::connect(SERVER).await?);
        }
        connected.notify_one();
        for mut stream in streams {
            fails(stream.read_u8().await, ErrorKind::ConnectionReset);
        }
        fails(
            TcpStream::connect(SERVER).await,
            ErrorKind::ConnectionRefused,
        );
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn writing_to_a_peer_that_hung_up_fails() {
    let failed = Rc::new(Notify::new());
    let has_failed = failed.clone();
    with_connection(
        async move |mut stream: TcpStream| {
            let mut buffer = [0; 8];
            assert_eq!(stream.read(&mut buffer).await?, 0);
            assert_eq!(stream.read(&mut buffer).await?, 0);
            // The first answer is lost, and tells of the end.
            stream.write_u8(1).await?;
            let error = loop {
                sleep(100 * MS).await;
                if let Err(error) = stream.write_u8(1).await {
                    break error;
                }
            };
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
            drop(stream);
            failed.notify_one();
            Ok(())
        },
        async move |stream: TcpStream| {
            assert_eq!(established_tcp_stream_count(), 1);
            drop(stream);
            assert_eq!(established_tcp_stream_count(), 0);
            has_failed.notified().await;
            assert_eq!(established_tcp_stream_count_on("server"), 0);
            Ok(())
        },
    );
}

#[test]
fn connections_are_counted_on_each_host() {
    let mut sim = even(65536);
    sim.client("server", async {
        let listener = listen().await?;
        let (mut one, _) = listener.accept().await?;
        let (mut other, _) = listener.accept().await?;
        assert_eq!(established_tcp_stream_count(), 2);
        for stream in [&mut one, &mut other] {
            assert_eq!(stream.read(&mut [0]).await?, 0);
        }
        // A connection is one until this end is closed, too.
        assert_eq!(established_tcp_stream_count(), 2);
        drop((one, other));
        assert_eq!(established_tcp_stream_count(), 0);
        Ok(())
    });
    sim.client("client", async {
        let one = TcpStream::connect(SERVER).await?;
        let other = TcpStream::connect(SERVER).await?;
        sleep(10 * MS).await;
        assert_eq!(established_tcp_stream_count_on("client"), 2);
        assert_eq!(established_tcp_stream_count_on("server"), 2);
        drop((one, other));
        Ok(())
    });
    while sim.established_tcp_stream_count() < 4 {
        sim.step().unwrap();
    }
    sim.run().unwrap();
    assert_eq!(sim.established_tcp_stream_count(), 0);
}

#[test]
fn one_direction_can_be_shut_down() {
    with_connection(
        async |mut stream: TcpStream| {
            let mut received = Vec::new();
            stream.read_to_end(&mut received).await?;
            assert_eq!(received, [1, 2, 3]);
            stream.write_all(&[4, 5, 6]).await?;
            Ok(())
        },
        async |mut stream: TcpStream| {
            stream.write_all(&[1, 2, 3]).await?;
            stream.shutdown().await?;
            stream.shutdown().await?;
            fails(stream.write_u8(1).await, ErrorKind::BrokenPipe);
            let mut received = Vec::new();
            stream.read_to_end(&mut received).await?;
            assert_eq!(received, [4, 5, 6]);
            Ok(())
        },
    );
}

#[test]
fn reading_into_nothing_takes_nothing() {
    with_connection(
        async |mut stream: TcpStream| Ok(stream.write_u8(1).await?),
        async |mut stream: TcpStream| {
            stream.readable().await?;
            assert_eq!(stream.read(&mut []).await?, 0);
            assert_eq!(stream.read_u8().await?, 1);
            // At the end, too.
            assert_eq!(stream.read(&mut []).await?, 0);
            Ok(())
        },
    );
}

#[test]
fn writing_nothing_is_not_the_end() {
    with_connection(
        async |mut stream: TcpStream| {
            assert_eq!(stream.read_u8().await?, 1);
            Ok(())
        },
        async |mut stream: TcpStream| {
            assert_eq!(stream.write(&[]).await?, 0);
            stream.write_u8(1).await?;
            Ok(())
        },
    );
}

#[test]
fn a_message_can_be_read_in_parts() {
    with_connection(
        async |mut stream: TcpStream| {
            stream.write_u64(0x0102_0304_0506_0708).await?;
            stream.write_u64(9).await?;
            Ok(())
        },
        async |mut stream: TcpStream| {
            assert_eq!(stream.read_u8().await?, 1);
            let mut rest = [0; 7];
            assert_eq!(stream.read(&mut rest).await?, 7);
            assert_eq!(rest, [2, 3, 4, 5, 6, 7, 8]);
            assert_eq!(stream.read_u64().await?, 9);
            Ok(())
        },
    );
}

#[test]
fn halves_work_apart_and_belong_together() {
    let mut sim = Builder::new().build();
    sim.client("server", async {
        let listener = listen().await?;
        let (mut stream, _) = listener.accept().await?;
        assert_eq!(stream.read_u8().await?, 1);
        // The half that writes was dropped.
        assert_eq!(stream.read(&mut [0]).await?, 0);
        stream.write_u8(2).await?;
        let (_one, _other) = (listener.accept().await?, listener.accept().await?);
        Ok(())
    });
    sim.client("client", async {
        let (mut read, mut write) = TcpStream::connect(SERVER).await?.into_split();
        let task = tokio::spawn(async move { write.write_u8(1).await });
        assert_eq!(read.read_u8().await?, 2);
        task.await??;
        let (read_one, write_one) = TcpStream::connect(SERVER).await?.into_split();
        let (read_other, write_other) = TcpStream::connect(SERVER).await?.into_split();
        let error = read_one.reunite(write_other).unwrap_err();
        error.0.reunite(write_one)?;
        assert!(read_other.reunite(error.1).is_ok());
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn peeking_leaves_what_it_sees() {
    let (peeked, go_on) = oneshot::channel();
    with_connection(
        async move |mut stream: TcpStream| {
            stream.write_u64(12).await?;
            go_on.await?;
            stream.write_u64(34).await?;
            Ok(())
        },
        async move |mut stream: TcpStream| {
            assert_eq!(stream.peek(&mut []).await?, 0);
            let mut buffer = [0; 8];
            for _ in 0..2 {
                assert_eq!(stream.peek(&mut buffer).await?, 8);
                assert_eq!(u64::from_be_bytes(buffer), 12);
            }
            assert_eq!(stream.read_u64().await?, 12);
            // Of a second message, and at the end.
            peeked.send(()).unwrap();
            assert_eq!(stream.peek(&mut buffer).await?, 8);
            assert_eq!(u64::from_be_bytes(buffer), 34);
            assert_eq!(stream.read_u64().await?, 34);
            assert_eq!(stream.peek(&mut buffer).await?, 0);
            assert_eq!(stream.read(&mut buffer).await?, 0);
            Ok(())
        },
    );
}

#[test]
fn peeking_sees_as_much_as_there_is_room_for() {
    with_connection(
        async |mut stream: TcpStream| Ok(stream.write_all(&[1, 2, 3, 4]).await?),
        async |mut stream: TcpStream| {
            let (mut two, mut four) = ([0; 2], [0; 4]);
            assert_eq!(stream.peek(&mut two).await?, 2);
            assert_eq!(two, [1, 2]);
            assert_eq!(stream.peek(&mut four).await?, 4);
            assert_eq!(four, [1, 2, 3, 4]);
            assert_eq!(stream.read(&mut two).await?, 2);
            assert_eq!(stream.peek(&mut four).await?, 2);
            assert_eq!(four[..2], [3, 4]);
            Ok(())
        },
    );
}

#[test]
fn both_versions_can_be_bound_on_every_host() {
    for version in [IpVersion::V4, IpVersion::V6] {
        let mut sim = Builder::new().ip_version(version).build();
        sim.client("host", async {
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
            assert!(listener.local_addr()?.is_ipv4());
            let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).await?;
            assert!(listener.local_addr()?.is_ipv6());
            Ok(())
        });
        sim.run().unwrap();
    }
}

#[test]
fn an_address_of_nobody_cannot_be_bound() {
    let mut sim = Builder::new().build();
    sim.client("host", async {
        fails(
            TcpListener::bind("1.1.1.1:1").await,
            ErrorKind::AddrNotAvailable,
        );
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn hosts_connect_over_ipv6() {
    let mut sim = Builder::new().ip_version(IpVersion::V6).build();
    sim.client("server", async {
        let listener = TcpListener::bind(("::", 80)).await?;
        let (_, from) = listener.accept().await?;
        assert_eq!(from.ip(), lookup("client"));
        Ok(())
    });
    sim.client("client", async {
        let stream = TcpStream::connect("server:80").await?;
        assert_eq!(stream.peer_addr()?.ip(), lookup("server"));
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_port_is_that_of_one_listener() {
    let (bound, is_bound) = oneshot::channel();
    let mut sim = Builder::new().build();
    sim.client("server", async move {
        let listener = listen().await?;
        fails(listen().await, ErrorKind::AddrInUse);
        bound.send(()).unwrap();
        listener.accept().await?;
        Ok(())
    });
    sim.client("client", async move {
        is_bound.await?;
        TcpStream::connect(SERVER).await?;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_host_reaches_itself_at_once() {
    let mut sim = Builder::new().tick_duration(10 * MS).build();
    sim.client("host", async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 4000)).await?;
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            sleep(25 * MS).await;
            stream.write_u128(9).await.unwrap();
        });
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, 4000)).await?;
        assert!(elapsed() < MS);
        assert_eq!(stream.read_u128().await?, 9);
        Ok(())
    });
    assert!(!sim.step().unwrap());
    assert!(!sim.step().unwrap());
    assert!(sim.step().unwrap());
}

/// Connects a host to itself, by the address `to`.
fn connects_to_itself(bound: IpAddr, to: IpAddr) {
    let version = if to.is_ipv4() {
        IpVersion::V4
    } else {
        IpVersion::V6
    };
    let mut sim = Builder::new().ip_version(version).build();
    sim.client("host", async move {
        let listener = TcpListener::bind((bound, 4000)).await?;
        let task = tokio::spawn(async move {
            let (mut stream, from) = listener.accept().await.unwrap();
            assert_eq!(from.ip(), to);
            assert_eq!(stream.local_addr().unwrap(), SocketAddr::new(to, 4000));
            assert_eq!(stream.peer_addr().unwrap(), from);
            stream.write_all(b"hello").await.unwrap();
        });
        let mut stream = TcpStream::connect((to, 4000)).await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        assert_eq!(text, "hello");
        assert_eq!(stream.local_addr()?.ip(), to);
        assert_eq!(stream.peer_addr()?, SocketAddr::new(to, 4000));
        task.await?;
        Ok(())
    });
    sim.run().unwrap();
}

const PUBLIC_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1));
const PUBLIC_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1));

#[test]
fn a_wildcard_is_reached_over_the_loopback() {
    connects_to_itself(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::LOCALHOST.into());
    connects_to_itself(Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::LOCALHOST.into());
}

#[test]
fn localhost_is_reached_over_the_loopback() {
    connects_to_itself(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into());
    connects_to_itself(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
}

#[test]
fn a_wildcard_is_reached_by_the_public_address() {
    connects_to_itself(Ipv4Addr::UNSPECIFIED.into(), PUBLIC_V4);
    connects_to_itself(Ipv6Addr::UNSPECIFIED.into(), PUBLIC_V6);
}

#[test]
fn localhost_is_not_reached_by_the_public_address() {
    for (bound, to) in [
        (IpAddr::from(Ipv4Addr::LOCALHOST), PUBLIC_V4),
        (IpAddr::from(Ipv6Addr::LOCALHOST), PUBLIC_V6),
    ] {
        let version = if to.is_ipv4() {
            IpVersion::V4
        } else {
            IpVersion::V6
        };
        let mut sim = Builder::new().ip_version(version).build();
        sim.client("host", async move {
            let _listener = TcpListener::bind((bound, 4000)).await?;
            fails(
                TcpStream::connect((to, 4000)).await,
                ErrorKind::ConnectionRefused,
            );
            Ok(())
        });
        sim.run().unwrap();
    }
}

#[test]
fn localhost_is_not_reached_by_other_hosts() {
    let (stop, is_stopped) = oneshot::channel();
    let mut sim = Builder::new().build();
    sim.client("server", async {
        let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, SERVER.1)).await?;
        is_stopped.await?;
        Ok(())
    });
    sim.client("client", async {
        fails(
            TcpStream::connect(SERVER).await,
            ErrorKind::ConnectionRefused,
        );
        stop.send(()).unwrap();
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn time_passes_while_a_host_talks_to_itself() {
    let mut sim = Builder::new().build();
    sim.client("host", async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 4000)).await?;
        let task = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let start = elapsed().as_nanos();
            stream.write_u128(start).await.unwrap();
            assert!(stream.read_u128().await.unwrap() > start);
        });
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, 4000)).await?;
        let sent_at = stream.read_u128().await?;
        assert!(elapsed().as_nanos() > sent_at);
        stream.write_u128(elapsed().as_nanos()).await?;
        task.await?;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn writing_to_an_end_of_the_same_host_that_was_dropped_fails() {
    let mut sim = Builder::new().build();
    sim.client("host", async {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 4000)).await?;
        tokio::spawn(async move {
            loop {
                listener.accept().await.unwrap();
            }
        });
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, 4000)).await?;
        assert_eq!(stream.read(&mut [0; 8]).await?, 0);
        let error = loop {
            sleep(100 * MS).await;
            if let Err(error) = stream.write_u8(1).await {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn connections_with_little_room_are_as_many_as_others() {
    let mut sim = even(1);
    sim.host("server", || async {
        let listener = listen().await?;
        loop {
            tokio::spawn(count(listener.accept().await?.0));
        }
    });
    for n in 0..20 {
        sim.client(format!("client {n}"), async {
            ask_for(&mut TcpStream::connect(SERVER).await?, 3).await
        });
    }
    sim.run().unwrap();
}

#[test]
fn a_host_that_does_not_exist_cannot_be_reached() {
    let mut sim = Builder::new().simulation_duration(1000 * SECOND).build();
    sim.client("client", async {
        assert_eq!(lookup("client"), PUBLIC_V4);
        let error = TcpStream::connect("192.168.0.2:80").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HostUnreachable);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn the_ephemeral_ports_come_to_an_end() {
    let mut sim = Builder::new().ephemeral_ports(50000..=50009).build();
    sim.client("host", async {
        let listener = TcpListener::bind("127.0.0.1:4000").await?;
        let mut streams = Vec::new();
        let error = loop {
            match TcpStream::connect("127.0.0.1:4000").await {
                Ok(stream) => streams.push((stream, listener.accept().await?)),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
        assert_eq!(streams.len(), 10);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn writing_need_not_wait() {
    with_connection(
        async |stream: TcpStream| {
            assert_eq!(stream.try_write(b"hello!")?, 6);
            Ok(())
        },
        async |mut stream: TcpStream| {
            let mut buffer = [0; 6];
            stream.read_exact(&mut buffer).await?;
            assert_eq!(&buffer, b"hello!");
            Ok(())
        },
    );
}

/// Stops something that is on its way, and goes on two seconds later: it arrives then.
fn arrives_later(cut: fn(), mend: fn()) {
    let mut sim = Builder::new()
        .min_message_latency(10 * MS)
        .max_message_latency(10 * MS)
        .build();
    sim.client("server", async move {
        let (mut stream, _) = listen().await?.accept().await?;
        stream.write_u8(1).await?;
        cut();
        sleep(2 * SECOND).await;
        mend();
        assert_eq!(stream.read(&mut [0]).await?, 0);
        Ok(())
    });
    sim.client("client", async {
        let mut stream = TcpStream::connect(SERVER).await?;
        assert!(timeout(SECOND, stream.read_u8()).await.is_err());
        assert_eq!(stream.read_u8().await?, 1);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_partition_loses_what_is_on_its_way() {
    arrives_later(
        || partition("server", "client"),
        || repair("server", "client"),
    );
}

#[test]
fn a_partition_in_one_direction_loses_what_is_on_its_way() {
    arrives_later(
        || partition_oneway("server", "client"),
        || repair_oneway("server", "client"),
    );
}

#[test]
fn a_held_link_keeps_what_is_on_its_way() {
    arrives_later(|| hold("server", "client"), || release("server", "client"));
}

/// Writes single bytes until there is no room for another one, and returns how many there were.
fn fill(stream: &TcpStream) -> usize {
    let mut written = 0;
    loop {
        match stream.try_write(b"x") {
            Ok(length) => written += length,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                return written;
            }
        }
    }
}

#[test]
fn writers_wait_while_a_link_is_held() {
    let mut sim = even(4);
    sim.client("server", async {
        let (mut stream, _) = listen().await?.accept().await?;
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await?;
        assert_eq!(received, b"xxxxy");
        Ok(())
    });
    sim.client("client", async {
        let mut stream = TcpStream::connect(SERVER).await?;
        hold("client", "server");
        assert_eq!(fill(&stream), 4);
        assert!(timeout(SECOND, stream.writable()).await.is_err());
        release("client", "server");
        stream.writable().await?;
        stream.write_all(b"y").await?;
        stream.shutdown().await?;
        Ok(())
    });
    sim.run().unwrap();
}

/// Fills the buffers of both ends, and returns how many bytes there were.
async fn fill_both(stream: &TcpStream) -> usize {
    let mut written = fill(stream);
    while let Ok(result) = timeout(5 * SECOND, stream.writable()).await {
        result.unwrap();
        written += fill(stream);
    }
    written
}

#[test]
fn writers_wait_for_a_peer_that_does_not_read() {
    let mut sim = even(4);
    sim.host("server", || async {
        let _connection = listen().await?.accept().await?;
        pending().await
    });
    sim.client("client", async {
        let stream = TcpStream::connect(SERVER).await?;
        assert_eq!(fill(&stream), 4);
        assert_eq!(fill_both(&stream).await, 4);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn more_than_the_capacity_flows_to_a_peer_that_reads() {
    let mut sim = even(4);
    sim.client("server", async {
        let (mut stream, _) = listen().await?.accept().await?;
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await?;
        assert_eq!(received, (0..100).collect::<Vec<u8>>());
        Ok(())
    });
    sim.client("client", async {
        let mut stream = TcpStream::connect(SERVER).await?;
        for n in 0..100 {
            stream.write_all(&[n]).await?;
        }
        stream.shutdown().await?;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn one_direction_fills_while_the_other_one_flows() {
    let mut sim = even(4);
    sim.host("server", || async {
        let (mut stream, _) = listen().await?.accept().await?;
        stream.write_all(b"hello").await?;
        pending().await
    });
    sim.client("client", async {
        let mut stream = TcpStream::connect(SERVER).await?;
        sleep(SECOND).await;
        partition_oneway("client", "server");
        assert_eq!(fill(&stream), 4);
        let mut buffer = [0; 4];
        stream.read_exact(&mut buffer).await?;
        assert_eq!(&buffer, b"hell");
        assert!(timeout(SECOND, stream.writable()).await.is_err());
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn writers_wait_for_a_peer_on_the_same_host() {
    let mut sim = even(4);
    sim.client("host", async {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 4000)).await?;
        let accept = spawn_local(async move { listener.accept().await });
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, 4000)).await?;
        let (mut server, _) = accept.await??;
        assert_eq!(fill_both(&client).await, 8);
        let mut buffer = [0; 8];
        server.read_exact(&mut buffer).await?;
        assert_eq!(&buffer, b"xxxxxxxx");
        client.writable().await?;
        client.write_all(b"y").await?;
        assert_eq!(server.read_u8().await?, b'y');
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn closing_with_unread_bytes_resets() {
    with_connection(
        async |mut stream: TcpStream| {
            stream.write_all(b"unread").await?;
            fails(stream.read(&mut [0]).await, ErrorKind::ConnectionReset);
            Ok(())
        },
        async |stream: TcpStream| {
            assert_eq!(stream.peek(&mut [0]).await?, 1);
            Ok(())
        },
    );
}

#[test]
fn names_are_looked_up() {
    let mut sim = Builder::new().build();
    sim.host("host", || async { Ok(()) });
    sim.client("client", async {
        let found: Vec<_> = tokio::net::lookup_host("host:4000").await?.collect();
        assert_eq!(found, [SocketAddr::new(lookup("host"), 4000)]);
        assert!(tokio::net::lookup_host("nobody:4000").await.is_err());
        assert!(tokio::net::lookup_host("host").await.is_err());
        Ok(())
    });
    sim.run().unwrap();
}
