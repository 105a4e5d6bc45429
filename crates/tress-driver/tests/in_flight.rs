//! Operations whose futures go before the kernel is done, at every point; and too many at once.
#![cfg(target_os = "linux")]

mod harness;

use harness::{Count, backends, block_on, descriptors, driver, park_until};
use std::fs::File;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;
use tress_driver::{Buffer, BufferMut, Choice, Config, Driver, Gone, Submission, op};

/// The tests of this file count descriptors: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn ring() -> Option<Arc<Driver>> {
    backends()
        .iter()
        .any(|&(_, choice)| choice == Choice::Uring)
        .then(|| driver(Choice::Uring))
}

/// A buffer with guards on both sides, which checks them when it is dropped, and counts.
struct Canary {
    memory: Box<[u8; 96]>,
    dropped: Arc<AtomicUsize>,
}

impl Canary {
    const GUARD: [u8; 32] = [0xA5; 32];

    fn new(dropped: &Arc<AtomicUsize>) -> Canary {
        Canary {
            memory: Box::new([0xA5; 96]),
            dropped: dropped.clone(),
        }
    }
}

// SAFETY: the middle of a heap block, which does not move.
unsafe impl Buffer for Canary {
    fn pointer(&self) -> *const u8 {
        self.memory[32..].as_ptr()
    }

    fn filled(&self) -> usize {
        32
    }
}

// SAFETY: as above; 32 bytes are writable.
unsafe impl BufferMut for Canary {
    fn pointer_mut(&mut self) -> *mut u8 {
        self.memory[32..].as_mut_ptr()
    }

    fn room(&self) -> usize {
        32
    }

    unsafe fn set_filled(&mut self, _: usize) {}
}

impl Drop for Canary {
    fn drop(&mut self) {
        assert_eq!(self.memory[..32], Canary::GUARD);
        assert_eq!(self.memory[64..], Canary::GUARD);
        self.dropped.fetch_add(1, Ordering::AcqRel);
    }
}

fn poll<O: op::Operation>(submission: &mut Submission<O>, cx: &mut Context<'_>) -> Poll<O::Output> {
    Pin::new(submission).poll(cx)
}

/// Turns until the kernel has let go of everything.
fn settle(driver: &Driver) {
    park_until(driver, || driver.metrics().in_flight == 0);
    assert_eq!(driver.metrics().orphaned, 0);
}

#[test]
fn a_receive_is_dropped_at_every_point() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let before = descriptors();
    let dropped = Arc::new(AtomicUsize::new(0));
    for step in 0..6 {
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut receive = driver.submit(op::Recv::new(near, Canary::new(&dropped), 0));
        let (_, waker) = Count::new();
        let mut cx = Context::from_waker(&waker);
        if step >= 1 {
            assert!(poll(&mut receive, &mut cx).is_pending());
        }
        if step >= 2 {
            driver.turn().unwrap(); // the kernel has it
        }
        if step >= 3 {
            far.write_all(b"bytes").unwrap(); // and is done with it
        }
        if step >= 4 {
            park_until(&driver, || driver.metrics().in_flight == 0); // and has said so
        }
        if step >= 5 {
            assert!(poll(&mut receive, &mut cx).is_ready()); // and it was heard
        }
        if step < 4 {
            assert_eq!(dropped.load(Ordering::Acquire), step);
        }
        drop(receive);
        // On the thread that has handed it over it is over at once: nothing is left for a later turn.
        let metrics = driver.metrics();
        assert_eq!((metrics.orphaned, metrics.in_flight), (0, 0));
        assert_eq!(dropped.load(Ordering::Acquire), step + 1);
    }
    assert_eq!(descriptors(), before);
}

