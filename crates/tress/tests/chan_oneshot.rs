//! `tress::sync::oneshot`: what each end sees of the other, and what becomes of values and wakers.

mod chan_support;
mod sync_support;

use chan_support::Ledger;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::{future::Future, pin::Pin};
use sync_support::{block_on, task};
use tress::sync::oneshot::{self, error::TryRecvError};

#[test]
fn a_value_wakes_the_receiver() {
    let (tx, rx) = oneshot::channel();
    let mut rx = task(rx);
    rx.pending();
    rx.pending();
    assert!(!rx.is_woken());
    tx.send(1).unwrap();
    assert!(rx.is_woken());
    assert_eq!(rx.ready(), Ok(1));
}

#[test]
fn the_end_of_the_sender_wakes_the_receiver() {
    let (tx, rx) = oneshot::channel::<i32>();
    let mut rx = task(rx);
    rx.pending();
    drop(tx);
    assert!(rx.is_woken());
    assert!(rx.ready().is_err());
}

#[test]
fn close_and_drop_wake_the_sender() {
    for close in [true, false] {
        let (mut tx, mut rx) = oneshot::channel::<i32>();
        let mut closed = task(async move {
            tx.closed().await;
            tx
        });
        closed.pending();
        if close {
            rx.close();
            assert!(closed.is_woken());
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
        } else {
            drop(rx);
            assert!(closed.is_woken());
        }
        assert_eq!(closed.ready().send(1), Err(1));
    }
}

#[test]
fn a_value_sent_before_the_close_is_received() {
    let (tx, mut rx) = oneshot::channel();
    tx.send(1).unwrap();
    rx.close();
    assert_eq!(block_on(rx), Ok(1));
}

#[test]
fn nothing_can_be_had_twice() {
    let (tx, mut rx) = oneshot::channel();
    tx.send(1).unwrap();
    assert_eq!(rx.try_recv(), Ok(1));
    assert!(rx.is_terminated() && rx.is_empty());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    rx.close();
    assert!(catch_unwind(AssertUnwindSafe(|| block_on(rx))).is_err());
}

/// Every order of the ends' last acts, with and without wakers in place.
#[test]
fn values_and_wakers_are_dropped_once_in_every_order() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    for choice in 0..48 {
        let (tx_waits, rx_waits, send, tx_first, close) = (
            choice & 1 != 0,
            choice & 2 != 0,
            choice & 4 != 0,
            choice & 8 != 0,
            choice / 16,
        );
        let ledger = Ledger::new();
        let [tx_wakes, rx_wakes] = [(); 2].map(|()| Arc::new(Count(AtomicUsize::new(0))));
        let (mut tx, mut rx) = oneshot::channel();
        if tx_waits {
            let waker = Waker::from(tx_wakes.clone());
            assert!(
                tx.poll_closed(&mut Context::from_waker(&waker))
                    .is_pending()
            );
        }
        if rx_waits {
            let waker = Waker::from(rx_wakes.clone());
            assert!(
                Pin::new(&mut rx)
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
        }
        if close == 1 {
            rx.close();
        }
        let end_tx = || {
            if !send {
                return drop(tx);
            }
            if let Err(message) = tx.send(ledger.message(0, 0)) {
                message.returned();
            }
        };
        let end_rx = || {
            if close == 2 {
                rx.close();
            }
            if let Ok(message) = rx.try_recv() {
                message.received();
            }
            drop(rx);
        };
        if tx_first {
            end_tx();
            end_rx();
        } else {
            end_rx();
            end_tx();
        }
        let made = chan_support::get(&ledger.made);
        assert_eq!(made, usize::from(send));
        let fates = [&ledger.received, &ledger.returned].map(chan_support::get);
        assert_eq!(fates.iter().sum::<usize>(), made, "choice {choice}");
        for wakes in [tx_wakes, rx_wakes] {
            assert!(wakes.0.load(Ordering::SeqCst) <= 1);
            assert_eq!(
                Arc::strong_count(&wakes),
                1,
                "choice {choice}: a waker is left"
            );
        }
    }
}

#[test]
fn the_newest_waker_is_woken() {
    let (tx, mut rx) = oneshot::channel();
    let mut first = task(std::future::poll_fn(|cx| {
        let _ = Pin::new(&mut rx).poll(cx);
        Poll::<()>::Pending
    }));
    first.pending();
    let mut second = {
        // The first task's future borrowed the receiver.
        let woken = first.is_woken();
        assert!(!woken);
        drop(first);
        task(rx)
    };
    second.pending();
    tx.send(1).unwrap();
    assert!(second.is_woken());
    assert_eq!(second.ready(), Ok(1));
}

#[test]
fn a_panicking_waker_does_not_lose_the_value() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker panicked");
        }
    }
    let (tx, mut rx) = oneshot::channel();
    let waker = Waker::from(Arc::new(Panics));
    assert!(
        Pin::new(&mut rx)
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    assert!(catch_unwind(AssertUnwindSafe(|| tx.send(7))).is_err());
    assert_eq!(rx.try_recv(), Ok(7));
}

#[test]
fn large_and_empty_values() {
    let (tx, rx) = oneshot::channel();
    tx.send([7u8; 100_000]).unwrap();
    assert_eq!(block_on(rx).unwrap()[99_999], 7);
    let (tx, rx) = oneshot::channel();
    tx.send(()).unwrap();
    assert_eq!(block_on(rx), Ok(()));
}

#[test]
fn blocking_recv_on_a_thread_and_not_in_a_runtime() {
    let (tx, rx) = oneshot::channel();
    let thread = std::thread::spawn(move || rx.blocking_recv());
    tx.send(1).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(1));

    let (_tx, rx) = oneshot::channel::<i32>();
    let blocked = tress::runtime::Runtime::new()
        .unwrap()
        .block_on(async { catch_unwind(AssertUnwindSafe(|| rx.blocking_recv())) });
    assert!(blocked.is_err());
}
