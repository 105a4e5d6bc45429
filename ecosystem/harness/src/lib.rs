//! What the tests of this workspace share: runtimes that must end with nothing left, watchdogs, peers to kill, servers.

mod left;
mod peer;
mod server;

pub use left::Left;
pub use peer::{Peer, announce, serve_as_peer};
pub use server::{Kind, Server};

use std::fs;
use std::future::Future;
use std::io::Write;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;

const _: () = tokio::__tress;

/// Maximum time of a test on one runtime. The process is aborted after it.
const WATCHDOG: Duration = Duration::from_secs(90);
/// Maximum time of one step of a test: a reply, an error, a reconnection, the end of the tasks.
pub const BOUND: Duration = Duration::from_secs(10);

/// Runs a test on a multi-thread runtime, then on a current-thread runtime.
///
/// # Panics
/// Panics if the runtime is not tress's or uses another I/O backend than `TRESS_IO` names, if tasks are left
/// `BOUND` after the end of the test, or if the runtime leaves threads or descriptors behind. Aborts the process
/// after `WATCHDOG`.
pub fn run<F: Future<Output = ()>>(test: impl Fn() -> F) {
    let multi = || {
        Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
    };
    let current = || Builder::new_current_thread().enable_all().build();
    run_on("multi-thread", multi, &test);
    run_on("current-thread", current, &test);
}

fn run_on<F: Future<Output = ()>>(
    flavour: &str,
    build: impl Fn() -> std::io::Result<Runtime>,
    test: impl Fn() -> F,
) {
    println!("on a {flavour} runtime");
    // What a process opens once and keeps belongs to no runtime in particular.
    drop(build().expect("a runtime"));
    let before = Left::now();
    let runtime = build().expect("a runtime");
    let dog = Watchdog::start(runtime.handle().clone());
    runtime.block_on(async {
        assert_tress().await;
        test().await;
        assert_drained().await;
    });
    drop(runtime);
    drop(dog);
    before.assert_no_more();
}

/// Asserts facts that only tress has.
async fn assert_tress() {
    let name = std::any::type_name::<tokio::runtime::Handle>();
    assert!(
        name.starts_with("tress::"),
        "the runtime's handle is a {name}"
    );
    // A worker makes its driver when a source first waits there.
    let (mut near, mut far) = UnixStream::pair().expect("a pair of sockets");
    let waits = tokio::spawn(async move { far.read_u8().await });
    let drivers = |name: &str| descriptors().filter(|to| to.contains(name)).count();
    let readiness = std::env::var("TRESS_IO").is_ok_and(|backend| backend == "readiness");
    let wanted = if readiness { "eventpoll" } else { "io_uring" };
    let made = tokio::time::timeout(BOUND, async {
        while drivers(wanted) == 0 {
            tokio::task::yield_now().await;
        }
    });
    let all = || descriptors().collect::<Vec<_>>();
    assert!(made.await.is_ok(), "no {wanted} among {:?}", all());
    assert!(
        !readiness || drivers("io_uring") == 0,
        "a ring among {:?}",
        all()
    );
    near.write_u8(7).await.expect("a byte");
    assert_eq!(waits.await.expect("a task").expect("a byte"), 7);
}

/// Returns what each descriptor of the process refers to.
fn descriptors() -> impl Iterator<Item = String> {
    let links = fs::read_dir("/proc/self/fd").expect("/proc/self/fd");
    links.filter_map(|link| Some(fs::read_link(link.ok()?.path()).ok()?.display().to_string()))
}

async fn assert_drained() {
    let handle = Handle::current();
    let wait = async {
        while handle.metrics().num_alive_tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    if tokio::time::timeout(BOUND, wait).await.is_err() {
        let mut dump = Vec::new();
        handle.debug_dump(&mut dump).expect("a dump in memory");
        panic!(
            "tasks are left running:\n{}",
            String::from_utf8_lossy(&dump)
        );
    }
}

/// Waits for a future for at most `BOUND`.
///
/// # Panics
/// Panics with the name of the step if it takes longer.
pub async fn within<T>(step: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(BOUND, future).await {
        Ok(output) => output,
        Err(_) => panic!("{step}: nothing after {BOUND:?}"),
    }
}

/// Spawns `count` tasks and returns their outputs in the order of their ends.
///
/// # Panics
/// Panics if a task has panicked, or if the last one has not ended after three times `BOUND`.
pub async fn crowd<T, F>(count: usize, one: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut set = JoinSet::new();
    for n in 0..count {
        set.spawn(one(n));
    }
    tokio::time::timeout(3 * BOUND, set.join_all())
        .await
        .unwrap_or_else(|_| panic!("a crowd of {count} has not ended after {:?}", 3 * BOUND))
}

/// Aborts the process, after a dump of the runtime, unless it is dropped in time.
struct Watchdog {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Watchdog {
    fn start(handle: Handle) -> Watchdog {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            if stopped.recv_timeout(WATCHDOG) == Err(mpsc::RecvTimeoutError::Timeout) {
                let mut err = std::io::stderr();
                // The process ends in any case, with or without its last words.
                let _ = writeln!(err, "watchdog: the test runs for more than {WATCHDOG:?}");
                let _ = handle.debug_dump(&mut err);
                std::process::abort();
            }
        });
        Watchdog {
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It ends by returning or by aborting the process.
            let _ = thread.join();
        }
    }
}
