//! The same calls give the same results on the simulated kernel as on Linux: values, error numbers and what is ready.
//!
//! Each program runs on a thread of the test, where calls reach the real kernel, and on a simulated host. Both write down
//! what they see; latencies differ, so a program waits a while before it looks.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use libc::{c_int, c_void, sockaddr_in, socklen_t};
use std::cell::RefCell;
use std::fmt::Debug;
use std::rc::Rc;
use tress_sim::Builder;

/// What a program has seen.
#[derive(Default)]
struct Seen(Vec<String>);

impl Seen {
    fn note(&mut self, what: &str, value: impl Debug) {
        self.0.push(format!("{what}: {value:?}"));
    }

    /// Notes the result of a call: a number, or the name of an error.
    fn call(&mut self, what: &str, result: impl TryInto<i64>) -> i64 {
        let result = result.try_into().unwrap_or(i64::MAX);
        if result < 0 {
            let error = std::io::Error::last_os_error();
            self.note(what, error.raw_os_error().unwrap_or(0));
        } else {
            self.note(what, result);
        }
        result
    }

    /// Waits a while, and notes what of a descriptor is ready.
    fn ready(&mut self, what: &str, fd: c_int) {
        pause();
        let wanted = libc::POLLIN | libc::POLLOUT | libc::POLLRDHUP | libc::POLLPRI;
        let mut poll = libc::pollfd {
            fd,
            events: wanted,
            revents: 0,
        };
        // SAFETY: it is one entry.
        unsafe { libc::poll(&mut poll, 1, 0) };
        let names = [
            (libc::POLLIN, "in"),
            (libc::POLLOUT, "out"),
            (libc::POLLERR, "err"),
            (libc::POLLHUP, "hup"),
            (libc::POLLRDHUP, "rdhup"),
            (libc::POLLPRI, "pri"),
        ];
        let set = names.iter().filter(|(bit, _)| poll.revents & bit != 0);
        let set: Vec<_> = set.map(|(_, name)| *name).collect();
        self.note(what, set.join(" "));
    }

    fn send(&mut self, fd: c_int, bytes: &[u8]) {
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the bytes are valid.
        let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) };
        self.call("send", sent as i64);
    }

    fn receive(&mut self, fd: c_int, size: usize, flags: c_int) {
        let mut buffer = vec![0u8; size];
        let to = buffer.as_mut_ptr().cast();
        // SAFETY: the buffer is valid.
        let got = unsafe { libc::recv(fd, to, size, flags | libc::MSG_DONTWAIT) };
        let got = self.call("receive", got as i64);
        buffer.truncate(usize::try_from(got).unwrap_or(0).min(size));
        self.note("bytes", String::from_utf8_lossy(&buffer).into_owned());
    }

    fn option(&mut self, what: &str, fd: c_int, level: c_int, name: c_int) {
        let (mut value, mut size): (c_int, socklen_t) = (-77, 4);
        // SAFETY: there is room for a number.
        let result =
            unsafe { libc::getsockopt(fd, level, name, (&raw mut value).cast(), &mut size) };
        self.call(what, result);
        self.note(what, value);
    }

    fn error(&mut self, fd: c_int) {
        self.option("SO_ERROR", fd, libc::SOL_SOCKET, libc::SO_ERROR);
    }
}

/// Number of random programs of each kind.
const SEEDS: u64 = 8;

/// Lets packets arrive.
fn pause() {
    // SAFETY: there are no entries.
    unsafe { libc::poll(std::ptr::null_mut(), 0, 3) };
}

fn socket(domain: c_int, kind: c_int) -> c_int {
    // SAFETY: it makes a socket or fails.
    let fd = unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, 0) };
    assert!(fd >= 0);
    fd
}

fn tcp() -> c_int {
    socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK)
}

fn udp() -> c_int {
    socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK)
}

