//! Operations that go on: connections and bytes that arrive without being asked for one by one.
#![cfg(target_os = "linux")]

mod harness;

use harness::{Count, backends, block_on, descriptors, park_until};
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;
use tress_driver::{AcceptMulti, Choice, Config, Driver, Gone, Multishot, Pool, RecvMulti, op};
use tress_sys::{Asleep, Parker};

/// The tests of this file count descriptors: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A driver that can do it, or `None` with a word about it.
fn ring() -> Option<Arc<Driver>> {
    ring_of(&Arc::new(Parker::new()))
}

/// The same for an owner that can be watched.
fn ring_of(owner: &Arc<Parker>) -> Option<Arc<Driver>> {
    let has_ring = backends()
        .iter()
        .any(|&(_, choice)| choice == Choice::Uring);
    let make = || Driver::with_parker(Config::new().backend(Choice::Uring), owner.clone());
    let driver = Arc::new(has_ring.then(make)?.expect("the driver can be made"));
    match Pool::new(&driver, 1, 1) {
        Ok(_) => Some(driver),
        Err(error) => {
            eprintln!("without pooled receives: {error}");
            None
        }
    }
}

fn pair() -> (Arc<UnixStream>, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    (Arc::new(near), far)
}

fn settle(driver: &Driver) {
    park_until(driver, || driver.metrics().in_flight == 0);
    assert_eq!(driver.metrics().orphaned, 0);
}

type Receive = Multishot<RecvMulti<Arc<UnixStream>>>;

fn next(driver: &Arc<Driver>, receive: &mut Receive) -> Option<Vec<u8>> {
    block_on(driver, receive.next()).map(|bytes| bytes.unwrap().to_vec())
}

/// How often this thread has been off its core, of itself or not.
fn switches(thread: libc::pid_t) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap();
    status
        .lines()
        .filter(|line| line.contains("ctxt_switches"))
        .map(|line| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap())
        .sum()
}

/// The kernel wakes the thread that has handed a receive over for all that arrives. If that was somebody who
/// helped the owner, it is left in peace as soon as the owner is back.
#[test]
fn a_receive_that_a_helper_has_handed_over_comes_back_to_the_owner() {
    const MESSAGES: u64 = 200;
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let pool = Pool::new(&driver, 4, 64).unwrap();
    let (near, mut far) = pair();
    let mut receive = driver.submit_multi(RecvMulti::new(near.clone(), &pool));
    let mut cx = Context::from_waker(std::task::Waker::noop());
    assert!(receive.poll_next(&mut cx).is_pending());

    let (done, is_done) = mpsc::channel::<()>();
    let (helped, has_helped) = mpsc::channel();
    let helper = thread::spawn({
        let driver = driver.clone();
        move || {
            driver.try_adopt().unwrap().expect("nobody is inside");
            // SAFETY: it has no conditions.
            helped.send(unsafe { libc::gettid() }).unwrap();
            is_done.recv().unwrap();
        }
    });
    let helper_id = has_helped.recv().unwrap();
    let mut exchange = |count: u64| {
        for number in 0..count {
            far.write_all(&number.to_ne_bytes()).unwrap();
            assert_eq!(next(&driver, &mut receive).unwrap(), number.to_ne_bytes());
        }
    };
    // The first finds it with the helper.
    exchange(10);
    let before = switches(helper_id);
    exchange(MESSAGES);
    let woken = switches(helper_id) - before;
    assert!(woken < MESSAGES / 4, "the helper was woken {woken} times");

    done.send(()).unwrap();
    helper.join().unwrap();
    drop((receive, near));
    settle(&driver);
}

