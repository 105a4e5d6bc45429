//! Runtimes that end while there is I/O under way: every wait ends, nothing stays.
#![cfg(all(not(loom), target_os = "linux"))]

mod net_support;

use net_support::kinds::{Kind, Tcp, Unix};
use net_support::{Name, alone, current_thread, descriptors, multi_thread, on_each_backend, until};
use std::fs::{File, OpenOptions};
use std::future::Future;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::UdpSocket;
use tress::runtime::{IoBackend, Runtime};

const EACH: usize = 50;
/// Longer than anything here takes that ends at all.
const PATIENCE: Duration = Duration::from_secs(60);

/// Counts its own end.
struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// Runs a test with a runtime of each kind, and sees that every descriptor is closed afterwards.
fn on_each_kind_of_runtime(test: impl Fn(Runtime, IoBackend)) {
    on_each_backend(|backend| {
        let before = descriptors();
        test(current_thread(backend), backend);
        until(|| descriptors() == before);
        test(multi_thread(backend, 2), backend);
        // The monitor's thread may be the last to let go.
        until(|| descriptors() == before);
    });
}

/// Runs what is ready until `condition` holds.
fn drive(rt: &Runtime, condition: impl Fn() -> bool) {
    rt.block_on(async {
        while !condition() {
            tress::task::yield_now().await;
        }
    });
}

/// Spawns a task that never ends by itself.
fn spawn_waiting<T>(ended: &Arc<AtomicUsize>, future: impl Future<Output = T> + Send + 'static) {
    let guard = Guard(ended.clone());
    drop(tress::spawn(async move {
        let _guard = guard;
        future.await;
        panic!("a wait ended");
    }));
}

/// Tasks that wait in every way a stream can be waited for; returns how many.
async fn waiters<K: Kind>(ended: &Arc<AtomicUsize>) -> usize {
    for _ in 0..EACH {
        let listener = K::bind().await;
        spawn_waiting(ended, async move { K::accept(&listener).await.map(drop) });
        let (mut near, far) = K::pair().await;
        spawn_waiting(ended, async move {
            let _silent = far;
            near.read(&mut [0; 8]).await
        });
        let (near, mut far) = K::pair().await;
        spawn_waiting(ended, async move {
            let _deaf = near;
            while far.write_all(&[7; 64 * 1024]).await.is_ok() {}
        });
    }
    3 * EACH
}

#[test]
fn waiting_tasks_are_dropped_with_their_descriptors() {
    let _alone = alone();
    on_each_kind_of_runtime(|rt, _| {
        let ended = Arc::new(AtomicUsize::new(0));
        let waiting = rt.block_on(async {
            let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            spawn_waiting(&ended, async move { socket.recv(&mut [0; 8]).await });
            1 + waiters::<Tcp>(&ended).await + waiters::<Unix>(&ended).await
        });
        let metrics = rt.metrics();
        // What waits is registered.
        drive(&rt, || metrics.io().registered >= waiting);
        assert_eq!(metrics.num_alive_tasks(), waiting);
        let report = rt.shutdown_timeout(PATIENCE);
        assert!(report.is_clean(), "{report}");
        assert_eq!(ended.load(Ordering::Acquire), waiting);
        let io = metrics.io();
        assert_eq!((io.registered, io.in_flight, io.orphaned), (0, 0, 0));
    });
}

/// A pipe by its name, with nothing in it.
struct Fifo(Name);

impl Fifo {
    fn new() -> Fifo {
        let name = Name::new();
        let path = std::ffi::CString::new(name.0.to_str().unwrap()).unwrap();
        // SAFETY: the path ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        Fifo(name)
    }

    /// Opens both ends, which does not block.
    fn open(&self) -> File {
        let mut options = OpenOptions::new();
        options.read(true).write(true).open(&self.0.0).unwrap()
    }
}

/// How many threads of the kernel's do operations for this process.
fn kernels_threads() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let names = threads.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("comm")));
    // One that has ended meanwhile has no name.
    names
        .flatten()
        .filter(|name| name.starts_with("iou-wrk"))
        .count()
}

/// Operations of the kernel, on the ring or on threads, that do not end by themselves.
#[test]
fn operations_under_way_are_cancelled_or_reported() {
    let _alone = alone();
    on_each_kind_of_runtime(|rt, backend| {
        let fifos: Vec<Fifo> = (0..EACH).map(|_| Fifo::new()).collect();
        let mut writers: Vec<File> = fifos.iter().map(Fifo::open).collect();
        let ended = Arc::new(AtomicUsize::new(0));
        for fifo in &fifos {
            let guard = Guard(ended.clone());
            let mut file = tress::fs::File::from_std(fifo.open());
            drop(rt.spawn(async move {
                let _guard = guard;
                file.read(&mut [0; 8]).await.unwrap();
            }));
        }
        let metrics = rt.metrics();
        let on_ring = backend == IoBackend::Uring;
        drive(&rt, || match on_ring {
            true => metrics.io().in_flight == EACH,
            false => metrics.num_blocking_threads() == EACH && metrics.blocking_queue_depth() == 0,
        });
        if on_ring {
            assert_eq!(kernels_threads(), 0, "pipes are polled");
            let report = rt.shutdown_timeout(PATIENCE);
            assert!(report.is_clean(), "{report}");
        } else {
            // Threads in system calls cannot be stopped: they are reported, and end by themselves.
            let report = rt.shutdown_timeout(Duration::from_millis(1));
            assert_eq!((report.blocking, report.operations), (EACH, 0), "{report}");
            for writer in &mut writers {
                writer.write_all(b"at last").unwrap();
            }
        }
        assert_eq!(ended.load(Ordering::Acquire), EACH);
        until(|| metrics.num_blocking_threads() == 0);
        let io = metrics.io();
        assert_eq!((io.registered, io.in_flight, io.orphaned), (0, 0, 0));
    });
}

/// Dropped by who waits for them, one by one, while the runtime goes on.
#[test]
fn operations_that_are_dropped_end() {
    let _alone = alone();
    on_each_backend(|backend| {
        if backend != IoBackend::Uring {
            return;
        }
        let rt = multi_thread(backend, 2);
        let metrics = rt.metrics();
        let fifo = Fifo::new();
        let _writer = fifo.open();
        for _ in 0..EACH {
            let mut file = tress::fs::File::from_std(fifo.open());
            let reading = rt.spawn(async move { file.read(&mut [0; 8]).await });
            until(|| metrics.io().in_flight == 1);
            reading.abort();
            assert!(rt.block_on(reading).unwrap_err().is_cancelled());
            until(|| metrics.io().in_flight == 0);
        }
        assert_eq!(metrics.io().orphaned, 0);
    });
}

/// A file whose read was dropped has its operation with the first runtime, which ends without waiting: the
/// file goes on in another one.
#[test]
fn a_file_outlives_the_runtime_that_read_it() {
    let _alone = alone();
    on_each_kind_of_runtime(|rt, _| {
        let fifo = Fifo::new();
        let mut writer = fifo.open();
        let mut file = tress::fs::File::from_std(fifo.open());
        rt.block_on(async {
            let mut buf = [0; 8];
            let mut reading = std::pin::pin!(file.read(&mut buf));
            assert!(tress::future::poll_once(reading.as_mut()).await.is_none());
        });
        rt.shutdown_background();
        let other = tress::runtime::Runtime::new().unwrap();
        writer.write_all(b"later").unwrap();
        let mut buf = [0; 5];
        other.block_on(file.read_exact(&mut buf)).unwrap();
        assert_eq!(&buf, b"later");
    });
}
