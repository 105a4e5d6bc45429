//! Datagrams.

use super::*;

fn details(world: &mut World, id: SocketId, size: usize) -> (Vec<u8>, Received) {
    let mut buffer = vec![0; size];
    let into = &mut [&mut buffer[..]];
    let received = world
        .net
        .receive(world.now, id, into, Receive::default())
        .unwrap();
    buffer.truncate(received.copied);
    (buffer, received)
}

#[test]
fn datagrams_keep_their_bounds_and_sources() {
    let mut world = World::new(2);
    let (a, b) = (world.udp(A), world.udp(B));
    world.bind(b, at(1, 9)).unwrap();
    assert_eq!(world.send(a, b"x"), Err(libc::EDESTADDRREQ));
    assert_eq!(world.send_to(a, b"one", at(1, 9)), Ok(3));
    world.until(|world| world.is(b, ready::IN));
    assert_eq!(world.now.elapsed(), 10 * MS);
    world.send_to(a, b"longer", at(1, 9)).unwrap();
    world.send_to(a, b"", at(1, 9)).unwrap();
    assert_eq!(world.net.unread(b), Ok(3));
    assert_eq!(details(&mut world, b, 100).0, b"one");
    world.until(|world| world.is(b, ready::IN));
    let (bytes, received) = details(&mut world, b, 4);
    assert_eq!((&bytes[..], received.length), (&b"long"[..], 6));
    assert_eq!(received.from, Some(Address::Internet(at(0, 49152))));
    world.until(|world| world.is(b, ready::IN));
    assert_eq!(details(&mut world, b, 4).1.length, 0);
}

#[test]
fn nobody_has_the_port() {
    let mut world = World::new(2);
    let (connected, other) = (world.udp(A), world.udp(A));
    world
        .net
        .connect(world.now, connected, Address::Internet(at(1, 9)))
        .unwrap();
    world.send(connected, b"x").unwrap();
    world.send_to(other, b"x", at(1, 9)).unwrap();
    world.until(|world| world.is(connected, ready::ERR));
    assert_eq!(world.now.elapsed(), 20 * MS);
    assert_eq!(world.receive(connected), Err(libc::ECONNREFUSED));
    assert_eq!(world.receive(connected), Err(libc::EAGAIN));
    world.pass(SECOND);
    assert_eq!(world.error(other), 0);
}

#[test]
fn a_connected_socket_hears_its_peer_only() {
    let mut world = World::new(3);
    let (a, b, c) = (world.udp(A), world.udp(B), world.udp(HostId(2)));
    world.bind(a, at(0, 9)).unwrap();
    world.bind(b, at(1, 9)).unwrap();
    world
        .net
        .connect(world.now, a, Address::Internet(at(1, 9)))
        .unwrap();
    world.send_to(c, b"no", at(0, 9)).unwrap();
    world.send_to(b, b"yes", at(0, 9)).unwrap();
    world.pass(SECOND);
    assert_eq!(world.receive(a).unwrap(), b"yes");
    assert_eq!(world.receive(a), Err(libc::EAGAIN));
    assert_eq!(world.net.remote_address(a), Ok(Address::Internet(at(1, 9))));
    world.net.connect(world.now, a, Address::Nothing).unwrap();
    world.send_to(c, b"now", at(0, 9)).unwrap();
    world.pass(SECOND);
    assert_eq!(world.receive(a).unwrap(), b"now");
}

#[test]
fn a_socket_that_was_connected_hears_all_again() {
    let mut world = World::new(2);
    let (a, b) = (world.udp(A), world.udp(A));
    world.bind(a, "0.0.0.0:9".parse().unwrap()).unwrap();
    world
        .net
        .connect(world.now, a, Address::Internet(at(1, 9)))
        .unwrap();
    assert_eq!(world.net.local_address(a), Ok(Address::Internet(at(0, 9))));
    world.net.connect(world.now, a, Address::Nothing).unwrap();
    world
        .send_to(b, b"here", "127.0.0.1:9".parse().unwrap())
        .unwrap();
    world.pass(SECOND);
    assert_eq!(world.receive(a).unwrap(), b"here");
}

#[test]
fn queues_and_sizes_are_limited() {
    let mut world = World::new(2);
    let (a, b) = (world.udp(A), world.udp(B));
    world.bind(b, at(1, 9)).unwrap();
    for _ in 0..100 {
        world.send_to(a, b"x", at(1, 9)).unwrap();
    }
    world.pass(SECOND);
    let mut count = 0;
    while world.receive(b).is_ok() {
        count += 1;
    }
    assert_eq!(count, 64);
    assert_eq!(
        world.send_to(a, &[0; 65_508], at(1, 9)),
        Err(libc::EMSGSIZE)
    );
    assert_eq!(world.send_to(a, &[0; 65_507], at(1, 9)), Ok(65_507));
    world.set(
        a,
        libc::IPPROTO_IP,
        libc::IP_MTU_DISCOVER,
        libc::IP_PMTUDISC_PROBE,
    );
    assert_eq!(world.send_to(a, &[0; 1473], at(1, 9)), Err(libc::EMSGSIZE));
    assert_eq!(world.send_to(a, &[0; 1472], at(1, 9)), Ok(1472));
}

