//! Descriptors and threads that cannot be had: an error, at once, and all is well when there are some again.

use super::{once, runtimes, soon};
use crate::child;
use std::fs::File;
use std::io;
use std::process::Stdio;
use std::sync::mpsc;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::unix::pipe;
use tress::net::{TcpListener, TcpStream, UdpSocket, UnixStream, lookup_host};
use tress::process::Command;
use tress::runtime::Builder;
use tress::signal::unix::{SignalKind, signal};

/// Takes all descriptors that there are, and few are left to be had, until dropped.
fn take_all() -> Vec<File> {
    // SAFETY: a limit is set, of a process that is the test's own.
    unsafe {
        let limit = libc::rlimit {
            rlim_cur: 100,
            rlim_max: 100,
        };
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
    }
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[track_caller]
fn is_shortage<T>(result: io::Result<T>) {
    let error = result.err().expect("there is no descriptor for it");
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE), "{error}");
}

#[test]
fn without_descriptors() {
    let Some(case) = child::case() else {
        return (0..runtimes().len()).for_each(|number| {
            child::passes(
                "streams::shortage::without_descriptors",
                &number.to_string(),
            );
        });
    };
    // One in a process: places for listeners are used again.
    if let Some(runtime) = runtimes().into_iter().nth(case.parse().unwrap()) {
        runtime.block_on(async {
            let mut cat = Command::new("cat");
            cat.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut waited_for = cat.spawn().unwrap();
            let dropped = cat.spawn().unwrap();
            let dropped_id = dropped.id().unwrap() as libc::pid_t;
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            // Its driver is there from now on.
            assert!(once(listener.accept()).await.is_none());
            let all = take_all();
            is_shortage(cat.spawn());
            is_shortage(cat.output().await);
            is_shortage(signal(SignalKind::user_defined1()));
            is_shortage(pipe::pipe());
            is_shortage(UnixStream::pair());
            is_shortage(TcpStream::connect(address).await);
            is_shortage(TcpListener::bind("127.0.0.1:0").await);
            is_shortage(UdpSocket::bind("127.0.0.1:0").await);
            is_shortage(tress::fs::read_dir("/").await);
            is_shortage(tress::fs::File::open("/dev/null").await);
            // Those that are there go on, and one that cannot be waited for now can be later.
            let stdin = waited_for.stdin.take();
            let mut output = waited_for.stdout.take().unwrap();
            let mut stdin = stdin.unwrap();
            soon(stdin.write_all(b"through")).await.unwrap();
            let mut bytes = [0; 7];
            soon(output.read_exact(&mut bytes)).await.unwrap();
            assert_eq!(&bytes, b"through");
            is_shortage(soon(waited_for.wait()).await);
            // Its pipes are closed, so it ends; nobody can be told of that yet.
            drop(dropped);
            drop(all);
            drop((stdin, output));
            assert!(soon(waited_for.wait()).await.unwrap().success());
            assert!(soon(cat.output()).await.unwrap().status.success());
            // The other one is reaped.
            let gone = async {
                loop {
                    drop(cat.spawn().unwrap().wait_with_output().await);
                    // SAFETY: asks whether there is such a process, or a zombie.
                    if unsafe { libc::kill(dropped_id, 0) } == -1 {
                        return;
                    }
                }
            };
            soon(gone).await;
            let mut listening = signal(SignalKind::user_defined1()).unwrap();
            assert!(once(listening.recv()).await.is_none());
            let (connected, accepted) =
                tress::join!(TcpStream::connect(address), listener.accept());
            assert!(connected.is_ok() && accepted.is_ok());
        });
    }
}

/// Names are looked up by the blocking pool, which may have no room.
#[test]
fn a_name_cannot_be_looked_up_by_a_full_pool() {
    let mut builder = Builder::new_current_thread();
    builder.max_blocking_threads(1).blocking_queue_bound(1);
    let runtime = builder.enable_all().build().unwrap();
    runtime.block_on(async {
        let (release, held) = mpsc::channel::<()>();
        let (begun, has_begun) = mpsc::channel();
        let busy = tress::task::spawn_blocking(move || {
            begun.send(()).unwrap();
            held.recv()
        });
        has_begun.recv().unwrap();
        let queued = tress::task::spawn_blocking(|| ());
        assert!(lookup_host("localhost:80").await.is_err());
        assert!(TcpStream::connect(("localhost", 80)).await.is_err());
        assert!(lookup_host("127.0.0.1:80").await.is_ok());
        drop(release);
        assert!(busy.await.unwrap().is_err());
        queued.await.unwrap();
        assert!(lookup_host("localhost:80").await.is_ok());
    });
}
