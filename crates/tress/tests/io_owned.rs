//! Reads and writes with buffers that are given away and come back.
#![cfg(all(not(loom), target_os = "linux"))]

mod net_support;

use net_support::{
    alone, multi_thread, on_each_backend, on_each_runtime, on_each_runtime_in_turn, sockets,
};
use std::future::{Future, poll_fn};
use std::io::{ErrorKind, SeekFrom};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use tress::io::{
    AsyncReadExt, AsyncReadOwned, AsyncSeekExt, AsyncWriteExt, AsyncWriteOwned, Buffer, BufferMut,
    Interest,
};
use tress::net::unix::pipe;
use tress::net::{Pooled, TcpListener, TcpStream, UnixStream};
use tress::runtime::{IoBackend, Runtime};
use tress::task::yield_now;

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

/// How many `Counted` there are. The tests that use it are alone.
static ALIVE: AtomicUsize = AtomicUsize::new(0);

struct Counted(Vec<u8>);

impl Counted {
    fn new(bytes: Vec<u8>) -> Counted {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        Counted(bytes)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

// SAFETY: as the vector.
unsafe impl Buffer for Counted {
    fn pointer(&self) -> *const u8 {
        self.0.pointer()
    }

    fn filled(&self) -> usize {
        self.0.filled()
    }
}

// SAFETY: as the vector.
unsafe impl BufferMut for Counted {
    fn pointer_mut(&mut self) -> *mut u8 {
        self.0.pointer_mut()
    }

    fn room(&self) -> usize {
        self.0.room()
    }

    unsafe fn set_filled(&mut self, filled: usize) {
        // SAFETY: by the caller's promise.
        unsafe { self.0.set_filled(filled) };
    }
}

async fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap());
    let near = near.await.unwrap();
    (near, listener.accept().await.unwrap().0)
}

/// Sends and receives through every kind of size.
async fn exchange<W, R>(mut writer: W, mut reader: R)
where
    W: AsyncWriteOwned + Send + 'static,
    R: AsyncReadOwned + Send,
{
    // A buffer without room, and one without bytes.
    let (read, buffer) = reader.read_exact_owned(Vec::new()).await;
    read.unwrap();
    assert!(buffer.is_empty());
    writer.write_all_owned("").await.0.unwrap();

    writer.write_all_owned("hello").await.0.unwrap();
    let mut buffer = b"head: ".to_vec();
    buffer.reserve(64);
    let (read, buffer) = reader.read_owned(buffer.slice(6..)).await;
    assert_eq!(read.unwrap(), 5);
    assert_eq!(buffer.into_inner(), b"head: hello");

    // More than fits anywhere on the way.
    let big: Vec<u8> = (0..1 << 20).map(|i: u32| (i / 7) as u8).collect();
    let sent = big.clone();
    let writing = tress::spawn(async move {
        let (written, sent) = writer.write_all_owned(sent).await;
        written.unwrap();
        assert_eq!(sent.len(), 1 << 20);
        writer.write_all_owned(&b"tail"[..]).await.0.unwrap();
        // Dropped: the end.
    });
    let (read, received) = reader.read_exact_owned(Vec::with_capacity(1 << 20)).await;
    read.unwrap();
    assert!(received == big);
    let (read, received) = reader.read_exact_owned(vec![0; 5]).await;
    assert_eq!(read.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    assert_eq!(&received[..4], b"tail");
    let (read, _) = reader.read_owned(vec![0; 5]).await;
    assert_eq!(read.unwrap(), 0);
    writing.await.unwrap();
}

#[test]
fn every_stream_has_them() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (near, far) = connection().await;
            exchange(near, far).await;
            let (near, far) = UnixStream::pair().unwrap();
            exchange(near, far).await;
            let (near, far) = connection().await;
            exchange(near.into_split().1, far.into_split().0).await;
            let (near, far) = UnixStream::pair().unwrap();
            exchange(near.into_split().1, far.into_split().0).await;
            let (sender, receiver) = pipe::pipe().unwrap();
            exchange(sender, receiver).await;
        });
    });
}

#[test]
fn a_child_is_talked_to() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let mut command = tress::process::Command::new("cat");
            command.stdin(std::process::Stdio::piped());
            command.stdout(std::process::Stdio::piped());
            let mut child = command.spawn().unwrap();
            exchange(child.stdin.take().unwrap(), child.stdout.take().unwrap()).await;
            assert!(child.wait().await.unwrap().success());
        });
    });
}

