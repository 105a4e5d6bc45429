use super::batch::{BATCH, WakeBatch};
use super::list::{FIRST_OUTCOME, IDLE, WAITING, WaitList, Waiter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

/// Counts how often it was woken.
#[derive(Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    pub(crate) fn new() -> (Arc<Wakes>, Waker) {
        let wakes = Arc::new(Wakes::default());
        (wakes.clone(), wakes.into())
    }

    /// Since the last call.
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Notes its number, or panics if it has none.
struct Note(Arc<Mutex<Vec<u32>>>, Option<u32>);

impl Wake for Note {
    fn wake(self: Arc<Self>) {
        match self.1 {
            Some(number) => self.0.lock().unwrap().push(number),
            None => panic!("a waker that panics"),
        }
    }
}

const TOLD: u32 = FIRST_OUTCOME;

fn waiters<const N: usize>() -> [Box<Waiter<u32>>; N] {
    std::array::from_fn(|_| Box::new(Waiter::new()))
}

/// SAFETY: for tests that keep the boxes until the list is empty.
fn link(list: &mut WaitList<u32>, waiter: &Waiter<u32>, data: u32) {
    // SAFETY: boxed, one thread, and see above.
    unsafe { list.push_back(waiter, None, data) }
}

fn drain(list: &mut WaitList<u32>) -> Vec<u32> {
    std::iter::from_fn(|| list.settle_front(TOLD).map(|(_, data)| data)).collect()
}

#[test]
fn first_come_first_settled() {
    let waiters = waiters::<3>();
    let mut list = WaitList::new();
    for (i, waiter) in waiters.iter().enumerate() {
        assert_eq!(waiter.phase(), IDLE);
        link(&mut list, waiter, i as u32);
        assert_eq!(waiter.phase(), WAITING);
    }
    assert_eq!(list.with_front(|data| *data), Some(0));
    assert_eq!(list.settle_back(TOLD).unwrap().1, 2);
    assert_eq!(drain(&mut list), [0, 1]);
    assert!(list.is_empty());
    assert!(waiters.iter().all(|w| w.phase() == TOLD));
}

#[test]
fn any_subset_can_leave_in_any_order() {
    for leaving in [
        vec![0],
        vec![1],
        vec![3],
        vec![0, 3],
        vec![3, 0, 1],
        vec![2, 1, 0, 3],
    ] {
        let waiters = waiters::<4>();
        let mut list = WaitList::new();
        for (i, waiter) in waiters.iter().enumerate() {
            link(&mut list, waiter, i as u32);
        }
        for &i in &leaving {
            // SAFETY: in the list, and not removed before.
            let (_, data) = unsafe { list.remove(&waiters[i]) };
            assert_eq!(data as usize, i);
            assert_eq!(waiters[i].phase(), IDLE);
        }
        let left: Vec<u32> = (0..4)
            .filter(|i| !leaving.contains(&(*i as usize)))
            .collect();
        // One that left can come back, to the end.
        link(&mut list, &waiters[leaving[0]], 9);
        assert_eq!(drain(&mut list), [left, vec![9]].concat());
    }
}

#[test]
fn append_keeps_the_order_of_both() {
    for (n, m) in [(0, 0), (0, 2), (2, 0), (2, 2)] {
        let waiters = waiters::<5>();
        let (mut one, mut two) = (WaitList::new(), WaitList::new());
        for (i, waiter) in waiters[..n + m].iter().enumerate() {
            let list = if i < n { &mut one } else { &mut two };
            link(list, waiter, i as u32);
        }
        one.append(&mut two);
        assert!(two.is_empty());
        link(&mut one, &waiters[4], 4);
        let mut want: Vec<u32> = (0..(n + m) as u32).collect();
        want.push(4);
        assert_eq!(drain(&mut one), want);
    }
}