#[test]
fn a_datagram_tells_what_was_asked_for() {
    let mut world = World::new(2);
    let (a, b) = (world.udp(A), world.udp(B));
    world.bind(b, "0.0.0.0:9".parse().unwrap()).unwrap();
    world.set(b, libc::IPPROTO_IP, libc::IP_PKTINFO, 1);
    world.set(b, libc::IPPROTO_IP, libc::IP_RECVTOS, 1);
    let about = About {
        service: Some(2),
        ..About::default()
    };
    let to = Some(Address::Internet(at(1, 9)));
    world.net.send(world.now, a, &[b"ecn"], to, about).unwrap();
    world.until(|world| world.is(b, ready::IN));
    let (_, received) = details(&mut world, b, 100);
    let expected = About {
        destination: Some(ip(1)),
        service: Some(2),
        hops: None,
    };
    assert_eq!(received.about, expected);
}

#[test]
fn multicast_reaches_members() {
    let mut world = World::new(4);
    let group: IpAddr = "224.0.0.251".parse().unwrap();
    let to = SocketAddr::new(group, 5353);
    let sockets: Vec<_> = (0..4).map(|host| world.udp(HostId(host))).collect();
    for id in &sockets {
        world.bind(*id, "0.0.0.0:5353".parse().unwrap()).unwrap();
    }
    for id in &sockets[..3] {
        world.net.join(*id, group).unwrap();
        assert_eq!(world.net.join(*id, group), Err(libc::EADDRINUSE));
    }
    let heard = |world: &mut World| -> Vec<bool> {
        world.pass(SECOND);
        sockets
            .iter()
            .map(|id| world.receive(*id).is_ok())
            .collect()
    };
    world.send_to(sockets[0], b"query", to).unwrap();
    assert_eq!(heard(&mut world), [true, true, true, false]);
    world.set(sockets[0], libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP, 0);
    world.net.leave(sockets[1], group).unwrap();
    world.send_to(sockets[0], b"query", to).unwrap();
    assert_eq!(heard(&mut world), [false, false, true, false]);
    world.net.close(world.now, sockets[2]);
    world.net.crash(world.now, A, How::PowerLoss);
    assert!(world.net.groups.is_empty());
}

#[test]
fn broadcast_reaches_all_if_it_is_allowed() {
    let mut world = World::new(3);
    let sockets: Vec<_> = (0..3).map(|host| world.udp(HostId(host))).collect();
    for id in &sockets {
        world.bind(*id, "0.0.0.0:67".parse().unwrap()).unwrap();
    }
    let to = "255.255.255.255:67".parse().unwrap();
    assert_eq!(world.send_to(sockets[0], b"x", to), Err(libc::EACCES));
    world.set(sockets[0], libc::SOL_SOCKET, libc::SO_BROADCAST, 1);
    world.send_to(sockets[0], b"x", to).unwrap();
    world.pass(SECOND);
    for id in &sockets {
        assert_eq!(world.receive(*id).unwrap(), b"x");
    }
}

#[test]
fn ports_of_datagrams_are_shared_if_all_agree() {
    let mut world = World::new(1);
    let (one, two) = (world.udp(A), world.udp(A));
    world.bind(one, at(0, 9)).unwrap();
    assert_eq!(world.bind(two, at(0, 9)), Err(libc::EADDRINUSE));
    let three = world.tcp(A);
    world.bind(three, at(0, 9)).unwrap();
    world.net.close(world.now, one);
    assert_eq!(world.bind(two, at(0, 9)), Ok(()));
}

#[test]
fn names_are_looked_up() {
    let mut world = World::new(2);
    assert_eq!(world.net.lookup("host1"), Some(vec![ip(1)]));
    assert_eq!(world.net.lookup("HOST1."), Some(vec![ip(1)]));
    assert_eq!(
        world.net.lookup("10.1.2.3"),
        Some(vec!["10.1.2.3".parse().unwrap()])
    );
    assert_eq!(world.net.lookup("nobody"), None);
    assert_eq!(world.net.lookup("localhost").unwrap().len(), 2);
    world.net.add_name("service", vec![ip(0), ip(1)]);
    assert_eq!(world.net.lookup("service"), Some(vec![ip(0), ip(1)]));
    world.net.remove_name("service");
    assert_eq!(world.net.lookup("service"), None);
    assert_eq!(world.net.name_of(A, ip(1)), Some("host1"));
}
