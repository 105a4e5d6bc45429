//! TCP without faults of the network.

use super::*;

#[test]
fn a_connection_takes_a_round_trip() {
    let mut world = World::new(2);
    let listener = world.listener(B, 80);
    let client = world.tcp(A);
    assert_eq!(world.net.readiness(client), ready::OUT | ready::HUP);
    assert_eq!(world.connect(client, at(1, 80)), Err(libc::EINPROGRESS));
    assert_eq!(world.net.readiness(client), 0);
    assert_eq!(world.connect(client, at(1, 80)), Err(libc::EALREADY));
    assert_eq!(world.net.remote_address(client), Err(libc::ENOTCONN));
    assert_eq!(world.net.accept(listener), Err(libc::EAGAIN));
    world.until(|world| world.is(client, ready::OUT));
    assert_eq!(world.now.elapsed(), 20 * MS);
    assert_eq!(world.error(client), 0);
    assert_eq!(world.connect(client, at(1, 80)), Ok(()));
    assert_eq!(world.connect(client, at(1, 80)), Err(libc::EISCONN));
    world.until(|world| world.is(listener, ready::IN));
    assert_eq!(world.now.elapsed(), 30 * MS);
    let server = world.net.accept(listener).unwrap();
    let local = world.net.local_address(client).unwrap();
    assert_eq!(world.net.remote_address(server).unwrap(), local);
    let Address::Internet(local) = local else {
        panic!()
    };
    assert_eq!((local.ip(), local.port()), (ip(0), 49152));
    assert_eq!(
        world.net.remote_address(client),
        Ok(Address::Internet(at(1, 80)))
    );
    assert_eq!(
        world.net.local_address(server),
        Ok(Address::Internet(at(1, 80)))
    );
    assert_eq!(world.net.counters().established, 2);
    assert_eq!((world.net.established(A), world.net.established(B)), (1, 1));
}

#[test]
fn a_message_and_its_acknowledgement_are_two_packets() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    let before = (world.net.counters().sent, world.happened);
    assert_eq!(world.send(client, b"hello"), Ok(5));
    assert_eq!(world.receive_all(server, 5), b"hello");
    world.pass(50 * MS);
    assert_eq!(world.net.counters().sent - before.0, 2);
    assert_eq!(world.happened - before.1, 2);
    assert_eq!(world.receive(server), Err(libc::EAGAIN));
}

#[test]
fn a_refused_connection_says_so_once() {
    let mut world = World::new(2);
    let client = world.tcp(A);
    assert_eq!(world.connect(client, at(1, 81)), Err(libc::EINPROGRESS));
    world.until(|world| world.is(client, ready::ERR));
    assert_eq!(world.now.elapsed(), 20 * MS);
    assert!(world.is(client, ALL_OVER | ready::ERR));
    assert_eq!(world.error(client), libc::ECONNREFUSED);
    assert_eq!(world.error(client), 0);
    assert_eq!(world.send(client, b"x"), Err(libc::EPIPE));
    // The socket may be used for another attempt.
    let listener = world.listener(B, 81);
    assert_eq!(world.net.connected(client), Some(Err(libc::ECONNABORTED)));
    assert_eq!(world.connect(client, at(1, 81)), Err(libc::EINPROGRESS));
    world.until(|world| world.is(listener, ready::IN));
}

#[test]
fn large_transfers_obey_the_window() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    let bytes = pattern(1_000_000);
    let mut sent = 0;
    while let Ok(n) = world.send(client, &bytes[sent..]) {
        sent += n;
    }
    assert_eq!(sent, 64 * 1024);
    assert!(!world.is(client, ready::OUT));
    // The receiver does not read: its buffer fills, then the sender's.
    world.pass(SECOND);
    assert_eq!(world.net.unread(server), Ok(64 * 1024));
    while let Ok(n) = world.send(client, &bytes[sent..]) {
        sent += n;
    }
    world.pass(SECOND);
    assert_eq!(
        (sent, world.net.unread(server)),
        (128 * 1024, Ok(64 * 1024))
    );
    let got = world.receive_all(server, sent);
    assert_eq!(got, bytes[..sent]);
    world.until(|world| world.is(client, ready::OUT));
    assert_eq!(world.transfer(client, server, &bytes), bytes);
    assert_eq!(world.transfer(server, client, &bytes), bytes);
}

