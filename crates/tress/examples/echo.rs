//! A server that says back what it is told, to any number of clients.
//!
//! ```text
//! cargo run -p tress --example echo -- 127.0.0.1:7000
//! nc 127.0.0.1 7000
//! ```
//!
//! Without an address the system chooses a port; the server prints where it listens. Each connection is a
//! task. The bytes arrive in buffers of the worker's pool (`Pooled`), which are dropped when they were
//! sent on: ten thousand silent connections own no buffer at all.

use std::io;
use tress::io::AsyncWriteExt;
use tress::net::{Pooled, TcpListener, TcpStream};

#[tress::main]
async fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:0".into());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                tress::spawn(async move {
                    if let Err(error) = echo(stream).await {
                        eprintln!("{peer}: {error}");
                    }
                });
            }
            // Out of descriptors, perhaps: the next `accept` waits a little by itself.
            Err(error) => eprintln!("cannot accept: {error}"),
        }
    }
}

async fn echo(stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = Pooled::new(stream);
    while let Some(bytes) = stream.read_pooled().await? {
        stream.write_all(&bytes).await?;
    }
    stream.shutdown().await
}
