//! `tress::sync::broadcast`: every receiver has every message, or is told how many it missed.

mod sync_support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use sync_support::{block_on, task};
use tress::sync::broadcast::{
    self,
    error::{RecvError, TryRecvError},
};

#[test]
fn a_message_wakes_all_receivers() {
    let (tx, mut one) = broadcast::channel(4);
    let mut two = tx.subscribe();
    let (mut first, mut second) = (task(one.recv()), task(two.recv()));
    first.pending();
    second.pending();
    assert_eq!(tx.send("hello").unwrap(), 2);
    assert!(first.is_woken() && second.is_woken());
    assert_eq!(first.ready(), Ok("hello"));
    assert_eq!(second.ready(), Ok("hello"));
}

#[test]
fn a_cancelled_receive_takes_nothing() {
    let (tx, mut rx) = broadcast::channel(4);
    task(rx.recv()).pending();
    tx.send(1).unwrap();
    drop(rx.recv());
    assert_eq!(block_on(rx.recv()), Ok(1));
}

#[test]
fn the_count_of_missed_messages_is_exact() {
    for capacity in [1, 2, 3, 4, 7, 8] {
        let kept = usize::next_power_of_two(capacity) as u64;
        let (tx, mut rx) = broadcast::channel(capacity);
        let mut next = 0;
        for burst in [1, kept, kept + 1, 3 * kept + 2, 1] {
            let first = next;
            for number in first..first + burst {
                tx.send(number).unwrap();
            }
            let end = first + burst;
            if burst > kept {
                let missed = burst - kept;
                assert_eq!(rx.len() as u64, burst);
                assert_eq!(rx.try_recv(), Err(TryRecvError::Lagged(missed)));
                next += missed;
            }
            while next < end {
                assert_eq!(block_on(rx.recv()), Ok(next));
                next += 1;
            }
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            assert!(rx.is_empty() && tx.is_empty());
        }
    }
}

#[test]
fn the_end_comes_after_the_last_message() {
    let (tx, mut rx) = broadcast::channel(2);
    let weak = tx.downgrade();
    for number in 0..3 {
        tx.send(number).unwrap();
    }
    drop(tx);
    assert!(rx.is_closed() && weak.upgrade().is_none());
    assert_eq!(block_on(rx.recv()), Err(RecvError::Lagged(1)));
    assert_eq!(block_on(rx.recv()), Ok(1));
    assert_eq!(block_on(rx.recv()), Ok(2));
    assert_eq!(block_on(rx.recv()), Err(RecvError::Closed));
    assert_eq!(rx.resubscribe().try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn a_message_is_dropped_with_its_last_receiver() {
    let message = Arc::new(());
    let (tx, mut one) = broadcast::channel(4);
    let mut two = tx.subscribe();
    let three = tx.subscribe();
    tx.send(message.clone()).unwrap();
    drop(one.try_recv());
    drop(two.try_recv());
    assert_eq!((Arc::strong_count(&message), tx.len()), (2, 1));
    drop(three);
    assert_eq!((Arc::strong_count(&message), tx.len()), (1, 0));
    // An overwritten one goes when it is overwritten.
    tx.send(message.clone()).unwrap();
    for _ in 0..4 {
        tx.send(Arc::new(())).unwrap();
    }
    assert_eq!(Arc::strong_count(&message), 1);
    drop((one, two));
    tx.send(message.clone()).unwrap_err();
}

#[test]
fn a_clone_that_panics_has_been_received() {
    #[derive(Debug)]
    struct Picky(bool);
    impl Clone for Picky {
        fn clone(&self) -> Picky {
            assert!(!self.0, "does not like to be cloned");
            Picky(false)
        }
    }
    let (tx, mut rx) = broadcast::channel(4);
    tx.send(Picky(true)).unwrap();
    tx.send(Picky(false)).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| rx.try_recv())).is_err());
    assert!(rx.try_recv().is_ok());
    assert!(tx.is_empty());
}

#[test]
fn closed_waits_for_the_last_receiver() {
    let (tx, rx) = broadcast::channel::<()>(1);
    let mut closed = task(tx.closed());
    closed.pending();
    let other = rx.resubscribe();
    drop(rx);
    assert!(!closed.is_woken());
    drop(other);
    assert!(closed.is_woken());
    closed.ready();
}

#[test]
fn threads_that_clone_the_same_message() {
    let (tx, rx) = broadcast::channel(64);
    let rounds = if cfg!(miri) { 20 } else { 5_000 };
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let mut rx = rx.resubscribe();
            std::thread::spawn(move || {
                let mut seen = 0u64;
                loop {
                    match rx.blocking_recv() {
                        Ok((number, text)) => {
                            assert_eq!(number, seen);
                            assert_eq!(text, format!("message {number}"));
                            seen += 1;
                        }
                        Err(RecvError::Lagged(missed)) => seen += missed,
                        Err(RecvError::Closed) => return seen,
                    }
                }
            })
        })
        .collect();
    drop(rx);
    for number in 0..rounds {
        tx.send((number, format!("message {number}"))).unwrap();
    }
    drop(tx);
    for thread in threads {
        assert_eq!(thread.join().unwrap(), rounds);
    }
}

#[test]
#[should_panic(expected = "capacity of at least 1")]
fn no_capacity() {
    broadcast::channel::<()>(0);
}

#[test]
#[should_panic(expected = "too large")]
fn too_much_capacity() {
    broadcast::channel::<()>(usize::MAX);
}