fn close(fd: c_int) {
    // SAFETY: the program owns it.
    assert_eq!(unsafe { libc::close(fd) }, 0);
}

fn loopback(port: u16) -> sockaddr_in {
    // SAFETY: zeros are a value of it.
    let mut address: sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as _;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from(std::net::Ipv4Addr::LOCALHOST).to_be();
    address
}

const SIZE: socklen_t = size_of::<sockaddr_in>() as socklen_t;

fn bind(fd: c_int, port: u16) -> c_int {
    let address = loopback(port);
    // SAFETY: the address is valid.
    unsafe { libc::bind(fd, (&raw const address).cast(), SIZE) }
}

fn connect(fd: c_int, port: u16) -> c_int {
    let address = loopback(port);
    // SAFETY: the address is valid.
    unsafe { libc::connect(fd, (&raw const address).cast(), SIZE) }
}

fn disconnect(fd: c_int) -> c_int {
    let mut nothing = loopback(0);
    nothing.sin_family = libc::AF_UNSPEC as _;
    // SAFETY: the address is valid.
    unsafe { libc::connect(fd, (&raw const nothing).cast(), SIZE) }
}

fn port(fd: c_int) -> u16 {
    let (mut address, mut size) = (loopback(0), SIZE);
    // SAFETY: there is room for an address.
    unsafe { libc::getsockname(fd, (&raw mut address).cast(), &mut size) };
    u16::from_be(address.sin_port)
}

fn peer(fd: c_int) -> c_int {
    let (mut address, mut size) = (loopback(0), SIZE);
    // SAFETY: there is room for an address.
    unsafe { libc::getpeername(fd, (&raw mut address).cast(), &mut size) }
}

fn set(fd: c_int, level: c_int, name: c_int, value: c_int) -> c_int {
    let value: *const c_void = (&raw const value).cast();
    // SAFETY: it is a number.
    unsafe { libc::setsockopt(fd, level, name, value, 4) }
}

fn shutdown(fd: c_int, how: c_int) -> c_int {
    // SAFETY: it takes no pointers.
    unsafe { libc::shutdown(fd, how) }
}

fn listen(fd: c_int, backlog: c_int) -> c_int {
    // SAFETY: it takes no pointers.
    unsafe { libc::listen(fd, backlog) }
}

fn accept(fd: c_int) -> c_int {
    let null = std::ptr::null_mut();
    // SAFETY: no address is asked for.
    unsafe { libc::accept4(fd, null, null.cast(), libc::SOCK_NONBLOCK) }
}

fn unread(fd: c_int) -> c_int {
    let mut count = -1;
    // SAFETY: there is room for a number.
    unsafe { libc::ioctl(fd, libc::FIONREAD, &raw mut count) };
    count
}

fn listener() -> (c_int, u16) {
    let fd = tcp();
    assert_eq!(bind(fd, 0), 0);
    assert_eq!(listen(fd, 16), 0);
    (fd, port(fd))
}

/// Returns both ends of a connection.
fn connection() -> (c_int, c_int) {
    let (listener, port) = listener();
    let client = tcp();
    connect(client, port);
    pause();
    let server = accept(listener);
    assert!(server >= 0);
    // The model sends at once, always.
    for fd in [client, server] {
        assert_eq!(set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1), 0);
    }
    close(listener);
    (client, server)
}

fn pair(kind: c_int) -> (c_int, c_int) {
    let mut both = [0; 2];
    let kind = kind | libc::SOCK_NONBLOCK;
    // SAFETY: there is room for two descriptors.
    let result = unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, both.as_mut_ptr()) };
    assert_eq!(result, 0);
    (both[0], both[1])
}

