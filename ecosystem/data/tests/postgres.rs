//! tokio-postgres on PostgreSQL.

use futures_util::{StreamExt, stream};
use harness::{Kind, Server, crowd, run, within};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, NoTls, Notification};

const _: () = tokio::__tress;

/// A client, and the task of its connection.
struct Session {
    client: Client,
    connection: JoinHandle<Result<(), tokio_postgres::Error>>,
    notified: mpsc::UnboundedReceiver<Notification>,
}

impl Session {
    async fn open(port: u16) -> Result<Session, tokio_postgres::Error> {
        let config = format!("host=127.0.0.1 port={port} user=postgres dbname=postgres");
        let (client, mut connection) = tokio_postgres::connect(&config, NoTls).await?;
        let (send, notified) = mpsc::unbounded_channel();
        let connection = tokio::spawn(async move {
            let mut messages = stream::poll_fn(move |cx| connection.poll_message(cx));
            while let Some(message) = messages.next().await {
                if let AsyncMessage::Notification(notification) = message? {
                    // Only some tests listen.
                    let _ = send.send(notification);
                }
            }
            Ok(())
        });
        Ok(Session {
            client,
            connection,
            notified,
        })
    }

    async fn close(self) {
        drop(self.client);
        within("the end of a connection", self.connection)
            .await
            .unwrap()
            .unwrap();
    }
}

#[test]
fn pipelined_queries_under_load() {
    run(|| async {
        let server = Server::start(Kind::Postgres);
        let port = server.port;
        let rows = crowd(20, |n| async move {
            let session = Session::open(port).await.unwrap();
            let client = &session.client;
            let statement = client
                .prepare("SELECT $1::INT8 * 2, $2::TEXT")
                .await
                .unwrap();
            // All of these are on their way at once.
            let queries = (0..200i64).map(|k| {
                let (client, statement) = (&client, &statement);
                async move {
                    let text = format!("{n}/{k}");
                    let row = client.query_one(statement, &[&k, &text]).await.unwrap();
                    assert_eq!(
                        (row.get::<_, i64>(0), row.get::<_, String>(1)),
                        (2 * k, text)
                    );
                }
            });
            let count = stream::iter(queries).buffer_unordered(50).count().await;
            session.close().await;
            count
        });
        assert_eq!(rows.await.into_iter().sum::<usize>(), 4000);
    });
}

#[test]
fn transactions_are_kept_apart() {
    run(|| async {
        let server = Server::start(Kind::Postgres);
        let port = server.port;
        let session = Session::open(port).await.unwrap();
        let made = "CREATE TABLE account (id INT PRIMARY KEY, amount INT8);
            INSERT INTO account SELECT n, 1000 FROM generate_series(0, 9) n";
        session.client.batch_execute(made).await.unwrap();
        crowd(10, |n| async move {
            let mut session = Session::open(port).await.unwrap();
            for round in 0..20 {
                let transaction = session.client.transaction().await.unwrap();
                let (from, to) = (n as i32, (n as i32 + round) % 10);
                // In the order of the accounts: nobody waits in a circle.
                let mut moves = [(from, -7i64), (to, 7)];
                moves.sort();
                for (account, amount) in &moves {
                    let sql = "UPDATE account SET amount = amount + $2 WHERE id = $1";
                    assert_eq!(
                        transaction.execute(sql, &[account, amount]).await.unwrap(),
                        1
                    );
                }
                match round % 5 {
                    3 => drop(transaction),
                    4 => transaction.rollback().await.unwrap(),
                    _ => transaction.commit().await.unwrap(),
                }
            }
            session.close().await;
        })
        .await;
        let row = session
            .client
            .query_one("SELECT sum(amount)::INT8 FROM account", &[])
            .await
            .unwrap();
        assert_eq!(row.get::<_, i64>(0), 10_000);
        session.close().await;
    });
}

