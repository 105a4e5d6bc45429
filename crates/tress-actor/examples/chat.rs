//! A chat server: a process for each connection, and a group for each room.
//!
//! `cargo run -p tress-actor --example chat` serves on a free port, and lets two guests talk.

use std::io;
use std::sync::Arc;
use tress::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tress::net::{TcpListener, TcpStream};
use tress_actor::{Cx, Host};

const ROOM: &str = "lobby";

/// A line for everybody in the room.
type Line = Arc<str>;

/// Serves one connection: what its guest says goes to the group, what the group says to its guest.
async fn guest(mut cx: Cx<Line>, stream: TcpStream) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    let host = cx.host().clone();
    if host.join_group(ROOM, cx.pid()).is_err() {
        // It has been terminated meanwhile.
        return Ok(());
    }
    writer.write_all(b"welcome\n").await?;
    loop {
        tress::select! {
            line = lines.next_line() => match line? {
                Some(line) => {
                    let line: Line = format!("{}: {line}\n", cx.pid().id()).into();
                    host.broadcast(ROOM, line);
                }
                None => return Ok(()),
            },
            line = cx.recv() => match line {
                Some(line) => writer.write_all(line.as_bytes()).await?,
                None => return Ok(()),
            },
        }
    }
}

async fn serve(host: Host, listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, address) = listener.accept().await?;
        // A guest that fails leaves the room and hurts nobody.
        if let Err(error) = host.spawn(move |cx| guest(cx, stream)) {
            eprintln!("{address} was turned away: {error}");
        }
    }
}

#[tress::main]
async fn main() -> io::Result<()> {
    let host = Host::builder("chat")
        .max_processes(10_000)
        .start()
        .expect("the name is fine");
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tress::spawn(serve(host.clone(), listener));
    println!("serving on {address}");

    let mut guests = Vec::new();
    for _ in 0..2 {
        let (reader, writer) = TcpStream::connect(address).await?.into_split();
        let mut lines = BufReader::new(reader).lines();
        println!("{:?}", lines.next_line().await?);
        guests.push((lines, writer));
    }
    guests[0].1.write_all(b"is anybody there?\n").await?;
    for (lines, _) in &mut guests {
        println!("{:?}", lines.next_line().await?);
    }
    server.abort();
    host.shutdown(std::time::Duration::from_secs(1))
        .await
        .map_err(io::Error::other)
}
