//! sqlx on PostgreSQL.

use futures_util::TryStreamExt;
use harness::{Kind, Server, crowd, run, within};
use sqlx::postgres::{PgListener, PgPool, PgPoolOptions};
use sqlx::{Connection, Executor, PgConnection, Row};
use std::time::Duration;

const _: () = tokio::__tress;

fn url(server: &Server) -> String {
    format!(
        "postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable",
        server.port
    )
}

async fn pool(server: &Server, connections: u32) -> PgPool {
    let options = PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(8));
    options.connect(&url(server)).await.unwrap()
}

#[test]
fn a_pool_under_load() {
    run(|| async {
        let server = Server::start(Kind::Postgres);
        let pool = pool(&server, 10).await;
        pool.execute("CREATE TABLE counter (n INT8); INSERT INTO counter VALUES (0)")
            .await
            .unwrap();
        let rows = crowd(50, |n| {
            let pool = pool.clone();
            async move {
                for round in 0..40i64 {
                    let query = sqlx::query("SELECT $1::INT8 + 1, $2::TEXT");
                    let text = format!("{n}/{round}");
                    let row = query
                        .bind(round)
                        .bind(&text)
                        .fetch_one(&pool)
                        .await
                        .unwrap();
                    assert_eq!(
                        (row.get::<i64, _>(0), row.get::<String, _>(1)),
                        (round + 1, text)
                    );
                }
                let mut transaction = pool.begin().await.unwrap();
                transaction
                    .execute("UPDATE counter SET n = n + 1")
                    .await
                    .unwrap();
                transaction.commit().await.unwrap();
                // One that is dropped is rolled back.
                let mut transaction = pool.begin().await.unwrap();
                transaction
                    .execute("UPDATE counter SET n = n + 1000")
                    .await
                    .unwrap();
                drop(transaction);
                40
            }
        });
        assert_eq!(rows.await.into_iter().sum::<usize>(), 2000);
        let row = sqlx::query("SELECT n FROM counter")
            .fetch_one(&pool)
            .await
            .unwrap();
        assert_eq!(row.get::<i64, _>(0), 50);
        assert!(pool.size() <= 10);
        within("the pool's end", pool.close()).await;
    });
}

#[test]
fn rows_stream_and_a_full_pool_times_out() {
    run(|| async {
        let server = Server::start(Kind::Postgres);
        let options = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_millis(50));
        let pool = options.connect(&url(&server)).await.unwrap();
        let mut held = pool.acquire().await.unwrap();
        let refused = within("the timeout", pool.acquire()).await.unwrap_err();
        assert!(matches!(refused, sqlx::Error::PoolTimedOut), "{refused:?}");
        let mut rows = sqlx::query("SELECT n FROM generate_series(1, 20000) n").fetch(&mut *held);
        let mut sum = 0i64;
        while let Some(row) = rows.try_next().await.unwrap() {
            sum += i64::from(row.get::<i32, _>(0));
        }
        assert_eq!(sum, 200_010_000);
        drop(rows);
        drop(held);
        within("a free connection", pool.acquire()).await.unwrap();
        within("the pool's end", pool.close()).await;
    });
}

#[test]
fn notifications_arrive_in_order() {
    run(|| async {
        let server = Server::start(Kind::Postgres);
        let pool = pool(&server, 4).await;
        let mut listener = PgListener::connect(&url(&server)).await.unwrap();
        listener.listen("news").await.unwrap();
        for n in 0..300 {
            sqlx::query("SELECT pg_notify('news', $1)")
                .bind(n.to_string())
                .execute(&pool)
                .await
                .unwrap();
        }
        for expected in 0..300 {
            let notification = within("a notification", listener.recv()).await.unwrap();
            assert_eq!(notification.payload(), expected.to_string());
        }
        drop(listener);
        within("the pool's end", pool.close()).await;
    });
}

#[test]
fn a_pool_recovers_from_the_end_of_the_server() {
    run(|| async {
        let mut server = Server::start(Kind::Postgres);
        let pool = pool(&server, 5).await;
        let mut watcher = PgConnection::connect(&url(&server)).await.unwrap();
        let sleeping: Vec<_> = (0..4)
            .map(|_| {
                let pool = pool.clone();
                tokio::spawn(async move { pool.execute("SELECT pg_sleep(3600)").await.map(drop) })
            })
            .collect();
        within("four that sleep", async {
            let asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
            while watcher.fetch_one(asleep).await.unwrap().get::<i64, _>(0) < 4 {}
        })
        .await;
        server.kill();
        for query in sleeping {
            within("an error", query).await.unwrap().unwrap_err();
        }
        within("an error", watcher.execute("SELECT 1"))
            .await
            .unwrap_err();
        drop(watcher);
        server.restart();
        within("a new connection", async {
            while pool.execute("SELECT 1").await.is_err() {}
        })
        .await;
        within("the pool's end", pool.close()).await;
    });
}
