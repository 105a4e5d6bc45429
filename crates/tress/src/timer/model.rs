//! A timer's races: whoever fires, cancels, moves or closes it, on whatever thread (`ci/loom`).
//!
//! The wheel's nodes are plain cells: loom does not see two threads in them. It does see the waker's
//! slot and the link to the timers, which have the same owner as the node at any moment. Nor does it
//! see a touch of an entry whose future is gone; Miri (`ci/miri`) and AddressSanitizer (`ci/asan`) do.

use super::timers::{Armed, Entry, Timers};
use crate::scheduler::{Io, Rest};
use crate::sys::Counter;
use crate::task::model::explore;
use loom::thread;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// Counts how often it is called.
struct Alarm(AtomicUsize);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Alarm {
    fn new() -> (Arc<Alarm>, Waker) {
        let alarm = Arc::new(Alarm(AtomicUsize::new(0)));
        (alarm.clone(), alarm.into())
    }

    fn rang(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// One worker's timers, at a clock that moves only by hand.
#[derive(Clone)]
struct Shop {
    timers: Arc<Timers>,
    rest: Arc<Rest>,
    start: Instant,
}

impl Shop {
    fn new() -> Shop {
        let start = Instant::now();
        let rest = Arc::new(Rest::new(Io::none()));
        Shop {
            timers: Arc::new(Timers::new(start, rest.clone().into())),
            rest,
            start,
        }
    }

    fn at(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }

    /// As the worker or the monitor does.
    fn fire(&self, ms: u64) {
        self.timers.fire(self.at(ms), &Counter::default());
    }

    fn arm(&self, entry: &Pin<Box<Entry>>, ms: u64, waker: &Waker) {
        let armed = entry.as_ref().arm(&self.timers, self.at(ms), waker);
        assert!(matches!(armed, Armed::First | Armed::Waiting), "{armed:?}");
    }

    fn finish(self) {
        assert_eq!(self.timers.len(), 0, "an entry was left in the wheel");
    }
}

fn entry() -> Pin<Box<Entry>> {
    Box::pin(Entry::new())
}

/// The future is dropped while the worker fires its timer.
#[test]
fn fire_vs_drop() {
    explore(5, || {
        let shop = Shop::new();
        let (alarm, waker) = Alarm::new();
        let entry = entry();
        shop.arm(&entry, 5, &waker);
        let worker = {
            let shop = shop.clone();
            thread::spawn(move || shop.fire(5))
        };
        drop(entry);
        worker.join().unwrap();
        assert!(alarm.rang() <= 1);
        drop(waker);
        assert_eq!(Arc::strong_count(&alarm), 1, "the waker was leaked");
        shop.finish();
    });
}

/// Two threads fire: the worker and the monitor.
#[test]
fn fire_vs_fire() {
    explore(5, || {
        let shop = Shop::new();
        let (alarm, waker) = Alarm::new();
        let (early, late) = (entry(), entry());
        shop.arm(&early, 2, &waker);
        shop.arm(&late, 70, &waker);
        let monitor = {
            let shop = shop.clone();
            thread::spawn(move || shop.fire(70))
        };
        shop.fire(70);
        monitor.join().unwrap();
        assert!(early.has_fired() && late.has_fired());
        assert_eq!(alarm.rang(), 2, "each waker is called once");
        drop((early, late));
        shop.finish();
    });
}

/// A poll replaces the waker while the timer fires: the new one is called, or the poll sees that it
/// has fired.
#[test]
fn fire_vs_set_waker() {
    explore(5, || {
        let shop = Shop::new();
        let (first, first_waker) = Alarm::new();
        let (second, second_waker) = Alarm::new();
        let entry = entry();
        shop.arm(&entry, 5, &first_waker);
        let worker = {
            let shop = shop.clone();
            thread::spawn(move || shop.fire(5))
        };
        let waiting = entry.as_ref().set_waker(&second_waker);
        worker.join().unwrap();
        assert!(entry.has_fired());
        if waiting {
            assert_eq!(
                (first.rang(), second.rang()),
                (0, 1),
                "nobody tells the poll"
            );
        } else {
            assert_eq!((first.rang(), second.rang()), (1, 0));
        }
        drop((entry, first_waker, second_waker));
        assert_eq!(Arc::strong_count(&first), 1);
        assert_eq!(Arc::strong_count(&second), 1);
        shop.finish();
    });
}

/// A reset to a later deadline while the old one fires.
#[test]
fn fire_vs_move() {
    explore(5, || {
        let shop = Shop::new();
        let (alarm, waker) = Alarm::new();
        let entry = entry();
        shop.arm(&entry, 5, &waker);
        let worker = {
            let shop = shop.clone();
            thread::spawn(move || shop.fire(5))
        };
        entry.as_ref().move_to(shop.at(100));
        worker.join().unwrap();
        if entry.is_armed() {
            // Moved in time, or fired too early by nobody.
            assert_eq!(alarm.rang(), 0);
            shop.fire(99);
            assert!(entry.is_armed());
            shop.fire(100);
            assert!(entry.has_fired());
            assert_eq!(alarm.rang(), 1);
        } else {
            // Fired first: the next poll arms it anew, and so it must not look fired.
            assert_eq!(alarm.rang(), 1);
            assert!(!entry.has_fired());
            shop.arm(&entry, 100, &waker);
        }
        drop(entry);
        drop(waker);
        assert_eq!(Arc::strong_count(&alarm), 1);
        shop.finish();
    });
}

/// A reset to a deadline that has passed fires at once, and the worker does not fire it again.
#[test]
fn fire_vs_move_to_the_past() {
    explore(5, || {
        let shop = Shop::new();
        let (alarm, waker) = Alarm::new();
        let (entry, other) = (entry(), entry());
        shop.arm(&entry, 50, &waker);
        let (_, noop) = Alarm::new();
        shop.arm(&other, 7, &noop);
        let worker = {
            let shop = shop.clone();
            // Moves the wheel's clock.
            thread::spawn(move || shop.fire(10))
        };
        entry.as_ref().move_to(shop.at(6));
        worker.join().unwrap();
        shop.fire(10);
        assert!(!entry.is_armed(), "its deadline has passed");
        assert_eq!(alarm.rang(), 1);
        drop((entry, other));
        shop.finish();
    });
}

/// The runtime closes while the future is dropped, and while another one arms.
#[test]
fn close_vs_drop_vs_arm() {
    explore(4, || {
        let shop = Shop::new();
        let (alarm, waker) = Alarm::new();
        let dropped = entry();
        shop.arm(&dropped, 5, &waker);
        let closer = {
            let shop = shop.clone();
            thread::spawn(move || shop.timers.close())
        };
        drop(dropped);
        let armed = entry();
        let (late, late_waker) = Alarm::new();
        match armed.as_ref().arm(&shop.timers, shop.at(9), &late_waker) {
            Armed::Closed => {
                closer.join().unwrap();
                assert_eq!(late.rang(), 0);
            }
            Armed::First | Armed::Waiting => {
                closer.join().unwrap();
                assert!(armed.is_closed());
                assert_eq!(late.rang(), 1, "nobody tells it that the runtime is gone");
            }
            Armed::Due => panic!("the clock has not moved"),
        }
        drop((armed, waker, late_waker));
        assert!(alarm.rang() <= 1);
        assert_eq!(Arc::strong_count(&alarm), 1);
        assert_eq!(Arc::strong_count(&late), 1);
        shop.finish();
    });
}

/// The worker fires, the runtime closes, the future is polled again: all at once.
#[test]
fn close_vs_fire_vs_set_waker() {
    explore(3, || {
        let shop = Shop::new();
        let (first, first_waker) = Alarm::new();
        let (second, second_waker) = Alarm::new();
        let entry = entry();
        shop.arm(&entry, 5, &first_waker);
        let worker = {
            let shop = shop.clone();
            thread::spawn(move || shop.fire(5))
        };
        let closer = {
            let shop = shop.clone();
            thread::spawn(move || shop.timers.close())
        };
        let waiting = entry.as_ref().set_waker(&second_waker);
        worker.join().unwrap();
        closer.join().unwrap();
        assert!(entry.has_fired() || entry.is_closed());
        assert_eq!(first.rang() + second.rang(), 1, "one waker, once");
        assert_eq!(second.rang() == 1, waiting);
        drop((entry, first_waker, second_waker));
        shop.finish();
    });
}

/// The entry lives in one worker's wheel and its future moves to another thread, which drops it
/// while the first worker fires its neighbour in the same slot.
#[test]
fn fire_of_a_neighbour_vs_drop() {
    explore(5, || {
        let shop = Shop::new();
        let (alarm, waker) = Alarm::new();
        let (staying, going) = (entry(), entry());
        let (_, noop) = Alarm::new();
        shop.arm(&going, 3, &noop);
        shop.arm(&staying, 3, &waker);
        let elsewhere = thread::spawn(move || drop(going));
        shop.fire(3);
        elsewhere.join().unwrap();
        assert!(staying.has_fired());
        assert_eq!(alarm.rang(), 1);
        drop(staying);
        shop.finish();
    });
}

/// The worker's side of an earlier deadline: it sleeps unless it sees it, and must be woken then.
fn sleep_until_due(shop: &Shop, ms: u64) {
    // As in `Worker::park`; without a clock, a later deadline is for ever.
    while shop.timers.next_due() != Some(shop.at(ms)) {
        shop.rest.park(None);
    }
}

/// A thread from outside arms an earlier timer while the worker goes to sleep.
#[test]
fn earlier_deadline_vs_sleep() {
    explore(4, || {
        let shop = Shop::new();
        let (_, waker) = Alarm::new();
        let (far, near) = (entry(), entry());
        shop.arm(&far, 1000, &waker);
        let worker = {
            let shop = shop.clone();
            thread::spawn(move || sleep_until_due(&shop, 5))
        };
        let armed = near.as_ref().arm(&shop.timers, shop.at(5), &waker);
        // As in `Multi::with_timers`.
        assert_eq!(armed, Armed::First);
        shop.rest.unpark();
        worker.join().unwrap();
        drop((near, far));
        shop.finish();
    });
}

/// A reset to an earlier deadline, which wakes the worker by itself.
#[test]
fn move_to_an_earlier_deadline_vs_sleep() {
    explore(4, || {
        let shop = Shop::new();
        let (_, waker) = Alarm::new();
        let entry = entry();
        shop.arm(&entry, 1000, &waker);
        let worker = {
            let shop = shop.clone();
            thread::spawn(move || sleep_until_due(&shop, 5))
        };
        entry.as_ref().move_to(shop.at(5));
        worker.join().unwrap();
        drop(entry);
        shop.finish();
    });
}

/// An entry that fired in one wheel is armed in another, as when its task has moved.
#[test]
fn rearm_in_another_wheel_vs_fire() {
    explore(4, || {
        let (here, there) = (Shop::new(), Shop::new());
        let (alarm, waker) = Alarm::new();
        let entry = entry();
        here.arm(&entry, 5, &waker);
        let worker = {
            let here = here.clone();
            thread::spawn(move || here.fire(5))
        };
        // What `Sleep::reset` and the next poll do, on another thread than the worker's.
        if entry.is_armed() {
            entry.as_ref().move_to(here.at(70));
        } else {
            entry.as_ref().disarm();
        }
        if !entry.is_armed() {
            there.arm(&entry, 70, &waker);
            there.fire(70);
            assert!(entry.has_fired());
        }
        worker.join().unwrap();
        drop(entry);
        drop(waker);
        assert_eq!(Arc::strong_count(&alarm), 1);
        here.finish();
        there.finish();
    });
}
