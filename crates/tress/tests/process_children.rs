//! Child processes: ends, pipes, kills, and that none stays as a zombie.
#![cfg(all(unix, not(loom)))]

use std::future::Future;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::process::Command;
use tress::runtime::{Builder, IoBackend, Runtime};

fn runtimes() -> Vec<Runtime> {
    [IoBackend::Auto, IoBackend::Readiness]
        .into_iter()
        .flat_map(|backend| {
            [Builder::new_current_thread(), Builder::new_multi_thread()]
                .map(|mut builder| builder.enable_all().io_backend(backend).build().unwrap())
        })
        .collect()
}

/// Is there a process of that number, dead or alive?
fn exists(pid: u32) -> bool {
    // SAFETY: no signal is sent.
    unsafe { libc::kill(pid as i32, 0) == 0 }
}

/// Waits without a runtime.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Runs a test by itself: others have children too.
fn in_a_process_of_its_own(name: &str, test: impl FnOnce()) {
    const CHILD: &str = "TRESS_TEST_PROCESS_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return test();
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let status = child.args(["--exact", name]).env(CHILD, "1").status();
    assert!(status.unwrap().success());
}

#[test]
fn statuses_are_right() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut child = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
            let pid = child.id().unwrap();
            // A dropped wait takes nothing.
            let _ = pin!(child.wait()).poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!(child.wait().await.unwrap().code(), Some(7));
            assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(7));
            assert!(child.id().is_none() && !exists(pid));

            let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
            assert!(child.try_wait().unwrap().is_none());
            child.kill().await.unwrap();
            assert_eq!(child.wait().await.unwrap().signal(), Some(libc::SIGKILL));
            child.start_kill().unwrap();

            let error = Command::new("/no/such/program").spawn().unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        });
    }
}

#[test]
fn bytes_go_through_a_child() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut cat = Command::new("cat");
            let mut child = cat
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            let mut stdout = child.stdout.take().unwrap();
            let bytes: Vec<u8> = (0..1_000_000_u32).map(|n| n as u8).collect();
            let write = async {
                stdin.write_all(&bytes).await.unwrap();
                drop(stdin);
            };
            let mut back = Vec::new();
            let read = async { stdout.read_to_end(&mut back).await.unwrap() };
            tress::join!(write, read);
            assert!(back == bytes);
            assert!(child.wait().await.unwrap().success());
        });
    }
}

#[test]
fn a_pipeline() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut echo = Command::new("echo");
            let mut first = echo.arg("one two").stdout(Stdio::piped()).spawn().unwrap();
            let pipe: Stdio = first.stdout.take().unwrap().try_into().unwrap();
            let output = Command::new("wc")
                .arg("-w")
                .stdin(pipe)
                .output()
                .await
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "2");
            assert!(first.wait().await.unwrap().success());
        });
    }
}

/// Dropped children are reaped: killed ones at once, others when they end.
#[test]
fn no_zombies() {
    for runtime in runtimes() {
        let pid = runtime.block_on(async {
            let mut sleep = Command::new("sleep");
            let command = sleep.arg("1000").kill_on_drop(true).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let pid = child.id().unwrap();
            let mut stdout = child.stdout.take().unwrap();
            drop(child);
            // The pipe ends with the child.
            assert_eq!(stdout.read(&mut [0; 8]).await.unwrap(), 0);
            while exists(pid) {
                tress::task::yield_now().await;
            }

            let mut cat = Command::new("cat");
            let mut child = cat.stdin(Stdio::piped()).spawn().unwrap();
            let pid = child.id().unwrap();
            let stdin = child.stdin.take().unwrap();
            drop(child);
            assert!(exists(pid));
            drop(stdin);
            while exists(pid) {
                tress::task::yield_now().await;
            }

            // One whose runtime ends first.
            let child = Command::new("sleep").arg("1000").spawn().unwrap();
            child.id().unwrap()
        });
        drop(runtime);
        // SAFETY: a child of ours.
        unsafe { libc::kill(pid as i32, libc::SIGKILL) };
        let runtime = Runtime::new().unwrap();
        while exists(pid) {
            // Each new child looks after those that were left.
            runtime.block_on(async { Command::new("true").status().await.unwrap() });
        }
    }
}

