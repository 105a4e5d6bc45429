//! Codecs, tokens and trackers of tokio-util: frames that arrive in pieces.

use bytes::{Bytes, BytesMut};
use eco_simulated::{Storm, is_stormy, persist};
use futures_util::{SinkExt, StreamExt};
use std::io;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::{Framed, LengthDelimitedCodec, LinesCodec, LinesCodecError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tress_sim::Result;

/// Sends frames back, and on another port lines.
async fn server() -> Result {
    let (frames, lines) = (
        TcpListener::bind("0.0.0.0:1").await?,
        TcpListener::bind("0.0.0.0:2").await?,
    );
    loop {
        tokio::select! {
            accepted = frames.accept() => {
                let (stream, _) = accepted?;
                tokio::spawn(async move {
                    let (sink, stream) = Framed::new(stream, LengthDelimitedCodec::new()).split();
                    stream.map(|frame| frame.map(BytesMut::freeze)).forward(sink).await
                });
            }
            accepted = lines.accept() => {
                let (stream, _) = accepted?;
                tokio::spawn(async move {
                    let (sink, stream) = Framed::new(stream, LinesCodec::new_with_max_length(1000)).split();
                    stream.forward(sink).await
                });
            }
        }
    }
}

/// The frame of that number: from nothing to more than a connection holds.
fn frame(number: usize) -> Bytes {
    let length = [0, 1, 999, 40_000, 100_000][number % 5] + number;
    (0..length).map(|at| (at * 3 + number) as u8).collect()
}

/// Twenty frames on their way at once.
async fn frames() -> io::Result<()> {
    let stream = TcpStream::connect("server:1").await?;
    let (mut sink, mut stream) = Framed::new(stream, LengthDelimitedCodec::new()).split();
    let send = async {
        for number in 0..20 {
            sink.feed(frame(number)).await?;
        }
        sink.close().await
    };
    let receive = async {
        for number in 0..20 {
            let got = stream.next().await.ok_or(io::ErrorKind::UnexpectedEof)??;
            assert!(
                got == frame(number),
                "frame {number} is another one, of {} bytes",
                got.len()
            );
        }
        match stream.next().await {
            None => Ok(()),
            Some(Err(error)) => Err(error),
            Some(Ok(frame)) => panic!("a frame too many: {frame:?}"),
        }
    };
    tokio::try_join!(send, receive)?;
    Ok(())
}

/// Lines one by one, by several tasks that a tracker waits for.
async fn lines() -> std::result::Result<(), LinesCodecError> {
    let (tracker, token) = (TaskTracker::new(), CancellationToken::new());
    let tasks: Vec<_> = (0..3)
        .map(|task| {
            let token = token.clone();
            tracker.spawn(async move {
                // One that fails ends the others.
                let guard = token.clone().drop_guard();
                let ended = token.run_until_cancelled(speak(task)).await;
                if let Some(Ok(())) = ended {
                    guard.disarm();
                }
                ended.unwrap_or_else(|| Err(io::Error::from(io::ErrorKind::Interrupted).into()))
            })
        })
        .collect();
    tracker.close();
    tracker.wait().await;
    for task in tasks {
        task.await.expect("no panic")?;
    }
    Ok(())
}

async fn speak(task: usize) -> std::result::Result<(), LinesCodecError> {
    let stream = TcpStream::connect("server:2").await?;
    let mut framed = Framed::new(stream, LinesCodec::new());
    for number in 0..10 {
        let line = format!("{task} {number} {}", "words ".repeat(number));
        framed.send(&line).await?;
        let said = framed
            .next()
            .await
            .ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))??;
        assert_eq!(said, line);
    }
    Ok(())
}

#[tress_sim::test(seeds = 20)]
fn frames_come_back_whole_and_in_order() {
    let clients = ["one", "two"];
    let storm = Storm {
        name: "tokio_util",
        servers: &["server"],
        clients: &clients,
        ..Storm::default()
    };
    storm.run(|sim| {
        sim.host("server", server);
        for client in clients {
            sim.client(client, async {
                let limit = Duration::from_secs(15);
                let mut rounds = 0;
                while is_stormy() || rounds < 3 {
                    persist(limit, frames).await;
                    persist(limit, lines).await;
                    rounds += 1;
                }
                Ok(())
            });
        }
    });
}