/// An accept is stopped, or dropped, while the ring hands it over again: the cancellation is not queued before what
/// it is to cancel.
#[test]
fn an_accept_that_is_ended_while_it_begins_again_ends() {
    let _alone = ALONE.lock().unwrap();
    for round in 0..200 {
        let Some(driver) = ring() else { return };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut accepting = Some(driver.submit_multi(AcceptMulti::new(listener)));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let first = accepting.as_mut().unwrap().poll_next(&mut cx);
        assert!(first.is_pending());
        // The owner begins anew what somebody else has handed over.
        let helper = driver.clone();
        thread::spawn(move || helper.try_adopt().unwrap())
            .join()
            .unwrap();
        let (done, both) = (AtomicBool::new(false), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                both.wait();
                park_until(&driver, || done.load(Ordering::SeqCst));
            });
            both.wait();
            // At one moment or another of what the owner does now.
            for _ in 0..round * 20 {
                std::hint::spin_loop();
            }
            if round % 2 == 0 {
                accepting = None;
            } else {
                let _ = accepting.as_mut().unwrap().poll_stop(&mut cx);
            }
            // It would hang here.
            while driver.metrics().in_flight != 0 {
                thread::yield_now();
            }
            done.store(true, Ordering::SeqCst);
            driver.unpark();
        });
        if let Some(accepting) = &mut accepting {
            assert!(accepting.poll_stop(&mut cx).is_ready());
        }
        assert_eq!(driver.metrics().orphaned, 0);
    }
}

/// The owner of a driver that is lent sleeps: what another thread asks of its ring is handed over by the keeper.
#[test]
fn a_receive_moves_from_a_lent_driver_to_its_keeper() {
    let _alone = ALONE.lock().unwrap();
    let owner = Arc::new(Parker::new());
    let (Some(lender), Some(keeper)) = (ring_of(&owner), ring()) else {
        return;
    };
    let (pool, keepers_pool) = (
        Pool::new(&lender, 4, 64).unwrap(),
        Pool::new(&keeper, 4, 64).unwrap(),
    );
    let (near, mut far) = pair();
    let mut receive = lender.submit_multi(RecvMulti::new(near.clone(), &pool));
    far.write_all(b"one").unwrap();
    assert_eq!(next(&lender, &mut receive).unwrap(), b"one");

    while_away((&lender, &owner), &keeper, || {
        assert!(receive.driver().is_lent());
        block_on(&keeper, receive.stop());
        assert_eq!(receive.pending(), 0);
        // Its companion too.
        drop(receive);
        park_until(&keeper, || lender.metrics().in_flight == 0);
        assert_eq!(lender.metrics().orphaned, 0);

        far.write_all(b"two").unwrap();
        let mut receive = keeper.submit_multi(RecvMulti::new(near, &keepers_pool));
        assert_eq!(next(&keeper, &mut receive).unwrap(), b"two");
    });
    assert!(!lender.is_lent());
    settle(&keeper);
}

/// Lends a driver, and does `test` while its owner, a thread of its own, parks away.
fn while_away((lender, owner): (&Arc<Driver>, &Parker), keeper: &Arc<Driver>, test: impl FnOnce()) {
    let loan = lender.lend(keeper).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let thread = thread::spawn({
        let (lender, is_over) = (lender.clone(), is_over.clone());
        move || {
            while !is_over.load(Ordering::Acquire) {
                lender.park_away(None);
            }
        }
    });
    while owner.asleep() != Some(Asleep::Away) {
        thread::yield_now();
    }
    test();
    is_over.store(true, Ordering::Release);
    lender.unpark();
    thread.join().unwrap();
    drop(loan);
}

/// The keeper takes the result that tells so, and hands the accept over itself: the owner is asleep.
#[test]
fn an_accept_of_a_lent_driver_begins_again() {
    let _alone = ALONE.lock().unwrap();
    let owner = Arc::new(Parker::new());
    let (Some(lender), Some(keeper)) = (ring_of(&owner), ring()) else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut accepting = lender.submit_multi(AcceptMulti::new(listener));
    let mut cx = Context::from_waker(std::task::Waker::noop());
    assert!(accepting.poll_next(&mut cx).is_pending());
    // It begins anew, because somebody else has handed it over.
    let helper = lender.clone();
    thread::spawn(move || helper.try_adopt().unwrap())
        .join()
        .unwrap();
    while_away((&lender, &owner), &keeper, || {
        let _client = TcpStream::connect(address).unwrap();
        // It would hang here.
        block_on(&keeper, accepting.next()).unwrap().unwrap();
        block_on(&keeper, accepting.stop());
    });
}