/// Runs a program on both kernels, and compares what it has seen.
#[track_caller]
fn same(program: impl Fn(&mut Seen) + 'static) {
    let mut real = Seen::default();
    program(&mut real);
    let simulated = Rc::new(RefCell::new(Seen::default()));
    let mut sim = Builder::new().build();
    let seen = simulated.clone();
    sim.client("host", async move {
        program(&mut seen.borrow_mut());
        Ok(())
    });
    sim.run().unwrap();
    let simulated = simulated.take();
    let real_seen = &real.0;
    for (step, (real, simulated)) in real_seen.iter().zip(&simulated.0).enumerate() {
        let before = &real_seen[step.saturating_sub(12)..step];
        assert_eq!(
            simulated, real,
            "the simulated kernel's first, after {before:#?}"
        );
    }
    assert_eq!(real_seen.len(), simulated.0.len());
}

#[test]
fn a_new_stream_socket() {
    same(|seen| {
        let fd = tcp();
        seen.ready("new", fd);
        seen.receive(fd, 10, 0);
        seen.send(fd, b"x");
        seen.call("peer", peer(fd));
        seen.call("shutdown", shutdown(fd, libc::SHUT_WR));
        seen.call("accept", accept(fd));
        seen.error(fd);
        seen.call("bind", bind(fd, 0));
        seen.call("bind again", bind(fd, 0));
        seen.ready("bound", fd);
        seen.call("listen", listen(fd, 1));
        seen.call("listen again", listen(fd, 2));
        seen.ready("listening", fd);
        seen.call("connect", connect(fd, 1));
        seen.receive(fd, 10, 0);
        seen.send(fd, b"x");
        seen.call("accept", accept(fd));
        seen.call("shutdown", shutdown(fd, libc::SHUT_WR));
        seen.call("shutdown", shutdown(fd, libc::SHUT_RDWR));
        seen.ready("shut", fd);
        seen.call("accept", accept(fd));
        seen.call("shutdown wrongly", shutdown(fd, 9));
        for name in [
            libc::SO_TYPE,
            libc::SO_DOMAIN,
            libc::SO_PROTOCOL,
            libc::SO_ACCEPTCONN,
        ] {
            seen.option("option", fd, libc::SOL_SOCKET, name);
        }
        close(fd);
    });
}

#[test]
fn a_refused_connection() {
    same(|seen| {
        let (gone, port) = listener();
        close(gone);
        let fd = tcp();
        seen.call("connect", connect(fd, port));
        seen.ready("refused", fd);
        seen.error(fd);
        seen.error(fd);
        seen.ready("told", fd);
        seen.send(fd, b"x");
        seen.receive(fd, 1, 0);
        seen.call("connect", connect(fd, port));
        seen.call("connect", connect(fd, port));
        pause();
        seen.call("connect", connect(fd, port));
        close(fd);
        let fd = tcp();
        seen.call("connect", connect(fd, port));
        pause();
        seen.receive(fd, 1, 0);
        seen.receive(fd, 1, 0);
        close(fd);
        let fd = tcp();
        seen.call("connect", connect(fd, port));
        pause();
        seen.send(fd, b"x");
        seen.send(fd, b"x");
        seen.call("peer", peer(fd));
        close(fd);
    });
}

#[test]
fn a_connection_and_its_end() {
    same(|seen| {
        let (listener, port) = listener();
        let client = tcp();
        seen.call("connect", connect(client, port));
        seen.ready("connected", client);
        seen.ready("listening", listener);
        seen.error(client);
        seen.call("connect", connect(client, port));
        seen.call("connect", connect(client, port));
        let server = accept(listener);
        seen.call("accept", accept(listener));
        seen.ready("accepted", server);
        seen.send(client, b"hello");
        seen.ready("with bytes", server);
        seen.note("unread", unread(server));
        seen.receive(server, 3, libc::MSG_PEEK);
        seen.receive(server, 3, 0);
        seen.receive(server, 0, 0);
        seen.receive(server, 30, 0);
        seen.receive(server, 30, 0);
        seen.receive(server, 0, 0);
        seen.call("shutdown", shutdown(client, libc::SHUT_WR));
        seen.call("shutdown again", shutdown(client, libc::SHUT_WR));
        seen.ready("half closed", client);
        seen.ready("half closed", server);
        seen.send(client, b"x");
        seen.receive(server, 3, 0);
        seen.send(server, b"answer");
        pause();
        seen.receive(client, 30, 0);
        seen.call("shutdown", shutdown(server, libc::SHUT_WR));
        seen.ready("closed", client);
        seen.ready("closed", server);
        seen.call("peer", peer(client));
        seen.call("peer", peer(server));
        seen.receive(client, 3, 0);
        seen.send(server, b"x");
        seen.call("shutdown", shutdown(client, libc::SHUT_RDWR));
        seen.error(client);
        for fd in [client, server, listener] {
            close(fd);
        }
    });
}