#[test]
fn descriptors_made_for_nobody_are_closed() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let before = descriptors();
    for round in 0..50 {
        let path = c"/dev/null".to_owned();
        let opening = driver.submit(op::OpenAt::new(None, path, libc::O_RDONLY, 0));
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let address = listener.local_addr().unwrap();
        let accepting = driver.submit(op::Accept::new(listener));
        let client = TcpStream::connect(address).unwrap();
        match round % 3 {
            0 => {}
            1 => drop(driver.turn().unwrap()),
            _ => park_until(&driver, || driver.metrics().in_flight == 0),
        }
        drop((opening, accepting, client));
        settle(&driver);
    }
    assert_eq!(descriptors(), before);
}

#[test]
fn dropping_on_other_threads_while_the_owner_is_parked() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let dropped = Arc::new(AtomicUsize::new(0));
    let done = AtomicBool::new(false);
    let (threads, rounds) = (3, 300);
    thread::scope(|scope| {
        let owner = scope.spawn(|| park_until(&driver, || done.load(Ordering::Acquire)));
        let others: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    for round in 0..rounds {
                        let (near, mut far) = UnixStream::pair().unwrap();
                        let receive = driver.submit(op::Recv::new(near, Canary::new(&dropped), 0));
                        if round % 2 == 0 {
                            far.write_all(b"x").unwrap();
                        }
                        if round % 3 == 0 {
                            thread::yield_now();
                        }
                        drop(receive);
                    }
                })
            })
            .collect();
        for other in others {
            other.join().unwrap();
        }
        done.store(true, Ordering::Release);
        driver.unpark();
        owner.join().unwrap();
    });
    settle(&driver);
    assert_eq!(dropped.load(Ordering::Acquire), threads * rounds);
}

#[test]
fn an_operation_started_elsewhere_reaches_a_parked_owner() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let owner = scope.spawn(|| park_until(&driver, || done.load(Ordering::Acquire)));
        for _ in 0..500 {
            let (count, waker) = Count::new();
            let mut cx = Context::from_waker(&waker);
            let zero = File::open("/dev/zero").unwrap();
            let mut read = driver.submit(op::Read::next(zero, Vec::with_capacity(16)));
            let mut result = poll(&mut read, &mut cx);
            while result.is_pending() {
                while count.get() == 0 {
                    thread::yield_now();
                }
                result = poll(&mut read, &mut cx);
            }
            assert!(matches!(result, Poll::Ready((Ok(16), _))));
        }
        done.store(true, Ordering::Release);
        driver.unpark();
        owner.join().unwrap();
    });
}

/// The kernel cancels what a thread has submitted when the thread exits: that is not what was asked for.
#[test]
fn the_end_of_the_submitting_thread_cancels_nothing() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let (near, mut far) = UnixStream::pair().unwrap();
    let receive = thread::scope(|scope| {
        scope
            .spawn(|| {
                let receive = driver.submit(op::Recv::new(near, vec![0; 8], 0));
                driver.turn().unwrap();
                receive
            })
            .join()
            .unwrap()
    });
    far.write_all(b"late").unwrap();
    let (result, buffer) = block_on(&driver, receive);
    assert_eq!((result.unwrap(), &buffer[..4]), (4, &b"late"[..]));
}

/// A file system may say the same, and then it is asked for a few times only. What waits on a socket goes on,
/// however many threads come and go.
#[test]
fn a_file_that_is_cancelled_again_and_again_says_so() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    // A thread hands it over and goes. Something comes of which the kernel cannot tell that thread any more, and
    // is taken away again.
    let cancel = |from: &mut dyn Read, to: &mut dyn Write| {
        let other = driver.clone();
        thread::spawn(move || other.turn().map(drop))
            .join()
            .unwrap()
            .unwrap();
        let before = driver.metrics().events;
        to.write_all(b"x").unwrap();
        from.read_exact(&mut [0]).unwrap();
        park_until(&driver, || driver.metrics().events > before);
    };
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let (mut reader, mut writer) = io::pipe().unwrap();
    let mut read = driver.submit(op::Read::next(reader.try_clone().unwrap(), vec![0; 8]));
    let mut times = 0;
    let (result, _) = loop {
        if let Poll::Ready(read) = poll(&mut read, &mut cx) {
            break read;
        }
        times += 1;
        assert!(times < 100, "for ever");
        cancel(&mut reader, &mut writer);
    };
    let error = result.unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
    assert!(!Gone::is_in(&error));

    let (mut near, mut far) = UnixStream::pair().unwrap();
    let mut receive = driver.submit(op::Recv::new(near.try_clone().unwrap(), vec![0; 8], 0));
    for _ in 0..2 * times {
        cancel(&mut near, &mut far);
        assert!(poll(&mut receive, &mut cx).is_pending());
    }
    far.write_all(b"late").unwrap();
    let (result, buffer) = block_on(&driver, receive);
    assert_eq!((result.unwrap(), &buffer[..4]), (4, &b"late"[..]));
}

