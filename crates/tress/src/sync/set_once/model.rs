//! Setting against waiting and leaving, in every order.

use super::SetOnce;
use crate::model::{explore, poll_once};
use loom::future::block_on;
use loom::thread;
use std::sync::Arc;

#[test]
fn set_against_wait() {
    explore(4, || {
        let one = Arc::new(SetOnce::new());
        let two = one.clone();
        let thread = thread::spawn(move || two.set(loom::sync::Arc::new(5)).is_ok());
        assert_eq!(**block_on(one.wait()), 5);
        assert!(thread.join().unwrap());
    });
}

#[test]
fn two_set() {
    explore(4, || {
        let one = Arc::new(SetOnce::new());
        let two = one.clone();
        let thread = thread::spawn(move || two.set(1).is_ok());
        let mine = one.set(2).is_ok();
        // The loser sees the value.
        assert!(one.get().is_some());
        assert_ne!(thread.join().unwrap(), mine);
        assert_eq!(one.get(), Some(if mine { &2 } else { &1 }));
    });
}

/// Woken in batches of one under the model: in between, others leave, poll, and come.
#[test]
fn set_against_drop_and_newcomer() {
    explore(3, || {
        let one = Arc::new(SetOnce::new());
        let two = one.clone();
        let mut waiting: Vec<_> = (0..2).map(|_| Box::pin(one.wait())).collect();
        for wait in &mut waiting {
            assert!(poll_once(wait.as_mut()).is_pending());
        }
        let thread = thread::spawn(move || two.set(5).unwrap());
        drop(waiting.pop());
        let polled = poll_once(waiting[0].as_mut()).is_ready();
        let newcomer = Box::pin(one.wait());
        block_on(newcomer);
        thread.join().unwrap();
        assert!(polled || poll_once(waiting[0].as_mut()).is_ready());
    });
}
