//! Loom models of a slot: events against polls, clears, shutdown and leaving nodes.

use super::*;
use loom::sync::Arc;
use loom::thread;
use std::future::poll_fn;
use std::pin::pin;

fn event(slot: &Slot, ready: Ready) {
    let mut wakers = Wakers::default();
    slot.set_ready(|generation| generation == 0, ready, &mut wakers);
    wakers.wake_all();
}

/// An event is never lost between the look at the word and the storing of the waker.
#[test]
fn model_poll_against_event() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let other = slot.clone();
        let thread = thread::spawn(move || event(&other, Ready::READABLE));
        let seen = loom::future::block_on(poll_fn(|cx| slot.poll(cx, Direction::Read)));
        assert_eq!(seen.ready(), Ready::READABLE);
        thread.join().unwrap();
    });
}

/// The source becomes ready twice; the task uses it up in between. However the clear falls, the
/// second time is seen: the counter stands for the bytes in the kernel.
#[test]
fn model_clear_against_event() {
    use_up_against_event(Ready::READABLE, Slot::clear);
}

/// The same with a source that was closed and is open again.
#[test]
fn model_would_block_against_event() {
    use_up_against_event(Ready::READABLE | Ready::READ_CLOSED, Slot::would_block);
}

fn use_up_against_event(ready: Ready, use_up: fn(&Slot, ReadyEvent)) {
    use loom::sync::atomic::AtomicUsize;
    loom::model(move || {
        let shared = Arc::new((Slot::new(), AtomicUsize::new(0)));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            for _ in 0..2 {
                other.1.fetch_add(1, Ordering::SeqCst);
                event(&other.0, ready);
            }
        });
        let (slot, bytes) = &*shared;
        let mut read = 0;
        while read < 2 {
            read += loom::future::block_on(poll_fn(|cx| {
                loop {
                    let Poll::Ready(seen) = slot.poll(cx, Direction::Read) else {
                        return Poll::Pending;
                    };
                    match bytes.swap(0, Ordering::SeqCst) {
                        0 => use_up(slot, seen),
                        some => return Poll::Ready(some),
                    }
                }
            }));
        }
        thread.join().unwrap();
    });
}

/// Shutdown ends a wait, whatever else happens.
#[test]
fn model_shutdown_against_poll_and_clear() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let other = slot.clone();
        let thread = thread::spawn(move || {
            event(&other, Ready::WRITABLE);
            let mut wakers = Wakers::default();
            other.shut_down(&mut wakers);
            wakers.wake_all();
        });
        if let Some(seen) = slot.event(Ready::WRITABLE) {
            slot.clear(seen);
        }
        let seen = loom::future::block_on(poll_fn(|cx| slot.poll(cx, Direction::Read)));
        assert!(seen.is_shut_down());
        thread.join().unwrap();
    });
}

/// A late event of an earlier generation changes nothing, even while the slot changes hands.
#[test]
fn model_retire_against_late_event() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let other = slot.clone();
        let thread = thread::spawn(move || event(&other, Ready::READABLE));
        slot.retire();
        assert!(slot.event(Ready::ALL).is_none());
        thread.join().unwrap();
        assert!(slot.event(Ready::ALL).is_none());
    });
}

/// A node that leaves while an event takes it out of the list; the other one is woken.
#[test]
fn model_leaving_node_against_event() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        let other = slot.clone();
        let thread = thread::spawn(move || event(&other, Ready::READABLE));
        let staying = pin!(Node::new());
        {
            let leaving = pin!(Node::new());
            loom::future::block_on(poll_fn(|cx| {
                // SAFETY: pinned, and left below.
                let _ = unsafe { slot.poll_node(&leaving, Ready::READABLE, cx) };
                Poll::Ready(())
            }));
            // SAFETY: used with this slot only.
            unsafe { slot.leave(&leaving) };
        }
        let seen = loom::future::block_on(poll_fn(|cx| {
            // SAFETY: pinned, and left below.
            unsafe { slot.poll_node(&staying, Ready::READABLE, cx) }
        }));
        assert_eq!(seen.ready(), Ready::READABLE);
        // SAFETY: used with this slot only.
        unsafe { slot.leave(&staying) };
        thread.join().unwrap();
    });
}