#[test]
fn reading_is_shut() {
    same(|seen| {
        let (client, server) = connection();
        seen.call("shutdown", shutdown(client, libc::SHUT_RD));
        seen.ready("shut", client);
        seen.ready("other", server);
        seen.receive(client, 3, 0);
        seen.send(server, b"late");
        pause();
        seen.receive(client, 30, 0);
        seen.receive(client, 30, 0);
        seen.send(client, b"still");
        pause();
        seen.receive(server, 30, 0);
        seen.call("shutdown", shutdown(client, libc::SHUT_WR));
        seen.ready("shut", client);
        seen.ready("other", server);
        close(client);
        close(server);
    });
}

#[test]
fn a_close_resets_if_bytes_were_not_read() {
    same(|seen| {
        let (client, server) = connection();
        seen.send(client, b"unread");
        pause();
        close(server);
        seen.ready("reset", client);
        seen.receive(client, 1, 0);
        seen.receive(client, 1, 0);
        seen.send(client, b"x");
        seen.call("peer", peer(client));
        seen.ready("told", client);
        close(client);

        let (client, server) = connection();
        seen.send(server, b"before");
        let linger = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        // SAFETY: the value is of that type.
        unsafe {
            let value = (&raw const linger).cast();
            libc::setsockopt(server, libc::SOL_SOCKET, libc::SO_LINGER, value, 8);
        }
        pause();
        close(server);
        seen.ready("reset", client);
        seen.receive(client, 100, 0);
        seen.receive(client, 100, 0);
        seen.receive(client, 100, 0);
        close(client);
    });
}

#[test]
fn sending_to_what_was_closed() {
    same(|seen| {
        let (client, server) = connection();
        close(server);
        seen.ready("closed", client);
        seen.receive(client, 1, 0);
        seen.send(client, b"one");
        seen.ready("reset", client);
        seen.send(client, b"two");
        seen.send(client, b"three");
        seen.receive(client, 1, 0);
        seen.error(client);
        close(client);

        let (client, server) = connection();
        close(server);
        pause();
        seen.send(client, b"one");
        pause();
        seen.receive(client, 1, 0);
        seen.error(client);
        close(client);
    });
}

#[test]
fn who_may_bind() {
    same(|seen| {
        let reuse = |fd| set(fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1);
        let share = |fd| set(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1);
        for listens in [false, true] {
            for options in 0..16 {
                let (one, two) = (tcp(), tcp());
                for (bit, fd, set) in [(1, one, 0), (2, two, 0), (4, one, 1), (8, two, 1)] {
                    if options & bit != 0 {
                        if set == 0 {
                            reuse(fd)
                        } else {
                            share(fd)
                        };
                    }
                }
                assert_eq!(bind(one, 0), 0);
                if listens {
                    assert_eq!(listen(one, 1), 0);
                }
                seen.call(&format!("bind {listens} {options}"), bind(two, port(one)));
                seen.call("listen", listen(two, 1));
                seen.call("listen", listen(one, 1));
                close(one);
                close(two);
            }
        }
        let (client, server) = connection();
        let fd = tcp();
        seen.call("bind to that of a connection", bind(fd, port(server)));
        seen.call("bind to that of a client", bind(fd, port(client)));
        for fd in [client, server, fd] {
            close(fd);
        }
        for options in 0..4 {
            let (one, two) = (udp(), udp());
            if options & 1 != 0 {
                assert_eq!((reuse(one), reuse(two)), (0, 0));
            }
            if options & 2 != 0 {
                assert_eq!((share(one), share(two)), (0, 0));
            }
            assert_eq!(bind(one, 0), 0);
            seen.call(&format!("bind datagrams {options}"), bind(two, port(one)));
            close(one);
            close(two);
        }
    });
}