#[test]
fn they_are_operations_of_the_ring_where_there_is_one() {
    let _alone = alone();
    on_each_backend(|backend| {
        let rt = net_support::current_thread(backend);
        rt.block_on(async {
            let (mut near, mut far) = UnixStream::pair().unwrap();
            let before = rt.metrics().total_ring_operations();
            near.write_all_owned("x").await.0.unwrap();
            far.read_owned(vec![0; 1]).await.0.unwrap();
            let (mut sender, mut receiver) = pipe::pipe().unwrap();
            sender.write_all_owned("x").await.0.unwrap();
            receiver.read_owned(vec![0; 1]).await.0.unwrap();
            let done = rt.metrics().total_ring_operations() - before;
            let expected = if backend == IoBackend::Uring { 4 } else { 0 };
            assert_eq!(done, expected);
        });
    });
}

#[test]
fn a_write_to_nobody_fails_and_kills_nobody() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (mut near, far) = UnixStream::pair().unwrap();
            drop(far);
            let (written, buffer) = near.write_owned(b"x".to_vec()).await;
            assert_eq!(written.unwrap_err().kind(), ErrorKind::BrokenPipe);
            assert_eq!(buffer, b"x");
            let (mut sender, receiver) = pipe::pipe().unwrap();
            drop(receiver);
            let (written, _) = sender.write_owned("x").await;
            assert_eq!(written.unwrap_err().kind(), ErrorKind::BrokenPipe);
        });
    });
}

#[test]
fn a_named_pipe_without_a_sender_has_not_ended() {
    let _alone = alone();
    on_each_runtime(|rt| {
        let name = format!("tress-owned-fifo-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        rt.block_on(async {
            let mut receiver = pipe::OpenOptions::new().open_receiver(&path).unwrap();
            assert!(once(receiver.read_owned(vec![0; 4])).await.is_none());
            let mut sender = pipe::OpenOptions::new().open_sender(&path).unwrap();
            sender.write_all_owned("ping").await.0.unwrap();
            let (read, four) = receiver.read_exact_owned(vec![0; 4]).await;
            read.unwrap();
            assert_eq!(four, b"ping");
        });
        std::fs::remove_file(path).unwrap();
    });
}

/// Waits until the kernel has given back everything.
async fn no_buffer_is_left() {
    while ALIVE.load(Ordering::SeqCst) != 0 {
        yield_now().await;
    }
}

#[test]
fn a_read_that_is_dropped_leaves_nothing() {
    let _alone = alone();
    on_each_runtime_in_turn(|rt| {
        rt.block_on(async {
            let (near, mut far) = connection().await;
            let mut near = Some(near);
            // Registered, and the driver made: what is counted comes after.
            assert!(once(far.read_owned(vec![0; 1])).await.is_none());
            let stream = near.as_mut().unwrap();
            for turns in 0..4 {
                let mut before = None;
                for _ in 0..20 {
                    let mut read = Box::pin(far.read_owned(Counted::new(vec![0; 64])));
                    poll_fn(|cx| {
                        assert!(read.as_mut().poll(cx).is_pending());
                        Poll::Ready(())
                    })
                    .await;
                    for _ in 0..turns {
                        yield_now().await;
                    }
                    drop(read);
                    no_buffer_is_left().await;
                    // Sockets: a second worker may make its driver now, and a monitor end.
                    let now = sockets();
                    assert_eq!(now, *before.get_or_insert(now));
                }
            }
            // Nothing had been taken, so nothing is lost.
            stream.write_all(b"still in order").await.unwrap();
            let (read, bytes) = far.read_exact_owned(vec![0; 14]).await;
            read.unwrap();
            assert_eq!(bytes, b"still in order");
            // The stream goes with the operation under way; the peer finds the end.
            assert!(
                once(far.read_owned(Counted::new(vec![0; 64])))
                    .await
                    .is_none()
            );
            drop(far);
            let (read, _) = stream.read_owned(vec![0; 1]).await;
            assert_eq!(read.unwrap(), 0);
            no_buffer_is_left().await;
        });
    });
}

#[test]
fn a_write_that_is_dropped_has_written_a_beginning() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (mut near, mut far) = UnixStream::pair().unwrap();
            // Until there is no room, and the write waits.
            let mut sure = 0;
            loop {
                let write = near.write_owned(Counted::new(vec![7; 50_000]));
                let mut write = Box::pin(write);
                let mut done = None;
                for _ in 0..50 {
                    done = poll_fn(|cx| match write.as_mut().poll(cx) {
                        Poll::Ready(done) => Poll::Ready(Some(done)),
                        Poll::Pending => Poll::Ready(None),
                    })
                    .await;
                    if done.is_some() {
                        break;
                    }
                    yield_now().await;
                }
                match done {
                    Some((written, _)) => sure += written.unwrap(),
                    None => break,
                }
            }
            no_buffer_is_left().await;
            near.shutdown().await.unwrap();
            let mut all = Vec::new();
            far.read_to_end(&mut all).await.unwrap();
            assert!(all.len() >= sure && all.len() <= sure + 50_000);
            assert!(all.iter().all(|&byte| byte == 7));
        });
    });
}

