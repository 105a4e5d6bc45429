//! Loom models of the shelf: buffers that come back while streams wait for one.

use super::*;
use loom::sync::Arc as LoomArc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::future::poll_fn;

/// Two streams wait for the only buffer: each gets it once, in every interleaving with its return. (A lost
/// wake-up would hang here.)
#[test]
fn model_a_buffer_that_comes_back_is_had_by_who_waits() {
    loom::model(|| {
        let shared = LoomArc::new((Shelf::new(1, 8), AtomicUsize::new(0)));
        let buffer = shared.0.take().unwrap();
        assert!(shared.0.take().is_none());
        let waiters: Vec<_> = (1..=2)
            .map(|who| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (shelf, had) = &*shared;
                    loop {
                        loom::future::block_on(poll_fn(|cx| shelf.poll_available(who, cx)));
                        // The other one may have been faster.
                        if let Some(buffer) = shelf.take() {
                            had.fetch_add(1, Ordering::Relaxed);
                            drop(buffer);
                            return;
                        }
                        thread::yield_now();
                    }
                })
            })
            .collect();
        drop(buffer);
        for waiter in waiters {
            waiter.join().unwrap();
        }
        assert_eq!(shared.1.load(Ordering::Relaxed), 2);
        let state = shared.0.0.state.lock();
        assert_eq!((state.out, state.free.len()), (0, 1));
        assert!(state.starving.is_empty());
    });
}

/// Streams that take and give back at the same time never have more buffers than there are.
#[test]
fn model_there_are_never_more_than_were_asked_for() {
    loom::model(|| {
        let shelf = Shelf::new(1, 8);
        let other = shelf.clone();
        let thread = thread::spawn(move || {
            let taken = other.take();
            let had = taken.is_some();
            drop(taken);
            had
        });
        let taken = shelf.take();
        let had = taken.is_some();
        drop(taken);
        assert!(thread.join().unwrap() || had, "one of them comes first");
        assert_eq!(shelf.available(), 1);
        assert_eq!(shelf.0.state.lock().free.len(), 1);
    });
}

/// A stream that leaves is not kept, whether the buffer comes back before, after or meanwhile.
#[test]
fn model_leaving_beside_a_buffer_that_comes_back() {
    loom::model(|| {
        let shelf = Shelf::new(1, 8);
        let buffer = shelf.take().unwrap();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(shelf.poll_available(1, &mut cx).is_pending());
        let other = thread::spawn(move || drop(buffer));
        shelf.leave(1);
        other.join().unwrap();
        assert!(shelf.0.state.lock().starving.is_empty());
        assert_eq!(shelf.available(), 1);
    });
}
