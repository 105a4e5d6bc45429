//! One thread that sleeps, in one place or another, and others that unpark it.

use super::{Asleep, Begin, Parker};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// A driver's bell: stays rung until it is heard.
struct Bell(Mutex<bool>, Condvar);

impl Bell {
    fn ring(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_one();
    }

    fn hear(&self) {
        let mut rung = self.0.lock().unwrap();
        while !*rung {
            rung = self.1.wait(rung).unwrap();
        }
        *rung = false;
    }
}

struct Sleeper {
    parker: Parker,
    bell: Bell,
    work: [AtomicBool; 2],
}

impl Sleeper {
    fn new() -> Arc<Sleeper> {
        Arc::new(Sleeper {
            parker: Parker::new(),
            bell: Bell(Mutex::new(false), Condvar::new()),
            work: [AtomicBool::new(false), AtomicBool::new(false)],
        })
    }

    fn unpark(&self) {
        if self.parker.notify() {
            self.bell.ring();
        }
    }

    /// A thread that brings work and unparks the sleeper. The token publishes the work.
    fn bring(this: &Arc<Sleeper>, n: usize) -> thread::JoinHandle<()> {
        let this = this.clone();
        thread::spawn(move || {
            this.work[n].store(true, Ordering::Relaxed);
            this.unpark();
        })
    }

    /// One sleep. Returns whether it has taken a token.
    fn sleep(&self, place: Asleep) -> bool {
        if self.parker.begin(place) == Begin::Notified {
            return true;
        }
        match place {
            Asleep::Futex | Asleep::Away => self.parker.sleep(place, None),
            Asleep::Selector => self.bell.hear(),
        }
        self.parker.end()
    }

    fn has(&self, n: usize) -> bool {
        self.work[n].load(Ordering::Relaxed)
    }
}

fn explore(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(f);
}

/// Two others bring work to a thread that sleeps until it has both. No order loses a wake-up (it would hang here) or the
/// work.
#[test]
fn model_unpark_against_each_place() {
    for place in [Asleep::Futex, Asleep::Selector, Asleep::Away] {
        explore(3, move || {
            let sleeper = Sleeper::new();
            let others = [0, 1].map(|n| Sleeper::bring(&sleeper, n));
            while !(sleeper.has(0) && sleeper.has(1)) {
                sleeper.sleep(place);
            }
            for other in others {
                other.join().unwrap();
            }
        });
    }
}

/// The thread sleeps in another place each time. One who unparks it does not know which.
#[test]
fn model_unpark_against_a_change_of_places() {
    const PLACES: [Asleep; 3] = [Asleep::Futex, Asleep::Selector, Asleep::Away];
    for (from, to) in PLACES.iter().flat_map(|from| PLACES.map(|to| (*from, to))) {
        explore(3, move || {
            let sleeper = Sleeper::new();
            let others = [0, 1].map(|n| Sleeper::bring(&sleeper, n));
            let mut place = from;
            while !(sleeper.has(0) && sleeper.has(1)) {
                sleeper.sleep(place);
                place = if place == from { to } else { from };
            }
            for other in others {
                other.join().unwrap();
            }
        });
    }
}

/// One gives the thread its first source, and unparks it; then something happens there, which rings the bell and leaves no
/// token. The thread, which sleeps on its word while it has no source, changes places in time to hear it.
#[test]
fn model_the_first_source_against_a_sleep_on_the_word() {
    explore(3, || {
        let sleeper = Sleeper::new();
        let other = thread::spawn({
            let sleeper = sleeper.clone();
            move || {
                sleeper.work[0].store(true, Ordering::Release);
                sleeper.unpark();
                sleeper.work[1].store(true, Ordering::Release);
                sleeper.bell.ring();
            }
        });
        while !sleeper.work[1].load(Ordering::Acquire) {
            let has_source = sleeper.work[0].load(Ordering::Acquire);
            sleeper.sleep(if has_source {
                Asleep::Selector
            } else {
                Asleep::Futex
            });
        }
        other.join().unwrap();
    });
}

/// A token that is there already publishes what the second unpark brings as well.
#[test]
fn model_tokens_coalesce_and_each_publishes() {
    explore(3, || {
        let sleeper = Sleeper::new();
        sleeper.unpark();
        let other = Sleeper::bring(&sleeper, 0);
        assert!(sleeper.sleep(Asleep::Futex));
        if !sleeper.has(0) {
            // Then its token is still to come, or is there.
            while !sleeper.sleep(Asleep::Futex) {}
            assert!(sleeper.has(0));
        }
        other.join().unwrap();
    });
}

/// One that finds the thread in its driver knows that driver: it sees what the thread had seen.
#[test]
fn model_one_who_has_to_ring_sees_the_bell() {
    explore(3, || {
        let sleeper = Sleeper::new();
        let other = thread::spawn({
            let sleeper = sleeper.clone();
            move || {
                if sleeper.parker.notify() {
                    assert!(sleeper.has(0), "there is no bell");
                    sleeper.bell.ring();
                }
            }
        });
        sleeper.work[0].store(true, Ordering::Relaxed);
        while !sleeper.sleep(Asleep::Selector) {}
        other.join().unwrap();
    });
}
