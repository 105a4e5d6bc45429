//! tonic on both sides: unary calls and streams both ways, on a service written by hand.

use eco_simulated::{Storm, is_stormy, persist};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::body::Body;
use tonic::codegen::http::{self, uri::PathAndQuery};
use tonic::server::NamedService;
use tonic::transport::{Channel, Server};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::{Service, service_fn};

#[derive(Clone, PartialEq, prost::Message)]
struct Number {
    #[prost(uint64, tag = "1")]
    value: u64,
}

type Numbers = ReceiverStream<Result<Number, Status>>;
type Answer = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

/// `Square` is unary, `Count` streams replies, `Sum` streams requests, `Double` streams both.
#[derive(Clone)]
struct Arithmetic;

impl NamedService for Arithmetic {
    const NAME: &'static str = "eco.Arithmetic";
}

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
                path => Status::unimplemented(path).into_http(),
            })
        })
    }
}

async fn square(request: Request<Number>) -> Result<Response<Number>, Status> {
    let value = request.into_inner().value;
    let squared = value
        .checked_mul(value)
        .ok_or_else(|| Status::out_of_range("too large"))?;
    Ok(Response::new(Number { value: squared }))
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

/// A client by hand, as generated code has it.
struct Client(tonic::client::Grpc<Channel>);

fn codec() -> ProstCodec<Number, Number> {
    ProstCodec::default()
}

impl Client {
    fn new() -> Client {
        let endpoint = Channel::from_static("http://server:50051")
            .connect_timeout(Duration::from_secs(2))
            .http2_keep_alive_interval(Duration::from_secs(1))
            .keep_alive_timeout(Duration::from_secs(2));
        Client(tonic::client::Grpc::new(endpoint.connect_lazy()))
    }

    async fn ready(&mut self) -> Result<(), Status> {
        let ready = self.0.ready().await;
        ready.map_err(|error| Status::unavailable(error.to_string()))
    }

    async fn square(&mut self, value: u64) -> Result<u64, Status> {
        self.ready().await?;
        let path = PathAndQuery::from_static("/eco.Arithmetic/Square");
        let reply = self
            .0
            .unary(Request::new(Number { value }), path, codec())
            .await?;
        Ok(reply.into_inner().value)
    }

    async fn count(&mut self, value: u64) -> Result<u64, Status> {
        self.ready().await?;
        let path = PathAndQuery::from_static("/eco.Arithmetic/Count");
        let reply = self
            .0
            .server_streaming(Request::new(Number { value }), path, codec())
            .await?;
        let mut numbers = reply.into_inner();
        let mut counted = 0;
        while let Some(number) = numbers.message().await? {
            assert_eq!(number.value, counted, "numbers come in their order");
            counted += 1;
        }
        Ok(counted)
    }

    async fn sum(&mut self, values: std::ops::Range<u64>) -> Result<u64, Status> {
        self.ready().await?;
        let path = PathAndQuery::from_static("/eco.Arithmetic/Sum");
        let numbers = tokio_stream::iter(values.map(|value| Number { value }));
        let reply = self
            .0
            .client_streaming(Request::new(numbers), path, codec())
            .await?;
        Ok(reply.into_inner().value)
    }

    /// Sends numbers, each when the reply to the one before has come.
    async fn double(&mut self, count: u64) -> Result<(), Status> {
        self.ready().await?;
        let path = PathAndQuery::from_static("/eco.Arithmetic/Double");
        let (send, numbers) = mpsc::channel(1);
        let reply = self
            .0
            .streaming(Request::new(ReceiverStream::new(numbers)), path, codec())
            .await?;
        let mut doubled = reply.into_inner();
        for value in 0..count {
            if send.send(Number { value }).await.is_err() {
                return Err(Status::unavailable("the stream has ended"));
            }
            match doubled.message().await? {
                Some(number) => assert_eq!(number.value, 2 * value),
                None => return Err(Status::unavailable("the replies have ended")),
            }
        }
        drop(send);
        assert_eq!(doubled.message().await?, None);
        Ok(())
    }

    /// All shapes of a call, once.
    async fn call(&mut self, n: u64) -> Result<(), Status> {
        assert_eq!(self.square(n).await?, n * n);
        let status = self.square(u64::MAX).await.unwrap_err();
        if status.code() != Code::OutOfRange {
            return Err(status);
        }
        // A stream that is cut off ends with an error.
        assert_eq!(self.count(50).await?, 50);
        assert_eq!(self.sum(n..n + 50).await?, (n..n + 50).sum::<u64>());
        self.double(10).await
    }
}

#[tress_sim::test(seeds = 20)]
fn streams_end_whole_or_with_an_error() {
    let clients = ["one", "two", "three"];
    let storm = Storm {
        name: "tonic",
        servers: &["server"],
        clients: &clients,
        ..Storm::default()
    };
    storm.run(|sim| {
        sim.host("server", || async {
            let listener = TcpListener::bind("0.0.0.0:50051").await?;
            let server = Server::builder()
                .http2_keepalive_interval(Some(Duration::from_secs(1)))
                .add_service(Arithmetic)
                .serve_with_incoming(TcpListenerStream::new(listener));
            Ok(server.await?)
        });
        for client in clients {
            sim.client(client, async {
                let client = tokio::sync::Mutex::new(Client::new());
                let mut calls = 0;
                while is_stormy() || calls < 5 {
                    persist(Duration::from_secs(10), || async {
                        client.lock().await.call(calls).await
                    })
                    .await;
                    calls += 1;
                }
                Ok(())
            });
        }
    });
}
