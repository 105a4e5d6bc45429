//! hyper and hyper-util: a server by hand, the pooling client, bodies that stream, upgrades.

use bytes::Bytes;
use futures_util::stream;
use harness::{Peer, announce, crowd, run, serve_as_peer, within};
use http_body_util::{BodyExt, Empty, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};
use tokio::task::{JoinHandle, JoinSet};

const _: () = tokio::__tress;

type Body = BoxBody<Bytes, hyper::Error>;

#[derive(Clone, Default)]
struct Shared {
    served: Arc<AtomicUsize>,
    dropped: Arc<Notify>,
    upgraded: Arc<std::sync::Mutex<JoinSet<()>>>,
}

struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

async fn answer(
    mut request: Request<Incoming>,
    shared: Shared,
) -> Result<Response<Body>, hyper::Error> {
    shared.served.fetch_add(1, Ordering::Relaxed);
    match (request.method(), request.uri().path()) {
        // The request's body, piece by piece as it comes.
        (&Method::POST, "/echo") => Ok(Response::new(request.into_body().boxed())),
        (&Method::GET, "/endless") => {
            let guard = NotifyOnDrop(shared.dropped);
            let pieces = stream::repeat_with(move || {
                let _ = &guard;
                Ok(Frame::data(Bytes::from_static(&[7; 4096])))
            });
            Ok(Response::new(BodyExt::boxed(StreamBody::new(pieces))))
        }
        (&Method::GET, "/upgrade") => {
            let upgrade = hyper::upgrade::on(&mut request);
            shared.upgraded.lock().unwrap().spawn(async move {
                let mut stream = TokioIo::new(upgrade.await.unwrap());
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).await.unwrap();
                stream.write_all(&bytes).await.unwrap();
                stream.shutdown().await.unwrap();
            });
            let response = Response::builder()
                .status(StatusCode::SWITCHING_PROTOCOLS)
                .header(header::UPGRADE, "echo");
            Ok(response.body(empty()).unwrap())
        }
        _ => Ok(Response::builder()
            .status(StatusCode::NOT_FOUND)
            .body(empty())
            .unwrap()),
    }
}

fn empty() -> Body {
    Empty::new()
        .map_err(|never: Infallible| match never {})
        .boxed()
}

async fn serve(listener: TcpListener, shared: Shared, stop: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    tokio::pin!(stop);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            () = &mut stop => break,
        };
        let (shared, watcher) = (shared.clone(), graceful.watcher());
        connections.spawn(async move {
            let service = service_fn(move |request| answer(request, shared.clone()));
            let builder = auto::Builder::new(TokioExecutor::new());
            let connection = builder
                .serve_connection_with_upgrades(TokioIo::new(stream), service)
                .into_owned();
            // Its error is the client's affair.
            let _ = watcher.watch(connection).await;
        });
    }
    drop(listener);
    graceful.shutdown().await;
    while let Some(ended) = connections.join_next().await {
        ended.unwrap();
    }
}

struct Site {
    address: SocketAddr,
    shared: Shared,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Site {
    async fn start() -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Shared::default();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(serve(listener, shared.clone(), async {
            // The sender's end means the same.
            let _ = stopped.await;
        }));
        Site {
            address,
            shared,
            stop,
            serving,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        within("the server's end", self.serving).await.unwrap();
    }
}

#[test]
fn a_pool_of_connections_under_load() {
    run(|| async {
        for http2 in [false, true] {
            let site = Site::start().await;
            let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new())
                .http2_only(http2)
                .build_http();
            let url = site.url("/echo");
            let counted = crowd(50, |n| {
                let (client, url) = (client.clone(), url.clone());
                async move {
                    for k in 0..60 {
                        let text = format!("{n}/{k}").repeat(30);
                        let request = Request::post(&url).body(Full::from(text.clone())).unwrap();
                        let reply = client.request(request).await.unwrap();
                        assert_eq!(reply.into_body().collect().await.unwrap().to_bytes(), text);
                    }
                    60
                }
            });
            assert_eq!(counted.await.into_iter().sum::<usize>(), 3000);
            assert_eq!(site.shared.served.load(Ordering::Relaxed), 3000);
            drop(client);
            site.stop().await;
        }
    });
}

