//! Peers that die, leave half-way, reset, or do not read: TCP and Unix streams, on both backends.
//!
//! `TRESS_NET_TRANSFER=1073741824` sets how many bytes the transfer has.
#![cfg(all(not(loom), target_os = "linux"))]

mod net_support;

use net_support::child::{self, Peer};
use net_support::kinds::{Kind, Tcp, Unix};
use net_support::memory::Counting;
use net_support::{Random, alone, multi_thread, on_each_backend, on_each_runtime, setting};
use std::future::Future;
use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice, Write};
use std::pin::pin;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::TcpStream;
use tress::runtime::Runtime;
use tress::sync::oneshot;

#[global_allocator]
static HEAP: Counting = Counting::new();

/// What a peer in another process does before it waits to be killed.
const GREETING: [u8; 5] = *b"hello";
/// More than the kernel keeps for a stream whose peer does not read.
const PLENTY: usize = 32 << 20;

/// The other process: connects, greets, and then waits without reading anything.
#[test]
fn peer() {
    let Some(order) = child::order() else { return };
    match order.split_once(' ').unwrap() {
        ("TCP", address) => greet::<Tcp>(address),
        ("Unix", address) => greet::<Unix>(address),
        _ => panic!("no such order: {order}"),
    }
}

fn greet<K: Kind>(address: &str) {
    let mut stream = K::connect_blocking(address).unwrap();
    stream.write_all(&GREETING).unwrap();
    child::until_told();
}

/// A stream to another process, which has greeted.
async fn other_process<K: Kind>() -> (Peer, K::Stream) {
    let listener = K::bind().await;
    let peer = Peer::start("peer", &format!("{} {}", K::NAME, K::address(&listener)));
    let mut stream = K::accept(&listener).await.unwrap();
    let mut greeting = [0; GREETING.len()];
    stream.read_exact(&mut greeting).await.unwrap();
    assert_eq!(greeting, GREETING);
    (peer, stream)
}

/// Polls `future` in a task of its own; returns its handle once it has been pending, or is done.
async fn parked<F>(future: F) -> tress::task::JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let (waits, is_waiting) = oneshot::channel();
    let handle = tress::spawn(async move {
        let mut waits = Some(waits);
        let mut future = pin!(future);
        poll_fn(|cx| {
            let polled = future.as_mut().poll(cx);
            if let Some(waits) = waits.take() {
                waits.send(()).expect("the test waits");
            }
            polled
        })
        .await
    });
    is_waiting.await.unwrap();
    handle
}

fn is_gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// Writes until the peer's end is noticed.
async fn write_until_gone<S: AsyncWriteExt + Unpin>(mut stream: S) -> ErrorKind {
    loop {
        if let Err(error) = stream.write_all(&[7; 4096]).await {
            return error.kind();
        }
    }
}

fn killed_while_we_read<K: Kind>(rt: &Runtime) {
    rt.block_on(async {
        let (mut peer, mut stream) = other_process::<K>().await;
        let reader = parked(async move {
            let read = stream.read(&mut [0; 16]).await;
            (read, stream)
        })
        .await;
        peer.kill();
        let (read, stream) = reader.await.unwrap();
        assert_eq!(read.unwrap(), 0, "the kernel closes for it");
        assert!(is_gone(write_until_gone(stream).await));
    });
}