#[test]
fn segments_are_no_larger_than_packets() {
    let mut world = World::new(2);
    world.net.overrides(A, B).mtu = Some(540);
    let (client, _) = world.connection();
    world.send(client, &pattern(2000)).unwrap();
    let lengths: Vec<_> = world
        .net
        .in_flight()
        .iter()
        .map(|(_, packet)| packet.bytes().len())
        .collect();
    assert_eq!(lengths, [500, 500, 500, 500]);
}

#[test]
fn buffers_have_the_sizes_that_were_set() {
    let mut world = World::new(2);
    let listener = world.listener(B, 80);
    world.set(listener, libc::SOL_SOCKET, libc::SO_RCVBUF, 5000);
    let client = world.tcp(A);
    world.set(client, libc::SOL_SOCKET, libc::SO_SNDBUF, 3000);
    let size = world.net.option(client, libc::SOL_SOCKET, libc::SO_SNDBUF);
    assert_eq!(size, Ok(Value::Number(6000)));
    world.connect(client, at(1, 80)).unwrap_err();
    world.until(|world| world.is(listener, ready::IN));
    let server = world.net.accept(listener).unwrap();
    assert_eq!(world.send(client, &pattern(10_000)), Ok(3000));
    world.pass(SECOND);
    assert_eq!(world.send(client, &pattern(10_000)), Ok(3000));
    world.pass(SECOND);
    assert_eq!(world.net.unread(server), Ok(5000));
}

#[test]
fn half_close_leaves_the_other_direction() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    world.send(client, b"request").unwrap();
    world
        .net
        .shutdown(world.now, client, libc::SHUT_WR)
        .unwrap();
    assert_eq!(world.send(client, b"more"), Err(libc::EPIPE));
    assert_eq!(world.receive_all(server, 7), b"request");
    world.until(|world| world.is(server, ready::RDHUP));
    assert_eq!(world.receive(server), Ok(vec![]));
    assert!(!world.is(server, ready::HUP));
    world.send(server, b"answer").unwrap();
    assert_eq!(world.receive_all(client, 6), b"answer");
    world.net.close(world.now, server);
    world.until(|world| world.is(client, ready::HUP));
    assert_eq!(world.receive(client), Ok(vec![]));
    assert_eq!(world.net.readiness(client), ALL_OVER);
    assert_eq!(world.net.counters().established, 0);
}

#[test]
fn data_before_the_end_is_read_after_the_close() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    let bytes = pattern(40_000);
    assert_eq!(world.send(client, &bytes), Ok(40_000));
    world.net.close(world.now, client);
    assert_eq!(world.receive_all(server, 40_000), bytes);
    world.until(|world| world.receive(server) == Ok(vec![]));
    // The other direction still works until the other end is told that nobody reads.
    assert_eq!(world.send(server, b"x"), Ok(1));
    world.until(|world| world.is(server, ready::ERR));
    assert_eq!(world.receive(server), Ok(vec![]));
    assert_eq!(world.error(server), libc::EPIPE);
    assert_eq!(world.send(server, b"x"), Err(libc::EPIPE));
}

#[test]
fn close_with_unread_data_or_without_linger_resets() {
    for is_unread in [true, false] {
        let mut world = World::new(2);
        let (client, server) = world.connection();
        if is_unread {
            world.send(client, b"unread").unwrap();
            world.until(|world| world.is(server, ready::IN));
        } else {
            world.net.options_mut(server).unwrap().linger = Some(0);
        }
        world.net.close(world.now, server);
        world.until(|world| world.is(client, ready::ERR));
        assert!(world.is(client, ALL_OVER));
        assert_eq!(world.receive(client), Err(libc::ECONNRESET));
        assert_eq!(world.receive(client), Ok(vec![]));
        assert_eq!(world.send(client, b"x"), Err(libc::EPIPE));
        assert_eq!(world.net.remote_address(client), Err(libc::ENOTCONN));
        world.net.close(world.now, client);
        assert_eq!(world.net.sockets.iter().count(), 0);
    }
}

