//! async-nats on several hosts, with a small broker that speaks its protocol: requests, replies and a stream of messages over connections
//! that the client makes again by itself.

use async_nats::{Client, ConnectOptions};
use eco_simulated::{Storm, is_stormy, persist};
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tress_sim::Result;

const INFO: &[u8] = b"INFO {\"server_id\":\"simulated\",\"server_name\":\"simulated\",\"version\":\"2.10.0\",\"go\":\"\",\
    \"host\":\"broker\",\"port\":4222,\"headers\":false,\"max_payload\":1048576,\"proto\":1,\"client_id\":1}\r\n";

/// A subscription: the connection, its number there, and its pattern.
type Subscriptions = BTreeMap<(u64, String), (String, mpsc::UnboundedSender<Vec<u8>>)>;

type Shared = Arc<Mutex<Subscriptions>>;

/// Returns whether a subject is one of a pattern, in which `*` stands for a word and `>` for all that follow.
fn matches(pattern: &str, subject: &str) -> bool {
    let (mut patterns, mut words) = (pattern.split('.'), subject.split('.'));
    loop {
        match (patterns.next(), words.next()) {
            (None, None) => return true,
            (Some(">"), Some(_)) => return true,
            (Some("*"), Some(_)) => {}
            (Some(expected), Some(word)) if expected == word => {}
            _ => return false,
        }
    }
}

async fn broker() -> Result {
    let listener = TcpListener::bind("0.0.0.0:4222").await?;
    let subscriptions = Shared::default();
    for connection in 0.. {
        let (stream, _) = listener.accept().await?;
        let subscriptions = subscriptions.clone();
        tokio::spawn(async move {
            // Clients that give up are not the broker's affair.
            let _ = serve(connection, stream, &subscriptions).await;
            let mut subscriptions = subscriptions.lock().unwrap();
            subscriptions.retain(|(of, _), _| *of != connection);
        });
    }
    Ok(())
}

async fn serve(connection: u64, stream: TcpStream, subscriptions: &Shared) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let (send, mut receive) = mpsc::unbounded_channel::<Vec<u8>>();
    let writer = async {
        write.write_all(INFO).await?;
        while let Some(bytes) = receive.recv().await {
            write.write_all(&bytes).await?;
        }
        Ok(())
    };
    let reader = async {
        let mut read = BufReader::new(read);
        let mut line = String::new();
        while read.read_line(&mut line).await? > 0 {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["CONNECT", ..] | ["PONG"] => {}
                ["PING"] => answer(&send, b"PONG\r\n".to_vec()),
                ["SUB", pattern, number] | ["SUB", pattern, _, number] => {
                    let subscription = (pattern.to_string(), send.clone());
                    let key = (connection, number.to_string());
                    subscriptions.lock().unwrap().insert(key, subscription);
                }
                ["UNSUB", number, ..] => {
                    let key = (connection, number.to_string());
                    subscriptions.lock().unwrap().remove(&key);
                }
                ["PUB", subject, ref reply @ .., length] => {
                    let length: usize = length.parse().map_err(io::Error::other)?;
                    let mut payload = vec![0; length + 2];
                    read.read_exact(&mut payload).await?;
                    for ((_, number), (pattern, to)) in &*subscriptions.lock().unwrap() {
                        if matches(pattern, subject) {
                            let head = ["MSG", subject, number]
                                .into_iter()
                                .chain(reply.iter().copied());
                            let head = head.collect::<Vec<_>>().join(" ");
                            let mut message = format!("{head} {length}\r\n").into_bytes();
                            message.extend(&payload);
                            answer(to, message);
                        }
                    }
                }
                _ => return Err(io::Error::other(format!("not understood: {line}"))),
            }
            line.clear();
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    };
    tokio::try_join!(writer, reader).map(|_: ((), ())| ())
}

/// Has a connection send that, unless it has gone.
fn answer(to: &mpsc::UnboundedSender<Vec<u8>>, bytes: Vec<u8>) {
    let _ = to.send(bytes);
}

async fn connect() -> Client {
    let options = || {
        ConnectOptions::new()
            .connection_timeout(Duration::from_secs(2))
            .ping_interval(Duration::from_secs(1))
            .request_timeout(Some(Duration::from_secs(2)))
            .reconnect_delay_callback(|_| Duration::from_millis(300))
            .max_reconnects(None)
    };
    persist(Duration::from_secs(5), || {
        options().connect("nats://broker:4222")
    })
    .await
}

/// Doubles numbers, and does not end.
async fn doubler() -> Result {
    let client = connect().await;
    let mut requests = client.subscribe("double").await?;
    while let Some(request) = requests.next().await {
        let number: u64 = std::str::from_utf8(&request.payload)?.parse()?;
        if let Some(reply) = request.reply {
            client
                .publish(reply, (2 * number).to_string().into())
                .await?;
        }
    }
    Err("the subscription has ended".into())
}

#[tress_sim::test(seeds = 20)]
fn requests_get_their_own_replies() {
    let clients = ["one", "two"];
    let storm = Storm {
        name: "nats",
        servers: &["broker", "doubler"],
        clients: &clients,
        ..Storm::default()
    };
    storm.run(|sim| {
        sim.host("broker", broker);
        sim.host("doubler", doubler);
        for (name, first) in clients.into_iter().zip([0, 1_000_000]) {
            sim.client(name, async move {
                let client = connect().await;
                let mut own = client.subscribe(name).await?;
                let mut number = first;
                let mut heard = 0;
                while is_stormy() || heard < 10 {
                    let reply = persist(Duration::from_secs(5), || {
                        client.request("double", number.to_string().into())
                    });
                    assert_eq!(reply.await.payload, (2 * number).to_string());
                    // What one publishes to itself may be lost with a connection, but comes in order.
                    client.publish(name, number.to_string().into()).await?;
                    if let Ok(Some(message)) =
                        tokio::time::timeout(Duration::from_secs(1), own.next()).await
                    {
                        let said: u64 = std::str::from_utf8(&message.payload)?.parse()?;
                        assert!(
                            (first..=number).contains(&said),
                            "{said} is not of this client"
                        );
                        heard += 1;
                    }
                    number += 1;
                }
                Ok(())
            });
        }
    });
}