fn killed_with_unread_bytes<K: Kind>(rt: &Runtime) {
    rt.block_on(async {
        let (mut peer, mut stream) = other_process::<K>().await;
        stream.write_all(b"never read").await.unwrap();
        let reader = parked(async move { stream.read(&mut [0; 16]).await }).await;
        peer.kill();
        let error = reader.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

fn killed_while_we_write<K: Kind>(rt: &Runtime) {
    rt.block_on(async {
        let (mut peer, stream) = other_process::<K>().await;
        let (mut reader, mut writer) = tress::io::split(stream);
        // Both sides wait: each is told.
        let reader = parked(async move { reader.read(&mut [0; 16]).await }).await;
        let writer = parked(async move { writer.write_all(&vec![7; PLENTY]).await }).await;
        peer.kill();
        assert!(is_gone(writer.await.unwrap().unwrap_err().kind()));
        match reader.await.unwrap() {
            Ok(n) => assert_eq!(n, 0),
            Err(error) => assert!(is_gone(error.kind()), "{error}"),
        }
    });
}

#[test]
fn a_peer_that_is_killed_ends_every_wait() {
    let _alone = alone();
    on_each_runtime(|rt| {
        killed_while_we_read::<Tcp>(rt);
        killed_while_we_read::<Unix>(rt);
        killed_with_unread_bytes::<Tcp>(rt);
        killed_with_unread_bytes::<Unix>(rt);
        killed_while_we_write::<Tcp>(rt);
        killed_while_we_write::<Unix>(rt);
    });
}

/// One side ends its writing while the other waits for bytes; the other direction goes on, with more
/// than fits into the kernel.
fn half_close<K: Kind>(rt: &Runtime, accepted_first: bool) {
    const MUCH: usize = 4 << 20;
    rt.block_on(async {
        let (near, far) = K::pair().await;
        let (mut first, mut second) = match accepted_first {
            true => (far, near),
            false => (near, far),
        };
        let waiting = parked(async move {
            let n = second.read(&mut [0; 16]).await.unwrap();
            (n, second)
        })
        .await;
        first.shutdown().await.unwrap();
        let (n, mut second) = waiting.await.unwrap();
        assert_eq!(n, 0);
        assert_eq!(
            second.read(&mut [0; 16]).await.unwrap(),
            0,
            "it stays at the end"
        );
        let answer = tress::spawn(async move {
            second.write_all(&vec![9; MUCH]).await.unwrap();
            second.shutdown().await.unwrap();
            second
        });
        let mut all = Vec::new();
        first.read_to_end(&mut all).await.unwrap();
        assert_eq!(all.len(), MUCH);
        assert!(all.iter().all(|&byte| byte == 9));
        let mut second = answer.await.unwrap();
        // Both directions have ended, the connection has not been dropped: that can be told.
        assert_eq!(first.read(&mut [0; 16]).await.unwrap(), 0);
        assert_eq!(second.read(&mut [0; 16]).await.unwrap(), 0);
        assert_eq!(
            first.write(b"x").await.unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );
        assert_eq!(
            second.write(b"x").await.unwrap_err().kind(),
            ErrorKind::BrokenPipe
        );
    });
}

#[test]
fn either_side_may_end_first() {
    let _alone = alone();
    on_each_runtime(|rt| {
        for accepted_first in [false, true] {
            half_close::<Tcp>(rt, accepted_first);
            half_close::<Unix>(rt, accepted_first);
        }
    });
}

/// A reset reaches who reads and who writes, whether they wait or come later.
#[test]
fn a_reset_reaches_both_directions() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (near, far) = Tcp::pair().await;
            let (mut reader, mut writer) = near.into_split();
            let reading = parked(async move { (reader.read(&mut [0; 8]).await, reader) }).await;
            let writing =
                parked(async move { (writer.write_all(&vec![7; PLENTY]).await, writer) }).await;
            far.set_zero_linger().unwrap();
            drop(far);
            let (read, mut reader) = reading.await.unwrap();
            let (written, mut writer) = writing.await.unwrap();
            // The socket tells it once, the other side hears that it is over.
            let mut kinds = vec![written.unwrap_err().kind()];
            kinds.extend(read.err().map(|error| error.kind()));
            assert!(kinds.iter().all(|&kind| is_gone(kind)), "{kinds:?}");
            assert!(
                kinds.contains(&ErrorKind::ConnectionReset) || kinds.len() == 1,
                "{kinds:?}"
            );
            assert!(matches!(reader.read(&mut [0; 8]).await, Ok(0) | Err(_)));
            assert!(is_gone(writer.write(b"x").await.unwrap_err().kind()));
        });
    });
}

/// A reset that comes before the stream was ever waited for.
#[test]
fn a_reset_before_the_first_read_is_seen() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let listener = Tcp::bind().await;
            let client = TcpStream::connect(Tcp::address(&listener)).await.unwrap();
            client.set_zero_linger().unwrap();
            drop(client);
            let mut stream = Tcp::accept(&listener).await.unwrap();
            let error = stream.read(&mut [0; 8]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        });
    });
}

