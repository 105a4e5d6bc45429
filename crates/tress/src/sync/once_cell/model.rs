//! Making the value against waiting for it, in every order.

use super::OnceCell;
use crate::model::{explore, poll_once};
use loom::future::block_on;
use loom::thread;
use std::sync::Arc;

/// Both ask; one makes it, both see the same.
#[test]
fn two_ask() {
    explore(3, || {
        let one = Arc::new(OnceCell::new());
        let two = one.clone();
        let thread = thread::spawn(move || **block_on(two.get_or_init(async || tracked(1))));
        let mine = **block_on(one.get_or_init(async || tracked(2)));
        let other = thread.join().unwrap();
        assert_eq!(mine, other);
    });
}

/// A value that loom reports if it is leaked.
fn tracked(value: u32) -> loom::sync::Arc<u32> {
    loom::sync::Arc::new(value)
}

/// The first function fails: the task that waits runs its own.
#[test]
fn failure_passes_the_turn_on() {
    explore(3, || {
        let one = Arc::new(OnceCell::new());
        let two = one.clone();
        let thread = thread::spawn(move || {
            let failed = block_on(two.get_or_try_init(async || Err::<u32, ()>(())));
            failed.is_err() || failed == Ok(&2)
        });
        assert_eq!(block_on(one.get_or_init(async || 2)), &2);
        assert!(thread.join().unwrap());
    });
}

/// A future that is making the value is dropped.
#[test]
fn drop_of_the_maker_passes_the_turn_on() {
    explore(3, || {
        let one = Arc::new(OnceCell::new());
        let two = one.clone();
        let thread = thread::spawn(move || {
            let mut making = Box::pin(two.get_or_init(std::future::pending::<u32>));
            let _ = poll_once(making.as_mut());
        });
        assert_eq!(block_on(one.get_or_init(async || 2)), &2);
        thread.join().unwrap();
    });
}

#[test]
fn set_against_get_or_init() {
    explore(3, || {
        let one = Arc::new(OnceCell::new());
        let two = one.clone();
        let thread = thread::spawn(move || two.set(1).is_ok());
        let value = *block_on(one.get_or_init(async || 2));
        let was_set = thread.join().unwrap();
        assert_eq!(value, if was_set { 1 } else { 2 });
    });
}

/// One of two wins, and the other finds the value or an explanation.
#[test]
fn two_set_and_one_asks() {
    explore(3, || {
        let one = Arc::new(OnceCell::new());
        let two = one.clone();
        let thread = thread::spawn(move || two.set(tracked(1)).is_ok());
        let mine = one.set(tracked(2)).is_ok();
        let value = **block_on(one.get_or_init(async || tracked(3)));
        let other = thread.join().unwrap();
        assert!(mine != other);
        assert_eq!(value, if mine { 2 } else { 1 });
    });
}