#[test]
fn a_child_is_waited_for_in_another_runtime() {
    let runtimes = runtimes();
    for pair in runtimes.windows(2) {
        let mut child = pair[0].block_on(async {
            let mut sleep = Command::new("sleep");
            let mut child = sleep.arg("1000").kill_on_drop(true).spawn().unwrap();
            let _ = pin!(child.wait()).poll(&mut Context::from_waker(Waker::noop()));
            child
        });
        pair[1].block_on(async {
            child.start_kill().unwrap();
            assert_eq!(child.wait().await.unwrap().signal(), Some(libc::SIGKILL));
        });
    }
}

/// The runtime where it was spawned brings the news.
#[test]
fn a_child_is_waited_for_outside_of_a_runtime() {
    for runtime in runtimes() {
        let entered = runtime.enter();
        let mut cat = Command::new("cat");
        let mut child = cat.stdin(Stdio::piped()).spawn().unwrap();
        drop(entered);
        let (done, is_done) = tress::sync::oneshot::channel();
        std::thread::scope(|scope| {
            // For the kind of runtime that has no threads of its own.
            scope.spawn(|| runtime.block_on(is_done));
            assert!(block_on(child.wait()).unwrap().success());
            done.send(()).unwrap();
        });
    }
}

/// Without anybody to bring the news there is an error, and the child can still be waited for.
#[test]
fn a_child_outlives_the_runtime_that_spawned_it() {
    for (first, second) in runtimes().into_iter().zip(runtimes()) {
        let mut child = first.block_on(async {
            let mut sleep = Command::new("sleep");
            let mut child = sleep.arg("1000").kill_on_drop(true).spawn().unwrap();
            let _ = pin!(child.wait()).poll(&mut Context::from_waker(Waker::noop()));
            child
        });
        drop(first);
        assert!(block_on(child.wait()).is_err());
        second.block_on(async {
            child.start_kill().unwrap();
            assert_eq!(child.wait().await.unwrap().signal(), Some(libc::SIGKILL));
        });
    }
}

/// Nothing else happens to children meanwhile that could reap it.
#[test]
fn a_child_that_is_dropped_outside_of_its_runtime_is_reaped() {
    in_a_process_of_its_own(
        "a_child_that_is_dropped_outside_of_its_runtime_is_reaped",
        || {
            for runtime in runtimes() {
                let (child, stdin) = runtime.block_on(async {
                    let mut cat = Command::new("cat");
                    let mut child = cat.stdin(Stdio::piped()).spawn().unwrap();
                    let stdin = child.stdin.take().unwrap();
                    (child, stdin)
                });
                let pid = child.id().unwrap();
                drop(child);
                assert!(exists(pid));
                drop(stdin);
                while exists(pid) {
                    runtime.block_on(tress::task::yield_now());
                }
            }
        },
    );
}

/// The runtime that waits for it is not driven; another one sees to it with its next child.
#[test]
fn a_zombie_of_an_idle_runtime_is_reaped_by_another() {
    for backend in [IoBackend::Auto, IoBackend::Readiness] {
        let mut builder = Builder::new_current_thread();
        let idle = builder.enable_all().io_backend(backend).build().unwrap();
        let (pid, stdin) = idle.block_on(async {
            let mut cat = Command::new("cat");
            let mut child = cat.stdin(Stdio::piped()).spawn().unwrap();
            let stdin = child.stdin.take().unwrap();
            let pid = child.id().unwrap();
            drop(child);
            // It waits.
            tress::task::yield_now().await;
            (pid, stdin)
        });
        drop(stdin);
        let other = Runtime::new().unwrap();
        while exists(pid) {
            other.block_on(async { Command::new("true").status().await.unwrap() });
        }
        // It finds nothing left to do.
        while idle.metrics().num_alive_tasks() > 0 {
            idle.block_on(tress::task::yield_now());
        }
    }
}
