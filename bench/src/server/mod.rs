//! The runtimes as servers, with sockets and files of their own, behind one small trait.
//!
//! Those that spawn tasks on several workers ([`spawning`]) share one listener. Those with one thread
//! per core have N threads, each with a runtime, connections and files of its own; the kernel spreads
//! connections over their listeners (`SO_REUSEPORT`).

mod bare;
mod compio;
mod hyper_io;
mod monoio;
mod reading;
mod smol;
mod spawning;
mod tokio_shaped;

pub use bare::Bare;
pub use compio::Compio;
pub use monoio::Monoio;
pub use reading::Reading;
pub use spawning::{Http, Spawning};

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::{io, thread};

use rustix::net::{
    AddressFamily, Shutdown, SocketFlags, SocketType, bind, listen, shutdown, socket_with, sockopt,
};

/// What a server does with its connections.
#[derive(Clone, Copy, Debug)]
pub enum Service {
    /// Sends back what comes, until the peer closes.
    Echo,
    /// The same, reading into buffers of a pool where the runtime has such streams.
    EchoPooled,
    /// hyper's HTTP/1 with keep-alive.
    Http1,
}

/// The most that an echo server reads at once.
pub const ECHO_BUFFER: usize = 16 * 1024;

/// A runtime that runs as a server, or reads files. Dropping it ends it; what accepts ends before,
/// when accepting fails.
pub trait Serve: Sized {
    /// How many listeners it takes.
    fn listeners(workers: usize) -> usize;

    /// Serves with so many threads.
    fn serve(workers: usize, listeners: Vec<TcpListener>, service: Service) -> Self;

    /// Reads with so many threads and readers at a time, until `reading` is over.
    fn read(workers: usize, readers: usize, reading: Arc<Reading>) -> Self;
}

/// A server that runs.
pub struct Server<S> {
    address: SocketAddr,
    /// To shut the listening sockets down with.
    listeners: Vec<TcpListener>,
    serving: Option<S>,
}

impl<S: Serve> Server<S> {
    pub fn start(workers: usize, service: Service) -> io::Result<Self> {
        let mut listeners = vec![listener(0)?];
        let address = listeners[0].local_addr()?;
        for _ in 1..S::listeners(workers) {
            listeners.push(listener(address.port())?);
        }
        let clones: io::Result<Vec<_>> = listeners.iter().map(TcpListener::try_clone).collect();
        Ok(Server {
            address,
            serving: Some(S::serve(workers, clones?, service)),
            listeners,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl<S> Drop for Server<S> {
    fn drop(&mut self) {
        for listener in &self.listeners {
            // Accepting fails from now on, wherever it is waited for.
            shutdown(listener, Shutdown::Both).expect("a listener can be shut down");
        }
        drop(self.serving.take());
    }
}

/// A non-blocking listener on this machine, next to others on the same port.
fn listener(port: u16) -> io::Result<TcpListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    listen(&socket, 1024)?;
    Ok(socket.into())
}

/// Runs `run` on so many threads, for runtimes with one thread per core.
struct PerCore(Vec<thread::JoinHandle<()>>);

impl PerCore {
    fn start<T: Send + 'static>(shares: Vec<T>, run: fn(T)) -> Self {
        let start = |share| thread::spawn(move || run(share));
        PerCore(shares.into_iter().map(start).collect())
    }

    /// `total` split over `threads` as evenly as can be.
    fn shares(total: usize, threads: usize) -> impl Iterator<Item = usize> {
        (0..threads).map(move |n| total / threads + usize::from(n < total % threads))
    }
}

impl Drop for PerCore {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            thread.join().expect("a thread of the runtime panicked");
        }
    }
}
