//! tonic: the four shapes of a call, on a service written by hand.

use futures_util::StreamExt;
use harness::{Peer, announce, crowd, run, serve_as_peer, within};
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpListener;
use tokio::sync::{Barrier, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::body::Body;
use tonic::codegen::http;
use tonic::server::NamedService;
use tonic::transport::{Channel, Server};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::{Service, service_fn};

const _: () = tokio::__tress;

#[derive(Clone, PartialEq, prost::Message)]
struct Number {
    #[prost(uint64, tag = "1")]
    value: u64,
}

/// `Square` is unary, `Count` streams replies, `Sum` streams requests, `Double` streams both; `Hold` never replies.
#[derive(Clone)]
struct Arithmetic;

impl NamedService for Arithmetic {
    const NAME: &'static str = "eco.Arithmetic";
}

type Numbers = ReceiverStream<Result<Number, Status>>;
type Answer = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

impl Service<http::Request<Body>> for Arithmetic {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Answer {
        let mut grpc = tonic::server::Grpc::new(ProstCodec::<Number, Number>::default());
        Box::pin(async move {
            Ok(match request.uri().path() {
                "/eco.Arithmetic/Square" => grpc.unary(service_fn(square), request).await,
                "/eco.Arithmetic/Count" => grpc.server_streaming(service_fn(count), request).await,
                "/eco.Arithmetic/Sum" => grpc.client_streaming(service_fn(sum), request).await,
                "/eco.Arithmetic/Double" => grpc.streaming(service_fn(double), request).await,
                "/eco.Arithmetic/Hold" => grpc.unary(service_fn(hold), request).await,
                path => Status::unimplemented(path).into_http(),
            })
        })
    }
}

async fn square(request: Request<Number>) -> Result<Response<Number>, Status> {
    let value = request.into_inner().value;
    let value = value
        .checked_mul(value)
        .ok_or_else(|| Status::out_of_range("too large"))?;
    Ok(Response::new(Number { value }))
}

async fn count(request: Request<Number>) -> Result<Response<Numbers>, Status> {
    let (send, numbers) = mpsc::channel(4);
    tokio::spawn(async move {
        for value in 0..request.into_inner().value {
            if send.send(Ok(Number { value })).await.is_err() {
                break;
            }
        }
    });
    Ok(Response::new(ReceiverStream::new(numbers)))
}

async fn sum(request: Request<Streaming<Number>>) -> Result<Response<Number>, Status> {
    let mut numbers = request.into_inner();
    let mut value = 0;
    while let Some(number) = numbers.message().await? {
        value += number.value;
    }
    Ok(Response::new(Number { value }))
}

async fn double(request: Request<Streaming<Number>>) -> Result<Response<Numbers>, Status> {
    let (send, numbers) = mpsc::channel(4);
    tokio::spawn(async move {
        let mut requests = request.into_inner();
        while let Ok(Some(number)) = requests.message().await {
            if send
                .send(Ok(Number {
                    value: 2 * number.value,
                }))
                .await
                .is_err()
            {
                break;
            }
        }
    });
    Ok(Response::new(ReceiverStream::new(numbers)))
}

async fn hold(_: Request<Number>) -> Result<Response<Number>, Status> {
    std::future::pending().await
}

/// A client by hand, as generated code has it.
#[derive(Clone)]
struct Client(tonic::client::Grpc<Channel>);

impl Client {
    async fn connect(address: SocketAddr) -> Client {
        let channel = Channel::from_shared(format!("http://{address}")).unwrap();
        Client(tonic::client::Grpc::new(channel.connect().await.unwrap()))
    }

    async fn ready(&mut self) -> Result<(), Status> {
        self.0
            .ready()
            .await
            .map_err(|e| Status::unavailable(e.to_string()))
    }

    async fn unary(&mut self, method: &'static str, value: u64) -> Result<u64, Status> {
        self.ready().await?;
        let path = http::uri::PathAndQuery::from_static(method);
        let codec = ProstCodec::<Number, Number>::default();
        Ok(self
            .0
            .unary(Request::new(Number { value }), path, codec)
            .await?
            .into_inner()
            .value)
    }

    async fn count(&mut self, value: u64) -> Result<Streaming<Number>, Status> {
        self.ready().await?;
        let path = http::uri::PathAndQuery::from_static("/eco.Arithmetic/Count");
        let codec = ProstCodec::<Number, Number>::default();
        let reply = self
            .0
            .server_streaming(Request::new(Number { value }), path, codec)
            .await?;
        Ok(reply.into_inner())
    }

    async fn sum(&mut self, values: std::ops::Range<u64>) -> Result<u64, Status> {
        self.ready().await?;
        let path = http::uri::PathAndQuery::from_static("/eco.Arithmetic/Sum");
        let codec = ProstCodec::<Number, Number>::default();
        let numbers = futures_util::stream::iter(values.map(|value| Number { value }));
        Ok(self
            .0
            .client_streaming(Request::new(numbers), path, codec)
            .await?
            .into_inner()
            .value)
    }

    async fn double(
        &mut self,
        numbers: mpsc::Receiver<Number>,
    ) -> Result<Streaming<Number>, Status> {
        self.ready().await?;
        let path = http::uri::PathAndQuery::from_static("/eco.Arithmetic/Double");
        let codec = ProstCodec::<Number, Number>::default();
        let reply = self
            .0
            .streaming(Request::new(ReceiverStream::new(numbers)), path, codec)
            .await?;
        Ok(reply.into_inner())
    }
}

struct Site {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Site {
    async fn start() -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = Server::builder()
            .add_service(Arithmetic)
            .serve_with_incoming_shutdown(TcpListenerStream::new(listener), async {
                // The sender's end means the same.
                let _ = stopped.await;
            });
        Site {
            address,
            stop,
            serving: tokio::spawn(serving),
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

#[test]
fn all_four_shapes_under_load() {
    run(|| async {
        let site = Site::start().await;
        let address = site.address;
        let calls = crowd(20, |n| async move {
            let client = Client::connect(address).await;
            let streams = crowd(10, |stream| {
                let mut client = client.clone();
                async move {
                    let base = 1000 * n as u64 + stream as u64;
                    for value in base..base + 10 {
                        let squared = client.unary("/eco.Arithmetic/Square", value).await.unwrap();
                        assert_eq!(squared, value * value);
                    }
                    let counted = client.count(20).await.unwrap();
                    let counted: Vec<u64> =
                        counted.map(|number| number.unwrap().value).collect().await;
                    assert_eq!(counted, (0..20).collect::<Vec<_>>());
                    assert_eq!(
                        client.sum(base..base + 20).await.unwrap(),
                        (base..base + 20).sum::<u64>()
                    );
                    let (send, numbers) = mpsc::channel(1);
                    let mut doubled = client.double(numbers).await.unwrap();
                    for value in 0..20 {
                        // Each request waits for the reply to the one before.
                        send.send(Number { value }).await.unwrap();
                        assert_eq!(
                            doubled.message().await.unwrap(),
                            Some(Number { value: 2 * value })
                        );
                    }
                    drop(send);
                    assert_eq!(doubled.message().await.unwrap(), None);
                    13
                }
            });
            streams.await.into_iter().sum::<usize>()
        });
        assert_eq!(calls.await.into_iter().sum::<usize>(), 20 * 10 * 13);
        site.stop().await;
    });
}

#[test]
fn errors_and_deadlines_arrive() {
    run(|| async {
        let site = Site::start().await;
        let mut client = Client::connect(site.address).await;
        let status = client
            .unary("/eco.Arithmetic/Square", u64::MAX)
            .await
            .unwrap_err();
        assert_eq!(
            (status.code(), status.message()),
            (Code::OutOfRange, "too large")
        );
        let status = client.unary("/eco.Arithmetic/Root", 4).await.unwrap_err();
        assert_eq!(status.code(), Code::Unimplemented);
        let mut request = Request::new(Number { value: 1 });
        request.set_timeout(std::time::Duration::from_millis(20));
        client.ready().await.unwrap();
        let path = http::uri::PathAndQuery::from_static("/eco.Arithmetic/Hold");
        let held = client
            .0
            .unary(request, path, ProstCodec::<Number, Number>::default());
        let status = within("the deadline", held).await.unwrap_err();
        assert!(
            matches!(status.code(), Code::Cancelled | Code::DeadlineExceeded),
            "{status:?}"
        );
        // A stream that is dropped in the middle ends its task in the server.
        let mut counted = client.count(u64::MAX).await.unwrap();
        assert_eq!(counted.message().await.unwrap(), Some(Number { value: 0 }));
        drop(counted);
        drop(client);
        site.stop().await;
    });
}

#[test]
#[ignore = "the process that the next test kills"]
fn peer() {
    serve_as_peer(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        announce(listener.local_addr().unwrap());
        let incoming = TcpListenerStream::new(listener);
        Server::builder()
            .add_service(Arithmetic)
            .serve_with_incoming(incoming)
            .await
    });
}

#[test]
fn a_killed_server_fails_its_streams() {
    run(|| async {
        let mut peer = Peer::start("peer");
        let address = peer.address;
        let ready = Arc::new(Barrier::new(21));
        let lost = crowd(20, |n| {
            let ready = ready.clone();
            async move {
                let mut client = Client::connect(address).await;
                match n % 3 {
                    0 => {
                        client.unary("/eco.Arithmetic/Square", 2).await.unwrap();
                        ready.wait().await;
                        client.unary("/eco.Arithmetic/Hold", 2).await.unwrap_err()
                    }
                    1 => {
                        let mut counted = client.count(u64::MAX).await.unwrap();
                        counted.message().await.unwrap();
                        ready.wait().await;
                        loop {
                            match counted.message().await {
                                Ok(number) => assert!(number.is_some(), "an end without an error"),
                                Err(status) => break status,
                            }
                        }
                    }
                    _ => {
                        let (send, numbers) = mpsc::channel(1);
                        let mut doubled = client.double(numbers).await.unwrap();
                        send.send(Number { value: 1 }).await.unwrap();
                        doubled.message().await.unwrap();
                        ready.wait().await;
                        doubled.message().await.unwrap_err()
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
