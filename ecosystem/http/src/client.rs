//! Clients with one connection each, whose end can be waited for.

use axum::body::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// A reply, or what an error says.
pub type Reply = Result<(StatusCode, Bytes), String>;

/// A connection that requests share.
#[derive(Debug)]
pub struct Client<S> {
    /// Sends requests.
    pub sender: S,
    /// The task of the connection.
    connection: JoinHandle<()>,
}

/// A client of HTTP/1.
pub type Http1 = Client<conn::http1::SendRequest<Full<Bytes>>>;
/// A client of HTTP/2.
pub type Http2 = Client<conn::http2::SendRequest<Full<Bytes>>>;

impl<S> Client<S> {
    /// Closes the connection and waits for the end of its task.
    pub async fn close(self) {
        drop(self.sender);
        harness::within("the end of a connection", self.connection)
            .await
            .expect("the task of a connection");
    }
}

/// Connects, with HTTP/1.
///
/// # Errors
/// Any error of connecting or of the handshake.
pub async fn http1(address: SocketAddr) -> Result<Http1, String> {
    let stream = TcpStream::connect(address)
        .await
        .map_err(|e| e.to_string())?;
    let (sender, connection) = conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|e| e.to_string())?;
    // Its error is also that of the request that it fails.
    let connection = tokio::spawn(async { drop(connection.await) });
    Ok(Client { sender, connection })
}

/// Connects, with HTTP/2.
///
/// # Errors
/// Any error of connecting or of the handshake.
pub async fn http2(address: SocketAddr) -> Result<Http2, String> {
    let stream = TcpStream::connect(address)
        .await
        .map_err(|e| e.to_string())?;
    let executor = TokioExecutor::new();
    let made = conn::http2::handshake(executor, TokioIo::new(stream)).await;
    let (sender, connection) = made.map_err(|e| e.to_string())?;
    let connection = tokio::spawn(async { drop(connection.await) });
    Ok(Client { sender, connection })
}

impl Http1 {
    /// Posts a body.
    ///
    /// # Errors
    /// Any error of the connection.
    pub async fn post(&mut self, path: &str, body: String) -> Reply {
        self.ask(request("POST", path, body)).await
    }

    /// Gets a page.
    ///
    /// # Errors
    /// Any error of the connection.
    pub async fn get(&mut self, path: &str) -> Reply {
        self.ask(request("GET", path, String::new())).await
    }

    async fn ask(&mut self, request: Request<Full<Bytes>>) -> Reply {
        self.sender.ready().await.map_err(|e| e.to_string())?;
        whole(self.sender.send_request(request).await).await
    }
}

/// Posts a body over HTTP/2.
///
/// # Errors
/// Any error of the connection or of its stream.
pub async fn post2(
    sender: &mut conn::http2::SendRequest<Full<Bytes>>,
    path: &str,
    body: String,
) -> Reply {
    sender.ready().await.map_err(|e| e.to_string())?;
    whole(sender.send_request(request("POST", path, body)).await).await
}

/// Gets a page over HTTP/2.
///
/// # Errors
/// Any error of the connection or of its stream.
pub async fn get2(sender: &mut conn::http2::SendRequest<Full<Bytes>>, path: &str) -> Reply {
    sender.ready().await.map_err(|e| e.to_string())?;
    whole(
        sender
            .send_request(request("GET", path, String::new()))
            .await,
    )
    .await
}

fn request(method: &str, path: &str, body: String) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(format!("http://localhost{path}"))
        .header("host", "localhost")
        .body(Full::from(body))
        .expect("a request")
}

async fn whole(response: hyper::Result<Response<hyper::body::Incoming>>) -> Reply {
    let response = response.map_err(|e| e.to_string())?;
    let status = response.status();
    let body = response
        .into_body()
        .collect()
        .await
        .map_err(|e| e.to_string())?;
    Ok((status, body.to_bytes()))
}
