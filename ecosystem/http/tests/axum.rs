//! axum: HTTP/1, HTTP/2 and WebSockets.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::{any, get, post};
use eco_http::client;
use futures_util::{SinkExt, StreamExt};
use harness::{Peer, announce, crowd, run, serve_as_peer, within};
use hyper::StatusCode;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite;

const _: () = tokio::__tress;

#[derive(Clone, Default)]
struct Shared {
    served: Arc<AtomicUsize>,
    arrived: Arc<Notify>,
    go_on: Arc<Notify>,
}

/// A server in this process.
struct Site {
    address: SocketAddr,
    shared: Shared,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Site {
    async fn start() -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Shared::default();
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = axum::serve(listener, app(shared.clone())).with_graceful_shutdown(async {
            // The sender's end means the same.
            let _ = stopped.await;
        });
        Site {
            address,
            shared,
            stop,
            serving: tokio::spawn(serve.into_future()),
        }
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        within("the server's end", self.serving)
            .await
            .unwrap()
            .unwrap();
    }
}

fn app(shared: Shared) -> Router {
    Router::new()
        .route("/echo", post(echo))
        .route("/hold", get(hold))
        .route("/ws", any(upgrade))
        .with_state(shared)
}

async fn echo(State(shared): State<Shared>, body: Bytes) -> Bytes {
    shared.served.fetch_add(1, Ordering::Relaxed);
    body
}

/// Answers only when it is told to.
async fn hold(State(shared): State<Shared>) -> &'static str {
    shared.arrived.notify_one();
    shared.go_on.notified().await;
    "held"
}

async fn upgrade(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|mut socket| async move {
        while let Some(Ok(message)) = socket.recv().await {
            let echoed = match message {
                Message::Text(_) | Message::Binary(_) => socket.send(message).await,
                _ => Ok(()),
            };
            if echoed.is_err() {
                break;
            }
        }
    })
}

#[test]
fn http1_under_load() {
    run(|| async {
        let site = Site::start().await;
        let address = site.address;
        let replies = crowd(50, |n| async move {
            let mut client = client::http1(address).await.unwrap();
            for request in 0..100 {
                let body = format!("{n}/{request}").repeat(20);
                let (status, reply) = client.post("/echo", body.clone()).await.unwrap();
                assert_eq!((status, reply), (StatusCode::OK, Bytes::from(body)));
            }
            client.close().await;
            100
        });
        assert_eq!(replies.await.into_iter().sum::<usize>(), 5000);
        assert_eq!(site.shared.served.load(Ordering::Relaxed), 5000);
        site.stop().await;
    });
}

#[test]
fn http2_under_load() {
    run(|| async {
        let site = Site::start().await;
        let address = site.address;
        let replies = crowd(10, |n| async move {
            let client = client::http2(address).await.unwrap();
            let streams = crowd(50, |stream| {
                let mut sender = client.sender.clone();
                async move {
                    for request in 0..10 {
                        let body = format!("{n}/{stream}/{request}").repeat(20);
                        let reply = client::post2(&mut sender, "/echo", body.clone())
                            .await
                            .unwrap();
                        assert_eq!(reply, (StatusCode::OK, Bytes::from(body)));
                    }
                    10
                }
            });
            let count = streams.await.into_iter().sum::<usize>();
            client.close().await;
            count
        });
        assert_eq!(replies.await.into_iter().sum::<usize>(), 5000);
        assert_eq!(site.shared.served.load(Ordering::Relaxed), 5000);
        site.stop().await;
    });
}

