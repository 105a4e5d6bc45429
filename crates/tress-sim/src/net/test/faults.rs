//! TCP when packets are lost, links are cut and hosts crash.

use super::*;

fn rough(seed: u64) -> World {
    let link = LinkConfig {
        latency: Latency::Uniform {
            min: MS,
            max: 30 * MS,
        },
        loss: 0.1,
        duplication: 0.05,
        reordering: 0.1,
        ..LinkConfig::default()
    };
    World::with(
        2,
        seed,
        Config {
            link,
            ..Config::default()
        },
    )
}

#[test]
fn bytes_arrive_in_order_over_a_bad_network() {
    for seed in 0..20 {
        let mut world = rough(seed);
        let (client, server) = world.connection();
        let bytes = pattern(150_000);
        assert_eq!(world.transfer(client, server, &bytes), bytes, "seed {seed}");
        assert_eq!(world.transfer(server, client, &bytes), bytes, "seed {seed}");
        world.net.close(world.now, client);
        world.until(|world| world.is(server, ready::RDHUP));
        assert_eq!(world.receive(server), Ok(vec![]));
        world.net.close(world.now, server);
        world.pass(1000 * SECOND);
        assert_eq!(world.net.sockets.iter().count(), 0, "seed {seed}");
        let counters = world.net.counters();
        assert!(counters.lost > 0 && counters.delivered > 0);
    }
}

#[test]
fn one_seed_gives_one_run() {
    let run = |seed| {
        let mut world = rough(seed);
        world.net.set_log(true);
        let (client, server) = world.connection();
        world.transfer(client, server, &pattern(50_000));
        (world.now, world.net.counters(), world.net.take_log())
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3).2, run(4).2);
}

#[test]
fn a_connection_survives_a_partition() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    world.net.partition_oneway(A, B);
    world.send(client, b"late").unwrap();
    world.pass(60 * SECOND);
    assert_eq!(world.receive(server), Err(libc::EAGAIN));
    world.net.repair_oneway(A, B);
    assert_eq!(world.receive_all(server, 4), b"late");
}

#[test]
fn a_partition_that_lasts_ends_the_connection() {
    let mut world = World::new(2);
    let (client, _) = world.connection();
    let start = world.now;
    world.net.partition_oneway(A, B);
    world.send(client, b"lost").unwrap();
    world.until(|world| world.is(client, ready::ERR));
    let took = world.now.since(start).as_secs();
    assert!((900..960).contains(&took), "{took}");
    assert_eq!(world.error(client), libc::ETIMEDOUT);
    assert_eq!(world.receive(client), Ok(vec![]));
}

#[test]
fn the_users_limit_ends_it_earlier() {
    let mut world = World::new(2);
    let (client, _) = world.connection();
    world.set(client, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, 5000);
    let start = world.now;
    world.net.partition_oneway(A, B);
    world.send(client, b"lost").unwrap();
    world.until(|world| world.is(client, ready::ERR));
    assert_eq!(world.now.since(start), 5 * SECOND);
    assert_eq!(world.receive(client), Err(libc::ETIMEDOUT));
}

#[test]
fn a_connect_that_nobody_answers_hangs_for_two_minutes() {
    let mut world = World::new(2);
    world.net.crash(world.now, B, How::PowerLoss);
    let client = world.tcp(A);
    world.connect(client, at(1, 80)).unwrap_err();
    world.until(|world| world.is(client, ready::ERR));
    assert_eq!(world.now.elapsed(), 127 * SECOND);
    assert_eq!(world.net.connected(client), Some(Err(libc::ETIMEDOUT)));
    let client = world.tcp(A);
    let start = world.now;
    world.connect(client, at(9, 80)).unwrap_err();
    world.until(|world| world.is(client, ready::ERR));
    assert_eq!(world.now.since(start), 3 * SECOND);
    assert_eq!(world.error(client), libc::EHOSTUNREACH);
}

