//! Interleavings of senders and receivers of a broadcast channel.
//!
//! Messages are loom `Arc`s: one that is dropped twice or never fails the model by itself.

use super::error::{RecvError, TryRecvError};
use super::{Receiver, Sender, channel};
use crate::model::{explore, poll_once};
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;
use std::pin::pin;

/// Receives until the end; how many messages came, and how many were reported missed. Numbers must
/// come in order, without a gap that was not reported.
async fn drain(mut rx: Receiver<Arc<u64>>) -> (u64, u64) {
    let (mut next, mut missed) = (0, 0);
    loop {
        match rx.recv().await {
            Ok(number) => {
                assert_eq!(*number, next);
                next += 1;
            }
            Err(RecvError::Lagged(lost)) => {
                next += lost;
                missed += lost;
            }
            Err(RecvError::Closed) => return (next - missed, missed),
        }
    }
}

#[test]
fn a_receiver_gets_everything_in_order() {
    explore(3, || {
        let (tx, rx) = channel(2);
        let sender = thread::spawn(move || {
            for i in 0..2 {
                tx.send(Arc::new(i)).unwrap();
            }
        });
        assert_eq!(block_on(drain(rx)), (2, 0));
        sender.join().unwrap();
    });
}

#[test]
fn what_is_overwritten_is_reported() {
    explore(3, || {
        let (tx, rx) = channel(1);
        let sender = thread::spawn(move || {
            for i in 0..2 {
                tx.send(Arc::new(i)).unwrap();
            }
        });
        let (received, missed) = block_on(drain(rx));
        assert_eq!(received + missed, 2);
        assert!(received >= 1);
        sender.join().unwrap();
    });
}

#[test]
fn two_receivers_and_a_sender() {
    explore(2, || {
        let (tx, one) = channel(2);
        let two = tx.subscribe();
        let other = thread::spawn(move || block_on(drain(two)));
        tx.send(Arc::new(0)).unwrap();
        drop(tx);
        assert_eq!(block_on(drain(one)), (1, 0));
        assert_eq!(other.join().unwrap(), (1, 0));
    });
}

#[test]
fn two_senders_and_a_receiver() {
    explore(2, || {
        let (tx, mut rx) = channel(2);
        let other = tx.clone();
        let sender = thread::spawn(move || other.send(Arc::new(1)).unwrap());
        tx.send(Arc::new(2)).unwrap();
        drop(tx);
        let sum = block_on(async { *rx.recv().await.unwrap() + *rx.recv().await.unwrap() });
        assert_eq!(sum, 3);
        assert!(matches!(block_on(rx.recv()), Err(RecvError::Closed)));
        sender.join().unwrap();
    });
}

#[test]
fn a_receiver_goes_while_a_message_comes() {
    explore(3, || {
        let (tx, one) = channel(1);
        let two = tx.subscribe();
        let message = Arc::new(0);
        let sent = message.clone();
        let other = thread::spawn(move || drop(one));
        tx.send(sent).unwrap();
        other.join().unwrap();
        assert_eq!(Arc::strong_count(&message), 2);
        drop(two);
        // No receiver is to have it any more, so it is gone, though the channel is not.
        assert_eq!(Arc::strong_count(&message), 1);
        assert_eq!(tx.len(), 0);
    });
}

#[test]
fn a_receiver_goes_while_its_messages_are_overwritten() {
    explore(3, || {
        let (tx, one) = channel(1);
        let mut two = tx.subscribe();
        tx.send(Arc::new(0)).unwrap();
        let other = thread::spawn(move || drop(one));
        tx.send(Arc::new(1)).unwrap();
        assert!(matches!(two.try_recv(), Err(TryRecvError::Lagged(1))));
        assert_eq!(two.try_recv().ok().as_deref(), Some(&1));
        other.join().unwrap();
        assert_eq!(tx.len(), 0);
    });
}

/// A receiver that is late for an old message finds the slot in use again, by a sender that did not lock
/// it.
#[test]
fn a_receiver_goes_while_its_slot_is_used_again() {
    explore(3, || {
        let (tx, one) = channel(1);
        let mut two = tx.subscribe();
        tx.send(Arc::new(0)).unwrap();
        assert_eq!(two.try_recv().ok().as_deref(), Some(&0));
        let other = thread::spawn(move || drop(one));
        for number in 1..3 {
            tx.send(Arc::new(number)).unwrap();
            assert_eq!(two.try_recv().ok().as_deref(), Some(&number));
        }
        other.join().unwrap();
        assert_eq!(tx.len(), 0);
    });
}

#[test]
fn the_last_sender_goes_while_a_receiver_falls_asleep() {
    explore(3, || {
        let (tx, mut rx) = channel::<Arc<u64>>(1);
        let other = tx.clone();
        let sender = thread::spawn(move || drop(other));
        drop(tx);
        assert!(matches!(block_on(rx.recv()), Err(RecvError::Closed)));
        sender.join().unwrap();
    });
}

#[test]
fn a_cancelled_receive_takes_nothing() {
    explore(3, || {
        let (tx, mut rx) = channel(2);
        let sender = thread::spawn(move || {
            tx.send(Arc::new(0)).unwrap();
        });
        let first = {
            let mut recv = pin!(rx.recv());
            poll_once(recv.as_mut())
        };
        if first.is_pending() {
            assert_eq!(*block_on(rx.recv()).unwrap(), 0);
        }
        sender.join().unwrap();
    });
}

#[test]
fn closed_is_told_of_the_last_receiver() {
    explore(3, || {
        let tx = Sender::<Arc<u64>>::new(1);
        let rx = tx.subscribe();
        let other = thread::spawn(move || drop(rx));
        block_on(tx.closed());
        other.join().unwrap();
    });
}