#[test]
fn websockets_under_load() {
    run(|| async {
        let site = Site::start().await;
        let url = format!("ws://{}/ws", site.address);
        let replies = crowd(50, |n| {
            let url = url.clone();
            async move {
                let (mut socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
                for message in 0..100 {
                    let sent = tungstenite::Message::text(format!("{n}/{message}"));
                    socket.send(sent.clone()).await.unwrap();
                    assert_eq!(socket.next().await.unwrap().unwrap(), sent);
                }
                socket.close(None).await.unwrap();
                while let Some(rest) = socket.next().await {
                    assert!(rest.unwrap().is_close());
                }
                100
            }
        });
        assert_eq!(replies.await.into_iter().sum::<usize>(), 5000);
        site.stop().await;
    });
}

#[test]
fn graceful_shutdown_answers_what_has_arrived() {
    run(|| async {
        let site = Site::start().await;
        let address = site.address;
        let asked = tokio::spawn(async move {
            let mut client = client::http1(address).await.unwrap();
            let reply = client.get("/hold").await.unwrap();
            client.close().await;
            reply
        });
        within("the request", site.shared.arrived.notified()).await;
        site.stop.send(()).unwrap();
        // The listener goes first. Until then connections are taken up, and closed without a reply.
        within("the listener's end", async {
            while tokio::net::TcpStream::connect(address).await.is_ok() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert!(!site.serving.is_finished());
        site.shared.go_on.notify_one();
        let reply = within("the reply", asked).await.unwrap();
        assert_eq!(reply, (StatusCode::OK, Bytes::from_static(b"held")));
        within("the server's end", site.serving)
            .await
            .unwrap()
            .unwrap();
    });
}

#[test]
fn a_client_that_goes_away_drops_the_handler() {
    run(|| async {
        let site = Site::start().await;
        let mut client = client::http1(site.address).await.unwrap();
        {
            let asked = client.get("/hold");
            tokio::pin!(asked);
            let arrived = site.shared.arrived.notified();
            tokio::select! {
                reply = &mut asked => panic!("{reply:?}"),
                () = within("the request", arrived) => {}
            }
        }
        client.close().await;
        // The handler's future, which nobody has told to go on, ends with its connection.
        site.stop().await;
    });
}

#[test]
#[ignore = "the process that the next test kills"]
fn peer() {
    serve_as_peer(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        announce(listener.local_addr().unwrap());
        axum::serve(listener, app(Shared::default())).await
    });
}

#[test]
fn a_killed_server_fails_its_clients() {
    run(|| async {
        let mut peer = Peer::start("peer");
        let address = peer.address;
        let ready = Arc::new(tokio::sync::Barrier::new(31));
        let clients = {
            let ready = ready.clone();
            crowd(30, move |n| {
                let ready = ready.clone();
                async move {
                    match n % 3 {
                        0 => {
                            let mut client = client::http1(address).await.unwrap();
                            client.post("/echo", "1".into()).await.unwrap();
                            ready.wait().await;
                            let lost = client.get("/hold").await.unwrap_err();
                            client.close().await;
                            lost
                        }
                        1 => {
                            let mut client = client::http2(address).await.unwrap();
                            client::post2(&mut client.sender, "/echo", "1".into())
                                .await
                                .unwrap();
                            ready.wait().await;
                            let lost = client::get2(&mut client.sender, "/hold").await.unwrap_err();
                            client.close().await;
                            lost
                        }
                        _ => {
                            let url = format!("ws://{address}/ws");
                            let (mut socket, _) =
                                tokio_tungstenite::connect_async(url).await.unwrap();
                            ready.wait().await;
                            // Echoes that were on their way may come first.
                            loop {
                                let told = match socket.send(tungstenite::Message::text("?")).await
                                {
                                    Ok(()) => socket.next().await.expect("an error before the end"),
                                    Err(lost) => Err(lost),
                                };
                                if let Err(lost) = told {
                                    break lost.to_string();
                                }
                            }
                        }
                    }
                }
            })
        };
        let kill = async {
            ready.wait().await;
            peer.kill();
        };
        let (lost, ()) = within("errors", async { tokio::join!(clients, kill) }).await;
        assert_eq!(lost.len(), 30);
        assert!(tokio::net::TcpStream::connect(address).await.is_err());
    });
}
