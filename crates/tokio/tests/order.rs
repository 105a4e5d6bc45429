//! The order of a current-thread runtime where it has to do with sockets: the rest is compared by `ci/differential`.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream};
use tokio::task::yield_now;

/// Polls a future once.
async fn is_ready_at_once<F: Future>(future: F) -> bool {
    let mut future = pin!(future);
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

#[tokio::test]
async fn no_connection_is_there_at_the_first_poll() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    assert!(!is_ready_at_once(TcpStream::connect(address)).await);
    TcpStream::connect(address).await.unwrap();
    // Nor is it refused.
    drop(listener);
    assert!(!is_ready_at_once(TcpStream::connect(address)).await);
    TcpStream::connect(address).await.unwrap_err();
}

#[tokio::test]
async fn nor_at_a_path() {
    let path = std::env::temp_dir().join(format!("tokio-order-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    assert!(!is_ready_at_once(UnixStream::connect(&path)).await);
    UnixStream::connect(&path).await.unwrap();
    drop(listener);
    std::fs::remove_file(path).unwrap();
}

/// A task that is spawned while a connection is made runs before it is there.
#[tokio::test]
async fn others_run_while_a_connection_is_made() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let task = tokio::spawn(async {});
    TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    assert!(task.is_finished());
}

/// What the system could do at once waits, in general, until the runtime has looked at its I/O since the socket was made.
#[tokio::test]
async fn a_new_socket_gives_way_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    std::io::Write::write_all(&mut client, b"hello").unwrap();
    assert!(!is_ready_at_once(listener.accept()).await);
    let (mut stream, _) = listener.accept().await.unwrap();
    // What is known of a stream that was accepted, or is one of a pair, is used.
    let mut buf = [0; 5];
    assert!(is_ready_at_once(stream.write_all(b"world")).await);
    assert!(is_ready_at_once(stream.read(&mut buf)).await);
    assert_eq!(&buf, b"hello");
    let (mut one, mut other) = UnixStream::pair().unwrap();
    assert!(is_ready_at_once(one.write_all(b"hello")).await);
    assert!(!is_ready_at_once(other.read(&mut buf)).await);
    other.read_exact(&mut buf).await.unwrap();

    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(socket.local_addr().unwrap()).await.unwrap();
    assert!(!is_ready_at_once(socket.send(b"hello")).await);
    yield_now().await;
    assert!(is_ready_at_once(socket.send(b"hello")).await);
}
