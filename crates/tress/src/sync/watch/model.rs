//! Interleavings of senders and receivers of a watch channel, and with them of the bell.

use super::{Sender, channel};
use crate::model::{explore, poll_once};
use loom::future::block_on;
use loom::thread;
use std::pin::pin;

#[test]
fn a_change_is_not_missed() {
    explore(3, || {
        let (tx, mut rx) = channel(0);
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
            tx
        });
        block_on(rx.changed()).unwrap();
        assert_eq!(*rx.borrow(), 1);
        drop(sender.join().unwrap());
        assert!(block_on(rx.changed()).is_err());
    });
}

#[test]
fn the_last_value_is_seen_before_the_end() {
    explore(3, || {
        let (tx, mut rx) = channel(0);
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
        });
        block_on(rx.changed()).unwrap();
        assert_eq!(*rx.borrow_and_update(), 1);
        assert!(block_on(rx.changed()).is_err());
        sender.join().unwrap();
    });
}

#[test]
fn all_receivers_are_told() {
    explore(2, || {
        let (tx, mut one) = channel(0);
        let mut two = one.clone();
        let other = thread::spawn(move || block_on(two.changed()).is_ok());
        tx.send(1).unwrap();
        block_on(one.changed()).unwrap();
        assert!(other.join().unwrap());
    });
}

#[test]
fn a_cancelled_wait_leaves_the_line() {
    explore(2, || {
        let (tx, mut fickle) = channel(0);
        let mut patient = fickle.clone();
        let other = thread::spawn(move || {
            {
                let mut changed = pin!(fickle.changed());
                let _ = poll_once(changed.as_mut());
            }
            block_on(patient.changed()).unwrap();
        });
        tx.send(1).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn wait_for_sees_the_value_it_waits_for() {
    explore(2, || {
        let (tx, mut rx) = channel(0);
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
            tx.send(2).unwrap();
        });
        assert_eq!(*block_on(rx.wait_for(|n| *n == 2)).unwrap(), 2);
        sender.join().unwrap();
    });
}

#[test]
fn closed_is_told_of_the_last_receiver() {
    explore(3, || {
        let tx = Sender::new(0);
        let (one, two) = (tx.subscribe(), tx.subscribe());
        let other = thread::spawn(move || drop(one));
        drop(two);
        block_on(tx.closed());
        other.join().unwrap();
    });
}