/// The same with an accept that nobody fetches from: it is the keeper who asks the kernel to stop it.
#[test]
fn an_accept_of_a_lent_driver_stops_at_its_limit() {
    let _alone = ALONE.lock().unwrap();
    let owner = Arc::new(Parker::new());
    let (Some(lender), Some(keeper)) = (ring_of(&owner), ring()) else {
        return;
    };
    for is_helped in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut accepting = lender.submit_multi(AcceptMulti::new(listener));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(accepting.poll_next(&mut cx).is_pending());
        while_away((&lender, &owner), &keeper, || {
            let clients: Vec<_> = (0..16)
                .map(|_| TcpStream::connect(address).unwrap())
                .collect();
            if is_helped {
                // Somebody else takes the results, because the keeper is stuck.
                while accepting.pending() < clients.len() {
                    keeper.try_adopt().unwrap();
                }
            } else {
                park_until(&keeper, || accepting.pending() >= clients.len());
            }
            // It would hang here.
            block_on(&keeper, accepting.stop());
        });
    }
}

/// What the kernel would not take from the keeper, it is offered again.
#[test]
fn a_keeper_offers_again_what_the_kernel_has_refused() {
    let _alone = ALONE.lock().unwrap();
    let owner = Arc::new(Parker::new());
    let Some(lender) = ring_of(&owner) else {
        return;
    };
    let keeper = harness::driver(Choice::Readiness);
    while_away((&lender, &owner), &keeper, || {
        let (near, mut far) = pair();
        far.write_all(b"x").unwrap();
        let receive = lender.submit(op::Recv::new(near, vec![0; 8], 0));
        let mut refuse = harness::denial(libc::SYS_io_uring_enter, libc::EAGAIN);
        let (lender, keeper) = (&lender, &keeper);
        thread::scope(|scope| {
            scope.spawn(move || {
                refuse().unwrap();
                let before = lender.metrics().turns;
                park_until(keeper, || lender.metrics().turns > before);
            });
        });
        // It would hang here.
        assert_eq!(block_on(keeper, receive).0.unwrap(), 1);
    });
}

#[test]
fn connections_are_accepted_one_after_the_other() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let before = descriptors();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let mut accepting = driver.submit_multi(AcceptMulti::new(listener));
    for _ in 0..3 {
        // More than may wait to be fetched: it is stopped, and started again.
        let clients: Vec<_> = (0..40)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        for _ in &clients {
            let stream = block_on(&driver, accepting.next()).unwrap().unwrap();
            let peer = TcpStream::from(stream).peer_addr().unwrap();
            assert!(
                clients
                    .iter()
                    .any(|client| client.local_addr().unwrap() == peer)
            );
        }
    }
    // Connections that nobody fetches are closed. One is fetched, or it might not have been started again.
    let clients: Vec<_> = (0..5)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    drop(block_on(&driver, accepting.next()).unwrap().unwrap());
    park_until(&driver, || accepting.pending() > 0);
    drop(accepting);
    settle(&driver);
    drop(clients);
    assert_eq!(descriptors(), before);
}

#[test]
fn bytes_arrive_in_order_until_the_end() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let pool = Pool::new(&driver, 8, 16).unwrap();
    let (near, mut far) = pair();
    let mut receive = driver.submit_multi(RecvMulti::new(near, &pool));
    let writer = thread::spawn(move || {
        for byte in 0..=255_u8 {
            far.write_all(&[byte; 5]).unwrap();
        }
    });
    let mut all = Vec::new();
    while let Some(bytes) = next(&driver, &mut receive) {
        assert!(bytes.len() <= 16);
        all.extend(bytes);
    }
    writer.join().unwrap();
    let expected: Vec<u8> = (0..=255_u8).flat_map(|byte| [byte; 5]).collect();
    assert_eq!(all, expected);
    // The end stays the end.
    assert!(next(&driver, &mut receive).is_none());
    drop(receive);
    settle(&driver);
    assert_eq!(pool.available(), 8);
}

#[test]
fn a_connection_that_waits_owns_no_buffer() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let pool = Pool::new(&driver, 2, 16).unwrap();
    let (_, waker) = Count::new();
    let mut cx = Context::from_waker(&waker);
    let mut idle: Vec<_> = (0..100)
        .map(|_| {
            let (near, far) = pair();
            (driver.submit_multi(RecvMulti::new(near, &pool)), far)
        })
        .collect();
    for (receive, _) in &mut idle {
        assert!(receive.poll_next(&mut cx).is_pending());
    }
    driver.turn().unwrap();
    // Each with the poll that goes with it.
    assert_eq!(driver.metrics().in_flight, 200);
    assert_eq!(pool.available(), 2);
    for (receive, far) in idle.iter_mut().rev() {
        far.write_all(b"x").unwrap();
        assert_eq!(next(&driver, receive).unwrap(), b"x");
    }
    drop(idle);
    settle(&driver);
}

