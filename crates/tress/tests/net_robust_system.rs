//! A system that has nothing left, interrupts, or does less than it was asked for.
#![cfg(all(not(loom), target_os = "linux"))]

mod net_support;

use net_support::kinds::{Kind, Tcp, Unix};
use net_support::limit::Everything;
use net_support::{
    Random, alone, descriptors, monitors_are_gone, on_each_backend, on_each_runtime,
    on_each_runtime_in_turn,
};
use std::future::{Future, poll_fn};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::{TcpListener, TcpSocket, UdpSocket};
use tress::runtime::{Builder, Runtime};

fn accept_without_descriptors<K: Kind>(rt: &Runtime) {
    rt.block_on(async {
        let listener = K::bind().await;
        // It is registered, so that its driver is there.
        assert!(once(K::accept(&listener)).await.is_none());
        let client = K::connect_blocking(&K::address(&listener)).unwrap();
        let everything = Everything::take();
        for _ in 0..3 {
            let error = K::accept(&listener).await.map(|_| ()).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        }
        drop(everything);
        // The connection has waited.
        let mut stream = K::accept(&listener).await.unwrap();
        drop(client);
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0);
    });
}

async fn once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    poll_fn(|cx| {
        Poll::Ready(match future.as_mut().poll(cx) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        })
    })
    .await
}

#[test]
fn running_out_of_descriptors_is_survived() {
    let _alone = alone();
    on_each_runtime_in_turn(|rt| {
        accept_without_descriptors::<Tcp>(rt);
        accept_without_descriptors::<Unix>(rt);
    });
}

/// A loop that goes on accepting after an error must not keep a processor busy. By a virtual clock,
/// which goes on only when everything waits: no more than one attempt in ten milliseconds.
#[test]
fn a_listener_without_descriptors_pauses_between_attempts() {
    const ATTEMPTS: u32 = 20;
    const PAUSE: Duration = Duration::from_millis(10);
    let _alone = alone();
    on_each_backend(|backend| {
        monitors_are_gone();
        let mut builder = Builder::new_current_thread();
        builder.enable_all().io_backend(backend).start_paused(true);
        builder.build().unwrap().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            assert!(once(listener.accept()).await.is_none());
            let _client = std::net::TcpStream::connect(address).unwrap();
            let everything = Everything::take();
            let start = tress::time::Instant::now();
            for attempt in 0..ATTEMPTS {
                let accepted = match attempt % 2 {
                    0 => listener.accept().await,
                    _ => poll_fn(|cx| listener.poll_accept(cx)).await,
                };
                let error = accepted.unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
                assert_eq!(start.elapsed(), PAUSE * attempt);
            }
            drop(everything);
            listener.accept().await.unwrap();
            // Then it pauses no more.
            let _client = std::net::TcpStream::connect(address).unwrap();
            let accepted = tress::time::Instant::now();
            listener.accept().await.unwrap();
            assert_eq!(accepted.elapsed(), Duration::ZERO);
        });
    });
}

/// Nothing is left for a worker's driver, which is made when it is first needed: the operation says so,
/// and works when there is room again.
#[test]
fn a_driver_that_cannot_be_made_is_made_later() {
    let _alone = alone();
    on_each_runtime_in_turn(|rt| {
        rt.block_on(async {
            let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let address = socket.local_addr().unwrap();
            let before = descriptors();
            let mut everything = Everything::take();
            for less in [0, 1, 1] {
                // Not enough for all of it: what it has got so far must not be lost.
                everything.give_back(less);
                let error = socket.recv(&mut [0; 4]).await.unwrap_err();
                assert!(error.to_string().contains("of an I/O driver"), "{error}");
            }
            drop(everything);
            assert_eq!(descriptors(), before);
            socket.send_to(b"late", address).await.unwrap();
            let mut text = [0; 4];
            assert_eq!(socket.recv(&mut text).await.unwrap(), 4);
            assert_eq!(&text, b"late");
        });
    });
}

static INTERRUPTIONS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn interrupt(_: libc::c_int) {
    INTERRUPTIONS.fetch_add(1, Ordering::Relaxed);
}

/// Interrupts every thread of the process, again and again, while `f` runs.
fn interrupted(f: impl FnOnce()) {
    // SAFETY: the handler only adds to an atomic number. Without SA_RESTART system calls end early.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = interrupt as *const () as usize;
        let result = libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        assert_eq!(result, 0);
    }
    let stop = AtomicBool::new(false);
    let (before, process) = (INTERRUPTIONS.load(Ordering::Relaxed), std::process::id());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: asks for a number.
            let own = unsafe { libc::gettid() };
            while !stop.load(Ordering::Acquire) {
                for thread in std::fs::read_dir("/proc/self/task").unwrap() {
                    let thread: i32 = thread
                        .unwrap()
                        .file_name()
                        .to_str()
                        .unwrap()
                        .parse()
                        .unwrap();
                    if thread != own {
                        // SAFETY: the signal has a handler; a thread that is gone gets nothing.
                        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) };
                    }
                }
            }
        });
        f();
        stop.store(true, Ordering::Release);
    });
    assert!(INTERRUPTIONS.load(Ordering::Relaxed) > before);
}

