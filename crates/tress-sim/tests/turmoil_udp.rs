//! UDP by Tokio's types: what the tests of the crate turmoil expect, on this simulation.
//!
//! There is a test here for each of turmoil's, in its order. Where this simulation does as Linux does, and turmoil does not,
//! the test is one of Linux's behaviour:
//!
//! | test of turmoil | here |
//! |---|---|
//! | `udp_ipv4_multicast_loop`, `udp_ipv6_multicast_loop`, `joining_does_not_produce_duplicate_addresses` | A socket that joins a group for a second time is told so. |
//! | `bulk_transfer` | What arrives while the receiver runs does not count against its capacity: the receiver waits for a whole round. |
//! | `bind_ipv4_version_missmatch`, `bind_ipv6_version_missmatch` | Both versions can be bound on every host. |
//! | `loopback_delivery` | A host reaches itself within microseconds, not after a tick. |
//! | `loopback_localhost_public_v4`, `loopback_localhost_public_v6`, `socket_to_nonexistent_node` | A datagram that nobody gets is no error of the one that sends it. |
//! | `remote_to_localhost_dropped`, `hold_and_release`, `network_partition`, `ping_pong` | As in turmoil. |

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::time::{sleep, timeout};
use tress_sim::{Builder, IpVersion, Result, Sim, elapsed, hold, lookup, partition, release};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const SERVER: (&str, u16) = ("server", 4000);

async fn bind(port: u16) -> io::Result<UdpSocket> {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).await
}

#[track_caller]
fn fails<T>(result: io::Result<T>, kind: ErrorKind) {
    assert_eq!(result.err().map(|error| error.kind()), Some(kind));
}

/// Receives a datagram, and checks it and what was not written of the buffer.
async fn receive(socket: &UdpSocket, expected: &[u8]) -> Result<SocketAddr> {
    let mut buffer = [99; 100];
    let (length, from) = socket.recv_from(&mut buffer).await?;
    assert_eq!(&buffer[..length], expected);
    assert!(buffer[length..].iter().all(|byte| *byte == 99));
    Ok(from)
}

async fn receives_nothing(socket: &UdpSocket) {
    assert!(timeout(SECOND, socket.recv_from(&mut [0])).await.is_err());
}

/// Adds a server that answers each ping.
fn pong(sim: &mut Sim<'_>) {
    sim.host("server", || async {
        let socket = bind(SERVER.1).await?;
        loop {
            let from = receive(&socket, b"ping").await?;
            socket.send_to(b"pong", from).await?;
        }
    });
}

#[test]
fn a_broadcast_reaches_all_hosts_at_its_port() {
    let mut sim = Builder::new().build();
    let bound = Rc::new(Semaphore::new(0));
    for n in 0..3 {
        let bound = bound.clone();
        sim.client(format!("server {n}"), async move {
            let socket = bind(9000).await?;
            bound.add_permits(1);
            receive(&socket, &[2]).await?;
            receives_nothing(&socket).await;
            Ok(())
        });
    }
    let count = bound.clone();
    sim.client("other port", async move {
        let socket = bind(8000).await?;
        count.add_permits(1);
        receives_nothing(&socket).await;
        Ok(())
    });
    sim.client("client", async move {
        let _all = bound.acquire_many(4).await?;
        let all = (Ipv4Addr::BROADCAST, 9000);
        let socket = bind(0).await?;
        fails(socket.send_to(&[1], all).await, ErrorKind::PermissionDenied);
        socket.set_broadcast(true)?;
        assert!(socket.broadcast()?);
        socket.send_to(&[2], all).await?;
        socket.set_broadcast(false)?;
        fails(socket.send_to(&[3], all).await, ErrorKind::PermissionDenied);
        Ok(())
    });
    sim.run().unwrap();
}

const GROUP_V4: Ipv4Addr = Ipv4Addr::new(239, 0, 0, 1);
const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff08, 0, 0, 0, 0, 0, 0, 1);

