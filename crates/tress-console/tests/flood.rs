//! Ten thousand clients.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use support::{builder, get, until};

/// Number of bytes that are allocated.
static ALLOCATED: AtomicI64 = AtomicI64::new(0);

struct Counting;

// SAFETY: the system's allocator does the work; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PLACES: usize = 256;
const MORE: usize = 10_000;

/// Connects a client. Returns `None` if this process, which has both ends, may not open more files.
fn connect(address: SocketAddr) -> Option<TcpStream> {
    match TcpStream::connect(address) {
        Ok(stream) => Some(stream),
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::ConnectionRefused);
            None
        }
    }
}

/// Waits until a client is told that there is no place.
fn expect_refusal(mut client: &TcpStream) {
    let mut answer = [0; 12];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 503");
}

#[test]
fn ten_thousand_idle_clients_cost_as_much_as_there_are_places() {
    let console = builder()
        .max_connections(PLACES)
        .head_timeout(Duration::from_secs(3600))
        .start()
        .unwrap();
    let address = console.local_addr();
    let idle: Vec<_> = (0..PLACES).map(|_| connect(address).unwrap()).collect();
    until(|| (console.connections() == PLACES).then_some(()));

    let mut more = Vec::with_capacity(MORE);
    let mut before = 0;
    while more.len() < MORE {
        let Some(client) = connect(address) else {
            break;
        };
        expect_refusal(&client);
        more.push(client);
        // By now each connection with a place waits in its task, with all that this takes.
        if more.len() == MORE / 20 {
            before = ALLOCATED.load(Ordering::Relaxed);
        }
    }
    let grown = ALLOCATED.load(Ordering::Relaxed) - before;
    assert!(more.len() > MORE / 20, "only {} clients", more.len());
    assert_eq!(console.connections(), PLACES);
    assert!(
        grown < 64 * 1024,
        "{grown} bytes for {} clients",
        more.len()
    );
    drop((idle, more));
    until(|| (console.connections() == 0).then_some(()));
    assert_eq!(get(&console, "/metrics").status, 200);
}
