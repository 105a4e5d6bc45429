//! Parking, unparking and adoption, on every backend.
#![cfg(unix)]

mod harness;

use harness::{Count, on_each_backend, park_until};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::Context;
use std::thread;
use std::time::{Duration, Instant};
use tress_driver::{Direction, Gone, Interest};

#[test]
fn a_timeout_ends_a_park_and_not_before_its_time() {
    on_each_backend(|driver| {
        let begin = Instant::now();
        let patience = Duration::from_millis(3);
        // It may return early for no reason, but not always.
        while begin.elapsed() < patience {
            let turn = driver.park(Some(patience)).unwrap();
            assert!(!turn.unparked);
        }
        let turn = driver.park(Some(Duration::ZERO)).unwrap();
        assert_eq!((turn.events, turn.unparked), (0, false));
    });
}

#[test]
fn tokens_coalesce_and_cost_nothing_while_the_owner_is_awake() {
    on_each_backend(|driver| {
        for _ in 0..100 {
            driver.unpark();
        }
        assert_eq!(driver.metrics().bells, 0);
        assert!(driver.park(None).unwrap().unparked);
        assert!(!driver.park(Some(Duration::ZERO)).unwrap().unparked);
    });
}

#[test]
fn a_turn_leaves_the_token_for_the_park() {
    on_each_backend(|driver| {
        driver.unpark();
        assert!(!driver.turn().unwrap().unparked);
        assert!(driver.park(None).unwrap().unparked);
    });
}

/// Ping-pong of two owners over two drivers' tokens: one lost token hangs it.
#[test]
fn unparks_race_with_parks_and_none_is_lost() {
    on_each_backend(|driver| {
        let rounds = 20_000;
        let to_owner = AtomicUsize::new(0);
        let to_other = AtomicUsize::new(0);
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                for round in 1..=rounds {
                    while to_other.load(Ordering::Acquire) < round {
                        thread::park();
                    }
                    to_owner.store(round, Ordering::Release);
                    driver.unpark();
                }
            });
            for round in 1..=rounds {
                to_other.store(round, Ordering::Release);
                other.thread().unpark();
                while to_owner.load(Ordering::Acquire) < round {
                    driver.park(None).unwrap();
                }
            }
        });
    });
}

#[test]
fn many_unparkers_one_owner() {
    on_each_backend(|driver| {
        let (threads, each) = (4, 5_000);
        let work = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..each {
                        work.fetch_add(1, Ordering::Release);
                        driver.unpark();
                    }
                });
            }
            park_until(&driver, || work.load(Ordering::Acquire) == threads * each);
        });
    });
}

#[test]
fn a_helper_takes_the_turn_of_a_stuck_owner() {
    on_each_backend(|driver| {
        let (mut near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let io = driver.register(&mut near, Interest::READABLE).unwrap();
        let (count, waker) = Count::new();
        let mut cx = Context::from_waker(&waker);
        assert!(io.poll_ready(&mut cx, Direction::Read).is_pending());
        far.write_all(b"x").unwrap();
        // The owner, this thread, is stuck in the join below.
        thread::scope(|scope| {
            scope
                .spawn(|| {
                    while count.get() == 0 {
                        driver.try_adopt().unwrap().expect("nobody is inside");
                    }
                })
                .join()
                .unwrap();
        });
        assert!(driver.metrics().adoptions > 0);
        assert!(io.poll_ready(&mut cx, Direction::Read).is_ready());
    });
}

#[test]
fn a_parked_owner_is_not_adopted() {
    on_each_backend(|driver| {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let owner = scope.spawn(|| {
                park_until(&driver, || stop.load(Ordering::Acquire));
            });
            // Once the owner is inside it stays there until it is unparked.
            while driver.try_adopt().unwrap().is_some() {
                thread::yield_now();
            }
            assert!(driver.try_adopt().unwrap().is_none());
            stop.store(true, Ordering::Release);
            driver.unpark();
            owner.join().unwrap();
        });
    });
}

/// Helpers turn all the time while the owner parks and others unpark it and write: an adopter that
/// took the owner's bell, or an event, with it would hang this.
#[test]
fn helpers_steal_neither_bells_nor_events() {
    on_each_backend(|driver| {
        let rounds = 3_000;
        let (mut near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let io = driver.register(&mut near, Interest::READABLE).unwrap();
        let done = AtomicBool::new(false);
        let start = Barrier::new(3);
        thread::scope(|scope| {
            let helper = scope.spawn(|| {
                start.wait();
                while !done.load(Ordering::Acquire) {
                    driver.try_adopt().unwrap();
                    thread::yield_now();
                }
            });
            let (next, turns) = mpsc::channel();
            scope.spawn(move || {
                for _ in turns {
                    far.write_all(b"x").unwrap();
                }
            });
            scope.spawn(|| {
                start.wait();
                while !done.load(Ordering::Acquire) {
                    driver.unpark();
                    thread::yield_now();
                }
            });
            start.wait();
            for _ in 0..rounds {
                next.send(()).unwrap();
                let mut byte = [0];
                harness::block_on(
                    &driver,
                    io.async_io(Interest::READABLE, || {
                        std::io::Read::read(&mut &near, &mut byte)
                    }),
                )
                .unwrap();
                assert_eq!(&byte, b"x");
            }
            drop(next);
            done.store(true, Ordering::Release);
            helper.join().unwrap();
        });
    });
}

#[test]
fn sources_are_counted() {
    on_each_backend(|driver| {
        assert!(!driver.has_sources());
        let (mut near, _far) = UnixStream::pair().unwrap();
        let io = driver.register(&mut near, Interest::READABLE).unwrap();
        assert!(driver.has_sources());
        assert_eq!(driver.metrics().registered, 1);
        drop(io);
        assert!(!driver.has_sources());
    });
}

#[test]
fn closing_wakes_all_waiters_with_an_error_they_can_tell() {
    on_each_backend(|driver| {
        let (mut near, mut far) = UnixStream::pair().unwrap();
        let io = driver.register(&mut near, Interest::READABLE).unwrap();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            // A parked owner does not hold it up.
            scope.spawn(|| park_until(&driver, || stop.load(Ordering::Acquire)));
            let waiting = scope.spawn(|| {
                let (count, waker) = Count::new();
                let mut cx = Context::from_waker(&waker);
                let waited = io.poll_ready(&mut cx, Direction::Read);
                (waited.is_pending(), count)
            });
            let (was_pending, count) = waiting.join().unwrap();
            assert!(was_pending);
            let report = driver.close(Duration::from_secs(10));
            assert_eq!((report.registered, report.remaining), (1, 0));
            assert_eq!(count.get(), 1);
            stop.store(true, Ordering::Release);
            driver.unpark();
        });
        assert!(driver.is_closed());
        let error = harness::block_on(&driver, io.readiness(Interest::READABLE)).unwrap_err();
        assert!(Gone::is_in(&error));
        let error = io.try_io(Interest::READABLE, || Ok(())).unwrap_err();
        assert!(Gone::is_in(&error));
        let error = driver.register(&mut far, Interest::READABLE).unwrap_err();
        assert!(Gone::is_in(&error));
        drop(io);
        assert_eq!(driver.metrics().registered, 0);
    });
}