/// A bit of everything that makes system calls.
async fn work<K: Kind>() {
    for round in 0..20_u64 {
        let (mut near, far) = K::pair().await;
        let echo = tress::spawn(async move {
            let (mut reader, mut writer) = tress::io::split(far);
            let n = tress::io::copy(&mut reader, &mut writer).await.unwrap();
            writer.shutdown().await.unwrap();
            n
        });
        let sent = vec![round as u8; 300_000];
        let mut received = Vec::new();
        let (mut reader, mut writer) = tress::io::split(&mut near);
        tress::join!(
            async {
                writer.write_all(&sent).await.unwrap();
                writer.shutdown().await.unwrap();
            },
            async {
                reader.read_to_end(&mut received).await.unwrap();
            }
        );
        assert!(received == sent);
        assert_eq!(echo.await.unwrap(), sent.len() as u64);
        tress::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(
            tress::task::spawn_blocking(move || round).await.unwrap(),
            round
        );
    }
    let name = net_support::Name::new();
    tress::fs::write(&name.0, vec![7; 100_000]).await.unwrap();
    assert_eq!(tress::fs::read(&name.0).await.unwrap(), vec![7; 100_000]);
    tress::fs::remove_file(&name.0).await.unwrap();
    let (near, far) = (
        UdpSocket::bind("127.0.0.1:0").await.unwrap(),
        UdpSocket::bind("127.0.0.1:0").await.unwrap(),
    );
    near.connect(far.local_addr().unwrap()).await.unwrap();
    for n in 0..200_u8 {
        let (mut byte, sending) = ([0; 1], [n]);
        let (received, sent) = tress::join!(far.recv(&mut byte), near.send(&sending));
        assert_eq!((received.unwrap(), sent.unwrap(), byte[0]), (1, 1, n));
    }
}

#[test]
fn interruptions_by_signals_are_never_seen() {
    let _alone = alone();
    on_each_runtime(|rt| {
        interrupted(|| {
            rt.block_on(async {
                let tcp = tress::spawn(work::<Tcp>());
                let unix = tress::spawn(work::<Unix>());
                tcp.await.unwrap();
                unix.await.unwrap();
            });
        });
    });
}

/// Gives a socket the smallest buffers that the system allows.
fn make_small(socket: &impl AsRawFd) {
    for option in [libc::SO_SNDBUF, libc::SO_RCVBUF] {
        let least: libc::c_int = 1;
        // SAFETY: the kernel reads one number.
        let result = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const least).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        assert_eq!(result, 0);
    }
}

/// The kernel takes and gives less than it could be: all of it arrives, and the lengths are reported.
async fn short_transfers<S>(mut near: S, mut far: S)
where
    S: AsyncReadExt + AsyncWriteExt + AsRawFd + Unpin + Send + 'static,
{
    const TOTAL: usize = 1 << 20;
    make_small(&near);
    make_small(&far);
    let writer = tress::spawn(async move {
        let bytes: Vec<u8> = (0..TOTAL).map(|n| (n % 251) as u8).collect();
        let (mut at, mut short) = (0, 0);
        while at < TOTAL {
            let n = near.write(&bytes[at..]).await.unwrap();
            assert!(n > 0);
            at += n;
            short += usize::from(at < TOTAL);
        }
        near.shutdown().await.unwrap();
        short
    });
    let mut random = Random(3);
    let mut at = 0;
    let mut buf = vec![0; 10_000];
    loop {
        let room = random.below(buf.len()) + 1;
        let n = far.read(&mut buf[..room]).await.unwrap();
        if n == 0 {
            break;
        }
        assert!(
            buf[..n]
                .iter()
                .enumerate()
                .all(|(i, &byte)| byte == ((at + i) % 251) as u8)
        );
        at += n;
    }
    assert_eq!(at, TOTAL);
    assert!(writer.await.unwrap() > 0, "every write was done at once");
}

#[test]
fn short_reads_and_writes() {
    let _alone = alone();
    on_each_runtime(|rt| {
        rt.block_on(async {
            // Before it listens: a window that was offered is not taken back.
            let socket = TcpSocket::new_v4().unwrap();
            make_small(&socket);
            socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let listener = socket.listen(1).unwrap();
            let near = Tcp::connect(&Tcp::address(&listener)).await.unwrap();
            let far = Tcp::accept(&listener).await.unwrap();
            short_transfers(near, far).await;
            let (near, far) = Unix::pair().await;
            short_transfers(near, far).await;
        });
    });
}
