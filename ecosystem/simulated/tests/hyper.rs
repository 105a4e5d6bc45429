//! hyper on both sides, without a pool: HTTP/1 and HTTP/2 by hand.

use bytes::Bytes;
use eco_simulated::{Storm, is_stormy, persist};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tress_sim::Result;

/// Sends bodies back as they come, and says which version of the protocol they came by.
async fn echo(request: Request<Incoming>) -> hyper::Result<Response<Incoming>> {
    let version = format!("{:?}", request.version());
    let mut response = Response::new(request.into_body());
    response
        .headers_mut()
        .insert("x-version", version.parse().expect("a header"));
    Ok(response)
}

async fn server() -> Result {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let mut server = auto::Builder::new(TokioExecutor::new());
            server
                .http1()
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_secs(5));
            server
                .http2()
                .timer(TokioTimer::new())
                .keep_alive_interval(Duration::from_secs(1));
            // Clients that give up are not the server's affair.
            let _ = server
                .serve_connection(TokioIo::new(stream), service_fn(echo))
                .await;
        });
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What the client sends as the request of that number: from nothing to more than a connection holds.
fn body(number: usize) -> Bytes {
    let length = [0, 1, 1000, 20_000, 150_000][number % 5];
    (0..length).map(|at| (at * 7 + number) as u8).collect()
}

fn request(number: usize) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body(number)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = "http://server/echo".parse().expect("an address");
    request
}

async fn check(
    number: usize,
    version: Version,
    response: Response<Incoming>,
) -> std::result::Result<(), Failure> {
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["x-version"], format!("{version:?}"));
    let echoed = response.into_body().collect().await?.to_bytes();
    assert!(
        echoed == body(number),
        "another body comes back, of {} bytes",
        echoed.len()
    );
    Ok(())
}

/// Five requests, one after the other, on a new connection.
async fn by_http1() -> std::result::Result<(), Failure> {
    let stream = TcpStream::connect("server:80").await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    for number in 0..5 {
        sender.ready().await?;
        let mut request = request(number);
        request.headers_mut().insert("host", "server".parse()?);
        check(
            number,
            Version::HTTP_11,
            sender.send_request(request).await?,
        )
        .await?;
    }
    drop(sender);
    Ok(connection.await??)
}

/// Twenty requests, at the same time, on a new connection.
async fn by_http2() -> std::result::Result<(), Failure> {
    let stream = TcpStream::connect("server:80").await?;
    let mut client = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    client
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(1));
    let (sender, connection) = client.handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let mut requests = tokio::task::JoinSet::new();
    for number in 0..20 {
        let mut sender = sender.clone();
        requests.spawn(async move {
            sender.ready().await?;
            check(
                number,
                Version::HTTP_2,
                sender.send_request(request(number)).await?,
            )
            .await
        });
    }
    drop(sender);
    while let Some(ended) = requests.join_next().await {
        ended??;
    }
    Ok(connection.await??)
}

#[tress_sim::test(seeds = 20)]
fn bodies_come_back_whole() {
    let storm = Storm {
        name: "hyper",
        servers: &["server"],
        clients: &["one", "two"],
        ..Storm::default()
    };
    storm.run(|sim| {
        sim.host("server", server);
        sim.client("one", async {
            while is_stormy() {
                persist(Duration::from_secs(10), by_http1).await;
            }
            persist(Duration::from_secs(10), by_http1).await;
            Ok(())
        });
        sim.client("two", async {
            while is_stormy() {
                persist(Duration::from_secs(10), by_http2).await;
            }
            persist(Duration::from_secs(10), by_http2).await;
            Ok(())
        });
    });
}
