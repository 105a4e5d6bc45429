//! `tress::sync::mpsc`: places, lines, ends, and what becomes of messages and wakers.

mod chan_support;
mod sync_support;

use chan_support::{Ledger, get};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use sync_support::{Task, block_on, drop_at_every_point, task};
use tress::sync::mpsc::{
    self,
    error::{SendTimeoutError, TryRecvError, TrySendError},
};

#[test]
fn senders_get_places_in_the_order_in_which_they_came() {
    let (tx, mut rx) = mpsc::channel(1);
    tx.try_send(0).unwrap();
    let mut senders: Vec<_> = (1..=40).map(|number| task(tx.send(number))).collect();
    for sender in &mut senders {
        sender.pending();
    }
    for number in 0..40 {
        // Nobody overtakes those in line.
        assert_eq!(tx.try_send(99), Err(TrySendError::Full(99)));
        assert_eq!(rx.try_recv(), Ok(number));
        let next = number as usize;
        assert!(senders[next].is_woken());
        assert!(senders[next + 1..].iter().all(|sender| !sender.is_woken()));
        assert!(senders[next].ready().is_ok());
    }
    assert_eq!(rx.try_recv(), Ok(40));
    assert_eq!(tx.capacity(), 1);
}

#[test]
fn a_large_request_is_not_starved() {
    let (tx, mut rx) = mpsc::channel(4);
    for number in 0..4 {
        tx.try_send(number).unwrap();
    }
    let mut large = task(tx.reserve_many(3));
    let mut small = task(tx.reserve());
    large.pending();
    small.pending();
    for _ in 0..3 {
        assert!(!large.is_woken());
        rx.try_recv().unwrap();
    }
    assert!(large.is_woken() && !small.is_woken());
    assert_eq!(large.ready().unwrap().len(), 3);
    // Its places were given back unused, and one of them passed on.
    assert!(small.is_woken());
    drop(small.ready());
    assert_eq!(tx.capacity(), 3);
}

#[test]
fn reserved_places_count() {
    let (tx, mut rx) = mpsc::channel(3);
    assert_eq!((tx.capacity(), tx.max_capacity()), (3, 3));
    let permit = tx.try_reserve().unwrap();
    let owned = tx.clone().try_reserve_owned().unwrap();
    tx.try_send(1).unwrap();
    assert_eq!((tx.capacity(), rx.len()), (0, 1));
    assert!(matches!(tx.try_reserve(), Err(TrySendError::Full(()))));
    assert_eq!(rx.try_recv(), Ok(1));
    permit.send(2);
    assert!(owned.same_channel_as_sender(&tx));
    drop(owned.send(3));
    assert_eq!((rx.capacity(), rx.len()), (1, 2));
    assert_eq!(tx.try_reserve_many(1).unwrap().len(), 1);
    assert!(tx.try_reserve_many(2).is_err());
    assert!(tx.try_reserve_many(usize::MAX).is_err());
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(2), Ok(3)));
    assert_eq!(rx.capacity(), 3);
}

#[test]
fn a_send_dropped_at_any_point_has_no_effect() {
    drop_at_every_point(
        || {
            let (tx, rx) = mpsc::channel(1);
            tx.try_send(0).unwrap();
            (tx, std::sync::Mutex::new(rx))
        },
        |(tx, _)| {
            let tx = tx.clone();
            async move { tx.send(1).await }
        },
        |(_, rx), _| {
            let _ = rx.lock().unwrap().try_recv();
        },
        |(tx, rx), sent| {
            let mut rx = rx.lock().unwrap();
            let mut messages = Vec::new();
            while let Ok(message) = rx.try_recv() {
                messages.push(message);
            }
            assert_eq!(messages.contains(&1), sent.is_some());
            assert_eq!(tx.capacity(), 1, "a place was lost");
        },
    );
}

#[test]
fn a_receive_dropped_at_any_point_takes_nothing() {
    drop_at_every_point(
        || {
            let (tx, rx) = mpsc::channel(4);
            (tx, Arc::new(tress::sync::Mutex::new(rx)))
        },
        |(_, rx)| {
            let mut rx = rx.clone().try_lock_owned().unwrap();
            async move { rx.recv().await }
        },
        |(tx, _), step| tx.try_send(step).unwrap(),
        |(tx, rx), received| {
            let mut rx = rx.try_lock().unwrap();
            let taken = received.map(|message| assert_eq!(message, Some(0)));
            assert_eq!(tx.capacity() + rx.len(), 4);
            if taken.is_none() {
                assert!(matches!(rx.try_recv(), Ok(0) | Err(TryRecvError::Empty)));
            }
        },
    );
}

