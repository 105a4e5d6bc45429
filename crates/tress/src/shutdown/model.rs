//! Models of work that starts and ends against triggering and draining, in every order.

use super::Shutdown;
use crate::model::explore;
use loom::future::block_on;
use loom::thread;

/// Either the work is refused, or the drain waits for it.
#[test]
fn start_against_trigger_and_drain() {
    explore(3, || {
        let shutdown = Shutdown::new();
        let other = shutdown.clone();
        let done = loom::sync::Arc::new(loom::sync::atomic::AtomicBool::new(false));
        let finished = done.clone();
        let thread = thread::spawn(move || match other.start_work() {
            Some(guard) => {
                // Relaxed: what makes it visible is the end of the work.
                finished.store(true, loom::sync::atomic::Ordering::Relaxed);
                drop(guard);
                true
            }
            None => false,
        });
        shutdown.trigger();
        block_on(shutdown.drained());
        assert_eq!(shutdown.pending_count(), 0);
        let done = done.load(loom::sync::atomic::Ordering::Relaxed);
        assert_eq!(
            thread.join().unwrap(),
            done,
            "drained before the work ended"
        );
        assert!(shutdown.start_work().is_none());
    });
}

/// The last guard is dropped while the scope closes: one of the two must announce that it is drained.
#[test]
fn end_against_trigger() {
    explore(3, || {
        let shutdown = Shutdown::new();
        let guard = shutdown.start_work().unwrap();
        let other = shutdown.clone();
        let thread = thread::spawn(move || other.trigger());
        drop(guard);
        block_on(shutdown.drained());
        thread.join().unwrap();
    });
}

/// A child begins while its parent drains.
#[test]
fn child_against_drain_of_the_parent() {
    explore(3, || {
        let parent = Shutdown::new();
        let child = parent.child("child");
        let thread = thread::spawn(move || child.start_work().is_some());
        parent.trigger();
        block_on(parent.drained());
        assert_eq!(parent.pending_count(), 0);
        let _ = thread.join().unwrap();
        assert_eq!(parent.pending_count(), 0);
    });
}
