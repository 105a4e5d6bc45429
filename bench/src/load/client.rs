//! The load generator: one thread, all connections in one selector.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};

use super::{Load, Word};

/// How long it looks for replies before it sleeps. A sleeping client has to be woken, which on a
/// virtual machine takes longer than a reply: the server would not be what is measured.
const LOOK: Duration = Duration::from_micros(100);

/// A paced load sends what is due this often, and sleeps in between.
const PACE: Duration = Duration::from_micros(200);

/// A server that says nothing for this long hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs the load, saying what it has come to.
pub fn run(load: &Load, mut say: impl FnMut(Word)) -> Result<(), String> {
    let mut poll = Poll::new().map_err(|why| format!("no selector: {why}"))?;
    let mut events = Events::with_capacity(load.connections.max(64));
    let mut ports = Ports::default();
    let connect = |number| Client::connect(load, number, &mut ports, &poll);
    let clients: Result<Vec<_>, _> = (0..load.connections).map(connect).collect();
    let mut clients = clients.map_err(|why| format!("cannot connect: {why}"))?;

    let mut started = Instant::now();
    let mut warm_up = true;
    let (mut requests, mut replies) = (0, 0);
    let mut pace = load.rate.map(Pace::new);
    loop {
        match &mut pace {
            None => wait(&mut poll, &mut events)?,
            Some(pace) => {
                pace.send(load, &mut clients)?;
                look(&mut poll, &mut events, Duration::ZERO)?;
            }
        }
        for event in &events {
            let client = &mut clients[event.token().0];
            let done = client.advance(load, &mut ports, &poll);
            requests += done.map_err(|why| format!("connection {}: {why}", client.number))?;
        }
        let now = Instant::now();
        let took = now - started;
        if warm_up && took >= load.warm_up {
            say(Word::Begun);
            warm_up = false;
            replies += requests;
            requests = 0;
            started = now;
        } else if !warm_up && took >= load.measure {
            say(Word::Ended { requests, took });
            replies += requests;
            say(Word::Checked { replies });
            return Ok(());
        }
    }
}

/// Waits for events: awake at first, then asleep.
fn wait(poll: &mut Poll, events: &mut Events) -> Result<(), String> {
    let since = Instant::now();
    let mut patience = Duration::ZERO;
    loop {
        look(poll, events, patience)?;
        if !events.is_empty() {
            return Ok(());
        }
        if patience == PATIENCE {
            return Err(format!("no reply in {PATIENCE:?}"));
        }
        if since.elapsed() >= LOOK {
            patience = PATIENCE;
        }
    }
}

/// Collects events, for at most `patience`.
fn look(poll: &mut Poll, events: &mut Events, patience: Duration) -> Result<(), String> {
    loop {
        match poll.poll(events, Some(patience)) {
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(why) => return Err(format!("cannot wait: {why}")),
            Ok(()) => return Ok(()),
        }
    }
}

/// Sends requests at a fixed rate, one burst every [`PACE`].
struct Pace {
    each: Duration,
    /// When the next request is due.
    due: Instant,
    /// When a connection was last free for one.
    sent: Instant,
    next: usize,
}

impl Pace {
    fn new(rate: u32) -> Pace {
        Pace {
            each: Duration::from_secs(1) / rate,
            due: Instant::now(),
            sent: Instant::now(),
            next: 0,
        }
    }

    /// Sleeps until the next burst and sends it. Requests that find no free connection stay due.
    fn send(&mut self, load: &Load, clients: &mut [Client]) -> Result<(), String> {
        std::thread::sleep(PACE);
        let now = Instant::now();
        while self.due <= now {
            let order = (self.next..clients.len()).chain(0..self.next);
            let Some(free) = order.into_iter().find(|&at| clients[at].free) else {
                if now - self.sent > PATIENCE {
                    return Err(format!("no reply in {PATIENCE:?}"));
                }
                return Ok(());
            };
            self.next = (free + 1) % clients.len();
            clients[free].ask(load).map_err(|why| why.to_string())?;
            self.due += self.each;
            self.sent = now;
        }
        Ok(())
    }
}

