//! async-nats on nats-server.

use async_nats::{Client, ConnectOptions, Event};
use futures_util::StreamExt;
use harness::{Kind, Server, crowd, run, within};
use std::time::Duration;
use tokio::sync::mpsc;

const _: () = tokio::__tress;

/// Connects, and returns what happens to the connection.
async fn connect(port: u16) -> (Client, mpsc::UnboundedReceiver<Event>) {
    let (send, events) = mpsc::unbounded_channel();
    let options = ConnectOptions::new()
        .reconnect_delay_callback(|_| Duration::from_millis(20))
        .event_callback(move |event| {
            let send = send.clone();
            async move {
                // Nobody has to listen.
                let _ = send.send(event);
            }
        });
    let client = options.connect(url(port)).await.unwrap();
    (client, events)
}

fn url(port: u16) -> String {
    format!("nats://127.0.0.1:{port}")
}

async fn until(events: &mut mpsc::UnboundedReceiver<Event>, wanted: Event) {
    let found = async { while events.recv().await.expect("events") != wanted {} };
    within(&format!("the event {wanted}"), found).await;
}

#[test]
fn requests_and_replies_under_load() {
    run(|| async {
        let server = Server::start(Kind::Nats);
        let (service, mut events) = connect(server.port).await;
        let requests = service
            .queue_subscribe("double", "workers".to_string())
            .await
            .unwrap();
        service.flush().await.unwrap();
        let served = tokio::spawn({
            let service = service.clone();
            async move {
                let mut requests = requests.take(2500);
                let mut count = 0;
                while let Some(request) = requests.next().await {
                    let value: u64 = std::str::from_utf8(&request.payload)
                        .unwrap()
                        .parse()
                        .unwrap();
                    let reply = request.reply.unwrap();
                    service
                        .publish(reply, (2 * value).to_string().into())
                        .await
                        .unwrap();
                    count += 1;
                }
                service.flush().await.unwrap();
                count
            }
        });
        crowd(50, |n| {
            let connecting = connect(server.port);
            async move {
                let (client, mut events) = connecting.await;
                for round in 0..50u64 {
                    let value = 1000 * n as u64 + round;
                    let reply = client
                        .request("double", value.to_string().into())
                        .await
                        .unwrap();
                    assert_eq!(reply.payload, (2 * value).to_string());
                }
                client.drain().await.unwrap();
                until(&mut events, Event::Closed).await;
            }
        })
        .await;
        assert_eq!(within("the service", served).await.unwrap(), 2500);
        // A connection that loses its server before it has drained would connect again and again.
        service.drain().await.unwrap();
        until(&mut events, Event::Closed).await;
    });
}

#[test]
fn messages_reach_every_subscriber_in_order() {
    run(|| async {
        let server = Server::start(Kind::Nats);
        let (client, mut events) = connect(server.port).await;
        let mut subscribers = Vec::new();
        for _ in 0..20 {
            subscribers.push(client.subscribe("news.*").await.unwrap());
        }
        client.flush().await.unwrap();
        let readers: Vec<_> = subscribers
            .into_iter()
            .map(|mut messages| {
                tokio::spawn(async move {
                    for expected in 0..500 {
                        let message = messages.next().await.unwrap();
                        assert_eq!(message.payload, expected.to_string());
                    }
                })
            })
            .collect();
        for n in 0..500 {
            client
                .publish("news.today", n.to_string().into())
                .await
                .unwrap();
        }
        for reader in readers {
            within("a subscriber", reader).await.unwrap();
        }
        client.drain().await.unwrap();
        until(&mut events, Event::Closed).await;
    });
}

#[test]
fn a_subscription_outlives_the_server() {
    run(|| async {
        let mut server = Server::start(Kind::Nats);
        let (client, mut events) = connect(server.port).await;
        let mut messages = client.subscribe("news").await.unwrap();
        client.publish("news", "before".into()).await.unwrap();
        let message = within("a message", messages.next()).await.unwrap();
        assert_eq!(message.payload, "before");
        server.kill();
        until(&mut events, Event::Disconnected).await;
        server.restart();
        until(&mut events, Event::Connected).await;
        client.flush().await.unwrap();
        client.publish("news", "after".into()).await.unwrap();
        let message = within("a message", messages.next()).await.unwrap();
        assert_eq!(message.payload, "after");
        drop(messages);
        client.drain().await.unwrap();
        until(&mut events, Event::Closed).await;
    });
}