#[test]
fn a_cancelled_request_passes_on_what_it_had() {
    let (tx, mut rx) = mpsc::channel(2);
    let held = tx.try_reserve().unwrap();
    let mut large = task(tx.reserve_many(2));
    let mut small = task(tx.reserve());
    large.pending();
    small.pending();
    drop(large);
    assert!(small.is_woken());
    let small = small.ready().unwrap();
    assert_eq!(tx.capacity(), 0);
    drop((held, small));
    assert_eq!(tx.capacity(), 2);
    // Granted, but dropped before it knew.
    tx.try_send(1).unwrap();
    tx.try_send(2).unwrap();
    let mut first = task(tx.reserve());
    let mut second = task(tx.reserve());
    first.pending();
    second.pending();
    rx.try_recv().unwrap();
    assert!(first.is_woken() && !second.is_woken());
    drop(first);
    assert!(second.is_woken());
    assert!(second.ready().is_ok());
}

#[test]
fn close_refuses_new_messages_and_honours_permits() {
    let (tx, mut rx) = mpsc::channel(3);
    tx.try_send(1).unwrap();
    let permit = tx.try_reserve().unwrap();
    let last = tx.try_reserve().unwrap();
    let mut waiting = task(tx.send(9));
    waiting.pending();
    let mut closed = task(tx.closed());
    closed.pending();
    rx.close();
    assert!(waiting.is_woken() && closed.is_woken());
    assert_eq!(waiting.ready().unwrap_err().0, 9);
    closed.ready();
    assert_eq!(tx.try_send(2), Err(TrySendError::Closed(2)));
    assert!(tx.is_closed() && rx.is_closed());
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "permits are out");
    permit.send(3);
    assert_eq!(rx.try_recv(), Ok(3));
    let mut recv = task(rx.recv());
    recv.pending();
    drop(last);
    assert!(recv.is_woken());
    assert_eq!(recv.ready(), None);
    drop(recv);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(rx.len(), 0);
}

#[test]
fn the_last_sender_ends_the_channel() {
    let (tx, mut rx) = mpsc::unbounded_channel();
    let other = tx.clone();
    tx.send(1).unwrap();
    drop(tx);
    assert_eq!(block_on(rx.recv()), Some(1));
    let mut recv = task(rx.recv());
    recv.pending();
    drop(other);
    assert!(recv.is_woken());
    assert_eq!(recv.ready(), None);
    drop(recv);
    assert_eq!(task(rx.recv()).ready(), None, "and stays ended");
}

#[test]
fn weak_senders_do_not_keep_it_open() {
    let (tx, mut rx) = mpsc::channel(1);
    let weak = tx.downgrade();
    assert_eq!((tx.strong_count(), tx.weak_count()), (1, 1));
    let permit = weak.upgrade().unwrap().try_reserve_owned().unwrap();
    drop(tx);
    assert!(weak.upgrade().is_some(), "the permit is a sender");
    drop(permit.send(1));
    assert!(weak.upgrade().is_none());
    assert_eq!((rx.sender_strong_count(), rx.sender_weak_count()), (0, 1));
    assert_eq!((block_on(rx.recv()), block_on(rx.recv())), (Some(1), None));
}

#[test]
fn many_blocks_in_order() {
    let (tx, mut rx) = mpsc::unbounded_channel();
    let mut next = 0;
    let mut sent = 0;
    for burst in [1, 31, 32, 33, 1000, 64, 1] {
        for _ in 0..burst {
            tx.send(sent).unwrap();
            sent += 1;
        }
        assert_eq!(rx.len(), sent - next);
        for _ in 0..burst {
            assert_eq!(rx.try_recv(), Ok(next));
            next += 1;
        }
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        assert!(rx.is_empty());
    }
}

/// Messages in a channel from which on it gets many blocks at once.
const LONG: usize = if cfg!(miri) { 128 } else { 2_048 };

