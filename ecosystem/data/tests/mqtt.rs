//! rumqttc on mosquitto.

use harness::{Kind, Server, run, within};
use rumqttc::{AsyncClient, Event, EventLoop, MqttOptions, Packet, QoS};
use std::time::Duration;
use tokio::task::JoinHandle;

const _: () = tokio::__tress;

fn connect(name: &str, port: u16) -> (AsyncClient, EventLoop) {
    let mut options = MqttOptions::new(name, "127.0.0.1", port);
    options.set_keep_alive(Duration::from_secs(5));
    AsyncClient::new(options, 100)
}

/// Polls until an event is what `wanted` looks for.
async fn until<T>(events: &mut EventLoop, step: &str, wanted: impl Fn(Packet) -> Option<T>) -> T {
    within(step, async {
        loop {
            if let Event::Incoming(packet) = events.poll().await.unwrap()
                && let Some(found) = wanted(packet)
            {
                return found;
            }
        }
    })
    .await
}

/// Publishes and waits until the broker has taken everything.
fn publisher(port: u16, name: usize, quality: QoS, count: usize) -> JoinHandle<usize> {
    tokio::spawn(async move {
        let (client, mut events) = connect(&format!("publisher-{name}"), port);
        let send = tokio::spawn(async move {
            for n in 0..count {
                let topic = format!("news/{name}");
                client
                    .publish(topic, quality, false, n.to_string())
                    .await
                    .unwrap();
            }
            client
        });
        let mut taken = 0;
        while taken < count {
            let event = events.poll().await.unwrap();
            if let Event::Incoming(Packet::PubAck(_) | Packet::PubComp(_)) = event {
                taken += 1;
            }
        }
        let client = send.await.unwrap();
        client.disconnect().await.unwrap();
        while events.poll().await.is_ok() {}
        taken
    })
}

#[test]
fn every_message_arrives_once_and_in_order() {
    run(|| async {
        let server = Server::start(Kind::Mosquitto);
        let (client, mut events) = connect("subscriber", server.port);
        client.subscribe("news/#", QoS::ExactlyOnce).await.unwrap();
        until(&mut events, "the subscription", |packet| match packet {
            Packet::SubAck(_) => Some(()),
            _ => None,
        })
        .await;
        let publishers: Vec<_> = (0..10)
            .map(|n| {
                let quality = if n % 2 == 0 {
                    QoS::AtLeastOnce
                } else {
                    QoS::ExactlyOnce
                };
                publisher(server.port, n, quality, 100)
            })
            .collect();
        let mut next = [0; 10];
        while next.iter().sum::<usize>() < 1000 {
            let publish = until(&mut events, "a message", |packet| match packet {
                Packet::Publish(publish) => Some(publish),
                _ => None,
            })
            .await;
            let who: usize = publish
                .topic
                .strip_prefix("news/")
                .unwrap()
                .parse()
                .unwrap();
            assert_eq!(publish.payload, next[who].to_string());
            next[who] += 1;
        }
        for publisher in publishers {
            assert_eq!(within("a publisher", publisher).await.unwrap(), 100);
        }
        assert_eq!(next, [100; 10]);
        client.disconnect().await.unwrap();
        within("the end of the connection", async {
            while events.poll().await.is_ok() {}
        })
        .await;
    });
}

#[test]
fn a_client_reconnects_after_the_end_of_the_broker() {
    run(|| async {
        let mut server = Server::start(Kind::Mosquitto);
        let (client, mut events) = connect("survivor", server.port);
        until(&mut events, "the connection", |packet| match packet {
            Packet::ConnAck(_) => Some(()),
            _ => None,
        })
        .await;
        server.kill();
        within("an error", async { while events.poll().await.is_ok() {} }).await;
        server.restart();
        // The next poll connects again.
        within("the reconnection", async {
            loop {
                match events.poll().await {
                    Ok(Event::Incoming(Packet::ConnAck(_))) => break,
                    Ok(_) => {}
                    Err(refused) => panic!("{refused}"),
                }
            }
        })
        .await;
        client.subscribe("news", QoS::AtLeastOnce).await.unwrap();
        client
            .publish("news", QoS::AtLeastOnce, false, "after")
            .await
            .unwrap();
        let publish = until(&mut events, "a message", |packet| match packet {
            Packet::Publish(publish) => Some(publish),
            _ => None,
        })
        .await;
        assert_eq!(publish.payload, "after");
        client.disconnect().await.unwrap();
        within("the end of the connection", async {
            while events.poll().await.is_ok() {}
        })
        .await;
    });
}
