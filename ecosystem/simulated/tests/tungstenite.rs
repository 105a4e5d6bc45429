//! tokio-tungstenite on both sides: a chat in which everybody hears everybody.

use eco_simulated::{Storm, calm, is_stormy, persist};
use futures_util::{SinkExt, StreamExt};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{accept_async, connect_async};
use tress_sim::Result;

/// Tells everybody what anybody says.
async fn chat() -> Result {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    let (tell, _) = broadcast::channel::<Message>(1000);
    loop {
        let (stream, _) = listener.accept().await?;
        let (tell, mut hear) = (tell.clone(), tell.subscribe());
        tokio::spawn(async move {
            let (mut send, mut receive) = accept_async(stream).await?.split();
            loop {
                tokio::select! {
                    said = receive.next() => match said {
                        Some(Ok(message)) if message.is_text() => {
                            // There is a receiver: this task's own.
                            let _ = tell.send(message);
                        }
                        Some(Ok(message)) if !message.is_close() => {}
                        _ => break,
                    },
                    heard = hear.recv() => match heard {
                        Ok(message) => send.send(message).await?,
                        Err(_) => break,
                    },
                }
            }
            send.close().await
        });
    }
}

/// Says something, and hears it. What others say meanwhile comes in their order.
async fn take_part(name: &str, round: usize) -> std::result::Result<(), Error> {
    let (mut socket, _) = connect_async("ws://server/").await?;
    let mut last = std::collections::BTreeMap::<(String, usize), usize>::new();
    for number in 0..20 {
        let own = format!("{name} {round} {number} {}", "la ".repeat(number * 20));
        socket.send(Message::text(own.clone())).await?;
        loop {
            let message = socket.next().await.ok_or(Error::ConnectionClosed)??;
            let text = match message {
                Message::Text(text) => text.to_string(),
                Message::Close(_) => return Err(Error::ConnectionClosed),
                _ => continue,
            };
            let mut words = text.split(' ');
            let mut word = || words.next().expect("three words");
            let (who, its_round) = (word().to_string(), word().parse().expect("a number"));
            let its_number = word().parse::<usize>().expect("a number");
            if let Some(before) = last.insert((who, its_round), its_number) {
                assert!(its_number > before, "{its_number} after {before}");
            }
            if text == own {
                break;
            }
        }
    }
    socket.close(None).await?;
    // Everything up to the answer to the close.
    while let Some(message) = socket.next().await {
        message?;
    }
    Ok(())
}

#[tress_sim::test(seeds = 20)]
fn messages_come_in_their_order() {
    let clients = ["ada", "bob", "eve"];
    let storm = Storm {
        name: "tungstenite",
        servers: &["server"],
        clients: &clients,
        ..Storm::default()
    };
    storm.run(|sim| {
        sim.host("server", chat);
        for client in clients {
            sim.client(client, async move {
                let mut rounds = 0;
                while is_stormy() {
                    // One that was tried again is a new one to the others.
                    let mut attempt = 0;
                    persist(Duration::from_secs(15), || {
                        attempt += 1;
                        take_part(client, rounds * 1000 + attempt)
                    })
                    .await;
                    rounds += 1;
                }
                calm().await;
                assert!(rounds > 0);
                Ok(())
            });
        }
    });
}