#[test]
fn after_power_loss_the_peer_learns_by_a_reset() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    world.net.crash(world.now, B, How::PowerLoss);
    assert_eq!(world.receive(server), Err(libc::ENETDOWN));
    assert_eq!(
        world.net.socket(B, libc::AF_INET, libc::SOCK_STREAM, 0),
        Err(libc::ENETDOWN)
    );
    world.net.close(world.now, server);
    world.pass(1000 * SECOND);
    assert_eq!(world.receive(client), Err(libc::EAGAIN), "half open");
    world.net.switch_on(B);
    world.send(client, b"anyone?").unwrap();
    world.until(|world| world.is(client, ready::ERR));
    assert_eq!(world.receive(client), Err(libc::ECONNRESET));
    assert_eq!(world.net.counters().established, 0);
}

#[test]
fn a_kill_closes_what_was_open() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    let listener = world.listener(B, 81);
    world.net.crash(world.now, B, How::Kill);
    assert_eq!(world.send(server, b"x"), Err(libc::ENETDOWN));
    assert_eq!(world.net.accept(listener), Err(libc::ENETDOWN));
    world.until(|world| world.is(client, ready::RDHUP));
    assert_eq!(world.receive(client), Ok(vec![]));
    let other = world.tcp(A);
    world.connect(other, at(1, 81)).unwrap_err();
    world.until(|world| world.is(other, ready::ERR));
    assert_eq!(world.error(other), libc::ECONNREFUSED);
    world.net.close(world.now, server);
    world.net.switch_on(B);
    world.listener(B, 81);
}

#[test]
fn a_client_that_forgot_its_connection_gets_another() {
    let mut world = World::new(2);
    world.net.config.ephemeral_ports = 50_000..=50_000;
    let listener = world.listener(B, 80);
    let client = world.tcp(A);
    world.connect(client, at(1, 80)).unwrap_err();
    world.until(|world| world.is(listener, ready::IN));
    let server = world.net.accept(listener).unwrap();
    world.net.crash(world.now, A, How::PowerLoss);
    world.net.switch_on(A);
    let client = world.tcp(A);
    world.connect(client, at(1, 80)).unwrap_err();
    world.until(|world| world.is(client, ready::OUT));
    assert_eq!(world.receive(server), Err(libc::ECONNRESET));
    world.until(|world| world.is(listener, ready::IN));
    let server = world.net.accept(listener).unwrap();
    world.send(client, b"again").unwrap();
    assert_eq!(world.receive_all(server, 5), b"again");
}

#[test]
fn keep_alive_finds_dead_peers_and_keeps_living_ones() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    world.set(client, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 10);
    world.set(client, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 2);
    world.set(client, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 3);
    world.set(client, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1);
    world.pass(1000 * SECOND);
    assert_eq!(world.receive(client), Err(libc::EAGAIN));
    world.send(server, b"x").unwrap();
    assert_eq!(world.receive_all(client, 1), b"x");
    let start = world.now;
    world.net.crash(world.now, B, How::PowerLoss);
    world.until(|world| world.is(client, ready::ERR));
    assert_eq!(world.now.since(start), 16 * SECOND);
    assert_eq!(world.receive(client), Err(libc::ETIMEDOUT));
}

#[test]
fn a_window_that_was_told_in_vain_is_asked_for() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    let bytes = pattern(128 * 1024);
    let mut sent = world.send(client, &bytes).unwrap();
    world.pass(SECOND);
    sent += world.send(client, &bytes[sent..]).unwrap();
    world.pass(SECOND);
    world.net.partition_oneway(B, A);
    let mut got = world.receive(server).unwrap();
    world.pass(5 * SECOND);
    world.net.repair_oneway(B, A);
    got.extend(world.receive_all(server, sent - got.len()));
    assert_eq!(got, bytes[..sent]);
}

#[test]
fn what_is_held_arrives_when_it_is_released() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    world.net.hold(A, B);
    world.send(client, b"one").unwrap();
    world.send(client, b"two").unwrap();
    world.pass(100 * MS);
    assert_eq!(world.receive(server), Err(libc::EAGAIN));
    let held: Vec<_> = world
        .net
        .in_flight()
        .iter()
        .map(|(_, packet)| packet.due)
        .collect();
    assert_eq!(held, [None, None]);
    world.net.release(world.now, A, B);
    let now = world.now;
    assert_eq!(world.receive_all(server, 6), b"onetwo");
    assert_eq!(world.now, now);
}

