//! Streams that are read into buffers of a pool.
#![cfg(all(not(loom), target_os = "linux"))]

mod net_support;

use net_support::{alone, on_each_backend, on_each_runtime, sockets};
use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use tress::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, AsyncWriteOwned};
use tress::net::{Pooled, PooledBuf, TcpListener, TcpStream, UnixStream};
use tress::runtime::{Builder, IoBackend, Runtime};
use tress::task::yield_now;

/// A runtime of one thread with a small pool.
fn small(backend: IoBackend, buffers: u16, bytes: usize) -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().io_backend(backend);
    builder.io_pool(buffers, bytes).build().unwrap()
}

/// A pooled stream, and the standard library's for its peer.
fn pair() -> (Pooled<UnixStream>, std::os::unix::net::UnixStream) {
    let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
    (Pooled::new(UnixStream::from_std(near).unwrap()), far)
}

fn taken(rt: &Runtime) -> usize {
    let metrics = rt.metrics();
    (0..metrics.num_workers())
        .map(|worker| metrics.worker(worker).pool_buffers_taken)
        .sum()
}

async fn next(stream: &mut Pooled<UnixStream>) -> PooledBuf {
    stream.read_pooled().await.unwrap().expect("not the end")
}

async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|cx| {
        Poll::Ready(match future.as_mut().poll(cx) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        })
    })
    .await
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn bytes_arrive_in_order_until_the_end() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let writer = tress::spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                for i in 0..50_000_u32 {
                    stream.write_all(&i.to_le_bytes()).await.unwrap();
                }
            });
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = Pooled::new(stream);
            let mut all = Vec::new();
            while let Some(bytes) = stream.read_pooled().await.unwrap() {
                assert!(!bytes.is_empty());
                all.extend_from_slice(&bytes);
            }
            writer.await.unwrap();
            let expected: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
            assert!(all == expected);
            // The end stays the end.
            assert!(stream.read_pooled().await.unwrap().is_none());
        });
        assert_eq!(taken(rt), 0);
    });
}

#[test]
fn an_echo_copies_nothing() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let server = tress::spawn(async move {
                for _ in 0..8 {
                    let (stream, _) = listener.accept().await.unwrap();
                    tress::spawn(async move {
                        let (reader, mut writer) = stream.into_split();
                        let mut reader = Pooled::new(reader);
                        while let Some(bytes) = reader.read_pooled().await.unwrap() {
                            writer.write_all_owned(bytes).await.0.unwrap();
                        }
                    });
                }
            });
            let clients: Vec<_> = (0..8_u8)
                .map(|id| {
                    tress::spawn(async move {
                        let mut stream = TcpStream::connect(address).await.unwrap();
                        for round in 0..200_u8 {
                            let message = [id, round, 3, 4];
                            stream.write_all(&message).await.unwrap();
                            let mut echo = [0; 4];
                            stream.read_exact(&mut echo).await.unwrap();
                            assert_eq!(echo, message);
                        }
                    })
                })
                .collect();
            for client in clients {
                client.await.unwrap();
            }
            server.await.unwrap();
        });
    });
}

#[test]
fn the_traits_see_the_same_bytes() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (mut stream, mut far) = pair();
            far.write_all(b"one\ntwo\nthree and a half").unwrap();
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            assert_eq!(line, "one\n");
            let mut four = [0; 4];
            stream.read_exact(&mut four).await.unwrap();
            assert_eq!(&four, b"two\n");
            // What is left of a buffer that was read in part.
            assert_eq!(&next(&mut stream).await[..], b"three and a half");
            stream.write_all(b"back").await.unwrap();
            far.read_exact(&mut four).unwrap();
            assert_eq!(&four, b"back");
            drop(far);
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await.unwrap();
            assert!(rest.is_empty());
        });
    });
}

#[test]
fn a_read_that_is_dropped_loses_nothing() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (mut stream, mut far) = pair();
            for i in 0..200_u8 {
                assert!(poll_once(pin!(stream.read_pooled())).await.is_none());
                far.write_all(&[i]).unwrap();
                let early = poll_once(pin!(stream.read_pooled())).await;
                let bytes = match early {
                    Some(bytes) => bytes.unwrap().unwrap(),
                    None => next(&mut stream).await,
                };
                assert_eq!(&bytes[..], [i]);
            }
        });
        assert_eq!(taken(rt), 0);
    });
}

