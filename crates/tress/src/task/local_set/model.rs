//! The set's races with other threads, by name.

use super::LocalSet;
use crate::sys::Mutex;
use crate::sys::atomic::{AtomicUsize, Ordering};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A task that hands its waker out in the first poll and is ready in the second.
fn wait_for_wake(set: &LocalSet) -> Arc<Mutex<Option<Waker>>> {
    let slot = Arc::new(Mutex::new(None));
    let (tell, not_send) = (slot.clone(), Rc::new(()));
    let mut polls = 0;
    set.spawn_local(poll_fn(move |cx| {
        let _not_send = &not_send;
        polls += 1;
        if polls == 2 {
            return Poll::Ready(());
        }
        *tell.lock() = Some(cx.waker().clone());
        Poll::Pending
    }));
    slot
}

fn poll_once(set: &mut LocalSet, waker: &Waker) -> Poll<()> {
    pin!(set).poll(&mut Context::from_waker(waker))
}

#[test]
fn remote_wake_against_a_driver_that_goes_to_sleep() {
    loom::model(|| {
        let mut set = LocalSet::new();
        let slot = wait_for_wake(&set);
        let wakes = Arc::new(Wakes(AtomicUsize::new(0)));
        let waker = Waker::from(wakes.clone());
        assert!(poll_once(&mut set, &waker).is_pending());
        let task = slot.lock().take().unwrap();
        let thread = loom::thread::spawn(move || task.wake());
        let before = poll_once(&mut set, &waker);
        thread.join().unwrap();
        if before.is_pending() {
            assert!(wakes.0.load(Ordering::SeqCst) > 0);
            assert!(poll_once(&mut set, &waker).is_ready());
        }
    });
}

#[test]
fn remote_wake_against_drop() {
    loom::model(|| {
        let mut set = LocalSet::new();
        let slot = wait_for_wake(&set);
        assert!(poll_once(&mut set, Waker::noop()).is_pending());
        let task = slot.lock().take().unwrap();
        let thread = loom::thread::spawn(move || {
            task.wake_by_ref();
            drop(task);
        });
        drop(set);
        thread.join().unwrap();
    });
}

#[test]
fn remote_abort_against_a_poll_and_drop() {
    loom::model(|| {
        let mut set = LocalSet::new();
        let task = set.spawn_local(std::future::pending::<()>());
        let thread = loom::thread::spawn(move || {
            task.abort();
            task
        });
        let _ = poll_once(&mut set, Waker::noop());
        drop(set);
        assert!(thread.join().unwrap().is_finished());
    });
}