#[test]
fn the_end_of_the_runtime_gives_the_buffer_back() {
    let _alone = alone();
    on_each_backend(|backend| {
        let rt = multi_thread(backend, 2);
        let (near, far) = rt.block_on(async { UnixStream::pair().unwrap() });
        let mut near = near;
        let reading = rt.spawn(async move { near.read_owned(Counted::new(vec![1; 8])).await.0 });
        let (near, _far2) = rt.block_on(async { UnixStream::pair().unwrap() });
        let mut near = near;
        {
            let mut read = pin!(near.read_owned(Counted::new(vec![1; 8])));
            rt.block_on(async {
                poll_fn(|cx| {
                    assert!(read.as_mut().poll(cx).is_pending());
                    Poll::Ready(())
                })
                .await;
                yield_now().await;
            });
            drop(rt);
            let other: Runtime = net_support::current_thread(backend);
            let (result, buffer) = other.block_on(read);
            assert!(tress::runtime::is_shutdown_error(&result.unwrap_err()));
            assert_eq!(buffer.0, [1; 8]);
        }
        let other = net_support::current_thread(backend);
        let (result, _) = other.block_on(near.read_owned(Counted::new(vec![1; 8])));
        assert!(tress::runtime::is_shutdown_error(&result.unwrap_err()));
        drop((near, far, reading));
        assert_eq!(ALIVE.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn the_standard_library_gets_a_stream_that_is_still_read() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            for _ in 0..20 {
                let (mut near, mut far) = UnixStream::pair().unwrap();
                let read = once(near.read_owned(Counted::new(vec![0; 8]))).await;
                assert!(read.is_none());
                // The operation may have the socket for a while longer.
                let near = UnixStream::from_std(near.into_std().unwrap());
                let mut near = near.unwrap();
                no_buffer_is_left().await;
                far.write_all(b"x").await.unwrap();
                assert_eq!(near.read_u8().await.unwrap(), b'x');
                drop(far);
                assert_eq!(near.read(&mut [0; 1]).await.unwrap(), 0);
            }
        });
    });
}

#[test]
fn files_have_them_too() {
    let _alone = alone();
    let name = format!("tress-owned-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    on_each_runtime(|rt| {
        rt.block_on(async {
            let mut options = tress::fs::OpenOptions::new();
            options.read(true).write(true).create(true).truncate(true);
            let mut file = options.open(&path).await.unwrap();
            let bytes: Vec<u8> = (0..300_000_u32).map(|i| (i / 3) as u8).collect();
            let (written, bytes) = file.write_all_owned(bytes).await;
            written.unwrap();
            // Together with the other ways, in order.
            file.write_all(b"and ").await.unwrap();
            file.write_all_owned("so on").await.0.unwrap();
            file.seek(SeekFrom::Start(0)).await.unwrap();
            let mut ten = [0; 10];
            file.read_exact(&mut ten).await.unwrap();
            let (read, rest) = file.read_exact_owned(vec![0; 299_990]).await;
            read.unwrap();
            assert!(ten == bytes[..10] && rest == bytes[10..]);
            // Dropped or not, a read moves the position only when it is returned.
            let dropped = once(file.read_owned(vec![0; 2])).await;
            let taken = dropped.map_or(0, |(read, _)| read.unwrap());
            let (read, rest) = file.read_exact_owned(vec![0; 9 - taken]).await;
            read.unwrap();
            assert_eq!(rest, &b"and so on"[taken..]);
            let (read, _) = file.read_owned(vec![0; 1]).await;
            assert_eq!(read.unwrap(), 0);
        });
    });
    std::fs::remove_file(path).unwrap();
}