/// The writer waits for the reader, in bounded memory, and every byte arrives.
fn slow_reader<K: Kind>(rt: &Runtime) {
    const CHUNK: usize = 16 * 1024;
    const CHUNKS: usize = PLENTY / CHUNK;
    rt.block_on(async {
        let (mut near, mut far) = K::pair().await;
        let heap = HEAP.bytes();
        let (waits, mut is_waiting) = tress::sync::mpsc::unbounded_channel();
        let writer = tress::spawn(async move {
            let chunk = vec![7; CHUNK];
            let mut written = 0;
            for _ in 0..CHUNKS {
                let mut writing = pin!(near.write_all(&chunk));
                poll_fn(|cx| {
                    let polled = writing.as_mut().poll(cx);
                    if polled.is_pending() {
                        waits.send(written).expect("the test waits");
                    }
                    polled
                })
                .await
                .unwrap();
                written += CHUNK;
            }
            near.shutdown().await.unwrap();
        });
        // It waits, although there is far more to write. What the kernel has is its own affair.
        let written = is_waiting.recv().await.unwrap();
        assert!(written < PLENTY / 2, "{written} B went in");
        let grown = HEAP.bytes() - heap;
        assert!(grown < (1 << 20), "{grown} B of ours");
        // It goes on as fast as bytes are taken, and no faster: here by small portions.
        let mut taken = 0;
        let mut buf = [0; 3000];
        loop {
            match far.read(&mut buf).await.unwrap() {
                0 => break,
                n => taken += n,
            }
            while let Ok(written) = is_waiting.try_recv() {
                assert!(written < taken + PLENTY / 2);
            }
        }
        writer.await.unwrap();
        assert_eq!(taken, PLENTY);
    });
}

#[test]
fn a_slow_reader_holds_the_writer_back() {
    let _alone = alone();
    on_each_runtime(|rt| {
        slow_reader::<Tcp>(rt);
        slow_reader::<Unix>(rt);
    });
}

fn small_writes<K: Kind>(rt: &Runtime) {
    rt.block_on(async {
        let (mut near, mut far) = K::pair().await;
        assert_eq!(near.write(&[]).await.unwrap(), 0);
        let none = [IoSlice::new(&[]), IoSlice::new(&[])];
        assert_eq!(near.write_vectored(&none).await.unwrap(), 0);
        assert_eq!(near.write_vectored(&[]).await.unwrap(), 0);
        let writer = tress::spawn(async move {
            for i in 0..2000_u32 {
                assert_eq!(near.write(&[]).await.unwrap(), 0);
                let byte = [i as u8];
                let parts = [IoSlice::new(&[]), IoSlice::new(&byte), IoSlice::new(&[])];
                let n = match i % 2 {
                    0 => near.write(&byte).await,
                    _ => near.write_vectored(&parts).await,
                };
                assert_eq!(n.unwrap(), 1);
            }
        });
        for i in 0..2000_u32 {
            // Waits for bytes, as the system call does, and takes none.
            assert_eq!(far.read(&mut []).await.unwrap(), 0);
            assert_eq!(far.read_u8().await.unwrap(), i as u8);
        }
        writer.await.unwrap();
        assert_eq!(far.read(&mut [0; 1]).await.unwrap(), 0);
        assert_eq!(far.read(&mut []).await.unwrap(), 0);
    });
}

/// Heads and bodies, as servers write them: of few bytes, and of more.
fn vectored_writes<K: Kind>(rt: &Runtime) {
    rt.block_on(async {
        let (mut near, mut far) = K::pair().await;
        let head = [b'h'; 100];
        let bodies = [0, 1, 923, 924, 925, 5000].map(|length| vec![b'b'; length]);
        let want = bodies.each_ref().map(|body| [&head[..], body].concat());
        let writer = tress::spawn(async move {
            for body in &bodies {
                let mut parts = &mut [&head[..], &[], body].map(IoSlice::new)[..];
                while !parts.is_empty() {
                    let n = near.write_vectored(parts).await.unwrap();
                    IoSlice::advance_slices(&mut parts, n);
                }
            }
        });
        for want in want {
            let mut got = vec![0; want.len()];
            far.read_exact(&mut got).await.unwrap();
            assert_eq!(got, want);
        }
        writer.await.unwrap();
        assert_eq!(far.read(&mut [0; 1]).await.unwrap(), 0);
    });
}