/// Channels that have grown long get many blocks at once, and leave them when they are empty.
#[test]
fn long_bursts_in_order() {
    let (tx, mut rx) = mpsc::channel(20_000);
    let (mut next, mut sent) = (0, 0);
    for (burst, drain) in [
        (LONG + 50, LONG + 50),
        (LONG - 1, LONG - 1),
        (4 * LONG, 4 * LONG - 1),
        (LONG + 33, 10),
        (1, LONG + 25),
        (2 * LONG, 2 * LONG),
        (64, 64),
    ] {
        for _ in 0..burst {
            tx.try_send(Box::new(sent)).unwrap();
            sent += 1;
        }
        assert_eq!(rx.len(), sent - next);
        for _ in 0..drain {
            assert_eq!(rx.try_recv(), Ok(Box::new(next)));
            next += 1;
        }
        if sent == next {
            // Once to find out, and once more where it went then.
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        }
        assert_eq!(rx.len(), sent - next);
        assert_eq!(tx.capacity(), 20_000 - (sent - next));
    }
    drop(tx);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
}

/// Whoever comes while the receiver sleeps, or goes, behind a long burst.
#[test]
fn the_end_of_a_long_burst() {
    type Then = fn(mpsc::Sender<Box<usize>>, mpsc::Receiver<Box<usize>>);
    let ends: [Then; 6] = [
        |tx, rx| drop((tx, rx)),
        |tx, rx| drop((rx, tx)),
        |tx, mut rx| {
            let mut recv = task(rx.recv());
            recv.pending();
            tx.try_send(Box::new(1)).unwrap();
            assert_eq!(recv.ready(), Some(Box::new(1)));
        },
        |tx, mut rx| {
            let mut recv = task(rx.recv());
            recv.pending();
            drop(tx);
            assert_eq!(recv.ready(), None);
        },
        |tx, mut rx| {
            let permit = tx.try_reserve().unwrap();
            let mut recv = task(rx.recv());
            recv.pending();
            permit.send(Box::new(1));
            assert_eq!(recv.ready(), Some(Box::new(1)));
        },
        |tx, mut rx| {
            let permit = tx.try_reserve().unwrap();
            rx.close();
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            permit.send(Box::new(1));
            assert_eq!(rx.try_recv(), Ok(Box::new(1)));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
        },
    ];
    // The last slot of a block, the first one of the next, and one in the middle.
    for burst in [LONG + 63, LONG + 64, LONG + 70] {
        for end in ends {
            let (tx, mut rx) = mpsc::channel(burst);
            for number in 0..burst {
                tx.try_send(Box::new(number)).unwrap();
            }
            for number in 0..burst {
                assert_eq!(rx.try_recv(), Ok(Box::new(number)));
            }
            end(tx, rx);
        }
    }
}

#[test]
fn recv_many_takes_what_is_there() {
    let (tx, mut rx) = mpsc::channel(100);
    let mut batch = vec![0];
    assert_eq!(block_on(rx.recv_many(&mut batch, 0)), 0);
    for number in 1..=80 {
        tx.try_send(number).unwrap();
    }
    assert_eq!(block_on(rx.recv_many(&mut batch, 50)), 50);
    assert_eq!(tx.capacity(), 70);
    assert_eq!(block_on(rx.recv_many(&mut batch, 50)), 30);
    assert!(batch.iter().copied().eq(0..=80));
    drop(tx);
    assert_eq!(block_on(rx.recv_many(&mut batch, 50)), 0);
}

#[test]
fn messages_are_dropped_with_the_receiver() {
    let ledger = Ledger::new();
    let (tx, mut rx) = mpsc::channel(200);
    for number in 0..100 {
        tx.try_send(ledger.message(0, number)).unwrap();
    }
    let permit = tx.try_reserve().unwrap();
    for _ in 0..10 {
        rx.try_recv().unwrap().received();
    }
    drop(rx);
    assert_eq!((get(&ledger.received), get(&ledger.lost)), (10, 90));
    permit.send(ledger.message(0, 100));
    assert_eq!(get(&ledger.lost), 91);
    assert!(tx.try_send(ledger.message(0, 101)).is_err());
}