#[test]
fn a_pool_that_runs_dry_goes_on_when_buffers_come_back() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let pool = Pool::new(&driver, 2, 4).unwrap();
    let mut connections: Vec<_> = (0..3)
        .map(|_| {
            let (near, far) = pair();
            (driver.submit_multi(RecvMulti::new(near, &pool)), far)
        })
        .collect();
    for (_, far) in &mut connections {
        far.write_all(b"12345678").unwrap();
    }
    // The first takes both buffers and keeps them.
    let first = block_on(&driver, connections[0].0.next()).unwrap().unwrap();
    let second = block_on(&driver, connections[0].0.next()).unwrap().unwrap();
    assert_eq!((&first[..], &second[..]), (&b"1234"[..], &b"5678"[..]));
    assert_eq!(pool.available(), 0);
    // The others starve.
    let (count, waker) = Count::new();
    let mut cx = Context::from_waker(&waker);
    for (receive, _) in &mut connections[1..] {
        assert!(receive.poll_next(&mut cx).is_pending());
    }
    driver.turn().unwrap();
    assert_eq!(count.get(), 0);
    // One buffer comes back: both are served with it, one after the other.
    drop(first);
    assert!(count.get() >= 1);
    for (receive, _) in &mut connections[1..] {
        assert_eq!(next(&driver, receive).unwrap(), b"1234");
        assert_eq!(next(&driver, receive).unwrap(), b"5678");
    }
    drop(second);
    drop(connections);
    settle(&driver);
    assert_eq!(pool.available(), 2);
}

#[test]
fn a_connection_that_is_not_read_keeps_few_buffers() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let pool = Pool::new(&driver, 256, 8).unwrap();
    let (near, mut far) = pair();
    let mut receive = driver.submit_multi(RecvMulti::new(near, &pool));
    let (_, waker) = Count::new();
    let mut cx = Context::from_waker(&waker);
    assert!(receive.poll_next(&mut cx).is_pending());
    driver.turn().unwrap();
    let mut sent = 0_u32;
    // One by one, so that every turn sees a few: nobody fetches them.
    // Until only the poll that goes with it is left.
    while driver.metrics().in_flight != 1 {
        far.write_all(&sent.to_ne_bytes()).unwrap();
        sent += 1;
        driver.turn().unwrap();
        assert!(sent < 256, "it was never stopped");
    }
    assert!(receive.pending() >= 8 && receive.pending() <= 64);
    // Nothing is lost by that.
    let mut received = Vec::new();
    while received.len() < 4 * sent as usize {
        received.extend(next(&driver, &mut receive).unwrap());
    }
    let expected: Vec<u8> = (0..sent).flat_map(u32::to_ne_bytes).collect();
    assert_eq!(received, expected);
}

/// Many that receive and do not read have every buffer of the pool. One that reads gets what it needs, again and again,
/// and they lose nothing.
#[test]
fn those_who_do_not_read_do_not_starve_others() {
    const STALLED: usize = 40;
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let pool = Pool::new(&driver, 32, 8).unwrap();
    let (_, waker) = Count::new();
    let mut cx = Context::from_waker(&waker);
    let mut stalled: Vec<_> = (0..STALLED)
        .map(|_| {
            let (near, far) = pair();
            (driver.submit_multi(RecvMulti::new(near, &pool)), far, 0_u8)
        })
        .collect();
    for (receive, _, _) in &mut stalled {
        // It asks once, and never comes for it.
        assert!(receive.poll_next(&mut cx).is_pending());
    }
    driver.turn().unwrap();
    let (near, mut far) = pair();
    let mut innocent = driver.submit_multi(RecvMulti::new(near, &pool));
    for round in 0..20_u8 {
        for (_, far, sent) in &mut stalled {
            far.write_all(&[*sent]).unwrap();
            *sent += 1;
            driver.turn().unwrap();
        }
        far.write_all(&[round]).unwrap();
        assert_eq!(next(&driver, &mut innocent).unwrap(), [round]);
    }
    for (receive, _, sent) in &mut stalled {
        let mut received = Vec::new();
        while received.len() < usize::from(*sent) {
            received.extend(next(&driver, receive).unwrap());
        }
        assert!(received.into_iter().eq(0..*sent));
    }
    drop((stalled, innocent));
    settle(&driver);
    assert_eq!(pool.available(), 32);
}

