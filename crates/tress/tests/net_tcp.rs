//! TCP on both backends: what goes in comes out, however it ends.
#![cfg(not(loom))]

mod net_support;

use net_support::{Random, on_each_runtime};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::{TcpListener, TcpSocket, TcpStream};
use tress::sync::oneshot;

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (near, far) = tress::join!(TcpStream::connect(address), listener.accept());
    (near.unwrap(), far.unwrap().0)
}

/// A sum that depends on the order.
fn checksum(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, &byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    })
}

#[test]
fn an_echo_of_random_chunks_is_the_same() {
    const TOTAL: usize = 2 << 20;
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (near, mut far) = pair().await;
            let echo = tress::spawn(async move {
                let (mut reader, mut writer) = far.split();
                tress::io::copy(&mut reader, &mut writer).await.unwrap();
                writer.shutdown().await.unwrap();
            });
            let (mut reader, mut writer) = near.into_split();
            let sent = tress::spawn(async move {
                let mut random = Random(7);
                let mut sum = 0;
                let mut left = TOTAL;
                while left > 0 {
                    let len = (random.below(40_000) + 1).min(left);
                    let chunk: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
                    sum = checksum(sum, &chunk);
                    writer.write_all(&chunk).await.unwrap();
                    left -= len;
                }
                drop(writer); // ends the stream
                sum
            });
            let mut random = Random(9);
            let (mut sum, mut total) = (0, 0);
            loop {
                let mut buf = vec![0; random.below(40_000) + 1];
                match reader.read(&mut buf).await.unwrap() {
                    0 => break,
                    n => (sum, total) = (checksum(sum, &buf[..n]), total + n),
                }
            }
            assert_eq!((total, sum), (TOTAL, sent.await.unwrap()));
            echo.await.unwrap();
        });
    });
}

#[test]
fn a_half_that_is_closed_leaves_the_other_open() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (mut near, mut far) = pair().await;
            near.write_all(b"question").await.unwrap();
            near.shutdown().await.unwrap();
            near.shutdown().await.unwrap(); // again is fine
            let mut text = String::new();
            far.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "question");
            far.write_all(b"answer").await.unwrap();
            drop(far);
            text.clear();
            near.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "answer");
            assert!(near.write(b"x").await.is_err());
        });
    });
}

#[test]
fn a_reset_is_an_error_for_who_waits() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (mut near, far) = pair().await;
            let waiting = tress::spawn(async move { near.read(&mut [0; 8]).await });
            tress::task::yield_now().await;
            far.set_zero_linger().unwrap();
            drop(far);
            let error = waiting.await.unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        });
    });
}

#[test]
fn nobody_listens() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let free = listener.local_addr().unwrap();
            drop(listener);
            let error = TcpStream::connect(free).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            let socket = TcpSocket::new_v4().unwrap();
            let error = socket.connect(free).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            // The next address is tried.
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let both = [free, listener.local_addr().unwrap()];
            TcpStream::connect(&both[..]).await.unwrap();
            let none: &[std::net::SocketAddr] = &[];
            let error = TcpStream::connect(none).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
        });
    });
}

#[test]
fn small_writes_and_none_at_all() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (mut near, mut far) = pair().await;
            assert_eq!(near.write(&[]).await.unwrap(), 0);
            let writer = tress::spawn(async move {
                for i in 0..1000_u32 {
                    assert_eq!(near.write(&[i as u8]).await.unwrap(), 1);
                }
                near
            });
            assert_eq!(far.read(&mut []).await.unwrap(), 0);
            for i in 0..1000_u32 {
                assert_eq!(far.read_u8().await.unwrap(), i as u8);
            }
            drop(writer.await.unwrap());
            assert_eq!(far.read(&mut [0; 1]).await.unwrap(), 0);
        });
    });
}