#[test]
fn bodies_stream_both_ways_at_once() {
    run(|| async {
        let site = Site::start().await;
        let client: Client<_, BoxBody<Bytes, Infallible>> =
            Client::builder(TokioExecutor::new()).build_http();
        let (send, pieces) = tokio::sync::mpsc::channel::<Bytes>(1);
        let pieces = stream::unfold(pieces, async |mut pieces| {
            let piece = pieces.recv().await?;
            Some((Ok(Frame::data(piece)), pieces))
        });
        let request = Request::post(site.url("/echo"))
            .body(BodyExt::boxed(StreamBody::new(pieces)))
            .unwrap();
        let mut reply = within("the head of the reply", client.request(request))
            .await
            .unwrap();
        for n in 0..500u32 {
            // Each piece waits for the echo of the one before.
            send.send(Bytes::from(n.to_string())).await.unwrap();
            let frame = within("an echo", reply.frame()).await.unwrap().unwrap();
            assert_eq!(frame.into_data().unwrap(), n.to_string());
        }
        drop(send);
        assert!(within("the end of the body", reply.frame()).await.is_none());
        drop((client, reply));
        site.stop().await;
    });
}

#[test]
fn a_client_that_goes_away_drops_the_body() {
    run(|| async {
        let site = Site::start().await;
        let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
        let mut reply = client
            .get(site.url("/endless").parse().unwrap())
            .await
            .unwrap();
        for _ in 0..100 {
            let frame = within("a piece", reply.frame()).await.unwrap().unwrap();
            assert!(frame.into_data().unwrap().iter().all(|byte| *byte == 7));
        }
        drop((reply, client));
        within("the end of the body", site.shared.dropped.notified()).await;
        site.stop().await;
    });
}

#[test]
fn an_upgraded_connection_is_a_plain_stream() {
    run(|| async {
        let site = Site::start().await;
        let request = || {
            Request::get(site.url("/upgrade"))
                .header(header::CONNECTION, "upgrade")
                .header(header::UPGRADE, "echo")
                .body(Empty::<Bytes>::new())
                .unwrap()
        };
        let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
        let reply = client.request(request()).await.unwrap();
        assert_eq!(reply.status(), StatusCode::SWITCHING_PROTOCOLS);
        let mut stream = TokioIo::new(
            within("the upgrade", hyper::upgrade::on(reply))
                .await
                .unwrap(),
        );
        let sent: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        stream.write_all(&sent).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut got = Vec::new();
        within("the echo", stream.read_to_end(&mut got))
            .await
            .unwrap();
        assert!(got == sent);
        let mut upgraded = std::mem::take(&mut *site.shared.upgraded.lock().unwrap());
        while let Some(ended) = within("the end of the upgraded", upgraded.join_next()).await {
            ended.unwrap();
        }
        drop((client, stream));
        site.stop().await;
    });
}

#[test]
#[ignore = "the process that the next test kills"]
fn peer() {
    serve_as_peer(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        announce(listener.local_addr().unwrap());
        serve(listener, Shared::default(), std::future::pending()).await;
    });
}

#[test]
fn a_killed_server_fails_its_clients() {
    run(|| async {
        let mut peer = Peer::start("peer");
        let address = peer.address;
        let ready = Arc::new(tokio::sync::Barrier::new(21));
        let lost = crowd(20, |n| {
            let ready = ready.clone();
            async move {
                let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new())
                    .http2_only(n % 2 == 0)
                    .build_http();
                let url = format!("http://{address}/endless").parse().unwrap();
                let mut reply = client.get(url).await.unwrap();
                ready.wait().await;
                loop {
                    if let Err(lost) = reply.frame().await.expect("no end of an endless body") {
                        return lost;
                    }
                }
            }
        });
        let kill = async {
            ready.wait().await;
            peer.kill();
        };
        let (lost, ()) = within("errors", async { tokio::join!(lost, kill) }).await;
        assert_eq!(lost.len(), 20);
    });
}
