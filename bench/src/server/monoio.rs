//! monoio: one thread per core, buffers owned by operations.

use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;

use ::monoio::fs::File;
use ::monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use ::monoio::net::{TcpListener, TcpStream};
use ::monoio::{FusionDriver, RuntimeBuilder};

use super::reading::{BLOCK, Reader, Reading};
use super::{ECHO_BUFFER, PerCore, Serve, Service};

/// Its threads.
pub struct Monoio(#[expect(dead_code, reason = "dropping it waits for them")] PerCore);

impl Serve for Monoio {
    fn listeners(workers: usize) -> usize {
        workers
    }

    fn serve(_: usize, listeners: Vec<StdListener>, service: Service) -> Self {
        match service {
            Service::Echo | Service::EchoPooled => {
                Monoio(PerCore::start(listeners, |it| block_on(accept(it))))
            }
            Service::Http1 => unreachable!("hyper cannot use owned buffers"),
        }
    }

    fn read(workers: usize, readers: usize, reading: Arc<Reading>) -> Self {
        let shares = PerCore::shares(readers, workers).map(|share| (share, reading.clone()));
        Monoio(PerCore::start(shares.collect(), |(readers, reading)| {
            block_on(async move {
                let spawn = |_| ::monoio::spawn(read(reading.clone()));
                for task in (0..readers).map(spawn).collect::<Vec<_>>() {
                    task.await;
                }
            });
        }))
    }
}

fn block_on<F: Future<Output = ()>>(future: F) {
    let runtime = RuntimeBuilder::<FusionDriver>::new().build();
    runtime.expect("monoio starts").block_on(future);
}

async fn accept(listener: StdListener) {
    let listener = TcpListener::from_std(listener).expect("a listener");
    // Accepting fails when the listening socket has been shut down.
    while let Ok((stream, _)) = listener.accept().await {
        ::monoio::spawn(async move {
            // What goes wrong with a connection the client tells.
            let _ = echo(stream).await;
        });
    }
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(ECHO_BUFFER);
    loop {
        let (read, filled) = stream.read(buffer).await;
        if read? == 0 {
            return Ok(());
        }
        let (written, emptied) = stream.write_all(filled).await;
        written?;
        buffer = emptied;
    }
}

async fn read(reading: Arc<Reading>) {
    let file = File::open(reading.path()).await.expect("the file is there");
    let mut reader = Reader::new(&reading);
    let mut block = vec![0; BLOCK];
    loop {
        let (read, filled) = file.read_exact_at(block, reader.position()).await;
        block = filled;
        if !reader.check(read.map(|()| &block[..])) {
            return;
        }
    }
}