fn join(socket: &UdpSocket, group: IpAddr) -> io::Result<()> {
    match group {
        IpAddr::V4(group) => socket.join_multicast_v4(group, Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(group) => socket.join_multicast_v6(&group, 0),
    }
}

fn leave(socket: &UdpSocket, group: IpAddr) -> io::Result<()> {
    match group {
        IpAddr::V4(group) => socket.leave_multicast_v4(group, Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(group) => socket.leave_multicast_v6(&group, 0),
    }
}

fn set_loop(socket: &UdpSocket, on: bool) -> io::Result<()> {
    match socket.local_addr()? {
        SocketAddr::V4(_) => socket.set_multicast_loop_v4(on),
        SocketAddr::V6(_) => socket.set_multicast_loop_v6(on),
    }
}

/// What a group is, with the version of hosts and the address that its members bind.
fn groups() -> [(IpVersion, IpAddr, IpAddr); 2] {
    [
        (IpVersion::V4, GROUP_V4.into(), Ipv4Addr::UNSPECIFIED.into()),
        (IpVersion::V6, GROUP_V6.into(), Ipv6Addr::UNSPECIFIED.into()),
    ]
}

#[test]
fn a_group_is_reached_while_one_is_in_it() {
    for (version, group, any) in groups() {
        let mut sim = Builder::new().ip_version(version).build();
        let (joined, left) = (Rc::new(Semaphore::new(0)), Rc::new(Semaphore::new(0)));
        let count = joined.clone();
        sim.client("other port", async move {
            let socket = UdpSocket::bind((any, 8000)).await?;
            join(&socket, group)?;
            count.add_permits(1);
            receives_nothing(&socket).await;
            Ok(())
        });
        for n in 0..3 {
            let (joined, left) = (joined.clone(), left.clone());
            sim.client(format!("server {n}"), async move {
                let socket = UdpSocket::bind((any, 9000)).await?;
                join(&socket, group)?;
                joined.add_permits(1);
                receive(&socket, &[1]).await?;
                leave(&socket, group)?;
                left.add_permits(1);
                receives_nothing(&socket).await;
                Ok(())
            });
        }
        sim.client("client", async move {
            let socket = UdpSocket::bind((any, 0)).await?;
            let _joined = joined.acquire_many(4).await?;
            socket.send_to(&[1], (group, 9000)).await?;
            let _left = left.acquire_many(3).await?;
            socket.send_to(&[2], (group, 9000)).await?;
            Ok(())
        });
        sim.run().unwrap();
    }
}

#[test]
fn a_member_hears_itself_unless_it_says_otherwise() {
    for (version, group, any) in groups() {
        let mut sim = Builder::new().ip_version(version).build();
        sim.client("host", async move {
            let socket = UdpSocket::bind((any, 9000)).await?;
            join(&socket, group)?;
            socket.send_to(&[1], (group, 9000)).await?;
            receive(&socket, &[1]).await?;
            // It is not a member twice.
            fails(join(&socket, group), ErrorKind::AddrInUse);
            set_loop(&socket, true)?;
            socket.send_to(&[2], (group, 9000)).await?;
            receive(&socket, &[2]).await?;
            receives_nothing(&socket).await;
            set_loop(&socket, false)?;
            socket.send_to(&[3], (group, 9000)).await?;
            receives_nothing(&socket).await;
            set_loop(&socket, true)?;
            leave(&socket, group)?;
            socket.send_to(&[4], (group, 9000)).await?;
            receives_nothing(&socket).await;
            fails(leave(&socket, group), ErrorKind::AddrNotAvailable);
            Ok(())
        });
        sim.run().unwrap();
    }
}

#[test]
fn one_that_leaves_a_group_leaves_the_others_in_it() {
    for (version, group, any) in groups() {
        let mut sim = Builder::new().ip_version(version).build();
        let left = Rc::new(Semaphore::new(0));
        for leaves in [false, true] {
            let left = left.clone();
            sim.client(format!("leaves: {leaves}"), async move {
                let socket = UdpSocket::bind((any, 9000)).await?;
                join(&socket, group)?;
                if leaves {
                    leave(&socket, group)?;
                }
                left.add_permits(1);
                match leaves {
                    true => receives_nothing(&socket).await,
                    false => {
                        receive(&socket, &[1]).await?;
                    }
                }
                Ok(())
            });
        }
        sim.client("client", async move {
            let _ready = left.acquire_many(2).await?;
            let socket = UdpSocket::bind((any, 0)).await?;
            socket.send_to(&[1], (group, 9000)).await?;
            Ok(())
        });
        sim.run().unwrap();
    }
}

#[test]
fn a_dropped_socket_has_left_its_groups() {
    let mut sim = Builder::new().build();
    sim.client("host", async {
        let socket = bind(9000).await?;
        join(&socket, GROUP_V4.into())?;
        join(&socket, Ipv4Addr::new(239, 0, 0, 2).into())?;
        drop(socket);
        let socket = bind(9000).await?;
        socket.send_to(&[1], (GROUP_V4, 9000)).await?;
        socket.send_to(&[2], ("239.0.0.2", 9000)).await?;
        receives_nothing(&socket).await;
        join(&socket, GROUP_V4.into())?;
        socket.send_to(&[3], (GROUP_V4, 9000)).await?;
        receive(&socket, &[3]).await?;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn datagrams_go_there_and_back() {
    let mut sim = Builder::new().build();
    pong(&mut sim);
    sim.client("client", async {
        let socket = bind(4000).await?;
        socket.send_to(b"ping", SERVER).await?;
        assert_eq!(receive(&socket, b"pong").await?.ip(), lookup("server"));
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_port_that_was_not_asked_for_is_an_ephemeral_one() {
    let mut sim = Builder::new().build();
    sim.client("client", async {
        assert!(bind(0).await?.local_addr()?.port() >= 49152);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn ephemeral_ports_are_used_again() {
    let mut sim = Builder::new().ephemeral_ports(50000..=50009).build();
    sim.client("client", async {
        let _kept = (bind(50008).await?, bind(50009).await?);
        for _ in 0..30 {
            assert!((50000..50008).contains(&bind(0).await?.local_addr()?.port()));
        }
        let mut sockets = Vec::new();
        let error = loop {
            match bind(0).await {
                Ok(socket) => sockets.push(socket),
                Err(error) => break error,
            }
        };
        assert_eq!(sockets.len(), 8);
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn datagrams_go_there_and_back_without_waiting() {
    let mut sim = Builder::new().build();
    sim.client("server", async {
        let socket = bind(SERVER.1).await?;
        socket.readable().await?;
        let mut buffer = [0; 8];
        let (length, from) = socket.try_recv_from(&mut buffer)?;
        assert_eq!(&buffer[..length], b"ping");
        fails(socket.try_recv_from(&mut buffer), ErrorKind::WouldBlock);
        socket.writable().await?;
        socket.try_send_to(b"pong", from)?;
        Ok(())
    });
    sim.client("client", async {
        let socket = bind(SERVER.1).await?;
        socket.writable().await?;
        socket.try_send_to(b"ping", SocketAddr::new(lookup("server"), SERVER.1))?;
        socket.readable().await?;
        let mut buffer = [0; 8];
        let (length, _) = socket.try_recv_from(&mut buffer)?;
        assert_eq!(&buffer[..length], b"pong");
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn what_has_no_room_in_the_buffer_is_lost() {
    let mut sim = Builder::new().build();
    sim.client("server", async {
        let socket = bind(SERVER.1).await?;
        let mut buffer = [0; 8];
        assert_eq!(socket.recv_from(&mut buffer).await?.0, 8);
        assert_eq!(&buffer, b"hello, w");
        receives_nothing(&socket).await;
        Ok(())
    });
    sim.client("client", async {
        bind(0).await?.send_to(b"hello, world", SERVER).await?;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_held_datagram_need_not_be_sent_again() {
    let mut sim = Builder::new().build();
    pong(&mut sim);
    sim.client("client", async {
        hold("client", "server");
        let socket = bind(0).await?;
        socket.send_to(b"ping", SERVER).await?;
        receives_nothing(&socket).await;
        release("client", "server");
        receive(&socket, b"pong").await?;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_partition_loses_datagrams() {
    let mut sim = Builder::new().build();
    pong(&mut sim);
    sim.client("client", async {
        partition("client", "server");
        let socket = bind(0).await?;
        socket.send_to(b"ping", SERVER).await?;
        receives_nothing(&socket).await;
        tress_sim::repair("client", "server");
        receives_nothing(&socket).await;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_bounced_server_remembers_nothing() {
    let seen = Rc::new(Cell::new(0));
    let publish = seen.clone();
    let mut sim = Builder::new().build();
    sim.host("server", move || {
        let publish = publish.clone();
        let mut requests = 0;
        async move {
            let socket = bind(SERVER.1).await?;
            loop {
                let from = receive(&socket, b"ping").await?;
                requests += 1;
                publish.set(requests);
                socket.send_to(b"pong", from).await?;
            }
        }
    });
    for n in 0..3 {
        sim.client(format!("client {n}"), async {
            let socket = bind(0).await?;
            socket.send_to(b"ping", SERVER).await?;
            receive(&socket, b"pong").await?;
            Ok(())
        });
        sim.run().unwrap();
        assert_eq!(seen.take(), 1);
        sim.bounce("server");
    }
}

/// Sends rounds of 128 datagrams to a socket with room for `capacity`, and checks how many of each are received.
fn keeps_as_many_as_its_capacity(mut builder: Builder, capacity: usize) {
    let mut sim = builder
        .min_message_latency(MS)
        .max_message_latency(MS)
        .build();
    let (sent, received) = (Rc::new(Notify::new()), Rc::new(Notify::new()));
    let (is_sent, is_received) = (sent.clone(), received.clone());
    sim.client("server", async move {
        let socket = bind(SERVER.1).await?;
        received.notify_one();
        for _ in 0..10 {
            is_sent.notified().await;
            sleep(2 * MS).await;
            let mut count = 0;
            while timeout(10 * MS, receive(&socket, b"ping")).await.is_ok() {
                count += 1;
            }
            assert_eq!(count, capacity);
            received.notify_one();
        }
        Ok(())
    });
    sim.client("client", async move {
        let socket = bind(0).await?;
        for _ in 0..10 {
            is_received.notified().await;
            for _ in 0..128 {
                socket.send_to(b"ping", SERVER).await?;
            }
            sent.notify_one();
        }
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_socket_keeps_64_datagrams() {
    keeps_as_many_as_its_capacity(Builder::new(), 64);
}

#[test]
fn a_socket_keeps_as_many_datagrams_as_its_capacity() {
    let mut builder = Builder::new();
    builder.udp_capacity(1);
    keeps_as_many_as_its_capacity(builder, 1);
}

#[test]
fn both_versions_can_be_bound_on_every_host() {
    for version in [IpVersion::V4, IpVersion::V6] {
        let mut sim = Builder::new().ip_version(version).build();
        sim.client("host", async {
            assert!(bind(0).await?.local_addr()?.is_ipv4());
            let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).await?;
            assert!(socket.local_addr()?.is_ipv6());
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
            UdpSocket::bind("1.1.1.1:1").await,
            ErrorKind::AddrNotAvailable,
        );
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn datagrams_travel_over_ipv6() {
    let mut sim = Builder::new().ip_version(IpVersion::V6).build();
    sim.client("server", async {
        let socket = UdpSocket::bind("[::]:80").await?;
        assert_eq!(receive(&socket, &[1]).await?.ip(), lookup("client"));
        Ok(())
    });
    sim.client("client", async {
        let socket = UdpSocket::bind("[::]:0").await?;
        socket.send_to(&[1], "server:80").await?;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_port_is_that_of_one_socket() {
    let (bound, is_bound) = oneshot::channel();
    let mut sim = Builder::new().build();
    sim.client("server", async move {
        let socket = bind(SERVER.1).await?;
        fails(bind(SERVER.1).await, ErrorKind::AddrInUse);
        bound.send(()).unwrap();
        receive(&socket, &[0]).await?;
        Ok(())
    });
    sim.client("client", async move {
        is_bound.await?;
        bind(0).await?.send_to(&[0], SERVER).await?;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_host_reaches_itself_at_once() {
    let mut sim = Builder::new().tick_duration(10 * MS).build();
    sim.client("host", async {
        let to = UdpSocket::bind((Ipv4Addr::LOCALHOST, 4000)).await?;
        let from = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        tokio::spawn(async move {
            sleep(15 * MS).await;
            from.send_to(&[1, 2, 3], (Ipv4Addr::LOCALHOST, 4000)).await
        });
        receive(&to, &[1, 2, 3]).await?;
        assert!((15 * MS..17 * MS).contains(&elapsed()), "{:?}", elapsed());
        Ok(())
    });
    assert!(!sim.step().unwrap());
    assert!(sim.step().unwrap());
}

fn version_of(address: IpAddr) -> IpVersion {
    if address.is_ipv4() {
        IpVersion::V4
    } else {
        IpVersion::V6
    }
}

/// Sends from a host to itself, by the address `to`, and back.
fn talks_to_itself(bound: IpAddr, to: IpAddr) {
    let mut sim = Builder::new().ip_version(version_of(to)).build();
    sim.client("host", async move {
        let server = UdpSocket::bind((bound, 4000)).await?;
        assert_eq!(server.local_addr()?.ip(), bound);
        let client = UdpSocket::bind((bound, 0)).await?;
        client.send_to(b"ping", (to, 4000)).await?;
        let from = receive(&server, b"ping").await?;
        assert_eq!(from, SocketAddr::new(to, client.local_addr()?.port()));
        server.send_to(b"pong", from).await?;
        assert_eq!(receive(&client, b"pong").await?, SocketAddr::new(to, 4000));
        Ok(())
    });
    sim.run().unwrap();
}

const PUBLIC_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1));
const PUBLIC_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1));

#[test]
fn a_wildcard_is_reached_over_the_loopback() {
    talks_to_itself(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::LOCALHOST.into());
    talks_to_itself(Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::LOCALHOST.into());
}

#[test]
fn localhost_is_reached_over_the_loopback() {
    talks_to_itself(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into());
    talks_to_itself(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
}

#[test]
fn a_wildcard_is_reached_by_the_public_address() {
    talks_to_itself(Ipv4Addr::UNSPECIFIED.into(), PUBLIC_V4);
    talks_to_itself(Ipv6Addr::UNSPECIFIED.into(), PUBLIC_V6);
}

#[test]
fn localhost_is_not_reached_by_the_public_address() {
    for (localhost, public) in [
        (IpAddr::from(Ipv4Addr::LOCALHOST), PUBLIC_V4),
        (IpAddr::from(Ipv6Addr::LOCALHOST), PUBLIC_V6),
    ] {
        let mut sim = Builder::new().ip_version(version_of(public)).build();
        sim.client("host", async move {
            let server = UdpSocket::bind((localhost, 4000)).await?;
            let client = UdpSocket::bind((localhost, 0)).await?;
            client.send_to(b"ping", (public, 4000)).await?;
            receives_nothing(&server).await;
            Ok(())
        });
        sim.run().unwrap();
    }
}

#[test]
fn localhost_is_not_reached_by_other_hosts() {
    let mut sim = Builder::new().build();
    sim.client("server", async {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, SERVER.1)).await?;
        receives_nothing(&socket).await;
        Ok(())
    });
    sim.client("client", async {
        bind(0).await?.send_to(&[0], SERVER).await?;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn time_passes_while_a_host_talks_to_itself() {
    let mut sim = Builder::new().build();
    sim.client("host", async {
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 4000)).await?;
        tokio::spawn(async move {
            let (_, from) = server.recv_from(&mut [0; 16]).await.unwrap();
            let now = elapsed().as_nanos().to_be_bytes();
            server.send_to(&now, from).await.unwrap();
        });
        let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let start = elapsed().as_nanos();
        client
            .send_to(&[0; 16], (Ipv4Addr::LOCALHOST, 4000))
            .await?;
        let mut buffer = [0; 16];
        client.recv_from(&mut buffer).await?;
        let between = u128::from_be_bytes(buffer);
        assert!(start < between && between < elapsed().as_nanos());
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_datagram_to_nobody_is_lost() {
    let mut sim = Builder::new().build();
    sim.client("client", async {
        assert_eq!(lookup("client"), PUBLIC_V4);
        let socket = bind(0).await?;
        assert_eq!(socket.send_to(b"hello", "192.168.0.2:80").await?, 5);
        receives_nothing(&socket).await;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_socket_without_a_peer_receives_from_all() {
    let mut sim = Builder::new().build();
    sim.client("server", async {
        let socket = bind(SERVER.1).await?;
        socket.readable().await?;
        let mut buffer = [0; 3];
        assert_eq!(socket.try_recv(&mut buffer)?, 3);
        assert_eq!(buffer, [1, 2, 3]);
        Ok(())
    });
    sim.client("client", async {
        bind(0).await?.send_to(&[1, 2, 3], SERVER).await?;
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn a_socket_with_a_peer_receives_from_it_only() {
    let (bound, is_bound) = (Rc::new(Semaphore::new(0)), Rc::new(Semaphore::new(0)));
    let mut sim = Builder::new().build();
    let (clients, server) = (bound.clone(), is_bound.clone());
    sim.client("server", async move {
        let _clients = clients.acquire_many(2).await?;
        let socket = bind(SERVER.1).await?;
        socket.connect(("peer", 5000)).await?;
        server.add_permits(2);
        socket.readable().await?;
        let mut buffer = [0; 3];
        assert_eq!(socket.try_recv(&mut buffer)?, 3);
        assert_eq!(buffer, [1, 2, 3]);
        // What the other one has sent is not for it.
        fails(socket.try_recv(&mut buffer), ErrorKind::WouldBlock);
        assert!(timeout(5 * SECOND, socket.readable()).await.is_err());
        Ok(())
    });
    for (name, bytes) in [("peer", [1, 2, 3]), ("other", [4, 5, 6])] {
        let (bound, is_bound) = (bound.clone(), is_bound.clone());
        sim.client(name, async move {
            let socket = bind(5000).await?;
            bound.add_permits(1);
            let _server = is_bound.acquire().await?;
            socket.send_to(&bytes, SERVER).await?;
            Ok(())
        });
    }
    sim.run().unwrap();
}
