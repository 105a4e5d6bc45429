//! Where the owner is, and the unpark token: who has to ring the bell, and when.
//!
//! The owner of a driver *parks*: `begin`, wait in the kernel, `end`. Others `notify` it. A
//! notification is a token, kept until the next park and coalesced with others, and only the one that
//! finds the owner between `begin` and `end` has to ring the bell, which is what costs a system call.
//!
//! The owner of a driver that is lent sleeps elsewhere: `leave`, sleep, `come_back`. Notifications leave
//! tokens then, and no bell is rung for them.
//!
//! Operations are queued under a lock, and handed to the kernel by the owner when it comes by. Whoever queues
//! one asks, under the lock, whether the owner `is_asleep`, and if so `summon`s it, or whoever looks after
//! the driver, after the lock. The owner hands over what is queued, which takes the lock, after each `begin`
//! and `leave`: so either it finds what was queued, or is found asleep. Whoever takes results, and queues what
//! they ask for, is awake itself: it asks whether the owner `is_away`, and if so hands it over in the owner's
//! place, or has the keeper do so.
//!
//! # Memory ordering
//! Every step of the token is a read-modify-write with acquire and release ordering: what was done before a
//! `notify` is visible after the `begin` or `end` that takes the token. Whether the owner has left is a
//! plain flag, which the lock of the queue puts in order; one that is seen late costs a bell.

use crate::sys::atomic::{AtomicBool, AtomicU32, Ordering};

/// The owner is not in the kernel and has no token.
const EMPTY: u32 = 0;
/// The owner waits in the kernel, or is on its way there or back.
const PARKED: u32 = 1;
/// There is a token.
const NOTIFIED: u32 = 2;

#[derive(Debug)]
pub(crate) struct Token {
    state: AtomicU32,
    /// Between `leave` and `come_back`.
    is_away: AtomicBool,
}

/// What `begin` found.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Begin {
    /// No token: wait, then call `end`.
    Wait,
    /// There was a token, which is now taken: do not wait, do not call `end`.
    Notified,
}

impl Token {
    pub(crate) fn new() -> Self {
        Token {
            state: AtomicU32::new(EMPTY),
            is_away: AtomicBool::new(false),
        }
    }

    pub(crate) fn begin(&self) -> Begin {
        match self
            .state
            .compare_exchange(EMPTY, PARKED, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => Begin::Wait,
            Err(_) => {
                let found = self.state.swap(EMPTY, Ordering::AcqRel);
                debug_assert_eq!(found, NOTIFIED, "two threads park in one driver");
                Begin::Notified
            }
        }
    }

    /// Returns whether there was a token, which is now taken.
    #[must_use]
    pub(crate) fn end(&self) -> bool {
        self.state.swap(EMPTY, Ordering::AcqRel) == NOTIFIED
    }

    /// Leaves a token. Returns whether the caller has to ring the bell.
    #[must_use]
    pub(crate) fn notify(&self) -> bool {
        // The exchange must happen even if there is a token already: it publishes what the caller
        // did before.
        self.state.swap(NOTIFIED, Ordering::AcqRel) == PARKED
    }

    /// The owner goes to sleep elsewhere.
    pub(crate) fn leave(&self) {
        self.is_away.store(true, Ordering::Release);
    }

    pub(crate) fn come_back(&self) {
        self.is_away.store(false, Ordering::Release);
    }

