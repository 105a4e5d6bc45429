//! Descriptors of the users' own types, which panic or use the driver when they are asked for their number.
#![cfg(target_os = "linux")]

mod harness;

use harness::{backends, block_on, driver, park_until};
use std::fs::File;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;
use tress_driver::{AcceptMulti, Choice, Driver, Interest, op};

fn ring() -> Option<Arc<Driver>> {
    backends()
        .iter()
        .any(|&(_, choice)| choice == Choice::Uring)
        .then(|| driver(Choice::Uring))
}

type Asked = dyn Fn(usize) + Send + Sync;

/// A descriptor that calls this when it is asked, with how often that was the case before.
struct Strange {
    fd: OwnedFd,
    times: Arc<AtomicUsize>,
    asked: Box<Asked>,
}

impl Strange {
    fn new(fd: impl Into<OwnedFd>, asked: impl Fn(usize) + Send + Sync + 'static) -> Strange {
        Strange {
            fd: fd.into(),
            times: Arc::default(),
            asked: Box::new(asked),
        }
    }
}

impl AsFd for Strange {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (self.asked)(self.times.fetch_add(1, Ordering::SeqCst));
        self.fd.as_fd()
    }
}

/// Does it, which is not to hang, on a thread that is left alone if it does.
fn soon(f: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let doing = thread::spawn(move || {
        f();
        done.send(()).unwrap();
    });
    match is_done.recv_timeout(Duration::from_secs(60)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("hangs"),
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => doing.join().unwrap(),
    }
}

/// What makes trouble when it is asked for the second time.
fn troubles(driver: &Arc<Driver>) -> Vec<Box<Asked>> {
    let driver = driver.clone();
    let reads = move |times| {
        if times > 0 {
            let file = File::open("/proc/self/comm").unwrap();
            drop(driver.submit(op::Read::at(file, Vec::with_capacity(8), 0)));
        }
    };
    let panics = |times| assert_eq!(times, 0, "a descriptor's own trouble");
    vec![Box::new(reads), Box::new(panics)]
}

/// The thread that has handed an operation over ends: what it waits for makes the kernel give it back, and it is
/// handed over again.
#[test]
fn a_descriptor_is_asked_once_though_its_operation_begins_again() {
    let Some(driver) = ring() else { return };
    soon(move || {
        for trouble in troubles(&driver) {
            let (near, mut far) = UnixStream::pair().unwrap();
            let strange = Strange::new(near, trouble);
            let times = strange.times.clone();
            let before = driver.metrics().events;
            let receive = driver.submit(op::Recv::new(strange, Vec::with_capacity(8), 0));
            let ends = driver.clone();
            thread::spawn(move || ends.turn().unwrap()).join().unwrap();
            far.write_all(b"x").unwrap();
            let (received, _) = block_on(&driver, receive);
            assert_eq!(received.unwrap(), 1);
            assert_eq!(times.load(Ordering::SeqCst), 1);
            assert!(driver.metrics().events > before + 1, "given back, and done");
        }
    });
}

/// As above, for one that goes on.
#[test]
fn a_descriptor_is_asked_once_though_its_operation_goes_on_elsewhere() {
    let Some(driver) = ring() else { return };
    soon(move || {
        for trouble in troubles(&driver) {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let mut accepting =
                driver.submit_multi(AcceptMulti::new(Strange::new(listener, trouble)));
            let mut cx = Context::from_waker(Waker::noop());
            let Poll::Pending = accepting.poll_next(&mut cx) else {
                eprintln!("without multishot operations");
                return;
            };
            let ends = driver.clone();
            thread::spawn(move || ends.turn().unwrap()).join().unwrap();
            for _ in 0..3 {
                let _client = TcpStream::connect(address).unwrap();
                block_on(&driver, accepting.next()).unwrap().unwrap();
            }
        }
    });
}

/// A descriptor that panics when it is asked first: the panic is the caller's, and nothing has begun.
#[test]
fn a_descriptor_panics_when_its_operation_begins() {
    let Some(driver) = ring() else { return };
    soon(move || {
        let panics = |times| assert_ne!(times, 0, "a descriptor's own trouble");
        let (near, _far) = UnixStream::pair().unwrap();
        let strange = Strange::new(near, panics);
        let begun = catch_unwind(AssertUnwindSafe(|| {
            drop(driver.submit(op::Recv::new(strange, Vec::with_capacity(8), 0)));
        }));
        assert!(begun.is_err());

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _client = TcpStream::connect(address).unwrap();
        let mut accepting = driver.submit_multi(AcceptMulti::new(Strange::new(listener, panics)));
        let begun = catch_unwind(AssertUnwindSafe(|| block_on(&driver, accepting.next())));
        match begun {
            Ok(refused) => assert!(refused.unwrap().is_err(), "without multishot operations"),
            // As if it had not been asked.
            Err(_) => drop(block_on(&driver, accepting.next()).unwrap().unwrap()),
        }
        drop(accepting);
        park_until(&driver, || driver.metrics().in_flight == 0);
        assert_eq!(driver.metrics().orphaned, 0);
    });
}

/// The same for a source.
#[test]
fn a_source_panics_when_it_is_registered() {
    for (_, choice) in backends() {
        let driver = driver(choice);
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let mut strange = Raw(Strange::new(near, |times| {
            assert_ne!(times, 0, "a descriptor's own trouble");
        }));
        let before = driver.metrics().registered;
        let registered = catch_unwind(AssertUnwindSafe(|| {
            drop(driver.register(&mut strange, Interest::READABLE));
        }));
        assert!(registered.is_err());
        assert_eq!(driver.metrics().registered, before);
        let registration = driver.register(&mut strange, Interest::READABLE).unwrap();
        far.write_all(b"x").unwrap();
        block_on(&driver, registration.readiness(Interest::READABLE)).unwrap();
    }
}

struct Raw(Strange);

impl AsRawFd for Raw {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}