#[test]
fn wakers_are_moved_not_lost_or_doubled() {
    let (wakes, waker) = Wakes::new();
    let (other_wakes, other) = Wakes::new();
    let waiter = Box::new(Waiter::<()>::new());
    let mut list = WaitList::new();
    // SAFETY: boxed, and taken out before it is dropped.
    unsafe {
        list.push_back(&waiter, Some(waker.clone()), ());
        // "No" is always allowed, and Miri, which gives a vtable several addresses, says it.
        assert!(cfg!(miri) || waiter.wakes(&waker));
        assert!(!waiter.wakes(&other));
        drop(list.replace_waker(&waiter, other.clone()));
        assert!(cfg!(miri) || waiter.wakes(&other));
        assert!(!waiter.wakes(&waker));
        drop(list.remove(&waiter));
        list.push_back(&waiter, Some(waker.clone()), ());
    }
    drop((waker, other));
    assert_eq!(Arc::strong_count(&other_wakes), 1);
    let (waker, ()) = list.settle_front(TOLD).unwrap();
    waker.unwrap().wake();
    assert_eq!((wakes.take(), other_wakes.take()), (1, 0));
    drop(waiter);
    assert_eq!(Arc::strong_count(&wakes), 1);
}

#[test]
fn a_batch_wakes_in_order_and_can_be_filled_again() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let mut batch = WakeBatch::new();
    for round in 0..3 {
        for i in 0..BATCH as u32 {
            assert!(!batch.is_full());
            let number = round * BATCH as u32 + i;
            batch.push(Some(Arc::new(Note(notes.clone(), Some(number))).into()));
            batch.push(None);
        }
        assert!(batch.is_full());
        if round < 2 {
            batch.wake_all();
        }
    }
    batch.finish();
    let want: Vec<u32> = (0..3 * BATCH as u32).collect();
    assert_eq!(*notes.lock().unwrap(), want);
}

#[test]
fn a_panicking_waker_does_not_keep_others_asleep() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let note = |number| Waker::from(Arc::new(Note(notes.clone(), number)));
    let mut batch = WakeBatch::new();
    for waker in [note(Some(1)), note(None), note(Some(2)), note(None)] {
        batch.push(Some(waker));
    }
    batch.wake_all();
    batch.push(Some(note(Some(3))));
    let panicked = catch_unwind(AssertUnwindSafe(|| batch.finish()));
    assert!(panicked.is_err());
    assert_eq!(*notes.lock().unwrap(), [1, 2, 3]);
}

#[test]
fn a_batch_that_is_dropped_still_wakes() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let mut batch = WakeBatch::new();
    batch.push(Some(Arc::new(Note(notes.clone(), Some(7))).into()));
    drop(batch);
    assert_eq!(*notes.lock().unwrap(), [7]);
}

/// Panics when it is dropped, as the payload of a panic may.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a payload that panics");
    }
}

struct Throws;

impl Wake for Throws {
    fn wake(self: Arc<Self>) {
        std::panic::panic_any(Bomb);
    }
}

#[test]
fn payloads_that_panic_keep_nobody_from_being_woken() {
    let (wakes, waker) = Wakes::new();
    let mut batch = WakeBatch::new();
    for _ in 0..3 {
        batch.push(Some(Arc::new(Throws).into()));
    }
    batch.wake_all();
    batch.push(Some(waker.clone()));
    let panic = catch_unwind(AssertUnwindSafe(|| batch.finish())).unwrap_err();
    assert!(panic.is::<Bomb>(), "the first one's");
    std::mem::forget(panic);
    assert_eq!(wakes.take(), 1);

    // On a thread that unwinds for another reason.
    struct WakesOnDrop(Waker);
    impl Drop for WakesOnDrop {
        fn drop(&mut self) {
            let mut batch = WakeBatch::new();
            batch.push(Some(Arc::new(Throws).into()));
            batch.push(Some(self.0.clone()));
            batch.finish();
        }
    }
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _wakes = WakesOnDrop(waker);
        panic!("another reason");
    }));
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"another reason"));
    assert_eq!(wakes.take(), 1);
}