#[test]
fn peek_leaves_bytes_and_ends_are_seen() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    world.send(client, b"abc").unwrap();
    world.until(|world| world.is(server, ready::IN));
    let mut buffer = [0; 2];
    for _ in 0..2 {
        let peek = Receive {
            peek: true,
            waits: false,
        };
        let got = world
            .net
            .receive(world.now, server, &mut [&mut buffer], peek)
            .unwrap();
        assert_eq!((got.copied, &buffer), (2, b"ab"));
    }
    assert_eq!(world.receive(server).unwrap(), b"abc");
    world
        .net
        .shutdown(world.now, server, libc::SHUT_RD)
        .unwrap();
    assert_eq!(world.receive(server), Ok(vec![]));
    assert!(world.is(server, ready::RDHUP) && !world.is(server, ready::HUP));
}

#[test]
fn both_ends_close_at_once() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    world.net.close(world.now, client);
    world.net.close(world.now, server);
    world.pass(SECOND);
    assert_eq!(world.net.sockets.iter().count(), 2, "both wait out");
    world.pass(100 * SECOND);
    assert_eq!(world.net.sockets.iter().count(), 0);
    assert!(!world.step(Time::MAX), "nothing is left");
}

#[test]
fn a_port_is_taken_until_the_connection_is_forgotten() {
    let mut world = World::new(2);
    let listener = world.tcp(B);
    world.bind(listener, at(1, 80)).unwrap();
    world.net.listen(listener, 128).unwrap();
    let client = world.tcp(A);
    world.connect(client, at(1, 80)).unwrap_err();
    world.until(|world| world.is(listener, ready::IN));
    let server = world.net.accept(listener).unwrap();
    let second = world.tcp(B);
    assert_eq!(world.bind(second, at(1, 80)), Err(libc::EADDRINUSE));
    world.net.close(world.now, listener);
    assert_eq!(
        world.bind(second, at(1, 80)),
        Err(libc::EADDRINUSE),
        "a connection has it"
    );
    world.net.close(world.now, server);
    world.pass(SECOND);
    world.net.close(world.now, client);
    world.pass(SECOND);
    assert_eq!(
        world.bind(second, at(1, 80)),
        Err(libc::EADDRINUSE),
        "it waits out"
    );
    world.pass(60 * SECOND);
    assert_eq!(world.bind(second, at(1, 80)), Ok(()));
}

#[test]
fn a_port_that_waits_out_is_reused_if_all_agree() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    world.net.close(world.now, server);
    world.pass(SECOND);
    world.net.close(world.now, client);
    world.pass(SECOND);
    let listener = world.listener(B, 80);
    let client = world.tcp(A);
    world.connect(client, at(1, 80)).unwrap_err();
    world.until(|world| world.is(listener, ready::IN));
    let other = world.tcp(B);
    world.set(other, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1);
    assert_eq!(
        world.bind(other, at(1, 80)),
        Err(libc::EADDRINUSE),
        "one listens"
    );
}

#[test]
fn addresses_that_cannot_be_had() {
    let mut world = World::new(2);
    let socket = world.tcp(A);
    assert_eq!(world.bind(socket, at(1, 80)), Err(libc::EADDRNOTAVAIL));
    assert_eq!(world.bind(socket, at(0, 80)), Ok(()));
    assert_eq!(world.bind(socket, at(0, 81)), Err(libc::EINVAL));
    let socket = world.tcp(A);
    let v6: SocketAddr = "[fe80::1]:80".parse().unwrap();
    assert_eq!(world.connect(socket, v6), Err(libc::EAFNOSUPPORT));
    let socket = world
        .net
        .socket(A, libc::AF_INET6, libc::SOCK_STREAM, 0)
        .unwrap();
    assert_eq!(world.connect(socket, v6), Err(libc::ENETUNREACH));
    assert_eq!(
        world.net.socket(A, libc::AF_NETLINK, libc::SOCK_RAW, 0),
        Err(libc::EAFNOSUPPORT)
    );
    assert_eq!(world.net.accept(socket), Err(libc::EINVAL));
    assert_eq!(world.receive(socket), Err(libc::ENOTCONN));
    assert_eq!(world.send(socket, b"x"), Err(libc::EPIPE));
    assert_eq!(
        world.net.shutdown(world.now, socket, libc::SHUT_WR),
        Err(libc::ENOTCONN)
    );
}