#[test]
fn a_packet_can_be_delivered_at_once_or_dropped() {
    let mut world = World::new(2);
    let (a, b) = (world.udp(A), world.udp(B));
    world.bind(b, at(1, 9)).unwrap();
    for text in [&b"one"[..], b"two", b"three"] {
        world.send_to(a, text, at(1, 9)).unwrap();
    }
    let ids: Vec<_> = world.net.in_flight().iter().map(|(id, _)| *id).collect();
    let now = world.now;
    world.net.drop_packet(now, ids[0], Loss::Taken);
    world.net.deliver(now, ids[2]);
    world.until(|world| world.is(b, ready::IN));
    assert_eq!(
        (world.now, world.receive(b).unwrap()),
        (now, b"three".to_vec())
    );
    world.pass(SECOND);
    assert_eq!(world.receive(b).unwrap(), b"two");
    assert_eq!(world.receive(b), Err(libc::EAGAIN));
}

#[test]
fn links_fail_and_are_repaired_by_chance() {
    let mut world = World::new(2);
    world.net.config.link.fail_rate = 0.05;
    world.net.config.link.repair_rate = 0.5;
    let (client, server) = world.connection();
    let bytes = pattern(100_000);
    assert_eq!(world.transfer(client, server, &bytes), bytes);
    assert!(world.net.counters().lost > 0);
}

#[test]
fn bandwidth_limits_what_arrives() {
    let mut world = World::new(2);
    let (client, server) = world.connection();
    world.net.overrides(A, B).bandwidth = Some(Some(100_000));
    let start = world.now;
    world.transfer(client, server, &pattern(200_000));
    let took = world.now.since(start);
    assert!((2 * SECOND..3 * SECOND).contains(&took), "{took:?}");
    // What does not fit into the queue is lost, and sent again.
    world.net.overrides(A, B).queue = Some(20_000);
    let lost = world.net.counters().lost;
    let bytes = pattern(200_000);
    assert_eq!(world.transfer(client, server, &bytes), bytes);
    assert!(world.net.counters().lost > lost);
}

#[test]
fn the_log_tells_of_each_packet() {
    let mut world = World::new(2);
    world.net.set_log(true);
    let (client, server) = world.connection();
    world.send(client, b"hello").unwrap();
    world.receive_all(server, 5);
    world.net.partition_oneway(A, B);
    world.send(client, b"lost").unwrap();
    let log = world.net.take_log();
    let kinds: Vec<_> = log.iter().map(|record| record.kind).collect();
    use PacketKind::{Accept, Acknowledge, Connect, Data};
    assert_eq!(kinds, [Connect, Accept, Acknowledge, Data, Data]);
    assert_eq!(log[3].length, 5);
    assert_eq!(log[3].end, End::Delivered(log[3].sent + 10 * MS));
    assert_eq!(log[4].end, End::Lost(log[4].sent, Loss::Partition));
    assert_eq!(
        (log[0].from, log[0].to, log[0].destination),
        (A, Some(B), at(1, 80))
    );
}

#[test]
fn the_log_tells_what_the_network_has_done_to_a_packet() {
    let mut world = World::new(2);
    world.net.set_log(true);
    let (client, server) = world.connection();
    world.net.overrides(A, B).duplication = Some(1.0);
    world.send(client, b"twice").unwrap();
    world.receive_all(server, 5);
    world.net.overrides(A, B).duplication = None;
    world.pass(SECOND);
    world.net.hold(A, B);
    world.send(client, b"kept").unwrap();
    // Long enough for the segment to be sent again, which is kept as well.
    world.pass(SECOND);
    let now = world.now;
    world.net.release(now, A, B);
    world.receive_all(server, 4);
    world.pass(SECOND);
    let log = world.net.take_log();
    let data = |wanted: usize| {
        let data = log
            .iter()
            .filter(move |record| record.kind == PacketKind::Data && record.length == wanted);
        data.map(|record| (record.was_held, record.is_copy, record.is_repeated))
            .collect::<Vec<_>>()
    };
    let mut twice = data(5);
    twice.sort_unstable();
    assert_eq!(twice, [(false, false, false), (false, true, false)]);
    assert_eq!(data(4)[..2], [(true, false, false), (true, false, true)]);
}

