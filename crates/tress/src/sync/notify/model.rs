//! Notifications against waiting, leaving and enabling, in every order.

use super::*;
use crate::model::{Watched, explore, poll_once};
use loom::future::block_on;
use loom::thread;

/// What was written before `notify_one` is seen after `notified`.
#[test]
fn notify_one_against_notified() {
    explore(4, || {
        let one = Arc::new((Notify::new(), Watched::new()));
        let two = one.clone();
        let thread = thread::spawn(move || {
            two.1.add_one();
            two.0.notify_one();
        });
        block_on(one.0.notified());
        assert_eq!(one.1.get(), 1);
        thread.join().unwrap();
    });
}

/// Two notifications for two waiters: none is lost, whichever comes first.
#[test]
fn two_notifications_for_two_waiters() {
    explore(2, || {
        let one = Arc::new(Notify::new());
        let (two, three) = (one.clone(), one.clone());
        let first = thread::spawn(move || {
            block_on(two.notified());
            two.notify_one();
        });
        let second = thread::spawn(move || {
            block_on(three.notified());
            three.notify_one();
        });
        one.notify_one();
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// A waiter is chosen and goes away: the notification must reach the other one.
#[test]
fn notify_one_against_drop() {
    explore(2, || {
        let one = Arc::new(Notify::new());
        let (two, three) = (one.clone(), one.clone());
        let quitter = thread::spawn(move || {
            let mut notified = Box::pin(two.notified());
            if poll_once(notified.as_mut()).is_ready() {
                two.notify_one();
            }
        });
        let waiter = thread::spawn(move || block_on(three.notified_owned()));
        one.notify_one();
        quitter.join().unwrap();
        waiter.join().unwrap();
        assert_eq!(state(one.word.load(Ordering::Relaxed)), EMPTY);
    });
}

/// A future that exists before the call is notified, enabled, polled or neither.
#[test]
fn notify_waiters_against_enable() {
    explore(4, || {
        let one = Arc::new(Notify::new());
        let two = one.clone();
        let mut enabled = Box::pin(one.notified());
        let untouched = one.notified();
        let thread = thread::spawn(move || two.notify_waiters());
        enabled.as_mut().enable();
        block_on(enabled);
        block_on(untouched);
        thread.join().unwrap();
    });
}

/// The usual way to wait for a condition, with `notify_waiters`.
#[test]
fn condition_with_notify_waiters() {
    explore(3, || {
        use crate::sys::atomic::AtomicBool;
        let one = Arc::new((Notify::new(), AtomicBool::new(false)));
        let two = one.clone();
        let thread = thread::spawn(move || {
            two.1.store(true, Ordering::Relaxed);
            two.0.notify_waiters();
        });
        loop {
            let notified = one.0.notified();
            if one.1.load(Ordering::Relaxed) {
                break;
            }
            block_on(notified);
        }
        thread.join().unwrap();
    });
}

/// Woken in batches of one under the model: in between, others leave, poll, and come.
#[test]
fn notify_waiters_against_drop_and_newcomer() {
    explore(3, || {
        let one = Arc::new(Notify::new());
        let two = one.clone();
        let mut waiting: Vec<_> = (0..2).map(|_| Box::pin(one.notified())).collect();
        for notified in &mut waiting {
            assert!(poll_once(notified.as_mut()).is_pending());
        }
        let thread = thread::spawn(move || two.notify_waiters());
        let last = waiting.pop();
        drop(last);
        let _ = poll_once(waiting[0].as_mut());
        thread.join().unwrap();
        assert!(poll_once(waiting[0].as_mut()).is_ready());
        let mut newcomer = Box::pin(one.notified());
        assert!(poll_once(newcomer.as_mut()).is_pending());
    });
}

/// `notify_one` is not spent on a waiter that `notify_waiters` is waking already.
#[test]
fn notify_one_against_notify_waiters() {
    explore(3, || {
        let one = Arc::new(Notify::new());
        let two = one.clone();
        let mut old: Vec<_> = (0..2).map(|_| Box::pin(one.notified())).collect();
        for notified in &mut old {
            assert!(poll_once(notified.as_mut()).is_pending());
        }
        let thread = thread::spawn(move || two.notify_waiters());
        // Made after the call has taken effect, if this says so.
        let came_after = one.seen_calls() != 0;
        let mut newcomer = Box::pin(one.notified());
        let polled = poll_once(newcomer.as_mut());
        if came_after {
            assert!(polled.is_pending());
            one.notify_one();
            assert!(poll_once(newcomer.as_mut()).is_ready());
        }
        thread.join().unwrap();
        for notified in &mut old {
            assert!(poll_once(notified.as_mut()).is_ready());
        }
    });
}
