//! Server-sent events.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};
use support::{Client, get, start, until};
use tress::runtime::{Builder, Runtime};

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

/// Tests here count allocations, and so run one after the other.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn runtime(name: &str) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).name(name).build().unwrap()
}

fn subscribe(console: &tress_console::Console) -> Client {
    let mut client = Client::new(console.local_addr());
    client.send("GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let head = client.head().unwrap();
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    client
}

#[test]
fn snapshots_and_lanes_come_by_themselves() {
    let _turn = TURN.lock();
    let rt = runtime("lively");
    let console = start();
    rt.spawn(async {
        loop {
            tress::task::yield_now().await;
        }
    });
    let mut client = subscribe(&console);
    let (name, data) = client.event();
    assert_eq!(name, "snapshot");
    let snapshot: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(snapshot["pid"], std::process::id());
    assert!(snapshot["findings"].is_array());
    let id: u64 = rt.handle().id().to_string().parse().unwrap();
    let lanes = until(|| {
        let (name, data) = client.event();
        let event: serde_json::Value = serde_json::from_str(&data).unwrap();
        let has_polls = |lanes: &serde_json::Value| {
            let mut slices = lanes["workers"]
                .as_array()?
                .iter()
                .flat_map(|lane| lane.as_array().unwrap());
            slices.any(|slice| slice[2] == "poll").then_some(())
        };
        (name == "lanes" && event["runtime"] == id && has_polls(&event).is_some()).then_some(event)
    });
    assert_eq!(lanes["workers"].as_array().unwrap().len(), 2);
    let to = lanes["to_ns"].as_u64().unwrap();
    for slice in lanes["workers"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|lane| lane.as_array().unwrap())
    {
        let end = slice[0].as_u64().unwrap() + slice[1].as_u64().unwrap();
        assert!(end <= to, "{slice} ends after {to}");
    }
    // What comes next begins where this has ended.
    until(|| {
        let (name, data) = client.event();
        let event: serde_json::Value = serde_json::from_str(&data).unwrap();
        (name == "lanes" && event["runtime"] == id).then(|| assert_eq!(event["from_ns"], to))
    });
    rt.shutdown_background();
}

#[test]
fn a_client_that_goes_leaves_its_place() {
    let _turn = TURN.lock();
    let console = start();
    let mut clients: Vec<_> = (0..10).map(|_| subscribe(&console)).collect();
    for client in &mut clients {
        assert_eq!(client.event().0, "snapshot");
    }
    assert_eq!(console.connections(), 10);
    drop(clients);
    until(|| (console.connections() == 0).then_some(()));
}

#[test]
fn clients_that_do_not_read_cost_others_nothing_and_no_memory() {
    let _turn = TURN.lock();
    let rt = runtime("crowded");
    let console = start();
    // Snapshots of a few hundred kilobytes fill the buffers of the sockets soon.
    let sites: Vec<_> = (0..2000)
        .map(|n| {
            let name = format!("{n:0>200}");
            let _entered = rt.enter();
            let task = tress::task::Builder::new().name(&name);
            task.spawn(std::future::pending::<()>()).unwrap()
        })
        .collect();
    let _section = rt.handle().add_section(std::sync::Arc::new(Large));
    let mut quick = subscribe(&console);
    let slow: Vec<_> = (0..50).map(|_| subscribe(&console)).collect();
    let mut snapshots = || while quick.event().0 != "snapshot" {};
    // All have a snapshot under way after the first ones.
    for _ in 0..2 {
        snapshots();
    }
    let before = ALLOCATED.load(Ordering::Relaxed);
    for _ in 0..4 {
        snapshots();
    }
    let grown = ALLOCATED.load(Ordering::Relaxed) - before;
    // If each client had its own copies, or a queue, it would be 50 times 4 of them.
    assert!(grown < 8 * SIZE as i64, "{grown} bytes more");
    assert_eq!(get(&console, "/metrics").status, 200);
    drop((slow, sites));
}

const SIZE: usize = 1 << 20;

/// A section that makes each snapshot large.
struct Large;

impl tress::trace::Section for Large {
    fn name(&self) -> &str {
        "large"
    }

    fn dump(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        out.write_all(&[b'x'; SIZE])
    }
}