/// One connection, with one request under way.
struct Client {
    number: usize,
    stream: TcpStream,
    count: u64,
    request: Vec<u8>,
    sent: usize,
    reply: Vec<u8>,
    received: usize,
    /// No request is under way.
    free: bool,
}

impl Client {
    fn connect(load: &Load, number: usize, ports: &mut Ports, poll: &Poll) -> io::Result<Self> {
        let mut client = Client {
            number,
            stream: stream(load, number, ports, poll)?,
            count: 0,
            request: Vec::new(),
            sent: 0,
            reply: vec![0; load.kind.room()],
            received: 0,
            free: true,
        };
        if load.rate.is_none() {
            client.ask(load)?;
        }
        Ok(client)
    }

    /// Begins the next request.
    fn ask(&mut self, load: &Load) -> io::Result<()> {
        load.kind
            .request(self.number, self.count, &mut self.request);
        self.count += 1;
        (self.sent, self.received) = (0, 0);
        self.free = false;
        self.send()
    }

    /// Sends as much as there is room for.
    fn send(&mut self) -> io::Result<()> {
        while self.sent < self.request.len() {
            match self.stream.write(&self.request[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(why) if is_early(&why) => break,
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }

    /// Goes on after an event. Returns the number of replies that are complete now.
    fn advance(&mut self, load: &Load, ports: &mut Ports, poll: &Poll) -> Result<u64, String> {
        let text = |why: io::Error| why.to_string();
        if self.free {
            return Ok(0);
        }
        self.send().map_err(text)?;
        loop {
            let room = &mut self.reply[self.received..];
            let wanted = room.len();
            let n = match self.stream.read(room) {
                Ok(0) => return Err("closed by the server".into()),
                Ok(n) => n,
                Err(why) if is_early(&why) => return Ok(0),
                Err(why) => return Err(text(why)),
            };
            self.received += n;
            if load
                .kind
                .check(&self.request, &self.reply[..self.received])?
            {
                if load.kind.reconnects() {
                    self.stream = stream(load, self.number, ports, poll).map_err(text)?;
                }
                // Nothing can be there to be read: the next event tells.
                if load.rate.is_some() {
                    self.free = true;
                } else {
                    self.ask(load).map_err(text)?;
                }
                return Ok(1);
            }
            if n < wanted {
                return Ok(0);
            }
        }
    }
}

fn stream(load: &Load, number: usize, ports: &mut Ports, poll: &Poll) -> io::Result<TcpStream> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    while let Err(why) = bind(&socket, &ports.next()) {
        // One of an earlier load that is not quite over.
        if why != Errno::ADDRINUSE {
            return Err(why.into());
        }
    }
    match connect(&socket, &load.server) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(why) => return Err(why.into()),
    }
    let mut stream = TcpStream::from_std(socket.into());
    stream.set_nodelay(true)?;
    let interest = Interest::READABLE | Interest::WRITABLE;
    poll.registry()
        .register(&mut stream, Token(number), interest)?;
    Ok(stream)
}

/// Where connections come from. A port cannot be used again for a while, and of those that the system
/// would choose there are fewer than connections in a second of churning: then it takes long to choose.
#[derive(Default)]
struct Ports(u32);

impl Ports {
    /// Below those that the system chooses from.
    const FIRST: u16 = 10_000;
    const PER_ADDRESS: u32 = 20_000;
    const ADDRESSES: u32 = 250;

    fn next(&mut self) -> SocketAddrV4 {
        let (address, port) = (self.0 / Self::PER_ADDRESS, self.0 % Self::PER_ADDRESS);
        self.0 = (self.0 + 1) % (Self::PER_ADDRESS * Self::ADDRESSES);
        let address = Ipv4Addr::new(127, 0, 1, 1 + address as u8);
        SocketAddrV4::new(address, Self::FIRST + port as u16)
    }
}

/// Too early: an event will tell when it is time.
fn is_early(why: &io::Error) -> bool {
    matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected)
}