    /// Does the owner sleep elsewhere? Under the ring's lock this says who hands over what was queued.
    pub(crate) fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Acquire)
    }

    /// Will the owner not come by itself to hand over what was queued? To be asked under the ring's lock.
    #[allow(dead_code, reason = "used where there is a ring")]
    pub(crate) fn is_asleep(&self) -> bool {
        self.state.load(Ordering::Acquire) == PARKED || self.is_away()
    }

    /// For a thread that found the owner asleep. Returns whether the caller has to ring the bell: the owner hears it,
    /// or the thread that looks after the driver.
    #[allow(dead_code, reason = "used where there is a ring")]
    #[must_use]
    pub(crate) fn summon(&self) -> bool {
        self.is_away() || self.notify()
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::driver::By;
    use loom::sync::atomic::AtomicBool;
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
                token: Token::new(),
                bell: Bell(Mutex::new(false), Condvar::new()),
                queue: Mutex::new(Queue::default()),
            })
        }

        /// On a thread of its own.
        fn submit(ring: &Arc<Ring>) -> thread::JoinHandle<()> {
            let ring = ring.clone();
            thread::spawn(move || {
                let is_asleep = {
                    let mut queue = ring.queue.lock().unwrap();
                    queue.queued += 1;
                    ring.token.is_asleep()
                };
                if is_asleep && ring.token.summon() {
                    ring.bell.ring();
                }
            })
        }

        /// Hands over what is queued. Returns how much has been.
        fn flush(&self) -> u32 {
            let mut queue = self.queue.lock().unwrap();
            queue.handed_over += std::mem::take(&mut queue.queued);
            queue.handed_over
        }

        /// The owner parks as often as it takes until so much is handed over.
        fn park_until(&self, handed_over: u32) {
            while self.flush() < handed_over {
                match self.token.begin() {
                    Begin::Notified => {}
                    Begin::Wait => {
                        // What was handed over ends the wait.
                        if self.flush() < handed_over {
                            self.bell.hear();
                        }
                        let _ = self.token.end();
                    }
                }
            }
        }
    }

    /// Two others submit operations to an owner that parks. None stays in the queue while it sleeps: that
    /// would hang here.
    #[test]
    fn model_submit_against_park() {
        loom::model(|| {
            let ring = Ring::new();
            let others = [Ring::submit(&ring), Ring::submit(&ring)];
            ring.park_until(2);
            for other in others {
                other.join().unwrap();
            }
        });
    }

    /// The same with an owner that is away, and a keeper that comes when the bell rings.
    #[test]
    fn model_submit_against_leave() {
        loom::model(|| {
            let ring = Ring::new();
            let other = Ring::submit(&ring);
            let keeper = thread::spawn({
                let ring = ring.clone();
                move || {
                    while ring.flush() < 1 {
                        ring.bell.hear();
                    }
                }
            });
            ring.token.leave();
            if ring.flush() == 1 {
                // Not that the keeper needs it; but it waits for this to be over.
                ring.bell.ring();
            }
            other.join().unwrap();
            keeper.join().unwrap();
        });
    }

    /// A keeper, or somebody who helps it, takes a result that queues something (an operation that begins again)
    /// while the owner leaves. One of them hands it over: else the keeper would hang here.
    #[test]
    fn model_beginning_again_against_leave() {
        for by in [By::Keeper, By::Helper] {
            loom::model(move || {
                let ring = Ring::new();
                let other = thread::spawn({
                    let ring = ring.clone();
                    move || {
                        let is_away = {
                            let mut queue = ring.queue.lock().unwrap();
                            queue.queued += 1;
                            ring.token.is_away()
                        };
                        match by {
                            _ if !is_away => {}
                            By::Keeper => drop(ring.flush()),
                            By::Helper => ring.bell.ring(),
                        }
                    }
                });
                ring.token.leave();
                let by_owner = ring.flush();
                other.join().unwrap();
                if by == By::Helper && by_owner == 0 {
                    ring.bell.hear();
                    ring.flush();
                }
                assert_eq!(ring.flush(), 1);
            });
        }
    }

    /// An owner that comes back at once, while the others are about to submit or to summon somebody.
    #[test]
    fn model_submit_against_come_back() {
        loom::model(|| {
            let ring = Ring::new();
            let others = [Ring::submit(&ring), Ring::submit(&ring)];
            ring.token.leave();
            ring.flush();
            ring.token.come_back();
            ring.park_until(2);
            for other in others {
                other.join().unwrap();
            }
        });
    }

    /// The owner looks for work, parks if there is none, and looks again. Two others bring work and
    /// unpark it. No order loses the wake-up (it would hang here) or the work.
    #[test]
    fn model_unpark_against_park() {
        loom::model(|| {
            let shared = Arc::new((
                Token::new(),
                Bell(Mutex::new(false), Condvar::new()),
                [AtomicBool::new(false), AtomicBool::new(false)],
            ));
            let others: Vec<_> = (0..2)
                .map(|n| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        shared.2[n].store(true, Ordering::Relaxed);
                        if shared.0.notify() {
                            shared.1.ring();
                        }
                    })
                })
                .collect();
            let (token, bell, work) = &*shared;
            while !work.iter().all(|work| work.load(Ordering::Relaxed)) {
                match token.begin() {
                    Begin::Notified => {}
                    Begin::Wait => {
                        bell.hear();
                        let _ = token.end();
                    }
                }
            }
            for other in others {
                other.join().unwrap();
            }
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn tokens_coalesce_and_only_a_parked_owner_costs_a_bell() {
        let token = Token::new();
        assert!(!token.notify());
        assert!(!token.notify());
        assert_eq!(token.begin(), Begin::Notified);
        assert_eq!(token.begin(), Begin::Wait);
        assert!(token.is_asleep());
        assert!(token.notify());
        assert!(!token.notify());
        assert!(token.end());
        assert_eq!(token.begin(), Begin::Wait);
        assert!(!token.end());
    }

    #[test]
    fn an_owner_that_is_away_gets_tokens_and_its_keeper_the_bell() {
        let token = Token::new();
        assert!(!token.is_asleep());
        token.leave();
        assert!(token.is_asleep() && token.summon());
        assert!(!token.notify());
        token.come_back();
        assert!(!token.is_asleep() && !token.summon());
        assert_eq!(token.begin(), Begin::Notified);
    }
}