#[test]
fn a_slow_reader_stops_the_writer() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (near, mut far) = pair().await;
            // Fill both sides' buffers until nothing more goes in.
            let mut written = 0;
            loop {
                match near.try_write(&[7; 64 * 1024]) {
                    Ok(n) => written += n,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::WouldBlock);
                        break;
                    }
                }
            }
            let (_reader, mut writer) = near.into_split();
            let more = tress::spawn(async move {
                writer.write_all(&[8; 1 << 20]).await.unwrap();
            });
            let mut all = vec![0; written + (1 << 20)];
            far.read_exact(&mut all).await.unwrap();
            assert!(all[..written].iter().all(|&byte| byte == 7));
            assert!(all[written..].iter().all(|&byte| byte == 8));
            more.await.unwrap();
        });
    });
}

#[test]
fn many_connections() {
    const CONNECTIONS: usize = 200;
    on_each_runtime(|rt| {
        rt.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let server = tress::spawn(async move {
                for _ in 0..CONNECTIONS {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    tress::spawn(async move {
                        let (mut reader, mut writer) = stream.split();
                        tress::io::copy(&mut reader, &mut writer).await.unwrap();
                    });
                }
            });
            let mut streams = Vec::new();
            for _ in 0..CONNECTIONS {
                streams.push(TcpStream::connect(address).await.unwrap());
            }
            server.await.unwrap();
            let clients: Vec<_> = streams
                .into_iter()
                .enumerate()
                .map(|(i, mut stream)| {
                    tress::spawn(async move {
                        for round in 0..3_u64 {
                            let number = i as u64 * 10 + round;
                            stream.write_u64(number).await.unwrap();
                            assert_eq!(stream.read_u64().await.unwrap(), number);
                        }
                    })
                })
                .collect();
            for client in clients {
                client.await.unwrap();
            }
        });
    });
}

#[test]
fn many_tasks_wait_for_one_listener() {
    const WAITERS: usize = 8;
    on_each_runtime(|rt| {
        rt.block_on(async {
            let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
            let address = listener.local_addr().unwrap();
            let waiters: Vec<_> = (0..WAITERS)
                .map(|_| {
                    let listener = listener.clone();
                    tress::spawn(async move { listener.accept().await.unwrap().1 })
                })
                .collect();
            let mut expected = Vec::new();
            let mut streams = Vec::new();
            for _ in 0..WAITERS {
                let stream = TcpStream::connect(address).await.unwrap();
                expected.push(stream.local_addr().unwrap());
                streams.push(stream);
            }
            let mut accepted = Vec::new();
            for waiter in waiters {
                accepted.push(waiter.await.unwrap());
            }
            accepted.sort();
            expected.sort();
            assert_eq!(accepted, expected);
        });
    });
}

#[test]
fn halves_reunite() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (near, far) = pair().await;
            let (near_reader, near_writer) = near.into_split();
            let (far_reader, far_writer) = far.into_split();
            let error = near_reader.reunite(far_writer).unwrap_err();
            let (near_reader, far_writer) = (error.0, error.1);
            let mut near = near_reader.reunite(near_writer).unwrap();
            let mut far = far_writer.reunite(far_reader).unwrap();
            // Reuniting has shut nothing down.
            near.write_u8(1).await.unwrap();
            assert_eq!(far.read_u8().await.unwrap(), 1);
            let (mut reader, writer) = far.into_split();
            writer.forget();
            near.write_u8(2).await.unwrap();
            assert_eq!(reader.read_u8().await.unwrap(), 2);
        });
    });
}

#[test]
fn the_standard_library_and_back() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (near, far) = pair().await;
            let mut near = near.into_std().unwrap();
            let mut far = far.into_std().unwrap();
            near.set_nonblocking(false).unwrap();
            far.set_nonblocking(false).unwrap();
            near.write_all(b"plain").unwrap();
            let mut five = [0; 5];
            far.read_exact(&mut five).unwrap();
            assert_eq!(&five, b"plain");
            // Blocking ones are made non-blocking.
            let (mut near, far) = (
                TcpStream::from_std(near).unwrap(),
                TcpStream::from_std(far).unwrap(),
            );
            let error = far.try_read(&mut five).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            near.write_all(b"again").await.unwrap();
            let mut ahead = [0; 8];
            assert_eq!(far.peek(&mut ahead).await.unwrap(), 5);
            far.readable().await.unwrap();
            assert_eq!(far.try_read(&mut five).unwrap(), 5);
            assert_eq!(&five, b"again");
        });
    });
}

