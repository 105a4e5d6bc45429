//! Cancelling against waiting, against growing and against shrinking of the tree, in every order.
//!
//! Nodes that are leaked fail the model: each holds a share of its tree's lock, which loom counts.

use super::CancellationToken;
use crate::model::{explore, poll_once};
use loom::future::block_on;
use loom::thread;

#[test]
fn cancel_against_cancelled() {
    explore(3, || {
        let token = CancellationToken::new();
        let child = token.child_token();
        let thread = thread::spawn(move || block_on(child.cancelled_owned()));
        token.cancel();
        thread.join().unwrap();
    });
}

#[test]
fn cancel_against_drop_of_the_future() {
    explore(3, || {
        let token = CancellationToken::new();
        let other = token.clone();
        let thread = thread::spawn(move || {
            let mut cancelled = Box::pin(other.cancelled());
            let _ = poll_once(cancelled.as_mut());
        });
        token.cancel();
        thread.join().unwrap();
    });
}

/// A child that is made while its parent is cancelled is cancelled.
#[test]
fn cancel_against_child_token() {
    explore(3, || {
        let token = CancellationToken::new();
        let parent = token.child_token();
        let thread = thread::spawn(move || {
            let child = parent.child_token();
            block_on(child.cancelled());
        });
        token.cancel();
        thread.join().unwrap();
    });
}

/// A token is dropped while its parent is cancelled: its child is reached all the same.
#[test]
fn cancel_against_drop_of_the_one_in_between() {
    explore(3, || {
        let token = CancellationToken::new();
        let middle = token.child_token();
        let leaf = middle.child_token();
        let thread = thread::spawn(move || drop(middle));
        token.cancel();
        assert!(leaf.is_cancelled());
        thread.join().unwrap();
        drop(token);
        assert!(leaf.is_cancelled());
    });
}

/// Parent and child go away at the same time.
#[test]
fn drop_against_drop() {
    explore(3, || {
        let token = CancellationToken::new();
        let middle = token.child_token();
        let leaf = middle.child_token();
        let thread = thread::spawn(move || drop(middle));
        drop(leaf);
        thread.join().unwrap();
        token.cancel();
    });
}

/// Two cancel, one above the other.
#[test]
fn cancel_against_cancel() {
    explore(3, || {
        let token = CancellationToken::new();
        let child = token.child_token();
        let leaf = child.child_token();
        let thread = thread::spawn(move || child.cancel());
        token.cancel();
        assert!(leaf.is_cancelled());
        thread.join().unwrap();
    });
}
