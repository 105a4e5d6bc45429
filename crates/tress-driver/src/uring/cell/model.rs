//! Loom models of a cell: the kernel's last word against the future that waits or goes.

use super::*;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::future::poll_fn;

/// An operation whose end is counted.
struct Op(Arc<AtomicUsize>);

impl Drop for Op {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The part of the thread that reaps: completes, undoes an unwanted result, lets go.
fn kernel(cell: Arc<OpCell<Op>>) -> bool {
    let mut wakers = Wakers::default();
    let told = cell.complete(7, &mut wakers);
    if told == Told::Nobody {
        assert_eq!(cell.take_unwanted(), Some(7));
        // SAFETY: complete and abandoned: ours.
        unsafe { cell.with_op(|op| op.0.load(Ordering::Relaxed)) };
    }
    wakers.wake_all();
    told == Told::Nobody
}

#[test]
fn model_completion_against_poll() {
    loom::model(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let cell = Arc::new(OpCell::new(Op(dropped.clone())));
        let other = cell.clone();
        let thread = thread::spawn(move || kernel(other));
        let (result, op) = loom::future::block_on(poll_fn(|cx| cell.poll(cx)));
        assert_eq!(result, 7);
        assert!(!thread.join().unwrap());
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        drop(op);
        drop(cell);
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn model_completion_against_drop() {
    loom::model(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let cell = Arc::new(OpCell::new(Op(dropped.clone())));
        let other = cell.clone();
        let thread = thread::spawn(move || kernel(other));
        let abandoned = cell.abandon();
        if abandoned == Abandoned::Done(7) {
            // SAFETY: complete, and its future is us.
            unsafe { cell.with_op(|op| op.0.load(Ordering::Relaxed)) };
        }
        drop(cell);
        let undone_by_kernel = thread.join().unwrap();
        // Exactly one side undoes the result, and the operation is dropped once.
        assert_eq!(undone_by_kernel, abandoned == Abandoned::UnderWay);
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    });
}

/// Counts how often it was woken.
struct Counts(AtomicUsize);

impl std::task::Wake for Counts {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The last poll's waker is the one that is woken, unless that poll found the result itself.
#[test]
fn model_completion_against_another_waker() {
    loom::model(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let cell = Arc::new(OpCell::new(Op(dropped.clone())));
        let counts = [(); 2].map(|()| std::sync::Arc::new(Counts(AtomicUsize::new(0))));
        let poll = |counts: &std::sync::Arc<Counts>| {
            let waker = Waker::from(counts.clone());
            cell.poll(&mut Context::from_waker(&waker))
        };
        let other = cell.clone();
        let thread = thread::spawn(move || kernel(other));
        let first = poll(&counts[0]);
        let second = first.is_pending().then(|| poll(&counts[1]));
        thread.join().unwrap();
        if second.is_some_and(|second| second.is_pending()) {
            assert_eq!(counts[1].0.load(Ordering::Relaxed), 1);
            assert!(poll(&counts[1]).is_ready());
        }
        drop((first, cell));
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        // None is kept.
        assert!(
            counts
                .iter()
                .all(|counts| std::sync::Arc::strong_count(counts) == 1)
        );
    });
}