#[test]
fn a_port_that_waits_out() {
    same(|seen| {
        for reuses in [false, true] {
            let listener = tcp();
            set(
                listener,
                libc::SOL_SOCKET,
                libc::SO_REUSEADDR,
                reuses.into(),
            );
            assert_eq!((bind(listener, 0), listen(listener, 1)), (0, 0));
            let port = port(listener);
            let client = tcp();
            connect(client, port);
            pause();
            let server = accept(listener);
            close(listener);
            close(server);
            pause();
            close(client);
            pause();
            let fd = tcp();
            set(fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, reuses.into());
            seen.call("bind", bind(fd, port));
            seen.call("listen", listen(fd, 1));
            close(fd);
        }
    });
}

#[test]
fn datagrams() {
    same(|seen| {
        let (one, two) = (udp(), udp());
        seen.ready("new", one);
        seen.send(one, b"x");
        seen.call("peer", peer(one));
        seen.call("listen", listen(one, 1));
        seen.call("accept", accept(one));
        let shut = udp();
        seen.call("shutdown", shutdown(shut, libc::SHUT_RDWR));
        seen.ready("shut", shut);
        seen.call("connect", connect(shut, 9));
        seen.send(shut, b"x");
        seen.receive(shut, 1, 0);
        close(shut);
        seen.call("bind", bind(one, 0));
        seen.call("bind", bind(two, 0));
        seen.call("connect", connect(one, port(two)));
        seen.call("connect", connect(two, port(one)));
        seen.send(one, b"hello");
        seen.ready("with bytes", two);
        seen.note("unread", unread(two));
        seen.receive(two, 3, libc::MSG_PEEK);
        seen.receive(two, 3, libc::MSG_TRUNC);
        seen.receive(two, 3, 0);
        seen.send(one, b"");
        seen.ready("with nothing", two);
        seen.receive(two, 3, 0);
        seen.send(one, &[7; 65_508]);
        close(two);
        seen.send(one, b"x");
        seen.ready("refused", one);
        seen.send(one, b"x");
        pause();
        seen.error(one);
        seen.error(one);
        seen.send(one, b"x");
        pause();
        seen.receive(one, 1, 0);
        seen.receive(one, 1, 0);
        seen.call("shutdown", shutdown(one, libc::SHUT_RD));
        seen.ready("shut", one);
        seen.receive(one, 1, 0);
        seen.call("shutdown", shutdown(one, libc::SHUT_WR));
        seen.ready("shut", one);
        seen.send(one, b"x");
        seen.call("disconnect", disconnect(one));
        seen.call("peer", peer(one));
        close(one);
    });
}

