//! Runtimes that end while the kernel has an operation that does not let itself be cancelled.
#![cfg(all(not(loom), target_os = "linux"))]

#[path = "fs_support/fault.rs"]
mod fault;

use fault::{Faults, Page};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tress::fs::File;
use tress::io::AsyncReadOwned;
use tress::runtime::{Builder, IoBackend, Runtime};
use tress::task::JoinHandle;

/// A file that is neither in the page cache nor can be waited for: the ring's own threads read it.
const NAME: &str = "/proc/self/status";
/// Nothing that happens here ends by itself, so it does not matter how long it is.
const PATIENCE: Duration = Duration::from_millis(20);

/// A runtime with a read under way that has met the page.
struct Stuck {
    runtime: Runtime,
    reading: JoinHandle<()>,
    faults: Faults,
    descriptor: i32,
    name: PathBuf,
    dropped: Arc<AtomicUsize>,
}

/// Runs a test with a runtime of each kind, if there are rings and such pages.
fn on_each_kind_of_runtime(test: impl Fn(Stuck)) {
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        builder.enable_all().io_backend(IoBackend::Uring);
        let dropped = Arc::new(AtomicUsize::new(0));
        let (page, faults) = match Page::new(&dropped) {
            Ok(made) => made,
            Err(error) => return eprintln!("SKIPPED: no faults of our own: {error}"),
        };
        let Ok(runtime) = builder.build() else {
            return eprintln!("SKIPPED: there is no ring");
        };
        // By another runtime, so that this one has no thread that blocks.
        let other = Builder::new_current_thread().build().unwrap();
        let mut file = other.block_on(File::open(NAME)).unwrap();
        let descriptor = file.as_raw_fd();
        let name = open_file(descriptor).unwrap();
        let reading = runtime.spawn(async move {
            let (result, _) = file.read_owned(page).await;
            panic!("the read ended: {result:?}");
        });
        let asked = thread::scope(|scope| {
            let asked = scope.spawn(|| faults.wait());
            runtime.block_on(async {
                while !asked.is_finished() {
                    tress::task::yield_now().await;
                }
            });
            asked.join()
        });
        asked.unwrap();
        let io = runtime.metrics().io();
        assert_eq!((io.in_flight, io.orphaned), (1, 0));
        test(Stuck {
            runtime,
            reading,
            faults,
            descriptor,
            name,
            dropped,
        });
    }
}

/// What the descriptor of that number is, if there is one.
fn open_file(descriptor: i32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()
}

/// The shutdown comes back although the read cannot, reports it, and leaves the kernel what it has until it is done.
#[test]
fn a_read_that_does_not_stop_is_reported_and_keeps_what_it_needs() {
    on_each_kind_of_runtime(|stuck| {
        let lives = || {
            stuck.dropped.load(Ordering::Acquire) == 0
                && open_file(stuck.descriptor).as_ref() == Some(&stuck.name)
        };
        let metrics = stuck.runtime.metrics();
        let report = stuck.runtime.shutdown_timeout(PATIENCE);
        assert_eq!((report.operations, report.blocking), (1, 0), "{report}");
        assert!(report.tasks.is_empty() && !report.is_clean(), "{report}");
        assert!(stuck.reading.is_finished());
        let io = metrics.io();
        assert_eq!((io.in_flight, io.orphaned), (1, 1));
        assert!(lives());

        // Nor does it end with the last of the runtime: now it is nobody's but the kernel's.
        drop((metrics, stuck.reading));
        assert!(lives());

        // Which can still write to it, and then everything goes.
        stuck.faults.serve();
        while stuck.dropped.load(Ordering::Acquire) == 0
            || open_file(stuck.descriptor).as_ref() == Some(&stuck.name)
        {
            thread::yield_now();
        }
    });
}

/// As long as the runtime has time, it waits.
#[test]
fn a_read_that_ends_in_time_is_waited_for() {
    on_each_kind_of_runtime(|stuck| {
        let metrics = stuck.runtime.metrics();
        thread::scope(|scope| {
            let shutdown = scope.spawn(|| stuck.runtime.shutdown_timeout(Duration::MAX));
            // Its future is dropped by the shutdown, which the read outlives.
            while metrics.io().orphaned == 0 {
                thread::yield_now();
            }
            assert_eq!(stuck.dropped.load(Ordering::Acquire), 0);
            assert_eq!(open_file(stuck.descriptor).as_ref(), Some(&stuck.name));
            stuck.faults.serve();
            let report = shutdown.join().unwrap();
            assert!(report.is_clean(), "{report}");
        });
        let io = metrics.io();
        assert_eq!((io.in_flight, io.orphaned), (0, 0));
        assert_eq!(stuck.dropped.load(Ordering::Acquire), 1);
    });
}