/// Whatever a file is told after a write was dropped comes when that has ended, and moves nothing any more.
#[test]
fn a_file_waits_for_a_write_that_was_dropped() {
    let _alone = alone();
    let name = format!("tress-owned-dropped-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    on_each_runtime(|rt| {
        rt.block_on(async {
            for round in 0..30 {
                let mut file = tress::fs::File::create(&path).await.unwrap();
                {
                    let bytes = Counted::new(vec![b'x'; 4 << 20]);
                    let mut write = pin!(file.write_owned(bytes));
                    for _ in 0..round {
                        let written = poll_fn(|cx| Poll::Ready(write.as_mut().poll(cx))).await;
                        if written.is_ready() {
                            break;
                        }
                        yield_now().await;
                    }
                }
                file.seek(SeekFrom::Start(3)).await.unwrap();
                no_buffer_is_left().await;
                assert_eq!(file.stream_position().await.unwrap(), 3);
            }
        });
    });
    std::fs::remove_file(path).unwrap();
}

/// It can be asked for a position, but not be read at one.
#[test]
fn an_event_counter_is_read() {
    use std::io::Write;
    use std::os::fd::{FromRawFd, OwnedFd};
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            // SAFETY: a new descriptor, or -1, which is none.
            let counter = unsafe { libc::eventfd(0, 0) };
            assert!(counter >= 0);
            // SAFETY: nobody else has it.
            let counter = unsafe { OwnedFd::from_raw_fd(counter) };
            let mut add = std::fs::File::from(counter.try_clone().unwrap());
            let mut file = tress::fs::File::from(counter);
            let mut read = pin!(file.read_owned(vec![0; 8]));
            poll_fn(|cx| {
                assert!(read.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            add.write_all(&7_u64.to_ne_bytes()).unwrap();
            let (n, value) = read.await;
            assert_eq!((n.unwrap(), &value[..]), (8, &7_u64.to_ne_bytes()[..]));
        });
    });
}

/// Numbers that look random, the same in every run of a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % sides
    }
}

