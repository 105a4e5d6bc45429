//! Every interleaving of the two ends: send, receive, close, drop, and a change of wakers.
//!
//! Values are loom `Arc`s: one that is dropped twice or never fails the model by itself, and so does
//! an access to the cell's slots that the state word does not order.

use super::channel;
use super::error::TryRecvError;
use crate::model::{explore, poll_once};
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

#[test]
fn send_and_receive() {
    explore(9, || {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || tx.send(Arc::new(5)).unwrap());
        assert_eq!(*block_on(rx).unwrap(), 5);
        sender.join().unwrap();
    });
}

#[test]
fn send_and_drop_of_the_receiver() {
    explore(9, || {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || drop(tx.send(Arc::new(5))));
        drop(rx);
        sender.join().unwrap();
    });
}

#[test]
fn send_and_cancelled_receive() {
    explore(9, || {
        let (tx, mut rx) = channel();
        let sender = thread::spawn(move || drop(tx.send(Arc::new(5))));
        let _ = poll_once(Pin::new(&mut rx));
        drop(rx);
        sender.join().unwrap();
    });
}

#[test]
fn send_and_close_agree_on_the_value() {
    explore(9, || {
        let (tx, mut rx) = channel();
        let sender = thread::spawn(move || tx.send(Arc::new(5)).is_ok());
        rx.close();
        let received = rx.try_recv();
        let sent = sender.join().unwrap();
        match received {
            Ok(_) => assert!(sent),
            Err(error) => {
                assert_eq!(error, TryRecvError::Closed);
                assert!(!sent);
            }
        }
    });
}

#[test]
fn send_and_change_of_wakers() {
    explore(9, || {
        let (tx, mut rx) = channel();
        let sender = thread::spawn(move || tx.send(Arc::new(5)).unwrap());
        // The first waker wakes no task; the second must not miss the value.
        match poll_once(Pin::new(&mut rx)) {
            Poll::Ready(value) => assert_eq!(*value.unwrap(), 5),
            Poll::Pending => assert_eq!(*block_on(rx).unwrap(), 5),
        }
        sender.join().unwrap();
    });
}

#[test]
fn drop_of_the_sender_and_receive() {
    explore(9, || {
        let (tx, rx) = channel::<Arc<i32>>();
        let sender = thread::spawn(move || drop(tx));
        assert!(block_on(rx).is_err());
        sender.join().unwrap();
    });
}

#[test]
fn both_ends_dropped_while_both_wait() {
    explore(9, || {
        let (mut tx, mut rx) = channel::<Arc<i32>>();
        let sender = thread::spawn(move || {
            let _ = tx.poll_closed(&mut Context::from_waker(Waker::noop()));
            drop(tx);
        });
        let _ = poll_once(Pin::new(&mut rx));
        drop(rx);
        sender.join().unwrap();
    });
}

#[test]
fn closed_sees_the_drop_of_the_receiver() {
    explore(9, || {
        let (mut tx, rx) = channel::<Arc<i32>>();
        let receiver = thread::spawn(move || drop(rx));
        block_on(tx.closed());
        receiver.join().unwrap();
        assert!(tx.send(Arc::new(1)).is_err());
    });
}

#[test]
fn closed_sees_close_whatever_waker_was_there_before() {
    explore(9, || {
        let (mut tx, mut rx) = channel::<Arc<i32>>();
        let receiver = thread::spawn(move || {
            rx.close();
            rx
        });
        let _ = tx.poll_closed(&mut Context::from_waker(Waker::noop()));
        block_on(poll_fn(|cx| tx.poll_closed(cx)));
        drop(tx);
        assert_eq!(
            receiver.join().unwrap().try_recv().err(),
            Some(TryRecvError::Closed)
        );
    });
}

#[test]
fn send_after_waiting_for_closed() {
    explore(9, || {
        let (mut tx, rx) = channel();
        let receiver = thread::spawn(move || block_on(rx));
        let _ = tx.poll_closed(&mut Context::from_waker(Waker::noop()));
        tx.send(Arc::new(5)).unwrap();
        assert_eq!(*receiver.join().unwrap().unwrap(), 5);
    });
}