#[test]
fn more_operations_than_the_ring_has_room_for() {
    let _alone = ALONE.lock().unwrap();
    let made = Driver::new(Config::new().backend(Choice::Uring).entries(4));
    let Ok(driver) = made.map(Arc::new) else {
        return;
    };
    let (count, waker) = Count::new();
    let mut cx = Context::from_waker(&waker);
    let total = 1_000;
    let mut reads: Vec<_> = (0..total)
        .map(|_| {
            let zero = File::open("/dev/zero").unwrap();
            driver.submit(op::Read::next(zero, Vec::with_capacity(4)))
        })
        .collect();
    for read in &mut reads {
        assert!(poll(read, &mut cx).is_pending());
    }
    assert_eq!(driver.metrics().in_flight, total);
    park_until(&driver, || count.get() == total);
    for read in &mut reads {
        assert!(matches!(poll(read, &mut cx), Poll::Ready((Ok(4), _))));
    }
    settle(&driver);
}

/// All results at once, many more than the completion queue holds.
#[test]
fn results_that_overflow_are_not_lost() {
    let _alone = ALONE.lock().unwrap();
    let made = Driver::new(Config::new().backend(Choice::Uring).entries(2));
    let Ok(driver) = made.map(Arc::new) else {
        return;
    };
    let (count, waker) = Count::new();
    let mut cx = Context::from_waker(&waker);
    let total = 200;
    let (mut writer, reader) = {
        let (reader, writer) = io::pipe().unwrap();
        (writer, Arc::new(reader))
    };
    let mut polls: Vec<_> = (0..total)
        .map(|_| driver.submit(op::Poll::new(reader.clone(), libc::POLLIN as u32)))
        .collect();
    for wait in &mut polls {
        assert!(poll(wait, &mut cx).is_pending());
    }
    driver.turn().unwrap();
    writer.write_all(b"x").unwrap();
    park_until(&driver, || count.get() == total);
    for wait in &mut polls {
        assert!(matches!(poll(wait, &mut cx), Poll::Ready((Ok(_), _))));
    }
    settle(&driver);
}

#[test]
fn closing_ends_what_is_under_way() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let dropped = Arc::new(AtomicUsize::new(0));
    let (near, _far) = UnixStream::pair().unwrap();
    let near = Arc::new(near);
    let mut receives: Vec<_> = (0..20)
        .map(|_| driver.submit(op::Recv::new(near.clone(), Canary::new(&dropped), 0)))
        .collect();
    driver.turn().unwrap();
    drop(receives.split_off(10));
    let report = driver.close(Duration::from_secs(10));
    // Those that were dropped were over before.
    assert_eq!((report.cancelled, report.remaining), (10, 0));
    for receive in receives {
        let (result, _) = block_on(&driver, receive);
        assert!(Gone::is_in(&result.unwrap_err()));
    }
    let (result, _) = block_on(
        &driver,
        driver.submit(op::Recv::new(near, Canary::new(&dropped), 0)),
    );
    assert!(Gone::is_in(&result.unwrap_err()));
    assert_eq!(driver.metrics().in_flight, 0);
    assert_eq!(dropped.load(Ordering::Acquire), 21);
}

