//! A chat server: a process for each connection, and a group for each room.
//!
//! `cargo run -p tress-actor --example chat` serves on a free port, and lets two guests talk over TCP.

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

/// Two guests come, and one of them says something; what each of them hears.
async fn two_guests() -> io::Result<Vec<[String; 2]>> {
    let host = Host::builder("chat")
        .max_processes(10_000)
        .start()
        .expect("the name is fine");
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tress::spawn(serve(host.clone(), listener));
    let mut guests = Vec::new();
    for _ in 0..2 {
        let (reader, writer) = TcpStream::connect(address).await?.into_split();
        let mut lines = BufReader::new(reader).lines();
        let welcome = lines.next_line().await?.unwrap_or_default();
        guests.push((lines, writer, welcome));
    }
    guests[0].1.write_all(b"is anybody there?\n").await?;
    let mut heard = Vec::new();
    for (mut lines, _, welcome) in guests {
        heard.push([welcome, lines.next_line().await?.unwrap_or_default()]);
    }
    server.abort();
    let stopped = host.shutdown(std::time::Duration::from_secs(1)).await;
    stopped.map_err(io::Error::other)?;
    Ok(heard)
}

#[tress::main]
async fn main() -> io::Result<()> {
    for lines in two_guests().await? {
        println!("{lines:?}");
    }
    Ok(())
}

#[test]
fn everybody_in_the_room_hears_what_a_guest_says() {
    let heard = tress::runtime::Runtime::new()
        .unwrap()
        .block_on(two_guests());
    let heard = heard.unwrap();
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[0], heard[1]);
    let [welcome, line] = &heard[0];
    assert_eq!(welcome, "welcome");
    assert!(line.ends_with(": is anybody there?"), "{line}");
}