/// Polls a few times and drops the future. What it returned, if it was ready.
async fn a_few_times<F: Future>(times: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = times;
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

/// A byte that depends on its place.
fn byte(at: usize) -> u8 {
    (at ^ (at >> 8) ^ (at >> 16)) as u8
}

/// Writes so many bytes in pieces, now and then.
fn write_in_pieces(mut to: impl std::io::Write, total: usize, mut dice: Dice) {
    let mut written = 0;
    while written < total {
        let n = (1 + dice.roll(40)).min(total - written);
        let piece: Vec<u8> = (written..written + n).map(byte).collect();
        to.write_all(&piece).unwrap();
        written += n;
        for _ in 0..dice.roll(30) {
            std::thread::yield_now();
        }
    }
}

/// One read of a random kind, dropped at a random poll. Returns what it took; `None` at the end.
async fn some_read(stream: &mut TcpStream, dice: &mut Dice) -> Option<Vec<u8>> {
    let room = 1 + dice.roll(48);
    let times = dice.roll(4);
    let mut bytes = vec![0; room];
    let read = match dice.roll(8) {
        0..=3 => match a_few_times(times, stream.read_owned(Vec::with_capacity(room))).await {
            Some((read, filled)) => {
                bytes = filled;
                Some(read.unwrap())
            }
            None => None,
        },
        4 => a_few_times(times, stream.read(&mut bytes))
            .await
            .map(Result::unwrap),
        5 => match stream.try_read(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            read => Some(read.unwrap()),
        },
        6 => {
            let peeked = a_few_times(times, stream.peek(&mut bytes)).await;
            let peeked = peeked.map(Result::unwrap);
            if let Some(n @ 1..) = peeked {
                // The next read brings the same.
                let mut same = vec![0; n];
                stream.read_exact(&mut same).await.unwrap();
                assert_eq!(same, bytes[..n]);
            }
            peeked
        }
        _ => {
            stream.readable().await.unwrap();
            match stream.try_read(&mut bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => None,
                read => Some(read.unwrap()),
            }
        }
    };
    match read {
        Some(0) => None,
        Some(n) => Some(bytes[..n].to_vec()),
        None => {
            yield_now().await;
            Some(Vec::new())
        }
    }
}

/// Reads are dropped at every point while the peer writes when it likes: no byte is lost, none comes twice.
#[test]
fn dropped_reads_lose_nothing() {
    let _alone = alone();
    const TOTAL: usize = 20_000;
    on_each_runtime(|rt| {
        for seed in 1..4 {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            peer.set_nodelay(true).unwrap();
            let near = listener.accept().unwrap().0;
            let dice = Dice(seed + 0x9E37_79B9_7F4A_7C15);
            let writer = std::thread::spawn(move || write_in_pieces(peer, TOTAL, dice));
            rt.block_on(async {
                let mut dice = Dice(seed + 77);
                let mut stream = TcpStream::from_std(near).unwrap();
                let mut at = 0;
                loop {
                    // Some of the time on another worker than the one that has begun the last read.
                    let is_moved = dice.roll(4) == 0;
                    let round = async move {
                        let read = some_read(&mut stream, &mut dice).await;
                        (stream, dice, read)
                    };
                    let read;
                    (stream, dice, read) = if is_moved {
                        tress::spawn(round).await.unwrap()
                    } else {
                        round.await
                    };
                    let Some(bytes) = read else { break };
                    for got in &bytes {
                        assert_eq!(*got, byte(at), "seed {seed}, at {at}");
                        at += 1;
                    }
                }
                assert_eq!(at, TOTAL, "seed {seed}");
            });
            writer.join().unwrap();
        }
    });
}

/// What a dropped read has received is there for every kind of read, and for nobody who would miss it.
#[test]
fn what_a_dropped_read_has_received_is_read_next() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            for kind in 0..8 {
                let (mut near, mut far) = connection().await;
                let mut read = Box::pin(near.read_owned(vec![0; 16]));
                assert!(once(&mut read).await.is_none());
                far.write_all(b"early").await.unwrap();
                // The kernel has had time for it: the answer comes after it.
                for _ in 0..2 {
                    let (mut one, mut other) = connection().await;
                    one.write_all(b"x").await.unwrap();
                    other.read_owned(vec![0; 1]).await.0.unwrap();
                }
                drop(read);
                far.write_all(b"-late").await.unwrap();
                let mut bytes = vec![0; 3];
                match kind {
                    0 => near.read_exact(&mut bytes).await.map(drop).unwrap(),
                    1 => {
                        let read;
                        (read, bytes) = near.read_exact_owned(bytes).await;
                        read.unwrap();
                    }
                    2 => {
                        near.readable().await.unwrap();
                        assert_eq!(near.try_read(&mut bytes).unwrap(), 3);
                    }
                    3 => {
                        near.readable().await.unwrap();
                        let mut parts = [std::io::IoSliceMut::new(&mut bytes)];
                        assert_eq!(near.try_read_vectored(&mut parts).unwrap(), 3);
                    }
                    4 => {
                        assert_eq!(near.peek(&mut bytes).await.unwrap(), 3);
                        assert_eq!(bytes, b"ear");
                        near.read_exact(&mut bytes).await.map(drop).unwrap();
                    }
                    5 => {
                        let (mut reader, _writer) = near.split();
                        reader.read_exact(&mut bytes).await.map(drop).unwrap();
                    }
                    6 => {
                        // Foreign code sees the rest only once that is read.
                        if near.try_io(Interest::READABLE, || Ok(())).is_err() {
                            near.read_exact(&mut [0; 5]).await.unwrap();
                        }
                        let tried = near.try_io(Interest::READABLE, || Ok(()));
                        let is_refused = |error: std::io::Error| error.kind() == ErrorKind::Other;
                        assert!(!tried.is_err_and(is_refused));
                        continue;
                    }
                    _ => {
                        let mut pooled = Pooled::new(near);
                        let mut all = Vec::new();
                        while all.len() < 10 {
                            all.extend_from_slice(&pooled.read_pooled().await.unwrap().unwrap());
                        }
                        assert_eq!(all, b"early-late");
                        continue;
                    }
                }
                assert_eq!(bytes, b"ear", "kind {kind}");
                let mut rest = vec![0; 7];
                near.read_exact(&mut rest).await.unwrap();
                assert_eq!(rest, b"ly-late", "kind {kind}");
                near.into_std().unwrap();
            }
        });
    });
}

/// A stream of the standard library has no place for what a dropped read has received: it has all, or there is none.
#[test]
fn the_standard_library_gets_a_whole_stream_or_none() {
    let _alone = alone();
    on_each_runtime(|rt| {
        for turns in 0..4 {
            rt.block_on(async {
                let (mut near, mut far) = connection().await;
                let mut read = Box::pin(near.read_owned(vec![0; 16]));
                assert!(once(&mut read).await.is_none());
                far.write_all(b"early").await.unwrap();
                for _ in 0..turns {
                    yield_now().await;
                }
                drop(read);
                far.write_all(b"-late").await.unwrap();
                match near.into_std() {
                    Ok(mut std) => {
                        std.set_nonblocking(false).unwrap();
                        let mut bytes = [0; 10];
                        std::io::Read::read_exact(&mut std, &mut bytes).unwrap();
                        assert_eq!(&bytes, b"early-late");
                    }
                    Err(error) => assert!(error.to_string().contains("read them first")),
                }
            });
        }
    });
}
