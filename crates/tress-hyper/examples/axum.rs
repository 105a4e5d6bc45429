//! axum's routes and extractors, served by tress instead of Tokio's runtime.
//!
//! ```text
//! cargo run -p tress-hyper --example axum -- 127.0.0.1:8000
//! curl http://127.0.0.1:8000/hello/world
//! ```
//!
//! How: axum is used without its feature `tokio`, which is where `axum::serve` and with it Tokio's sockets
//! and tasks come from. What is left is a `Router`, a service (in the sense of the crate `tower-service`)
//! from requests to responses, and hyper's connections can be given one. Handlers may use whatever
//! tress has: timers, tasks, channels, files.
//!
//! What comes of Tokio all the same, as `cargo tree -p tress-hyper -e features,dev,normal -i tokio` shows: the
//! package with its feature `sync` alone, because hyper uses its channels. There is no scheduler, timer or
//! I/O of Tokio in the program, not even unused.

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tower_service::Service;
use tress::net::TcpListener;
use tress::time::{Duration, sleep};
use tress_hyper::{TressIo, TressTimer};

#[derive(Clone, Default)]
struct Visits(Arc<AtomicU64>);

#[tress::main]
async fn main() -> io::Result<()> {
    let router = Router::new()
        .route("/hello/{name}", get(hello))
        .route("/slow", get(slow))
        .with_state(Visits::default());

    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:0".into());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                eprintln!("cannot accept: {error}");
                continue;
            }
        };
        let router = router.clone();
        tress::spawn(async move {
            // A router is always ready, so it can be called at once.
            let service = service_fn(move |request| router.clone().call(request));
            let connection = http1::Builder::new()
                .timer(TressTimer)
                .serve_connection(TressIo::new(stream), service);
            if let Err(error) = connection.await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

async fn hello(State(visits): State<Visits>, Path(name): Path<String>) -> String {
    let n = visits.0.fetch_add(1, Ordering::Relaxed) + 1;
    format!("hello {name}, you are visitor {n}\n")
}

/// A timer and a task of tress in a handler of axum.
async fn slow() -> String {
    let task = tress::spawn(async {
        sleep(Duration::from_millis(10)).await;
        "slept"
    });
    match task.await {
        Ok(text) => format!("{text}\n"),
        Err(error) => format!("the task has failed: {error}\n"),
    }
}
