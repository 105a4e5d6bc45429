//! tokio-util: codecs, cancellation tokens, trackers of tasks.

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use harness::{Peer, announce, crowd, run, serve_as_peer, within};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::{Framed, LengthDelimitedCodec, LinesCodec};
use tokio_util::sync::{CancellationToken, PollSender};
use tokio_util::task::TaskTracker;
use tokio_util::time::DelayQueue;

const _: () = tokio::__tress;

/// Sends frames back until the token is cancelled or the client goes.
async fn echo(
    listener: TcpListener,
    token: CancellationToken,
    tracker: TaskTracker,
    frames: Arc<AtomicUsize>,
) {
    while let Some(Ok((stream, _))) = token.run_until_cancelled(listener.accept()).await {
        let (token, frames) = (token.child_token(), frames.clone());
        tracker.spawn(async move {
            let mut framed = Framed::new(stream, LengthDelimitedCodec::new());
            while let Some(Some(Ok(frame))) = token.run_until_cancelled(framed.next()).await {
                frames.fetch_add(1, Ordering::Relaxed);
                if framed.send(frame.freeze()).await.is_err() {
                    break;
                }
            }
        });
    }
}

#[test]
fn frames_under_load_and_a_graceful_end() {
    run(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (token, tracker) = (CancellationToken::new(), TaskTracker::new());
        let frames = Arc::new(AtomicUsize::new(0));
        tracker.spawn(echo(
            listener,
            token.clone(),
            tracker.clone(),
            frames.clone(),
        ));
        let mut idle = Framed::new(
            TcpStream::connect(address).await.unwrap(),
            LengthDelimitedCodec::new(),
        );
        crowd(50, |n| async move {
            let stream = TcpStream::connect(address).await.unwrap();
            let mut framed = Framed::new(stream, LengthDelimitedCodec::new());
            for round in 0..10usize {
                // Ten frames are on their way at once, of up to 9,000 bytes.
                let sent: Vec<Bytes> = (0..10)
                    .map(|k| Bytes::from(vec![n as u8; round * 100 * k]))
                    .collect();
                for frame in &sent {
                    framed.feed(frame.clone()).await.unwrap();
                }
                SinkExt::<Bytes>::flush(&mut framed).await.unwrap();
                for frame in sent {
                    assert_eq!(framed.next().await.unwrap().unwrap(), frame);
                }
            }
        })
        .await;
        assert_eq!(frames.load(Ordering::Relaxed), 5000);
        // One connection is open and silent.
        tracker.close();
        token.cancel();
        within("the end of the tasks", tracker.wait()).await;
        assert!(tracker.is_empty());
        assert!(
            within("the end of the connection", idle.next())
                .await
                .is_none()
        );
    });
}

#[test]
fn lines_are_split_wherever_the_bytes_are() {
    run(|| async {
        let (mut near, far) = tokio::io::duplex(7);
        let reader = tokio::spawn(async move {
            let lines = Framed::new(far, LinesCodec::new());
            lines.map(|line| line.unwrap()).collect::<Vec<_>>().await
        });
        let expected: Vec<String> = (0..1000).map(|n| format!("line {n}")).collect();
        let bytes = BytesMut::from(
            &*expected
                .iter()
                .map(|line| format!("{line}\n"))
                .collect::<String>(),
        );
        for (n, chunk) in bytes.chunks(11).enumerate() {
            near.write_all(chunk).await.unwrap();
            if n % 10 == 0 {
                tokio::task::yield_now().await;
            }
        }
        near.shutdown().await.unwrap();
        assert_eq!(within("the lines", reader).await.unwrap(), expected);
    });
}

#[test]
fn cancellation_reaches_every_child() {
    run(|| async {
        let root = CancellationToken::new();
        let ready = Arc::new(tokio::sync::Barrier::new(1001));
        let tracker = TaskTracker::new();
        let told = Arc::new(AtomicUsize::new(0));
        for n in 0..1000 {
            let token = if n % 2 == 0 {
                root.child_token()
            } else {
                root.child_token().child_token()
            };
            let (ready, told) = (ready.clone(), told.clone());
            tracker.spawn(async move {
                ready.wait().await;
                token.cancelled().await;
                told.fetch_add(1, Ordering::Relaxed);
            });
        }
        tracker.close();
        let own = root.child_token();
        own.cancel();
        ready.wait().await;
        assert_eq!((tracker.len(), told.load(Ordering::Relaxed)), (1000, 0));
        root.cancel();
        within("the end of the tasks", tracker.wait()).await;
        assert_eq!(told.load(Ordering::Relaxed), 1000);
    });
}

#[test]
fn delays_expire_in_order_and_senders_poll() {
    run(|| async {
        let mut queue = DelayQueue::new();
        for n in [3u64, 1, 2, 5, 4] {
            queue.insert(n, std::time::Duration::from_millis(5 * n));
        }
        let mut expired = Vec::new();
        while let Some(entry) = within("a delay", queue.next()).await {
            expired.push(entry.into_inner());
        }
        assert_eq!(expired, [1, 2, 3, 4, 5]);
        let (send, mut receive) = tokio::sync::mpsc::channel(1);
        let mut send = PollSender::new(send);
        let sender = tokio::spawn(async move {
            for n in 0..1000 {
                send.send(n).await.unwrap();
            }
        });
        for expected in 0..1000 {
            assert_eq!(within("a message", receive.recv()).await, Some(expected));
        }
        sender.await.unwrap();
    });
}

#[test]
#[ignore = "the process that the next test kills"]
fn peer() {
    serve_as_peer(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        announce(listener.local_addr().unwrap());
        let frames = Arc::new(AtomicUsize::new(0));
        echo(
            listener,
            CancellationToken::new(),
            TaskTracker::new(),
            frames,
        )
        .await;
    });
}

#[test]
fn a_killed_server_ends_its_connections() {
    run(|| async {
        let mut peer = Peer::start("peer");
        let address = peer.address;
        let ready = Arc::new(tokio::sync::Barrier::new(21));
        let ended = crowd(20, |_| {
            let ready = ready.clone();
            async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(&[0, 0, 0, 1, 7]).await.unwrap();
                let mut reply = [0; 5];
                stream.read_exact(&mut reply).await.unwrap();
                assert_eq!(reply, [0, 0, 0, 1, 7]);
                ready.wait().await;
                // The end of a process that had nothing to read is an end of file, else a reset.
                match stream.read(&mut reply).await {
                    Ok(count) => assert_eq!(count, 0),
                    Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
                }
            }
        });
        let kill = async {
            ready.wait().await;
            peer.kill();
        };
        let (ended, ()) = within("the ends", async { tokio::join!(ended, kill) }).await;
        assert_eq!(ended.len(), 20);
    });
}