#[test]
fn dropping_the_runtime_ends_the_wait_of_others() {
    net_support::on_each_backend(|backend| {
        let rt = net_support::multi_thread(backend, 2);
        let (far, near, listener) = rt.block_on(async {
            let (near, far) = pair().await;
            (far, near, TcpListener::bind("127.0.0.1:0").await.unwrap())
        });
        // One waits inside the runtime: it is dropped with it.
        let (dropped, was_dropped) = oneshot::channel::<()>();
        rt.spawn(async move {
            let _dropped = dropped;
            listener.accept().await.unwrap();
        });
        // One waits outside of it, and is told.
        let other = net_support::current_thread(backend);
        let (waits, is_waiting) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            other.block_on(async move {
                let mut near = near;
                let mut buf = [0; 1];
                let mut read = std::pin::pin!(near.read(&mut buf));
                let first = std::future::poll_fn(|cx| {
                    std::task::Poll::Ready(read.as_mut().poll(cx).is_pending())
                });
                waits.send(first.await).unwrap();
                read.await
            })
        });
        assert!(is_waiting.recv().unwrap());
        drop(rt);
        let error = thread.join().unwrap().unwrap_err();
        assert!(tress::runtime::is_shutdown_error(&error));
        assert!(was_dropped.blocking_recv().is_err());
        drop(far);
    });
}

#[test]
fn a_worker_stuck_in_a_poll_leaves_its_sockets_to_others() {
    net_support::on_each_backend(|backend| {
        let rt = net_support::multi_thread(backend, 2);
        // Connections that have been waited for on both workers.
        let (streams, peers) = rt.block_on(async {
            let mut streams = Vec::new();
            let mut peers = Vec::new();
            for _ in 0..8 {
                let (near, far) = pair().await;
                streams.push(near);
                peers.push(far);
            }
            (streams, peers)
        });
        let echoes: Vec<_> = peers
            .into_iter()
            .map(|mut peer| {
                rt.spawn(async move {
                    let (mut reader, mut writer) = peer.split();
                    tress::io::copy(&mut reader, &mut writer).await.unwrap();
                })
            })
            .collect();
        let (stuck, is_stuck) = std::sync::mpsc::channel();
        let (release, released) = std::sync::mpsc::channel::<()>();
        let blocked = rt.spawn(async move {
            stuck.send(()).unwrap();
            released.recv().unwrap(); // blocks the worker until all echoes have come
        });
        is_stuck.recv().unwrap();
        rt.block_on(async {
            for (i, mut stream) in streams.into_iter().enumerate() {
                for round in 0..3 {
                    let number = (i * 10 + round) as u64;
                    stream.write_u64(number).await.unwrap();
                    assert_eq!(stream.read_u64().await.unwrap(), number);
                }
            }
        });
        release.send(()).unwrap();
        rt.block_on(async {
            blocked.await.unwrap();
            for echo in echoes {
                echo.await.unwrap();
            }
        });
    });
}

/// The documented backlog, or what the system allows of it: connections that nobody accepts yet.
#[cfg(target_os = "linux")]
#[test]
fn a_listener_has_room_for_a_burst() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let bound = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
            let room = 1024.min(bound.trim().parse().unwrap());
            // One that finds no room would wait for a second, and then for longer.
            let waiting: Vec<_> = (0..room)
                .map(|_| std::net::TcpStream::connect(address).unwrap())
                .collect();
            let info = tcp_info(&listener);
            // For a listener: those that wait, and how many may.
            assert_eq!((info.tcpi_unacked, info.tcpi_sacked), (room, room));
            // Each of them is accepted, mostly in this order.
            let mut want: Vec<_> = waiting.iter().map(|c| c.local_addr().unwrap()).collect();
            let mut peers = Vec::new();
            for _ in &waiting {
                peers.push(listener.accept().await.unwrap().1);
            }
            want.sort_unstable();
            peers.sort_unstable();
            assert_eq!(peers, want);
        });
    });
}

#[cfg(target_os = "linux")]
fn tcp_info(socket: &impl std::os::fd::AsRawFd) -> libc::tcp_info {
    // SAFETY: of numbers only, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `info`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    assert_eq!(result, 0);
    info
}