#[test]
fn rows_are_copied_in_and_out() {
    run(|| async {
        use bytes::Bytes;
        use futures_util::SinkExt;
        let server = Server::start(Kind::Postgres);
        let session = Session::open(server.port).await.unwrap();
        session
            .client
            .batch_execute("CREATE TABLE line (n INT, word TEXT)")
            .await
            .unwrap();
        let sink = session
            .client
            .copy_in("COPY line FROM STDIN")
            .await
            .unwrap();
        tokio::pin!(sink);
        for n in 0..20_000 {
            sink.feed(Bytes::from(format!("{n}\tword {n}\n")))
                .await
                .unwrap();
        }
        assert_eq!(sink.finish().await.unwrap(), 20_000);
        let out = session
            .client
            .copy_out("COPY (SELECT * FROM line ORDER BY n) TO STDOUT")
            .await
            .unwrap();
        let lines: Vec<String> = out
            .map(|line| String::from_utf8(line.unwrap().to_vec()).unwrap())
            .collect()
            .await;
        assert_eq!(lines.len(), 20_000);
        assert!(
            lines
                .iter()
                .enumerate()
                .all(|(n, line)| *line == format!("{n}\tword {n}\n"))
        );
        session.close().await;
    });
}

#[test]
fn notifications_arrive_in_order() {
    run(|| async {
        let server = Server::start(Kind::Postgres);
        let mut listener = Session::open(server.port).await.unwrap();
        listener.client.batch_execute("LISTEN news").await.unwrap();
        let speaker = Session::open(server.port).await.unwrap();
        for n in 0..500 {
            speaker
                .client
                .execute("SELECT pg_notify('news', $1)", &[&n.to_string()])
                .await
                .unwrap();
        }
        for expected in 0..500 {
            let notification = within("a notification", listener.notified.recv())
                .await
                .unwrap();
            assert_eq!(
                (notification.channel(), notification.payload()),
                ("news", &*expected.to_string())
            );
        }
        speaker.close().await;
        listener.close().await;
    });
}

#[test]
fn a_query_is_cancelled() {
    run(|| async {
        let server = Server::start(Kind::Postgres);
        let session = Session::open(server.port).await.unwrap();
        let watcher = Session::open(server.port).await.unwrap();
        let token = session.client.cancel_token();
        let slept = session.client.batch_execute("SELECT pg_sleep(3600)");
        let cancel = async {
            // A cancellation that comes before the query has no effect.
            let asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
            while watcher
                .client
                .query_one(asleep, &[])
                .await
                .unwrap()
                .get::<_, i64>(0)
                == 0
            {}
            token.cancel_query(NoTls).await.unwrap();
        };
        let (slept, ()) = within("the cancellation", async { tokio::join!(slept, cancel) }).await;
        assert_eq!(slept.unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
        // The connection can still be used.
        let row = session.client.query_one("SELECT 1", &[]).await.unwrap();
        assert_eq!(row.get::<_, i32>(0), 1);
        session.close().await;
        watcher.close().await;
    });
}

#[test]
fn the_end_of_the_server_is_an_error() {
    run(|| async {
        let mut server = Server::start(Kind::Postgres);
        let port = server.port;
        let mut sessions = Vec::new();
        for _ in 0..10 {
            sessions.push(Session::open(port).await.unwrap());
        }
        let watcher = Session::open(port).await.unwrap();
        let (sleeping, connections): (Vec<_>, Vec<_>) = sessions
            .into_iter()
            .map(|session| {
                let client = session.client;
                let asleep = async move { client.batch_execute("SELECT pg_sleep(3600)").await };
                (tokio::spawn(asleep), session.connection)
            })
            .unzip();
        within("ten that sleep", async {
            let asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
            while watcher
                .client
                .query_one(asleep, &[])
                .await
                .unwrap()
                .get::<_, i64>(0)
                < 10
            {}
        })
        .await;
        server.kill();
        for query in sleeping {
            within("an error", query).await.unwrap().unwrap_err();
        }
        for connection in connections {
            // The server's last words may be those of the query.
            let _: Result<(), _> = within("the end of a connection", connection).await.unwrap();
        }
        within("an error", watcher.client.query_one("SELECT 1", &[]))
            .await
            .unwrap_err();
        assert!(Session::open(port).await.is_err());
        server.restart();
        let session = Session::open(port).await.unwrap();
        assert_eq!(
            session
                .client
                .query_one("SELECT 1", &[])
                .await
                .unwrap()
                .get::<_, i32>(0),
            1
        );
        session.close().await;
    });
}
