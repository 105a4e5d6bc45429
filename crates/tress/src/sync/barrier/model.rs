//! Arrivals against each other and against leaving, in every order.

use super::*;
use crate::model::{Watched, explore, poll_once};
use loom::future::block_on;
use loom::thread;
use std::sync::Arc;

/// Each sees what the other did before, and one leads.
#[test]
fn two_arrive() {
    explore(3, || {
        let one = Arc::new((Barrier::new(2), Watched::new(), Watched::new()));
        let two = one.clone();
        let thread = thread::spawn(move || {
            two.1.add_one();
            let led = block_on(two.0.wait()).is_leader();
            assert_eq!(two.2.get(), 1);
            led
        });
        one.2.add_one();
        let led = block_on(one.0.wait()).is_leader();
        assert_eq!(one.1.get(), 1);
        assert_ne!(thread.join().unwrap(), led);
    });
}

/// The second round may begin before all have left the first.
#[test]
fn two_rounds() {
    explore(2, || {
        let one = Arc::new(Barrier::new(2));
        let two = one.clone();
        let thread = thread::spawn(move || {
            block_on(two.wait());
            block_on(two.wait());
        });
        block_on(one.wait());
        block_on(one.wait());
        thread.join().unwrap();
        assert_eq!(arrived(one.word.load(Ordering::Relaxed)), 0);
    });
}

/// A task that leaves before the opening does not count.
#[test]
fn leaving_against_arriving() {
    explore(3, || {
        let one = Arc::new(Barrier::new(2));
        let two = one.clone();
        let thread = thread::spawn(move || {
            let mut wait = Box::pin(two.wait());
            poll_once(wait.as_mut()).is_ready()
        });
        let mut wait = Box::pin(one.wait());
        let at_once = poll_once(wait.as_mut()).is_ready();
        let other = thread.join().unwrap();
        let mine = at_once || poll_once(wait.as_mut()).is_ready();
        drop(wait);
        // Opened by both or not at all; in the latter case the count is back at zero.
        let word = one.word.load(Ordering::Relaxed);
        assert_eq!(arrived(word), 0);
        if other {
            assert!(mine);
        }
        assert_eq!(round(word) != 0, mine);
    });
}