#[test]
fn unix_streams() {
    same(|seen| {
        let (one, two) = pair(libc::SOCK_STREAM);
        seen.ready("new", one);
        seen.receive(one, 1, 0);
        seen.send(one, b"hello");
        seen.ready("with bytes", two);
        seen.note("unread", unread(two));
        seen.receive(two, 2, libc::MSG_PEEK);
        seen.receive(two, 2, 0);
        seen.receive(two, 20, 0);
        seen.call("shutdown", shutdown(one, libc::SHUT_WR));
        seen.ready("half closed", one);
        seen.ready("half closed", two);
        seen.send(one, b"x");
        seen.receive(two, 1, 0);
        seen.send(two, b"unread");
        close(one);
        seen.ready("closed", two);
        seen.receive(two, 1, 0);
        seen.send(two, b"x");
        close(two);

        let (one, two) = pair(libc::SOCK_STREAM);
        seen.send(two, b"unread");
        close(one);
        seen.ready("closed", two);
        seen.error(two);
        seen.receive(two, 1, 0);
        close(two);

        let (one, two) = pair(libc::SOCK_STREAM);
        seen.call("shutdown", shutdown(one, libc::SHUT_RD));
        seen.ready("shut", one);
        seen.ready("other", two);
        seen.send(two, b"x");
        seen.receive(one, 1, 0);
        close(one);
        close(two);

        let fd = socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_NONBLOCK);
        seen.ready("alone", fd);
        seen.receive(fd, 1, 0);
        seen.send(fd, b"x");
        seen.call("listen", listen(fd, 1));
        seen.call("accept", accept(fd));
        seen.call("shutdown", shutdown(fd, libc::SHUT_WR));
        seen.call("peer", peer(fd));
        close(fd);
    });
}

#[test]
fn unix_messages() {
    same(|seen| {
        for kind in [libc::SOCK_DGRAM, libc::SOCK_SEQPACKET] {
            let (one, two) = pair(kind);
            seen.ready("new", one);
            seen.send(one, b"hello");
            seen.send(one, b"you");
            seen.note("unread", unread(two));
            seen.receive(two, 2, libc::MSG_PEEK);
            seen.receive(two, 2, libc::MSG_TRUNC);
            seen.receive(two, 20, 0);
            seen.receive(two, 20, 0);
            seen.call("shutdown", shutdown(one, libc::SHUT_WR));
            seen.ready("shut", one);
            seen.ready("other", two);
            seen.send(one, b"x");
            seen.receive(two, 20, 0);
            close(one);
            seen.ready("closed", two);
            seen.send(two, b"x");
            seen.receive(two, 20, 0);
            close(two);
            let fd = socket(libc::AF_UNIX, kind | libc::SOCK_NONBLOCK);
            seen.ready("alone", fd);
            seen.receive(fd, 1, 0);
            seen.send(fd, b"x");
            seen.call("listen", listen(fd, 1));
            seen.call("accept", accept(fd));
            close(fd);
        }
    });
}

