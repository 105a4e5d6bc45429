//! No runtime at all: each thread a loop around a selector, or around a ring where reads are pooled. What
//! it takes is the kernel's, the generator's and as little else as can be: nobody with the same system
//! calls does much better.

mod ring;

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener as StdListener;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use super::reading::{BLOCK, Reader, Reading};
use super::{ECHO_BUFFER, PerCore, Serve, Service};

/// Its threads.
// D-BENCH-05
pub struct Bare(#[expect(dead_code, reason = "dropping it waits for them")] PerCore);

const LISTENER: Token = Token(usize::MAX);

/// As long as a worker of tress looks for something to do.
const LOOK: Duration = Duration::from_micros(50);

impl Serve for Bare {
    fn listeners(workers: usize) -> usize {
        workers
    }

    fn serve(_: usize, listeners: Vec<StdListener>, service: Service) -> Self {
        match service {
            Service::Echo => Bare(PerCore::start(listeners, |listener| {
                serve(listener).expect("a selector works");
            })),
            Service::EchoPooled => Bare(PerCore::start(listeners, |listener| {
                ring::serve(listener).expect("a ring works");
            })),
            Service::Http1 => unreachable!("hyper needs a runtime"),
        }
    }

    /// Readers that wait for nothing need no more than a thread each worker.
    fn read(workers: usize, readers: usize, reading: Arc<Reading>) -> Self {
        let threads = vec![reading; workers.min(readers)];
        Bare(PerCore::start(threads, |reading| {
            let file = File::open(reading.path()).expect("the file is there");
            let mut reader = Reader::new(&reading);
            let mut block = vec![0; BLOCK];
            loop {
                let read = file.read_exact_at(&mut block, reader.position());
                if !reader.check(read.map(|()| &block[..])) {
                    return;
                }
            }
        }))
    }
}

fn serve(listener: StdListener) -> io::Result<()> {
    let mut listener = TcpListener::from_std(listener);
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(1024);
    let registry = poll.registry();
    registry.register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut connections = Connections::default();
    loop {
        connections.wait(&mut poll, &mut events)?;
        for event in &events {
            if event.token() != LISTENER {
                connections.advance(event.token());
                continue;
            }
            loop {
                match listener.accept() {
                    Ok((stream, _)) => connections.add(stream, poll.registry())?,
                    Err(why) if why.kind() == ErrorKind::WouldBlock => break,
                    // Accepting fails when the listening socket has been shut down.
                    Err(_) => return Ok(()),
                }
            }
        }
    }
}

#[derive(Default)]
struct Connections {
    places: Vec<Option<Connection>>,
    free: Vec<usize>,
}

impl Connections {
    /// Waits for events. With a single connection it looks for them for a while before it sleeps, as tress
    /// does.
    fn wait(&self, poll: &mut Poll, events: &mut Events) -> io::Result<()> {
        let is_single = self.places.len() - self.free.len() == 1;
        let since = is_single.then(Instant::now);
        loop {
            let looks = since.is_some_and(|since| since.elapsed() < LOOK);
            match poll.poll(events, looks.then_some(Duration::ZERO)) {
                Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            if !looks || !events.is_empty() {
                return Ok(());
            }
        }
    }

    fn add(&mut self, mut stream: TcpStream, registry: &mio::Registry) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        let interest = Interest::READABLE | Interest::WRITABLE;
        registry.register(&mut stream, Token(place), interest)?;
        self.places[place] = Some(Connection {
            stream,
            buffer: vec![0; ECHO_BUFFER],
            waiting: Vec::new(),
        });
        self.advance(Token(place));
        Ok(())
    }

    fn advance(&mut self, Token(place): Token) {
        // An event may be late: of a connection that has gone.
        let Some(connection) = &mut self.places[place] else {
            return;
        };
        // What goes wrong with a connection the client tells.
        if !connection.advance().unwrap_or(false) {
            self.places[place] = None;
            self.free.push(place);
        }
    }
}

struct Connection {
    stream: TcpStream,
    /// Of its own, as each task of a runtime has one.
    buffer: Vec<u8>,
    /// Read, and not sent back yet.
    waiting: Vec<u8>,
}

impl Connection {
    /// Sends back what there is. False at the end.
    fn advance(&mut self) -> io::Result<bool> {
        let buffer = &mut self.buffer[..];
        loop {
            while !self.waiting.is_empty() {
                match self.stream.write(&self.waiting) {
                    Ok(n) => drop(self.waiting.drain(..n)),
                    Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(true),
                    Err(why) => return Err(why),
                }
            }
            let n = match self.stream.read(buffer) {
                Ok(0) => return Ok(false),
                Ok(n) => n,
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(why) => return Err(why),
            };
            let written = match self.stream.write(&buffer[..n]) {
                Ok(written) => written,
                Err(why) if why.kind() == ErrorKind::WouldBlock => 0,
                Err(why) => return Err(why),
            };
            self.waiting.extend_from_slice(&buffer[written..n]);
            if n < buffer.len() && self.waiting.is_empty() {
                // That was all: the next event tells of more.
                return Ok(true);
            }
        }
    }
}