/// The owner parks again and again while another thread closes the driver: both get through.
#[test]
fn closing_gets_past_a_parked_owner() {
    let _alone = ALONE.lock().unwrap();
    for _ in 0..50 {
        let Some(driver) = ring() else { return };
        let dropped = Arc::new(AtomicUsize::new(0));
        let done = AtomicBool::new(false);
        let (near, _far) = UnixStream::pair().unwrap();
        let receive = driver.submit(op::Recv::new(near, Canary::new(&dropped), 0));
        thread::scope(|scope| {
            let owner = scope.spawn(|| park_until(&driver, || done.load(Ordering::Acquire)));
            // For ever: it would hang here.
            let report = driver.close(Duration::MAX);
            assert_eq!((report.cancelled, report.remaining), (1, 0));
            done.store(true, Ordering::Release);
            driver.unpark();
            owner.join().unwrap();
        });
        let (result, _) = block_on(&driver, receive);
        assert!(Gone::is_in(&result.unwrap_err()));
        assert_eq!(dropped.load(Ordering::Acquire), 1);
    }
}

/// A helper takes results while another thread closes the driver. The last one may go between the closer's
/// look at what is left and its turn at the selector: then there is nothing to wait for any more.
#[test]
fn closing_hears_of_results_that_others_take() {
    let _alone = ALONE.lock().unwrap();
    for _ in 0..500 {
        let Some(driver) = ring() else { return };
        let dropped = Arc::new(AtomicUsize::new(0));
        let done = AtomicBool::new(false);
        let (near, _far) = UnixStream::pair().unwrap();
        let receive = driver.submit(op::Recv::new(near, Canary::new(&dropped), 0));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    driver.try_adopt().unwrap();
                }
            });
            // For ever: it would hang here.
            let report = driver.close(Duration::MAX);
            assert_eq!((report.cancelled, report.remaining), (1, 0));
            done.store(true, Ordering::Release);
        });
        let (result, _) = block_on(&driver, receive);
        assert!(Gone::is_in(&result.unwrap_err()));
        assert_eq!(dropped.load(Ordering::Acquire), 1);
    }
}

#[test]
fn a_driver_that_goes_takes_its_orphans_along() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    drop(driver);
    let before = descriptors();
    let Some(driver) = ring() else { return };
    let dropped = Arc::new(AtomicUsize::new(0));
    let (near, _far) = UnixStream::pair().unwrap();
    let near = Arc::new(near);
    for handed_over in [false, true] {
        let receive = driver.submit(op::Recv::new(near.clone(), Canary::new(&dropped), 0));
        if handed_over {
            driver.turn().unwrap();
        }
        drop(receive);
    }
    drop((driver, near, _far));
    assert_eq!(dropped.load(Ordering::Acquire), 2);
    assert_eq!(descriptors(), before);
}

/// How many results the only ring of this process has brought so far, fetched or not.
fn results() -> u64 {
    let is_ring = |path: &std::path::Path| {
        std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().contains("[io_uring]"))
    };
    let fds = std::fs::read_dir("/proc/self/fd").unwrap();
    let ring = fds.map(|fd| fd.unwrap()).find(|fd| is_ring(&fd.path()));
    let name = ring.expect("there is a ring").file_name();
    let info = format!("/proc/self/fdinfo/{}", name.to_string_lossy());
    let info = std::fs::read_to_string(info).unwrap();
    let tail = info.lines().find_map(|line| line.strip_prefix("CqTail:"));
    tail.map_or(u64::MAX, |tail| tail.trim().parse().unwrap())
}

