//! Connections that come and go: nothing of them stays.
//!
//! `TRESS_NET_CYCLES=1000000` sets how many.
#![cfg(all(not(loom), target_os = "linux"))]

mod net_support;

use net_support::kinds::{Kind, Tcp, Unix};
use net_support::memory::Counting;
use net_support::{multi_thread, on_each_backend, on_each_runtime, setting, sockets};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::runtime::Runtime;

#[global_allocator]
static HEAP: Counting = Counting::new();

/// Clients at a time; fewer than fit into a backlog.
const CLIENTS: usize = 64;
/// What may come and go with chance, such as an empty page of a slab that is kept.
const SLACK: isize = 512 * 1024;

fn cycles() -> usize {
    setting("TRESS_NET_CYCLES", 20_000)
}

/// Echoes what comes until the stream ends, in whichever way.
async fn echo<K: Kind>(mut stream: K::Stream) {
    let mut buf = [0; 16];
    loop {
        let n = match stream.read(&mut buf).await {
            Ok(0) => return K::discard(stream),
            Ok(n) => n,
            Err(error) => return assert_is_reset(&error),
        };
        match stream.write(&buf[..n]).await {
            Ok(written) => assert_eq!(written, n),
            Err(error) => return assert_is_reset(&error),
        }
    }
}

fn assert_is_reset(error: &std::io::Error) {
    let kind = error.kind();
    assert!(
        matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
        "{error}"
    );
}

/// One connection, ended in one of several ways.
async fn cycle<K: Kind>(address: &str, way: usize) {
    let mut stream = K::connect(address).await.unwrap();
    match way % 4 {
        // At once.
        0 => K::discard(stream),
        // While an answer is under way.
        1 => {
            stream.write_all(b"question").await.unwrap();
            K::discard(stream);
        }
        // After the answer.
        2 => {
            stream.write_all(b"question").await.unwrap();
            stream.read_exact(&mut [0; 8]).await.unwrap();
            K::discard(stream);
        }
        // One side after the other; the server's is the first that is closed for good.
        _ => {
            stream.write_all(b"question").await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = Vec::new();
            let end = stream.read_to_end(&mut answer).await;
            // The server discards its side when it has seen the end: that may overtake the answer.
            if let Err(error) = end {
                assert_is_reset(&error);
            }
        }
    }
}

/// So many connections, many at a time.
fn run<K: Kind>(rt: &Runtime, address: &str, total: usize) {
    let next = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (next, address) = (next.clone(), address.to_owned());
            rt.spawn(async move {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= total {
                        return;
                    }
                    cycle::<K>(&address, n).await;
                }
            })
        })
        .collect();
    let metrics = rt.metrics();
    rt.block_on(async {
        for client in clients {
            client.await.unwrap();
        }
        // The server alone.
        while metrics.num_alive_tasks() > 1 {
            tress::task::yield_now().await;
        }
    });
}

fn come_and_go<K: Kind>(rt: &Runtime, total: usize) {
    let open = sockets();
    let listener = rt.block_on(K::bind());
    let address = K::address(&listener);
    let server = rt.spawn(async move {
        loop {
            let stream = K::accept(&listener).await.unwrap();
            drop(tress::spawn(echo::<K>(stream)));
        }
    });
    // What a runtime makes once, and the room that such a crowd takes, are there afterwards.
    run::<K>(rt, &address, total / 10);
    let heap = HEAP.bytes();
    run::<K>(rt, &address, total);
    let grown = HEAP.bytes() - heap;
    eprintln!("{}: {grown} B more after {total} connections", K::NAME);
    assert!(grown < SLACK, "{grown} B more after {total} connections");
    server.abort();
    assert!(rt.block_on(server).unwrap_err().is_cancelled());
    assert_eq!(sockets(), open);
    let io = rt.metrics().io();
    assert_eq!((io.registered, io.in_flight, io.orphaned), (0, 0, 0));
}

#[test]
fn connections_come_and_go_without_a_trace() {
    on_each_backend(|backend| come_and_go::<Tcp>(&multi_thread(backend, 2), cycles()));
    on_each_runtime(|rt| {
        come_and_go::<Tcp>(rt, cycles() / 10);
        come_and_go::<Unix>(rt, cycles() / 10);
    });
}
