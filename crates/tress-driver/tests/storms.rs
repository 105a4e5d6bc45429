//! Registering, waiting and dropping from many threads at once; nothing is lost or left behind.
#![cfg(target_os = "linux")]

mod harness;

use harness::{Count, backends, descriptors, on_each_backend, park_until};
use std::fs::File;
use std::future::Future;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Context;
use std::thread;
use tress_driver::{Backend, Choice, Config, Direction, Driver, Interest, Ready, op};
use tress_sys::{FastRand, Parker};

/// The tests of this file count descriptors: one at a time.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn pair() -> (UnixStream, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    (near, far)
}

#[test]
fn registrations_come_and_go_on_many_threads() {
    let _alone = ALONE.lock().unwrap();
    let before = descriptors();
    on_each_backend(|driver| {
        let (threads, rounds) = (4, 2_000);
        let finished = AtomicUsize::new(0);
        thread::scope(|scope| {
            for seed in 0..threads {
                let (driver, finished) = (&driver, &finished);
                scope.spawn(move || {
                    for round in 0..rounds {
                        let (mut near, mut far) = pair();
                        let io = driver
                            .register(&mut near, Interest::READABLE | Interest::WRITABLE)
                            .unwrap();
                        let (count, waker) = Count::new();
                        let mut cx = Context::from_waker(&waker);
                        let mut waiting = Box::pin(io.readiness(Interest::READABLE));
                        assert!(waiting.as_mut().poll(&mut cx).is_pending());
                        match (round + seed) % 4 {
                            // Gone before anything happens.
                            0 => {}
                            // An event is on its way while it goes.
                            1 => far.write_all(b"x").unwrap(),
                            // The peer goes first.
                            2 => drop(far),
                            // Waits for the event.
                            _ => {
                                far.write_all(b"x").unwrap();
                                while count.get() == 0 {
                                    thread::yield_now();
                                }
                                assert!(waiting.as_mut().poll(&mut cx).is_ready());
                                assert_eq!((&near).read(&mut [0; 8]).unwrap(), 1);
                            }
                        }
                        drop(waiting);
                        drop(io);
                    }
                    finished.fetch_add(1, Ordering::AcqRel);
                    driver.unpark();
                });
            }
            park_until(&driver, || finished.load(Ordering::Acquire) == threads);
        });
        assert_eq!(driver.metrics().registered, 0);
        assert!(!driver.has_sources());
    });
    assert_eq!(descriptors(), before);
}

/// The slot of a source that went is used by the next one at once: events of the old one, whose
/// descriptor number is the same as well, must not be seen.
#[test]
fn late_events_do_not_reach_the_next_source() {
    let _alone = ALONE.lock().unwrap();
    on_each_backend(|driver| {
        for _ in 0..2_000 {
            let (mut near, mut far) = pair();
            let io = driver.register(&mut near, Interest::READABLE).unwrap();
            far.write_all(b"x").unwrap();
            drop(io);
            let (mut quiet, _peer) = pair();
            let next = driver.register(&mut quiet, Interest::READABLE).unwrap();
            driver.turn().unwrap();
            assert!(next.ready_now(Interest::READABLE).is_none());
        }
    });
}

#[test]
fn dropped_on_another_thread_while_the_owner_dispatches() {
    let _alone = ALONE.lock().unwrap();
    on_each_backend(|driver| {
        let stop = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| park_until(&driver, || stop.load(Ordering::Acquire) == 1));
            for _ in 0..2_000 {
                let (mut near, mut far) = pair();
                let io = Arc::new(driver.register(&mut near, Interest::READABLE).unwrap());
                let (_, waker) = Count::new();
                let mut cx = Context::from_waker(&waker);
                assert!(io.poll_ready(&mut cx, Direction::Read).is_pending());
                far.write_all(b"x").unwrap();
                io.assume_ready(Ready::WRITABLE);
                drop(io);
            }
            stop.store(1, Ordering::Release);
            driver.unpark();
        });
        assert_eq!(driver.metrics().registered, 0);
    });
}

#[test]
fn drivers_leave_no_descriptors() {
    let _alone = ALONE.lock().unwrap();
    let before = descriptors();
    on_each_backend(|driver| {
        let (mut near, _far) = pair();
        let io = driver.register(&mut near, Interest::READABLE).unwrap();
        // The registration keeps the driver alive.
        drop(driver);
        assert!(io.ready_now(Interest::READABLE).is_none());
        drop(io);
    });
    assert_eq!(descriptors(), before);
}

/// An owner that sleeps in its driver, away from it or on its word, as chance has it. One thread unparks it and one submits
/// operations, each of which waits for an answer before it goes on: an unpark or an operation that is left lying hangs
/// this. Only an owner that may be without I/O is unparked for operations too.
#[test]
fn an_owner_that_changes_places_is_always_found() {
    let _alone = ALONE.lock().unwrap();
    for (name, choice) in backends() {
        for is_without_io in [false, true] {
            eprintln!("backend {name}, may be without I/O: {is_without_io}");
            let parker = Arc::new(Parker::new());
            let made = Driver::with_parker(Config::new().backend(choice), parker.clone());
            let driver = Arc::new(made.unwrap());
            move_about(&driver, &parker, is_without_io);
        }
    }
}

fn move_about(driver: &Arc<Driver>, parker: &Parker, is_without_io: bool) {
    const ROUNDS: usize = 3_000;
    let keeper = harness::driver(Choice::Auto);
    let (asked, answered) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (completed, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let unpark = || {
        if parker.notify() {
            driver.ring_bell();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| park_until(&keeper, || is_over.load(Ordering::Acquire)));
        scope.spawn(|| {
            let random = FastRand::new(7);
            let mut loan = None;
            while !is_over.load(Ordering::Acquire) {
                match random.next_u32() % 3 {
                    0 if is_without_io && !driver.has_sources() => {
                        parker.park(None);
                    }
                    1 => {
                        loan = None;
                        driver.park(None).unwrap();
                    }
                    _ => {
                        loan.get_or_insert_with(|| driver.lend(&keeper).unwrap());
                        driver.park_away(None);
                    }
                }
                answered.store(asked.load(Ordering::Acquire), Ordering::Release);
            }
        });
        let submitter = scope.spawn(|| {
            let zeros = Arc::new(File::open("/dev/zero").unwrap());
            let (count, waker) = Count::new();
            let mut cx = Context::from_waker(&waker);
            for _ in 0..ROUNDS {
                if driver.backend() == Backend::Uring {
                    let mut read = driver.submit(op::Read::at(zeros.clone(), vec![1; 8], 0));
                    if is_without_io {
                        unpark();
                    }
                    loop {
                        let woken = count.get();
                        if Pin::new(&mut read).poll(&mut cx).is_ready() {
                            break;
                        }
                        while count.get() == woken {
                            thread::yield_now();
                        }
                    }
                }
                completed.fetch_add(1, Ordering::AcqRel);
            }
        });
        for round in 1..=ROUNDS {
            asked.store(round, Ordering::Release);
            unpark();
            while answered.load(Ordering::Acquire) != round {
                thread::yield_now();
            }
            // No more unparks until an operation has come through without them.
            let before = completed.load(Ordering::Acquire);
            while completed.load(Ordering::Acquire) == before && before != ROUNDS {
                thread::yield_now();
            }
        }
        submitter.join().unwrap();
        is_over.store(true, Ordering::Release);
        unpark();
        keeper.unpark();
    });
}