#[test]
fn streams_that_wait_own_no_buffer() {
    let _alone = alone();
    on_each_backend(|backend| {
        let rt = small(backend, 2, 16);
        rt.block_on(async {
            let mut streams: Vec<_> = (0..100).map(|_| pair()).collect();
            for (stream, _) in &mut streams {
                assert!(poll_once(pin!(stream.read_pooled())).await.is_none());
            }
            yield_now().await;
            assert_eq!(taken(&rt), 0);
            for (stream, far) in streams.iter_mut().rev() {
                far.write_all(b"x").unwrap();
                assert_eq!(&next(stream).await[..], b"x");
            }
        });
    });
}

#[test]
fn a_pool_that_runs_dry_goes_on_when_a_buffer_comes_back() {
    let _alone = alone();
    on_each_backend(|backend| {
        let rt = small(backend, 2, 4);
        rt.block_on(async {
            let (mut one, mut to_one) = pair();
            let (mut two, mut to_two) = pair();
            to_one.write_all(b"12345678").unwrap();
            let first = next(&mut one).await;
            let second = next(&mut one).await;
            assert_eq!((&first[..], &second[..]), (&b"1234"[..], &b"5678"[..]));
            assert_eq!(taken(&rt), 2);
            to_two.write_all(b"abcdef").unwrap();
            // As often as one likes, and for a waker that changes.
            for _ in 0..10 {
                assert!(poll_once(pin!(two.read_pooled())).await.is_none());
                yield_now().await;
            }
            let count = Arc::new(Count::default());
            let waker = Waker::from(count.clone());
            let mut cx = Context::from_waker(&waker);
            while two.poll_read_pooled(&mut cx).is_pending() && count.0.load(Ordering::SeqCst) > 0 {
                count.0.store(0, Ordering::SeqCst);
            }
            assert_eq!(count.0.load(Ordering::SeqCst), 0);
            // The last one that is free, and no more.
            drop(first);
            assert_eq!(&next(&mut two).await[..], b"abcd");
            assert_eq!(&next(&mut two).await[..], b"ef");
            drop(second);
        });
        assert_eq!(taken(&rt), 0);
    });
}

#[test]
fn a_reader_that_starves_is_woken() {
    let _alone = alone();
    on_each_backend(|backend| {
        let rt = small(backend, 1, 8);
        rt.block_on(async {
            let (mut one, mut to_one) = pair();
            to_one.write_all(b"held").unwrap();
            let held = next(&mut one).await;
            let starving: Vec<_> = (0..4_u8)
                .map(|i| {
                    let (mut stream, mut far) = pair();
                    far.write_all(&[i]).unwrap();
                    tress::spawn(async move { next(&mut stream).await[0] })
                })
                .collect();
            // Dropped while it starves: it keeps nobody from anything.
            let (mut gone, _to_gone) = pair();
            assert!(poll_once(pin!(gone.read_pooled())).await.is_none());
            drop(gone);
            for _ in 0..20 {
                yield_now().await;
            }
            assert!(starving.iter().all(|task| !task.is_finished()));
            drop(held);
            for (i, task) in (0..4).zip(starving) {
                assert_eq!(task.await.unwrap(), i);
            }
        });
        assert_eq!(taken(&rt), 0);
    });
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker's own trouble");
    }
}

