//! Ten thousand connections that do nothing: what they cost, and that nothing of them stays.
#![cfg(all(not(loom), target_os = "linux"))]

mod net_support;

use net_support::child::{self, Peer};
use net_support::memory::{Counting, resident};
use net_support::{limit, on_each_runtime, sockets};
use std::net::{SocketAddr, TcpStream as StdStream};
use tress::io::AsyncReadExt;
use tress::net::TcpListener;
use tress::runtime::Runtime;

#[global_allocator]
static HEAP: Counting = Counting::new();

const CONNECTIONS: usize = 10_000;
/// What a connection may cost the server: the stream, its task, its place in the driver and its
/// wakers. (By resident memory Tokio 1.54 takes 878 bytes and monoio 607.)
const BYTES: isize = 600;
/// How many connections the clients ask for at a time: fewer than fit into a listener's backlog, since
/// one that does not is tried again only after a second.
const BATCH: usize = 500;
/// Descriptors that neither side may use up.
const SPARE: usize = 100;

/// The clients: as many connections as are asked for, a sign for each batch, kept until they are told
/// to end.
#[test]
fn clients() {
    let Some(order) = child::order() else { return };
    let (address, connections) = order.split_once(' ').unwrap();
    let address: SocketAddr = address.parse().unwrap();
    limit::raise();
    let mut streams = Vec::new();
    for n in 0..connections.parse().unwrap() {
        if n % BATCH == 0 {
            child::wait_for_sign();
        }
        streams.push(StdStream::connect(address).unwrap());
    }
    child::until_told();
    drop(streams);
}

/// A connection as a server has it while nothing happens: a task that waits for bytes.
async fn serve(mut stream: tress::net::TcpStream) {
    let mut buf = [0; 16];
    assert_eq!(stream.read(&mut buf).await.unwrap(), 0);
}

/// Accepts so many connections, waits until all of their tasks wait for bytes, calls `idle`, and sees
/// all of them closed.
fn crowd(rt: &Runtime, listener: &TcpListener, connections: usize, idle: impl FnOnce()) {
    let address = listener.local_addr().unwrap();
    let metrics = rt.metrics();
    // A listener that never waited is not registered.
    let others = metrics.io().registered;
    let mut clients = Peer::start("clients", &format!("{address} {connections}"));
    rt.block_on(async {
        for n in 0..connections {
            if n % BATCH == 0 {
                clients.sign();
            }
            let (stream, _) = listener.accept().await.unwrap();
            drop(tress::spawn(serve(stream)));
        }
        while metrics.io().registered < others.max(1) + connections {
            tress::task::yield_now().await;
        }
    });
    assert_eq!(metrics.num_alive_tasks(), connections);
    idle();
    clients.finish();
    rt.block_on(async {
        while metrics.num_alive_tasks() > 0 {
            tress::task::yield_now().await;
        }
    });
}

#[test]
fn ten_thousand_idle_connections() {
    let possible = limit::raise().saturating_sub(SPARE);
    let connections = CONNECTIONS.min(possible);
    if connections < CONNECTIONS {
        eprintln!("SKIPPED for {CONNECTIONS}: the limit of descriptors allows {connections}");
    }
    on_each_runtime(|rt| {
        let listener = rt.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        // What a runtime makes once, such as its drivers, is there afterwards.
        crowd(rt, &listener, 10, || {});
        let open = sockets();
        let (heap, pages) = (HEAP.bytes(), resident());
        let mut peaks = Vec::new();
        for round in 0..2 {
            crowd(rt, &listener, connections, || {
                let each = connections as isize;
                let (by_heap, by_pages) = (HEAP.bytes() - heap, resident() - pages);
                eprintln!(
                    "round {round}: {} B of heap and {} B of resident memory a connection",
                    by_heap / each,
                    by_pages / each
                );
                assert!(by_heap / each <= BYTES, "{by_heap} B for {each}");
                // The allocator has pages for each thread, and keeps some of those that earlier runtimes have left.
                assert!(by_pages / each <= BYTES * 3 / 2, "{by_pages} B for {each}");
                assert_eq!(sockets(), open + connections);
                peaks.push(by_heap);
            });
            assert_eq!(sockets(), open);
            let io = rt.metrics().io();
            assert_eq!((io.registered, io.in_flight), (1, 0), "the listener alone");
        }
        // The second crowd lives in the memory of the first. Several workers may share it otherwise, and one of them
        // need the next page of places in its driver, or two: 7 % of the whole, and 14.
        let more = match rt.metrics().num_workers() {
            1 => peaks[0] / 20,
            _ => peaks[0] / 4,
        };
        assert!(peaks[1] <= peaks[0] + more, "{peaks:?}");
        drop(listener);
        assert_eq!(rt.metrics().io().registered, 0);
    });
}
