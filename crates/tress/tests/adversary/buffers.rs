//! Buffers and descriptors that the kernel has in hand.
#![cfg(unix)]

use crate::child;
use std::future::{Future, poll_fn};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream as Peer;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tress::io::{AsyncReadExt, AsyncReadOwned, AsyncWriteExt, Buffer, BufferMut};
use tress::net::{Pooled, UnixStream};
use tress::runtime::{Builder, Runtime};

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn two_workers() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

/// A stream of the current runtime, and its peer.
fn pair() -> (UnixStream, Peer) {
    let (near, far) = Peer::pair().unwrap();
    (UnixStream::from_std(near).unwrap(), far)
}

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

/// Waits until the peer has closed the connection; a test that waits for ever is in a child.
fn ends(far: &mut Peer) {
    match far.read_to_end(&mut Vec::new()) {
        Ok(_) => {}
        // Something was not read.
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

/// Lines of a file of this process that contain a word.
#[cfg(target_os = "linux")]
fn lines(file: &str, word: &str) -> usize {
    let text = std::fs::read_to_string(format!("/proc/self/{file}")).unwrap();
    text.lines().filter(|line| line.contains(word)).count()
}

#[cfg(target_os = "linux")]
fn entries(directory: &str) -> usize {
    std::fs::read_dir(format!("/proc/self/{directory}"))
        .unwrap()
        .count()
}

/// However a runtime ends, with reads under way: the peers hear of it, and neither descriptors nor threads nor the memory
/// of rings stay. The limit of the child is that of every wait here.
#[test]
#[cfg(target_os = "linux")]
fn a_runtime_that_ends_leaves_nothing() {
    let ways = ["drop", "background", "zero", "short", "long", "inside"];
    for way in ways {
        for reads in ["pooled", "owned"] {
            child::passes("buffers::ending", &format!("{way} {reads}"));
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn ending() {
    use std::time::Duration;
    let Some(case) = child::case() else { return };
    let (way, reads) = case.split_once(' ').unwrap();
    let before = (entries("fd"), entries("task"));
    let mut peers = Vec::new();
    for round in 0..30 {
        let rt = if round % 3 == 0 {
            current_thread()
        } else {
            two_workers()
        };
        peers.extend(rt.block_on(with_reads(reads, round % 5)));
        match way {
            "drop" => drop(rt),
            "background" => rt.shutdown_background(),
            "zero" => drop(rt.shutdown_timeout(Duration::ZERO)),
            "short" => drop(rt.shutdown_timeout(Duration::from_micros(50))),
            "long" => assert!(rt.shutdown_timeout(Duration::MAX).is_clean()),
            _ => {
                let other = two_workers();
                let ended = other.block_on(async {
                    tress::spawn(async move { rt.shutdown_background() }).await
                });
                ended.unwrap();
            }
        }
    }
    peers.iter_mut().for_each(ends);
    drop(peers);
    while lines("maps", "io_uring") > 0 || (entries("fd"), entries("task")) != before {
        std::thread::yield_now();
    }
}

/// Tasks with reads that wait, some of them with a buffer in hand. Returns the peers.
#[cfg(target_os = "linux")]
async fn with_reads(reads: &str, turns: usize) -> Vec<Peer> {
    let mut peers = Vec::new();
    for _ in 0..4 {
        let (mut near, mut far) = pair();
        far.write_all(b"x").unwrap();
        peers.push(far);
        if reads == "owned" {
            drop(tress::spawn(async move {
                while near.read_owned(vec![0; 8]).await.0.is_ok_and(|n| n > 0) {}
            }));
        } else {
            drop(tress::spawn(async move {
                let mut near = Pooled::new(near);
                let mut kept = Vec::new();
                while let Ok(Some(bytes)) = near.read_pooled().await {
                    kept.push(bytes);
                }
            }));
        }
    }
    for _ in 0..turns {
        tress::task::yield_now().await;
    }
    peers
}

/// What is dropped is dropped: its peer hears of it, though nobody drives the runtime any more.
#[test]
fn a_stream_that_is_dropped_is_closed_without_the_runtime() {
    for reads in ["pooled", "owned"] {
        for place in ["inside", "behind", "elsewhere"] {
            child::passes("buffers::closing", &format!("{reads} {place}"));
        }
    }
}

#[test]
fn closing() {
    let Some(case) = child::case() else { return };
    let (reads, place) = case.split_once(' ').unwrap();
    let rt = current_thread();
    let (begun, mut far) = rt.block_on(async {
        let (mut near, mut far) = pair();
        if reads == "owned" {
            let mut read = Box::pin(async move {
                near.read_owned(vec![0; 8]).await.0.unwrap();
            });
            assert!(once(&mut read).await.is_none());
            tress::task::yield_now().await;
            (
                Some(read as std::pin::Pin<Box<dyn Future<Output = ()> + Send>>),
                far,
            )
        } else {
            far.write_all(b"x").unwrap();
            let mut near = Pooled::new(near);
            drop(near.read_pooled().await.unwrap());
            let mut read = Box::pin(async move {
                near.read_pooled().await.unwrap();
            });
            assert!(once(&mut read).await.is_none());
            (Some(read as _), far)
        }
    });
    match place {
        "inside" => rt.block_on(async { drop(begun) }),
        "behind" => drop(begun),
        _ => std::thread::spawn(move || drop(begun)).join().unwrap(),
    }
    ends(&mut far);
    drop(rt);
}

/// A read that was dropped takes nothing that arrives from then on, driven or not, whoever reads.
#[test]
fn a_read_that_is_dropped_takes_nothing() {
    child::passes("buffers::taking", "");
}

#[test]
fn taking() {
    if child::case().is_none() {
        return;
    }
    for round in 0..50 {
        let rt = current_thread();
        let (mut near, mut far) = rt.block_on(async {
            let (mut near, far) = pair();
            let mut read = Box::pin(near.read_owned(vec![0; 16]));
            assert!(once(&mut read).await.is_none());
            if round % 2 == 0 {
                // The kernel has it: it was handed over with what this waits for.
                let (mut other, mut other_far) = pair();
                let echo = std::thread::spawn(move || {
                    other_far.read_exact(&mut [0]).unwrap();
                    other_far.write_all(b"x").unwrap();
                });
                other.write_all(b"x").await.unwrap();
                other.read_u8().await.unwrap();
                echo.join().unwrap();
            }
            drop(read);
            (near.into_std().unwrap(), far)
        });
        far.write_all(b"hello").unwrap();
        near.set_nonblocking(false).unwrap();
        let mut bytes = [0; 5];
        near.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"hello");
        drop(rt);
    }
}

/// Connections that are not read have taken every buffer there is: one that is read is served all the same.
#[test]
fn connections_that_are_not_read_starve_nobody() {
    for stalled in ["64", "1000"] {
        child::passes("buffers::stalling", stalled);
    }
}

#[test]
fn stalling() {
    let Some(case) = child::case() else { return };
    let stalled: usize = case.parse().unwrap();
    more_descriptors(2 * stalled + 100);
    let rt = current_thread();
    rt.block_on(async move {
        let mut connections = Vec::new();
        for number in 0..stalled {
            let (near, mut far) = pair();
            let mut near = Pooled::new(near);
            far.write_all(b"12").unwrap();
            // Some have read nothing but asked, some a part.
            if number % 2 == 0 {
                assert_eq!(near.read_u8().await.unwrap(), b'1');
            } else {
                drop(near.read_pooled().await.unwrap());
                assert!(once(near.read_pooled()).await.is_none());
            }
            connections.push((near, far));
        }
        let (near, mut far) = pair();
        let mut innocent = Pooled::new(near);
        for round in 0..40 {
            for (_, far) in &mut connections {
                far.write_all(&[round]).unwrap();
            }
            far.write_all(&[round]).unwrap();
            let bytes = innocent.read_pooled().await.unwrap().unwrap();
            assert_eq!(bytes[..], [round]);
            innocent.write_all(&[round]).await.unwrap();
        }
        // They have lost nothing by that.
        for (number, (near, far)) in connections.iter_mut().enumerate() {
            far.shutdown(std::net::Shutdown::Write).unwrap();
            let mut rest = Vec::new();
            near.read_to_end(&mut rest).await.unwrap();
            let begun = if number % 2 == 0 { &b"2"[..] } else { b"" };
            let expected: Vec<u8> = begun.iter().copied().chain(0..40).collect();
            assert_eq!(rest, expected);
        }
    });
}

/// Raises the limit of this process, which is a child.
fn more_descriptors(wanted: usize) {
    // SAFETY: the structures are ours for the calls.
    unsafe {
        let mut limit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        if limit.rlim_cur < wanted as libc::rlim_t {
            limit.rlim_cur = wanted as libc::rlim_t;
            limit.rlim_max = limit.rlim_max.max(limit.rlim_cur);
            assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
        }
    }
}

/// A buffer that makes trouble when it is dropped.
struct Trouble {
    memory: Vec<u8>,
    on_drop: Option<Box<dyn FnOnce() + Send>>,
}

impl Trouble {
    fn new(on_drop: impl FnOnce() + Send + 'static) -> Trouble {
        Trouble {
            memory: Vec::with_capacity(16),
            on_drop: Some(Box::new(on_drop)),
        }
    }
}

impl Drop for Trouble {
    fn drop(&mut self) {
        if let Some(on_drop) = self.on_drop.take() {
            on_drop();
        }
    }
}

// SAFETY: as the vector.
unsafe impl Buffer for Trouble {
    fn pointer(&self) -> *const u8 {
        self.memory.pointer()
    }

    fn filled(&self) -> usize {
        self.memory.filled()
    }
}

// SAFETY: as the vector.
unsafe impl BufferMut for Trouble {
    fn pointer_mut(&mut self) -> *mut u8 {
        self.memory.pointer_mut()
    }

    fn room(&self) -> usize {
        self.memory.room()
    }

    unsafe fn set_filled(&mut self, filled: usize) {
        // SAFETY: by the caller's promise.
        unsafe { self.memory.set_filled(filled) };
    }
}

/// A buffer whose destructor uses the runtime, or panics, while its operation is let go of.
#[test]
fn a_buffer_makes_trouble_when_it_is_dropped() {
    for case in ["reads", "panics", "panics at the end", "blocks"] {
        child::passes("buffers::trouble", case);
    }
}

#[test]
fn trouble() {
    let Some(case) = child::case() else { return };
    for rt in [current_thread(), two_workers()] {
        let (mut other, mut other_far) = rt.block_on(async { pair() });
        let on_drop = match &*case {
            "reads" => {
                // Begins a read of its own, and drops that.
                let begins = move || {
                    let mut cx = Context::from_waker(Waker::noop());
                    let read = pin!(other.read_owned(vec![0; 4]));
                    let _ = read.poll(&mut cx);
                };
                Box::new(begins) as Box<dyn FnOnce() + Send>
            }
            "blocks" => Box::new(move || drop(other)),
            _ => Box::new(|| panic!("a buffer's own trouble")),
        };
        let (sender, dropped) = std::sync::mpsc::channel();
        let on_drop = move || {
            let _said = Said(sender);
            on_drop();
        };
        let (begun, _far) = rt.block_on(async {
            let (mut near, far) = pair();
            let mut begun = Box::pin(async move {
                drop(near.read_owned(Trouble::new(on_drop)).await);
            });
            assert!(once(&mut begun).await.is_none());
            (begun, far)
        });
        // Foreign code that panics, where the runtime lets go of it: it goes on to whoever dropped the read, or it was
        // caught.
        if case == "panics at the end" {
            std::mem::forget(begun);
        } else {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(begun)));
        }
        // The runtime works as before.
        rt.block_on(async {
            let (mut near, mut far) = pair();
            let read = tress::spawn(async move { near.read_owned(vec![0; 1]).await.0 });
            far.write_all(b"x").unwrap();
            assert_eq!(read.await.unwrap().unwrap(), 1);
        });
        drop(rt);
        if case != "panics at the end" {
            dropped.recv().unwrap();
        }
        let _ = other_far.write_all(b"x");
    }
}

/// Says that it was dropped.
struct Said(std::sync::mpsc::Sender<()>);

impl Drop for Said {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}
