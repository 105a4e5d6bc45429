//! Those that queue operations for a ring whose owner comes and goes. What stays in the queue while everybody sleeps would
//! hang a model.

use super::*;
use crate::driver::By;
use crate::sys::Begin;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// A bell that stays rung until it is heard, as an eventfd in the selector does.
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

/// What is queued for the kernel, and how much of it has been handed over.
#[derive(Default)]
struct Queue {
    queued: u32,
    handed_over: u32,
}

struct Ring {
    token: Token,
    bell: Bell,
    queue: Mutex<Queue>,
}

impl Ring {
    fn new() -> Arc<Ring> {
        Arc::new(Ring {
            token: Token::new(std::sync::Arc::new(Parker::new())),
            bell: Bell(Mutex::new(false), Condvar::new()),
            queue: Mutex::new(Queue::default()),
        })
    }

    /// On a thread of its own.
    fn spawn(ring: &Arc<Ring>, f: impl FnOnce(&Ring) + Send + 'static) -> thread::JoinHandle<()> {
        let ring = ring.clone();
        thread::spawn(move || f(&ring))
    }

    fn unpark(&self) {
        if self.token.notify() {
            self.bell.ring();
        }
    }

    fn submit(&self) {
        let is_asleep = {
            let mut queue = self.queue.lock().unwrap();
            queue.queued += 1;
            self.token.is_asleep()
        };
        if is_asleep && self.token.summon() {
            self.bell.ring();
        }
    }

    /// Takes a result that queues something, such as an operation that begins again.
    fn take_result(&self, by: By) {
        let is_away = {
            let mut queue = self.queue.lock().unwrap();
            queue.queued += 1;
            self.token.is_away()
        };
        match by {
            _ if !is_away => {}
            By::Keeper => drop(self.flush()),
            By::Helper => self.bell.ring(),
        }
    }

    /// Hands over what is queued. Returns how much has been.
    fn flush(&self) -> u32 {
        let mut queue = self.queue.lock().unwrap();
        queue.handed_over += std::mem::take(&mut queue.queued);
        queue.handed_over
    }

    /// The owner parks as often as it takes until that much is handed over.
    fn park_until(&self, handed_over: u32) {
        while self.flush() < handed_over {
            if self.token.begin(Asleep::Selector) == Begin::Notified {
                continue;
            }
            // What was handed over ends the wait.
            if self.flush() < handed_over {
                self.bell.hear();
            }
            self.token.end();
        }
    }

    /// The owner parks away, once. `flushed` is told how much has been handed over.
    fn park_away(&self, flushed: impl FnOnce(u32)) {
        let began = self.token.begin(Asleep::Away);
        flushed(self.flush());
        if began == Begin::Wait {
            self.token.sleep(Asleep::Away, None);
            self.token.end();
        }
    }
}

/// Two others submit operations to an owner that parks.
#[test]
fn model_submit_against_park() {
    loom::model(|| {
        let ring = Ring::new();
        let others = [(); 2].map(|()| Ring::spawn(&ring, Ring::submit));
        ring.park_until(2);
        for other in others {
            other.join().unwrap();
        }
    });
}

/// The same with an owner that goes away and stays there, and a keeper that comes when the bell rings.
#[test]
fn model_submit_against_leave() {
    loom::model(|| {
        let ring = Ring::new();
        let other = Ring::spawn(&ring, Ring::submit);
        let keeper = Ring::spawn(&ring, |ring| {
            while ring.flush() < 1 {
                ring.bell.hear();
            }
        });
        let began = ring.token.begin(Asleep::Away);
        assert_eq!(
            began,
            Begin::Wait,
            "a keeper is rung for, and the owner sleeps on"
        );
        if ring.flush() == 1 {
            // Not that the keeper needs it; but it waits for this to be over.
            ring.bell.ring();
        }
        other.join().unwrap();
        keeper.join().unwrap();
        assert!(ring.token.is_away());
    });
}

/// An owner that is away is unparked, which hides that it was, and goes away again. Somebody submits at any time, and the
/// keeper comes only when the bell rings.
#[test]
fn model_submit_against_an_unpark_of_one_that_is_away() {
    loom::model(|| {
        let ring = Ring::new();
        let submitter = Ring::spawn(&ring, Ring::submit);
        let other = Ring::spawn(&ring, Ring::unpark);
        let keeper = Ring::spawn(&ring, |ring| {
            while ring.flush() < 1 {
                ring.bell.hear();
            }
            // The operation ends, which wakes a task of the owner.
            ring.unpark();
        });
        while ring.queue.lock().unwrap().handed_over < 1 {
            // What is handed over here ends in the keeper's selector too.
            ring.park_away(|handed_over| {
                if handed_over == 1 {
                    ring.bell.ring();
                }
            });
        }
        for thread in [submitter, other, keeper] {
            thread.join().unwrap();
        }
    });
}

/// A keeper, or somebody who helps it, takes a result that queues something while the owner leaves, also for the second
/// time. One of them hands it over, or the bell is rung for the keeper.
#[test]
fn model_beginning_again_against_leave() {
    for (by, is_unparked) in [
        (By::Keeper, false),
        (By::Helper, false),
        (By::Keeper, true),
        (By::Helper, true),
    ] {
        loom::model(move || {
            let ring = Ring::new();
            let other = Ring::spawn(&ring, move |ring| ring.take_result(by));
            let unparker = is_unparked.then(|| Ring::spawn(&ring, Ring::unpark));
            if is_unparked {
                ring.park_away(drop);
            }
            // From here on it sleeps.
            let began = ring.token.begin(Asleep::Away);
            assert_eq!(began, Begin::Wait);
            let by_owner = ring.flush();
            other.join().unwrap();
            if let Some(unparker) = unparker {
                unparker.join().unwrap();
            }
            if by == By::Helper && by_owner == 0 {
                ring.bell.hear();
                ring.flush();
            }
            assert_eq!(ring.queue.lock().unwrap().handed_over, 1);
        });
    }
}

/// An owner that is unparked while it is away, and then looks after its driver itself; others are about to submit or to
/// summon somebody.
#[test]
fn model_submit_against_come_back() {
    loom::model(|| {
        let ring = Ring::new();
        let others = [Ring::submit, Ring::submit, Ring::unpark].map(|f| Ring::spawn(&ring, f));
        ring.park_away(drop);
        ring.park_until(2);
        for other in others {
            other.join().unwrap();
        }
    });
}
