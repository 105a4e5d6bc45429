//! Named pipes, as Windows has them.
#![cfg(all(windows, not(loom)))]

mod net_support;

use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use tress::future::poll_once;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::windows::named_pipe::{
    ClientOptions, NamedPipeClient, NamedPipeServer, PipeEnd, PipeMode, ServerOptions,
};

const ERROR_PIPE_BUSY: i32 = 231;

fn on_each_runtime<F: Future<Output = ()>>(test: impl Fn() -> F) {
    net_support::on_each_runtime(|runtime| runtime.block_on(test()));
}

/// A name that nobody else has.
fn name() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!(r"\\.\pipe\tress-test-{}-{n}", std::process::id())
}

async fn pair() -> (NamedPipeServer, NamedPipeClient) {
    let name = name();
    let server = ServerOptions::new().create(&name).unwrap();
    let client = ClientOptions::new().open(&name).unwrap();
    server.connect().await.unwrap();
    (server, client)
}

#[test]
fn bytes_go_both_ways_and_end() {
    on_each_runtime(|| async {
        let (mut server, mut client) = pair().await;
        client.write_all(b"ping").await.unwrap();
        let mut four = [0; 4];
        server.read_exact(&mut four).await.unwrap();
        assert_eq!(&four, b"ping");
        server.write_all(b"pong and out").await.unwrap();
        let mut text = [0; 12];
        client.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"pong and out");
        drop(client);
        assert_eq!(server.read(&mut four).await.unwrap(), 0);
    });
}

/// More than any buffer holds: both sides wait for each other.
#[test]
fn much_comes_through_whole() {
    on_each_runtime(|| async {
        let (mut server, mut client) = pair().await;
        let sent: Vec<u8> = (0..1_000_000_u32).map(|n| (n / 3) as u8).collect();
        let expected = sent.clone();
        let writer = tress::spawn(async move {
            client.write_all(&sent).await.unwrap();
            client
        });
        let mut received = vec![0; expected.len()];
        server.read_exact(&mut received).await.unwrap();
        assert!(received == expected);
        drop(writer.await.unwrap());
    });
}

#[test]
fn a_dropped_wait_for_a_client_loses_none() {
    on_each_runtime(|| async {
        let name = name();
        let mut server = ServerOptions::new().create(&name).unwrap();
        assert!(poll_once(server.connect()).await.is_none());
        let mut client = ClientOptions::new().open(&name).unwrap();
        server.connect().await.unwrap();
        // It is connected: asking again changes nothing.
        server.connect().await.unwrap();
        let mut byte = [0];
        assert!(poll_once(server.read(&mut byte)).await.is_none());
        client.write_all(b"!").await.unwrap();
        assert_eq!(server.read(&mut byte).await.unwrap(), 1);
        assert_eq!(&byte, b"!");
    });
}

#[test]
fn an_instance_serves_one_client_after_the_other() {
    on_each_runtime(|| async {
        let name = name();
        let server = ServerOptions::new().create(&name).unwrap();
        for _ in 0..3 {
            // An instance that had a client takes the next one only if it waits for it.
            assert!(poll_once(server.connect()).await.is_none());
            let client = ClientOptions::new().open(&name).unwrap();
            server.connect().await.unwrap();
            let busy = ClientOptions::new().open(&name).unwrap_err();
            assert_eq!(busy.raw_os_error(), Some(ERROR_PIPE_BUSY));
            server.disconnect().unwrap();
            drop(client);
        }
    });
}

#[test]
fn there_are_as_many_instances_as_were_allowed() {
    on_each_runtime(|| async {
        let name = name();
        let mut options = ServerOptions::new();
        options.max_instances(2);
        let _one = options.create(&name).unwrap();
        let _two = options.create(&name).unwrap();
        let error = options.create(&name).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(ERROR_PIPE_BUSY));
    });
}

#[test]
fn the_first_instance_is_the_first() {
    on_each_runtime(|| async {
        let name = name();
        let mut options = ServerOptions::new();
        options.first_pipe_instance(true);
        let first = options.create(&name).unwrap();
        let error = options.create(&name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        drop(first);
    });
}

#[test]
fn the_system_knows_the_ends() {
    on_each_runtime(|| async {
        let name = name();
        let server = ServerOptions::new()
            .pipe_mode(PipeMode::Message)
            .max_instances(7)
            .create(&name)
            .unwrap();
        let client = ClientOptions::new().open(&name).unwrap();
        let (here, there) = (server.info().unwrap(), client.info().unwrap());
        assert_eq!((here.end, here.mode), (PipeEnd::Server, PipeMode::Message));
        assert_eq!(
            (there.end, there.mode),
            (PipeEnd::Client, PipeMode::Message)
        );
        assert_eq!(here.max_instances, 7);
    });
}

/// Two writes are two messages, and each read takes one.
#[test]
fn messages_stay_apart() {
    on_each_runtime(|| async {
        let name = name();
        let mut options = ServerOptions::new();
        options.pipe_mode(PipeMode::Message);
        let mut server = options.create(&name).unwrap();
        let mut client = ClientOptions::new()
            .pipe_mode(PipeMode::Message)
            .open(&name)
            .unwrap();
        server.connect().await.unwrap();
        server.write_all(b"one").await.unwrap();
        server.write_all(b"three").await.unwrap();
        let mut buf = [0; 64];
        for message in ["one", "three"] {
            let n = client.read(&mut buf).await.unwrap();
            assert_eq!(&buf[..n], message.as_bytes());
        }
    });
}

#[test]
fn attempts_do_not_wait() {
    on_each_runtime(|| async {
        let (server, client) = pair().await;
        let mut buf = [0; 8];
        let none = server.try_read(&mut buf).unwrap_err();
        assert_eq!(none.kind(), ErrorKind::WouldBlock);
        client.writable().await.unwrap();
        assert_eq!(client.try_write(b"abc").unwrap(), 3);
        loop {
            server.readable().await.unwrap();
            match server.try_read(&mut buf) {
                Ok(n) => break assert_eq!(&buf[..n], b"abc"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
    });
}

#[test]
fn names_that_are_none() {
    on_each_runtime(|| async {
        let missing = ClientOptions::new().open(name()).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        for error in [
            ServerOptions::new()
                .create("\\\\.\\pipe\\a\0b")
                .unwrap_err(),
            ClientOptions::new().open("\\\\.\\pipe\\a\0b").unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
        }
    });
}

#[test]
#[should_panic(expected = "254 instances at most")]
fn too_many_instances() {
    ServerOptions::new().max_instances(254).max_instances(255);
}