/// One sends more at once than the pool has room for, to one that does not read.
#[test]
fn a_flood_that_is_not_read_does_not_starve_others() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let pool = Pool::new(&driver, 32, 64).unwrap();
    let (near, mut flood) = pair();
    let mut flooded = driver.submit_multi(RecvMulti::new(near, &pool));
    let (_, waker) = Count::new();
    assert!(
        flooded
            .poll_next(&mut Context::from_waker(&waker))
            .is_pending()
    );
    driver.turn().unwrap();
    let sent: Vec<u8> = (0..8192_u32).map(|n| n as u8).collect();
    flood.write_all(&sent).unwrap();
    driver.turn().unwrap();
    let (near, mut far) = pair();
    let mut innocent = driver.submit_multi(RecvMulti::new(near, &pool));
    for round in 0..100_u8 {
        far.write_all(&[round]).unwrap();
        assert_eq!(next(&driver, &mut innocent).unwrap(), [round]);
    }
    let mut received = Vec::new();
    while received.len() < sent.len() {
        received.extend(next(&driver, &mut flooded).unwrap());
    }
    assert!(received == sent);
}

#[test]
fn dropping_a_receive_at_every_point_gives_its_buffers_back() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let before = descriptors();
    let pool = Pool::new(&driver, 4, 8).unwrap();
    for step in 0..6 {
        let (near, mut far) = pair();
        let mut receive = driver.submit_multi(RecvMulti::new(near, &pool));
        let (_, waker) = Count::new();
        let mut cx = Context::from_waker(&waker);
        if step >= 1 {
            assert!(receive.poll_next(&mut cx).is_pending());
        }
        if step >= 2 {
            driver.turn().unwrap(); // the kernel has it
        }
        if step >= 3 {
            far.write_all(b"bytes").unwrap(); // and has filled a buffer
        }
        if step >= 4 {
            park_until(&driver, || receive.pending() == 1); // and has said so
        }
        if step >= 5 {
            assert!(matches!(
                receive.poll_next(&mut cx),
                Poll::Ready(Some(Ok(_)))
            ));
        }
        drop(receive);
        settle(&driver);
        assert_eq!(pool.available(), 4, "step {step}");
    }
    drop(pool);
    assert_eq!(descriptors(), before);
}

#[test]
fn closing_ends_receives_that_run_and_that_starve() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let pool = Pool::new(&driver, 1, 8).unwrap();
    let (one, mut to_one) = pair();
    let (two, _to_two) = pair();
    let mut holding = driver.submit_multi(RecvMulti::new(one, &pool));
    to_one.write_all(b"x").unwrap();
    let buffer = block_on(&driver, holding.next()).unwrap().unwrap();
    let mut starving = driver.submit_multi(RecvMulti::new(two, &pool));
    let (count, waker) = Count::new();
    let mut cx = Context::from_waker(&waker);
    assert!(starving.poll_next(&mut cx).is_pending());
    let report = driver.close(Duration::from_secs(10));
    // On 6.12 only one was left to cancel; why is not known.
    let fewer = harness::kernel() < (6, 18) && report.cancelled == 1;
    assert!(report.cancelled == 2 || fewer, "{report:?}");
    assert_eq!(report.remaining, 0);
    assert_eq!(count.get(), 1);
    for receive in [&mut holding, &mut starving] {
        let error = block_on(&driver, receive.next()).unwrap().unwrap_err();
        assert!(Gone::is_in(&error));
        assert!(block_on(&driver, receive.next()).is_none());
    }
    drop(buffer);
}

