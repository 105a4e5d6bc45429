//! hyper on tress: connections over pipes in memory, with bodies, timers and tasks.

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming};
use hyper::rt::{Executor, Timer};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, client, server};
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use tress::io::duplex;
use tress::time::{Duration, Instant};
use tress_hyper::{TressExecutor, TressIo, TressTimer};

/// A body in one piece.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }
}

async fn collect(mut body: Incoming) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        all.extend_from_slice(&frame.unwrap().into_data().unwrap());
    }
    all
}

/// Requests with bodies, one after the other on the same connection, through pipes of every size.
#[tress::test]
async fn requests_are_answered() {
    for limit in [1, 7, 64 * 1024] {
        let (here, there) = duplex(limit);
        let service = service_fn(async |request: Request<Incoming>| {
            let mut body = collect(request.into_body()).await;
            body.reverse();
            Ok::<_, Infallible>(Response::new(Whole(Some(body.into()))))
        });
        let server = server::conn::http1::Builder::new()
            .timer(TressTimer)
            .serve_connection(TressIo::new(there), service);
        let server = tress::spawn(server);
        let (mut sender, connection) = client::conn::http1::handshake(TressIo::new(here))
            .await
            .unwrap();
        let connection = tress::spawn(connection);
        for len in [0, 1, 1000] {
            let body: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let mut expected = body.clone();
            expected.reverse();
            let request = Request::post("/")
                .header("host", "memory")
                .body(Whole(Some(body.into())))
                .unwrap();
            sender.ready().await.unwrap();
            let response = sender.send_request(request).await.unwrap();
            assert_eq!(response.status(), StatusCode::OK);
            assert_eq!(collect(response.into_body()).await, expected);
        }
        drop(sender);
        connection.await.unwrap().unwrap();
        server.await.unwrap().unwrap();
    }
}

/// A header that does not come ends the connection, by the runtime's clock.
#[tress::test(start_paused = true)]
async fn timeouts_follow_the_runtimes_clock() {
    let (_here, there) = duplex(64);
    let start = Instant::now();
    let service =
        service_fn(async |_: Request<Incoming>| Ok::<_, Infallible>(Response::new(Whole(None))));
    let server = server::conn::http1::Builder::new()
        .timer(TressTimer)
        .header_read_timeout(Duration::from_secs(3600))
        .serve_connection(TressIo::new(there), service);
    let error = server.await.unwrap_err();
    assert!(error.is_timeout());
    assert!(start.elapsed() >= Duration::from_secs(3600));
}

#[tress::test(start_paused = true)]
async fn a_sleep_can_be_reset() {
    let start = TressTimer.now();
    let mut sleep = TressTimer.sleep(Duration::from_secs(3600));
    TressTimer.reset(&mut sleep, start + Duration::from_secs(5));
    sleep.await;
    let elapsed = TressTimer.now() - start;
    assert!(elapsed >= Duration::from_secs(5) && elapsed < Duration::from_secs(3600));
    TressTimer
        .sleep_until(start + Duration::from_secs(10))
        .await;
    assert!(TressTimer.now() - start >= Duration::from_secs(10));
}

#[tress::test]
async fn futures_are_run_as_tasks() {
    let (sender, receiver) = tress::sync::oneshot::channel();
    TressExecutor.execute(async { sender.send(tress::task::try_id()).unwrap() });
    assert!(receiver.await.unwrap().is_some());
}
