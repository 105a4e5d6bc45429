//! `tress::sync::watch`: who sees which value when.

mod sync_support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use sync_support::task;
use tress::sync::watch;

#[test]
fn a_change_wakes_all_receivers_once() {
    let (tx, mut one) = watch::channel(0);
    let mut two = one.clone();
    {
        let (mut first, mut second) = (task(one.changed()), task(two.changed()));
        first.pending();
        second.pending();
        tx.send(1).unwrap();
        tx.send(2).unwrap();
        assert!(first.is_woken() && second.is_woken());
        assert!(first.ready().is_ok());
        assert!(second.ready().is_ok());
    }
    assert_eq!(*one.borrow(), 2);
    task(one.changed()).pending();
}

#[test]
fn more_receivers_than_one_batch() {
    let (tx, rx) = watch::channel(0);
    let mut receivers: Vec<_> = (0..100).map(|_| rx.clone()).collect();
    let mut tasks: Vec<_> = receivers.iter_mut().map(|rx| task(rx.changed())).collect();
    for task in &mut tasks {
        task.pending();
    }
    tx.send(1).unwrap();
    assert!(tasks.iter().all(|task| task.is_woken()));
    assert!(tasks.iter_mut().all(|task| task.ready().is_ok()));
}

#[test]
fn a_cancelled_wait_has_seen_nothing() {
    let (tx, mut rx) = watch::channel(0);
    task(rx.changed()).pending();
    tx.send(1).unwrap();
    {
        // Dropped before it is polled.
        let _unpolled = rx.changed();
    }
    assert!(rx.has_changed().unwrap());
    assert!(task(rx.changed()).ready().is_ok());
    task(rx.changed()).pending();
}

#[test]
fn the_last_value_is_seen_before_the_error() {
    let (tx, mut rx) = watch::channel(0);
    tx.send(1).unwrap();
    drop(tx);
    assert!(rx.is_closed());
    assert!(rx.has_changed().is_err());
    assert!(task(rx.changed()).ready().is_ok());
    assert!(task(rx.changed()).ready().is_err());
    assert_eq!(*rx.borrow(), 1);
}

#[test]
fn wait_for_looks_at_every_change_and_the_last_value() {
    let (tx, mut rx) = watch::channel(0);
    {
        let mut wait = task(rx.wait_for(|value| *value == 2));
        wait.pending();
        tx.send(1).unwrap();
        assert!(wait.is_woken());
        wait.pending();
        tx.send(2).unwrap();
        let value = wait.ready().unwrap();
        assert!(value.has_changed());
    }
    // The current value counts, seen or not.
    assert!(
        !task(rx.wait_for(|value| *value == 2))
            .ready()
            .unwrap()
            .has_changed()
    );
    drop(tx);
    assert!(task(rx.wait_for(|value| *value == 2)).ready().is_ok());
    assert!(task(rx.wait_for(|value| *value == 3)).ready().is_err());
}

#[test]
fn a_modification_that_panics_or_changes_nothing_is_not_announced() {
    let (tx, mut rx) = watch::channel(0);
    let mut changed = task(rx.changed());
    changed.pending();
    assert!(!tx.send_if_modified(|_| false));
    assert!(!changed.is_woken());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        tx.send_modify(|value| {
            *value = 5;
            panic!("in the closure");
        });
    }));
    assert!(panicked.is_err());
    changed.pending();
    assert_eq!(*tx.borrow(), 5);
    tx.send_modify(|value| *value += 1);
    assert!(changed.is_woken());
    assert!(changed.ready().is_ok());
}

#[test]
fn send_needs_a_receiver_and_replace_does_not() {
    let tx = watch::Sender::new(1);
    assert!(tx.is_closed());
    assert_eq!(tx.send(2).unwrap_err().0, 2);
    assert_eq!(tx.send_replace(3), 1);
    let mut rx = tx.subscribe();
    assert_eq!(*rx.borrow(), 3);
    assert!(!rx.has_changed().unwrap());
    rx.mark_changed();
    assert!(task(rx.changed()).ready().is_ok());
    rx.mark_changed();
    rx.mark_unchanged();
    task(rx.changed()).pending();
}

#[test]
fn closed_waits_for_the_last_receiver_and_the_next_ones() {
    let (tx, rx) = watch::channel(0);
    let other = tx.subscribe();
    let mut closed = task(tx.closed());
    closed.pending();
    drop(rx);
    assert!(!closed.is_woken());
    drop(other);
    assert!(closed.is_woken());
    let late = tx.subscribe();
    closed.pending();
    drop(late);
    assert!(closed.is_woken());
    closed.ready();
}

#[test]
fn counts_and_clones() {
    let (tx, rx) = watch::channel(0);
    let tx2 = tx.clone();
    assert!(tx.same_channel(&tx2) && rx.same_channel(&rx.clone()));
    assert_eq!((tx.sender_count(), tx.receiver_count()), (2, 1));
    drop(tx);
    assert!(!rx.is_closed());
    assert_eq!(tx2.sender_count(), 1);
    let unseen = {
        tx2.send(1).unwrap();
        rx.clone()
    };
    assert!(
        unseen.has_changed().unwrap(),
        "a clone has seen what the original has"
    );
}
