use crate::sys::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Wake, Waker};

/// The places of finished tasks, in order. A place may be out of date: its task was detached and
/// another one may have moved in.
pub(super) struct Finished(Mutex<State>);

struct State {
    places: VecDeque<usize>,
    waiter: Option<Waker>,
}

/// The waker of one task of a set.
pub(super) struct Entry {
    pub(super) place: usize,
    pub(super) finished: Arc<Finished>,
}

impl Wake for Entry {
    fn wake(self: Arc<Self>) {
        self.finished.push(self.place);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.finished.push(self.place);
    }
}

impl Finished {
    pub(super) fn new() -> Finished {
        Finished(Mutex::new(State {
            places: VecDeque::new(),
            waiter: None,
        }))
    }

    /// Adds a place and wakes whoever waits.
    pub(super) fn push(&self, place: usize) {
        let waiter = {
            let mut state = self.0.lock();
            state.places.push_back(place);
            state.waiter.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    /// Takes the oldest place.
    pub(super) fn pop(&self) -> Option<usize> {
        self.0.lock().places.pop_front()
    }

    /// Takes a place, or leaves the waker. Cloning it and dropping the one before is foreign code,
    /// which may even finish a task of this set: it stays outside of the lock.
    pub(super) fn pop_or_wait(&self, waker: &Waker) -> Option<usize> {
        {
            let mut state = self.0.lock();
            if let Some(place) = state.places.pop_front() {
                return Some(place);
            }
            let waiter = state.waiter.as_ref();
            if waiter.is_some_and(|waiter| waiter.will_wake(waker)) {
                return None;
            }
        }
        let waker = waker.clone();
        let mut state = self.0.lock();
        if state.places.is_empty() {
            let before = state.waiter.replace(waker);
            drop(state);
            drop(before);
            return None;
        }
        drop(state);
        // Before a place is taken: if this panics, none is lost.
        drop(waker);
        self.pop()
    }

    /// Forgets all places.
    pub(super) fn clear(&self) {
        self.0.lock().places.clear();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::task::{RawWaker, RawWakerVTable};

    /// A task finishes while it is cloned.
    static FINISHING: RawWakerVTable = RawWakerVTable::new(
        |finished| {
            // SAFETY: the test made it of a `Finished` that is still there.
            unsafe { &*finished.cast::<Finished>() }.push(7);
            RawWaker::new(finished, &FRAGILE)
        },
        |_| {},
        |_| {},
        |_| {},
    );

    /// Panics when it is dropped.
    static FRAGILE: RawWakerVTable = RawWakerVTable::new(
        |finished| RawWaker::new(finished, &FRAGILE),
        |_| {},
        |_| {},
        |_| panic!("a waker's destructor"),
    );

    #[test]
    fn a_waker_that_panics_loses_no_place() {
        let finished = Finished::new();
        let raw = RawWaker::new((&raw const finished).cast(), &FINISHING);
        // SAFETY: the functions need nothing but the `Finished`, which outlives all wakers.
        let waker = unsafe { Waker::from_raw(raw) };
        let popped = catch_unwind(AssertUnwindSafe(|| finished.pop_or_wait(&waker)));
        assert!(popped.is_err());
        assert_eq!(finished.pop(), Some(7));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::sys::atomic::{AtomicUsize, Ordering};

    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Two tasks finish while the set is polled: each place comes once, and a poll that found none
    /// has been woken.
    #[test]
    fn a_waiter_is_told() {
        loom::model(|| {
            let finished = crate::sys::Arc::new(Finished::new());
            let threads: Vec<_> = (0..2)
                .map(|place| {
                    let finished = finished.clone();
                    loom::thread::spawn(move || finished.push(place))
                })
                .collect();
            let wakes = Arc::new(Wakes(AtomicUsize::new(0)));
            let waker = Waker::from(wakes.clone());
            let mut places = Vec::new();
            let waits = loop {
                match finished.pop_or_wait(&waker) {
                    Some(place) => places.push(place),
                    None => break places.len() < 2,
                }
            };
            for thread in threads {
                thread.join().unwrap();
            }
            assert!(!waits || wakes.0.load(Ordering::SeqCst) > 0);
            places.extend(std::iter::from_fn(|| finished.pop()));
            places.sort();
            assert_eq!(places, [0, 1]);
        });
    }
}