#[test]
fn a_socket_of_version_six_serves_version_four() {
    let mut world = World::new(2);
    let listener = world
        .net
        .socket(B, libc::AF_INET6, libc::SOCK_STREAM, 0)
        .unwrap();
    world.bind(listener, "[::]:80".parse().unwrap()).unwrap();
    world.net.listen(listener, 8).unwrap();
    let client = world.tcp(A);
    world.connect(client, at(1, 80)).unwrap_err();
    world.until(|world| world.is(listener, ready::IN));
    let server = world.net.accept(listener).unwrap();
    let shown = |text: &str| Ok(Address::Internet(text.parse().unwrap()));
    assert_eq!(
        world.net.local_address(server),
        shown("[::ffff:10.0.0.2]:80")
    );
    assert_eq!(
        world.net.remote_address(server),
        shown("[::ffff:10.0.0.1]:49152")
    );
    let only = world
        .net
        .socket(B, libc::AF_INET6, libc::SOCK_STREAM, 0)
        .unwrap();
    world.set(only, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1);
    world.bind(only, "[::]:81".parse().unwrap()).unwrap();
    world.net.listen(only, 8).unwrap();
    let client = world.tcp(A);
    world.connect(client, at(1, 81)).unwrap_err();
    world.until(|world| world.is(client, ready::ERR));
    assert_eq!(world.error(client), libc::ECONNREFUSED);
}

#[test]
fn a_full_backlog_makes_clients_wait() {
    let mut world = World::new(2);
    let listener = world.listener(B, 80);
    world.net.listen(listener, 1).unwrap();
    let clients: Vec<_> = (0..4).map(|_| world.tcp(A)).collect();
    for client in &clients {
        world.connect(*client, at(1, 80)).unwrap_err();
        world.pass(100 * MS);
    }
    let connected = |world: &World| {
        clients
            .iter()
            .filter(|id| world.is(**id, ready::OUT))
            .count()
    };
    assert_eq!(connected(&world), 2);
    world.net.accept(listener).unwrap();
    world.net.accept(listener).unwrap();
    world.until(|world| connected(world) == 4);
    assert!(world.now.elapsed() >= SECOND);
}

#[test]
fn a_listener_that_closes_resets_what_waits() {
    let mut world = World::new(2);
    let listener = world.listener(B, 80);
    let client = world.tcp(A);
    world.connect(client, at(1, 80)).unwrap_err();
    world.until(|world| world.is(listener, ready::IN));
    world.net.close(world.now, listener);
    world.until(|world| world.is(client, ready::ERR));
    assert_eq!(world.error(client), libc::ECONNRESET);
    world.net.close(world.now, client);
    assert_eq!(world.net.sockets.iter().count(), 0);
}

#[test]
fn listeners_that_share_a_port_share_connections() {
    let mut world = World::new(2);
    let mut listeners = Vec::new();
    for _ in 0..3 {
        let id = world.tcp(B);
        world.set(id, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1);
        world.bind(id, at(1, 80)).unwrap();
        world.net.listen(id, 100).unwrap();
        listeners.push(id);
    }
    for _ in 0..60 {
        let client = world.tcp(A);
        world.connect(client, at(1, 80)).unwrap_err();
    }
    world.pass(SECOND);
    for listener in listeners {
        let mut count = 0;
        while world.net.accept(listener).is_ok() {
            count += 1;
        }
        assert!((8..40).contains(&count), "{count}");
    }
}

#[test]
fn loopback_is_fast_and_each_hosts_own() {
    let mut world = World::new(2);
    let listener = world.tcp(A);
    world
        .bind(listener, "127.0.0.1:80".parse().unwrap())
        .unwrap();
    world.net.listen(listener, 8).unwrap();
    for host in [A, B] {
        let client = world.tcp(host);
        world
            .connect(client, "127.0.0.1:80".parse().unwrap())
            .unwrap_err();
        world.pass(MS);
        assert_eq!(
            world.error(client),
            if host == A { 0 } else { libc::ECONNREFUSED }
        );
    }
    let client = world.tcp(B);
    world.connect(client, at(0, 80)).unwrap_err();
    world.until(|world| world.is(client, ready::ERR));
    assert_eq!(world.error(client), libc::ECONNREFUSED);
}

