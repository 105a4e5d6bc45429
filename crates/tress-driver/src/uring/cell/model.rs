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

/// The part of whoever reaps: completes, undoes if nobody wants it, lets go.
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
