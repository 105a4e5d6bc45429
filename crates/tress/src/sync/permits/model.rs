//! The races of the counter and its queue, in every order.

use super::*;
use crate::model::{Watched, explore, poll_once};
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;

fn shared(permits: usize) -> (Arc<(Permits, Watched)>, Arc<(Permits, Watched)>) {
    let one = Arc::new((Permits::new(permits), Watched::new()));
    (one.clone(), one)
}

/// Checks that no request waits and nothing is in flight.
fn assert_quiet(permits: &Permits, available: usize) {
    assert_eq!(permits.word.load(Ordering::Relaxed), available << SHIFT);
    assert!(permits.queue.lock().is_empty());
}

fn exclusive(shared: &(Permits, Watched), give_back: impl Fn(&Permits)) {
    block_on(shared.0.take(1)).unwrap();
    shared.1.add_one();
    give_back(&shared.0);
}

/// Acquire against release, in the form that `Mutex` uses.
#[test]
fn exclusive_access_two_threads() {
    explore(4, || {
        let (one, two) = shared(1);
        let thread = thread::spawn(move || exclusive(&two, Permits::give_back_only));
        exclusive(&one, Permits::give_back_only);
        thread.join().unwrap();
        assert_eq!(one.1.get(), 2);
        assert_quiet(&one.0, 1);
    });
}

/// The same with the addition that can meet `WAITERS` on its way.
#[test]
fn exclusive_access_two_threads_adding() {
    explore(4, || {
        let (one, two) = shared(1);
        let thread = thread::spawn(move || exclusive(&two, |p| p.give_back(1)));
        exclusive(&one, |p| p.give_back(1));
        thread.join().unwrap();
        assert_eq!(one.1.get(), 2);
        assert_quiet(&one.0, 1);
    });
}

#[test]
fn exclusive_access_three_threads() {
    explore(2, || {
        let (one, two) = shared(1);
        let three = two.clone();
        let threads = [
            thread::spawn(move || exclusive(&two, |p| p.give_back(1))),
            thread::spawn(move || exclusive(&three, |p| p.give_back(1))),
        ];
        exclusive(&one, |p| p.give_back(1));
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(one.1.get(), 3);
        assert_quiet(&one.0, 1);
    });
}

/// A request for all, as of a writer, against requests for one, as of readers.
#[test]
fn all_against_one() {
    explore(3, || {
        let (one, two) = shared(2);
        let thread = thread::spawn(move || {
            block_on(two.0.take(2)).unwrap();
            two.1.add_one();
            two.0.give_back(2);
        });
        block_on(one.0.take(1)).unwrap();
        one.1.get();
        one.0.give_back(1);
        thread.join().unwrap();
        assert_quiet(&one.0, 2);
    });
}

/// A waiter is dropped while it is being served: its permit must reach the next in line.
#[test]
fn cancel_of_a_served_waiter() {
    explore(2, || {
        let (one, two) = shared(0);
        let three = two.clone();
        let quitter = thread::spawn(move || {
            let mut take = Box::pin(two.0.take(1));
            match poll_once(take.as_mut()) {
                Poll::Ready(taken) => {
                    taken.unwrap();
                    two.0.give_back(1);
                }
                Poll::Pending => drop(take),
            }
        });
        let waiter = thread::spawn(move || {
            block_on(three.0.take(1)).unwrap();
            three.0.give_back(1);
        });
        one.0.add(1);
        quitter.join().unwrap();
        waiter.join().unwrap();
        assert_quiet(&one.0, 1);
    });
}

/// A waiter that has gathered a part is dropped while the rest arrives.
#[test]
fn cancel_of_a_gathering_waiter() {
    explore(3, || {
        let (one, two) = shared(1);
        let adder = thread::spawn(move || two.0.add(1));
        let mut large = Box::pin(one.0.take(2));
        let large_polled = poll_once(large.as_mut());
        let mut small = Box::pin(one.0.take(1));
        let small_polled = poll_once(small.as_mut());
        drop(large);
        let mut left = 2;
        if large_polled.is_ready() {
            left -= 2;
        }
        adder.join().unwrap();
        if large_polled.is_ready() {
            one.0.give_back(2);
            left += 2;
        }
        assert!(small_polled.is_ready() || poll_once(small.as_mut()).is_ready());
        drop(small);
        assert_quiet(&one.0, left - 1);
    });
}

#[test]
fn close_against_acquire() {
    explore(4, || {
        let (one, two) = shared(0);
        let thread = thread::spawn(move || {
            if block_on(two.0.take(1)).is_ok() {
                two.0.give_back(1);
            }
        });
        one.0.close();
        thread.join().unwrap();
        assert_eq!(one.0.word.load(Ordering::Relaxed), CLOSED);
    });
}

/// Closing wakes in batches of one under the model: those in between leave, or are served.
#[test]
fn close_against_release_and_cancel() {
    explore(3, || {
        let (one, two) = shared(0);
        let mut takes: Vec<_> = (0..2).map(|_| Box::pin(one.0.take(2))).collect();
        for take in &mut takes {
            assert!(poll_once(take.as_mut()).is_pending());
        }
        let closer = thread::spawn(move || two.0.close());
        one.0.add(1);
        drop(takes.pop());
        let polled = poll_once(takes[0].as_mut());
        assert_ne!(polled, Poll::Ready(Ok(())));
        drop(takes);
        closer.join().unwrap();
        assert_eq!(one.0.word.load(Ordering::Relaxed), ONE | CLOSED);
        assert!(one.0.queue.lock().is_empty());
    });
}

/// The waker is replaced while the waiter is served: the one that is woken must be the new one, or
/// the poll that brought it must see the permit.
#[test]
fn change_of_the_waker_against_release() {
    explore(3, || {
        let (one, two) = shared(0);
        let thread = thread::spawn(move || two.0.add(1));
        let mut take = Box::pin(one.0.take(1));
        if poll_once(take.as_mut()).is_pending() {
            block_on(take).unwrap();
        }
        thread.join().unwrap();
        one.0.give_back(1);
        assert_quiet(&one.0, 1);
    });
}
