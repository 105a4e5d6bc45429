//! Accepts connections, and no more of them than there are places.

use crate::access::Access;
use crate::connection;
use crate::feed::{self, Feed};
use crate::page::Nonces;
use crate::response::{Response, Status};
use crate::source::Source;
use std::io::{self, Write as _};
use std::net;
use std::sync::Arc;
use std::time::Duration;
use tress::net::{TcpListener, TcpStream};
use tress::sync::{Mutex, Notify, Semaphore};

/// How long to wait after an error of `accept`, such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);
/// How often new runtimes are looked for.
const LOOK: Duration = Duration::from_millis(250);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Maximum number of connections.
    pub(crate) connections: usize,
    /// How long the head of a request may take.
    pub(crate) head: Duration,
    /// How long a connection may rest, and how long a write may be stuck.
    pub(crate) idle: Duration,
}

/// What connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) access: Access,
    pub(crate) limits: Limits,
    pub(crate) source: Source,
    pub(crate) feed: Feed,
    pub(crate) nonces: Nonces,
    /// Held while a trace or a dump is made and sent: they are large.
    pub(crate) large: Mutex<()>,
    pub(crate) stop: Notify,
    places: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn new(access: Access, mut limits: Limits, source: Source) -> Shared {
        limits.connections = limits.connections.min(Semaphore::MAX_PERMITS);
        Shared {
            access,
            limits,
            source,
            feed: Feed::new(),
            nonces: Nonces::default(),
            large: Mutex::new(()),
            stop: Notify::new(),
            places: Arc::new(Semaphore::new(limits.connections)),
        }
    }

    pub(crate) fn connections(&self) -> usize {
        self.limits.connections - self.places.available_permits()
    }
}

/// Serves until it is told to stop.
pub(crate) async fn run(listener: net::TcpListener, shared: Arc<Shared>) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            // No caller is left to return it to.
            eprintln!("tress: the console cannot serve: {error}");
            return;
        }
    };
    tress::spawn(feed::produce(shared.clone()));
    tress::spawn(look_around(shared.clone()));
    tress::select! {
        () = shared.stop.notified() => {}
        () = accept(&listener, &shared) => {}
    }
    shared.source.look_away();
}

/// Switches on what the page needs in runtimes that come later.
async fn look_around(shared: Arc<Shared>) {
    loop {
        tress::time::sleep(LOOK).await;
        shared.source.look_around();
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                tress::time::sleep(PAUSE).await;
                continue;
            }
        };
        match shared.places.clone().try_acquire_owned() {
            Ok(place) => {
                let shared = shared.clone();
                tress::spawn(async move {
                    // An error is the client's: the connection is closed, and there is no one to tell.
                    let _ = connection::serve(stream, &shared).await;
                    drop(place);
                });
            }
            // As well: it may be gone already.
            Err(_) => drop(refuse(stream)),
        }
    }
}

/// Says that there is no place, without waiting for anything.
fn refuse(stream: TcpStream) -> io::Result<()> {
    let answer = Response::refusal(Status::Unavailable);
    let mut stream = stream.into_std()?;
    // There is room for it in the buffer of a new connection.
    stream.write_all(answer.head(false).as_bytes())?;
    stream.write_all(answer.body.as_bytes())?;
    stream.shutdown(net::Shutdown::Write)
}
