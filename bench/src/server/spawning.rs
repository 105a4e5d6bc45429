//! Servers on runtimes that spawn tasks: a task that accepts, and one for every connection.

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use super::reading::{BLOCK, Reader, Reading};
use super::{ECHO_BUFFER, Serve, Service};
use crate::runtime::Rt;

/// A runtime's own sockets and files. All functions are called inside a task.
pub trait Sockets: Rt {
    type Listener: Send + Sync + 'static;
    type Stream: Send + 'static;
    type File: Send + 'static;

    fn listener(listener: TcpListener) -> io::Result<Self::Listener>;
    /// A connection, with Nagle's algorithm off.
    fn accept(listener: &Self::Listener) -> impl Future<Output = io::Result<Self::Stream>> + Send;
    fn read<'a>(
        stream: &'a mut Self::Stream,
        buffer: &'a mut [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send + 'a;
    fn write_all<'a>(
        stream: &'a mut Self::Stream,
        bytes: &'a [u8],
    ) -> impl Future<Output = io::Result<()>> + Send + 'a;

    /// Sends back what comes, through buffers of a pool if it has such streams.
    fn echo_pooled(stream: Self::Stream) -> impl Future<Output = ()> + Send {
        echo::<Self>(stream)
    }

    fn open(path: &Path) -> impl Future<Output = io::Result<Self::File>> + Send;
    /// Fills `block` from `position`; positions go up by a block until they begin again at 0.
    fn read_block(
        file: &mut Self::File,
        block: Vec<u8>,
        position: u64,
    ) -> impl Future<Output = (io::Result<()>, Vec<u8>)> + Send;
}

/// A runtime with something for hyper to read from and write to.
pub trait Http: Sockets {
    type Io: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static;

    fn io(stream: Self::Stream) -> Self::Io;
}

/// A runtime that serves.
pub struct Spawning<R: Http> {
    rt: R,
    /// Taken when it is waited for.
    tasks: Vec<R::Join<()>>,
}

impl<R: Http> Serve for Spawning<R> {
    fn listeners(_: usize) -> usize {
        1
    }

    fn serve(workers: usize, listeners: Vec<TcpListener>, service: Service) -> Self {
        let rt = R::start(workers);
        let accept = |listener| rt.spawn_outside(accept::<R>(listener, service));
        Spawning {
            tasks: listeners.into_iter().map(accept).collect(),
            rt,
        }
    }

    fn read(workers: usize, readers: usize, reading: Arc<Reading>) -> Self {
        let rt = R::start(workers);
        // From a task, as they would be in a program.
        let tasks = rt.inside(async move {
            let spawn = |_| R::spawn(read::<R>(reading.clone()));
            (0..readers).map(spawn).collect()
        });
        Spawning { tasks, rt }
    }
}

impl<R: Http> Drop for Spawning<R> {
    fn drop(&mut self) {
        for task in self.tasks.drain(..) {
            self.rt.block_on(task);
        }
    }
}

async fn accept<R: Http>(listener: TcpListener, service: Service) {
    let listener = R::listener(listener).expect("a listener");
    // Accepting fails when the listening socket has been shut down.
    while let Ok(stream) = R::accept(&listener).await {
        R::detach(match service {
            Service::Echo => R::spawn(echo::<R>(stream)),
            Service::EchoPooled => R::spawn(R::echo_pooled(stream)),
            Service::Http1 => R::spawn(super::hyper_io::serve(R::io(stream))),
        });
    }
}

async fn echo<R: Sockets>(mut stream: R::Stream) {
    let mut buffer = vec![0; ECHO_BUFFER];
    // What goes wrong with a connection the client tells.
    while let Ok(n) = R::read(&mut stream, &mut buffer).await {
        if n == 0 || R::write_all(&mut stream, &buffer[..n]).await.is_err() {
            break;
        }
    }
}

async fn read<R: Sockets>(reading: Arc<Reading>) {
    let mut file = R::open(reading.path()).await.expect("the file is there");
    let mut reader = Reader::new(&reading);
    let mut block = vec![0; BLOCK];
    loop {
        let (read, filled) = R::read_block(&mut file, block, reader.position()).await;
        block = filled;
        if !reader.check(read.map(|()| &block[..])) {
            return;
        }
    }
}