#[test]
fn unix_sockets_with_names() {
    /// Calls with an abstract name, which is the test's own.
    fn with(name: &str, call: impl Fn(*const libc::sockaddr, socklen_t) -> c_int) -> c_int {
        // SAFETY: zeros are a value of it.
        let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
        address.sun_family = libc::AF_UNIX as _;
        let name = format!("tress-sim-{}-{name}", std::process::id());
        for (to, from) in address.sun_path[1..].iter_mut().zip(name.bytes()) {
            *to = from as _;
        }
        let size = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
        call((&raw const address).cast(), size as socklen_t)
    }
    let bind = |fd, name: &str| {
        // SAFETY: the address is valid.
        with(name, |address, size| unsafe {
            libc::bind(fd, address, size)
        })
    };
    let connect = |fd, name: &str| {
        // SAFETY: the address is valid.
        with(name, |address, size| unsafe {
            libc::connect(fd, address, size)
        })
    };
    let send_to = |fd, name: &str| {
        // SAFETY: the address and the byte are valid.
        with(name, |address, size| unsafe {
            let flags = libc::MSG_NOSIGNAL;
            libc::sendto(fd, b"x".as_ptr().cast(), 1, flags, address, size) as c_int
        })
    };
    same(move |seen| {
        for kind in [libc::SOCK_STREAM, libc::SOCK_SEQPACKET] {
            let new = || socket(libc::AF_UNIX, kind | libc::SOCK_NONBLOCK);
            let (listener, client) = (new(), new());
            seen.call("connect to nobody", connect(client, "a"));
            seen.call("bind", bind(listener, "a"));
            seen.call("bind again", bind(listener, "b"));
            seen.call("bind another", bind(client, "a"));
            seen.call("connect before", connect(client, "a"));
            seen.call("send to it", send_to(client, "a"));
            seen.call("listen", listen(listener, 0));
            seen.ready("listening", listener);
            seen.call("connect", connect(client, "a"));
            seen.call("connect again", connect(client, "a"));
            seen.ready("connected", client);
            seen.ready("listening", listener);
            let second = new();
            seen.call("connect to a full one", connect(second, "a"));
            seen.send(client, b"early");
            let server = accept(listener);
            seen.call("accept", accept(listener));
            seen.receive(server, 10, 0);
            seen.call("connect", connect(second, "a"));
            seen.call("connect a listener", connect(listener, "a"));
            seen.receive(listener, 1, 0);
            seen.send(listener, b"x");
            close(listener);
            seen.ready("never accepted", second);
            seen.receive(second, 1, 0);
            seen.receive(second, 1, 0);
            for fd in [client, server, second] {
                close(fd);
            }
        }
        let new = || socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK);
        let (one, two) = (new(), new());
        seen.call("send to nobody", send_to(one, "a"));
        seen.call("bind", bind(two, "a"));
        seen.call("send", send_to(one, "a"));
        seen.receive(two, 9, 0);
        seen.call("connect", connect(one, "a"));
        seen.send(one, b"hello");
        seen.ready("sender", one);
        seen.ready("receiver", two);
        let stream = socket(libc::AF_UNIX, libc::SOCK_STREAM);
        seen.call("connect a stream to it", connect(stream, "a"));
        for _ in 0..14 {
            seen.send(one, b"more");
        }
        seen.ready("full", one);
        seen.receive(two, 9, 0);
        seen.ready("with room", one);
        close(two);
        seen.ready("closed", one);
        seen.send(one, b"x");
        seen.send(one, b"x");
        seen.ready("told", one);
        close(one);
        close(stream);
    });
}

#[test]
fn pipes() {
    same(|seen| {
        let pipe = || {
            let mut both = [0; 2];
            // SAFETY: there is room for two descriptors.
            let result = unsafe { libc::pipe2(both.as_mut_ptr(), libc::O_NONBLOCK) };
            assert_eq!(result, 0);
            (both[0], both[1])
        };
        let write = |fd, size: usize| {
            let bytes = vec![7u8; size];
            // SAFETY: the bytes are valid.
            unsafe { libc::write(fd, bytes.as_ptr().cast(), size) }
        };
        let read = |fd, size: usize| {
            let mut bytes = vec![7u8; size];
            // SAFETY: the bytes are valid.
            unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), size) }
        };
        let (reader, writer) = pipe();
        seen.ready("new", reader);
        seen.ready("new", writer);
        seen.call("read", read(reader, 1) as i64);
        seen.call("read", read(reader, 0) as i64);
        seen.call("write", write(writer, 100_000) as i64);
        seen.call("write", write(writer, 1) as i64);
        seen.ready("full", writer);
        seen.ready("full", reader);
        seen.note("unread", unread(reader));
        seen.call("read", read(reader, 100_000) as i64);
        seen.ready("empty", writer);
        seen.call("write", write(writer, 3) as i64);
        close(writer);
        seen.ready("closed", reader);
        seen.call("read", read(reader, 9) as i64);
        seen.ready("closed", reader);
        seen.call("read", read(reader, 9) as i64);
        seen.call("peer", peer(reader));
        seen.receive(reader, 1, 0);
        close(reader);
        let (reader, writer) = pipe();
        close(reader);
        seen.ready("closed", writer);
        seen.call("write", write(writer, 3) as i64);
        close(writer);
    });
}

