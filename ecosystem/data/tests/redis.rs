//! redis on redis-server.

use futures_util::StreamExt;
use harness::{Kind, Server, crowd, run, within};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{AsyncCommands, Client};
use std::time::Duration;

const _: () = tokio::__tress;

fn client(server: &Server) -> Client {
    Client::open(format!("redis://127.0.0.1:{}/", server.port)).unwrap()
}

#[test]
fn commands_and_pipelines_under_load() {
    run(|| async {
        let server = Server::start(Kind::Redis);
        let client = client(&server);
        crowd(50, |n| {
            let client = client.clone();
            async move {
                let mut connection = client.get_multiplexed_async_connection().await.unwrap();
                for round in 0..50 {
                    let _: i64 = connection.incr("single", 1).await.unwrap();
                    let key = format!("{n}/{round}");
                    let (got, sum): (String, i64) = redis::pipe()
                        .atomic()
                        .set(&key, format!("value {key}"))
                        .ignore()
                        .get(&key)
                        .incr("piped", 2)
                        .query_async(&mut connection)
                        .await
                        .unwrap();
                    assert_eq!(got, format!("value {key}"));
                    assert!(sum > 0 && sum % 2 == 0, "{sum}");
                }
            }
        })
        .await;
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let counted: (i64, i64) = connection.mget(&["single", "piped"]).await.unwrap();
        assert_eq!(counted, (2500, 5000));
    });
}

#[test]
fn one_connection_serves_many_tasks() {
    run(|| async {
        let server = Server::start(Kind::Redis);
        let connection = client(&server)
            .get_multiplexed_async_connection()
            .await
            .unwrap();
        crowd(50, |n| {
            let mut connection = connection.clone();
            async move {
                for round in 0..100 {
                    let value = format!("{n}/{round}");
                    let said: String = redis::cmd("ECHO")
                        .arg(&value)
                        .query_async(&mut connection)
                        .await
                        .unwrap();
                    assert_eq!(said, value);
                }
            }
        })
        .await;
    });
}

#[test]
fn messages_reach_every_subscriber() {
    run(|| async {
        let server = Server::start(Kind::Redis);
        let client = client(&server);
        let ready = std::sync::Arc::new(tokio::sync::Barrier::new(11));
        let subscribers = crowd(10, |_| {
            let (client, ready) = (client.clone(), ready.clone());
            async move {
                let mut subscription = client.get_async_pubsub().await.unwrap();
                subscription.subscribe("news").await.unwrap();
                ready.wait().await;
                let mut messages = subscription.into_on_message();
                for expected in 0..200 {
                    let message = messages.next().await.unwrap();
                    assert_eq!(message.get_payload::<u32>().unwrap(), expected);
                }
            }
        });
        let publish = async {
            let mut connection = client.get_multiplexed_async_connection().await.unwrap();
            ready.wait().await;
            for n in 0..200 {
                let reached: usize = connection.publish("news", n).await.unwrap();
                assert_eq!(reached, 10);
            }
        };
        tokio::join!(subscribers, publish);
    });
}

#[test]
fn the_end_of_the_server_is_an_error_and_the_manager_reconnects() {
    run(|| async {
        let mut server = Server::start(Kind::Redis);
        let client = client(&server);
        let mut plain = client.get_multiplexed_async_connection().await.unwrap();
        let mut subscription = client.get_async_pubsub().await.unwrap();
        subscription.subscribe("news").await.unwrap();
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(Duration::from_secs(5)))
            .set_min_delay(Duration::from_millis(5))
            .set_max_delay(Duration::from_millis(100));
        let mut manager = ConnectionManager::new_with_config(client.clone(), config)
            .await
            .unwrap();
        let _: () = manager.set("key", 1).await.unwrap();
        // These wait in the server when it is killed.
        let mut waiting = client
            .get_multiplexed_async_connection_with_config(
                &redis::AsyncConnectionConfig::new().set_response_timeout(None),
            )
            .await
            .unwrap();
        let waiting = tokio::spawn(async move {
            redis::cmd("BLPOP")
                .arg("nothing")
                .arg(0)
                .query_async::<redis::Value>(&mut waiting)
                .await
        });
        within("the blocked client", async {
            loop {
                let list: String = redis::cmd("CLIENT")
                    .arg("LIST")
                    .query_async(&mut plain)
                    .await
                    .unwrap();
                if list.contains("cmd=blpop") {
                    break;
                }
            }
        })
        .await;
        server.kill();
        within("the error of what waits", waiting)
            .await
            .unwrap()
            .unwrap_err();
        within("the error of a request", plain.get::<_, Option<i32>>("key"))
            .await
            .unwrap_err();
        assert!(
            within(
                "the end of the subscription",
                subscription.on_message().next()
            )
            .await
            .is_none()
        );
        within("the manager's error", manager.get::<_, Option<i32>>("key"))
            .await
            .unwrap_err();
        server.restart();
        within("the manager's reconnection", async {
            while manager.set::<_, _, ()>("key", 2).await.is_err() {}
        })
        .await;
        assert_eq!(manager.get::<_, i32>("key").await.unwrap(), 2);
    });
}
