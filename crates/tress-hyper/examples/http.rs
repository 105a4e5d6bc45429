//! An HTTP server with hyper.
//!
//! ```text
//! cargo run -p tress-hyper --example http -- 127.0.0.1:8000
//! curl http://127.0.0.1:8000/
//! ```
//!
//! Without an address the system chooses a port; the server prints where it listens. hyper knows HTTP and
//! nothing of sockets, tasks or time: `tress_hyper` has what it wants of those. (hyper itself
//! depends on the package `tokio`, for its channels; nothing here runs on Tokio.)

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::io;
use std::time::Duration;
use tress::net::TcpListener;
use tress_hyper::{TressIo, TressTimer};

#[tress::main]
async fn main() -> io::Result<()> {
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
        tress::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TressTimer)
                .header_read_timeout(Duration::from_secs(10))
                .serve_connection(TressIo::new(stream), service_fn(answer));
            if let Err(error) = connection.await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let (status, text) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => (StatusCode::OK, "hello from tress\n".into()),
        (_, path) => (StatusCode::NOT_FOUND, format!("there is no {path}\n")),
    };
    let mut response = Response::new(text);
    *response.status_mut() = status;
    Ok(response)
}