#[test]
fn values_of_options() {
    same(|seen| {
        let unix = socket(libc::AF_UNIX, libc::SOCK_STREAM);
        for fd in [tcp(), udp(), unix] {
            for (level, name, value) in [
                (libc::SOL_SOCKET, libc::SO_REUSEADDR, 5),
                (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
                (libc::SOL_SOCKET, libc::SO_BROADCAST, 1),
                (libc::SOL_SOCKET, libc::SO_RCVBUF, 10_000),
                (libc::SOL_SOCKET, libc::SO_SNDBUF, 10_000),
                (libc::SOL_SOCKET, libc::SO_SNDBUF, 1),
                (libc::SOL_SOCKET, libc::SO_RCVBUF, 1),
                (libc::SOL_SOCKET, 12_345, 1),
                (libc::IPPROTO_IP, libc::IP_TTL, 0),
                (libc::IPPROTO_IP, libc::IP_TTL, 9),
                (libc::IPPROTO_IP, libc::IP_TTL, -1),
                (libc::IPPROTO_IP, libc::IP_TOS, 16),
                (libc::IPPROTO_IP, libc::IP_MULTICAST_TTL, 3),
                (libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP, 0),
                (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1),
                (libc::IPPROTO_TCP, libc::TCP_NODELAY, 1),
                (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 0),
                (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 9),
                (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 9),
                (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 200),
                (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 9),
                (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, -1),
                (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, 9),
            ] {
                let what = format!("{level} {name} {value}");
                seen.call(&what, set(fd, level, name, value));
                seen.option(&what, fd, level, name);
            }
            close(fd);
        }
    });
}

/// Numbers that a seed determines: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}

/// Does anything to two connected sockets, in any order.
fn anything(seen: &mut Seen, seed: u64, (one, two): (c_int, c_int)) {
    let mut numbers = Numbers(seed);
    let mut open = vec![("one", one), ("two", two)];
    for _ in 0..40 {
        if open.is_empty() {
            break;
        }
        let at = numbers.below(open.len() as u64) as usize;
        let (name, fd) = open[at];
        let size = numbers.below(300) as usize;
        match numbers.below(20) {
            0..6 => seen.send(fd, &vec![b'a' + (size % 26) as u8; size.max(1)]),
            6..10 => seen.receive(fd, size.max(1), 0),
            10 => seen.receive(fd, size.max(1), libc::MSG_PEEK),
            11 => seen.error(fd),
            12 => seen.note("unread", unread(fd)),
            13 if numbers.below(3) == 0 => {
                let how = numbers.below(3) as c_int;
                seen.note("shutdown", how);
                seen.call("shutdown", shutdown(fd, how));
            }
            14 if numbers.below(3) == 0 => {
                seen.note("close", name);
                close(fd);
                open.remove(at);
            }
            15 if numbers.below(4) == 0 => {
                let linger = libc::linger {
                    l_onoff: 1,
                    l_linger: 0,
                };
                // SAFETY: the value is of that type.
                unsafe {
                    let value = (&raw const linger).cast();
                    libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, value, 8);
                }
            }
            _ => {}
        }
        for (name, fd) in &open {
            seen.ready(name, *fd);
        }
    }
    for (_, fd) in open {
        close(fd);
    }
}

#[test]
fn anything_with_a_connection() {
    for seed in 0..SEEDS {
        same(move |seen| anything(seen, seed, connection()));
    }
}

#[test]
fn anything_with_unix_sockets() {
    for seed in 0..SEEDS {
        for kind in [libc::SOCK_STREAM, libc::SOCK_SEQPACKET] {
            same(move |seen| anything(seen, seed, pair(kind)));
        }
    }
}

#[test]
fn anything_with_datagrams() {
    for seed in 0..SEEDS {
        same(move |seen| {
            let (one, two) = (udp(), udp());
            assert_eq!((bind(one, 0), bind(two, 0)), (0, 0));
            assert_eq!((connect(one, port(two)), connect(two, port(one))), (0, 0));
            anything(seen, seed, (one, two));
        });
    }
}
