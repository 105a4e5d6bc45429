//! A small kernel for tests: it delivers events in their order, and nothing else.

use super::config::LinkConfig;
use super::packet::End;
use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::Ipv4Addr;
use std::time::Duration;

mod faults;
mod local;
mod stream;
mod udp;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// A network of hosts with the addresses 10.0.0.1, 10.0.0.2 and so on, and constant latency.
struct World {
    net: Net,
    now: Time,
    events: BinaryHeap<Reverse<(Time, u64, Event2)>>,
    added: u64,
    /// Events that have happened.
    happened: usize,
}

/// An event that can be ordered, which no event needs to be: the number before it is never equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Event2(Event);

impl Ord for Event2 {
    fn cmp(&self, _: &Event2) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl PartialOrd for Event2 {
    fn partial_cmp(&self, other: &Event2) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

fn ip(host: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, host as u8 + 1).into()
}

fn at(host: usize, port: u16) -> SocketAddr {
    SocketAddr::new(ip(host), port)
}

const A: HostId = HostId(0);
const B: HostId = HostId(1);

impl World {
    fn new(hosts: usize) -> World {
        World::with(
            hosts,
            1,
            Config {
                link: LinkConfig {
                    latency: Latency::Constant(10 * MS),
                    ..LinkConfig::default()
                },
                ..Config::default()
            },
        )
    }

    fn with(hosts: usize, seed: u64, config: Config) -> World {
        let mut net = Net::new(Stream::new(seed, "network"), Made::new(), config);
        for host in 0..hosts {
            net.add_host(HostId(host), ip(host), &format!("host{host}"));
        }
        World {
            net,
            now: Time::START,
            events: BinaryHeap::new(),
            added: 0,
            happened: 0,
        }
    }

    fn collect(&mut self) {
        while let Some((time, event)) = self.net.take_scheduled() {
            self.added += 1;
            self.events.push(Reverse((time, self.added, Event2(event))));
        }
    }

    /// Handles the next event, if it is not after that time.
    fn step(&mut self, until: Time) -> bool {
        self.collect();
        match self.events.peek() {
            Some(Reverse((time, ..))) if *time <= until => {}
            _ => return false,
        }
        if let Some(Reverse((time, _, Event2(event)))) = self.events.pop() {
            self.now = self.now.max(time);
            self.happened += 1;
            self.net.happen(time, event);
        }
        true
    }

    /// Lets that much time pass.
    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
        self.now = until;
    }

    /// Handles events until something is so. Panics if it never is.
    #[track_caller]
    fn until(&mut self, mut is_so: impl FnMut(&mut World) -> bool) {
        while !is_so(self) {
            assert!(self.step(Time::MAX), "nothing happens any more");
        }
    }

    fn tcp(&mut self, host: HostId) -> SocketId {
        self.net
            .socket(host, libc::AF_INET, libc::SOCK_STREAM, 0)
            .unwrap()
    }

    fn udp(&mut self, host: HostId) -> SocketId {
        self.net
            .socket(host, libc::AF_INET, libc::SOCK_DGRAM, 0)
            .unwrap()
    }

    fn bind(&mut self, id: SocketId, address: SocketAddr) -> Result<(), Errno> {
        self.net.bind(id, Address::Internet(address))
    }

    fn listener(&mut self, host: HostId, port: u16) -> SocketId {
        let id = self.tcp(host);
        self.net
            .set_option(self.now, id, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)
            .unwrap();
        self.bind(id, at(host.0, port)).unwrap();
        self.net.listen(id, 128).unwrap();
        id
    }

    fn connect(&mut self, id: SocketId, to: SocketAddr) -> Result<(), Errno> {
        self.net.connect(self.now, id, Address::Internet(to))
    }

    fn set(&mut self, id: SocketId, level: c_int, name: c_int, value: c_int) {
        self.net
            .set_option(self.now, id, level, name, value)
            .unwrap();
    }

    fn is(&self, id: SocketId, bits: u32) -> bool {
        self.net.readiness(id) & bits == bits
    }

    fn error(&mut self, id: SocketId) -> Errno {
        match self
            .net
            .option(id, libc::SOL_SOCKET, libc::SO_ERROR)
            .unwrap()
        {
            Value::Number(error) => error,
            other => panic!("{other:?}"),
        }
    }

    /// Makes a connection, and returns both ends, the one of `A` first.
    fn connection(&mut self) -> (SocketId, SocketId) {
        let listener = self.listener(B, 80);
        let client = self.tcp(A);
        assert_eq!(self.connect(client, at(1, 80)), Err(libc::EINPROGRESS));
        self.until(|world| world.is(listener, ready::IN));
        let server = self.net.accept(listener).unwrap();
        let now = self.now;
        self.net.close(now, listener);
        assert_eq!(self.net.connected(client), Some(Ok(())));
        (client, server)
    }

    fn send(&mut self, id: SocketId, bytes: &[u8]) -> Result<usize, Errno> {
        self.net
            .send(self.now, id, &[bytes], None, About::default())
    }

    fn send_to(&mut self, id: SocketId, bytes: &[u8], to: SocketAddr) -> Result<usize, Errno> {
        let to = Some(Address::Internet(to));
        self.net.send(self.now, id, &[bytes], to, About::default())
    }

    fn receive(&mut self, id: SocketId) -> Result<Vec<u8>, Errno> {
        let mut buffer = vec![0; 100_000];
        let into = &mut [&mut buffer[..]];
        let received = self.net.receive(self.now, id, into, Receive::default())?;
        buffer.truncate(received.copied);
        Ok(buffer)
    }

    /// Receives until that many bytes have come.
    #[track_caller]
    fn receive_all(&mut self, id: SocketId, length: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < length {
            match self.receive(id) {
                Ok(bytes) => {
                    assert!(!bytes.is_empty(), "ended after {}", all.len());
                    all.extend(bytes);
                }
                Err(libc::EAGAIN) => assert!(self.step(Time::MAX), "got {}", all.len()),
                Err(errno) => panic!("error {errno} after {}", all.len()),
            }
        }
        all
    }

    /// Sends from one end to the other, whatever the window, and returns what arrived.
    #[track_caller]
    fn transfer(&mut self, from: SocketId, to: SocketId, bytes: &[u8]) -> Vec<u8> {
        let (mut sent, mut got) = (0, Vec::new());
        while got.len() < bytes.len() {
            match self.send(from, &bytes[sent..]) {
                Ok(n) => sent += n,
                Err(libc::EAGAIN) => {}
                Err(errno) => panic!("error {errno} after {sent}"),
            }
            match self.receive(to) {
                Ok(bytes) => got.extend(bytes),
                Err(libc::EAGAIN) => {
                    assert!(
                        self.step(Time::MAX),
                        "stuck: {sent} sent, {} received",
                        got.len()
                    );
                }
                Err(errno) => panic!("error {errno} after {}", got.len()),
            }
        }
        got
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 31 + n / 251) as u8).collect()
}

const ALL_OVER: u32 = ready::IN | ready::OUT | ready::HUP | ready::RDHUP;