#[test]
fn ports_are_shared_by_connections_to_different_addresses() {
    let mut world = World::new(3);
    world.net.config.ephemeral_ports = 50_000..=50_001;
    let (one, two) = (world.listener(B, 80), world.listener(HostId(2), 80));
    for to in [1, 1, 2, 2] {
        let client = world.tcp(A);
        assert_eq!(world.connect(client, at(to, 80)), Err(libc::EINPROGRESS));
    }
    let client = world.tcp(A);
    assert_eq!(world.connect(client, at(1, 80)), Err(libc::EADDRNOTAVAIL));
    let bound = world.tcp(A);
    assert_eq!(world.bind(bound, at(0, 50_000)), Err(libc::EADDRINUSE));
    world.pass(SECOND);
    for listener in [one, two] {
        assert!(world.net.accept(listener).is_ok() && world.net.accept(listener).is_ok());
    }
}

#[test]
fn options_are_kept() {
    let mut world = World::new(1);
    let id = world.tcp(A);
    for (level, name, value) in [
        (libc::SOL_SOCKET, libc::SO_REUSEADDR, 1),
        (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
        (libc::IPPROTO_TCP, libc::TCP_NODELAY, 1),
        (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 30),
        (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 5),
        (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 3),
        (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, 7000),
        (libc::IPPROTO_IP, libc::IP_TTL, 12),
        (libc::IPPROTO_IP, libc::IP_TOS, 16),
    ] {
        assert_ne!(world.net.option(id, level, name), Ok(Value::Number(value)));
        world.set(id, level, name, value);
        assert_eq!(world.net.option(id, level, name), Ok(Value::Number(value)));
    }
    let number = |world: &mut World, id, name| world.net.option(id, libc::SOL_SOCKET, name);
    assert_eq!(
        number(&mut world, id, libc::SO_TYPE),
        Ok(Value::Number(libc::SOCK_STREAM))
    );
    assert_eq!(
        number(&mut world, id, libc::SO_DOMAIN),
        Ok(Value::Number(libc::AF_INET))
    );
    assert_eq!(
        number(&mut world, id, libc::SO_PROTOCOL),
        Ok(Value::Number(libc::IPPROTO_TCP))
    );
    assert_eq!(
        number(&mut world, id, libc::SO_ACCEPTCONN),
        Ok(Value::Number(0))
    );
    world.net.listen(id, 1).unwrap();
    assert_eq!(
        number(&mut world, id, libc::SO_ACCEPTCONN),
        Ok(Value::Number(1))
    );
    let udp = world.udp(A);
    let gso = world
        .net
        .set_option(world.now, udp, libc::SOL_UDP, libc::UDP_SEGMENT, 1200);
    assert_eq!(gso, Err(libc::ENOPROTOOPT));
}

#[test]
fn both_ends_ask_at_once() {
    let mut world = World::new(2);
    let (one, two) = (world.tcp(A), world.tcp(B));
    world.bind(one, at(0, 80)).unwrap();
    world.bind(two, at(1, 80)).unwrap();
    assert_eq!(world.connect(one, at(1, 80)), Err(libc::EINPROGRESS));
    assert_eq!(world.connect(two, at(0, 80)), Err(libc::EINPROGRESS));
    world.until(|world| world.is(one, ready::OUT) && world.is(two, ready::OUT));
    let bytes = pattern(10_000);
    assert_eq!(world.transfer(one, two, &bytes), bytes);
    assert_eq!(world.transfer(two, one, &bytes), bytes);
}

#[test]
fn a_socket_connects_to_itself() {
    let mut world = World::new(1);
    let id = world.tcp(A);
    world.bind(id, at(0, 80)).unwrap();
    assert_eq!(world.connect(id, at(0, 80)), Err(libc::EINPROGRESS));
    world.until(|world| world.is(id, ready::OUT));
    assert_eq!(world.transfer(id, id, b"me"), b"me");
}
