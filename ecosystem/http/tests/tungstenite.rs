//! tokio-tungstenite on both sides.

use futures_util::{SinkExt, StreamExt};
use harness::{Peer, announce, crowd, run, serve_as_peer, within};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, broadcast};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, accept_async, connect_async};

const _: () = tokio::__tress;

/// Tells everybody what anybody says, until `stop` has a message or its sender is gone.
async fn chat(listener: TcpListener, mut stop: broadcast::Receiver<()>) {
    let (tell, _) = broadcast::channel::<Message>(4096);
    let mut members = JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            _ = stop.recv() => break,
        };
        let (tell, mut hear, mut stop) = (tell.clone(), tell.subscribe(), stop.resubscribe());
        members.spawn(async move {
            let socket = accept_async(stream).await.unwrap();
            let (mut send, mut receive) = socket.split();
            loop {
                let ended = tokio::select! {
                    said = receive.next() => match said {
                        // There is a receiver: this task's own.
                        Some(Ok(message)) if message.is_text() => tell.send(message).is_err(),
                        Some(Ok(message)) => message.is_close(),
                        _ => true,
                    },
                    heard = hear.recv() => send.send(heard.unwrap()).await.is_err(),
                    _ = stop.recv() => true,
                };
                if ended {
                    break;
                }
            }
            // The other side may have gone first.
            let _ = send.close().await;
        });
    }
    while let Some(ended) = members.join_next().await {
        ended.unwrap();
    }
}

async fn join(address: SocketAddr) -> WebSocketStream<MaybeTlsStream<TcpStream>> {
    within("the handshake", connect_async(format!("ws://{address}/")))
        .await
        .unwrap()
        .0
}

#[test]
fn everybody_hears_everybody() {
    run(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = broadcast::channel(1);
        let chat = tokio::spawn(chat(listener, stopped));
        let ready = Arc::new(Barrier::new(20));
        let heard = crowd(20, |n| {
            let ready = ready.clone();
            async move {
                let mut socket = join(address).await;
                // Who has heard itself is a member; the others may have been heard before.
                socket
                    .send(Message::text(format!("hello {n}")))
                    .await
                    .unwrap();
                while socket.next().await.unwrap().unwrap() != Message::text(format!("hello {n}")) {
                }
                ready.wait().await;
                let (mut send, mut receive) = socket.split();
                let speak = async {
                    for k in 0..20 {
                        send.send(Message::text(format!("{n} {k}"))).await.unwrap();
                    }
                };
                let listen = async {
                    let mut next = [0; 20];
                    while next.iter().sum::<usize>() < 400 {
                        let message = receive.next().await.unwrap().unwrap();
                        let text = message.to_text().unwrap();
                        if text.starts_with("hello") {
                            continue;
                        }
                        let (who, what) = text.split_once(' ').unwrap();
                        let who: usize = who.parse().unwrap();
                        assert_eq!(what.parse::<usize>().unwrap(), next[who]);
                        next[who] += 1;
                    }
                    next.iter().sum::<usize>()
                };
                let (heard, ()) = tokio::join!(listen, speak);
                (heard, send.reunite(receive).unwrap())
            }
        })
        .await;
        assert_eq!(heard.iter().map(|(count, _)| count).sum::<usize>(), 8000);
        stop.send(()).unwrap();
        for (_, mut socket) in heard {
            let end = within("a close frame", socket.next())
                .await
                .unwrap()
                .unwrap();
            assert!(end.is_close(), "{end:?}");
            assert!(within("the end", socket.next()).await.is_none());
        }
        within("the server's end", chat).await.unwrap();
    });
}

#[test]
fn large_messages_go_through() {
    run(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = broadcast::channel(1);
        let chat = tokio::spawn(chat(listener, stopped));
        let mut socket = join(address).await;
        let text: String = (0..1 << 20)
            .map(|n: u32| char::from(b'a' + (n % 26) as u8))
            .collect();
        socket.send(Message::text(text.clone())).await.unwrap();
        let echoed = within("a mebibyte", socket.next()).await.unwrap().unwrap();
        assert!(echoed == Message::text(text));
        socket.close(None).await.unwrap();
        while within("the end", socket.next()).await.is_some() {}
        stop.send(()).unwrap();
        within("the server's end", chat).await.unwrap();
    });
}

#[test]
#[ignore = "the process that the next test kills"]
fn peer() {
    serve_as_peer(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        announce(listener.local_addr().unwrap());
        let (_stop, stopped) = broadcast::channel(1);
        chat(listener, stopped).await;
    });
}

#[test]
fn a_killed_server_fails_its_clients() {
    run(|| async {
        let mut peer = Peer::start("peer");
        let mut sockets = Vec::new();
        for _ in 0..20 {
            sockets.push(join(peer.address).await);
        }
        let lost: Vec<_> = sockets
            .into_iter()
            .map(|mut socket| {
                tokio::spawn(async move { socket.next().await.unwrap().unwrap_err() })
            })
            .collect();
        peer.kill();
        for lost in lost {
            within("an error", lost).await.unwrap();
        }
    });
}
