//! Connections that keep messages apart.
#![cfg(all(not(loom), target_os = "linux"))]

mod net_support;

use net_support::on_each_runtime;
use std::future::{Future, poll_fn};
use std::io::ErrorKind;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use tress::io::ReadBuf;
use tress::net::{UnixSeqpacket, UnixSeqpacketListener};

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

fn path() -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("tress-seqpacket-{}-{n}", std::process::id()))
}

#[test]
fn messages_stay_apart_and_in_order() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let path = path();
            let listener = UnixSeqpacketListener::bind(&path).unwrap();
            assert_eq!(listener.local_addr().unwrap().as_pathname(), Some(&*path));
            let connecting = path.clone();
            let client = tress::spawn(async move {
                let client = UnixSeqpacket::connect(&connecting).await.unwrap();
                // More than the queue holds: sending waits.
                for i in 0..2_000_usize {
                    let message = vec![i as u8; 1 + i % 300];
                    assert_eq!(client.send(&message).await.unwrap(), message.len());
                }
                let mut answer = [0; 8];
                let n = client.recv(&mut answer).await.unwrap();
                assert_eq!(&answer[..n], b"enough");
                client
            });
            let (server, peer) = listener.accept().await.unwrap();
            assert!(peer.is_unnamed());
            assert_eq!(
                server.peer_cred().unwrap().pid(),
                Some(std::process::id() as i32)
            );
            let mut buf = [0; 512];
            for i in 0..2_000_usize {
                let n = server.recv(&mut buf).await.unwrap();
                assert_eq!(buf[..n], vec![i as u8; 1 + i % 300]);
            }
            server.send(b"enough").await.unwrap();
            let client = client.await.unwrap();
            assert_eq!(client.peer_addr().unwrap().as_pathname(), Some(&*path));
            drop(client);
            assert_eq!(server.recv(&mut buf).await.unwrap(), 0);
            let error = server.send(b"anybody?").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
            std::fs::remove_file(path).unwrap();
        });
    });
}

#[test]
fn every_way_to_receive_finds_the_message() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (near, far) = UnixSeqpacket::pair().unwrap();
            let mut buf = [0; 8];
            let error = far.try_recv(&mut buf).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            near.try_send(b"one").unwrap();
            far.readable().await.unwrap();
            assert_eq!(far.try_recv(&mut buf).unwrap(), 3);
            near.send(b"two").await.unwrap();
            let mut room = ReadBuf::new(&mut buf);
            poll_fn(|cx| far.poll_recv(cx, &mut room)).await.unwrap();
            assert_eq!(room.filled(), b"two");
            poll_fn(|cx| near.poll_send(cx, b"three")).await.unwrap();
            let mut bytes = Vec::with_capacity(16);
            assert_eq!(far.recv_buf(&mut bytes).await.unwrap(), 5);
            assert_eq!(bytes, b"three");
            // What does not fit is lost, and nothing of the next one.
            near.send(b"a long message").await.unwrap();
            near.send(b"next").await.unwrap();
            assert_eq!(far.recv(&mut buf).await.unwrap(), 8);
            assert_eq!(&buf, b"a long m");
            assert_eq!(far.recv(&mut buf).await.unwrap(), 4);
            near.shutdown(Shutdown::Write).unwrap();
            assert_eq!(far.recv(&mut buf).await.unwrap(), 0);
        });
    });
}

#[test]
fn what_is_dropped_loses_nothing() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let name = PathBuf::from(format!("\0tress-seqpacket-{}", std::process::id()));
            let listener = UnixSeqpacketListener::bind(&name).unwrap();
            for _ in 0..20 {
                assert!(once(listener.accept()).await.is_none());
                let client = UnixSeqpacket::connect(&name).await.unwrap();
                let server = match once(listener.accept()).await {
                    Some(accepted) => accepted.unwrap().0,
                    None => listener.accept().await.unwrap().0,
                };
                let mut buf = [0; 4];
                assert!(once(server.recv(&mut buf)).await.is_none());
                client.send(b"ping").await.unwrap();
                let n = match once(server.recv(&mut buf)).await {
                    Some(n) => n,
                    None => server.recv(&mut buf).await,
                };
                assert_eq!((n.unwrap(), &buf), (4, b"ping"));
                // A send that waits for room: what was reported is what is received.
                let mut sent = 0;
                while let Some(n) = once(client.send(&[7; 4])).await {
                    n.unwrap();
                    sent += 1;
                }
                drop(client);
                let mut received = 0;
                while server.recv(&mut buf).await.unwrap() != 0 {
                    received += 1;
                }
                assert_eq!(received, sent);
            }
            let gone = UnixSeqpacket::connect("/nowhere/at/all").await.unwrap_err();
            assert_eq!(gone.kind(), ErrorKind::NotFound);
        });
    });
}

#[test]
fn descriptors_go_in_and_out() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (near, far) = UnixSeqpacket::pair().unwrap();
            let near = UnixSeqpacket::from_owned_fd(near.into_owned_fd()).unwrap();
            near.send(b"x").await.unwrap();
            assert_eq!(far.recv(&mut [0; 1]).await.unwrap(), 1);
            let (stream, _other) = std::os::unix::net::UnixStream::pair().unwrap();
            let error = UnixSeqpacket::from_owned_fd(OwnedFd::from(stream)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(format!("{near:?}").starts_with("UnixSeqpacket"));
        });
    });
}