/// A reader whose waker panics does not keep the others from hearing of a buffer.
#[test]
fn readers_that_starve_are_woken_whatever_others_do() {
    on_each_backend(|backend| {
        let rt = small(backend, 1, 8);
        rt.block_on(async {
            let mut readers: Vec<_> = (0..5).map(|_| pair()).collect();
            let (mut stream, mut far) = pair();
            far.write_all(b"x").unwrap();
            let taken = next(&mut stream).await;
            let counts: Vec<_> = (0..5).map(|_| Arc::new(Count::default())).collect();
            for (number, (stream, far)) in readers.iter_mut().enumerate() {
                far.write_all(b"x").unwrap();
                let waker = match number {
                    1 | 3 => Waker::from(Arc::new(Panics)),
                    _ => Waker::from(counts[number].clone()),
                };
                // As often as it takes to find that there is no buffer.
                for _ in 0..20 {
                    let polled = stream.poll_read_pooled(&mut Context::from_waker(&waker));
                    assert!(polled.is_pending());
                    yield_now().await;
                }
            }
            let before: Vec<_> = counts
                .iter()
                .map(|count| count.0.load(Ordering::SeqCst))
                .collect();
            let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(taken)));
            drop(dropped);
            for number in [0, 2, 4] {
                assert!(counts[number].0.load(Ordering::SeqCst) > before[number]);
            }
        });
    });
}

#[test]
fn a_stream_that_is_not_read_holds_a_bounded_part_of_the_pool() {
    let _alone = alone();
    on_each_backend(|backend| {
        let rt = small(backend, 256, 8);
        rt.block_on(async {
            let (mut stream, mut far) = pair();
            assert!(poll_once(pin!(stream.read_pooled())).await.is_none());
            let mut sent = Vec::new();
            for i in 0..200_u32 {
                far.write_all(&i.to_ne_bytes()).unwrap();
                sent.extend(i.to_ne_bytes());
                // A turn of the driver.
                tress::time::sleep(std::time::Duration::ZERO).await;
                yield_now().await;
            }
            assert!(taken(&rt) <= 64, "{} buffers are taken", taken(&rt));
            let mut received = Vec::new();
            while received.len() < sent.len() {
                received.extend_from_slice(&next(&mut stream).await);
            }
            assert!(received == sent);
        });
    });
}

#[test]
fn dropping_a_stream_at_every_point_gives_its_buffers_back() {
    let _alone = alone();
    on_each_backend(|backend| {
        let rt = small(backend, 4, 8);
        let mut before = None;
        // The first one makes the driver and its pool.
        for step in [3, 0, 1, 2, 3] {
            rt.block_on(async {
                let (mut stream, mut far) = pair();
                if step >= 1 {
                    assert!(poll_once(pin!(stream.read_pooled())).await.is_none());
                }
                if step >= 2 {
                    far.write_all(b"bytes").unwrap();
                    yield_now().await;
                }
                if step >= 3 {
                    let mut two = [0; 2];
                    stream.read_exact(&mut two).await.unwrap();
                }
                drop(stream);
                // The peer finds the end, so the socket was closed. Whatever was sent and not read
                // makes that a reset.
                let mut far = UnixStream::from_std(far).unwrap();
                let end = far.read(&mut [0; 8]).await;
                assert!(matches!(end, Ok(0)) || end.is_err(), "step {step}: {end:?}");
                settled(&rt).await;
            });
            let now = sockets();
            assert_eq!(now, *before.get_or_insert(now), "step {step}");
        }
    });
}

/// Waits until every buffer is back.
async fn settled(rt: &Runtime) {
    while taken(rt) != 0 {
        yield_now().await;
    }
}

#[test]
fn a_stream_comes_back_with_what_has_arrived() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            for round in 0..50_u8 {
                let (mut stream, mut far) = pair();
                far.write_all(b"first").unwrap();
                let mut one = [0; 1];
                stream.read_exact(&mut one).await.unwrap();
                far.write_all(&[round; 9]).unwrap();
                if round % 2 == 0 {
                    yield_now().await;
                }
                let (mut stream, arrived) = stream.into_parts().await;
                far.write_all(b"last").unwrap();
                drop(far);
                let mut all: Vec<u8> = Vec::new();
                for bytes in arrived {
                    all.extend_from_slice(&bytes.unwrap());
                }
                stream.read_to_end(&mut all).await.unwrap();
                let expected = [&b"irst"[..], &[round; 9], b"last"].concat();
                assert_eq!(all, expected);
            }
        });
        rt.block_on(settled(rt));
    });
}

