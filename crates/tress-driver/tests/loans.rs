//! One driver looked after by another one's owner, on every backend.
#![cfg(target_os = "linux")]

mod harness;

use harness::{block_on, driver, on_each_backend, park_until};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;
use tress_driver::{Choice, Direction, Interest};

fn pair() -> (UnixStream, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    (near, far)
}

/// Set when it is woken.
#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_keeper_wakes_who_waits_in_the_lent_driver() {
    on_each_backend(|lender| {
        let keeper = driver(Choice::Auto);
        assert!(!keeper.has_sources() && !keeper.keeps_others());
        let (mut near, mut far) = pair();
        let registration = lender.register(&mut near, Interest::READABLE).unwrap();
        let loan = lender.lend(&keeper).unwrap();
        assert!(keeper.has_sources() && keeper.keeps_others());
        assert_eq!(keeper.metrics().kept, 1);

        let flag = Arc::new(Flag::default());
        let waker = Waker::from(flag.clone());
        let mut cx = Context::from_waker(&waker);
        assert!(
            registration
                .poll_ready(&mut cx, Direction::Read)
                .is_pending()
        );
        let sender = thread::spawn(move || {
            far.write_all(b"x").unwrap();
            far
        });
        park_until(&keeper, || flag.0.load(Ordering::SeqCst));
        assert!(registration.poll_ready(&mut cx, Direction::Read).is_ready());
        let mut far = sender.join().unwrap();

        drop(loan);
        assert!(!keeper.has_sources());
        // From now on only the lender sees it.
        near.read_exact(&mut [0]).unwrap();
        let Poll::Ready(Ok(event)) = registration.poll_ready(&mut cx, Direction::Read) else {
            panic!("still ready");
        };
        registration.clear(event);
        far.write_all(b"y").unwrap();
        assert_eq!(keeper.park(Some(Duration::ZERO)).unwrap().events, 0);
        let read = registration.async_io(Interest::READABLE, || near.read(&mut [0]));
        assert_eq!(block_on(&lender, read).unwrap(), 1);
    });
}

#[test]
fn what_was_ready_before_the_loan_is_seen_by_the_keeper() {
    on_each_backend(|lender| {
        let keeper = driver(Choice::Auto);
        let (mut near, mut far) = pair();
        far.write_all(b"x").unwrap();
        let registration = lender.register(&mut near, Interest::READABLE).unwrap();
        let _loan = lender.lend(&keeper).unwrap();
        assert!(keeper.park(None).unwrap().events > 0);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(registration.poll_ready(&mut cx, Direction::Read).is_ready());
    });
}

/// The keeper and the lender, which is awake, take turns at the same driver: nothing is lost between them.
#[test]
fn a_lender_that_is_awake_and_its_keeper_lose_nothing() {
    on_each_backend(|lender| {
        const ROUNDS: usize = 5_000;
        let keeper = driver(Choice::Auto);
        let (mut near, mut far) = pair();
        let registration = lender.register(&mut near, Interest::READABLE).unwrap();
        let loan = lender.lend(&keeper).unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    lender.turn().unwrap();
                }
            });
            let echo = scope.spawn(|| {
                let mut byte = [0];
                for round in 0..ROUNDS {
                    far.write_all(&[round as u8]).unwrap();
                    far.read_exact(&mut byte).unwrap();
                }
            });
            for round in 0..ROUNDS {
                let mut byte = [0];
                let read = registration.async_io(Interest::READABLE, || near.read(&mut byte));
                assert_eq!(block_on(&keeper, read).unwrap(), 1);
                assert_eq!(byte, [round as u8]);
                near.write_all(&byte).unwrap();
            }
            done.store(true, Ordering::SeqCst);
            echo.join().unwrap();
        });
        drop(loan);
    });
}

#[test]
fn a_driver_is_lent_once_and_a_refusal_leaves_the_loan_alone() {
    on_each_backend(|lender| {
        let (keeper, other) = (driver(Choice::Auto), driver(Choice::Auto));
        let (mut near, mut far) = pair();
        let registration = lender.register(&mut near, Interest::READABLE).unwrap();
        let loan = lender.lend(&keeper).unwrap();
        for again in [&keeper, &other] {
            let error = lender.lend(again).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
        }
        assert!(lender.is_lent() && keeper.keeps_others() && !other.keeps_others());
        assert_eq!(keeper.metrics().kept, 1);
        far.write_all(b"x").unwrap();
        // It would hang here.
        let read = registration.async_io(Interest::READABLE, || near.read(&mut [0]));
        assert_eq!(block_on(&keeper, read).unwrap(), 1);
        drop(loan);
        assert!(!lender.is_lent() && !keeper.keeps_others());
        let loan = lender.lend(&other).unwrap();
        assert!(lender.is_lent() && other.keeps_others());
        drop(loan);
    });
}

#[test]
fn a_keeper_is_not_lent_and_has_room_for_64() {
    let keeper = driver(Choice::Readiness);
    let error = keeper.lend(&keeper).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let lenders: Vec<_> = (0..65).map(|_| driver(Choice::Readiness)).collect();
    let mut loans: Vec<_> = lenders[..64]
        .iter()
        .map(|lender| lender.lend(&keeper).unwrap())
        .collect();
    let error = keeper.lend(&lenders[64]).unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::InvalidInput,
        "it looks after others"
    );
    let error = lenders[64].lend(&keeper).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
    assert_eq!(keeper.metrics().kept, 64);
    drop(loans.swap_remove(7));
    let loan = lenders[64].lend(&keeper).unwrap();
    // One that is closed and gone leaves nothing behind.
    assert_eq!(lenders[64].close(Duration::ZERO).remaining, 0);
    drop((loan, loans));
    assert_eq!(keeper.metrics().kept, 0);
    assert!(!keeper.has_sources());
}