#[test]
fn a_message_whose_drop_panics_does_not_keep_the_others() {
    struct Bomb(Arc<AtomicUsize>, bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
            assert!(!self.1, "a message panicked");
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let (tx, rx) = mpsc::unbounded_channel();
    for number in 0..100 {
        assert!(tx.send(Bomb(dropped.clone(), number == 40)).is_ok());
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    assert_eq!(dropped.load(Ordering::SeqCst), 100);
}

#[test]
fn wakers_are_released() {
    struct Idle;
    impl Wake for Idle {
        fn wake(self: Arc<Self>) {}
    }
    let idle = Arc::new(Idle);
    let waker = Waker::from(idle.clone());
    let (tx, mut rx) = mpsc::channel::<()>(1);
    assert!(rx.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(Arc::strong_count(&idle), 3);
    // Replaced by another.
    assert!(
        rx.poll_recv(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    assert_eq!(Arc::strong_count(&idle), 2);
    assert!(rx.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    drop(rx);
    assert_eq!(Arc::strong_count(&idle), 2);
    drop(tx);
}

#[test]
fn a_panicking_waker_does_not_lose_the_message_or_the_place() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker panicked");
        }
    }
    let waker = Waker::from(Arc::new(Panics));
    let (tx, mut rx) = mpsc::channel(1);
    assert!(rx.poll_recv(&mut Context::from_waker(&waker)).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| tx.try_send(7))).is_err());
    let mut reserve = std::pin::pin!(tx.reserve());
    assert!(
        reserve
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let mut closed = task(tx.closed());
    closed.pending();
    assert!(catch_unwind(AssertUnwindSafe(|| rx.try_recv())).is_err());
    assert_eq!(
        (rx.len(), rx.capacity()),
        (0, 0),
        "granted to the reservation"
    );
    drop(rx);
    assert!(closed.is_woken());
}

#[test]
fn one_wake_up_for_one_message() {
    let (tx, mut rx) = mpsc::unbounded_channel();
    let mut recv: Task<_> = task(rx.recv());
    recv.pending();
    tx.send(1).unwrap();
    assert!(recv.is_woken());
    assert_eq!(recv.ready(), Some(1));
    drop(recv);
    let mut again = task(rx.recv());
    tx.send(2).unwrap();
    assert!(!again.is_woken(), "nobody waited");
    assert_eq!(again.ready(), Some(2));
}

#[test]
fn send_timeout_returns_the_message() {
    let rt = tress::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    rt.block_on(async {
        let (tx, rx) = mpsc::channel(1);
        let second = Duration::from_secs(1);
        assert_eq!(tx.send_timeout(1, second).await, Ok(()));
        assert_eq!(
            tx.send_timeout(2, second).await,
            Err(SendTimeoutError::Timeout(2))
        );
        drop(rx);
        assert_eq!(
            tx.send_timeout(3, second).await,
            Err(SendTimeoutError::Closed(3))
        );
    });
}

/// A message that was completely sent is found, whatever other senders are in the middle of.
#[test]
fn try_recv_is_never_wrong_about_empty() {
    let (tx, mut rx) = mpsc::unbounded_channel();
    let rounds = if cfg!(miri) { 50 } else { 20_000 };
    let noise = tx.clone();
    let thread = std::thread::spawn(move || {
        for _ in 0..rounds {
            noise.send(false).unwrap();
        }
    });
    for _ in 0..rounds {
        tx.send(true).unwrap();
        while !rx.try_recv().expect("ours is in the channel") {}
    }
    thread.join().unwrap();
}

#[test]
fn a_task_that_receives_for_ever_yields() {
    let rt = tress::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    rt.block_on(async {
        let (tx, mut rx) = mpsc::unbounded_channel();
        let busy = tress::spawn(async move {
            loop {
                tx.send(()).unwrap();
                rx.recv().await.unwrap();
            }
        });
        // Gets its turn although the other one never waits.
        tress::spawn(async {}).await.unwrap();
        busy.abort();
    });
}

#[test]
fn huge_capacity_takes_no_memory() {
    let (tx, mut rx) = mpsc::channel(usize::MAX >> 3);
    tx.try_send(1).unwrap();
    assert_eq!(tx.capacity(), (usize::MAX >> 3) - 1);
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(tx.capacity(), usize::MAX >> 3);
}

#[test]
fn blocking_in_a_runtime_panics() {
    let rt = tress::runtime::Runtime::new().unwrap();
    rt.block_on(async {
        let (tx, mut rx) = mpsc::channel::<()>(1);
        assert!(catch_unwind(AssertUnwindSafe(|| tx.blocking_send(()))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| rx.blocking_recv())).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| rx.blocking_recv_many(&mut vec![], 1))).is_err());
    });
}