#[test]
fn the_standard_library_gets_its_stream_back() {
    let _alone = alone();
    on_each_backend(|backend| {
        let rt = small(backend, 4, 8);
        rt.block_on(async {
            let (mut stream, mut far) = pair();
            assert!(poll_once(pin!(stream.read_pooled())).await.is_none());
            let (stream, arrived) = stream.into_parts().await;
            assert!(arrived.is_empty());
            let mut std = stream.into_std().unwrap();
            std.set_nonblocking(false).unwrap();
            far.write_all(b"x").unwrap();
            let mut byte = [0; 1];
            std.read_exact(&mut byte).unwrap();
            assert_eq!(&byte, b"x");
        });
    });
}

#[test]
fn bytes_outlive_their_stream_and_their_runtime() {
    let _alone = alone();
    on_each_runtime(|rt| {
        let kept = rt.block_on(async {
            let (mut stream, mut far) = pair();
            far.write_all(b"kept").unwrap();
            next(&mut stream).await
        });
        assert_eq!(&kept[..], b"kept");
        std::thread::spawn(move || drop(kept)).join().unwrap();
        assert_eq!(taken(rt), 0);
    });
    on_each_backend(|backend| {
        let rt = small(backend, 4, 8);
        let kept = rt.block_on(async {
            let (mut stream, mut far) = pair();
            far.write_all(b"kept").unwrap();
            next(&mut stream).await
        });
        drop(rt);
        let thread = std::thread::spawn(move || assert_eq!(&kept[..], b"kept"));
        thread.join().unwrap();
    });
}

#[test]
fn a_stream_whose_runtime_is_gone_says_so() {
    let _alone = alone();
    on_each_backend(|backend| {
        let rt = small(backend, 4, 8);
        let (mut begun, mut fresh, _peers) = rt.block_on(async {
            let (mut begun, one) = pair();
            assert!(poll_once(pin!(begun.read_pooled())).await.is_none());
            let (fresh, two) = pair();
            (begun, fresh, (one, two))
        });
        drop(rt);
        let other = small(backend, 4, 8);
        for stream in [&mut begun, &mut fresh] {
            let error = other.block_on(stream.read_pooled()).unwrap_err();
            assert!(tress::runtime::is_shutdown_error(&error), "{error}");
        }
    });
}

#[test]
fn tasks_that_move_between_workers_lose_nothing() {
    let _alone = alone();
    on_each_backend(|backend| {
        let rt = net_support::multi_thread(backend, 4);
        rt.block_on(async {
            let mut tasks = Vec::new();
            for id in 0..32_u32 {
                let (near, far) = UnixStream::pair().unwrap();
                let mut writer = far;
                tasks.push(tress::spawn(async move {
                    for i in 0..500_u32 {
                        writer.write_all(&(id ^ i).to_le_bytes()).await.unwrap();
                        if i % 7 == 0 {
                            yield_now().await;
                        }
                    }
                }));
                tasks.push(tress::spawn(async move {
                    let mut stream = Pooled::new(near);
                    for i in 0..500_u32 {
                        assert_eq!(stream.read_u32_le().await.unwrap(), id ^ i);
                        if i % 5 == 0 {
                            yield_now().await;
                        }
                    }
                    assert!(stream.read_pooled().await.unwrap().is_none());
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert_eq!(taken(&rt), 0);
    });
}

#[test]
fn pools_have_limits() {
    let _alone = alone();
    for (buffers, bytes, fine) in [
        (0, 1, false),
        (1, 1, true),
        (3, 1, false),
        (1 << 15, 1, true),
        ((1 << 15) + 1, 1, false),
        (1, 0, false),
        (1, 1 << 20, true),
        (1, (1 << 20) + 1, false),
    ] {
        let mut builder = Builder::new_current_thread();
        let built = builder.enable_all().io_pool(buffers, bytes).build();
        assert_eq!(built.is_ok(), fine, "{buffers} of {bytes}");
    }
    on_each_backend(|backend| {
        let rt = small(backend, 1, 1);
        rt.block_on(async {
            let (mut stream, mut far) = pair();
            far.write_all(b"byte by byte").unwrap();
            for &byte in b"byte by byte" {
                assert_eq!(&next(&mut stream).await[..], [byte]);
            }
        });
    });
}
