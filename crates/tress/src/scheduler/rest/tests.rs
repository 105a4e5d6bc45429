use super::*;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Wake, Waker};
use tress_driver::{Config, Direction, Interest, Registration};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A place to sleep with I/O to look after, and the other end of that.
struct Sleeper {
    rest: Rest,
    registration: Registration,
    woken: Arc<Count>,
    far: UnixStream,
    _near: UnixStream,
}

impl Sleeper {
    fn new() -> Sleeper {
        let rest = Rest::new(Io::new(Some(Config::new()), Default::default()));
        let (mut near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let driver = rest.io.driver().unwrap();
        let registration = driver.register(&mut near, Interest::READABLE).unwrap();
        let woken = Arc::new(Count::default());
        let waker = Waker::from(woken.clone());
        let mut cx = Context::from_waker(&waker);
        assert!(
            registration
                .poll_ready(&mut cx, Direction::Read)
                .is_pending()
        );
        Sleeper {
            rest,
            registration,
            woken,
            far,
            _near: near,
        }
    }

    fn was_woken(&self) -> bool {
        self.woken.0.load(Ordering::SeqCst) > 0
    }
}

#[test]
fn a_keeper_is_woken_for_the_lender_who_sleeps_on() {
    let (mut lender, keeper) = (Sleeper::new(), Sleeper::new());
    assert!(lender.rest.lend(&keeper.rest, 1));
    assert!(lender.rest.is_lent() && keeper.rest.keeps_others());
    assert_eq!(
        (lender.rest.keeper(), keeper.rest.keeper()),
        (Some(1), None)
    );
    assert!(keeper.rest.was_relieved() && !keeper.rest.was_relieved());
    // Told of the loan, in case it slept on its parker.
    assert!(keeper.rest.is_notified());
    keeper.rest.take_token();

    lender.far.write_all(b"x").unwrap();
    while !lender.was_woken() {
        keeper.rest.park(None);
    }
    assert!(!keeper.was_woken());
    // Its own sleep is ended by tokens only.
    lender.rest.unpark();
    lender.rest.park(None);
}

/// What it had to look after may have moved to the keeper, who goes on holding back.
#[test]
fn a_driver_without_sources_is_lent_too() {
    let keeper = Sleeper::new();
    let lender = Rest::new(Io::new(Some(Config::new()), Default::default()));
    assert!(!lender.had_io() && !lender.lend(&keeper.rest, 1));
    lender.io.driver().unwrap();
    assert!(lender.had_io() && !lender.has_io());
    assert!(lender.lend(&keeper.rest, 1));
    assert!(keeper.rest.keeps_others());
    lender.unpark();
    lender.park(None);
}

#[test]
fn who_helps_a_stuck_keeper_helps_the_lender_too() {
    let (mut lender, keeper) = (Sleeper::new(), Sleeper::new());
    assert!(lender.rest.lend(&keeper.rest, 1));
    lender.far.write_all(b"x").unwrap();
    keeper.rest.turn_for_the_stuck();
    assert!(lender.was_woken());
}

#[test]
fn what_was_taken_back_is_the_lenders_own() {
    let (mut lender, keeper) = (Sleeper::new(), Sleeper::new());
    assert!(lender.rest.lend(&keeper.rest, 1));
    lender.rest.take_back();
    assert!(!lender.rest.is_lent() && !keeper.rest.keeps_others());
    lender.far.write_all(b"x").unwrap();
    keeper.rest.turn();
    assert!(!lender.was_woken());
    while !lender.was_woken() {
        lender.rest.park(None);
    }
    assert!(lender.registration.ready_now(Interest::READABLE).is_some());
}

#[test]
fn who_has_no_io_is_no_keeper() {
    let lender = Sleeper::new();
    let other = Rest::new(Io::new(Some(Config::new()), Default::default()));
    assert!(!lender.rest.lend(&other, 1));
    assert!(!lender.rest.is_lent());
}