#[test]
fn several_buffers_at_once() {
    let _alone = alone();
    on_each_runtime(|rt| {
        vectored_writes::<Tcp>(rt);
        vectored_writes::<Unix>(rt);
    });
}

#[test]
fn nothing_and_single_bytes() {
    let _alone = alone();
    on_each_runtime(|rt| {
        small_writes::<Tcp>(rt);
        small_writes::<Unix>(rt);
    });
}

/// Eight bytes of the stream by their place in it.
fn word(at: u64) -> u64 {
    (at ^ (at >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A sum that depends on the order.
fn checksum(sum: u64, words: &[u8]) -> u64 {
    words.chunks_exact(8).fold(sum, |sum, word| {
        sum.rotate_left(5) ^ u64::from_le_bytes(word.try_into().unwrap())
    })
}

/// Many bytes, in portions of all sizes, both ways at once.
fn transfer<K: Kind>(rt: &Runtime, total: usize) {
    async fn send(mut stream: impl AsyncWriteExt + Unpin, total: usize, seed: u64) -> u64 {
        let mut random = Random(seed);
        let (mut sum, mut at) = (0, 0);
        let mut chunk = Vec::new();
        while at < total {
            let words = (random.below(20_000) + 1).min((total - at) / 8);
            chunk.clear();
            chunk.extend((0..words).flat_map(|n| word((at / 8 + n) as u64 ^ seed).to_le_bytes()));
            sum = checksum(sum, &chunk);
            stream.write_all(&chunk).await.unwrap();
            at += chunk.len();
        }
        stream.shutdown().await.unwrap();
        sum
    }

    async fn receive(mut stream: impl AsyncReadExt + Unpin, seed: u64) -> (usize, u64) {
        let mut random = Random(seed);
        let mut buf = vec![0; 160_000];
        let (mut sum, mut total, mut held) = (0, 0, 0);
        loop {
            // What is less than a word stays for the next time.
            let end = (held + random.below(buf.len()) + 1).min(buf.len());
            let n = stream.read(&mut buf[held..end]).await.unwrap();
            if n == 0 {
                assert_eq!(held, 0);
                return (total, sum);
            }
            let whole = (held + n) / 8 * 8;
            sum = checksum(sum, &buf[..whole]);
            total += n;
            buf.copy_within(whole..held + n, 0);
            held = held + n - whole;
        }
    }

    rt.block_on(async {
        let (near, far) = K::pair().await;
        let (near_reader, near_writer) = tress::io::split(near);
        let (far_reader, far_writer) = tress::io::split(far);
        let there = tress::spawn(send(near_writer, total, 3));
        let arrived_there = tress::spawn(receive(far_reader, 5));
        let back = tress::spawn(send(far_writer, total / 8 / 8 * 8, 7));
        let arrived_back = tress::spawn(receive(near_reader, 11));
        let sent = (total, there.await.unwrap());
        assert_eq!(arrived_there.await.unwrap(), sent);
        let sent = (total / 8 / 8 * 8, back.await.unwrap());
        assert_eq!(arrived_back.await.unwrap(), sent);
    });
}

#[test]
fn every_byte_arrives_in_order() {
    let _alone = alone();
    let total = setting("TRESS_NET_TRANSFER", 32 << 20) / 8 * 8;
    on_each_backend(|backend| {
        let rt = multi_thread(backend, 2);
        transfer::<Tcp>(&rt, total);
        transfer::<Unix>(&rt, total);
    });
    on_each_runtime(|rt| {
        transfer::<Tcp>(rt, total / 64 * 8);
        transfer::<Unix>(rt, total / 64 * 8);
    });
}