#[test]
fn many_hosts_and_an_hour_are_quick() {
    let mut world = World::with(100, 1, Config::default());
    let sockets: Vec<_> = (0..100).map(|host| world.udp(HostId(host))).collect();
    for (host, id) in sockets.iter().enumerate() {
        world.bind(*id, at(host, 9)).unwrap();
    }
    for second in 0..60 {
        for (host, id) in sockets.iter().enumerate() {
            world
                .send_to(*id, b"gossip", at((host + second + 1) % 100, 9))
                .unwrap();
        }
        world.pass(SECOND);
        for id in &sockets {
            while world.receive(*id).is_ok() {}
        }
    }
    assert!(world.net.counters().delivered >= 59 * 100);
    assert_eq!(world.happened as u64, world.net.counters().delivered);
}

#[test]
fn a_kill_resets_what_nobody_has_accepted() {
    let mut world = World::new(2);
    let listener = world.listener(B, 80);
    let clients = [world.tcp(A), world.tcp(A), world.tcp(A)];
    for client in &clients[..2] {
        world.connect(*client, at(1, 80)).unwrap_err();
    }
    world.until(|world| world.is(clients[0], ready::OUT));
    world.send(clients[0], b"unread").unwrap();
    world.pass(SECOND);
    assert!(world.is(listener, ready::IN));
    // One whose handshake has not ended.
    world.connect(clients[2], at(1, 80)).unwrap_err();
    world.pass(15 * MS);
    world.net.crash(world.now, B, How::Kill);
    world.pass(SECOND);
    for client in clients {
        assert_ne!(world.error(client), 0);
        world.net.close(world.now, client);
    }
    world.pass(100 * SECOND);
    assert_eq!(world.net.sockets.iter().count(), 0);
}

#[test]
fn storms_of_everything_end() {
    for seed in 0..30 {
        let mut world = rough(seed);
        let mut stream = Stream::new(seed, "storm");
        world.net.config.time_wait = SECOND;
        let mut listener = world.listener(B, 80);
        let mut open: Vec<SocketId> = Vec::new();
        for _ in 0..400 {
            match stream.below(12) {
                0..3 => {
                    let client = world.tcp(A);
                    world.connect(client, at(1, 80)).unwrap_err();
                    open.push(client);
                }
                3 => open.extend(world.net.accept(listener)),
                4..7 if !open.is_empty() => {
                    let id = open[stream.below(open.len())];
                    let _ = world.send(id, &pattern(stream.below(30_000)));
                }
                7 | 8 if !open.is_empty() => {
                    let id = open[stream.below(open.len())];
                    let _ = world.receive(id);
                }
                9 if !open.is_empty() => {
                    let id = open.swap_remove(stream.below(open.len()));
                    world.net.close(world.now, id);
                }
                10 => match stream.below(6) {
                    0 => world.net.partition_oneway(A, B),
                    1 => world.net.hold(B, A),
                    2 => world.net.release(world.now, B, A),
                    3 if stream.happens(0.3) => {
                        let how = [How::Kill, How::PowerLoss][stream.below(2)];
                        world.net.crash(world.now, B, how);
                        world.net.switch_on(B);
                        listener = world.listener(B, 80);
                    }
                    _ => world.net.repair_oneway(A, B),
                },
                _ => world.pass(stream.between(Duration::ZERO, SECOND)),
            }
        }
        world.net.repair_oneway(A, B);
        world.net.release(world.now, B, A);
        for id in open {
            world.net.close(world.now, id);
        }
        world.net.close(world.now, listener);
        world.pass(2000 * SECOND);
        assert_eq!(world.net.sockets.iter().count(), 0, "seed {seed}");
        assert_eq!(world.net.counters().established, 0, "seed {seed}");
        assert!(world.net.in_flight().is_empty(), "seed {seed}");
        for names in &world.net.names {
            assert!(names.is_empty(), "seed {seed}: {names:?}");
        }
    }
}
