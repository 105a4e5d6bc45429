//! Dropping an operation at every await point: nothing is lost, no descriptor stays.
#![cfg(all(not(loom), target_os = "linux"))]

mod net_support;

use net_support::{alone, on_each_runtime, on_each_runtime_in_turn, sockets};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::{TcpListener, TcpStream, UdpSocket};

/// Polls once and drops the future. What it returned, if it was ready.
async fn once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        Poll::Ready(match future.as_mut().poll(cx) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        })
    })
    .await
}

#[test]
fn an_accept_that_is_dropped_loses_no_connection() {
    let _alone = alone();
    on_each_runtime_in_turn(|rt| {
        rt.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            // The first registers the listener; what is counted comes after.
            assert!(once(listener.accept()).await.is_none());
            let before = sockets();
            for _ in 0..50 {
                assert!(once(listener.accept()).await.is_none());
                let client = TcpStream::connect(address).await.unwrap();
                // Readiness may be known or not; the connection stays until it is returned.
                let accepted = match once(listener.accept()).await {
                    Some(accepted) => accepted.unwrap(),
                    None => listener.accept().await.unwrap(),
                };
                assert_eq!(accepted.1, client.local_addr().unwrap());
            }
            assert_eq!(sockets(), before);
        });
    });
}

#[test]
fn a_connect_that_is_dropped_leaves_nothing() {
    let _alone = alone();
    on_each_runtime_in_turn(|rt| {
        rt.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            drop(TcpStream::connect(address).await.unwrap());
            drop(listener.accept().await.unwrap());
            let before = sockets();
            for _ in 0..50 {
                let connected = once(TcpStream::connect(address)).await;
                drop(connected);
                drop(listener.accept().await.unwrap());
            }
            assert_eq!(sockets(), before);
        });
    });
}

#[test]
fn a_read_or_write_that_is_dropped_loses_no_byte() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut near = TcpStream::connect(listener.local_addr().unwrap())
                .await
                .unwrap();
            let (mut far, _) = listener.accept().await.unwrap();
            for i in 0..100_u8 {
                let mut byte = [0; 1];
                assert!(once(far.read(&mut byte)).await.is_none());
                let mut written = once(near.write(&[i])).await;
                while written.is_none() {
                    written = Some(near.write(&[i]).await);
                }
                assert_eq!(written.unwrap().unwrap(), 1);
                let n = match once(far.read(&mut byte)).await {
                    Some(n) => n,
                    None => far.read(&mut byte).await,
                };
                assert_eq!((n.unwrap(), byte[0]), (1, i));
            }
            // A write that waits for room, dropped: the stream holds exactly what was reported.
            let mut total = 0;
            while let Some(n) = once(near.write(&[3; 50_000])).await {
                total += n.unwrap();
            }
            near.shutdown().await.unwrap();
            let mut rest = Vec::new();
            far.read_to_end(&mut rest).await.unwrap();
            assert_eq!(rest.len(), total);
        });
    });
}

#[test]
fn a_receive_that_is_dropped_loses_no_datagram() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let near = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let far = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            near.connect(far.local_addr().unwrap()).await.unwrap();
            let mut buf = [0; 4];
            for i in 0..100_u8 {
                assert!(once(far.recv_from(&mut buf)).await.is_none());
                assert!(once(far.peek_from(&mut buf)).await.is_none());
                near.send(&[i]).await.unwrap();
                let received = match once(far.recv_from(&mut buf)).await {
                    Some(received) => received,
                    None => far.recv_from(&mut buf).await,
                };
                assert_eq!(received.unwrap(), (1, near.local_addr().unwrap()));
                assert_eq!(buf[0], i);
            }
        });
    });
}
