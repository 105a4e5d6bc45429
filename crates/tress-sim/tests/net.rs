//! Programs of several hosts that talk by the standard library's sockets, by Tokio's, and by system calls.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tress_sim::{Builder, Result, Sim};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn simulation<'a>() -> Sim<'a> {
    let mut builder = Builder::new();
    builder.simulation_duration(10_000 * SECOND);
    builder
        .min_message_latency(5 * MS)
        .max_message_latency(5 * MS);
    builder.build()
}

/// A host that sends back what it is sent, one thread for each connection.
fn echo(sim: &mut Sim<'_>) {
    sim.host("server", || async {
        let listener = TcpListener::bind("0.0.0.0:7")?;
        for stream in listener.incoming() {
            let mut stream = stream?;
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    stream.write_all(&buffer[..n]).unwrap();
                }
            });
        }
        Ok(())
    });
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 31 + n / 251) as u8).collect()
}

/// Runs a program on one host.
fn on_a_host(f: impl FnOnce() -> Result + 'static) {
    let mut sim = simulation();
    sim.client("host", async { f() });
    sim.run().unwrap();
}

#[test]
fn blocking_streams_of_the_standard_library() {
    let mut sim = simulation();
    echo(&mut sim);
    sim.client("client", async {
        let start = Instant::now();
        let mut stream = TcpStream::connect("server:7")?;
        assert!(start.elapsed() >= 10 * MS);
        assert_eq!(stream.peer_addr()?.port(), 7);
        stream.write_all(b"hello")?;
        let mut buffer = [0; 5];
        assert_eq!(stream.peek(&mut buffer[..2])?, 2);
        stream.read_exact(&mut buffer)?;
        assert_eq!(&buffer, b"hello");
        // More than all buffers on the way hold: another thread has to read.
        let bytes = pattern(1_000_000);
        let mut writer = stream.try_clone()?;
        let sent = bytes.clone();
        let thread = thread::spawn(move || {
            writer.write_all(&sent).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut got = Vec::new();
        stream.read_to_end(&mut got)?;
        assert!(got == bytes);
        thread.join().unwrap();
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn errors_and_limits_of_blocking_calls() {
    let mut sim = simulation();
    echo(&mut sim);
    sim.host("silent", || async {
        let _listener = TcpListener::bind("0.0.0.0:7")?;
        std::future::pending().await
    });
    sim.client("client", async {
        let refused = TcpStream::connect("server:8").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let taken = TcpListener::bind("192.168.77.77:80").unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AddrNotAvailable);
        let mut stream = TcpStream::connect("silent:7")?;
        stream.set_read_timeout(Some(SECOND))?;
        assert_eq!(stream.read_timeout()?, Some(SECOND));
        let start = Instant::now();
        assert_eq!(
            stream.read(&mut [0]).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        assert!(start.elapsed() >= SECOND && start.elapsed() < SECOND + MS);
        stream.set_nonblocking(true)?;
        assert_eq!(
            stream.read(&mut [0]).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        let address = (tress_sim::lookup("silent"), 9).into();
        let refused = TcpStream::connect_timeout(&address, SECOND).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        tress_sim::partition("client", "silent");
        let late = TcpStream::connect_timeout(&address, SECOND).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        let start = Instant::now();
        let late = TcpStream::connect(address).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 127);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn options_are_kept() {
    on_a_host(|| {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        stream.set_nodelay(true)?;
        assert!(stream.nodelay()?);
        stream.set_ttl(9)?;
        assert_eq!(stream.ttl()?, 9);
        assert!(stream.take_error()?.is_none());
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.set_keepalive(true)?;
        socket.set_reuseport(true)?;
        socket.set_recv_buffer_size(10_000)?;
        assert!(socket.keepalive()? && socket.reuseport()?);
        assert_eq!(socket.recv_buffer_size()?, 20_000);
        assert!(TcpListener::bind(listener.local_addr()?).is_err());
        Ok(())
    });
}

#[test]
fn streams_of_tokio_over_a_bad_network() {
    for seed in 0..5 {
        let mut builder = Builder::new();
        builder.rng_seed(seed).simulation_duration(10_000 * SECOND);
        builder.loss(0.05).duplication(0.02).reordering(0.05);
        let mut sim = builder.build();
        sim.host("server", || async {
            let listener = tokio::net::TcpListener::bind("0.0.0.0:7").await?;
            loop {
                let (mut stream, _) = listener.accept().await?;
                tokio::spawn(async move {
                    let (mut reader, mut writer) = stream.split();
                    tokio::io::copy(&mut reader, &mut writer).await
                });
            }
        });
        for client in 0..4 {
            sim.client(format!("client{client}"), async move {
                let stream = tokio::net::TcpStream::connect("server:7").await?;
                let (mut reader, mut writer) = stream.into_split();
                let bytes = pattern(100_000);
                let sent = bytes.clone();
                tokio::spawn(async move {
                    writer.write_all(&sent).await.unwrap();
                    writer.shutdown().await.unwrap();
                });
                let mut got = Vec::new();
                reader.read_to_end(&mut got).await?;
                assert!(got == bytes);
                Ok(())
            });
        }
        sim.run().unwrap();
    }
}

#[test]
fn one_seed_gives_one_run() {
    let run = |seed| {
        let mut builder = Builder::new();
        builder
            .rng_seed(seed)
            .loss(0.1)
            .simulation_duration(10_000 * SECOND);
        let mut sim = builder.build();
        echo(&mut sim);
        let took = Rc::new(Cell::new(Duration::ZERO));
        let result = took.clone();
        sim.client("client", async move {
            let start = Instant::now();
            let mut stream = tokio::net::TcpStream::connect("server:7").await?;
            for n in 0..20 {
                stream.write_all(&[n]).await?;
                assert_eq!(stream.read_u8().await?, n);
            }
            result.set(start.elapsed());
            Ok(())
        });
        sim.run().unwrap();
        (took.get(), sim.elapsed(), sim.events())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_crash_and_a_kill_are_seen_by_peers() {
    let mut sim = simulation();
    sim.host("server", || async {
        let listener = tokio::net::TcpListener::bind("0.0.0.0:7").await?;
        let mut streams = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await?;
            stream.write_all(b"!").await?;
            streams.push(stream);
        }
    });
    // What the client has reached, and what has been done to the server.
    let (reached, done) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (reached2, done2) = (reached.clone(), done.clone());
    sim.client("client", async move {
        let until = async |n| {
            while done2.get() < n {
                tokio::time::sleep(MS).await;
            }
        };
        let mut stream = tokio::net::TcpStream::connect("server:7").await?;
        assert_eq!(stream.read_u8().await?, b'!');
        reached2.set(1);
        // The server was killed: its system has told us.
        assert_eq!(stream.read(&mut [0; 8]).await?, 0);
        let refused = tokio::net::TcpStream::connect("server:7")
            .await
            .unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        reached2.set(2);
        until(2).await;
        let mut stream = tokio::net::TcpStream::connect("server:7").await?;
        assert_eq!(stream.read_u8().await?, b'!');
        reached2.set(3);
        until(3).await;
        // It has lost its power, and is on again: nobody tells us until we ask.
        stream.write_all(b"anyone?").await?;
        let error = stream.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        Ok(())
    });
    let until = |sim: &mut Sim<'_>, n| {
        while reached.get() < n {
            assert!(!sim.step().unwrap());
        }
    };
    until(&mut sim, 1);
    sim.kill("server");
    until(&mut sim, 2);
    sim.bounce("server");
    // Its program is to listen before the client connects.
    sim.step().unwrap();
    done.set(2);
    until(&mut sim, 3);
    sim.bounce("server");
    done.set(3);
    sim.run().unwrap();
}

#[test]
fn datagrams() {
    let mut sim = simulation();
    sim.host("server", || async {
        let socket = UdpSocket::bind("0.0.0.0:7")?;
        let mut buffer = [0; 2000];
        loop {
            let (n, from) = socket.recv_from(&mut buffer)?;
            socket.send_to(&buffer[..n], from)?;
        }
    });
    sim.client("client", async {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.send_to(b"hello", "server:7")?;
        let mut buffer = [0; 3];
        assert_eq!(socket.peek_from(&mut buffer)?.0, 3);
        let (n, from) = socket.recv_from(&mut buffer)?;
        assert_eq!((n, from.port(), &buffer), (3, 7, b"hel"));
        let socket = tokio::net::UdpSocket::bind("0.0.0.0:0").await?;
        socket.connect("server:7").await?;
        socket.send(b"by tokio").await?;
        let mut buffer = [0; 100];
        assert_eq!(socket.recv(&mut buffer).await?, 8);
        socket.connect("server:8").await?;
        socket.send(b"x").await?;
        let refused = socket.recv(&mut buffer).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        socket.set_broadcast(true)?;
        assert!(socket.broadcast()?);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn multicast() {
    let group = Ipv4Addr::new(224, 0, 0, 251);
    let mut sim = simulation();
    for member in ["one", "two"] {
        sim.host(member, move || async move {
            let socket = UdpSocket::bind("0.0.0.0:5353")?;
            socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?;
            let (_, from) = socket.recv_from(&mut [0; 10])?;
            socket.send_to(member.as_bytes(), from)?;
            Ok(())
        });
    }
    sim.client("asker", async move {
        let socket = tokio::net::UdpSocket::bind("0.0.0.0:0").await?;
        tokio::time::sleep(SECOND).await;
        socket.send_to(b"who?", (group, 5353)).await?;
        let mut names = Vec::new();
        for _ in 0..2 {
            let mut buffer = [0; 10];
            let (n, _) = socket.recv_from(&mut buffer).await?;
            names.push(buffer[..n].to_vec());
        }
        names.sort();
        assert_eq!(names, [b"one", b"two"]);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn unix_sockets_within_a_host() {
    on_a_host(|| {
        let (mut one, mut two) = UnixStream::pair()?;
        let thread = thread::spawn(move || {
            let mut bytes = vec![0; 500_000];
            two.read_exact(&mut bytes).unwrap();
            two.write_all(b"done").unwrap();
            bytes
        });
        let bytes = pattern(500_000);
        one.write_all(&bytes)?;
        let mut text = String::new();
        one.read_to_string(&mut text)?;
        assert!(thread.join().unwrap() == bytes && text == "done");

        let listener = UnixListener::bind("/run/service")?;
        let thread = thread::spawn(move || listener.accept().unwrap());
        let mut client = UnixStream::connect("/run/service")?;
        let (mut server, _) = thread.join().unwrap();
        assert_eq!(
            client.peer_addr()?.as_pathname().unwrap().to_str(),
            Some("/run/service")
        );
        client.write_all(b"x")?;
        drop(client);
        let mut got = Vec::new();
        server.read_to_end(&mut got)?;
        assert_eq!(got, b"x");
        assert_eq!(
            server.write(b"x").unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );

        let socket = UnixDatagram::bind("/run/datagrams")?;
        let other = UnixDatagram::unbound()?;
        other.send_to(b"one", "/run/datagrams")?;
        let mut buffer = [0; 10];
        let (n, from) = socket.recv_from(&mut buffer)?;
        assert!(n == 3 && from.is_unnamed());
        Ok(())
    });
}

#[test]
fn pipes() {
    on_a_host(|| {
        let mut both = [0; 2];
        // SAFETY: there is room for two descriptors, which are nobody else's.
        let (mut reader, mut writer) = unsafe {
            assert_eq!(libc::pipe2(both.as_mut_ptr(), libc::O_CLOEXEC), 0);
            (
                std::fs::File::from_raw_fd(both[0]),
                std::fs::File::from_raw_fd(both[1]),
            )
        };
        let thread = thread::spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let bytes = pattern(200_000);
        writer.write_all(&bytes)?;
        drop(writer);
        assert!(thread.join().unwrap() == bytes);
        Ok(())
    });
}

#[test]
fn names_of_hosts() {
    let mut sim = simulation();
    sim.host("other", std::future::pending);
    sim.client("here", async {
        let found: Vec<_> = tokio::net::lookup_host("other:80").await?.collect();
        assert_eq!(found, [SocketAddr::new(tress_sim::lookup("other"), 80)]);
        assert!(tokio::net::lookup_host("nobody:80").await.is_err());
        let local: Vec<_> = tokio::net::lookup_host("localhost:1").await?.collect();
        assert!(local.iter().all(|address| address.ip().is_loopback()));
        let mut name = [0u8; 64];
        // SAFETY: there is room for that many bytes.
        let result = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
        assert_eq!(result, 0);
        assert_eq!(&name[..5], b"here\0");
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn devices_of_a_host() {
    on_a_host(|| {
        let mut list = std::ptr::null_mut();
        let mut found = Vec::new();
        // SAFETY: the list is valid until it is freed.
        unsafe {
            assert_eq!(libc::getifaddrs(&mut list), 0);
            let mut entry = list;
            while let Some(device) = entry.as_ref() {
                let name = std::ffi::CStr::from_ptr(device.ifa_name)
                    .to_str()?
                    .to_owned();
                let address = device.ifa_addr.cast::<libc::sockaddr_in>().read();
                let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
                found.push((name, IpAddr::from(ip)));
                entry = device.ifa_next;
            }
            libc::freeifaddrs(list);
            assert_eq!(libc::if_nametoindex(c"eth0".as_ptr()), 2);
        }
        let own = ("eth0".to_owned(), tress_sim::lookup("host"));
        assert_eq!(found, [("lo".to_owned(), Ipv4Addr::LOCALHOST.into()), own]);
        Ok(())
    });
}

#[test]
fn messages_tell_their_destination_and_service() {
    on_a_host(|| {
        let socket = UdpSocket::bind("0.0.0.0:9")?;
        let on: libc::c_int = 1;
        for option in [libc::IP_PKTINFO, libc::IP_RECVTOS] {
            // SAFETY: the value is a number of that size.
            let set = unsafe {
                let value = (&raw const on).cast();
                libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, option, value, 4)
            };
            assert_eq!(set, 0);
        }
        let mut bytes = *b"ping";
        let mut part = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: 4,
        };
        let mut control = [0u64; 16];
        // SAFETY: the messages refer to buffers that outlive the calls, and the macros keep within them.
        let (sent, received, service, to) = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            let mut address: libc::sockaddr_in = std::mem::zeroed();
            address.sin_family = libc::AF_INET as _;
            address.sin_port = 9u16.to_be();
            address.sin_addr.s_addr = u32::from(Ipv4Addr::LOCALHOST).to_be();
            message.msg_name = (&raw mut address).cast();
            message.msg_namelen = size_of::<libc::sockaddr_in>() as _;
            (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(4) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::IPPROTO_IP;
            (*header).cmsg_type = libc::IP_TOS;
            (*header).cmsg_len = libc::CMSG_LEN(4) as _;
            libc::CMSG_DATA(header)
                .cast::<libc::c_int>()
                .write_unaligned(2);
            let sent = libc::sendmsg(socket.as_raw_fd(), &message, 0);

            message.msg_controllen = size_of_val(&control) as _;
            let received = libc::recvmsg(socket.as_raw_fd(), &mut message, 0);
            assert_eq!(message.msg_flags, 0);
            let (mut service, mut to) = (None, None);
            let mut header = libc::CMSG_FIRSTHDR(&message);
            while !header.is_null() {
                match (*header).cmsg_type {
                    libc::IP_TOS => service = Some(libc::CMSG_DATA(header).read()),
                    libc::IP_PKTINFO => {
                        let info = libc::CMSG_DATA(header).cast::<libc::in_pktinfo>();
                        let info = info.read_unaligned();
                        to = Some(Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)));
                    }
                    other => panic!("{other}"),
                }
                header = libc::CMSG_NXTHDR(&message, header);
            }
            (sent, received, service, to)
        };
        assert_eq!((sent, received), (4, 4));
        assert_eq!((service, to), (Some(2), Some(Ipv4Addr::LOCALHOST)));
        Ok(())
    });
}

#[test]
fn several_messages_at_once() {
    on_a_host(|| {
        let (one, two) = UnixDatagram::pair()?;
        let mut texts = [*b"one", *b"two"];
        let mut parts = texts.each_mut().map(|text| libc::iovec {
            iov_base: text.as_mut_ptr().cast(),
            iov_len: 3,
        });
        // SAFETY: zeros are a value of it.
        let mut messages: [libc::mmsghdr; 2] = unsafe { std::mem::zeroed() };
        for (message, part) in messages.iter_mut().zip(&mut parts) {
            (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (part, 1);
        }
        // SAFETY: the messages refer to buffers that outlive the calls.
        unsafe {
            assert_eq!(
                libc::sendmmsg(one.as_raw_fd(), messages.as_mut_ptr(), 2, 0),
                2
            );
            let (fd, all, none) = (two.as_raw_fd(), messages.as_mut_ptr(), std::ptr::null_mut());
            assert_eq!(libc::recvmmsg(fd, all, 1, 0, none), 1);
            assert_eq!(libc::recvmmsg(fd, all, 2, libc::MSG_WAITFORONE, none), 1);
            assert_eq!(libc::recvmmsg(fd, all, 2, libc::MSG_DONTWAIT, none), -1);
        }
        assert_eq!(io::Error::last_os_error().kind(), ErrorKind::WouldBlock);
        assert_eq!(&texts[0], b"two");
        Ok(())
    });
}

#[test]
fn a_host_without_descriptors_cannot_accept() {
    let mut sim = simulation();
    sim.client("host", async {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let _streams: Vec<TcpStream> =
            std::iter::from_fn(|| TcpStream::connect(listener.local_addr().ok()?).ok()).collect();
        let error = listener.accept().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        drop(_streams);
        listener.accept()?;
        Ok(())
    });
    sim.set_descriptor_limit("host", 50);
    sim.run().unwrap();
}

#[test]
fn other_families_are_refused() {
    on_a_host(|| {
        // SAFETY: it makes a socket or fails.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW, 0) };
        assert_eq!(
            (fd, io::Error::last_os_error().raw_os_error()),
            (-1, Some(libc::EAFNOSUPPORT))
        );
        // SAFETY: as above; the descriptor is nobody else's.
        let (kind, socket) = unsafe {
            let socket = OwnedFd::from_raw_fd(libc::socket(libc::AF_INET6, libc::SOCK_STREAM, 0));
            let (mut kind, mut size): (libc::c_int, libc::socklen_t) = (0, 4);
            let to = (&raw mut kind).cast();
            let fd = socket.as_raw_fd();
            assert_eq!(
                libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, to, &mut size),
                0
            );
            (kind, socket)
        };
        assert_eq!(kind, libc::SOCK_STREAM);
        drop(socket);
        Ok(())
    });
}
