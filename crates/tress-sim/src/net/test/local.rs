//! Unix sockets and pipes.

use super::*;

fn unix(world: &mut World, kind: c_int) -> SocketId {
    world.net.socket(A, libc::AF_UNIX, kind, 0).unwrap()
}

fn path(text: &str) -> Address {
    Address::Unix(UnixName::Path(text.as_bytes().to_vec()))
}

#[test]
fn a_stream_by_its_path() {
    let mut world = World::new(2);
    let listener = unix(&mut world, libc::SOCK_STREAM);
    let client = unix(&mut world, libc::SOCK_STREAM);
    assert_eq!(
        world.net.connect(world.now, client, path("/run/x")),
        Err(libc::ENOENT)
    );
    world.net.bind(listener, path("/run/x")).unwrap();
    assert_eq!(
        world.net.connect(world.now, client, path("/run/x")),
        Err(libc::ECONNREFUSED)
    );
    world.net.listen(listener, 0).unwrap();
    world
        .net
        .connect(world.now, client, path("/run/x"))
        .unwrap();
    let second = unix(&mut world, libc::SOCK_STREAM);
    assert_eq!(
        world.net.connect(world.now, second, path("/run/x")),
        Err(libc::EAGAIN)
    );
    assert!(world.is(listener, ready::IN));
    let server = world.net.accept(listener).unwrap();
    assert_eq!(
        world.net.connect(world.now, client, path("/run/x")),
        Err(libc::EISCONN)
    );
    world
        .net
        .connect(world.now, second, path("/run/x"))
        .unwrap();
    assert_eq!(world.net.remote_address(client), Ok(path("/run/x")));
    assert_eq!(
        world.net.remote_address(server),
        Ok(Address::Unix(UnixName::Unnamed))
    );
    world.send(client, b"hello").unwrap();
    world.send(client, b" you").unwrap();
    assert_eq!(world.receive(server).unwrap(), b"hello you");
    assert_eq!(world.receive(server), Err(libc::EAGAIN));
    let other = world
        .net
        .socket(B, libc::AF_UNIX, libc::SOCK_STREAM, 0)
        .unwrap();
    assert_eq!(
        world.net.connect(world.now, other, path("/run/x")),
        Err(libc::ENOENT)
    );
    world.net.close(world.now, client);
    assert!(world.is(server, ALL_OVER));
    assert_eq!(world.receive(server), Ok(vec![]));
    assert_eq!(world.send(server, b"x"), Err(libc::EPIPE));
}

#[test]
fn a_pair_has_a_limit_and_half_closes() {
    let mut world = World::new(1);
    let (one, two) = world
        .net
        .pair(A, libc::AF_UNIX, libc::SOCK_STREAM, 0)
        .unwrap();
    let mut sent = 0;
    while let Ok(n) = world.send(one, &[7; 10_000]) {
        sent += n;
    }
    assert_eq!(sent, unix::BUFFER);
    assert!(!world.is(one, ready::OUT));
    assert_eq!(world.receive(two).unwrap().len(), 100_000);
    assert!(world.is(one, ready::OUT));
    world.net.shutdown(world.now, one, libc::SHUT_WR).unwrap();
    assert!(world.is(two, ready::RDHUP) && !world.is(two, ready::HUP));
    while !world.receive(two).unwrap().is_empty() {}
    world.send(two, b"unread").unwrap();
    world.net.close(world.now, one);
    assert_eq!(world.receive(two), Err(libc::ECONNRESET));
    assert_eq!(world.receive(two), Ok(vec![]));
    let credentials = world.net.option(two, libc::SOL_SOCKET, libc::SO_PEERCRED);
    assert_eq!(credentials, Ok(Value::Credentials(unix::CREDENTIALS)));
}

#[test]
fn datagrams_have_names_and_bounds() {
    let mut world = World::new(1);
    let (one, two) = (
        unix(&mut world, libc::SOCK_DGRAM),
        unix(&mut world, libc::SOCK_DGRAM),
    );
    let name = Address::Unix(UnixName::Abstract(b"two".to_vec()));
    world.net.bind(two, name.clone()).unwrap();
    world.net.bind(one, path("/one")).unwrap();
    assert_eq!(world.send(one, b"x"), Err(libc::ENOTCONN));
    let now = world.now;
    let send = |world: &mut World, bytes: &[u8]| {
        world
            .net
            .send(now, one, &[bytes], Some(name.clone()), About::default())
    };
    send(&mut world, b"first").unwrap();
    send(&mut world, b"second").unwrap();
    let mut buffer = [0; 3];
    let into = &mut [&mut buffer[..]];
    let received = world
        .net
        .receive(now, two, into, Receive::default())
        .unwrap();
    assert_eq!((received.copied, received.length), (3, 5));
    assert_eq!(received.from, Some(path("/one")));
    assert_eq!(world.receive(two).unwrap(), b"second");
    while send(&mut world, b"more").is_ok() {}
    assert_eq!(send(&mut world, b"more"), Err(libc::EAGAIN));
    world.net.connect(now, one, name.clone()).unwrap();
    world.net.close(now, two);
    assert_eq!(world.send(one, b"x"), Err(libc::ECONNREFUSED));
}

#[test]
fn packets_keep_their_bounds() {
    let mut world = World::new(1);
    let (one, two) = world
        .net
        .pair(A, libc::AF_UNIX, libc::SOCK_SEQPACKET, 0)
        .unwrap();
    world.send(one, b"first").unwrap();
    world.send(one, b"second").unwrap();
    assert_eq!(world.receive(two).unwrap(), b"first");
    assert_eq!(world.receive(two).unwrap(), b"second");
    world.net.close(world.now, one);
    assert_eq!(world.receive(two), Ok(vec![]));
}

#[test]
fn a_pipe_holds_so_much_and_ends() {
    let mut world = World::new(1);
    let (reader, writer) = world.net.pipe(A).unwrap();
    assert_eq!(
        (world.net.readiness(reader), world.net.readiness(writer)),
        (0, ready::OUT)
    );
    assert_eq!(world.receive(reader), Err(libc::EAGAIN));
    assert_eq!(world.send(writer, &[1; 70_000]), Ok(65_536));
    assert_eq!(world.send(writer, b"x"), Err(libc::EAGAIN));
    assert_eq!(world.net.readiness(writer), 0);
    assert_eq!(world.receive(reader).unwrap().len(), 65_536);
    world.send(writer, b"last").unwrap();
    world.net.close(world.now, writer);
    assert_eq!(world.net.readiness(reader), ready::IN | ready::HUP);
    assert_eq!(world.receive(reader).unwrap(), b"last");
    assert_eq!(world.receive(reader), Ok(vec![]));
    let (reader, writer) = world.net.pipe(A).unwrap();
    world.net.close(world.now, reader);
    assert_eq!(world.send(writer, b"x"), Err(libc::EPIPE));
    assert!(world.is(writer, ready::ERR));
}