#[test]
fn the_end_that_comes_with_the_last_bytes_is_found() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let pool = Pool::new(&driver, 8, 16).unwrap();
    for _ in 0..500 {
        let (near, mut far) = pair();
        let mut receive = driver.submit_multi(RecvMulti::new(near, &pool));
        let (_, waker) = Count::new();
        assert!(
            receive
                .poll_next(&mut Context::from_waker(&waker))
                .is_pending()
        );
        driver.turn().unwrap();
        // Both before the kernel gets to look at either.
        far.write_all(b"last").unwrap();
        drop(far);
        assert_eq!(next(&driver, &mut receive).unwrap(), b"last");
        assert!(next(&driver, &mut receive).is_none());
    }
    settle(&driver);
}

#[test]
fn a_receive_can_be_stopped_and_started_again() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let pool = Pool::new(&driver, 8, 16).unwrap();
    let (near, mut far) = pair();
    let mut receive = driver.submit_multi(RecvMulti::new(near.clone(), &pool));
    // One that was never started is stopped.
    block_on(&driver, receive.stop());
    assert!(receive.try_next().is_none());
    let (_, waker) = Count::new();
    assert!(
        receive
            .poll_next(&mut Context::from_waker(&waker))
            .is_pending()
    );
    far.write_all(b"before").unwrap();
    block_on(&driver, receive.stop());
    let mut bytes = Vec::new();
    while let Some(more) = receive.try_next() {
        bytes.extend_from_slice(&more.unwrap());
    }
    // What comes now is the socket's: whoever reads it gets it.
    far.write_all(b" and after").unwrap();
    let mut direct = [0; 64];
    let n = std::io::Read::read(&mut &*near, &mut direct).unwrap();
    bytes.extend_from_slice(&direct[..n]);
    assert_eq!(bytes, b"before and after");
    far.write_all(b"again").unwrap();
    assert_eq!(next(&driver, &mut receive).unwrap(), b"again");
    drop(receive);
    settle(&driver);
    assert_eq!(pool.available(), 8);
}

#[test]
fn received_bytes_can_be_sent_on_without_a_copy() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let pool = Pool::new(&driver, 4, 64).unwrap();
    let (near, mut far) = pair();
    let mut receive = driver.submit_multi(RecvMulti::new(near.clone(), &pool));
    far.write_all(b"echo").unwrap();
    let bytes = block_on(&driver, receive.next()).unwrap().unwrap();
    let (sent, bytes) = block_on(&driver, driver.submit(op::Send::new(near, bytes, 0)));
    assert_eq!(sent.unwrap(), 4);
    drop(bytes);
    let mut echoed = [0; 4];
    std::io::Read::read_exact(&mut far, &mut echoed).unwrap();
    assert_eq!(&echoed, b"echo");
    assert_eq!(pool.available(), 4);
}

#[test]
fn pools_have_limits_and_belong_to_one_driver() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    for (count, size, fine) in [
        (0, 1, false),
        (1, 0, false),
        (1, 1, true),
        (3, 1, false),
        (1 << 15, 1, true),
        ((1 << 15) + 1, 1, false),
    ] {
        let made = Pool::new(&driver, count, size);
        assert_eq!(made.is_ok(), fine, "{count} of {size}");
        if let Err(error) = made {
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
        }
    }
    let Some(other) = ring() else { return };
    let pool = Pool::new(&other, 2, 8).unwrap();
    let (near, _far) = pair();
    let mut receive = driver.submit_multi(RecvMulti::new(near, &pool));
    let error = block_on(&driver, receive.next()).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);

    let readiness = harness::driver(Choice::Readiness);
    let error = Pool::new(&readiness, 2, 8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut accepting = readiness.submit_multi(AcceptMulti::new(listener));
    let error = block_on(&readiness, accepting.next()).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn a_pool_may_outlive_its_driver() {
    let _alone = ALONE.lock().unwrap();
    let Some(driver) = ring() else { return };
    let before = descriptors();
    let Some(second) = ring() else { return };
    let pool = Pool::new(&second, 2, 8).unwrap();
    let (near, mut far) = pair();
    let mut receive = second.submit_multi(RecvMulti::new(near, &pool));
    far.write_all(b"x").unwrap();
    let buffer = block_on(&second, receive.next()).unwrap().unwrap();
    drop((receive, far));
    drop(second);
    assert_eq!(&buffer[..], b"x");
    drop(buffer);
    assert_eq!(pool.available(), 2);
    drop(pool);
    assert_eq!(descriptors(), before);
    drop(driver);
}