/// One operation stays with the kernel, which hears of nothing from the thread that drops the driver. What the
/// others have opened is closed all the same.
#[test]
fn a_driver_that_cannot_end_one_operation_undoes_the_others() {
    const OPENED: u64 = 20;
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let path = std::env::temp_dir().join(format!("tress-undone-{}", std::process::id()));
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a string that ends.
    assert_eq!(0, unsafe { libc::mkfifo(name.as_ptr(), 0o600) });
    let with_driver = descriptors();
    let (near, far) = UnixStream::pair().unwrap();
    let receive = driver.submit(op::Recv::new(near, vec![0; 8], 0));
    let opens: Vec<_> = (0..OPENED)
        .map(|_| driver.submit(op::OpenAt::new(None, name.clone(), libc::O_RDONLY, 0)))
        .collect();
    let before = results();
    driver.turn().unwrap();
    // Opens all the others, and their results wait to be taken.
    let writer = File::options().write(true).open(&path).unwrap();
    while results() < before.saturating_add(OPENED) {
        thread::yield_now();
    }
    assert_eq!(driver.metrics().in_flight as u64, OPENED + 1);
    let calls = [libc::SYS_io_uring_enter, libc::SYS_io_uring_register];
    let refusals = calls.map(|call| harness::denial(call, libc::EPERM));
    thread::spawn(move || {
        for mut refuse in refusals {
            refuse().unwrap();
        }
        drop((receive, opens, driver));
    })
    .join()
    .unwrap();
    drop((writer, far));
    std::fs::remove_file(&path).unwrap();
    // With another driver in the place of the first, and the socket that the kernel has.
    let driver = harness::driver(Choice::Uring);
    assert_eq!(descriptors(), with_driver + 1);
    drop(driver);
}

#[test]
fn a_helper_submits_and_reaps_for_a_stuck_owner() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let (near, mut far) = UnixStream::pair().unwrap();
    let mut receive = driver.submit(op::Recv::new(near, vec![0; 8], 0));
    let (count, waker) = Count::new();
    let mut cx = Context::from_waker(&waker);
    assert!(poll(&mut receive, &mut cx).is_pending());
    // The owner, this thread, is stuck in the join below.
    thread::scope(|scope| {
        scope
            .spawn(|| {
                driver.try_adopt().unwrap().unwrap();
                far.write_all(b"x").unwrap();
                while count.get() == 0 {
                    driver.try_adopt().unwrap();
                    thread::yield_now();
                }
            })
            .join()
            .unwrap();
    });
    assert!(matches!(
        poll(&mut receive, &mut cx),
        Poll::Ready((Ok(1), _))
    ));
}

/// Operations submitted by the owner, reaped by a helper while the owner sleeps in the kernel elsewhere.
#[test]
fn a_helper_reaps_what_a_sleeping_owner_has_submitted() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let (near, mut far) = UnixStream::pair().unwrap();
    let mut receive = driver.submit(op::Recv::new(near, vec![0; 8], 0));
    driver.turn().unwrap();
    let (count, waker) = Count::new();
    let mut cx = Context::from_waker(&waker);
    assert!(poll(&mut receive, &mut cx).is_pending());
    let (mut wake, mut sleep) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            far.write_all(b"x").unwrap();
            while count.get() == 0 {
                driver.try_adopt().unwrap();
                thread::yield_now();
            }
            wake.write_all(b"x").unwrap();
        });
        // Stuck in a system call that knows nothing of the driver.
        sleep.read_exact(&mut [0]).unwrap();
    });
    assert!(matches!(
        poll(&mut receive, &mut cx),
        Poll::Ready((Ok(1), _))
    ));
}

/// The kernel finishes an operation on the thread that has submitted it; if that one never enters the
/// kernel, the next interrupt does it.
#[test]
fn a_helper_reaps_what_a_spinning_owner_has_submitted() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let (near, mut far) = UnixStream::pair().unwrap();
    let mut receive = driver.submit(op::Recv::new(near, vec![0; 8], 0));
    driver.turn().unwrap();
    let (count, waker) = Count::new();
    let mut cx = Context::from_waker(&waker);
    assert!(poll(&mut receive, &mut cx).is_pending());
    thread::scope(|scope| {
        scope.spawn(|| {
            far.write_all(b"x").unwrap();
            while count.get() == 0 {
                driver.try_adopt().unwrap();
                thread::yield_now();
            }
        });
        while count.get() == 0 {
            std::hint::spin_loop();
        }
    });
    assert!(matches!(
        poll(&mut receive, &mut cx),
        Poll::Ready((Ok(1), _))
    ));
}
