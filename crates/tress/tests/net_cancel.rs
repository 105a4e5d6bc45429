//! Dropping an operation at every await point: nothing is lost, no descriptor stays.
#![cfg(all(not(loom), target_os = "linux"))]

mod net_support;

use net_support::{alone, on_each_runtime, on_each_runtime_in_turn, sockets};
use std::future::{Future, poll_fn};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::process::Stdio;
use std::task::Poll;
use tress::io::{AsyncFd, AsyncRead, AsyncReadExt, AsyncWriteExt, Interest};
use tress::net::unix::pipe;
use tress::net::{TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream};
use tress::process::{ChildStdout, Command};

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

/// Drops a read again and again before there is something, and once when there is.
async fn reads_lose_no_byte(mut reader: impl AsyncRead + Unpin, mut write: impl FnMut(u8)) {
    for i in 0..50_u8 {
        let mut byte = [0; 1];
        assert!(once(reader.read(&mut byte)).await.is_none());
        assert!(once(reader.read_u16()).await.is_none());
        write(i);
        let n = match once(reader.read(&mut byte)).await {
            Some(n) => n,
            None => reader.read(&mut byte).await,
        };
        assert_eq!((n.unwrap(), byte[0]), (1, i));
    }
}

/// Every other thing that bytes are read from.
#[test]
fn reads_of_every_kind_lose_no_byte() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
            let stream = UnixStream::from_std(far).unwrap();
            reads_lose_no_byte(stream, |byte| (&near).write_all(&[byte]).unwrap()).await;

            let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
            let (half, _other) = UnixStream::from_std(far).unwrap().into_split();
            reads_lose_no_byte(half, |byte| (&near).write_all(&[byte]).unwrap()).await;

            let (receiver, mut sender) = std::io::pipe().unwrap();
            let receiver = pipe::Receiver::from_owned_fd(receiver.into()).unwrap();
            reads_lose_no_byte(receiver, |byte| sender.write_all(&[byte]).unwrap()).await;

            let (receiver, mut sender) = std::io::pipe().unwrap();
            let output = std::process::ChildStdout::from(OwnedFd::from(receiver));
            let output = ChildStdout::from_std(output).unwrap();
            reads_lose_no_byte(output, |byte| sender.write_all(&[byte]).unwrap()).await;
        });
    });
}

/// Waits take nothing, and what they wait for is found by the next one.
#[test]
fn other_waits_lose_nothing() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            // Peeking, and waiting for readiness.
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (near, accepted) = tress::join!(TcpStream::connect(address), listener.accept());
            let (mut near, (mut far, _)) = (near.unwrap(), accepted.unwrap());
            for i in 0..50_u8 {
                let mut byte = [0; 1];
                assert!(once(far.peek(&mut byte)).await.is_none());
                assert!(once(far.readable()).await.is_none());
                near.write_u8(i).await.unwrap();
                let _ = once(far.readable()).await;
                let _ = once(far.peek(&mut byte)).await;
                assert_eq!((far.peek(&mut byte).await.unwrap(), byte[0]), (1, i));
                assert_eq!(far.read_u8().await.unwrap(), i);
            }

            // A watched descriptor.
            let (near, far) = std::os::unix::net::UnixDatagram::pair().unwrap();
            far.set_nonblocking(true).unwrap();
            // SAFETY: it owns its descriptor.
            let far = unsafe { AsyncFd::register(far) }.unwrap();
            let mut byte = [0; 1];
            for i in 0..50_u8 {
                let read = |fd: &std::os::unix::net::UnixDatagram| fd.recv(&mut [0; 1]);
                assert!(once(far.async_io(Interest::READABLE, read)).await.is_none());
                assert!(once(far.readable()).await.is_none());
                near.send(&[i]).unwrap();
                drop(once(far.readable()).await);
                let read = far.async_io(Interest::READABLE, |fd| fd.recv(&mut byte));
                assert_eq!((read.await.unwrap(), byte[0]), (1, i));
            }

            // Listeners by path, and their connections.
            let path = std::env::temp_dir().join(format!("tress-cancel-{}", std::process::id()));
            let _ = std::fs::remove_file(&path);
            let listener = UnixListener::bind(&path).unwrap();
            for _ in 0..20 {
                assert!(once(listener.accept()).await.is_none());
                let mut client = match once(UnixStream::connect(&path)).await {
                    Some(client) => client.unwrap(),
                    // Dropped on its way: the listener finds a connection that was closed.
                    None => {
                        drop(listener.accept().await.unwrap());
                        UnixStream::connect(&path).await.unwrap()
                    }
                };
                let (mut server, _) = match once(listener.accept()).await {
                    Some(accepted) => accepted.unwrap(),
                    None => listener.accept().await.unwrap(),
                };
                client.write_u8(7).await.unwrap();
                assert_eq!(server.read_u8().await.unwrap(), 7);
            }
            std::fs::remove_file(&path).unwrap();

            // A child and its end.
            for _ in 0..5 {
                let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
                let stdin = child.stdin.take();
                for _ in 0..3 {
                    assert!(once(child.wait()).await.is_none());
                }
                drop(stdin);
                let status = match once(child.wait()).await {
                    Some(status) => status,
                    None => child.wait().await,
                };
                assert!(status.unwrap().success());
            }

            // A directory: every entry once.
            let directory =
                std::env::temp_dir().join(format!("tress-cancel-d-{}", std::process::id()));
            std::fs::create_dir(&directory).unwrap();
            for i in 0..200 {
                std::fs::write(directory.join(i.to_string()), "").unwrap();
            }
            let mut entries = tress::fs::read_dir(&directory).await.unwrap();
            let mut found = std::collections::BTreeSet::new();
            loop {
                let next = match once(entries.next_entry()).await {
                    Some(next) => next,
                    None => entries.next_entry().await,
                };
                match next.unwrap() {
                    Some(entry) => assert!(found.insert(entry.file_name())),
                    None => break,
                }
            }
            assert_eq!(found.len(), 200);
            std::fs::remove_dir_all(&directory).unwrap();
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
